"""The Numba kernel: a batch of queries over blocks of records.

A block's scores live in one small integer array (the accumulator) that stays in cache. For each query the kernel adds
up the runs of its known items (`fill`), then looks the block over once. Nothing here knows an attack.
"""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.scoring.fill import Manner, Postings, fill, fixed_log, jit, make_room, manner, postings
from standout.scoring.partials import LOWEST, NOBODY, Partials
from standout.scoring.plan import Tables, Tie

__all__ = ["Manner", "Postings", "dump", "fixed_log", "manner", "mass_blocks", "peek", "postings", "run_blocks"]

Array = npt.NDArray[Any]

_SHORT, _HASH = int(Tie.SHORT), int(Tie.HASH)
_HIGHEST = 2**31 - 1
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52
_T = tuple(1.0 / factorial(k) for k in range(12))
STRETCH = 256
"""Records looked over together in search of one that beats the present second."""
FARTHEST = -60.0
"""A record whose exponent is below this adds nothing to a mass."""

jit_wide = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})


class Bar(NamedTuple):
    """Scalars that say who is no candidate of one query; taken out of the plan once per block, not once per record."""

    exclude: int
    low: int
    high: int
    filtered: bool


@jit  # type: ignore[untyped-decorator]
def _bar(q: int, plan: Tables, how: Manner) -> Bar:
    """The bar of query `q`."""
    return Bar(plan.exclude[q], plan.low[q], plan.high[q], how.filtered)


@jit  # type: ignore[untyped-decorator]
def _passes(record: int, bar: Bar, factor: Array, lengths: Array) -> bool:
    """Whether the record is a candidate: the test that loops over records use."""
    if record == bar.exclude:
        return False
    if not bar.filtered:
        return True
    if factor.size > 0 and factor[np.uint64(record)] < 0.0:
        return False
    return bool(bar.low <= lengths[np.uint64(record)] <= bar.high)


@jit  # type: ignore[untyped-decorator]
def allowed(record: int, q: int, plan: Tables, how: Manner) -> bool:
    """Whether the record is a candidate of the query at all."""
    return _passes(record, _bar(q, plan, how), plan.factor, plan.lengths)


@jit  # type: ignore[untyped-decorator]
def _key(record: int, tie: int, salt: int, lengths: Array) -> int:
    """Tie key of the record, smaller first: as loops over records ask for it."""
    if tie == _SHORT:
        return np.uint64(lengths[np.uint64(record)])
    if tie == _HASH:
        x = np.uint64(record) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(salt)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
    return np.uint64(0)


@jit  # type: ignore[untyped-decorator]
def tie_key(record: int, q: int, plan: Tables, how: Manner) -> int:
    """Tie key of the record, smaller first."""
    return _key(record, how.tie, plan.salt[q], plan.lengths)


@jit_wide  # type: ignore[untyped-decorator]
def _look_over(acc: Array, lo: int, hi: int, watch: int, cut: int) -> tuple[int, int, float, int, int]:
    """Maximum, sum, sum of squares, number ≥ watch, number ≥ cut of a stretch of the block."""
    top = np.int32(LOWEST)
    total, squares = np.int64(0), 0.0
    # 32-bit counters stay in step with 32-bit scores in wide registers
    n_watch, n_cut = np.int32(0), np.int32(0)
    at_watch = np.int32(min(max(watch, LOWEST), _HIGHEST))
    at_cut = np.int32(min(max(cut, LOWEST), _HIGHEST))
    if watch > _HIGHEST and cut > _HIGHEST:
        for k in range(np.uint64(lo), np.uint64(hi)):
            s = acc[k]
            top = max(top, s)
            total += s
            squares += np.float64(s) * np.float64(s)
        return np.int64(top), total, squares, np.int64(0), np.int64(0)
    for k in range(np.uint64(lo), np.uint64(hi)):
        s = acc[k]
        top = max(top, s)
        total += s
        squares += np.float64(s) * np.float64(s)
        n_watch += np.int32(s >= at_watch)
        n_cut += np.int32(s >= at_cut)
    return np.int64(top), total, squares, np.int64(n_watch), np.int64(n_cut)


@jit  # type: ignore[untyped-decorator]
def _look_at_each(acc: Array, start: int, watch: int, cut: int, bar: Bar, factor: Array,
                  lengths: Array) -> tuple[int, int, float, int, int, int]:  # fmt: skip
    """As `_look_over`, for queries that bar some records."""
    top, total, squares = np.int64(LOWEST), np.int64(0), 0.0
    n, n_watch, n_cut = np.int64(0), np.int64(0), np.int64(0)
    for k in range(acc.size):
        if _passes(start + k, bar, factor, lengths):
            s = np.int64(acc[k])
            top = max(top, s)
            total += s
            squares += np.float64(s) * np.float64(s)
            n_watch += s >= watch
            n_cut += s >= cut
            n += 1
    return top, total, squares, n_watch, n_cut, n


@jit_wide  # type: ignore[untyped-decorator]
def _highest(acc: Array, lo: int, hi: int) -> int:
    """Maximum of a stretch of the block."""
    top = np.int32(LOWEST)
    for k in range(np.uint64(lo), np.uint64(hi)):
        top = max(top, acc[k])
    return np.int64(top)


@jit  # type: ignore[untyped-decorator]
def promote(acc: Array, start: int, q: int, bar: Bar, tie: int, salt: int, factor: Array, lengths: Array,
            out: Partials) -> None:  # fmt: skip
    """Find the records of the block that beat the query's present best or second."""
    least, least_key, nobody = out.second_score[q], out.second_key[q], out.second[q] == NOBODY
    for lo in range(0, acc.size, STRETCH):
        hi = min(lo + STRETCH, acc.size)
        if _highest(acc, lo, hi) < least:
            continue
        for k in range(lo, hi):
            s = np.int64(acc[k])
            if s < least:
                continue
            key = _key(start + k, tie, salt, lengths)
            # records come in rising order: at the same score and key the second stays
            if (nobody or s > least or key < least_key) and _passes(start + k, bar, factor, lengths):
                _insert(s, key, start + k, q, out)
                least, least_key, nobody = out.second_score[q], out.second_key[q], out.second[q] == NOBODY


@jit  # type: ignore[untyped-decorator]
def _insert(s: int, key: int, r: int, q: int, out: Partials) -> None:
    """Put a record of score `s` among the query's best two, if it belongs there."""
    if _before(s, key, r, out.best_score[q], out.best_key[q], out.best[q]):
        out.second_score[q], out.second_key[q], out.second[q] = out.best_score[q], out.best_key[q], out.best[q]
        out.best_score[q], out.best_key[q], out.best[q] = s, key, r
    elif _before(s, key, r, out.second_score[q], out.second_key[q], out.second[q]):
        out.second_score[q], out.second_key[q], out.second[q] = s, key, r


@jit  # type: ignore[untyped-decorator]
def _before(score: int, key: int, record: int, other_score: int, other_key: int, other: int) -> bool:
    """The total order: score falling, tie key rising, record rising; nobody comes last."""
    if other == NOBODY:
        return True
    if score != other_score:
        return bool(score > other_score)
    if key != other_key:
        return bool(key < other_key)
    return bool(record < other)


@jit  # type: ignore[untyped-decorator]
def _look(acc: Array, start: int, q: int, watch: int, plan: Tables, how: Manner, out: Partials) -> None:
    """Add a block's scores to the partials of query `q`."""
    size, cut = acc.size, plan.cut[q]
    hole = plan.exclude[q] - start
    if how.filtered:
        top, total, squares, n_watch, n_cut, n = _look_at_each(
            acc, start, watch, cut, _bar(q, plan, how), plan.factor, plan.lengths
        )
    elif 0 <= hole < size:
        top, total, squares, n_watch, n_cut = _look_over(acc, 0, hole, watch, cut)
        top2, total2, squares2, n_watch2, n_cut2 = _look_over(acc, hole + 1, size, watch, cut)
        top, total, squares = max(top, top2), total + total2, squares + squares2
        n_watch, n_cut, n = n_watch + n_watch2, n_cut + n_cut2, size - 1
    else:
        top, total, squares, n_watch, n_cut = _look_over(acc, 0, size, watch, cut)
        n = size
    out.n[q] += n
    out.total[q] += total
    out.squares[q] += squares
    out.n_watch[q] += n_watch
    out.n_cut[q] += n_cut
    if n > 0 and (
        top > out.second_score[q] or out.second[q] == NOBODY or (top == out.second_score[q] and how.tie != 0)
    ):
        promote(acc, start, q, _bar(q, plan, how), how.tie, plan.salt[q], plan.factor, plan.lengths, out)


@jit  # type: ignore[untyped-decorator]
def run_blocks(first: int, stop: int, post: Postings, plan: Tables, how: Manner, watch: Array, out: Partials) -> None:
    """Add blocks `first … stop-1` to the partials `out` of every query."""
    whole = np.zeros(post.block_size, np.int32)
    room = make_room(post.block_size, how.combine)
    for b in range(first, stop):
        offset = b * post.block_size
        acc = whole[: min(post.block_size, post.n_records - offset)]
        for q in range(plan.query_ptr.size - 1):
            fill(acc, room, b, q, post, plan, how)
            _look(acc, post.first_record + offset, q, watch[q], plan, how, out)


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
def _mass_of_each(acc: Array, start: int, top: int, beta: float, bar: Bar, factor: Array, lengths: Array) -> float:
    """As `_mass_over`, for queries that bar some records."""
    mass, high = 0.0, np.float64(top)
    for k in range(acc.size):
        if _passes(start + k, bar, factor, lengths):
            mass += exponential(beta * (np.float64(acc[k]) - high))
    return mass


@jit  # type: ignore[untyped-decorator]
def mass_blocks(
    first: int, stop: int, post: Postings, plan: Tables, how: Manner, top: Array, beta: Array, out: Array
) -> None:
    """Add Σ exp(beta · (score - top)) over the candidates of blocks `first … stop-1` to `out`, per query."""
    whole = np.zeros(post.block_size, np.int32)
    room = make_room(post.block_size, how.combine)
    for b in range(first, stop):
        offset = b * post.block_size
        start = post.first_record + offset
        acc = whole[: min(post.block_size, post.n_records - offset)]
        for q in range(plan.query_ptr.size - 1):
            fill(acc, room, b, q, post, plan, how)
            if how.filtered or 0 <= plan.exclude[q] - start < acc.size:
                bar = _bar(q, plan, how)
                out[q] += _mass_of_each(acc, start, top[q], beta[q], bar, plan.factor, plan.lengths)
            else:
                out[q] += _mass_over(acc, top[q], beta[q])


@jit  # type: ignore[untyped-decorator]
def peek(post: Postings, plan: Tables, how: Manner, record: Array, out: Array) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and no filter bars it."""
    whole = np.zeros(post.block_size, np.int32)
    room = make_room(post.block_size, how.combine)
    for q in range(plan.query_ptr.size - 1):
        local = record[q] - post.first_record
        if 0 <= local < post.n_records and allowed(record[q], q, plan, how):
            b = local // post.block_size
            acc = whole[: min(post.block_size, post.n_records - b * post.block_size)]
            fill(acc, room, b, q, post, plan, how)
            out[q] = acc[local - b * post.block_size]


@jit  # type: ignore[untyped-decorator]
def dump(post: Postings, plan: Tables, how: Manner, out: Array) -> None:
    """Put every score into `out` (queries, records), barred records as `LOWEST`."""
    room = make_room(post.block_size, how.combine)
    for b in range(post.ptr.shape[0]):
        offset = b * post.block_size
        size = min(post.block_size, post.n_records - offset)
        start = post.first_record + offset
        for q in range(plan.query_ptr.size - 1):
            acc = out[q, start : start + size]
            fill(acc, room, b, q, post, plan, how)
            bar = _bar(q, plan, how)
            for k in range(size):
                if not _passes(start + k, bar, plan.factor, plan.lengths):
                    acc[k] = LOWEST
