"""The Numba kernel for `Combine.ADAPTIVE`: log P(knowledge | record) - log P(knowledge | absent) under a defense's mechanism.

Every record is a candidate, also those that lost all known entries. The kernel visits the records
of a block in order, with one cursor per known item, and evaluates the whole formula of
`formulas.defended` once per record, in floating point. The result is rounded to an integer once.
Shifts of a person's dates are summed exactly: the product is evaluated only where it changes.
Source lengths of capped records are summed over a few nodes.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.scoring.adaptive_factors import add_logs, log_product, mark_changes
from standout.scoring.adaptive_records import log_length, lost_facts, missing, set_rest, set_rho
from standout.scoring.adaptive_scratch import AdaptiveScratch, make_adaptive_scratch
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.chances import seek
from standout.scoring.exact import to_integer
from standout.scoring.factors import factors_of
from standout.scoring.kernels import Kernel
from standout.scoring.mass import exponential
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan, Tables
from standout.scoring.postings import KernelVariant, Postings, jit, jit_bare, jit_inline
from standout.scoring.rules import allowed
from standout.scoring.summarize import summarize_listed


def for_shard(plan: Plan, shard: Shard) -> AdaptiveTables:
    """Tables of the plan, with the per-record arrays of the shard filled in."""
    assert plan.adaptive is not None
    every, strangers, rare_length, rare_weight = (
        factors_of(factor, shard) for factor in plan.further
    )
    return plan.adaptive._replace(
        length=factors_of(plan.factor, shard),
        weight=factors_of(plan.weight, shard),
        every_length=every,
        strangers=strangers,
        rare_length=rare_length,
        rare_weight=rare_weight,
    )


@jit_inline
def log_chance(
    k: int,
    b: int,
    q: int,
    post: Postings,
    plan: Tables,
    t: AdaptiveTables,
    scratch: AdaptiveScratch,
) -> float:
    """LLR of record `k` of block `b` for query `q`. Call with ascending `k`."""
    lo, m = plan.query.ptr[q], plan.query.ptr[q + 1] - plan.query.ptr[q]
    record = b * post.block_size + k
    scratch.n_held[:] = 0
    for j in range(m):
        stop = np.int64(post.ptr[b, plan.fact.item[lo + j] + 1])
        at = scratch.cursor[j]
        if at < stop and np.int64(post.local[at]) < k:
            at = seek(post.local, at, stop, k)
        scratch.first[j] = at
        while at < stop and np.int64(post.local[at]) == k:
            at += 1
        scratch.cursor[j], scratch.last[j] = at, at
        scratch.n_held[t.rare[lo + j]] += at > scratch.first[j]
    n_held = scratch.n_held[0] + scratch.n_held[1]
    set_rest(record, k, q, t, scratch)
    whole = np.int64(t.every_length[record])
    capped = 0 <= t.cap <= whole
    n_lost = lost_facts(np.int64(m), n_held, t)
    moves = (
        t.shift > 0 and n_held > 0 and mark_changes(lo, m, post, plan.fact.known_tick, t, scratch)
    )
    last = t.shift if moves else -t.shift
    total = -np.inf
    for node in range(t.node_log.size if capped else 1):
        set_rho(record, node if capped else np.int64(-1), t, scratch)
        miss = t.node_miss[node, n_held, n_lost] if capped else missing(record, t)
        weight = t.node_log[node] if capped else 0.0
        if t.know_length:
            weight += log_length(
                q, whole, n_held, plan.query.n_known[q], node if capped else np.int64(-1), t
            )
        at = np.int64(-t.shift)
        while at <= last:
            # the product is the same for all shifts up to the next change
            stop = at + np.int64(1)
            while stop <= last and not scratch.change[stop + t.shift]:
                stop += 1
            one = log_product(q, lo, m, at, miss, post, plan.fact.known_tick, t, scratch)
            if one > -np.inf:
                total = add_logs(total, one + weight + (np.log(float(stop - at)) if moves else 0.0))
            at = stop
    return total - np.log(2.0 * t.shift + 1.0) if moves else total


@jit_inline
def share_with_excluded(
    b: int, size: int, q: int, post: Postings, t: AdaptiveTables, scratch: AdaptiveScratch
) -> None:
    """Add up, per record of the block, the weight of the items that it shares with the query's excluded record."""
    scratch.shared[:, :size] = 0.0
    for j in range(t.gone_ptr[q], t.gone_ptr[q + 1]):
        last = np.int64(-1)
        for p in range(post.ptr[b, t.gone_item[j]], post.ptr[b, t.gone_item[j] + 1]):
            k = np.int64(post.local[p])
            if k != last:
                scratch.shared[t.gone_rare[j], k] += t.gone_inside[j]
            last = k


@jit_bare
def score_range(
    b: int,
    lo: int,
    hi: int,
    q: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: AdaptiveTables,
    scratch: AdaptiveScratch,
) -> int:
    """Put the candidates among records `lo … hi-1` of the block and their integer scores into `scratch`; return their number."""
    offset = b * post.block_size
    share_with_excluded(b, min(post.block_size, post.n_records - offset), q, post, t, scratch)
    for f in range(plan.query.ptr[q], plan.query.ptr[q + 1]):
        scratch.cursor[f - plan.query.ptr[q]] = np.int64(post.ptr[b, plan.fact.item[f]])
    kept = np.int64(0)
    for k in range(lo, hi):
        if allowed(offset + k, q, post, plan, how):
            x = log_chance(k, b, q, post, plan, t, scratch)
            if x > -np.inf:
                scratch.local[kept] = k
                scratch.score[kept] = to_integer(x, t.scale[q])
                kept += 1
    return int(kept)


@jit
def run_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: AdaptiveTables,
    watch: Array,
    out: Partials,
) -> None:
    """Add all records to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for b in range(post.ptr.shape[0]):
        offset = b * post.block_size
        size = min(post.block_size, post.n_records - offset)
        for q in range(queries[0], queries[1]):
            n = score_range(b, np.int64(0), size, q, post, plan, how, t, scratch)
            summarize_listed(
                n, scratch.local, scratch.score, offset, q, watch[q], post, plan, how, out
            )


@jit
def mass_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: AdaptiveTables,
    top: Array,
    beta: Array,
    out: Array,
) -> None:
    """Add Σ exp(beta · (score - top)) over all candidates to `out`, for the given queries."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for b in range(post.ptr.shape[0]):
        size = min(post.block_size, post.n_records - b * post.block_size)
        for q in range(queries[0], queries[1]):
            for c in range(score_range(b, np.int64(0), size, q, post, plan, how, t, scratch)):
                out[q] += exponential(beta[q] * np.float64(scratch.score[c] - top[q]))


@jit
def score_record(
    post: Postings, plan: Tables, how: KernelVariant, t: AdaptiveTables, record: Array, out: Array
) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and it is a candidate."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for q in range(plan.query.ptr.size - 1):
        local = record[q] - post.first_record
        if 0 <= local < post.n_records:
            b = local // post.block_size
            k = local - b * post.block_size
            if score_range(b, k, k + 1, q, post, plan, how, t, scratch) > 0:
                out[q] = scratch.score[0]


@jit
def all_scores(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: AdaptiveTables,
    out: Array,
) -> None:
    """Put the integer scores of some queries into `out` (queries, records); `LOWEST` for records that are not candidates."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    out[:] = LOWEST
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        size = min(post.block_size, post.n_records - start)
        for q in range(queries[0], queries[1]):
            for c in range(score_range(b, np.int64(0), size, q, post, plan, how, t, scratch)):
                out[q - queries[0], start + scratch.local[c]] = scratch.score[c]


def same_scores(a: Plan, b: Plan) -> bool:
    """No: a score depends on the supports of all items, which change with the excluded record."""
    return False


KERNEL = Kernel(run_blocks, mass_blocks, score_record, all_scores, for_shard, same_scores)
