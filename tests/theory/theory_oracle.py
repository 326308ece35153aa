"""Dense oracles of the theory: definitions in plain Python over raw entries, written to be obviously right."""

from __future__ import annotations

import math
from collections.abc import Sequence

from oracle import Entry, Fact, Table


def events_agree(a: Entry, b: Entry, value_within: float | None, time_within: float | None) -> bool:
    """Every asked-for channel is within its tolerance; NaN compares false with everything."""
    if value_within is not None and not abs(a.value - b.value) <= value_within + 1e-9:
        return False
    return time_within is None or abs(a.day - b.day) <= time_within


def sim(
    table: Table, a: int, b: int, value_within: float | None, time_within: float | None
) -> float:
    """Items that agree, over items that either holds."""
    agree, union = 0, 0
    for i in table.items:
        mine, theirs = table.events(a, i), table.events(b, i)
        union += bool(mine or theirs)
        agree += any(events_agree(x, y, value_within, time_within) for x in mine for y in theirs)
    return agree / union


def nearest(table: Table, value_within: float | None, time_within: float | None) -> list[float]:
    """Largest Sim to any other record."""
    everybody = table.records
    return [
        max(sim(table, a, b, value_within, time_within) for b in everybody if b != a)
        for a in everybody
    ]


def chance(table: Table, item: int, value_within: float | None, time_within: float | None) -> float:
    """Chance that a random record agrees with a random event of the item that has the asked-for channels."""
    known = [e for e in table.entries if e.item == item]
    if value_within is not None:
        known = [e for e in known if not math.isnan(e.value)]
    if time_within is not None:
        known = [e for e in known if not math.isnan(e.day)]
    if not known:
        return math.nan
    agreeing = sum(
        any(events_agree(e, x, value_within, time_within) for x in table.events(r, item))
        for e in known
        for r in table.records
    )
    return agreeing / (len(known) * len(table.records))


def scale_range(table: Table) -> float:
    return table.scale()[-1] - table.scale()[0] if table.values else 0.0


def closeness(known: float, held: float, p: float, values: bool) -> float:
    """T; without a known value holding the item is enough, a held entry without a value is a null."""
    if not values or math.isnan(known):
        return 1.0
    if math.isnan(held):
        return 0.0
    return 1.0 - abs(known - held) / p if p > 0 else 1.0


def s_of_facts(table: Table, facts: Sequence[Fact], r: int) -> float:
    """S(aux, r)."""
    p = scale_range(table)
    total = 0.0
    for f in facts:
        total += max(
            (closeness(f.value, x.value, p, table.values) for x in table.events(r, f.item)),
            default=0.0,
        )
    return total / len(facts)


def s_of_records(table: Table, y: int, r: int) -> float:
    """S(y, r): the best over the events of each item of y."""
    p = scale_range(table)
    mine = [i for i in table.items if table.events(y, i)]
    total = 0.0
    for i in mine:
        total += max(
            (
                closeness(a.value, b.value, p, table.values)
                for a in table.events(y, i)
                for b in table.events(r, i)
            ),
            default=0.0,
        )
    return total / len(mine)


def weight(table: Table, item: int) -> float:
    return 1.0 / math.log2(max(table.support(item), 2))


def score_w(table: Table, facts: Sequence[Fact], r: int) -> float:
    p = scale_range(table)
    total = 0.0
    for f in facts:
        best = max(
            (closeness(f.value, x.value, p, table.values) for x in table.events(r, f.item)),
            default=0.0,
        )
        total += weight(table, f.item) * best
    return total / len(facts)


def k_of(table: Table, y: int, facts: Sequence[Fact], eta2: float) -> float:
    """min{ S(y, r) : S(aux, r) ≥ η2 }, 1 when nobody is that similar."""
    near = [
        s_of_records(table, y, r)
        for r in table.records
        if s_of_facts(table, facts, r) >= eta2 - 1e-7
    ]
    return min(near, default=1.0)
