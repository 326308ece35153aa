"""Tables of the exact likelihood: Bayes' rule for an adversary with exactly w wrong facts, drawn from this release."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import satisfied
from standout.adversary.counts import ItemCount
from standout.adversary.facts import Facts
from standout.adversary.level_errors import JointKernel, distinct_levels, spread
from standout.arrays import Array
from standout.attacks.choice_share import chosen_share
from standout.attacks.known_length import with_length
from standout.attacks.noise import Noise
from standout.attacks.picks import Picks, log_ways, picks
from standout.attacks.table_rows import cells_of
from standout.attacks.tables import Known
from standout.data.cache import once
from standout.data.item_codes import MOST_DENSE
from standout.data.scale import ValueScale
from standout.data.tasks import Sums
from standout.formulas.likelihood import shrunk
from standout.kernels.levels import LevelKernel
from standout.scoring.chances import SumChances
from standout.scoring.plan import Combine, ExactTables, Plan, Tie, fixed_point

NATS_PER_FACT = 64.0
"""Largest log-probability per fact that fixed-point scores are scaled for."""

SHRINK = 10.0
"""Weight, in entries, of the common distribution that each item's own distribution is mixed with."""

LEAST_CHANCE = 1e-12
"""Smallest probability of a known value and day in P(knowledge | absent)."""

_SLACK = 1e-9


def is_drawn_here(facts: Facts) -> bool:
    """Whether all queries are complete draws of their adversary from this release.

    In another release the target's entries may differ from the facts, and an exact model would
    exclude the target.
    """
    return facts.from_release and is_complete(facts)


def is_complete(facts: Facts) -> bool:
    """Whether all queries are complete draws of an adversary."""
    who = facts.adversary
    if who is None:
        return False
    n_items = np.diff(facts.query_ptr)
    if facts.given is not None:
        n_items = n_items - np.bincount(facts.query[facts.given], minlength=n_items.size)
    return bool((n_items == who.knows).all())


def compile_exact(known: Known, who: Adversary, noise: Noise, background: Array) -> Plan:
    """Plan of log P(A|r) - log P(A|absent) for all queries.

    Parameters
    ----------
    known, who
        What is known of the release, and the adversary who drew it.
    noise
        Kernels of right values and days.
    background
        Smoothed probability of the known value and day per fact, for items that few records hold.
    """
    rule = picks(who, known.dataset)
    tables = _exact_tables(known, who, noise, rule)
    right, wrong = _mean_chances(known, tables)
    tables = tables._replace(mean_right=right)
    log_pick, length = with_length(known, rule.log_pick)
    base = length - _log_absent(
        known, who, rule, tables, background, wrong, _even_chance(known, noise)
    )
    return Plan(
        combine=Combine.EXACT,
        tie=Tie.INDEX,
        use_value=tables.use_value,
        use_time=tables.use_time,
        filtered=known.facts.length_within is not None,
        tables=known.tables(),
        scale=tables.scale,
        base=base,
        exact=tables,
        places=known.cells.places if tables.use_value else None,
        factor=log_pick,
        weight=rule.weight,
        further=rule.totals,
    )


def _exact_tables(known: Known, who: Adversary, noise: Noise, rule: Picks) -> ExactTables:
    """All tables except the means over the items' pairs."""
    data, n = known.dataset, known.facts.n_queries
    use_value, use_time = who.tells_value(data) and noise.value is not None, who.tells_time(data)
    value = _value_tables(known, who, noise, use_value)
    wrong_items = who.wrong_kind == "item" and who.wrong > 0
    wrong = np.full(n, int(who.wrong), np.int64)
    m = int(np.diff(known.query_ptr).max(initial=1))
    gone_ptr, gone_item = _gone_items(known, rule)
    return ExactTables(
        wrong_items=wrong_items,
        use_value=use_value,
        use_time=use_time,
        reach=who.time_ticks(data),
        tick_span=int(data.tick_span),
        n_marked=rule.n_marked,
        most_facts=m,
        most_wrong=int(wrong.max(initial=0)),
        wrong=wrong,
        log_ways=log_ways(np.diff(known.query_ptr) - known.n_given, wrong),
        total=int(data.supports[rule.pickable].sum()) - np.diff(gone_ptr),
        n_possible=rule.n_eligible
        - np.append(satisfied(rule.conditions, known.gone), False)[known.gone_at],
        scale=fixed_point(NATS_PER_FACT * np.diff(known.query_ptr)),
        **value._asdict(),
        has_tick=known.has_tick & use_time,
        marked=rule.marked[known.item].astype(np.int64),
        support=known.support.astype(np.float64),
        mean_right=np.zeros(known.item.size),
        gone_ptr=gone_ptr,
        gone_item=gone_item,
        log_pick=np.empty(0),
        weight=np.empty(0),
        weighted=rule.chosen.weighted,
        by_events=rule.chosen.by_events,
        pick_weight=rule.chosen.weights_of(known.item),
    )


def _gone_items(known: Known, rule: Picks) -> tuple[Array, Array]:
    """Distinct pickable items of each query's excluded record: start per query, and the items."""
    gone, none = known.gone, np.empty(0, np.int64)
    own = [
        np.unique(gone.item[gone.ptr[k] : gone.ptr[k + 1]]).astype(np.int64)
        for k in range(gone.record.size)
    ]
    own = [*(row[rule.pickable[row]] for row in own), none]
    rows = [own[k] for k in known.gone_at.tolist()]
    ptr = np.concatenate([[0], np.cumsum([row.size for row in rows])]).astype(np.int64)
    return ptr, np.concatenate([*rows, np.empty(0, np.int64)])


class ValueTables(NamedTuple):
    """Value tables of an exact plan, by their names in it."""

    value_row: Array
    row_start: Array
    right_value: Array
    wrong_value: Array
    level_fine: Array


def exact_tables(
    known: Known,
    use_value: bool,
    right: Callable[..., Array],
    wrong: Callable[..., Array],
    fine: Array,
) -> ValueTables:
    """Tables over the cells of each distinct pair of item and known value.

    A fact without a value comes only from an entry without one.

    Parameters
    ----------
    known
        The facts.
    use_value
        Whether values are known.
    right, wrong
        Probability of a known value given a level: functions of (distinct known values, the value
        of each cell as an index into them, the level of each cell).
    fine
        bool (levels): whether the value can be wrong.
    """
    data, n = known.dataset, known.item.size
    if not use_value:
        one = np.ones(1)
        return ValueTables(
            np.zeros(n, np.int64), np.zeros(1, np.int64), one, one, -np.ones(1, np.int8)
        )
    told, place = distinct_levels(known.value[known.has_value])
    which, n_told = np.zeros(n, np.int64), told.shape[0]
    which[known.has_value] = 1 + place
    # where all levels have a cell, facts about different items share rows
    item = known.item if data.n_levels > MOST_DENSE else np.zeros(n, np.int64)
    pairs, row = np.unique(item * (n_told + 1) + which, return_inverse=True)
    cells, which = cells_of(data, pairs // (n_told + 1)), pairs % (n_told + 1)
    no_value = cells.code == data.n_levels
    tables = []
    at = ~no_value & (which[cells.row] > 0)
    for chance in (right, wrong):
        table = np.where(no_value & (which[cells.row] == 0), 1.0, 0.0)
        table[at] = chance(told, which[cells.row[at]] - 1, cells.code[at])
        tables.append(table)
    kind = np.append(fine.astype(np.int8), np.int8(-1))[cells.code]
    return ValueTables(row.reshape(-1), cells.start[:-1], tables[0], tables[1], kind)


def _value_tables(known: Known, who: Adversary, noise: Noise, use_value: bool) -> ValueTables:
    """Probabilities of the known values by level."""
    data, kernel, errors = known.dataset, noise.value, who.level_errors(known.dataset)

    def right(told: Array, which: Array, code: Array) -> Array:
        assert kernel is not None and errors is not None
        chance = kernel.chances(told[which], code, data.levels)
        # a fact that lacks a level comes only from an entry that lacks it
        return chance * errors.complete(told[which], code) if errors.is_joint else chance

    def wrong(told: Array, which: Array, code: Array) -> Array:
        assert errors is not None
        return errors.wrong(told, which, code)

    fine = np.empty(0, np.bool_) if errors is None else errors.can_be_wrong(data.n_levels)
    return exact_tables(known, use_value, right, wrong, fine)


def level_parts(
    known: Known, kernel: LevelKernel
) -> list[tuple[Array, ValueScale, LevelKernel, Array | None]]:
    """Per level channel: known levels, scale, kernel, and the level of each joint code (None where codes are levels)."""
    if not isinstance(kernel, JointKernel):
        return [(known.value, known.dataset, kernel, None)]
    columns = known.value.T
    return [(columns[k], *part) for k, part in enumerate((s, c, lv) for s, lv, c in kernel.parts)]


def _mean_chances(known: Known, tables: ExactTables) -> tuple[Array, Array]:
    """Per fact: mean over the item's (record, item) pairs of the probability of its value and day, right and wrong."""
    data = known.dataset
    task = SumChances(
        known.item.astype(np.int64),
        known.known_tick,
        tables,
        int(data.supports.max(initial=1)),
        known.cells.places if tables.use_value else None,
    )
    # sums over all pairs serve the plans with and without the target
    key = (tables.right_value.tobytes(), tables.wrong_value.tobytes())
    over_all = once(known.facts, "chances", key, lambda: data.map(task))
    own = task.of_records(known.gone, known.gone_at[known.query], data.has_repeats)
    right, wrong = task.probabilities(Sums(over_all.total - own.total), data.has_repeats)
    pairs = np.maximum(known.support, 1)
    return right / pairs, wrong / pairs


def _even_chance(known: Known, noise: Noise) -> Array:
    """Per fact: probability of its value and day if both are uniform over the scale and the span."""
    out = np.ones(known.item.size)
    data = known.dataset
    if data.has_value and noise.value is not None and known.has_value.any():
        for column, scale, kernel, _ in level_parts(known, noise.value):
            some = ~np.isnan(column)
            out[some] *= spread(column[some], scale, kernel) / max(scale.n_levels, 1)
    if noise.time is not None:
        out[known.has_tick] /= data.tick_span + 1
    return out


def _log_absent(
    known: Known,
    who: Adversary,
    rule: Picks,
    tables: ExactTables,
    background: Array,
    wrong: Array,
    even: Array,
) -> Array:
    """P(A|absent) as a logarithm: Σ_i log q_i·[(1-h)·g_i + h·ū_i] per query: facts about a person outside the release."""
    n = known.support.astype(np.float64)
    g = np.maximum(shrunk(tables.mean_right, n, background, SHRINK), LEAST_CHANCE)
    off = np.maximum(shrunk(wrong, n, even, SHRINK), LEAST_CHANCE)
    h = 0.0 if tables.wrong_items else tables.wrong[known.query] / max(who.knows, 1)
    h = np.where(known.given, 0.0, h)
    total = tables.total[known.query].astype(np.float64)
    by_class = rule.n_marked >= 0 and not tables.wrong_items
    if by_class:
        data = known.dataset
        own = np.append(ItemCount(rule.marked).of(known.gone), 0)[known.gone_at][known.query]
        n_rare = data.supports[rule.marked].sum() - own
        total = np.where(tables.marked == 1, n_rare, total - n_rare)
    # an item held only by the excluded record can still occur in a fact
    q = np.maximum(n, 0.5) / np.maximum(total, 1.0)
    if rule.chosen.weighted:
        e = who.wrong_share if tables.wrong_items else 0.0
        q = (1 - e) * chosen_share(known, rule.chosen) + e * q
    q = np.where(known.given, 1.0, q)
    # a fact without value and day cannot be wrong in them
    says = tables.has_tick | (known.has_value & tables.use_value)
    out = known.sum_over_facts(np.log(q * ((1 - h) * g + h * np.where(says, off, g))))
    return np.asarray(out - log_ways(who.knows, rule.n_marked) if by_class else out)
