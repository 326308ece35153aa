"""Dense oracles of F06: PAPERS.md section 2 in plain Python. Nothing here imports standout."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from oracle import Fact, Query, Table, knows_value

FLOOR = 0.05


def set_intersection(table: Table, queries: Sequence[Query]) -> np.ndarray:
    """1 for records that hold every mention, else 0."""
    return np.array(
        [
            [float(all(table.events(r, f.item) for f in facts)) for r in table.records]
            for facts in queries
        ]
    )


def reason(table: Table, facts: Query, target: int, k: int) -> str:
    """Why Set Intersection did not k-identify the target, in the words of Fig. 3."""
    candidates = [r for r in table.records if all(table.events(r, f.item) for f in facts)]
    if not candidates:
        return "no one possible"
    if target not in candidates:
        return "misdirected"
    return "identified" if len(candidates) <= k else "not narrow"


def weight(table: Table, item: int) -> float:
    """ln(|U|/|supp(m)|); an item that nobody holds is in no vector."""
    return math.log(len(table.records) / table.support(item)) if table.support(item) else 0.0


def tf_idf(table: Table, queries: Sequence[Query]) -> np.ndarray:
    """Cosine of two dense vectors over all items, 0 where one of them is all zeros."""
    weights = np.array([weight(table, i) for i in table.items])
    scores = np.zeros((len(queries), len(table.records)))
    for q, facts in enumerate(queries):
        mentioned = {f.item for f in facts}
        t = weights * [i in mentioned for i in table.items]
        for r, record in enumerate(table.records):
            u = weights * [bool(table.events(record, i)) for i in table.items]
            if t.any() and u.any():
                scores[q, r] = t @ u / math.sqrt((t @ t) * (u @ u))
    return scores


def held(table: Table, fact: Fact, record: int, delta: float) -> bool:
    """Whether the record holds the mention with a value within delta, where the value is known."""
    events = table.events(record, fact.item)
    return any(
        not knows_value(table, fact) or abs(e.value - fact.value) <= delta + 1e-9 for e in events
    )


def scoring(
    table: Table,
    queries: Sequence[Query],
    *,
    delta: float = math.inf,
    floor: float = FLOOR,
    heavy: float | None = 1 / 3,
    flat: bool = False,
    values: bool = False,
) -> np.ndarray:
    """Logarithm of the product of sub-scores, -inf for records that hold more than a share of all items."""
    n = len(table.records)
    scores = np.zeros((len(queries), n))
    for q, facts in enumerate(queries):
        for r, record in enumerate(table.records):
            product = 1.0
            for f in facts:
                fact = f if values else Fact(f.item)
                ss = 1.0 if flat else (n - (table.support(f.item) - 1)) / n
                product *= ss if held(table, fact, record, delta) else floor
            is_heavy = heavy is not None and table.length(record) > heavy * len(table.items) + 1e-9
            scores[q, r] = -math.inf if is_heavy else math.log(product)
    return scores


def exact_rating(table: Table, queries: Sequence[Query], **options: object) -> np.ndarray:
    return scoring(table, queries, delta=0.0, values=True, **options)  # type: ignore[arg-type]


def fuzzy_rating(
    table: Table, queries: Sequence[Query], delta: float = 1.0, **options: object
) -> np.ndarray:
    return scoring(table, queries, delta=delta, values=True, **options)  # type: ignore[arg-type]


def product_lineup(scores: np.ndarray) -> np.ndarray:
    """Π(r) ∝ the product, over all candidates."""
    p = np.exp(scores)
    return p / p.sum(axis=1, keepdims=True)
