"""Exact best and second by upper bounds, without all scores.

Each fact's contribution is bounded by its value and by whether the day is near. Popular items are left out as far as the
bound of what they could add allows (MaxScore): of them only entries are walked that could add more than that bound. Records
whose bound reaches the second best so far are scored exactly, from their own entries.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.data.ranked import Ranked
from standout.scoring.fill import Manner, add_same, contribution, jit, jit_bare, jit_inline
from standout.scoring.look import highest, insert, key_of
from standout.scoring.partials import Partials
from standout.scoring.plan import VETO, Combine, Plan, Tables

Array = npt.NDArray[Any]

UNIT_BITS = 15
"""Bounds are kept in units of 2^15: a score is at most 2^30 (`ROOM`), so sums of bounds fit into 16 bits."""
FAR = 0.02
"""A day is far where its contribution is at most this share of the best one's."""
SLACK = 0.6
"""Share of the second best's score that walked entries must bring: less leaves out more items and checks more records."""
STRETCH = 512
"""Records looked over together in search of one whose bound is high enough."""
STEPS = 4
"""Levels of the bound, highest first, by which records are checked."""
MOST_FACTS = 2**14
"""Facts of a query whose bounds, each rounded up, cannot overflow 16 bits together."""
_HALF_VETO = VETO // 2


class Bounds(NamedTuple):
    """Upper bounds of contributions in units, rounded up."""

    value: Array
    """uint16 (facts, codes): by value code."""
    time: Array
    """uint16 (rows, gaps + 1): by day gap, never rising with it; the last column, "no day", counts as far."""
    reach: Array
    """int64 (rows): the first far gap."""
    far: Array
    """uint16 (rows): bound of all far days, and of no day."""
    assumed: Array
    """int64 (facts): bound of what the fact adds where the day is far; assumed of every record if it is left out."""
    by_support: Array
    """int64 (facts): facts of each query, most held item first."""


class Records(NamedTuple):
    """The record-major form, for exact scores."""

    ptr: Array
    item: Array
    code: Array
    day: Array
    no_day: int


def records(data: Dataset) -> Records:
    """Entries of the dataset for the kernel."""
    return Records(data.record_ptr, data.record_item, data.record_code, data.record_day, data.no_day)


def prunable(plan: Plan) -> bool:
    """Whether bounds of single facts bound the score, and are faster than scores.

    Scores are plain sums over all records, nothing is counted, and a fact says more than that an item is held: counting
    held items is as fast as bounding them.
    """
    t = plan.tables
    free = t.factor.size == 0 and not plan.filtered
    uncounted = bool((t.cap >= 2**31 - 1).all() and (t.cut >= 2**31 - 1).all())
    says_more = plan.use_value or plan.use_time
    few = bool(np.diff(t.query_ptr).max(initial=0) < MOST_FACTS)
    return plan.combine == Combine.SUM and free and uncounted and says_more and few


def units(score: Array) -> Array:
    """Scores in units, rounded up; what is vetoed or negative adds nothing."""
    return np.asarray((np.maximum(score, 0) + (2**UNIT_BITS - 1)) >> UNIT_BITS)


def bounds(plan: Plan, supports: Array, n_codes: int) -> Bounds:
    """Bounds of every fact of the plan."""
    t = plan.tables
    value = units(t.value)
    # a channel without a say has one column; codes of the data then share it
    value = np.broadcast_to(value, (value.shape[0], n_codes)) if value.shape[1] == 1 else value
    # from the far end: a bound of a gap bounds all larger ones; no day counts as the largest gap
    time = np.maximum.accumulate(units(t.time)[:, ::-1], axis=1)[:, ::-1]
    # bounds never rise with the gap: as many gaps as are near come first. The last one stands for all larger ones
    near = (time[:, :-1] > FAR * time[:, :1]).sum(axis=1)
    reach = np.minimum(near, max(time.shape[1] - 2, 0))
    far = time[np.arange(time.shape[0]), reach]
    # where a veto of one channel overrules the other, the sum of both bounds still bounds
    best = value.max(axis=1, initial=0)
    query = np.repeat(np.arange(plan.n_queries), np.diff(t.query_ptr))
    by_support = np.lexsort((np.arange(t.item.size), -supports[t.item], query))
    return Bounds(
        np.ascontiguousarray(value, np.uint16), np.ascontiguousarray(time, np.uint16), reach.astype(np.int64),
        far.astype(np.uint16), (best + far[t.time_row]).astype(np.int64), by_support.astype(np.int64),
    )  # fmt: skip


@jit  # type: ignore[untyped-decorator]
def _from_day(day: Array, lo: int, hi: int, least: int) -> int:
    """First place in `lo … hi` whose day is at least `least`."""
    while lo < hi:
        middle = (lo + hi) >> np.uint64(1)
        if np.int64(day[middle]) < least:
            lo = middle + np.uint64(1)
        else:
            hi = middle
    return lo


@jit  # type: ignore[untyped-decorator]
def _add_near(
    acc: Array, lo: int, hi: int, local: Array, day: Array, time: Array, row: int, known: int, x: int
) -> None:
    """Add `x` and what the time table says; the sum of both is not negative."""
    last, at, add = np.int32(time.shape[1] - 2), np.int32(known), np.int32(x)
    for p in range(lo, hi):
        gap = np.uint64(np.uint32(min(abs(np.int32(day[p]) - at), last)))
        acc[np.uint64(local[p])] += np.uint16(np.int32(time[row, gap]) + add)


@jit  # type: ignore[untyped-decorator]
def _within(time: Array, row: int, reach: int, more_than: int) -> int:
    """First gap, at most `reach`, at which the bound is no more than `more_than`."""
    lo, hi = np.int64(0), reach
    while lo < hi:
        middle = (lo + hi) >> 1
        if np.int64(time[row, middle]) > more_than:
            lo = middle + 1
        else:
            hi = middle
    return lo


@jit_inline  # type: ignore[untyped-decorator]
def _add_fact(
    acc: Array, b: int, f: int, leave: int, some: Ranked, plan: Tables, bound: Bounds, use_time: bool
) -> None:
    """Add the bounds of a fact's entries in block `b`, less `leave`, where they are above it."""
    row, known = plan.time_row[f], plan.known_day[f]
    for c in range(some.n_codes):
        run = plan.item[f] * some.n_codes + c
        lo, hi = np.uint64(some.ptr[b, run]), np.uint64(some.ptr[b, run + 1])
        base = np.int64(bound.value[f, c]) - leave
        if lo == hi:
            continue
        if not use_time:
            if base > 0:
                add_same(acc, lo, hi, some.local, np.uint16(base))
            continue
        far = base + np.int64(bound.far[row])
        reach = bound.reach[row] if far > 0 else _within(bound.time, row, bound.reach[row], -base)
        if far <= 0 and reach == 0:
            continue
        first = _from_day(some.day, lo, hi, known - reach + 1)
        stop = _from_day(some.day, first, hi, known + reach)
        _add_near(acc, first, stop, some.local, some.day, bound.time, np.uint64(row), known, base)
        if far > 0:
            add_same(acc, lo, first, some.local, np.uint16(far))
            add_same(acc, stop, hi, some.local, np.uint16(far))


@jit_inline  # type: ignore[untyped-decorator]
def _left(f: int, besides: int, room: int, bound: Bounds) -> int:
    """What is left out of a fact: the bound of its far days while there is room, else nothing."""
    return bound.assumed[f] if besides + bound.assumed[f] <= room else np.int64(0)


@jit_inline  # type: ignore[untyped-decorator]
def _add_bounds(
    acc: Array, b: int, q: int, room: int, some: Ranked, plan: Tables, bound: Bounds, use_time: bool
) -> int:
    """Fill `acc` with bounds for query `q`; return what every record may have besides, at most `room`."""
    besides = np.int64(0)
    for k in range(plan.query_ptr[q], plan.query_ptr[q + 1]):
        f = bound.by_support[k]
        leave = _left(f, besides, room, bound)
        besides += leave
        _add_fact(acc, b, f, leave, some, plan, bound, use_time)
    return besides


@jit  # type: ignore[untyped-decorator]
def _find(item: Array, lo: int, hi: int, wanted: int) -> int:
    """Where a record's entries `lo … hi-1`, which lie by item, hold the one wanted; -1 = nowhere."""
    stop = hi
    while lo < hi:
        middle = (lo + hi) >> 1
        if np.int64(item[middle]) < wanted:
            lo = middle + 1
        else:
            hi = middle
    return lo if lo < stop and np.int64(item[lo]) == wanted else np.int64(-1)


@jit_inline  # type: ignore[untyped-decorator]
def _exact(q: int, record: int, highest: int, room: int, enough: int, all_: Records, plan: Tables, bound: Bounds,
           how: Manner) -> int:  # fmt: skip
    """Score of a record of which `highest` is a bound, or -1 as soon as it cannot reach `enough`.

    What was left out is looked up first: where the record lacks it, the bound falls by all that was assumed.
    """
    s, besides = np.int64(0), np.int64(0)
    for k in range(plan.query_ptr[q], plan.query_ptr[q + 1]):
        f = bound.by_support[k]
        leave = _left(f, besides, room, bound)
        besides += leave
        p = _find(all_.item, all_.ptr[record], all_.ptr[record + 1], plan.item[f])
        if p < 0:
            highest -= leave << UNIT_BITS
            if highest < enough:
                return np.int64(-1)
            continue
        x = contribution(p, all_.code, all_.day, plan.value, f, plan.time, plan.time_row[f], plan.known_day[f], all_.no_day,
                         how.use_value, how.use_time)  # fmt: skip
        if x > _HALF_VETO:
            s += x
    return s


@jit  # type: ignore[untyped-decorator]
def _gather(acc: Array, need: int, who: Array) -> tuple[int, int]:
    """Offsets of the records whose bound is at least `need`, and the highest bound."""
    n, high = np.int64(0), np.int64(0)
    for lo in range(0, acc.size, STRETCH):
        hi = min(lo + STRETCH, acc.size)
        top = np.int64(highest(acc, lo, hi))
        if top < need:
            continue
        high = max(high, top)
        for k in range(lo, hi):
            if np.int64(acc[k]) >= need:
                who[n] = k
                n += 1
    return n, high


@jit  # type: ignore[untyped-decorator]
def run_blocks(first: int, stop: int, queries: tuple[int, int], some: Ranked, all_: Records, plan: Tables, bound: Bounds,
               how: Manner, goal: Array, out: Partials) -> None:  # fmt: skip
    """Put the best two of blocks `first … stop-1` into `out`, if they score at least `goal`, which rises. No sums."""
    whole, who = np.zeros(some.block_size, np.uint16), np.zeros(some.block_size, np.uint16)
    _run_blocks(whole, who, first, stop, queries, some, all_, plan, bound, how, goal, out)


@jit_bare  # type: ignore[untyped-decorator]
def _run_blocks(whole: Array, who: Array, first: int, stop: int, queries: tuple[int, int], some: Ranked, all_: Records,
                plan: Tables, bound: Bounds, how: Manner, goal: Array, out: Partials) -> None:  # fmt: skip
    for b in range(first, stop):
        start = b * some.block_size
        acc = whole[: min(some.block_size, some.n_records - start)]
        for q in range(queries[0], queries[1]):
            acc[:] = 0
            enough = max(goal[q], out.second_score[q])
            room = np.int64((1.0 - SLACK) * (enough >> UNIT_BITS))
            besides = _add_bounds(acc, b, q, room, some, plan, bound, how.use_time)
            need = max((enough >> UNIT_BITS) - besides, 1)
            n, high = _gather(acc, need, who)
            # highest bounds first: they raise the second best, and spare the others
            above = high + 1
            for step in range(STEPS):
                level = need + ((high - need) * (STEPS - 1 - step)) // STEPS
                for k in range(n):
                    x, record = np.int64(acc[who[k]]), start + np.int64(who[k])
                    enough = max(goal[q], out.second_score[q])
                    highest = (x + besides) << UNIT_BITS
                    if x < level or x >= above or highest < enough or record == plan.exclude[q]:
                        continue
                    s = _exact(q, record, highest, room, enough, all_, plan, bound, how)
                    if s >= enough:
                        insert(s, key_of(record, how.tie, plan.salt[q], plan.lengths), record, q, out)
                above = level
            # threads share this: whatever one of them has found, the release's second best is not below
            goal[q] = max(goal[q], out.second_score[q])
