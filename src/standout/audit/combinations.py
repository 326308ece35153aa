"""Compiled enumeration of everything a person may be known by: all combinations of k of her facts, and who matches each."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.audit.fact_conditions import (
    HOLDS,
    NEAR,
    ORDER,
    TOP,
    HeldFacts,
    MatchRule,
    SharedFacts,
    Units,
    boundary,
    can_be_top,
    matches,
    near,
)
from standout.jit import njit

jit = njit(nogil=True, cache=True)


@jit
def _next(chosen: Array, k: int, n: int) -> bool:
    """Advance `chosen` to the next combination of k of n; False after the last."""
    i = k - 1
    while i >= 0 and chosen[i] == n - k + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, k):
        chosen[j] = chosen[j - 1] + 1
    return True


@jit
def _rank(place: Array, k: int, ways: Array) -> int:
    """Number of a combination of ascending places: Σ C(place_i, i)."""
    at = 0
    for i in range(k):
        at += ways[place[i], i + 1]
    return at


@jit
def _takes_first_copies(copy: Array, place: Array, k: int) -> bool:
    """Whether the combination takes the first of several equal facts: the others stand for the same knowledge."""
    for i in range(k):
        if copy[place[i]] > 0 and (i == 0 or place[i - 1] != place[i] - 1):
            return False
    return True


@jit
def _n_equal(copy: Array, size: Array, place: Array, k: int, ways: Array) -> float:
    """Number of combinations that stand for the same knowledge as this one of first copies."""
    out = 1.0
    for i in range(k):
        last = i == k - 1 or copy[place[i + 1]] == 0
        if last:
            out *= ways[size[place[i]], copy[place[i]] + 1]
    return out


@jit
def _units_of(facts: HeldFacts, rule: MatchRule, r: int) -> Units:
    """Units of a record: its events in order, the copies of its facts, or its facts."""
    lo, n_facts = facts.ptr[r], facts.ptr[r + 1] - facts.ptr[r]
    least = 0.0
    if rule.kind == TOP:
        least = boundary(facts, r, min(rule.knows, n_facts))[0]
    first = np.zeros(n_facts + 1, np.int64)
    for j in range(n_facts):
        n_copies = np.int64(facts.number[lo + j]) if rule.kind == HOLDS else 1
        first[j + 1] = first[j] + (n_copies if facts.number[lo + j] >= least else 0)
    ordered = rule.kind == ORDER
    n = facts.event_ptr[r + 1] - facts.event_ptr[r] if ordered else first[n_facts]
    place, copy, size = np.empty(n, np.int64), np.zeros(n, np.int64), np.ones(n, np.int64)
    if ordered:
        for u in range(n):
            event = facts.event[facts.event_ptr[r] + u]
            place[u] = np.searchsorted(facts.fact[lo : lo + n_facts], event)
    else:
        for j in range(n_facts):
            for u in range(first[j], first[j + 1]):
                place[u], copy[u], size[u] = j, u - first[j], first[j + 1] - first[j]
    return Units(facts.fact[lo + place], facts.number[lo + place], place, copy, size, first)


@jit
def _share_facts(
    facts: HeldFacts, rule: MatchRule, r: int, unit: Units, slot: Array
) -> SharedFacts:
    """Facts of record `r` that each other record has, too; `slot` is all -1 and is left so."""
    lo, n_facts = facts.ptr[r], facts.ptr[r + 1] - facts.ptr[r]
    total = 0
    for j in range(n_facts):
        if unit.first[j] < unit.first[j + 1]:
            total += facts.holder_ptr[facts.fact[lo + j] + 1] - facts.holder_ptr[facts.fact[lo + j]]
    who, last, size = (
        np.empty(total, np.int64),
        np.empty(total, np.int64),
        np.empty(total, np.int64),
    )
    before, place = np.empty(total, np.int64), np.empty(total, np.int64)
    number = np.empty(total)
    n_candidates, n = 0, 0
    for j in range(n_facts):
        i = facts.fact[lo + j]
        if unit.first[j] == unit.first[j + 1]:
            continue
        for p in range(facts.holder_ptr[i], facts.holder_ptr[i + 1]):
            c, x = facts.holder[p], facts.holder_number[p]
            if c == r or (rule.kind == NEAR and not near(facts.number[lo + j], x, rule.within)):
                continue
            s = slot[c]
            if s < 0:
                s = n_candidates
                slot[c], who[s], last[s], size[s] = s, c, -1, 0
                n_candidates += 1
            place[n], number[n], before[n] = j, x, last[s]
            last[s], size[s] = n, size[s] + 1
            n += 1
    for s in range(n_candidates):
        slot[who[s]] = -1
    return SharedFacts(who[:n_candidates], last, size, before, place, number)


@jit
def _add_pairs(held: Array, n: int, copy: Array, count: Array) -> None:
    """Add 1 to every pair of the held units: the common case without a condition on the whole combination."""
    for j in range(1, n):
        b = held[j]
        row = b * (b - 1) // 2
        if copy[b] == 1:
            count[row + b - 1] += 1
        elif copy[b] == 0:
            for i in range(j):
                if copy[held[i]] == 0:
                    count[row + held[i]] += 1


@jit
def _add_ordered_pairs(
    facts: HeldFacts,
    r: int,
    candidate: int,
    held: Array,
    n: int,
    unit: Units,
    ends: Array,
    count: Array,
) -> None:
    """Add 1 to every pair of the held events whose first fact occurs before the second one in the candidate's events.

    `ends` is room for the first and the last event of each fact.
    """
    lo, hi = facts.ptr[r], facts.ptr[r + 1]
    ends[:, 0], ends[:, 1] = 2**62, -1
    for p in range(facts.event_ptr[candidate], facts.event_ptr[candidate + 1]):
        j = np.searchsorted(facts.fact[lo:hi], facts.event[p])
        if j < hi - lo and facts.fact[lo + j] == facts.event[p]:
            ends[j, 0], ends[j, 1] = min(ends[j, 0], p), p
    for j in range(1, n):
        b = held[j]
        for i in range(j):
            if ends[unit.place[held[i]], 0] < ends[unit.place[b], 1]:
                count[b * (b - 1) // 2 + held[i]] += 1


@jit
def _held_units(
    shared: SharedFacts, s: int, unit: Units, by_order: bool, own: Array, held: Array
) -> int:
    """Write the units that candidate `s` has to `held`, ascending, and her numbers to `own`; return how many."""
    e, n = shared.last[s], 0
    if by_order:
        has = np.zeros(unit.first.size, np.bool_)
        while e >= 0:
            has[shared.place[e]] = True
            e = shared.before[e]
        for u in range(unit.place.size):
            if has[unit.place[u]]:
                held[n] = u
                n += 1
        return n
    # the list is in descending order: fill from the end
    at = held.size
    while e >= 0:
        first = unit.first[shared.place[e]]
        m = min(unit.size[first], max(np.int64(shared.number[e]), 1))
        for u in range(first + m - 1, first - 1, -1):
            at -= 1
            held[at], own[u] = u, shared.number[e]
        e = shared.before[e]
    n = held.size - at
    for i in range(n):
        held[i] = held[at + i]
    return n


@jit
def _count_others(
    facts: HeldFacts,
    rule: MatchRule,
    r: int,
    k: int,
    ways: Array,
    unit: Units,
    slot: Array,
    count: Array,
) -> None:
    """Add 1 to the combinations that each other record matches."""
    shared = _share_facts(facts, rule, r, unit, slot)
    n_units, ordered = unit.place.size, rule.kind == ORDER
    held, chosen, at = np.empty(n_units, np.int64), np.empty(k, np.int64), np.empty(k, np.int64)
    own, edge = np.empty(n_units), (0.0, 0)
    ends = np.empty((facts.ptr[r + 1] - facts.ptr[r], 2), np.int64)
    for s in range(shared.who.size):
        # one shared fact can be several units only where units are copies or events
        if shared.size[s] < k and not (ordered or rule.kind == HOLDS):
            continue
        n_held = _held_units(shared, s, unit, ordered, own, held)
        if n_held < k:
            continue
        if k == 2 and rule.kind <= NEAR:
            _add_pairs(held, n_held, unit.copy, count)
            continue
        if k == 2 and ordered:
            _add_ordered_pairs(facts, r, shared.who[s], held, n_held, unit, ends, count)
            continue
        if rule.kind == TOP:
            edge = boundary(facts, shared.who[s], k)
        for i in range(k):
            chosen[i] = i
        more = True
        while more:
            for i in range(k):
                at[i] = held[chosen[i]]
            if _takes_first_copies(unit.copy, at, k) and matches(
                facts, rule, k, shared.who[s], unit, own, edge, at
            ):
                count[_rank(at, k, ways)] += 1
            more = _next(chosen, k, n_held)


@jit
def risk_of(facts: HeldFacts, rule: MatchRule, records: Array, ways: Array, out: Array) -> None:
    """For each record: largest and mean chance 1/(matching records), and share of combinations that nobody else matches.

    Parameters
    ----------
    facts, rule
        The data, and what is known of it.
    records
        Records whose combinations are enumerated.
    ways
        int64 (n + 1, k + 1): numbers of combinations.
    out
        float64 (records, 4): worst, expected, unique, number of combinations.
    """
    slot = np.full(facts.ptr.size - 1, -1, np.int64)
    for q in range(records.size):
        r = records[q]
        unit = _units_of(facts, rule, r)
        n = unit.place.size
        k = min(rule.knows, n)
        count = np.zeros(ways[n, k], np.int32)
        _count_others(facts, rule, r, k, ways, unit, slot, count)
        edge = boundary(facts, r, k) if rule.kind == TOP else (0.0, 0)
        at = np.arange(k)
        fewest, total, expected, unique = np.int64(2**31), 0.0, 0.0, 0.0
        more = True
        while more:
            possible = rule.kind != TOP or can_be_top(unit.number, at, k, edge[0], edge[1])
            if possible and _takes_first_copies(unit.copy, at, k):
                n_match = 1 + np.int64(count[_rank(at, k, ways)])
                weight = _n_equal(unit.copy, unit.size, at, k, ways)
                fewest = min(fewest, n_match)
                total += weight
                expected += weight / n_match
                unique += weight * (n_match == 1)
            more = _next(at, k, n)
        out[q, 0], out[q, 1] = 1.0 / fewest, expected / total
        out[q, 2], out[q, 3] = unique / total, total
