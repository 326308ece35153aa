"""Drawing knowledge: randomness is a function of (seed, purpose, target), never a stream that targets share."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.adversary.adversary import Adversary, levels_outside
from standout.adversary.draws import Rule, Source, draw_queries
from standout.adversary.knowledge import Knowledge
from standout.adversary.splitmix import start
from standout.data.dataset import Dataset
from standout.data.values import percent

Array = npt.NDArray[Any]

jit = njit(nogil=True, cache=True)

PURPOSE_TARGETS = 2
PURPOSE_SPLIT = 3
_AT_ONCE = 4096
"""Targets per task of a thread. A draw depends only on its target, so this number changes no result."""


@jit  # type: ignore[untyped-decorator]
def count_marked(record_ptr: Array, record_item: Array, marked: Array) -> Array:
    """Distinct marked items of each record."""
    out = np.zeros(record_ptr.size - 1, np.int64)
    for r in range(out.size):
        last = np.int64(-1)
        for k in range(record_ptr[r], record_ptr[r + 1]):
            i = np.int64(record_item[k])
            if i != last:
                out[r] += marked[i]
                last = i
    return out


def sample_targets(dataset: Dataset, eligible: Array, n: int | None, seed: int) -> Array:
    """`n` of the eligible records (all if None); the choice depends on (seed, contents of the record)."""
    if n is None or n >= eligible.size:
        return eligible
    key = starts(np.uint64(seed % 2**64), PURPOSE_TARGETS, dataset.record_keys[eligible])
    return eligible[np.argsort(key, kind="stable")[:n]]


@jit  # type: ignore[untyped-decorator]
def starts(seed: int, purpose: int, targets: Array) -> Array:
    """State that each target starts from; `targets` are their keys."""
    out = np.empty(targets.size, np.uint64)
    for k in range(targets.size):
        out[k] = start(seed, purpose, np.uint64(targets[k]))
    return out


@jit  # type: ignore[untyped-decorator]
def count_wrongable(record_ptr: Array, record_item: Array, marked: Array, fine: Array) -> Array:
    """Distinct marked items per record with at least one entry that can give a wrong fact."""
    out = np.zeros(record_ptr.size - 1, np.int64)
    for r in range(out.size):
        last = np.int64(-1)
        for k in range(record_ptr[r], record_ptr[r + 1]):
            i = np.int64(record_item[k])
            if i != last and marked[i] and fine[k]:
                out[r] += 1
                last = i
    return out


@jit  # type: ignore[untyped-decorator]
def mark_wrongable(
    code: Array, tick: Array, no_tick: int, levels_fine: Array, reach: int, span: int, fine: Array
) -> None:
    """Mark entries with a known value or time for which, in each known channel, some value lies outside the tolerance."""
    for k in range(fine.size):
        says, room = False, True
        if levels_fine.size > 0 and code[k] < levels_fine.size:
            says = True
            room = levels_fine[code[k]]
        if reach >= 0 and tick[k] != no_tick:
            says = True
            room = room and max(np.int64(tick[k]), span - np.int64(tick[k])) > reach
        fine[k] = says and room


def wrongable(who: Adversary, dataset: Dataset) -> Array:
    """Per entry: whether a wrong value can be drawn for it, in every known channel."""
    fine = np.empty(dataset.n_entries, np.bool_)
    levels = np.empty(0, np.bool_)
    if who.tells_value(dataset):
        levels = levels_outside(dataset.levels, who.value_tolerance(dataset)) > 0
    reach = who.time_ticks(dataset) if who.tells_time(dataset) else -1
    mark_wrongable(dataset.record_code, dataset.record_tick, dataset.no_tick, levels, reach, dataset.tick_span, fine)
    return fine


def _rule_of(who: Adversary, dataset: Dataset, n_rare: int) -> Rule:
    """The adversary's parameters as the draw needs them."""
    grid = dataset.value_grid
    whole = who.gamma is None and percent(who.value_within) is None and grid is not None
    within = float(who.value_within or 0.0) if whole else 0.0
    return Rule(
        knows=who.knows,
        n_wrong=0 if who.wrong_varies else int(who.wrong),
        p_wrong=float(who.wrong) if who.wrong_varies else 0.0,
        wrong_items=who.wrong_kind == "item",
        n_rare=n_rare,
        tells_value=who.tells_value(dataset),
        value_steps=int(np.floor(within / (grid or 1.0) + 1e-9)) if whole else -1,
        value_step=grid or 1.0,
        time_within=who.time_ticks(dataset) if who.tells_time(dataset) else -1,
        length_within=-1.0 if who.length_within is None else float(who.length_within),
    )


def _source_of(who: Adversary, dataset: Dataset) -> Source:
    """The data as the draw needs it."""
    share = percent(who.value_within)
    tolerance = who.value_tolerance(dataset)
    relative = who.gamma is None and share is not None
    low, high = dataset.scale_ends
    by_key = np.argsort(dataset.record_keys) if who.wrong and who.wrong_kind == "item" else np.empty(0, np.int64)
    return Source(
        key=dataset.record_keys,
        by_key=by_key,
        entries_before=np.concatenate([[0], np.cumsum(np.diff(dataset.record_ptr)[by_key])]),
        ptr=dataset.record_ptr,
        item=dataset.record_item,
        code=dataset.record_code,
        tick=dataset.record_tick,
        supports=dataset.supports,
        fine=wrongable(who, dataset) if who.wrong and who.wrong_kind == "value" else np.empty(0, np.bool_),
        levels=dataset.levels,
        width=np.abs(dataset.levels) * share if relative and share is not None else tolerance,
        tolerance=tolerance,
        low=low,
        high=high,
        first_tick=int(dataset.first_tick),
        tick_span=int(dataset.tick_span),
        no_tick=int(dataset.no_tick),
    )


def sample(who: Adversary, dataset: Dataset, targets: Array, seed: int) -> Knowledge:
    """Draw the knowledge of the adversary `who` about each target."""
    n = targets.size * who.knows
    item = np.empty(n, np.int64)
    value, time = np.full(n, np.nan), np.full(n, np.nan)
    length = np.full(targets.size, np.nan)
    marked = pickable = who.pickable(dataset)
    n_rare = -1
    if who.choice.kind == "rare":
        marked, n_rare = who.rare_items(dataset)
    rule, data = _rule_of(who, dataset, n_rare), _source_of(who, dataset)

    def draw(lo: int) -> None:
        part, facts = slice(lo, lo + _AT_ONCE), slice(lo * who.knows, (lo + _AT_ONCE) * who.knows)
        draw_queries(targets[part], np.uint64(seed % 2**64), data, marked, pickable, rule, dataset.lengths, item[facts],
              value[facts], time[facts], length[part])  # fmt: skip

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(draw, range(0, targets.size, _AT_ONCE)))
    return Knowledge(
        query_ptr=np.arange(targets.size + 1, dtype=np.int64) * who.knows,
        item=dataset.item_labels[item],
        value=value,
        time=time / dataset.ticks_per_day,
        queries=np.arange(targets.size),
        length=length,
        adversary=who,
        seed=seed,
        source=dataset,
        _index=item,
        _labels=dataset.item_labels,
    )
