"""Drawing knowledge: randomness is a function of (seed, purpose, target), never a stream that targets share."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choice import PickRule
from standout.adversary.choosing import draw_order, satisfied
from standout.adversary.draws import Rule, SourceArrays, draw_queries, tell_held
from standout.adversary.eligible import conditions, entry_test
from standout.adversary.group_draws import Groups, draw_grouped
from standout.adversary.holders import PickHolders
from standout.adversary.knowledge import Knowledge
from standout.adversary.level_draws import (
    channel_levels,
    draw_attributes,
    draw_channels,
    with_attributes,
)
from standout.adversary.ranked import certain
from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.dataset import Dataset
from standout.data.index import Rows
from standout.data.row_copies import in_parts
from standout.data.scale import Channel, ValueScale
from standout.errors import EligibilityError
from standout.kernels.levels import ErrorKernel, Errors, Exact
from standout.kernels.rounded import Rounded

_AT_ONCE = 4096
"""Targets per task of a thread. A draw depends only on its target, so this number changes no result."""


def sample_targets(dataset: Dataset, eligible: Array, n: int | None, seed: int) -> Array:
    """`n` of the eligible records (all if None); the choice depends on (seed, contents of the record)."""
    if n is None or n >= eligible.size:
        return eligible
    return eligible[np.argsort(draw_order(dataset.record_keys[eligible], seed), kind="stable")[:n]]


def _rule_of(
    who: Adversary,
    dataset: Catalog,
    chosen: PickRule,
    kernel: ErrorKernel,
    levels: Array,
    tells_value: bool,
) -> Rule:
    """The adversary's parameters as the draw needs them."""
    errors = kernel.errors(levels)
    return Rule(
        knows=who.knows,
        n_wrong=0 if who.wrong_varies else int(who.wrong),
        p_wrong=float(who.wrong) if who.wrong_varies else 0.0,
        wrong_items=who.wrong_kind == "item",
        n_rare=-1 if chosen.split is None else chosen.split.n_first,
        by_events=chosen.by_events,
        ranked=chosen.ranked,
        tells_value=tells_value,
        value_steps=errors.steps,
        value_step=errors.step,
        value_unit=kernel.unit if isinstance(kernel, Rounded) else 0.0,
        time_within=who.time_ticks(dataset) if who.tells_time(dataset) else -1,
        length_within=-1.0 if who.length_within is None else float(who.length_within),
    )


def _source_of(
    who: Adversary,
    dataset: Catalog,
    rows: Rows,
    pickable: Array,
    errors: Errors,
    value: tuple[ValueScale, Array | None] | None,
) -> SourceArrays:
    """The data as the draw needs it: the targets' own rows, and what the catalog says."""
    scale, level = (Channel("value", np.empty(0)), None) if value is None else value
    before = fine = np.empty(0, np.int64)
    weight = who.pick_rule(dataset).weight
    if who.wrong and who.wrong_kind == "item":
        before = np.concatenate([[0], np.cumsum(np.where(pickable, dataset.supports, 0))]).astype(
            np.int64
        )
    if who.wrong and who.wrong_kind == "value":
        test = entry_test(who, dataset)
        fine = np.ones(rows.item.size, np.bool_) if test is None else test.passing(rows)
    if who.pick_rule(dataset).ranked:
        fine = certain(dataset, rows)
    return SourceArrays(
        key=rows.keys,
        ptr=rows.ptr,
        item=rows.item,
        code=rows.code if level is None else level[rows.code],
        tick=rows.tick,
        supports_before=before,
        fine=fine.astype(np.bool_),
        weight=np.empty(0, np.int64) if weight is None else weight,
        levels=scale.levels,
        width=errors.width,
        reach=who.value_reach(scale),
        low=errors.low,
        high=errors.high,
        first_tick=int(dataset.first_tick),
        tick_span=int(dataset.tick_span),
        no_tick=int(dataset.no_tick),
    )


def sample(
    who: Adversary, dataset: Catalog, targets: Array, seed: int, *, check: bool = True
) -> Knowledge:
    """Draw the knowledge of the adversary `who` about each target; `check=False` if the caller chose targets by another rule."""
    distinct, place = np.unique(targets, return_inverse=True)
    rows, place = dataset.rows(distinct), place.reshape(-1)
    if check:
        _check_eligible(who, dataset, rows, place)
    n = targets.size * who.knows
    item = np.empty(n, np.int64)
    value, time = np.full(n, np.nan), np.full(n, np.nan)
    length = np.full(targets.size, np.nan)
    chosen, pickable = who.pick_rule(dataset), who.pickable(dataset)
    split = chosen.split
    marked = pickable if split is None else split.first
    known = channel_levels(who, dataset)
    part = known.pop("value", None)
    kernel = part.kernel if part is not None and isinstance(part.kernel, ErrorKernel) else Exact()
    levels = np.empty(0) if part is None else part.channel.levels
    rule = _rule_of(who, dataset, chosen, kernel, levels, part is not None)
    value_scale = None if part is None else (part.channel, part.level)
    data = _source_of(who, dataset, rows, pickable, kernel.errors(levels), value_scale)
    entry = np.full(n, -1, np.int64)
    salt = np.zeros(n if who.wrong and rule.wrong_items else 0, np.uint64)
    kernel, pool = _drawn_by(who, dataset, rows, marked)

    def draw(lo: int) -> None:
        part, facts = slice(lo, lo + _AT_ONCE), slice(lo * who.knows, (lo + _AT_ONCE) * who.knows)
        kernel(
            place[part],
            np.uint64(seed % 2**64),
            data,
            pool,
            rule,
            rows.lengths,
            item[facts],
            salt[facts],
            value[facts],
            time[facts],
            length[part],
            entry[facts],
        )

    in_parts(draw, range(0, targets.size, _AT_ONCE))
    held = _tell_wrong_items(item, salt, dataset, value_scale, data, rule, value, time, bool(known))
    further = draw_channels(known, rows, place, entry, salt, held, seed, who.knows)
    made = Knowledge(
        query_ptr=np.arange(targets.size + 1, dtype=np.int64) * who.knows,
        item=dataset.item_labels[item],
        value=value,
        time=time / dataset.ticks_per_day,
        queries=np.arange(targets.size),
        length=length,
        adversary=who,
        seed=seed,
        source=dataset,
        channels=further,
        _index=item,
        _labels=dataset.item_labels,
    )
    given = draw_attributes(known, rows, place, seed)
    return with_attributes(made, given) if given else made


def _drawn_by(who: Adversary, dataset: Catalog, rows: Rows, marked: Array) -> tuple[Any, Any]:
    """The compiled draw, and what it picks from: marked items, or items that are related."""
    grouping = who.choice.grouping
    if grouping is None:
        return draw_queries, marked
    places, width = grouping.places(dataset, rows), grouping.width(dataset)
    return draw_grouped, Groups(places, width, grouping.per_group, grouping.in_order)


def _check_eligible(who: Adversary, dataset: Catalog, rows: Rows, place: Array) -> None:
    """Refuse targets from which the knowledge cannot be drawn."""
    unfit = int((~satisfied(conditions(who, dataset), rows))[place].sum())
    if unfit:
        raise EligibilityError(
            f"{unfit} of {place.size} targets do not hold enough items for an adversary who knows {who.words(dataset)}; "
            "take targets from adversary.eligible(dataset)"
        )


def _tell_wrong_items(
    item: Array,
    salt: Array,
    dataset: Catalog,
    scale: tuple[ValueScale, Array | None] | None,
    data: SourceArrays,
    rule: Rule,
    value: Array,
    time: Array,
    more: bool,
) -> Array:
    """Give each wrong item the value and the time of a random entry of a random holder, with the adversary's error.

    Returns the code of that entry per wrong item; `more` says that further channels need it.
    """
    fact = np.flatnonzero(salt)
    if fact.size == 0 or not (rule.tells_value or rule.time_within >= 0 or more):
        return np.empty(0, np.int64)
    found = dataset.map(PickHolders(item[fact], salt[fact]))
    code = found.code if scale is None or scale[1] is None else scale[1][found.code]
    held = data._replace(code=code.astype(data.code.dtype), tick=found.tick.astype(data.tick.dtype))
    tell_held(fact, salt[fact], held, rule, value, time)
    return found.code
