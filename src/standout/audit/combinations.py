"""Compiled enumeration of everything a person may be known by: all combinations of k of her facts, and who matches each."""

from __future__ import annotations

from typing import Any

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

_ONE, _TWO, _FOUR, _LAST_8 = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
_BY_2, _BY_4 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_BY_8, _EVERY_8 = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
"""Masks and shifts that add up neighboring bits, pairs of bits, and so on."""


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
    facts: HeldFacts, rule: MatchRule, r: int, k: int, unit: Units, cursor: Array
) -> SharedFacts:
    """Facts of record `r` that each other record has, too; `cursor` is all 0 and is left so.

    Records that share too few of them for a combination of k are left out.
    """
    lo, n_facts = facts.ptr[r], facts.ptr[r + 1] - facts.ptr[r]
    total = 0
    for j in range(n_facts):
        if unit.first[j] < unit.first[j + 1]:
            total += facts.holder_ptr[facts.fact[lo + j] + 1] - facts.holder_ptr[facts.fact[lo + j]]
    met, ptr = np.empty(total, np.int32), np.empty(total + 1, np.int64)
    place, number = np.empty(total, np.int32), np.empty(total)
    last = np.empty(total if rule.kind == ORDER else 0)
    # a fact that is several units is enough for several of a combination
    fewest = 1 if rule.kind == ORDER or unit.place.size > n_facts else k
    n_met, n = 0, 0
    for fill in (False, True):
        for j in range(n_facts):
            if unit.first[j] == unit.first[j + 1]:
                continue
            i = facts.fact[lo + j]
            for p in range(facts.holder_ptr[i], facts.holder_ptr[i + 1]):
                c, x = facts.holder[p], facts.holder_number[p]
                if c == r or (rule.kind == NEAR and not near(facts.number[lo + j], x, rule.within)):
                    continue
                at = cursor[c]
                if not fill:
                    if at == 0:
                        met[n_met] = c
                        n_met += 1
                    cursor[c] = at + 1
                elif at >= 0:
                    place[at], number[at] = j, x
                    if rule.kind == ORDER:
                        last[at] = facts.holder_last[p]
                    cursor[c] = at + 1
        if not fill:
            # from how many facts a record shares to where they are written
            total = 0
            for s in range(n_met):
                shared = cursor[met[s]]
                cursor[met[s]] = total if shared >= fewest else -1
                if shared >= fewest:
                    ptr[n], total, n = total, total + shared, n + 1
    ptr[n] = total
    who, n = np.empty(n, np.int64), 0
    for s in range(n_met):
        if cursor[met[s]] >= 0:
            who[n], n = met[s], n + 1
        cursor[met[s]] = 0
    return SharedFacts(who, ptr[: n + 1], place, number, last)


@jit
def _n_bits(x: Any) -> Any:
    """Number of bits of a uint64 that are set."""
    x -= (x >> _ONE) & _BY_2
    x = (x & _BY_4) + ((x >> _TWO) & _BY_4)
    return (((x + (x >> _FOUR)) & _BY_8) * _EVERY_8) >> _LAST_8


@jit
def _count_pairs(facts: HeldFacts, rule: MatchRule, r: int, unit: Units, count: Array) -> None:
    """Number of other records that have both units, pair by pair: the bits that two sets of records have in common."""
    n_units, n_words = unit.place.size, (facts.ptr.size + 62) // 64
    has = np.zeros((n_units, n_words), np.uint64)
    for u in range(n_units):
        i, copy = unit.fact[u], unit.copy[u]
        for p in range(facts.holder_ptr[i], facts.holder_ptr[i + 1]):
            c, x = facts.holder[p], facts.holder_number[p]
            agrees = near(unit.number[u], x, rule.within) if rule.kind == NEAR else x > copy
            if agrees and c != r:
                has[u, c // 64] |= _ONE << np.uint64(c % 64)
    for v in range(1, n_units):
        for u in range(v):
            if unit.copy[u] == 0 and (unit.copy[v] == 0 or (unit.copy[v] == 1 and u == v - 1)):
                both = np.uint64(0)
                for w in range(n_words):
                    both += _n_bits(has[u, w] & has[v, w])
                count[v * (v - 1) // 2 + u] = both


@jit
def _prefers_bits(facts: HeldFacts, unit: Units) -> bool:
    """Whether sets of bits are read faster than the lists of holders."""
    n_units, n_words, n_holders = unit.place.size, facts.ptr.size // 64, 0
    for i in unit.fact:
        n_holders += facts.holder_ptr[i + 1] - facts.holder_ptr[i]
    return n_units * n_units * n_words < 16 * n_holders


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
def _add_ordered_pairs(shared: SharedFacts, s: int, count: Array) -> None:
    """Add 1 to every pair of shared facts whose first one occurs before the second one in the candidate's events."""
    lo, hi = shared.ptr[s], shared.ptr[s + 1]
    for a in range(lo, hi):
        for b in range(lo, hi):
            if shared.number[a] < shared.last[b]:
                count[shared.place[a], shared.place[b]] += 1


@jit
def _held_units(
    shared: SharedFacts, s: int, unit: Units, by_order: bool, own: Array, held: Array
) -> int:
    """Write the units that candidate `s` has to `held`, ascending, and her numbers to `own`; return how many."""
    lo, hi, n = shared.ptr[s], shared.ptr[s + 1], 0
    if by_order:
        has = np.zeros(unit.first.size, np.bool_)
        for e in range(lo, hi):
            has[shared.place[e]] = True
        for u in range(unit.place.size):
            if has[unit.place[u]]:
                held[n] = u
                n += 1
        return n
    for e in range(lo, hi):
        first = unit.first[shared.place[e]]
        m = min(unit.size[first], max(np.int64(shared.number[e]), 1))
        for u in range(first, first + m):
            held[n], own[u] = u, shared.number[e]
            n += 1
    return n


@jit
def _count_others(
    facts: HeldFacts,
    rule: MatchRule,
    r: int,
    k: int,
    ways: Array,
    unit: Units,
    cursor: Array,
    count: Array,
) -> None:
    """Add 1 to the combinations that each other record matches."""
    if k == 2 and rule.kind <= NEAR and _prefers_bits(facts, unit):
        _count_pairs(facts, rule, r, unit, count)
        return
    shared = _share_facts(facts, rule, r, k, unit, cursor)
    n_units, ordered = unit.place.size, rule.kind == ORDER
    held, chosen, at = np.empty(n_units, np.int64), np.empty(k, np.int64), np.empty(k, np.int64)
    own, edge = np.empty(n_units), (0.0, 0)
    if k == 2 and ordered:
        n_facts = facts.ptr[r + 1] - facts.ptr[r]
        of_facts = np.zeros((n_facts, n_facts), np.int32)
        for s in range(shared.who.size):
            _add_ordered_pairs(shared, s, of_facts)
        for v in range(n_units):
            for u in range(v):
                count[v * (v - 1) // 2 + u] = of_facts[unit.place[u], unit.place[v]]
        return
    for s in range(shared.who.size):
        n_held = _held_units(shared, s, unit, ordered, own, held)
        if n_held < k:
            continue
        if k == 2 and rule.kind <= NEAR:
            _add_pairs(held, n_held, unit.copy, count)
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
    cursor = np.zeros(facts.ptr.size - 1, np.int32)
    for q in range(records.size):
        r = records[q]
        unit = _units_of(facts, rule, r)
        n = unit.place.size
        k = min(rule.knows, n)
        count = np.zeros(ways[n, k], np.int32)
        _count_others(facts, rule, r, k, ways, unit, cursor, count)
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
