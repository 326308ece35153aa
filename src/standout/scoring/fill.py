"""Score one block of records from posting lists: the inner loops of the CPU kernel.

Indices are unsigned: Numba checks signed ones for wraparound. Arrays are passed whole, never
sliced: a slice updates a reference count, and threads would contend for it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.data.index import Shard
from standout.jit import njit
from standout.scoring.factors import RecordFactor, factors_of
from standout.scoring.plan import LOG_BITS, VETO, Combine, Plan, Tables

Array = npt.NDArray[Any]

_SUM, _MIN, _ODDS = int(Combine.SUM), int(Combine.MIN), int(Combine.ODDS)
_HALF_VETO = VETO // 2
_MANTISSA = 10
_MORE = 20
"""Bits beyond `LOG_BITS` that the logarithm carries until it is rounded once, at the end."""
LN2 = round(np.log(2.0) * 2 ** (LOG_BITS + _MORE))
_LOG = np.round(np.log1p(np.arange(2**_MANTISSA + 1) / 2**_MANTISSA) * 2**LOG_BITS).astype(np.int64)
LOG_TABLE = (_LOG[:-1] << 32) | np.diff(_LOG)
"""Per piece of [1, 2): the logarithm at its start and its rise, in one 64-bit word so that one load fetches both."""
STRIP = 256
"""Postings processed together when taking logarithms, so that the loop vectorizes."""


class Postings(NamedTuple):
    """Arrays of a shard, as compiled kernels take them."""

    first_record: int
    n_records: int
    block_size: int
    ptr: Array
    local: Array
    code: Array
    tick: Array
    repeats: bool
    no_tick: int
    all_dated: bool
    lengths: Array
    """int64 (records of the shard): distinct items."""
    factor: Array
    """float64 (records of the shard, or none): multiplies a record's sum; for `Combine.ODDS` each odds."""


class KernelVariant(NamedTuple):
    """Scalars of a plan that select the loops of the kernel."""

    combine: int
    tie: int
    use_value: bool
    use_time: bool
    filtered: bool
    plain: bool
    """Whether no table holds a veto, and a column of the time table is one gap."""
    gap_shift: int
    """A column of the time table stands for 2^gap_shift gaps."""


class Scratch(NamedTuple):
    """Scratch memory of one thread."""

    held: Array
    """int32 (block): facts met so far, for `Combine.MIN`."""
    odds: Array
    """float64 (strip)."""
    logs: Array
    """int32 (strip)."""


def postings(shard: Shard, factor: RecordFactor | None = None) -> Postings:
    """Arrays of `shard` for the kernel, with the factors of its records."""
    return Postings(
        shard.first_record,
        shard.n_records,
        shard.block_size,
        shard.ptr,
        shard.local,
        shard.code,
        shard.tick,
        shard.has_repeats,
        shard.no_tick,
        shard.all_dated,
        shard.lengths,
        factors_of(factor, shard),
    )


def variant_of(plan: Plan) -> KernelVariant:
    """Kernel variant for `plan`."""
    return KernelVariant(
        int(plan.combine),
        int(plan.tie),
        plan.use_value,
        plan.use_time,
        plan.filtered,
        plan.plain,
        plan.gap_shift,
    )


jit = njit(nogil=True, cache=True, error_model="numpy")
jit_bare = njit(nogil=True, cache=True, error_model="numpy", _nrt=False)
"""For loops over queries: no reference counting, for which threads would contend; such functions cannot create arrays."""
jit_inline = njit(nogil=True, error_model="numpy", inline="always")
"""For functions that take whole plans: a call would copy the shape and strides of every array."""


@jit
def make_scratch(block_size: int, combine: int) -> Scratch:
    """Scratch memory for blocks of that size."""
    strip = STRIP if combine == _ODDS else 0
    return Scratch(
        np.zeros(block_size if combine == _MIN else 0, np.int32),
        np.zeros(strip),
        np.zeros(strip, np.int32),
    )


@jit
def fixed_log(x: float) -> int:
    """Natural logarithm of `x` ≥ 1 in 2^-24 units, by table and integer interpolation: the same on every machine."""
    bits = np.float64(x).view(np.int64)
    piece = LOG_TABLE[np.uint64((bits >> (52 - _MANTISSA)) & (2**_MANTISSA - 1))]
    rest = (bits >> (36 - _MANTISSA)) & 0xFFFF
    inside = ((piece >> 32) << _MORE) + (((piece & 0xFFFFFFFF) * rest) << (_MORE - 16))
    return np.int64((((bits >> 52) - 1023) * LN2 + inside + (1 << (_MORE - 1))) >> _MORE)


@jit_inline
def log_of_length(r: int, q: int, post: Postings, plan: Tables) -> int:
    """log(longest/L) of record `r` of the shard, in integer units of query `q`; 0 for longer records, which are no candidates."""
    length = max(post.lengths[np.uint64(r)], np.int64(1))
    ratio = np.float64(max(plan.query.longest[q], length)) / np.float64(length)
    shift = plan.query.shift[q]
    return (fixed_log(ratio) + (np.int64(1) << shift >> 1)) >> shift


@jit
def first_column_tick(known: int, last: int, shift: int) -> int:
    """Tick whose distance from an entry's tick, divided by 2^shift, is the column of the time table."""
    return known + ((last >> 1) << shift) + ((1 << shift) >> 1)


@jit
def gap_column(tick: int, origin: int, last: int, no_tick: int) -> int:
    """Column of a time table by the signed gap (`scoring.plan`), `last + 1` for no time.

    `origin` is `first_column_tick` for ungrouped gaps.
    """
    # 32 bits, so that the loop vectorizes; "no time" may wrap to -1 on both sides of the comparison
    d = np.int32(tick)
    column = min(max(np.int32(origin) - d, np.int32(0)), np.int32(last))
    return np.uint64(np.uint32(np.int32(last + 1) if d == np.int32(no_tick) else column))


@jit
def grouped_column(tick: int, origin: int, shift: int, last: int, no_tick: int) -> int:
    """As `gap_column`, where a column stands for 2^shift gaps."""
    d = np.int32(tick)
    column = min(
        np.uint32(max(np.int32(origin) - d, np.int32(0))) >> np.uint32(shift), np.uint32(last)
    )
    return np.uint64(np.uint32(last + 1) if d == np.int32(no_tick) else column)


@jit
def _add_value(
    acc: Array, lo: int, hi: int, local: Array, code: Array, value: Array, f: int
) -> None:
    for p in range(lo, hi):
        acc[np.uint64(local[p])] += value[f, np.uint64(code[p])]


@jit
def _add_time(
    acc: Array,
    lo: int,
    hi: int,
    local: Array,
    tick: Array,
    time: Array,
    row: int,
    known: int,
    shift: int,
    no_tick: int,
) -> None:
    last = time.shape[1] - 2
    origin = first_column_tick(known, last, shift)
    for p in range(lo, hi):
        acc[np.uint64(local[p])] += time[row, grouped_column(tick[p], origin, shift, last, no_tick)]


@jit
def _add_both(
    acc: Array,
    lo: int,
    hi: int,
    local: Array,
    code: Array,
    tick: Array,
    value: Array,
    f: int,
    time: Array,
    row: int,
    known: int,
    shift: int,
    no_tick: int,
) -> None:
    last = time.shape[1] - 2
    origin = first_column_tick(known, last, shift)
    for p in range(lo, hi):
        x = (
            value[f, np.uint64(code[p])]
            + time[row, grouped_column(tick[p], origin, shift, last, no_tick)]
        )
        if x > _HALF_VETO:
            acc[np.uint64(local[p])] += x


@jit
def _add_both_plain(
    acc: Array,
    lo: int,
    hi: int,
    local: Array,
    code: Array,
    tick: Array,
    value: Array,
    f: int,
    time: Array,
    row: int,
    known: int,
) -> None:
    """As `_add_both`, where no table holds a veto, gaps are not grouped and every entry has a time."""
    last = np.int32(time.shape[1] - 2)
    origin = np.int32(first_column_tick(known, last, 0))
    for p in range(lo, hi):
        column = np.uint64(np.uint32(min(max(origin - np.int32(tick[p]), np.int32(0)), last)))
        acc[np.uint64(local[p])] += value[f, np.uint64(code[p])] + time[row, column]


@jit
def add_same(acc: Array, lo: int, hi: int, local: Array, x: int) -> None:
    """Add `x` to the records of postings `lo … hi-1`."""
    for p in range(lo, hi):
        acc[np.uint64(local[p])] += x


@jit
def _add_presence(acc: Array, lo: int, hi: int, local: Array, value: Array, f: int) -> None:
    x = value[f, np.uint64(0)]
    if x > _HALF_VETO:
        add_same(acc, lo, hi, local, x)


@jit
def contribution(
    p: int,
    code: Array,
    tick: Array,
    value: Array,
    f: int,
    time: Array,
    row: int,
    known: int,
    shift: int,
    no_tick: int,
    use_value: bool,
    use_time: bool,
) -> int:
    """Integer contribution of posting `p` to fact `f`, `VETO` when it does not count."""
    x = np.int64(value[f, np.uint64(code[p]) if use_value else np.uint64(0)])
    if use_time:
        last = time.shape[1] - 2
        x += time[
            row,
            grouped_column(tick[p], first_column_tick(known, last, shift), shift, last, no_tick),
        ]
    return x if x > _HALF_VETO else np.int64(VETO)


@jit
def _add_runs(
    acc: Array,
    lo: int,
    hi: int,
    local: Array,
    code: Array,
    tick: Array,
    value: Array,
    f: int,
    time: Array,
    row: int,
    known: int,
    shift: int,
    no_tick: int,
    use_value: bool,
    use_time: bool,
) -> None:
    """Add the best event of each record; consecutive equal records are one (record, item) pair."""
    p = lo
    while p < hi:
        record = np.uint64(local[p])
        best = np.int64(VETO)
        while p < hi and np.uint64(local[p]) == record:
            x = contribution(
                p, code, tick, value, f, time, row, known, shift, no_tick, use_value, use_time
            )
            best = max(best, x)
            p += np.uint64(1)
        if best > _HALF_VETO:
            acc[record] += best


@jit
def _least_runs(
    acc: Array,
    held: Array,
    turn: int,
    lo: int,
    hi: int,
    local: Array,
    code: Array,
    tick: Array,
    value: Array,
    f: int,
    time: Array,
    row: int,
    known: int,
    shift: int,
    no_tick: int,
    use_value: bool,
    use_time: bool,
) -> None:
    """Take the minimum with the best event for this fact, for each record that held every fact so far."""
    p = lo
    while p < hi:
        record = np.uint64(local[p])
        best = np.int64(0)
        while p < hi and np.uint64(local[p]) == record:
            x = contribution(
                p, code, tick, value, f, time, row, known, shift, no_tick, use_value, use_time
            )
            best = max(best, x)
            p += np.uint64(1)
        if held[record] == turn:
            held[record] = turn + 1
            acc[record] = best if turn == 0 else min(np.int64(acc[record]), best)


@jit_inline
def event_odds(f: int, p: int, post: Postings, plan: Tables, how: KernelVariant) -> float:
    """Odds of one event."""
    k = (
        plan.fact.odds_value[f, np.uint64(post.code[p])]
        if how.use_value
        else plan.fact.odds_value[f, np.uint64(0)]
    )
    if how.use_time:
        last = plan.row.odds_time.shape[1] - 2
        origin = first_column_tick(plan.fact.known_tick[f], last, 0)
        k *= plan.row.odds_time[
            np.uint64(plan.fact.time_row[f]), gap_column(post.tick[p], origin, last, post.no_tick)
        ]
    return k


@jit_inline
def _add_odds_runs(
    acc: Array,
    f: int,
    lo: int,
    hi: int,
    start: int,
    shift: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
) -> None:
    """Add log(1 + odds) in fixed point; the odds of a pair are the mean over its events."""
    half = np.int64(1) << shift >> 1
    p = lo
    while p < hi:
        record = np.uint64(post.local[p])
        odds, events = 0.0, 0.0
        while p < hi and post.local[p] == record:
            odds += event_odds(f, p, post, plan, how)
            events += 1.0
            p += np.uint64(1)
        if events > 1.0:
            odds /= events
        x = post.factor[start + record] * (odds + plan.fact.odds_floor[f])
        acc[record] += (fixed_log(1.0 + x) + half) >> shift


@jit_inline
def _strip_odds(
    f: int,
    lo: int,
    n: int,
    start: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    odds: Array,
) -> None:
    """Put 1 + odds of `n` postings, each of a different record, into `odds`."""
    floor = plan.fact.odds_floor[f]
    if how.use_value and how.use_time:
        row, last = np.uint64(plan.fact.time_row[f]), plan.row.odds_time.shape[1] - 2
        origin = first_column_tick(plan.fact.known_tick[f], last, 0)
        for k in range(n):
            p = lo + k
            column = gap_column(post.tick[p], origin, last, post.no_tick)
            x = plan.fact.odds_value[f, np.uint64(post.code[p])] * plan.row.odds_time[row, column]
            odds[k] = 1.0 + post.factor[start + np.uint64(post.local[p])] * (x + floor)
    else:
        for k in range(n):
            p = lo + k
            odds[k] = 1.0 + post.factor[start + np.uint64(post.local[p])] * (
                event_odds(f, p, post, plan, how) + floor
            )


@jit_inline
def _add_odds(
    acc: Array,
    scratch: Scratch,
    f: int,
    lo: int,
    hi: int,
    start: int,
    shift: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
) -> None:
    """As `_add_odds_runs`, if no pair has several events: odds, logarithms and sums strip by strip."""
    half = np.int64(1) << shift >> 1
    while lo < hi:
        n = min(hi - lo, np.uint64(STRIP))
        _strip_odds(f, lo, n, start, post, plan, how, scratch.odds)
        for k in range(n):
            scratch.logs[k] = np.int32((fixed_log(scratch.odds[k]) + half) >> shift)
        for k in range(n):
            acc[np.uint64(post.local[lo + k])] += scratch.logs[k]
        lo += n


@jit_inline
def add_fact(
    acc: Array,
    scratch: Scratch,
    turn: int,
    b: int,
    q: int,
    fact: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
) -> None:
    """Add the run of one fact's item in block `b`; `turn` counts the query's facts so far."""
    i = plan.fact.item[fact]
    lo, hi = np.uint64(post.ptr[b, i]), np.uint64(post.ptr[b, i + 1])
    start = np.uint64(b * post.block_size)
    f, row, known = np.uint64(fact), np.uint64(plan.fact.time_row[fact]), plan.fact.known_tick[fact]
    value, time, grouped = plan.fact.value, plan.row.time, how.gap_shift
    if how.combine == _ODDS:
        if post.repeats:
            _add_odds_runs(acc, f, lo, hi, start, plan.query.shift[q], post, plan, how)
        else:
            _add_odds(acc, scratch, f, lo, hi, start, plan.query.shift[q], post, plan, how)
    elif how.combine == _MIN:
        _least_runs(
            acc,
            scratch.held,
            turn,
            lo,
            hi,
            post.local,
            post.code,
            post.tick,
            value,
            f,
            time,
            row,
            known,
            grouped,
            post.no_tick,
            how.use_value,
            how.use_time,
        )
    elif post.repeats:
        _add_runs(
            acc,
            lo,
            hi,
            post.local,
            post.code,
            post.tick,
            value,
            f,
            time,
            row,
            known,
            grouped,
            post.no_tick,
            how.use_value,
            how.use_time,
        )
    elif not (how.use_value or how.use_time):
        _add_presence(acc, lo, hi, post.local, value, f)
    elif not how.use_time:
        _add_value(acc, lo, hi, post.local, post.code, value, f)
    elif not how.use_value:
        _add_time(acc, lo, hi, post.local, post.tick, time, row, known, grouped, post.no_tick)
    elif how.plain and post.all_dated:
        _add_both_plain(acc, lo, hi, post.local, post.code, post.tick, value, f, time, row, known)
    else:
        _add_both(
            acc,
            lo,
            hi,
            post.local,
            post.code,
            post.tick,
            value,
            f,
            time,
            row,
            known,
            grouped,
            post.no_tick,
        )


@jit_inline
def n_postings(b: int, q: int, post: Postings, plan: Tables) -> int:
    """Postings of query `q` in block `b`."""
    n = np.int64(0)
    for f in range(plan.query.ptr[q], plan.query.ptr[q + 1]):
        i = plan.fact.item[f]
        n += np.int64(post.ptr[b, i + 1]) - np.int64(post.ptr[b, i])
    return n


@jit_bare
def add_facts(
    acc: Array, scratch: Scratch, b: int, q: int, post: Postings, plan: Tables, how: KernelVariant
) -> None:
    """Add all runs of query `q` in block `b` to `acc`, which must be zero.

    Not inlined: compiling takes seconds and several kernels call it. A call costs little compared
    with the loops.
    """
    first = plan.query.ptr[q]
    for f in range(first, plan.query.ptr[q + 1]):
        add_fact(acc, scratch, f - first, b, q, f, post, plan, how)


@jit_inline
def fill(
    acc: Array, scratch: Scratch, b: int, q: int, post: Postings, plan: Tables, how: KernelVariant
) -> None:
    """Overwrite `acc` with the integer scores of block `b` for query `q`."""
    acc[:] = 0
    scratch.held[:] = 0
    add_facts(acc, scratch, b, q, post, plan, how)
    finish(acc, scratch.held, b * post.block_size, q, post, plan, how)


@jit_inline
def finish(
    acc: Array, held: Array, start: int, q: int, post: Postings, plan: Tables, how: KernelVariant
) -> None:
    """Apply the rules on the whole sum: all facts held, record factor, known length, cap. `start` is the block's first record."""
    if how.combine == _MIN:
        for r in range(acc.size):
            if held[r] < plan.query.n_known[q]:
                acc[r] = 0
    elif how.combine == _SUM and post.factor.size > 0:
        for r in range(acc.size):
            if acc[r] != 0:
                acc[r] = np.int64(np.rint(acc[r] * post.factor[start + r]))
    elif how.combine == _ODDS and plan.query.longest[q] > 0:
        for r in range(acc.size):
            acc[r] += log_of_length(start + r, q, post, plan)
    cap = plan.query.cap[q]
    if cap < 2**31 - 1:
        for r in range(acc.size):
            if acc[r] > cap:
                acc[r] = cap
