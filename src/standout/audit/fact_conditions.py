"""Who matches a combination of facts: compiled conditions on a candidate."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.jit import njit

jit = njit(nogil=True, cache=True)

HOLDS = 0
"""A candidate matches a combination if she has every fact of it, as often as it occurs there."""
NEAR = 1
"""… if her number of every fact lies within the tolerance."""
RATIO = 2
"""… if her numbers, divided by the largest of the combination, lie within the tolerance."""
ORDER = 3
"""… if the facts occur in her events in the same order."""
TOP = 4
"""… if the combination can be her facts with the largest numbers."""


class HeldFacts(NamedTuple):
    """Distinct facts of each record with a number each, and the same by fact."""

    ptr: Array
    """int64 (records + 1): start of each record's facts."""
    fact: Array
    number: Array
    holder_ptr: Array
    """int64 (distinct facts + 1): start of each fact's holders."""
    holder: Array
    holder_number: Array
    holder_last: Array
    """Place of a holder's last event of the fact; used by ORDER alone, whose numbers are places of first events."""
    event_ptr: Array
    """int64 (records + 1): start of each record's events in `event`; used by ORDER alone."""
    event: Array
    """Fact of each event of a record, in the order of time."""


class MatchRule(NamedTuple):
    """What is known, and who matches it."""

    kind: int
    knows: int
    within: float
    """Tolerance as a share of the candidate's number."""


class Units(NamedTuple):
    """What combinations of one record are made of. An item that is held three times gives three units, its copies."""

    fact: Array
    number: Array
    place: Array
    """Place among the record's distinct facts."""
    copy: Array
    """0, 1, … among the units of the same fact."""
    size: Array
    """Number of units of the same fact."""
    first: Array
    """int64 (distinct facts + 1): first unit of each fact; facts below the boundary of TOP have none."""


class SharedFacts(NamedTuple):
    """Facts that other records share with one record."""

    who: Array
    """Record of each candidate."""
    ptr: Array
    """Start of each candidate's facts, which are in ascending order."""
    place: Array
    """Place of the fact among the distinct facts of the one record."""
    number: Array
    last: Array
    """Place of the candidate's last event of the fact; used by ORDER alone."""


@jit
def near(known: float, own: float, within: float) -> bool:
    """Whether a known number lies within the tolerance of a candidate's own; equal numbers always do."""
    slack = 1e-12 * abs(own)
    return own - own * within - slack <= known <= own + own * within + slack


@jit
def _ratios_agree(known: Array, own: Array, chosen: Array, k: int, within: float) -> bool:
    """Whether the numbers at `chosen`, divided by the largest of them, agree."""
    most_known, most_own = 0.0, 0.0
    for i in range(k):
        most_known, most_own = max(most_known, known[chosen[i]]), max(most_own, own[chosen[i]])
    for i in range(k):
        if not near(known[chosen[i]] / most_known, own[chosen[i]] / most_own, within):
            return False
    return True


@jit
def _occurs_in_order(
    facts: HeldFacts, record: int, unit_fact: Array, chosen: Array, k: int
) -> bool:
    """Whether the chosen facts occur in the record's events in this order; others may lie between."""
    i = 0
    for p in range(facts.event_ptr[record], facts.event_ptr[record + 1]):
        if facts.event[p] == unit_fact[chosen[i]]:
            i += 1
            if i == k:
                return True
    return False


@jit
def boundary(facts: HeldFacts, record: int, k: int) -> tuple[float, int]:
    """The k-th largest number of a record, and how many of its numbers are larger."""
    own = np.sort(facts.number[facts.ptr[record] : facts.ptr[record + 1]])
    edge = own[own.size - k] if k <= own.size else 0.0
    return edge, own.size - int(np.searchsorted(own, edge, side="right"))


@jit
def can_be_top(own: Array, chosen: Array, k: int, edge: float, n_larger: int) -> bool:
    """Whether the chosen facts can be the k largest of a record with this boundary; ties are broken either way."""
    larger = 0
    for i in range(k):
        if own[chosen[i]] < edge:
            return False
        larger += own[chosen[i]] > edge
    return larger == n_larger


@jit
def matches(
    facts: HeldFacts,
    rule: MatchRule,
    k: int,
    record: int,
    unit: Units,
    own: Array,
    edge: tuple[float, int],
    place: Array,
) -> bool:
    """Whether a record that has every unit at `place`, with the numbers `own`, matches them together."""
    if rule.kind == RATIO:
        return bool(_ratios_agree(unit.number, own, place, k, rule.within))
    if rule.kind == ORDER:
        return bool(_occurs_in_order(facts, record, unit.fact, place, k))
    if rule.kind == TOP:
        return bool(can_be_top(own, place, k, edge[0], edge[1]))
    return True
