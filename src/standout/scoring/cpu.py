"""The Numba kernel: a batch of queries over blocks of records.

The scores of a block are kept in one small integer array (the accumulator) that stays in cache. For
each query the kernel adds up the postings of its known items (`fill.py`) and reads the block once
(`summarize.py`). No attack is named. `kernels.py` loads this module by name, and takes `KERNEL`.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.scoring.fill import add_facts, contribution, fill, finish, n_postings
from standout.scoring.fill_odds import event_odds, fixed_log, log_of_length
from standout.scoring.kernels import Kernel
from standout.scoring.mass import mass_filtered, mass_over, mass_touched
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import VETO, Combine, Tables
from standout.scoring.postings import (
    KernelVariant,
    Postings,
    Scratch,
    jit,
    jit_bare,
    make_scratch,
)
from standout.scoring.rules import allowed, passes, rule_of
from standout.scoring.summarize import summarize_block, summarize_touched, zeros_cannot_win

_SUM, _MIN, _ODDS = int(Combine.SUM), int(Combine.MIN), int(Combine.ODDS)
_UNCAPPED = 2**31 - 1
FEW = 12
"""If a block has this many times more records than the query has postings in it, only records with postings are read."""
FEW_MASS = 4
"""The same threshold for `mass_blocks`, where reading all records costs more."""


@jit
def run_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    watch: Array,
    out: Partials,
) -> None:
    """Add all blocks to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    whole = np.zeros(post.block_size, np.int32)
    scratch = make_scratch(post.block_size, how.combine)
    _run_blocks(whole, scratch, queries, post, plan, how, watch, out)


@jit_bare
def _run_blocks(
    whole: Array,
    scratch: Scratch,
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    watch: Array,
    out: Partials,
) -> None:
    # filters, minima and factors need every record of the block
    by_record = (
        how.filtered or how.combine == _MIN or (how.combine == _SUM and post.factor.size > 0)
    )
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        acc = whole[: min(post.block_size, post.n_records - start)]
        clear = False
        for q in range(queries[0], queries[1]):
            if not clear:
                acc[:] = 0
                scratch.held[:] = 0
            add_facts(acc, scratch, b, q, post, plan, how)
            if (
                not by_record
                and FEW * n_postings(b, q, post, plan) < acc.size
                and plan.query.cap[q] >= _UNCAPPED
                and zeros_cannot_win(q, how.tie, out)
            ):
                summarize_touched(acc, start, b, q, watch[q], post, plan, how, out)
                clear = True
            else:
                finish(acc, scratch.held, start, q, post, plan, how)
                summarize_block(acc, start, q, watch[q], post, plan, how, out)
                clear = False


@jit
def mass_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    top: Array,
    beta: Array,
    out: Array,
) -> None:
    """Add Σ exp(beta · (score - top)) over the candidates to `out`, for the given queries."""
    whole = np.zeros(post.block_size, np.int32)
    scratch = make_scratch(post.block_size, how.combine)
    _mass_blocks(whole, scratch, queries, post, plan, how, top, beta, out)


@jit_bare
def _mass_blocks(
    whole: Array,
    scratch: Scratch,
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    top: Array,
    beta: Array,
    out: Array,
) -> None:
    by_record = (
        how.filtered or how.combine == _MIN or (how.combine == _SUM and post.factor.size > 0)
    )
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        acc = whole[: min(post.block_size, post.n_records - start)]
        clear = False
        for q in range(queries[0], queries[1]):
            if not clear:
                acc[:] = 0
                scratch.held[:] = 0
            add_facts(acc, scratch, b, q, post, plan, how)
            rule = rule_of(q, post.first_record, plan, how)
            clear = (
                not by_record
                and plan.query.cap[q] >= _UNCAPPED
                and FEW_MASS * n_postings(b, q, post, plan) < acc.size
            )
            if clear:
                out[q] += mass_touched(acc, rule.exclude - start, b, q, top[q], beta[q], post, plan)
                continue
            finish(acc, scratch.held, start, q, post, plan, how)
            if how.filtered or 0 <= rule.exclude - start < acc.size:
                out[q] += mass_filtered(acc, start, top[q], beta[q], rule, post.lengths)
            else:
                out[q] += mass_over(acc, top[q], beta[q])


@jit
def _find(local: Array, lo: int, hi: int, k: int) -> int:
    """First position from `lo` to `hi` of a run whose record is at least `k`."""
    while lo < hi:
        middle = (lo + hi) >> 1
        if np.int64(local[middle]) < k:
            lo = middle + 1
        else:
            hi = middle
    return lo


@jit_bare
def _score_of(r: int, q: int, post: Postings, plan: Tables, how: KernelVariant) -> int:
    """Integer score of record `r` of the shard, equal to the one by `fill`, read from the record's own entries."""
    b = r // post.block_size
    k = r - b * post.block_size
    first, shift = plan.query.ptr[q], plan.query.shift[q]
    score, held, half = np.int64(0), np.int64(0), np.int64(1) << shift >> 1
    for f in range(first, plan.query.ptr[q + 1]):
        hi = np.int64(post.ptr[b, plan.fact.item[f] + 1])
        p = _find(post.local, np.int64(post.ptr[b, plan.fact.item[f]]), hi, k)
        best, odds, events = np.int64(VETO), 0.0, 0.0
        while p < hi and np.int64(post.local[p]) == k:
            if how.combine == _ODDS:
                odds += event_odds(np.uint64(f), np.uint64(p), post, plan, how)
            else:
                row = np.uint64(plan.fact.time_row[f])
                x = contribution(
                    np.uint64(p),
                    post.code,
                    post.tick,
                    plan.fact.value,
                    np.uint64(plan.fact.value_start[f]),
                    plan.row.time,
                    row,
                    plan.fact.known_tick[f],
                    how.gap_shift,
                    post.no_tick,
                    how.use_value,
                    how.use_time,
                )
                best = max(best, x)
            events += 1.0
            p += 1
        if events == 0.0:
            continue
        if how.combine == _ODDS:
            odds = odds / events if events > 1.0 else odds
            score += (
                fixed_log(1.0 + post.factor[r] * (odds + plan.fact.odds_floor[f])) + half
            ) >> shift
        elif how.combine == _MIN:
            if held == f - first:
                score = max(best, np.int64(0)) if held == 0 else min(score, max(best, np.int64(0)))
                held += 1
        elif best > VETO // 2:
            score += best
    if how.combine == _MIN and held < plan.query.n_known[q]:
        score = np.int64(0)
    if how.combine == _ODDS and plan.query.longest[q] > 0:
        score += log_of_length(r, q, post, plan)
    if how.combine == _SUM and post.factor.size > 0 and score != 0:
        score = np.int64(np.rint(score * post.factor[r]))
    return min(score, plan.query.cap[q]) if plan.query.cap[q] < _UNCAPPED else score


@jit
def score_record(
    post: Postings, plan: Tables, how: KernelVariant, record: Array, out: Array
) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and it is a candidate."""
    for q in range(plan.query.ptr.size - 1):
        r = record[q] - post.first_record
        if 0 <= r < post.n_records and allowed(r, q, post, plan, how):
            out[q] = _score_of(r, q, post, plan, how)


@jit
def all_scores(
    queries: tuple[int, int], post: Postings, plan: Tables, how: KernelVariant, out: Array
) -> None:
    """Put the integer scores of some queries into `out` (queries, records); `LOWEST` for records that are not candidates."""
    scratch = make_scratch(post.block_size, how.combine)
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        size = min(post.block_size, post.n_records - start)
        for q in range(queries[0], queries[1]):
            acc = out[q - queries[0], start : start + size]
            fill(acc, scratch, b, q, post, plan, how)
            rule = rule_of(q, post.first_record, plan, how)
            for k in range(size):
                if not passes(start + k, rule, post.lengths):
                    acc[k] = LOWEST


KERNEL = Kernel(run_blocks, mass_blocks, score_record, all_scores)
