"""Score one block of records from posting lists: the inner loops of the CPU kernel.

Indices are unsigned: Numba checks signed ones for wraparound. Arrays are passed whole, never
sliced: a slice updates a reference count, and threads would contend for it.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.scoring.fill_odds import add_odds, add_odds_runs, log_of_length
from standout.scoring.plan import VETO, Tables
from standout.scoring.postings import (
    MIN,
    ODDS,
    SUM,
    KernelVariant,
    Postings,
    Scratch,
    first_column_tick,
    grouped_column,
    jit,
    jit_bare,
    jit_inline,
)

_HALF_VETO = VETO // 2


@jit
def _add_value(
    acc: Array, lo: int, hi: int, local: Array, code: Array, value: Array, at: int
) -> None:
    for p in range(lo, hi):
        acc[np.uint64(local[p])] += value[at + np.uint64(code[p])]


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
    at: int,
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
            value[at + np.uint64(code[p])]
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
    at: int,
    time: Array,
    row: int,
    known: int,
) -> None:
    """As `_add_both`, where no table holds a veto, gaps are not grouped and every entry has a time."""
    last = np.int32(time.shape[1] - 2)
    origin = np.int32(first_column_tick(known, last, 0))
    for p in range(lo, hi):
        column = np.uint64(np.uint32(min(max(origin - np.int32(tick[p]), np.int32(0)), last)))
        acc[np.uint64(local[p])] += value[at + np.uint64(code[p])] + time[row, column]


@jit
def add_same(acc: Array, lo: int, hi: int, local: Array, x: int) -> None:
    """Add `x` to the records of postings `lo … hi-1`."""
    for p in range(lo, hi):
        acc[np.uint64(local[p])] += x


@jit
def _add_presence(acc: Array, lo: int, hi: int, local: Array, value: Array, at: int) -> None:
    x = value[at]
    if x > _HALF_VETO:
        add_same(acc, lo, hi, local, x)


@jit
def contribution(
    p: int,
    code: Array,
    tick: Array,
    value: Array,
    at: int,
    time: Array,
    row: int,
    known: int,
    shift: int,
    no_tick: int,
    use_value: bool,
    use_time: bool,
) -> int:
    """Integer contribution of posting `p` to a fact whose row of `value` starts at `at`, `VETO` when it does not count."""
    x = np.int64(value[at + (np.uint64(code[p]) if use_value else np.uint64(0))])
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
    at: int,
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
                p, code, tick, value, at, time, row, known, shift, no_tick, use_value, use_time
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
    at: int,
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
                p, code, tick, value, at, time, row, known, shift, no_tick, use_value, use_time
            )
            best = max(best, x)
            p += np.uint64(1)
        if held[record] == turn:
            held[record] = turn + 1
            acc[record] = best if turn == 0 else min(np.int64(acc[record]), best)


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
    at = np.uint64(plan.fact.value_start[fact])
    if how.combine == ODDS:
        if post.repeats:
            add_odds_runs(acc, f, lo, hi, start, plan.query.shift[q], post, plan, how)
        else:
            add_odds(acc, scratch, f, lo, hi, start, plan.query.shift[q], post, plan, how)
    elif how.combine == MIN:
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
            at,
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
            at,
            time,
            row,
            known,
            grouped,
            post.no_tick,
            how.use_value,
            how.use_time,
        )
    elif not (how.use_value or how.use_time):
        _add_presence(acc, lo, hi, post.local, value, at)
    elif not how.use_time:
        _add_value(acc, lo, hi, post.local, post.code, value, at)
    elif not how.use_value:
        _add_time(acc, lo, hi, post.local, post.tick, time, row, known, grouped, post.no_tick)
    elif how.plain and post.all_dated:
        _add_both_plain(acc, lo, hi, post.local, post.code, post.tick, value, at, time, row, known)
    else:
        _add_both(
            acc,
            lo,
            hi,
            post.local,
            post.code,
            post.tick,
            value,
            at,
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
    if how.combine == MIN:
        for r in range(acc.size):
            if held[r] < plan.query.n_known[q]:
                acc[r] = 0
    elif how.combine == SUM and post.factor.size > 0:
        for r in range(acc.size):
            if acc[r] != 0:
                acc[r] = np.int64(np.rint(acc[r] * post.factor[start + r]))
    elif how.combine == ODDS and plan.query.longest[q] > 0:
        for r in range(acc.size):
            acc[r] += log_of_length(start + r, q, post, plan)
    cap = plan.query.cap[q]
    if cap < 2**31 - 1:
        for r in range(acc.size):
            if acc[r] > cap:
                acc[r] = cap
