"""Settings of every defense for tests and `benchmarks/same_answers.py`: one that changes nothing, and two of rising strength."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import standout as so

NEUTRAL: dict[str, dict[str, Any]] = {
    "drop-entries": {"share": 0},
    "drop-rare-items": {"min_support": 0},
    "keep-top-items": {"k": 1000},
    "cap-entries": {"most": 1000},
    "sample-records": {"share": 1},
    "round-values": {"step": 0},
    "noise-values": {"within": 0},
    "geometric-values": {"a": 0},
    "coarsen-time": {"to": "day"},
    "shift-time": {"days": 0},
    "swap-entries": {"share": 0},
    "swap-attributes": {"share": 0},
    "group-items": {"groups": 1000},
    "suppress-km": {"k": 1, "m": 2},
    "randomized-response": {"epsilon": float("inf")},
}
"""All but those without a strength: drop-values, drop-time, opaque-items."""

WEAK: dict[str, dict[str, Any]] = {
    "drop-entries": {"share": 0.3},
    "drop-rare-items": {"min_support": 2},
    "keep-top-items": {"k": 4},
    "cap-entries": {"most": 3},
    "sample-records": {"share": 0.8},
    "round-values": {"step": 2},
    "noise-values": {"within": 1},
    "geometric-values": {"a": 0.3},
    "drop-values": {},
    "coarsen-time": {"to": "month"},
    "shift-time": {"days": 5},
    "drop-time": {},
    "swap-entries": {"share": 0.3},
    "swap-attributes": {"share": 0.3},
    "group-items": {"groups": 3},
    "opaque-items": {},
    "suppress-km": {"k": 2, "m": 2},
    "randomized-response": {"epsilon": 1.0},
}

STRONG: dict[str, dict[str, Any]] = {
    "drop-entries": {"share": 0.5},
    "drop-rare-items": {"min_support": 3},
    "keep-top-items": {"k": 2},
    "cap-entries": {"most": 1},
    "sample-records": {"share": 0.5},
    "noise-values": {"within": 2},
    "geometric-values": {"a": 0.8},
    "shift-time": {"days": 40},
    "swap-entries": {"share": 0.6},
    "swap-attributes": {"share": 0.6},
    "randomized-response": {"epsilon": 0.2},
}

Row = tuple[Any, Any, Any, Any]


def rows(ds: so.Dataset) -> list[Row]:
    """(record, item, value, day) of every entry, None = missing, by an independent reading of the arrays."""
    made = []
    for r in range(ds.n_records):
        for k in range(ds.record_ptr[r], ds.record_ptr[r + 1]):
            value = (
                ds.levels[ds.record_code[k]]
                if ds.has_value and ds.record_code[k] < ds.n_levels
                else None
            )
            day = (
                int(ds.record_tick[k]) + ds.first_tick
                if ds.has_time and ds.record_tick[k] != ds.no_tick
                else None
            )
            made.append((ds.record_labels[r], ds.item_labels[ds.record_item[k]], value, day))
    return made


def by_record(ds: so.Dataset) -> dict[Any, Counter]:
    """Record label → its entries."""
    held: dict[Any, Counter] = {}
    for record, *entry in rows(ds):
        held.setdefault(record, Counter())[tuple(entry)] += 1
    return held


def check_counts(ds: so.Dataset) -> None:
    """Every count and invariant of a dataset, counted again."""
    pairs = {(record, item) for record, item, _, _ in rows(ds)}
    assert ds.lengths.tolist() == [sum(r == label for r, _ in pairs) for label in ds.record_labels]
    assert ds.supports.tolist() == [sum(i == label for _, i in pairs) for label in ds.item_labels]
    assert ds.item_labels.tolist() == sorted(set(ds.item_labels.tolist()))
    key = [
        (r, i, float("inf") if d is None else d, float("inf") if v is None else v)
        for r, i, v, d in ((list(ds.record_labels).index(r), i, v, d) for r, i, v, d in rows(ds))
    ]
    assert key == sorted(key)
    if ds.has_time:
        known = ds.record_tick[ds.record_tick != ds.no_tick]
        assert known.size == 0 or known.max() <= ds.tick_span
    if ds.has_value:
        assert ds.record_code.max() <= ds.n_levels


def distinct_days(
    n_records: int = 40, n_items: int = 25, n: int = 600, seed: int = 0
) -> so.Dataset:
    """Data in which no two entries have the same day, so that an entry is recognized wherever it goes; with repeats."""
    rng = np.random.default_rng(seed)
    record, item = rng.integers(0, n_records, n), np.minimum(rng.geometric(0.15, n), n_items)
    return so.Dataset.from_arrays(record, item, rng.integers(1, 6, n), 10_000 + rng.permutation(n))


def distinct_pairs(n_records: int = 50, n_items: int = 30, seed: int = 0) -> so.Dataset:
    """Data without repeats."""
    rng = np.random.default_rng(seed)
    chosen = np.flatnonzero(rng.random(n_records * n_items) < 0.3)
    value = rng.integers(1, 6, chosen.size)
    return so.Dataset.from_arrays(
        chosen // n_items, chosen % n_items, value, rng.integers(10_000, 10_400, chosen.size)
    )
