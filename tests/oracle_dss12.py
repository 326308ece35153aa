"""Dense oracles of DSS12: PAPERS.md section 3 in plain Python. Nothing here imports standout."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from oracle import Fact, Query, Table, knows_value


def value_range(table: Table) -> float:
    """p: range of the release's value scale."""
    scale = table.scale()
    return scale[-1] - scale[0] if table.values and scale else 0.0


def t(table: Table, fact: Fact, record: int) -> float:
    """Best over the record's events of T(a, b) = 1 - |a-b|/p; 0 for a null, 1 for a held item of unknown value."""
    events = table.events(record, fact.item)
    if not events:
        return 0.0
    if not knows_value(table, fact):
        return 1.0
    p = value_range(table)
    best = 0.0
    for e in events:
        if not math.isnan(e.value):
            gap = abs(e.value - fact.value)
            best = max(best, 1 - gap / p if p > 0 else float(gap == 0))
    return best


def w(support: int) -> float:
    return 1.0 / math.log2(max(support, 2))


def generic(table: Table, queries: Sequence[Query]) -> np.ndarray:
    """Score_g = min_i T."""
    return np.array(
        [[min(t(table, f, r) for f in facts) for r in table.records] for facts in queries]
    )


def weighted(table: Table, queries: Sequence[Query]) -> np.ndarray:
    """Score_w = Σ w_i T / m."""
    return np.array(
        [
            [
                sum(w(table.support(f.item)) * t(table, f, r) for f in facts) / len(facts)
                for r in table.records
            ]
            for facts in queries
        ]
    )


def mean_weight(table: Table, facts: Query) -> float:
    """M = mean_i w_i."""
    return sum(w(table.support(f.item)) for f in facts) / len(facts)
