"""The Numba kernel: a batch of queries over blocks of records.

A block's scores live in one small integer array (the accumulator) that stays in cache. For each query the kernel adds
up the runs of its known items (`fill`), then looks the block over once. Nothing here knows an attack.
"""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.scoring.fill import (
    Manner,
    Postings,
    Room,
    add_facts,
    contribution,
    event_odds,
    fill,
    finish,
    fixed_log,
    jit,
    jit_bare,
    make_room,
    manner,
    n_postings,
    postings,
)  # fmt: skip
from standout.scoring.look import Bar, allowed, bar_of, look, look_at_met, passes, zeros_cannot_win
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import VETO, Combine, Tables

__all__ = [
    "Manner", "Postings", "allowed", "dump", "fixed_log", "manner", "mass_blocks", "peek", "postings", "run_blocks",
]  # fmt: skip

Array = npt.NDArray[Any]

_SUM, _MIN, _ODDS = int(Combine.SUM), int(Combine.MIN), int(Combine.ODDS)
_UNCAPPED = 2**31 - 1
FEW = 12
"""Where a block holds this many times more records than a query has postings in it, only the records met are looked at."""
FEW_MASS = 4
"""The same for a mass, whose walk over all records costs more."""
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52
_T = tuple(1.0 / factorial(k) for k in range(12))
FARTHEST = -60.0
"""A record whose exponent is below this adds nothing to a mass."""

jit_wide = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})


@jit  # type: ignore[untyped-decorator]
def run_blocks(
    first: int,
    stop: int,
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: Manner,
    watch: Array,
    out: Partials,
) -> None:
    """Add blocks `first … stop-1` to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    whole = np.zeros(post.block_size, np.int32)
    room = make_room(post.block_size, how.combine)
    _run_blocks(whole, room, first, stop, queries, post, plan, how, watch, out)


@jit_bare  # type: ignore[untyped-decorator]
def _run_blocks(whole: Array, room: Room, first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables,
                how: Manner, watch: Array, out: Partials) -> None:  # fmt: skip
    # what concerns the whole sum, or every record, needs every record looked at
    by_record = how.filtered or how.combine == _MIN or (how.combine == _SUM and post.factor.size > 0)
    for b in range(first, stop):
        start = b * post.block_size
        acc = whole[: min(post.block_size, post.n_records - start)]
        clear = False
        for q in range(queries[0], queries[1]):
            if not clear:
                acc[:] = 0
                room.held[:] = 0
            add_facts(acc, room, b, q, post, plan, how)
            if (
                not by_record
                and FEW * n_postings(b, q, post, plan) < acc.size
                and plan.cap[q] >= _UNCAPPED
                and zeros_cannot_win(q, how.tie, out)
            ):
                look_at_met(acc, start, b, q, watch[q], post, plan, how, out)
                clear = True
            else:
                finish(acc, room.held, start, q, post, plan, how)
                look(acc, start, q, watch[q], post, plan, how, out)
                clear = False


# a function without a word on fastmath takes over its caller's: rounding by addition must not be optimized away
@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)  # type: ignore[untyped-decorator]
def exponential(x: float) -> float:
    """e^x for x ≤ 0 to 1e-14, 0 below `FARTHEST`: Taylor's series on ±ln(2)/2, without a call or a jump, so that it widens."""
    safe = x if x > FARTHEST else FARTHEST
    # adding 1.5 · 2^52 rounds to a whole number, which then stands in the low bits
    shifted = safe * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = (safe - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (_T[0] + r * _T[1]) + r2 * (_T[2] + r * _T[3])
    middle = (_T[4] + r * _T[5]) + r2 * (_T[6] + r * _T[7])
    high = (_T[8] + r * _T[9]) + r2 * (_T[10] + r * _T[11])
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    y = (low + r4 * (middle + r4 * high)) * power
    return y if x > FARTHEST else 0.0


@jit_wide  # type: ignore[untyped-decorator]
def _mass_over(acc: Array, top: int, beta: float) -> float:
    """Σ exp(beta · (score - top)) over the whole block."""
    mass, high = 0.0, np.float64(top)
    for k in range(np.uint64(acc.size)):
        mass += exponential(beta * (np.float64(acc[k]) - high))
    return mass


@jit  # type: ignore[untyped-decorator]
def _mass_of_each(acc: Array, start: int, top: int, beta: float, bar: Bar, lengths: Array) -> float:
    """As `_mass_over`, for queries that bar some records."""
    mass, high = 0.0, np.float64(top)
    for k in range(acc.size):
        if passes(start + k, bar, lengths):
            mass += exponential(beta * (np.float64(acc[k]) - high))
    return mass


@jit_bare  # type: ignore[untyped-decorator]
def _mass_of_met(acc: Array, hole: int, b: int, q: int, top: int, beta: float, post: Postings, plan: Tables) -> float:
    """As `_mass_over`, by the records that score other than 0 and the number of the others; leaves `acc` cleared.

    `hole` is the place of the excluded record in the block, if it is there.
    """
    mass, high, n = 0.0, np.float64(top), np.int64(acc.size)
    if 0 <= hole < acc.size:
        acc[hole] = 0
        n -= 1
    for f in range(plan.query_ptr[q], plan.query_ptr[q + 1]):
        i = plan.item[f]
        for p in range(np.uint64(post.ptr[b, i]), np.uint64(post.ptr[b, i + 1])):
            k = np.uint64(post.local[p])
            # a record that was met before holds 0 by now
            if acc[k] != 0:
                mass += exponential(beta * (np.float64(acc[k]) - high))
                acc[k] = 0
                n -= 1
    return mass + n * exponential(beta * -high) if n > 0 else mass


@jit  # type: ignore[untyped-decorator]
def mass_blocks(first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: Manner, top: Array,
                beta: Array, out: Array) -> None:  # fmt: skip
    """Add Σ exp(beta · (score - top)) over the candidates of blocks `first … stop-1` to `out`, for the queries named."""
    whole = np.zeros(post.block_size, np.int32)
    room = make_room(post.block_size, how.combine)
    _mass_blocks(whole, room, first, stop, queries, post, plan, how, top, beta, out)


@jit_bare  # type: ignore[untyped-decorator]
def _mass_blocks(whole: Array, room: Room, first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables,
                 how: Manner, top: Array, beta: Array, out: Array) -> None:  # fmt: skip
    by_record = how.filtered or how.combine == _MIN or (how.combine == _SUM and post.factor.size > 0)
    for b in range(first, stop):
        start = b * post.block_size
        acc = whole[: min(post.block_size, post.n_records - start)]
        clear = False
        for q in range(queries[0], queries[1]):
            if not clear:
                acc[:] = 0
                room.held[:] = 0
            add_facts(acc, room, b, q, post, plan, how)
            bar = bar_of(q, post.first_record, plan, how)
            clear = not by_record and plan.cap[q] >= _UNCAPPED and FEW_MASS * n_postings(b, q, post, plan) < acc.size
            if clear:
                out[q] += _mass_of_met(acc, bar.exclude - start, b, q, top[q], beta[q], post, plan)
                continue
            finish(acc, room.held, start, q, post, plan, how)
            if how.filtered or 0 <= bar.exclude - start < acc.size:
                out[q] += _mass_of_each(acc, start, top[q], beta[q], bar, post.lengths)
            else:
                out[q] += _mass_over(acc, top[q], beta[q])


@jit  # type: ignore[untyped-decorator]
def _find(local: Array, lo: int, hi: int, k: int) -> int:
    """First place from `lo` to `hi` of a run whose record is at least `k`."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if np.int64(local[middle]) < k:
            lo = middle + 1
        else:
            hi = middle
    return lo


@jit_bare  # type: ignore[untyped-decorator]
def _score_of(r: int, q: int, post: Postings, plan: Tables, how: Manner) -> int:
    """Score of record `r` of the shard: as `fill` gives it, from the record's own entries alone."""
    b = r // post.block_size
    k = r - b * post.block_size
    first, shift = plan.query_ptr[q], plan.shift[q]
    score, held, half = np.int64(0), np.int64(0), np.int64(1) << shift >> 1
    for f in range(first, plan.query_ptr[q + 1]):
        hi = np.int64(post.ptr[b, plan.item[f] + 1])
        p = _find(post.local, np.int64(post.ptr[b, plan.item[f]]), hi, k)
        best, odds, events = np.int64(VETO), 0.0, 0.0
        while p < hi and np.int64(post.local[p]) == k:
            if how.combine == _ODDS:
                odds += event_odds(np.uint64(f), np.uint64(p), post, plan, how)
            else:
                row = np.uint64(plan.time_row[f])
                x = contribution(np.uint64(p), post.code, post.day, plan.value, np.uint64(f), plan.time, row,
                                 plan.known_day[f], post.no_day, how.use_value, how.use_time)  # fmt: skip
                best = max(best, x)
            events += 1.0
            p += 1
        if events == 0.0:
            continue
        if how.combine == _ODDS:
            odds = odds / events if events > 1.0 else odds
            score += (fixed_log(1.0 + post.factor[r] * (odds + plan.odds_floor[f])) + half) >> shift
        elif how.combine == _MIN:
            if held == f - first:
                score = max(best, np.int64(0)) if held == 0 else min(score, max(best, np.int64(0)))
                held += 1
        elif best > VETO // 2:
            score += best
    if how.combine == _MIN and held < plan.n_known[q]:
        score = np.int64(0)
    if how.combine == _SUM and post.factor.size > 0 and score != 0:
        score = np.int64(np.rint(score * post.factor[r]))
    return min(score, plan.cap[q]) if plan.cap[q] < _UNCAPPED else score


@jit  # type: ignore[untyped-decorator]
def peek(post: Postings, plan: Tables, how: Manner, record: Array, out: Array) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and it is a candidate."""
    for q in range(plan.query_ptr.size - 1):
        r = record[q] - post.first_record
        if 0 <= r < post.n_records and allowed(r, q, post, plan, how):
            out[q] = _score_of(r, q, post, plan, how)


@jit  # type: ignore[untyped-decorator]
def dump(post: Postings, plan: Tables, how: Manner, out: Array) -> None:
    """Put every score into `out` (queries, records), barred records as `LOWEST`."""
    room = make_room(post.block_size, how.combine)
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        size = min(post.block_size, post.n_records - start)
        for q in range(plan.query_ptr.size - 1):
            acc = out[q, post.first_record + start : post.first_record + start + size]
            fill(acc, room, b, q, post, plan, how)
            bar = bar_of(q, post.first_record, plan, how)
            for k in range(size):
                if not passes(start + k, bar, post.lengths):
                    acc[k] = LOWEST
