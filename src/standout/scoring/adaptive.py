"""The Numba kernel for `Combine.ADAPTIVE`: log P(knowledge | record) - log P(knowledge | absent) under a defense's channel.

Every record is a candidate, also those that lost all known entries. The kernel visits the records of a block in order,
with one cursor per known item, and evaluates the whole formula of `formulas.defended` once per record, in floating point. The
result is rounded to an integer once. Shifts of a person's dates are summed exactly: the product is evaluated only where it
changes. Source lengths of capped records are summed over a few nodes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.data.index import Shard
from standout.formulas.defended import bucket_chance, held, lost, merged, overlap, wrong_day_chance
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.cpu import exponential
from standout.scoring.exact import seek, to_integer
from standout.scoring.factors import factors_of
from standout.scoring.fill import KernelVariant, Postings, jit, jit_bare, jit_inline
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan, Tables
from standout.scoring.summarize import add_candidate, allowed, key_of

Array = npt.NDArray[Any]


class AdaptiveScratch(NamedTuple):
    """Scratch memory of one thread."""

    cursor: Array
    """int64 (facts of a query): position in each item's run from which the search continues."""
    first: Array
    last: Array
    """int64 (facts of a query): the record's entries of each item."""
    shared: Array
    """float64 (block): weight of the items that each record shares with the excluded record."""
    sums: Array
    """float64 (wrong facts + 1): coefficients of the polynomial."""
    change: Array
    """bool (shifts + 1): shifts at which some factor changes."""
    chosen: Array
    """float64 (2^facts together): sums over assignments of facts to entries."""
    local: Array
    score: Array
    """int64 (block): candidates of the block, as offsets, and their scores."""


def for_shard(plan: Plan, shard: Shard) -> AdaptiveTables:
    """Tables of the plan, with the per-record arrays of the shard filled in."""
    assert plan.adaptive is not None
    return plan.adaptive._replace(length=factors_of(plan.factor, shard), weight=factors_of(plan.weight, shard))


@jit  # type: ignore[untyped-decorator]
def make_adaptive_scratch(block_size: int, most_facts: int, n_wrong: int, shift: int, together: int) -> AdaptiveScratch:
    """Scratch memory for blocks of that size and queries of that many facts."""
    return AdaptiveScratch(np.empty(most_facts, np.int64), np.empty(most_facts, np.int64), np.empty(most_facts, np.int64),
                           np.zeros(block_size), np.empty(n_wrong + 1), np.zeros(2 * shift + 2, np.bool_),
                           np.empty(1 << together), np.empty(block_size, np.int64),
                           np.empty(block_size, np.int64))  # fmt: skip


@jit_inline  # type: ignore[untyped-decorator]
def entry_chances(p: int, f: int, z: int, post: Postings, known_day: Array, t: AdaptiveTables) -> tuple[float, float]:
    """Probabilities of the known value and day behind posting `p`, if dates were shifted by `z`: right fact, wrong value."""
    right, wrong = 1.0, 1.0
    if t.use_value:
        code = min(np.int64(post.code[p]), t.right_value.shape[1] - 1)
        right, wrong = t.right_value[f, code], t.wrong_value[f, code]
    if t.use_time and t.has_day[f]:
        day = np.int64(post.tick[p])
        if day == post.no_tick:
            right, wrong = right * t.day_back[f], wrong * t.day_back_wrong[f]
        else:
            first = day - z
            n = np.int64(t.bucket[(first if t.period_first else day) + t.shift])
            if n == 0:
                right, wrong = 0.0, 0.0
            else:
                right *= bucket_chance(known_day[f], t.within, first, n)
                if t.wrong_values:
                    wrong *= _wrong_day(known_day[f], first, n, t.within, t.span_first, t.span, t.shift)
    return right, wrong


@jit  # type: ignore[untyped-decorator]
def _wrong_day(known: int, first: int, n: int, within: int, span_first: int, span: int, shift: int) -> float:
    """Probability of a wrong day. For shifted dates the ends of the span are ignored, so that it is constant in the shift."""
    if shift == 0:
        return wrong_day_chance(known - span_first, within, first - span_first, n, span)
    if known < span_first or known > span_first + span:
        return 0.0
    return (n - overlap(known, within, first, n)) / (n * max(span - 2 * within, 1))


@jit_inline  # type: ignore[untyped-decorator]
def fact_factors(f: int, p: int, stop: int, z: int, rho: float, miss: float, rest: float, rest_kept: float,
                 post: Postings, known_day: Array, t: AdaptiveTables) -> tuple[float, float]:  # fmt: skip
    """Factors of fact `f` as a right one and as a wrong one; the record's entries of its item are postings `p … stop-1`."""
    if p < stop:
        right, wrong = 0.0, 0.0
        for k in range(p, stop):
            one_right, one_wrong = entry_chances(k, f, z, post, known_day, t)
            right, wrong = right + one_right, wrong + one_wrong
        if not t.grouped:
            right, wrong = right / (stop - p), wrong / (stop - p)
        right = held(rho, t.own[f] * right + t.mix_right[f], t.q_g[f], t.by_chance_right[f])
        if t.wrong_items:
            wrong = t.strange[f] * t.outside[f] / rest_kept
        else:
            wrong = held(rho, t.own[f] * wrong + t.mix_wrong[f], t.q_g[f], t.by_chance_wrong[f])
        if t.grouped:
            # the record may hold other items of the group
            right += miss * t.lost_right[f]
            wrong = t.outside[f] if t.wrong_items else wrong + miss * t.lost_wrong[f]
    else:
        right = lost(miss, t.lost_right[f], rest)
        wrong = t.outside[f] / rest_kept if t.wrong_items else lost(miss, t.lost_wrong[f], rest)
    c = t.chance[f]
    return c * right + (1.0 - c) + t.floor, c * wrong + (1.0 - c) + t.floor


@jit_bare  # type: ignore[untyped-decorator]
def group_factor(lo: int, j: int, m: int, z: int, rho: float, miss: float, post: Postings, known_day: Array,
                 t: AdaptiveTables, scratch: AdaptiveScratch) -> float:  # fmt: skip
    """Factor of all facts of a query about the item of its fact `j`: distinct facts come from distinct entries.

    Sums over all assignments of the facts to entries, where a fact may also be lost or wrong.
    """
    chosen = scratch.chosen
    chosen[0] = 1.0
    n = np.int64(0)
    for i in range(j, m):
        if t.same[lo + i] == j:
            chosen[1 << n] = 0.0
            for s in range((1 << n) + 1, 1 << (n + 1)):
                chosen[s] = 0.0
            n += 1
    for p in range(scratch.first[j], scratch.last[j]):
        # descending: each entry is used once
        for s in range((1 << n) - 1, 0, -1):
            k = np.int64(0)
            for i in range(j, m):
                if t.same[lo + i] == j:
                    if s >> k & 1:
                        f = lo + i
                        right, wrong = entry_chances(p, f, z, post, known_day, t)
                        if not t.wrong_items:
                            right = (1.0 - t.share_wrong) * right + t.share_wrong * wrong
                        else:
                            right *= 1.0 - t.share_wrong
                        chosen[s] += chosen[s ^ (1 << k)] * held(rho, right, t.q_g[f], 0.0)
                    k += 1
    out = 0.0
    for s in range(1 << n):
        whole = chosen[s]
        k = np.int64(0)
        for i in range(j, m):
            if t.same[lo + i] == j:
                if not s >> k & 1:
                    f = lo + i
                    wrong = t.outside[f] if t.wrong_items else miss * t.lost_wrong[f]
                    whole *= (1.0 - t.share_wrong) * miss * t.lost_right[f] + t.share_wrong * wrong + t.floor
                k += 1
        out += whole
    return out


@jit_bare  # type: ignore[untyped-decorator]
def merged_factor(lo: int, j: int, m: int, z: int, rho: float, miss: float, post: Postings, known_day: Array,
                  t: AdaptiveTables, scratch: AdaptiveScratch) -> float:  # fmt: skip
    """As `group_factor`, where the record's entries of a group were merged into one of them.

    One of the facts may be about the entry that was kept; the others say nothing about the record.
    """
    n, ratio = np.int64(0), scratch.chosen
    for i in range(j, m):
        if t.same[lo + i] == j:
            f = lo + i
            right, wrong = 0.0, 0.0
            for p in range(scratch.first[j], scratch.last[j]):
                right, wrong = entry_chances(p, f, z, post, known_day, t)
            if not t.wrong_items:
                right = (1.0 - t.share_wrong) * right + t.share_wrong * wrong
            ratio[n] = right * t.q[f] * t.kept_pairs / t.q_g[f]
            n += 1
    out, mu = 0.0, t.q[lo + j] / rho
    for s in range(1 << n):
        some, k, part, whole = np.int64(0), np.int64(0), 0.0, 1.0
        for i in range(j, m):
            if t.same[lo + i] == j:
                f = lo + i
                if s >> k & 1:
                    some += 1
                    part += ratio[k]
                    whole *= 1.0 - t.share_wrong if t.wrong_items else 1.0
                elif t.wrong_items:
                    whole *= (1.0 - t.share_wrong) * miss * t.lost_right[f] + t.share_wrong * t.outside[f] + t.floor
                else:
                    whole *= miss + t.floor
                k += 1
        out += whole * merged(part, some, mu)
    return out


@jit_inline  # type: ignore[untyped-decorator]
def log_product(q: int, lo: int, m: int, z: int, rho: float, miss: float, rest: float, rest_kept: float, post: Postings,
                known_day: Array, t: AdaptiveTables, scratch: AdaptiveScratch) -> float:  # fmt: skip
    """Log of the product of all factors of query `q`, or of its coefficient for the number of wrong facts; -inf if it is 0."""
    sums, w, scaled = scratch.sums, t.n_wrong, 0.0
    for k in range(w + 1):
        sums[k] = t.start[q, k]
    for j in range(m):
        f = lo + j
        if t.grouped and (t.merged or t.n_same[f] > 1) and scratch.first[j] < scratch.last[j]:
            if t.same[f] == j and t.merged:
                sums[0] *= merged_factor(lo, j, m, z, rho, miss, post, known_day, t, scratch)
            elif t.same[f] == j:
                sums[0] *= group_factor(lo, j, m, z, rho, miss, post, known_day, t, scratch)
        else:
            right, wrong = fact_factors(f, scratch.first[j], scratch.last[j], z, rho, miss, rest, rest_kept, post,
                                        known_day, t)  # fmt: skip
            if t.share_wrong > 0.0:
                right = (1.0 - t.share_wrong) * right + t.share_wrong * wrong
            for k in range(w, 0, -1):
                sums[k] = sums[k] * right + sums[k - 1] * wrong
            sums[0] *= right
        top = 0.0
        for k in range(w + 1):
            top = max(top, sums[k])
        if top > 1e100 or 0.0 < top < 1e-100:
            scaled += np.log(top)
            for k in range(w + 1):
                sums[k] /= top
    return np.log(sums[w]) + scaled - t.log_ways[q] if sums[w] > 0.0 else -np.inf


@jit  # type: ignore[untyped-decorator]
def add_logs(a: float, b: float) -> float:
    """log(e^a + e^b).

    >>> add_logs(0.0, 0.0) == np.log(2.0), add_logs(-np.inf, 1.0)
    (True, 1.0)
    """
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@jit_inline  # type: ignore[untyped-decorator]
def mark_changes(
    lo: int, m: int, post: Postings, known_day: Array, t: AdaptiveTables, scratch: AdaptiveScratch
) -> bool:
    """Mark the shifts at which the chance of some fact changes; False if none depends on the shift."""
    some, s = False, t.shift
    scratch.change[:] = False
    for j in range(m):
        f = lo + j
        if not t.has_day[f]:
            continue
        for p in range(scratch.first[j], scratch.last[j]):
            day = np.int64(post.tick[p])
            if day == post.no_tick:
                continue
            some = True
            n = np.int64(t.bucket[day + s])
            if t.period_first:
                z0, z1, every = -s, s, True
            else:
                z0, z1, every = day - known_day[f] - t.within, day - known_day[f] + t.within + n, n > 1
            if every:
                for z in range(max(z0, -s), min(z1, s) + 1):
                    scratch.change[z + s] = True
            else:
                if -s <= z0 <= s:
                    scratch.change[z0 + s] = True
                if -s <= z1 <= s:
                    scratch.change[z1 + s] = True
    return some


@jit_inline  # type: ignore[untyped-decorator]
def log_chance(
    k: int, b: int, q: int, post: Postings, plan: Tables, t: AdaptiveTables, scratch: AdaptiveScratch
) -> float:
    """LLR of record `k` of block `b` for query `q`. Call with ascending `k`."""
    lo, m = plan.query_ptr[q], plan.query_ptr[q + 1] - plan.query_ptr[q]
    record = b * post.block_size + k
    n_held = np.int64(0)
    for j in range(m):
        stop = np.int64(post.ptr[b, plan.item[lo + j] + 1])
        at = scratch.cursor[j]
        if at < stop and np.int64(post.local[at]) < k:
            at = seek(post.local, at, stop, k)
        scratch.first[j] = at
        while at < stop and np.int64(post.local[at]) == k:
            at += 1
        scratch.cursor[j], scratch.last[j] = at, at
        n_held += at > scratch.first[j]
    inside = (t.weight[record] - scratch.shared[k]) / t.total[q]
    rest, rest_kept = max(1.0 - inside, 1e-9), max(1.0 - t.kept_pairs * inside, 1e-9)
    length = np.int64(t.length[record])
    capped = 0 <= t.cap <= length
    moves = t.shift > 0 and n_held > 0 and mark_changes(lo, m, post, plan.known_tick, t, scratch)
    last = t.shift if moves else -t.shift
    total = -np.inf
    for node in range(t.node_log.size if capped else 1):
        rho = t.node_rho[node] if capped else t.rho[min(length, t.rho.size - 1)]
        miss = t.node_miss[node] if capped else t.miss
        weight = t.node_log[node] if capped else 0.0
        at = -t.shift
        while at <= last:
            # the product is the same for all shifts up to the next change
            stop = at + 1
            while stop <= last and not scratch.change[stop + t.shift]:
                stop += 1
            one = log_product(q, lo, m, at, rho, miss, rest, rest_kept, post, plan.known_tick, t, scratch)
            if one > -np.inf:
                total = add_logs(total, one + weight + (np.log(float(stop - at)) if moves else 0.0))
            at = stop
    return total - np.log(2.0 * t.shift + 1.0) if moves else total


@jit_inline  # type: ignore[untyped-decorator]
def share_with_excluded(b: int, size: int, q: int, post: Postings, t: AdaptiveTables, scratch: AdaptiveScratch) -> None:
    """Add up, per record of the block, the weight of the items that it shares with the query's excluded record."""
    scratch.shared[:size] = 0.0
    for j in range(t.gone_ptr[q], t.gone_ptr[q + 1]):
        last = np.int64(-1)
        for p in range(post.ptr[b, t.gone_item[j]], post.ptr[b, t.gone_item[j] + 1]):
            k = np.int64(post.local[p])
            if k != last:
                scratch.shared[k] += t.gone_weight[j]
            last = k


@jit_bare  # type: ignore[untyped-decorator]
def score_range(b: int, lo: int, hi: int, q: int, post: Postings, plan: Tables, how: KernelVariant, t: AdaptiveTables,
                scratch: AdaptiveScratch) -> int:  # fmt: skip
    """Put the candidates among records `lo … hi-1` of the block and their integer scores into `scratch`; return their number."""
    offset = b * post.block_size
    share_with_excluded(b, min(post.block_size, post.n_records - offset), q, post, t, scratch)
    for f in range(plan.query_ptr[q], plan.query_ptr[q + 1]):
        scratch.cursor[f - plan.query_ptr[q]] = np.int64(post.ptr[b, plan.item[f]])
    kept = np.int64(0)
    for k in range(lo, hi):
        if allowed(offset + k, q, post, plan, how):
            x = log_chance(k, b, q, post, plan, t, scratch)
            if x > -np.inf:
                scratch.local[kept] = k
                scratch.score[kept] = to_integer(x, t.scale[q])
                kept += 1
    return kept


@jit  # type: ignore[untyped-decorator]
def run_blocks(first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: KernelVariant,
               t: AdaptiveTables, watch: Array, out: Partials) -> None:  # fmt: skip
    """Add blocks `first … stop-1` to the partials `out` of the queries `queries[0] … queries[1]-1`."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for b in range(first, stop):
        offset = b * post.block_size
        size = min(post.block_size, post.n_records - offset)
        for q in range(queries[0], queries[1]):
            n = score_range(b, np.int64(0), size, q, post, plan, how, t, scratch)
            out.n[q] += n
            for c in range(n):
                s = scratch.score[c]
                out.total[q] += s
                out.squares[q] += np.float64(s) * np.float64(s)
                out.n_watch[q] += s >= watch[q]
                out.n_cut[q] += s >= plan.cut[q]
                if s >= out.top_score[q, out.top.shape[1] - 1]:
                    r = offset + scratch.local[c]
                    key = key_of(r, post.first_record, how.tie, plan.salt[q], post.lengths)
                    add_candidate(s, key, post.first_record + r, q, how.tie, out)


@jit  # type: ignore[untyped-decorator]
def mass_blocks(first: int, stop: int, queries: tuple[int, int], post: Postings, plan: Tables, how: KernelVariant,
                t: AdaptiveTables, top: Array, beta: Array, out: Array) -> None:  # fmt: skip
    """Add Σ exp(beta · (score - top)) over the candidates of blocks `first … stop-1` to `out`, for the given queries."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for b in range(first, stop):
        size = min(post.block_size, post.n_records - b * post.block_size)
        for q in range(queries[0], queries[1]):
            for c in range(score_range(b, np.int64(0), size, q, post, plan, how, t, scratch)):
                out[q] += exponential(beta[q] * np.float64(scratch.score[c] - top[q]))


@jit  # type: ignore[untyped-decorator]
def score_record(
    post: Postings, plan: Tables, how: KernelVariant, t: AdaptiveTables, record: Array, out: Array
) -> None:
    """Put the score of one record per query into `out`, where this shard holds it and it is a candidate."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for q in range(plan.query_ptr.size - 1):
        local = record[q] - post.first_record
        if 0 <= local < post.n_records:
            b = local // post.block_size
            k = local - b * post.block_size
            if score_range(b, k, k + 1, q, post, plan, how, t, scratch) > 0:
                out[q] = scratch.score[0]


@jit  # type: ignore[untyped-decorator]
def all_scores(post: Postings, plan: Tables, how: KernelVariant, t: AdaptiveTables, out: Array) -> None:
    """Put every integer score into `out` (queries, records); `LOWEST` for records that are not candidates."""
    scratch = make_adaptive_scratch(post.block_size, t.most_facts, t.n_wrong, t.shift, t.together)
    for b in range(post.ptr.shape[0]):
        start = post.first_record + b * post.block_size
        size = min(post.block_size, post.n_records - b * post.block_size)
        for q in range(plan.query_ptr.size - 1):
            out[q, start : start + size] = LOWEST
            for c in range(score_range(b, np.int64(0), size, q, post, plan, how, t, scratch)):
                out[q, start + scratch.local[c]] = scratch.score[c]


@jit_bare  # type: ignore[untyped-decorator]
def mean_chances(first: int, stop: int, post: Postings, item: Array, known_day: Array, gone: Array, t: AdaptiveTables,
                 right: Array, wrong: Array) -> None:  # fmt: skip
    """Put the mean chances of facts `first … stop-1` over the item's entries and all shifts into `right` and `wrong`.

    Entries of record `gone[f]` are left out.
    """
    for f in range(first, stop):
        n = 0.0
        for b in range(post.ptr.shape[0]):
            start = post.first_record + b * post.block_size
            for p in range(np.int64(post.ptr[b, item[f]]), np.int64(post.ptr[b, item[f] + 1])):
                if start + np.int64(post.local[p]) != gone[f]:
                    n += 1.0
                    for z in range(-t.shift, t.shift + 1):
                        one_right, one_wrong = entry_chances(p, f, z, post, known_day, t)
                        right[f] += one_right
                        wrong[f] += one_wrong
        right[f] /= max(n, 1.0) * (2 * t.shift + 1)
        wrong[f] /= max(n, 1.0) * (2 * t.shift + 1)
