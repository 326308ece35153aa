"""The Numba kernel for `Combine.EXACT`: log P(knowledge | record) of an adversary with exactly w wrong facts.

Few records can be the target: those that hold all known items, or all but w of them. The kernel
lists them block by block and evaluates each once, in floating point, with the formulas of
`formulas.likelihood`. The result is rounded to an integer once. All other records are not
candidates.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.formulas.likelihood import log_wrong_items, log_wrong_values
from standout.formulas.pick_order import log_weighted_wrong
from standout.scoring.chances import fine_events, pair_chances, seek
from standout.scoring.exact_scratch import ExactScratch, log_held_order, make_exact_scratch
from standout.scoring.factors import NO_FACTOR, factors_of
from standout.scoring.kernels import Kernel, same_arrays, same_tables
from standout.scoring.mass import exponential
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import SCORE_LIMIT, ExactTables, Plan, Tables
from standout.scoring.postings import KernelVariant, Postings, jit, jit_bare, jit_inline
from standout.scoring.rules import allowed
from standout.scoring.summarize import summarize_listed

ALL = np.int64(-1)
SEARCH = 8
"""Steps of a search for one record in one run, on average."""

_OF_WRONG_ITEMS = {"total", "n_possible", "support", "mean_right", "gone_ptr", "gone_item"}
"""Tables that scores depend on only if wrong facts are items that the target lacks."""


def for_shard(plan: Plan, shard: Shard) -> ExactTables:
    """Exact tables of the plan, with the per-record arrays of the shard filled in."""
    assert plan.exact is not None
    totals = [factors_of(factor, shard) for factor in plan.further]
    return plan.exact._replace(
        log_pick=factors_of(plan.factor, shard),
        weight=factors_of(plan.weight, shard),
        pick_total=totals[0] if totals else NO_FACTOR,
        fine_total=totals[-1] if totals else NO_FACTOR,
    )


@jit_bare
def count_shared(
    n: int, b: int, size: int, q: int, post: Postings, t: ExactTables, scratch: ExactScratch
) -> None:
    """Count the pickable items that the first `n` candidates of block `b` share with the excluded record of query `q`."""
    n_postings = np.int64(0)
    for j in range(t.gone_ptr[q], t.gone_ptr[q + 1]):
        n_postings += np.int64(post.ptr[b, t.gone_item[j] + 1]) - np.int64(
            post.ptr[b, t.gone_item[j]]
        )
    by_posting = SEARCH * n * (t.gone_ptr[q + 1] - t.gone_ptr[q]) >= size + n_postings
    if by_posting:
        scratch.n_shared[:size] = 0
    else:
        for c in range(n):
            scratch.n_shared[scratch.local[c]] = 0
    for j in range(t.gone_ptr[q], t.gone_ptr[q + 1]):
        at, hi = np.int64(post.ptr[b, t.gone_item[j]]), np.int64(post.ptr[b, t.gone_item[j] + 1])
        if by_posting and not post.repeats:
            for p in range(np.uint64(at), np.uint64(hi)):
                scratch.n_shared[np.uint64(post.local[p])] += 1
        elif by_posting:
            last = np.int64(-1)
            for p in range(at, hi):
                k = np.int64(post.local[p])
                scratch.n_shared[k] += k != last
                last = k
        else:
            for c in range(n):
                k = scratch.local[c]
                at = seek(post.local, at, hi, k)
                scratch.n_shared[k] += at < hi and post.local[at] == k


@jit_inline
def log_chance(
    k: int, b: int, q: int, post: Postings, plan: Tables, t: ExactTables, scratch: ExactScratch
) -> float:
    """Log P(knowledge of query `q` | record `k` of block `b`), -inf if it cannot be the target. Call with ascending `k`."""
    lo, hi = plan.query.ptr[q], plan.query.ptr[q + 1]
    m = hi - lo
    record = b * post.block_size + k
    missing, contradicted, n_marked = np.int64(0), np.int64(0), np.int64(0)
    log_pick = t.log_pick[record]
    possible = log_pick < np.inf
    most_missing = t.wrong[q] if t.wrong_items else np.int64(0)
    most_contradicted = t.wrong[q] - most_missing
    j = np.int64(0)
    while possible and j < m:
        f = lo + j
        stop = np.int64(post.ptr[b, plan.fact.item[f] + 1])
        at = seek(post.local, scratch.cursor[j], stop, k)
        scratch.cursor[j] = at
        scratch.held[j] = at < stop and post.local[at] == k
        if scratch.held[j]:
            right, wrong, after = pair_chances(at, stop, f, post, plan.fact.known_tick, t)
            scratch.right[j], scratch.wrong[j] = right, wrong
            if t.weighted:
                scratch.pick[j] = scratch.fine[j] = t.pick_weight[f]
                if t.by_events:
                    scratch.pick[j] *= after - at
                    scratch.fine[j] *= fine_events(at, after, f, post, plan.fact.known_tick, t)
            contradicted += right <= 0.0
            possible = contradicted <= most_contradicted and right + wrong > 0.0
            n_marked += t.marked[f]
        else:
            missing += 1
            possible = missing <= most_missing
        j += 1
    if not possible or missing != most_missing or (t.n_marked >= 0 and n_marked != t.n_marked):
        return -np.inf
    if t.weighted and (t.wrong_items or t.wrong[q] == 0):
        log_pick -= log_held_order(m, t.pick_total[record], scratch)
    elif t.weighted:
        return (
            log_weighted_wrong(
                scratch.right[:m],
                scratch.wrong[:m],
                scratch.pick[:m],
                scratch.fine[:m],
                t.wrong[q],
                t.pick_total[record],
                t.fine_total[record],
                scratch.supports,
                scratch.sums,
            )
            - log_pick
            - t.log_ways[q]
        )
    if not t.wrong_items:
        return log_wrong_values(
            scratch.right[:m],
            scratch.wrong[:m],
            t.wrong[q],
            log_pick,
            t.log_ways[q],
            scratch.sums,
        )
    rest = t.total[q] - t.weight[record]
    if plan.query.exclude[q] >= 0 and missing > 0:
        rest += scratch.n_shared[k]
    return log_wrong_items(
        scratch.right[:m],
        scratch.held[:m],
        t.support[lo:hi],
        t.mean_right[lo:hi],
        float(rest),
        log_pick,
        t.log_ways[q],
        scratch.supports,
        scratch.sums,
    )


@jit_inline
def start_search(b: int, q: int, post: Postings, plan: Tables, scratch: ExactScratch) -> None:
    """Set the cursors to the starts of the runs of query `q`."""
    for f in range(plan.query.ptr[q], plan.query.ptr[q + 1]):
        scratch.cursor[f - plan.query.ptr[q]] = post.ptr[b, plan.fact.item[f]]


@jit_inline
def list_holders(
    b: int, size: int, q: int, post: Postings, plan: Tables, t: ExactTables, scratch: ExactScratch
) -> int:
    """List in `scratch.local`, ascending, every record of the block with enough of the items (and perhaps others); gives n."""
    lo, hi = plan.query.ptr[q], plan.query.ptr[q + 1]
    need = hi - lo - (t.wrong[q] if t.wrong_items else 0)
    some, least, smallest = np.int64(0), np.int64(2**62), lo
    for f in range(lo, hi):
        run = np.int64(post.ptr[b, plan.fact.item[f] + 1]) - np.int64(
            post.ptr[b, plan.fact.item[f]]
        )
        some += run > 0
        if run < least:
            least, smallest = run, f
    n = np.int64(0)
    if some < need:
        return n
    if need == hi - lo and hi > lo:
        # a record with all of the items is in the shortest run; without facts there is no run
        p, stop = (
            np.int64(post.ptr[b, plan.fact.item[smallest]]),
            np.int64(post.ptr[b, plan.fact.item[smallest] + 1]),
        )
        while p < stop:
            scratch.local[n] = np.int64(post.local[p])
            right, wrong, p = pair_chances(p, stop, smallest, post, plan.fact.known_tick, t)
            # most entries contradict the fact, and need no search in the other runs
            n += right > 0.0 or (t.wrong[q] > 0 and wrong > 0.0)
        return n
    scratch.n_held[:size] = 0
    for f in range(lo, hi):
        last = np.int64(-1)
        for p in range(post.ptr[b, plan.fact.item[f]], post.ptr[b, plan.fact.item[f] + 1]):
            k = np.int64(post.local[p])
            scratch.n_held[k] += k != last
            last = k
    for k in range(size):
        scratch.local[n] = k
        n += scratch.n_held[k] == need
    return n


@jit_bare
def score_block(
    b: int,
    q: int,
    only: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: ExactTables,
    scratch: ExactScratch,
) -> int:
    """Put the candidates of the block and their integer scores into `scratch`; return their number.

    With `only` ≥ 0, that record of the block alone. One function for both: compiling it takes
    seconds.
    """
    offset = b * post.block_size
    size = min(post.block_size, post.n_records - offset)
    if only >= 0:
        scratch.local[0] = only
        n = np.int64(1)
    else:
        n = list_holders(b, size, q, post, plan, t, scratch)
    if t.wrong_items and plan.query.exclude[q] >= 0:
        count_shared(n, b, size, q, post, t, scratch)
    start_search(b, q, post, plan, scratch)
    kept = np.int64(0)
    for c in range(n):
        k = scratch.local[c]
        if allowed(offset + k, q, post, plan, how):
            x = log_chance(k, b, q, post, plan, t, scratch)
            if x > -np.inf:
                scratch.local[kept] = k
                scratch.score[kept] = to_integer(x, t.scale[q])
                kept += 1
    return kept


@jit
def to_integer(x: float, scale: float) -> int:
    """Round a log-probability to fixed point, clipped to ±SCORE_LIMIT."""
    return np.int64(min(max(np.rint(x * scale), -float(SCORE_LIMIT)), float(SCORE_LIMIT)))


@jit
def run_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: ExactTables,
    watch: Array,
    out: Partials,
) -> None:
    """Add all blocks to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    scratch = make_exact_scratch(post.block_size, t.most_facts, t.most_wrong)
    _run_blocks(scratch, queries, post, plan, how, t, watch, out)


@jit_bare
def _run_blocks(
    scratch: ExactScratch,
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: ExactTables,
    watch: Array,
    out: Partials,
) -> None:
    for b in range(post.ptr.shape[0]):
        offset = b * post.block_size
        for q in range(queries[0], queries[1]):
            n = score_block(b, q, ALL, post, plan, how, t, scratch)
            summarize_listed(
                n, scratch.local, scratch.score, offset, q, watch[q], post, plan, how, out
            )


@jit
def mass_blocks(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: ExactTables,
    top: Array,
    beta: Array,
    out: Array,
) -> None:
    """Add Σ exp(beta · (score - top)) over the candidates to `out`, for the given queries."""
    scratch = make_exact_scratch(post.block_size, t.most_facts, t.most_wrong)
    _mass_blocks(scratch, queries, post, plan, how, t, top, beta, out)


@jit_bare
def _mass_blocks(
    scratch: ExactScratch,
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: ExactTables,
    top: Array,
    beta: Array,
    out: Array,
) -> None:
    for b in range(post.ptr.shape[0]):
        for q in range(queries[0], queries[1]):
            for c in range(score_block(b, q, ALL, post, plan, how, t, scratch)):
                out[q] += exponential(beta[q] * np.float64(scratch.score[c] - top[q]))


@jit
def score_record(
    post: Postings, plan: Tables, how: KernelVariant, t: ExactTables, record: Array, out: Array
) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and it is a candidate."""
    scratch = make_exact_scratch(post.block_size, t.most_facts, t.most_wrong)
    for q in range(plan.query.ptr.size - 1):
        local = record[q] - post.first_record
        if 0 <= local < post.n_records:
            b = local // post.block_size
            if score_block(b, q, local - b * post.block_size, post, plan, how, t, scratch) > 0:
                out[q] = scratch.score[0]


@jit
def all_scores(
    queries: tuple[int, int],
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    t: ExactTables,
    out: Array,
) -> None:
    """Put the integer scores of some queries into `out` (queries, records); `LOWEST` for records that are not candidates."""
    scratch = make_exact_scratch(post.block_size, t.most_facts, t.most_wrong)
    out[:] = LOWEST
    for b in range(post.ptr.shape[0]):
        start = b * post.block_size
        for q in range(queries[0], queries[1]):
            for c in range(score_block(b, q, ALL, post, plan, how, t, scratch)):
                out[q - queries[0], start + scratch.local[c]] = scratch.score[c]


def same_scores(a: Plan, b: Plan) -> bool:
    """Whether two plans give every record the same score, but for the records that they exclude.

    Not if wrong facts are items that the target lacks: then a score depends on the supports of all
    items.
    """
    if a.exact is None or b.exact is None or a.exact.wrong_items or b.exact.wrong_items:
        return False
    return same_tables(a, b) and same_arrays(a.exact, b.exact, _OF_WRONG_ITEMS)


KERNEL = Kernel(run_blocks, mass_blocks, score_record, all_scores, for_shard, same_scores)
