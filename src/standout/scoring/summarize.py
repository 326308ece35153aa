"""Summarize the scores of one block of records for a query's partials: top k, ties, sums."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.jit import njit
from standout.scoring.mass import exponential, mass_filtered, mass_over, rescale_mass
from standout.scoring.partials import LOWEST, NO_RECORD, Partials
from standout.scoring.plan import Tables, Tie
from standout.scoring.postings import KernelVariant, Postings, jit, jit_bare, jit_inline
from standout.scoring.rules import CandidateRule, key_of, passes, rule_of

_INDEX, _SHORT = int(Tie.INDEX), int(Tie.SHORT)
_HIGHEST = 2**31 - 1
STRETCH = 256
"""Records checked together by their maximum before single records are compared with the top k."""

# sums may be reordered and fused: squares may differ by rounding, within 1e-9
jit_wide = njit(
    nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "nsz", "contract"}
)


@jit_wide
def _summarize_range(acc: Array, lo: int, hi: int) -> tuple[int, int, float]:
    """Maximum, sum and sum of squares of positions `lo … hi-1` of the block."""
    top = np.int32(LOWEST)
    # 65,536 scores below 2^31 sum to less than 2^53: the float sum is exact
    total, squares = 0.0, 0.0
    for k in range(np.uint64(lo), np.uint64(hi)):
        top = max(top, acc[k])
        s = np.float64(acc[k])
        total += s
        squares += s * s
    return np.int64(top), np.int64(total), squares


@jit_wide
def _count(acc: Array, mark: int) -> int:
    """Records of the block that score at least `mark`."""
    if mark > _HIGHEST:
        return np.int64(0)
    # a 32-bit counter vectorizes together with 32-bit scores
    n, at = np.int32(0), np.int32(max(mark, LOWEST))
    for k in range(np.uint64(acc.size)):
        n += np.int32(acc[k] >= at)
    return np.int64(n)


@jit
def _summarize_filtered(
    acc: Array, start: int, watch: int, cut: int, rule: CandidateRule, lengths: Array
) -> tuple[int, int, float, int, int, int]:
    """As `_summarize_range`, for queries that exclude some records; also counts."""
    top, total, squares = np.int64(LOWEST), np.int64(0), 0.0
    n, n_watch, n_cut = np.int64(0), np.int64(0), np.int64(0)
    for k in range(acc.size):
        if passes(start + k, rule, lengths):
            s = np.int64(acc[k])
            top = max(top, s)
            total += s
            squares += np.float64(s) * np.float64(s)
            n_watch += s >= watch
            n_cut += s >= cut
            n += 1
    return top, total, squares, n_watch, n_cut, n


@jit_wide
def highest(acc: Array, lo: int, hi: int) -> int:
    """Maximum of positions `lo … hi-1` of the block."""
    top = acc[np.uint64(lo)]
    for k in range(np.uint64(lo), np.uint64(hi)):
        top = max(top, acc[k])
    return np.int64(top)


@jit
def update_top(
    acc: Array,
    start: int,
    q: int,
    first: int,
    rule: CandidateRule,
    tie: int,
    salt: int,
    lengths: Array,
    out: Partials,
) -> None:
    """Insert the records of the block into the query's top k where they belong."""
    last = out.top.shape[1] - 1
    least, least_key = out.top_score[q, last], out.top_key[q, last]
    unfilled = out.top[q, last] == NO_RECORD
    for lo in range(0, acc.size, STRETCH):
        hi = min(lo + STRETCH, acc.size)
        # records come in ascending order: without a key, a record with the score of the last one
        # kept ranks behind it
        high = highest(acc, lo, hi)
        if high < least or (high == least and tie == _INDEX and not unfilled):
            continue
        for k in range(lo, hi):
            s = np.int64(acc[k])
            if s < least:
                continue
            key = key_of(start + k, first, tie, salt, lengths)
            if (unfilled or s > least or key < least_key) and passes(start + k, rule, lengths):
                insert(s, key, first + start + k, q, out)
                least, least_key = out.top_score[q, last], out.top_key[q, last]
                unfilled = out.top[q, last] == NO_RECORD


@jit
def insert(s: int, key: int, r: int, q: int, out: Partials) -> None:
    """Put a record of score `s` among the query's top k, if it belongs there."""
    size = out.top.shape[1]
    at = size
    while at > 0 and _before(
        s, key, r, out.top_score[q, at - 1], out.top_key[q, at - 1], out.top[q, at - 1]
    ):
        at -= 1
        if at + 1 < size:
            out.top_score[q, at + 1] = out.top_score[q, at]
            out.top_key[q, at + 1] = out.top_key[q, at]
            out.top[q, at + 1] = out.top[q, at]
    if at < size:
        out.top_score[q, at], out.top_key[q, at], out.top[q, at] = s, key, r


@jit_wide
def _count_equal(acc: Array, score: int) -> int:
    """Records of the block that score exactly `score`."""
    n, at = np.int32(0), np.int32(score)
    for k in range(np.uint64(acc.size)):
        n += np.int32(acc[k] == at)
    return np.int64(n)


@jit
def count_ties(
    acc: Array,
    start: int,
    q: int,
    rule: CandidateRule,
    tie: int,
    lengths: Array,
    was: tuple[int, int, int],
    out: Partials,
) -> None:
    """Count the block's ties with the best, after `update_top`; `was` is the best (score, key, record) before it."""
    score, key = out.top_score[q, 0], out.top_key[q, 0]
    if was[2] == NO_RECORD or score != was[0] or (tie == _SHORT and key != was[1]):
        out.n_top[q] = 0
    if not rule.filtered and tie != _SHORT:
        hole = rule.exclude - start
        out.n_top[q] += _count_equal(acc, score) - (
            1 if 0 <= hole < acc.size and acc[hole] == score else 0
        )
        return
    n = np.int64(0)
    for k in range(acc.size):
        if acc[k] == score and (tie != _SHORT or np.uint64(lengths[np.uint64(start + k)]) == key):
            n += passes(start + k, rule, lengths)
    out.n_top[q] += n


@jit
def add_candidate(s: int, key: int, r: int, q: int, tie: int, out: Partials) -> None:
    """Add one record to the top k and the tie count, as `update_top` and `count_ties` do for a block."""
    best, best_key = out.top_score[q, 0], out.top_key[q, 0]
    if out.top[q, 0] == NO_RECORD or s > best or (s == best and tie == _SHORT and key < best_key):
        out.n_top[q] = 1
    elif s == best and (tie != _SHORT or key == best_key):
        out.n_top[q] += 1
    insert(s, key, r, q, out)


@jit_bare
def summarize_listed(
    n: int,
    local: Array,
    score: Array,
    start: int,
    q: int,
    watch: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    out: Partials,
) -> None:
    """Add `n` candidates of a block, listed with their scores in ascending order, to the partials of query `q`."""
    out.n[q] += n
    for c in range(n):
        s = score[c]
        out.total[q] += s
        out.squares[q] += np.float64(s) * np.float64(s)
        out.n_watch[q] += s >= watch
        out.n_cut[q] += s >= plan.query.cut[q]
        was = out.top_score[q, 0]
        if s >= out.top_score[q, out.top.shape[1] - 1]:
            r = start + local[c]
            key = key_of(r, post.first_record, how.tie, plan.query.salt[q], post.lengths)
            add_candidate(s, key, post.first_record + r, q, how.tie, out)
        if out.beta.size > 0:
            rescale_mass(q, was, out)
            out.mass[q] += exponential(out.beta[q] * np.float64(s - out.top_score[q, 0]))


@jit
def _before(
    score: int, key: int, record: int, other_score: int, other_key: int, other: int
) -> bool:
    """Total order: score descending, tie key ascending, record ascending; empty places (-1) last."""
    if other == NO_RECORD:
        return True
    if score != other_score:
        return bool(score > other_score)
    if key != other_key:
        return bool(key < other_key)
    return bool(record < other)


@jit_inline
def summarize_block(
    acc: Array,
    start: int,
    q: int,
    watch: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    out: Partials,
) -> None:
    """Add the scores of a block, whose first record is `start` of the shard, to the partials of query `q`."""
    size, cut, first = acc.size, plan.query.cut[q], post.first_record
    rule = rule_of(q, first, plan, how)
    hole = rule.exclude - start
    if how.filtered:
        top, total, squares, n_watch, n_cut, n = _summarize_filtered(
            acc, start, watch, cut, rule, post.lengths
        )
    elif 0 <= hole < size:
        top, total, squares = _summarize_range(acc, np.int64(0), hole)
        top2, total2, squares2 = _summarize_range(acc, hole + 1, size)
        top, total, squares, n = max(top, top2), total + total2, squares + squares2, size - 1
        n_watch = _count(acc, watch) - (1 if acc[hole] >= watch else 0)
        n_cut = _count(acc, cut) - (1 if acc[hole] >= cut else 0)
    else:
        top, total, squares = _summarize_range(acc, np.int64(0), size)
        n_watch, n_cut, n = _count(acc, watch), _count(acc, cut), size
    out.n[q] += n
    out.total[q] += total
    out.squares[q] += squares
    out.n_watch[q] += n_watch
    out.n_cut[q] += n_cut
    if n > 0:
        last, was = out.top.shape[1] - 1, (out.top_score[q, 0], out.top_key[q, 0], out.top[q, 0])
        least = out.top_score[q, last]
        if top > least or out.top[q, last] == NO_RECORD or (top == least and how.tie != 0):
            update_top(acc, start, q, first, rule, how.tie, plan.query.salt[q], post.lengths, out)
        if top == out.top_score[q, 0]:
            count_ties(acc, start, q, rule, how.tie, post.lengths, was, out)
        if out.beta.size > 0:
            rescale_mass(q, was[0], out)
            beta, high = out.beta[q], out.top_score[q, 0]
            if how.filtered or 0 <= hole < size:
                out.mass[q] += mass_filtered(acc, start, high, beta, rule, post.lengths)
            else:
                out.mass[q] += mass_over(acc, high, beta)


@jit_inline
def zeros_cannot_win(q: int, tie: int, out: Partials) -> bool:
    """Whether no record of a later block with a score of 0 belongs to the top k of query `q` or ties with its best."""
    last = out.top.shape[1] - 1
    least = out.top_score[q, last]
    return out.top[q, last] != NO_RECORD and (
        least > 0 or (least == 0 and tie == _INDEX and out.top_score[q, 0] > 0)
    )


@jit
def _sum_touched(
    acc: Array, lo: int, hi: int, local: Array, least: int, counts: bool, watch: int, cut: int
) -> tuple[int, int, int, int, int, int, int, int]:
    """Sum and clear the records of a run, up to the first with a score of at least `least` (above 0).

    Returns the position after it, or `hi`; its score, or 0; the sum; the low and high halves of the
    squares, as integers, because float additions are serial; and, with `counts`, the number of
    records with a score other than 0, at least `watch` and at least `cut`.
    """
    total, low, high = np.int64(0), np.int64(0), np.int64(0)
    met, n_watch, n_cut = np.int64(0), np.int64(0), np.int64(0)
    p, top = lo, np.int64(0)
    while p < hi:
        k = np.uint64(local[p])
        # a record seen before is 0 by now and adds nothing
        s = np.int64(acc[k])
        acc[k] = 0
        total += s
        square = s * s
        low += square & 0xFFFFFFFF
        high += square >> 32
        if counts:
            met += s != 0
            n_watch += (s != 0) & (s >= watch)
            n_cut += (s != 0) & (s >= cut)
        p += np.uint64(1)
        if s >= least:
            top = s
            break
    return p, top, total, low, high, met, n_watch, n_cut


@jit
def _mass_run(
    acc: Array, lo: int, hi: int, local: Array, least: int, high: int, beta: float
) -> tuple[float, int]:
    """Mass of the records of a run that `_sum_touched` will read at once, and the number of them with a score other than 0."""
    mass, met, p, last = 0.0, np.int64(0), lo, np.int64(-1)
    while p < hi:
        k = np.uint64(local[p])
        s = np.int64(acc[k])
        if s >= least:
            break
        # several events of one item come one after the other
        if s != 0 and np.int64(k) != last:
            mass += exponential(beta * np.float64(s - high))
            met += 1
        last = np.int64(k)
        p += np.uint64(1)
    return mass, met


@jit_bare
def summarize_touched(
    acc: Array,
    start: int,
    b: int,
    q: int,
    watch: int,
    post: Postings,
    plan: Tables,
    how: KernelVariant,
    out: Partials,
) -> None:
    """As `summarize_block`, if few records have postings: read the runs again instead of the block, and clear `acc`.

    Requires: no length filter, final sums, and `zeros_cannot_win`. Not inlined: inlining made the
    summing loops slower.
    """
    cut, hole = plan.query.cut[q], plan.query.exclude[q] - post.first_record - start
    counts = watch <= _HIGHEST or cut <= _HIGHEST
    n = acc.size
    if 0 <= hole < acc.size:
        acc[hole] = 0
        n -= 1
    low, high = np.int64(0), np.int64(0)
    met, n_watch, n_cut, with_mass = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for f in range(plan.query.ptr[q], plan.query.ptr[q + 1]):
        i = plan.fact.item[f]
        p, stop = np.uint64(post.ptr[b, i]), np.uint64(post.ptr[b, i + 1])
        while p < stop:
            least = max(out.top_score[q, out.top.shape[1] - 1], 1)
            was = out.top_score[q, 0]
            if out.beta.size > 0:
                more_mass, m = _mass_run(acc, p, stop, post.local, least, was, out.beta[q])
                out.mass[q] += more_mass
                with_mass += m
            p, top, more, lower, higher, m, w, c = _sum_touched(
                acc, p, stop, post.local, least, counts, watch, cut
            )
            out.total[q] += more
            low, high = low + lower, high + higher
            met, n_watch, n_cut = met + m, n_watch + w, n_cut + c
            if top >= least:
                r = start + np.int64(post.local[p - np.uint64(1)])
                key = key_of(r, post.first_record, how.tie, plan.query.salt[q], post.lengths)
                add_candidate(top, key, post.first_record + r, q, how.tie, out)
                if out.beta.size > 0:
                    rescale_mass(q, was, out)
                    out.mass[q] += exponential(out.beta[q] * np.float64(top - out.top_score[q, 0]))
                    with_mass += 1
    if out.beta.size > 0:
        out.mass[q] += (n - with_mass) * exponential(out.beta[q] * np.float64(-out.top_score[q, 0]))
    out.n[q] += n
    out.squares[q] += np.float64(high) * 4294967296.0 + np.float64(low)
    if counts:
        out.n_watch[q] += n_watch + (n - met if watch <= 0 else 0)
        out.n_cut[q] += n_cut + (n - met if cut <= 0 else 0)
