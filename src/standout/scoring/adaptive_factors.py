"""Factors of one record under a defense's mechanism: the inner functions of the kernel for `Combine.ADAPTIVE` (`adaptive.py`).

The formulas are in `formulas/defended.py`. `z` is a shift of the dates that the defense may have drawn,
`miss` the probability of a fact about an item that the record lacks, and a mask `s` is a set of facts.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.formulas.defended import (
    bucket_chance,
    held_factor,
    lost_factor,
    merged_group_factor,
    overlap,
    wrong_day_chance,
)
from standout.scoring.adaptive_scratch import AdaptiveScratch
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.postings import Postings, jit, jit_bare, jit_inline


@jit
def _period_length(at: int, per_day: int, bucket: Array) -> int:
    """Ticks of the period that starts `at` ticks after the first day of `bucket`, 0 if none does."""
    if bucket.size == 0:
        return 1
    day = at // per_day
    return int(bucket[day]) if day * per_day == at else 0


@jit_inline
def entry_chances(
    p: int, f: int, z: int, post: Postings, known_tick: Array, t: AdaptiveTables
) -> tuple[float, float]:
    """Probabilities of the known value and day behind posting `p`, if dates were shifted by `z` days: right fact, wrong value."""
    right, wrong = 1.0, 1.0
    if t.use_value:
        code = min(np.int64(post.code[p]), t.right_value.shape[1] - 1)
        right, wrong = t.right_value[f, code], t.wrong_value[f, code]
    if t.use_time and t.has_tick[f]:
        tick = np.int64(post.tick[p])
        if tick == post.no_tick:
            right, wrong = right * t.tick_back[f], wrong * t.tick_back_wrong[f]
        else:
            first = tick - z * t.per_day
            at = (first if t.period_first else tick) + t.shift * t.per_day + t.day_tick
            n = _period_length(at, t.per_day, t.bucket)
            if n == 0:
                right, wrong = 0.0, 0.0
            else:
                right *= bucket_chance(known_tick[f], t.within, first, n)
                if t.wrong_values:
                    wrong *= _wrong_tick(
                        known_tick[f], first, n, t.within, t.span_first, t.span, t.shift
                    )
    return right, wrong


@jit
def _wrong_tick(
    known: int, first: int, n: int, within: int, span_first: int, span: int, shift: int
) -> float:
    """Probability of a wrong day. For shifted dates the ends of the span are ignored, so that it is constant in the shift."""
    if shift == 0:
        return float(wrong_day_chance(known - span_first, within, first - span_first, n, span))
    if known < span_first or known > span_first + span:
        return 0.0
    return float((n - overlap(known, within, first, n)) / (n * max(span - 2 * within, 1)))


@jit_inline
def fact_factors(
    f: int,
    p: int,
    stop: int,
    z: int,
    rho: float,
    miss: float,
    rest: float,
    rest_kept: float,
    post: Postings,
    known_tick: Array,
    t: AdaptiveTables,
) -> tuple[float, float]:
    """Factors of fact `f` as a right one and as a wrong one; the record's entries of its item are postings `p … stop-1`."""
    if p < stop:
        right, wrong = 0.0, 0.0
        for k in range(p, stop):
            one_right, one_wrong = entry_chances(k, f, z, post, known_tick, t)
            right, wrong = right + one_right, wrong + one_wrong
        if not t.grouped:
            right, wrong = right / (stop - p), wrong / (stop - p)
        by_chance = miss / rest
        right = held_factor(
            rho, t.own[f] * right + t.mix_right[f], t.q_g[f], by_chance * t.by_chance_right[f]
        )
        if t.wrong_items:
            wrong = t.strange[f] * t.outside[f] / rest_kept
        else:
            wrong = held_factor(
                rho, t.own[f] * wrong + t.mix_wrong[f], t.q_g[f], by_chance * t.by_chance_wrong[f]
            )
        if t.grouped:
            # the record may hold other items of the group
            right += miss * t.lost_right[f]
            wrong = t.outside[f] if t.wrong_items else wrong + miss * t.lost_wrong[f]
    else:
        right = lost_factor(miss, t.lost_right[f], rest)
        wrong = (
            t.outside[f] / rest_kept if t.wrong_items else lost_factor(miss, t.lost_wrong[f], rest)
        )
    c = t.chance[f]
    return c * right + (1.0 - c) + t.floor, c * wrong + (1.0 - c) + t.floor


@jit_bare
def group_factor(
    lo: int,
    j: int,
    m: int,
    z: int,
    rho: float,
    miss: float,
    post: Postings,
    known_tick: Array,
    t: AdaptiveTables,
    scratch: AdaptiveScratch,
) -> float:
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
                        right, wrong = entry_chances(p, f, z, post, known_tick, t)
                        if not t.wrong_items:
                            right = (1.0 - t.share_wrong) * right + t.share_wrong * wrong
                        else:
                            right *= 1.0 - t.share_wrong
                        chosen[s] += chosen[s ^ (1 << k)] * held_factor(rho, right, t.q_g[f], 0.0)
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
                    whole *= (
                        (1.0 - t.share_wrong) * miss * t.lost_right[f]
                        + t.share_wrong * wrong
                        + t.floor
                    )
                k += 1
        out += whole
    return out


@jit_bare
def merged_factor(
    lo: int,
    j: int,
    m: int,
    z: int,
    rho: float,
    miss: float,
    post: Postings,
    known_tick: Array,
    t: AdaptiveTables,
    scratch: AdaptiveScratch,
) -> float:
    """As `group_factor`, where the record's entries of a group were merged into one of them.

    One of the facts may be about the entry that was kept, the latest. Of the others, the days tell
    how far the entries of a record lie apart.
    """
    n, ratio, other = np.int64(0), scratch.chosen, scratch.other
    for i in range(j, m):
        if t.same[lo + i] == j:
            f = lo + i
            right, wrong, near = 0.0, 0.0, 1.0
            for p in range(scratch.first[j], scratch.last[j]):
                right, wrong = entry_chances(p, f, z, post, known_tick, t)
                if t.use_time and t.has_tick[f] and np.int64(post.tick[p]) != post.no_tick:
                    near = (
                        near_chance(known_tick[f], np.int64(post.tick[p]) - z * t.per_day, t)
                        / t.tick_back[f]
                    )
            if not t.wrong_items:
                right = (1.0 - t.share_wrong) * right + t.share_wrong * wrong
            ratio[n] = right * t.q[f] * t.kept_pairs / t.q_g[f]
            other[n] = t.outside[f] * near
            if not t.wrong_items:
                other[n] = (1.0 - t.share_wrong) * other[n] + t.share_wrong * t.lost_wrong[f]
            n += 1
    out, mu = 0.0, t.q[lo + j] / rho
    for s in range(1 << n):
        some, k, shown, others, whole = np.int64(0), np.int64(0), 0.0, 1.0, 1.0
        for i in range(j, m):
            if t.same[lo + i] == j:
                f = lo + i
                if s >> k & 1:
                    some += 1
                    shown = shown * other[k] + others * ratio[k]
                    others *= other[k]
                    whole *= 1.0 - t.share_wrong if t.wrong_items else 1.0
                elif t.wrong_items:
                    whole *= (
                        (1.0 - t.share_wrong) * miss * t.lost_right[f]
                        + t.share_wrong * t.outside[f]
                        + t.floor
                    )
                else:
                    whole *= miss + t.floor
                k += 1
        out += whole * merged_group_factor(shown, others, some, mu)
    return out


@jit_inline
def near_chance(known: int, tick: int, t: AdaptiveTables) -> float:
    """Probability of the known time of an entry of the same record that is not later than the shown one, at `tick`."""
    if known > tick + t.within + t.slack:
        return 0.0
    return float(2.0 * t.near[min(abs(known - tick) // t.per_day, t.near.size - 1)])


@jit_inline
def log_product(
    q: int,
    lo: int,
    m: int,
    z: int,
    miss: float,
    post: Postings,
    known_tick: Array,
    t: AdaptiveTables,
    scratch: AdaptiveScratch,
) -> float:
    """Log of the product of all factors of query `q`, or of its coefficient for the number of wrong facts; -inf if it is 0."""
    sums, w, scaled = scratch.sums, t.n_wrong, 0.0
    for k in range(w + 1):
        sums[k] = t.start[q, k]
    for j in range(m):
        f = lo + j
        c = t.rare[f]
        if t.grouped and (t.merged or t.n_same[f] > 1) and scratch.first[j] < scratch.last[j]:
            if t.same[f] == j and t.merged:
                sums[0] *= merged_factor(
                    lo, j, m, z, scratch.rho[c], miss, post, known_tick, t, scratch
                )
            elif t.same[f] == j:
                sums[0] *= group_factor(
                    lo, j, m, z, scratch.rho[c], miss, post, known_tick, t, scratch
                )
        else:
            right, wrong = fact_factors(
                f,
                scratch.first[j],
                scratch.last[j],
                z,
                scratch.rho[c],
                miss,
                scratch.rest[c],
                scratch.rest_kept[c],
                post,
                known_tick,
                t,
            )
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


@jit
def add_logs(a: float, b: float) -> float:
    """log(e^a + e^b).

    >>> bool(add_logs(0.0, 0.0) == np.log(2.0)), add_logs(-np.inf, 1.0)
    (True, 1.0)
    """
    if a < b:
        a, b = b, a
    return a if b == -np.inf else a + np.log1p(np.exp(b - a))


@jit_inline
def mark_changes(
    lo: int, m: int, post: Postings, known_tick: Array, t: AdaptiveTables, scratch: AdaptiveScratch
) -> bool:
    """Mark the shifts at which the chance of some fact changes; False if none depends on the shift."""
    some, s = False, t.shift
    scratch.change[:] = False
    for j in range(m):
        f = lo + j
        if not t.has_tick[f]:
            continue
        for p in range(scratch.first[j], scratch.last[j]):
            tick = np.int64(post.tick[p])
            if tick == post.no_tick:
                continue
            some = True
            n = _period_length(tick + s * t.per_day + t.day_tick, t.per_day, t.bucket)
            if t.period_first:
                z0, z1, every = -s, s, True
            else:
                # first shift that makes the day possible, and the first one beyond
                gap = tick - known_tick[f]
                z0, z1, every = (
                    -((t.within - gap) // t.per_day),
                    (gap + t.within + n - 1) // t.per_day + 1,
                    bool(n > 1),
                )
            if every:
                for z in range(max(z0, -s), min(z1, s) + 1):
                    scratch.change[z + s] = True
            else:
                if -s <= z0 <= s:
                    scratch.change[z0 + s] = True
                if -s <= z1 <= s:
                    scratch.change[z1 + s] = True
    return some


@jit_bare
def mean_chances(
    first: int,
    stop: int,
    post: Postings,
    item: Array,
    known_tick: Array,
    gone: Array,
    t: AdaptiveTables,
    right: Array,
    wrong: Array,
) -> None:
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
                        one_right, one_wrong = entry_chances(p, f, z, post, known_tick, t)
                        right[f] += one_right
                        wrong[f] += one_wrong
        right[f] /= max(n, 1.0) * (2 * t.shift + 1)
        wrong[f] /= max(n, 1.0) * (2 * t.shift + 1)
