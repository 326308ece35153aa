"""Add the logarithms of odds, in fixed point, to the scores of a block."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.scoring.plan import LOG_BITS, Tables
from standout.scoring.postings import (
    STRIP,
    KernelVariant,
    Postings,
    Scratch,
    first_column_tick,
    gap_column,
    jit,
    jit_inline,
)

_MANTISSA = 10
_MORE = 20
"""Bits beyond `LOG_BITS` that the logarithm carries until it is rounded once, at the end."""
LN2 = round(np.log(2.0) * 2 ** (LOG_BITS + _MORE))
_LOG = np.round(np.log1p(np.arange(2**_MANTISSA + 1) / 2**_MANTISSA) * 2**LOG_BITS).astype(np.int64)
LOG_TABLE = (_LOG[:-1] << 32) | np.diff(_LOG)
"""Per piece of [1, 2): the logarithm at its start and its rise, in one 64-bit word so that one load fetches both."""


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


@jit_inline
def event_odds(f: int, p: int, post: Postings, plan: Tables, how: KernelVariant) -> float:
    """Odds of one event."""
    at = np.uint64(plan.fact.value_start[f])
    k = plan.fact.odds_value[at + (np.uint64(post.code[p]) if how.use_value else np.uint64(0))]
    if how.use_time:
        last = plan.row.odds_time.shape[1] - 2
        origin = first_column_tick(plan.fact.known_tick[f], last, 0)
        k *= plan.row.odds_time[
            np.uint64(plan.fact.time_row[f]), gap_column(post.tick[p], origin, last, post.no_tick)
        ]
    return k


@jit_inline
def add_odds_runs(
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
    """Add log(1 + odds) in fixed point; the odds of a pair are the mean over its events, or their sum."""
    half = np.int64(1) << shift >> 1
    p = lo
    while p < hi:
        record = np.uint64(post.local[p])
        odds, events = 0.0, 0.0
        while p < hi and post.local[p] == record:
            odds += event_odds(f, p, post, plan, how)
            events += 1.0
            p += np.uint64(1)
        floor = plan.fact.odds_floor[f]
        if how.by_events:
            floor *= events
        elif events > 1.0:
            odds /= events
        x = post.factor[start + record] * (odds + floor)
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
        at = np.uint64(plan.fact.value_start[f])
        for k in range(n):
            p = lo + k
            column = gap_column(post.tick[p], origin, last, post.no_tick)
            x = plan.fact.odds_value[at + np.uint64(post.code[p])] * plan.row.odds_time[row, column]
            odds[k] = 1.0 + post.factor[start + np.uint64(post.local[p])] * (x + floor)
    else:
        for k in range(n):
            p = lo + k
            odds[k] = 1.0 + post.factor[start + np.uint64(post.local[p])] * (
                event_odds(f, p, post, plan, how) + floor
            )


@jit_inline
def add_odds(
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
    """As `add_odds_runs`, if no pair has several events: odds, logarithms and sums strip by strip."""
    half = np.int64(1) << shift >> 1
    while lo < hi:
        n = min(hi - lo, np.uint64(STRIP))
        _strip_odds(f, lo, n, start, post, plan, how, scratch.odds)
        for k in range(n):
            scratch.logs[k] = np.int32((fixed_log(scratch.odds[k]) + half) >> shift)
        for k in range(n):
            acc[np.uint64(post.local[lo + k])] += scratch.logs[k]
        lo += n
