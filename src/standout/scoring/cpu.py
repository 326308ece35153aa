"""The Numba kernel: a batch of queries over blocks of records.

A block's scores live in one small integer array (the accumulator) that stays in cache. For each query the kernel adds
up the runs of its known items, then looks the block over once. Nothing here knows an attack.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.data.index import Shard
from standout.scoring.partials import LOWEST, NOBODY, Partials
from standout.scoring.plan import LOG_BITS, VETO, Combine, Plan, Tables, Tie

Array = npt.NDArray[Any]

_SUM, _MIN, _ODDS = int(Combine.SUM), int(Combine.MIN), int(Combine.ODDS)
_SHORT, _HASH = int(Tie.SHORT), int(Tie.HASH)
_HALF_VETO = VETO // 2
_MANTISSA = 10
_LN2 = round(np.log(2.0) * 2**LOG_BITS)
_LOG = np.round(np.log1p(np.arange(2**_MANTISSA + 1) / 2**_MANTISSA) * 2**LOG_BITS).astype(np.int64)


class Postings(NamedTuple):
    """The arrays of a shard, in the shape that compiled kernels take."""

    first_record: int
    n_records: int
    block_size: int
    ptr: Array
    local: Array
    code: Array
    day: Array
    repeats: bool
    no_day: int


class Manner(NamedTuple):
    """The scalars of a plan, in the shape that compiled kernels take."""

    combine: int
    tie: int
    use_value: bool
    use_time: bool
    filtered: bool


def postings(shard: Shard, no_day: int) -> Postings:
    """Arrays of `shard` for the kernel."""
    return Postings(
        shard.first_record, shard.n_records, shard.block_size, shard.ptr, shard.local, shard.code, shard.day,
        shard.has_repeats, no_day,
    )  # fmt: skip


def manner(plan: Plan) -> Manner:
    """Scalars of `plan` for the kernel."""
    return Manner(int(plan.combine), int(plan.tie), plan.use_value, plan.use_time, plan.filtered)


jit = njit(nogil=True, cache=True, error_model="numpy")


@jit  # type: ignore[untyped-decorator]
def fixed_log(x: float) -> int:
    """Natural logarithm of `x` ≥ 1 in 2^-24 units, by table and integer interpolation: the same on every machine."""
    bits = np.float64(x).view(np.int64)
    exponent = (bits >> 52) - 1023
    k = (bits >> (52 - _MANTISSA)) & (2**_MANTISSA - 1)
    rest = (bits >> (36 - _MANTISSA)) & 0xFFFF
    low = _LOG[k]
    return np.int64(exponent * _LN2 + low + (((_LOG[k + 1] - low) * rest) >> 16))


@jit  # type: ignore[untyped-decorator]
def _gap(day: int, known: int, last: int, no_day: int) -> int:
    """Column of a time table: the gap in days, `last` for all larger ones, `last + 1` for no day."""
    gap = np.int64(day) - known
    gap = -gap if gap < 0 else gap
    gap = last if gap > last else gap
    return last + 1 if day == no_day else gap


@jit  # type: ignore[untyped-decorator]
def _add_value(acc: Array, local: Array, code: Array, value: Array) -> None:
    for k in range(local.size):
        acc[np.uint64(local[k])] += value[np.uint64(code[k])]


@jit  # type: ignore[untyped-decorator]
def _add_time(acc: Array, local: Array, day: Array, known: int, time: Array, no_day: int) -> None:
    last = time.size - 2
    for k in range(local.size):
        acc[np.uint64(local[k])] += time[np.uint64(_gap(day[k], known, last, no_day))]


@jit  # type: ignore[untyped-decorator]
def _add_both(acc: Array, local: Array, code: Array, day: Array, value: Array, known: int, time: Array, no_day: int) -> None:
    last = time.size - 2
    for k in range(local.size):
        x = value[np.uint64(code[k])] + time[np.uint64(_gap(day[k], known, last, no_day))]
        if x > _HALF_VETO:
            acc[np.uint64(local[k])] += x


@jit  # type: ignore[untyped-decorator]
def _contribution(f: int, p: int, post: Postings, plan: Tables, how: Manner) -> int:
    """Integer contribution of posting `p` to fact `f`, `VETO` when it does not count."""
    x = np.int64(0)
    if how.use_value:
        x += plan.value[f, post.code[p]]
    else:
        x += plan.value[f, 0]
    if how.use_time:
        x += plan.time[f, _gap(post.day[p], plan.known_day[f], plan.time.shape[1] - 2, post.no_day)]
    return x if x > _HALF_VETO else np.int64(VETO)


@jit  # type: ignore[untyped-decorator]
def _add_runs(acc: Array, f: int, lo: int, hi: int, post: Postings, plan: Tables, how: Manner) -> None:
    """Add the best event of each record: a run of equal records is one (record, item) pair."""
    p = lo
    while p < hi:
        record = post.local[p]
        best = np.int64(VETO)
        while p < hi and post.local[p] == record:
            best = max(best, _contribution(f, p, post, plan, how))
            p += 1
        if best > _HALF_VETO:
            acc[record] += best


@jit  # type: ignore[untyped-decorator]
def _least_runs(acc: Array, held: Array, turn: int, f: int, lo: int, hi: int, post: Postings, plan: Tables, how: Manner) -> None:
    """Lower each record that held every fact so far to its best event for this one."""
    p = lo
    while p < hi:
        record = post.local[p]
        best = np.int64(0)
        while p < hi and post.local[p] == record:
            x = _contribution(f, p, post, plan, how)
            best = max(best, x if x > _HALF_VETO else np.int64(0))
            p += 1
        if held[record] == turn:
            held[record] = turn + 1
            acc[record] = best if turn == 0 else min(np.int64(acc[record]), best)


@jit  # type: ignore[untyped-decorator]
def _add_odds(acc: Array, f: int, lo: int, hi: int, start: int, shift: int, post: Postings, plan: Tables, how: Manner) -> None:
    """Add the logarithm of one plus the odds; several events of one pair count with their mean."""
    half = np.int64(1) << shift >> 1
    last = plan.odds_time.shape[1] - 2
    known, floor = plan.known_day[f], plan.odds_floor[f]
    value, time = plan.odds_value[f], plan.odds_time[f]
    p = lo
    while p < hi:
        record = post.local[p]
        odds, events = 0.0, 0.0
        while p < hi and post.local[p] == record:
            k = value[post.code[p]] if how.use_value else value[0]
            if how.use_time:
                k *= time[_gap(post.day[p], known, last, post.no_day)]
            odds += k
            events += 1.0
            p += 1
        if events > 1.0:
            odds /= events
        x = plan.factor[start + record] * (odds + floor)
        acc[record] += (fixed_log(1.0 + x) + half) >> shift


@jit  # type: ignore[untyped-decorator]
def _fill(acc: Array, held: Array, b: int, q: int, post: Postings, plan: Tables, how: Manner) -> None:
    """Leave in `acc` the scores of block `b` for query `q`; `acc` and `held` come in as zeros."""
    start = post.first_record + b * post.block_size
    first_fact, stop_fact = plan.query_ptr[q], plan.query_ptr[q + 1]
    turn = 0
    for f in range(first_fact, stop_fact):
        i = plan.item[f]
        lo, hi = np.int64(post.ptr[b, i]), np.int64(post.ptr[b, i + 1])
        if how.combine == _ODDS:
            _add_odds(acc, f, lo, hi, start, plan.shift[q], post, plan, how)
        elif how.combine == _MIN:
            _least_runs(acc, held, turn, f, lo, hi, post, plan, how)
            turn += 1
        elif post.repeats or not (how.use_value or how.use_time):
            _add_runs(acc, f, lo, hi, post, plan, how)
        elif not how.use_time:
            _add_value(acc, post.local[lo:hi], post.code[lo:hi], plan.value[f])
        elif not how.use_value:
            _add_time(acc, post.local[lo:hi], post.day[lo:hi], plan.known_day[f], plan.time[f], post.no_day)
        else:
            _add_both(acc, post.local[lo:hi], post.code[lo:hi], post.day[lo:hi], plan.value[f], plan.known_day[f],
                      plan.time[f], post.no_day)  # fmt: skip
    _finish(acc, held, start, q, plan, how)


@jit  # type: ignore[untyped-decorator]
def _finish(acc: Array, held: Array, start: int, q: int, plan: Tables, how: Manner) -> None:
    """Apply what concerns the whole sum: all facts held, the record's factor, the cap."""
    if how.combine == _MIN:
        for r in range(acc.size):
            if held[r] < plan.n_known[q]:
                acc[r] = 0
    elif how.combine == _SUM and plan.factor.size > 0:
        for r in range(acc.size):
            if acc[r] != 0:
                acc[r] = np.int64(np.rint(acc[r] * abs(plan.factor[start + r])))
    cap = plan.cap[q]
    if cap < 2**31 - 1:
        for r in range(acc.size):
            if acc[r] > cap:
                acc[r] = cap


@jit  # type: ignore[untyped-decorator]
def _allowed(record: int, q: int, plan: Tables, how: Manner) -> bool:
    """Whether the record is a candidate of the query at all."""
    if record == plan.exclude[q]:
        return False
    if not how.filtered:
        return True
    if plan.factor.size > 0 and plan.factor[record] < 0.0:
        return False
    return bool(plan.low[q] <= plan.lengths[record] <= plan.high[q])


@jit  # type: ignore[untyped-decorator]
def _key(record: int, q: int, plan: Tables, how: Manner) -> int:
    """Tie key of the record, smaller first."""
    if how.tie == _SHORT:
        return np.uint64(plan.lengths[record])
    if how.tie == _HASH:
        x = np.uint64(record) * np.uint64(0x9E3779B97F4A7C15) + plan.salt[q]
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
    return np.uint64(0)


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})  # type: ignore[untyped-decorator]
def _look_over(acc: Array, lo: int, hi: int, watch: int, cut: int) -> tuple[int, int, float, int, int]:
    """Maximum, sum, sum of squares, number ≥ watch, number ≥ cut of a stretch of the block."""
    top = np.int32(LOWEST)
    total, squares = np.int64(0), 0.0
    n_watch, n_cut = np.int64(0), np.int64(0)
    for k in range(lo, hi):
        s = acc[k]
        top = max(top, s)
        total += s
        squares += np.float64(s) * np.float64(s)
        n_watch += s >= watch
        n_cut += s >= cut
    return np.int64(top), total, squares, n_watch, n_cut


@jit  # type: ignore[untyped-decorator]
def _look_at_each(acc: Array, lo: int, hi: int, start: int, q: int, watch: int, cut: int, plan: Tables,
                  how: Manner) -> tuple[int, int, float, int, int, int]:  # fmt: skip
    """As `_look_over`, for queries that bar some records."""
    top, total, squares = np.int64(LOWEST), np.int64(0), 0.0
    n, n_watch, n_cut = np.int64(0), np.int64(0), np.int64(0)
    for k in range(lo, hi):
        if _allowed(start + k, q, plan, how):
            s = np.int64(acc[k])
            top = max(top, s)
            total += s
            squares += np.float64(s) * np.float64(s)
            n_watch += s >= watch
            n_cut += s >= cut
            n += 1
    return top, total, squares, n_watch, n_cut, n


@jit  # type: ignore[untyped-decorator]
def _promote(acc: Array, start: int, q: int, plan: Tables, how: Manner, out: Partials) -> None:
    """Find the records of the block that beat the query's present best or second."""
    for k in range(acc.size):
        s = np.int64(acc[k])
        if s < out.second_score[q]:
            continue
        r = start + k
        if not _allowed(r, q, plan, how):
            continue
        key = _key(r, q, plan, how)
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
def run_blocks(first: int, stop: int, post: Postings, plan: Tables, how: Manner, watch: Array, out: Partials) -> None:
    """Add blocks `first … stop-1` to the partials `out` of every query."""
    whole = np.zeros(post.block_size, np.int32)
    held = np.zeros(post.block_size if how.combine == _MIN else 0, np.int32)
    n_queries = plan.query_ptr.size - 1
    for b in range(first, stop):
        offset = b * post.block_size
        size = min(post.block_size, post.n_records - offset)
        start = post.first_record + offset
        acc = whole[:size]
        for q in range(n_queries):
            acc[:] = 0
            held[:] = 0
            _fill(acc, held, b, q, post, plan, how)
            w, c = watch[q], plan.cut[q]
            hole = plan.exclude[q] - start
            if how.filtered:
                top, total, squares, n_watch, n_cut, n = _look_at_each(acc, 0, size, start, q, w, c, plan, how)
            elif 0 <= hole < size:
                top, total, squares, n_watch, n_cut = _look_over(acc, 0, hole, w, c)
                top2, total2, squares2, n_watch2, n_cut2 = _look_over(acc, hole + 1, size, w, c)
                top, total, squares = max(top, top2), total + total2, squares + squares2
                n_watch, n_cut, n = n_watch + n_watch2, n_cut + n_cut2, size - 1
            else:
                top, total, squares, n_watch, n_cut = _look_over(acc, 0, size, w, c)
                n = size
            out.n[q] += n
            out.total[q] += total
            out.squares[q] += squares
            out.n_watch[q] += n_watch
            out.n_cut[q] += n_cut
            if n > 0 and (top > out.second_score[q] or out.second[q] == NOBODY or (top == out.second_score[q] and how.tie != 0)):
                _promote(acc, start, q, plan, how, out)


@jit  # type: ignore[untyped-decorator]
def mass_blocks(first: int, stop: int, post: Postings, plan: Tables, how: Manner, top: Array, beta: Array, out: Array) -> None:
    """Add Σ exp(beta · (score - top)) over the candidates of blocks `first … stop-1` to `out`, per query."""
    whole = np.zeros(post.block_size, np.int32)
    held = np.zeros(post.block_size if how.combine == _MIN else 0, np.int32)
    for b in range(first, stop):
        offset = b * post.block_size
        size = min(post.block_size, post.n_records - offset)
        start = post.first_record + offset
        acc = whole[:size]
        for q in range(plan.query_ptr.size - 1):
            acc[:] = 0
            held[:] = 0
            _fill(acc, held, b, q, post, plan, how)
            # untouched records are many and equal: one exponential serves them all
            zeros, mass = 0, 0.0
            for k in range(size):
                if _allowed(start + k, q, plan, how):
                    if acc[k] == 0:
                        zeros += 1
                    else:
                        x = beta[q] * (acc[k] - top[q])
                        if x > -60.0:
                            mass += np.exp(x)
            if zeros > 0:
                mass += zeros * np.exp(-beta[q] * top[q])
            out[q] += mass


@jit  # type: ignore[untyped-decorator]
def peek(post: Postings, plan: Tables, how: Manner, record: Array, out: Array) -> None:
    """Put the score of one record per query into `out`, where this shard holds it."""
    whole = np.zeros(post.block_size, np.int32)
    held = np.zeros(post.block_size if how.combine == _MIN else 0, np.int32)
    for q in range(plan.query_ptr.size - 1):
        local = record[q] - post.first_record
        if 0 <= local < post.n_records:
            b = local // post.block_size
            size = min(post.block_size, post.n_records - b * post.block_size)
            acc = whole[:size]
            acc[:] = 0
            held[:] = 0
            _fill(acc, held, b, q, post, plan, how)
            out[q] = acc[local - b * post.block_size]


@jit  # type: ignore[untyped-decorator]
def dump(post: Postings, plan: Tables, how: Manner, out: Array) -> None:
    """Put every score into `out` (queries, records), barred records as `LOWEST`."""
    held_whole = np.zeros(post.block_size if how.combine == _MIN else 0, np.int32)
    for b in range(post.ptr.shape[0]):
        offset = b * post.block_size
        size = min(post.block_size, post.n_records - offset)
        start = post.first_record + offset
        for q in range(plan.query_ptr.size - 1):
            acc = out[q, start : start + size]
            acc[:] = 0
            held_whole[:] = 0
            _fill(acc, held_whole, b, q, post, plan, how)
            for k in range(size):
                if not _allowed(start + k, q, plan, how):
                    acc[k] = LOWEST
