"""Merging of repeated (record, item) pairs into one entry, if requested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from standout.arrays import Array
from standout.data.dataset import REPEATS
from standout.errors import ParameterError
from standout.jit import njit

_LAST, _FIRST, _MAX, _SUM, _COUNT = range(5)
_HOW = {"last": _LAST, "first": _FIRST, "max": _MAX, "sum": _SUM, "count": _COUNT}


@dataclass(frozen=True, repr=False)
class SourceRows:
    """Rows with a record and an item, in the order of the source."""

    record: Array
    """Index of the record."""
    item: Array
    """Index of the item."""
    value: Array | None = None
    """Float64, NaN = no value."""
    tick: Array | None = None
    """Ticks since 1970-01-01 as float64, NaN = no time."""
    moment: Array | None = None
    """The full time in days, which orders rows of one tick."""
    channels: Mapping[str, Array] | None = None
    """Further columns by name, one element per row."""


def check_repeats(repeats: str, has_value: bool) -> None:
    """Refuse an unknown way of handling repeats, and one that needs values if there are none."""
    if repeats not in REPEATS:
        raise ParameterError(f"repeats={repeats!r}: choose one of {', '.join(REPEATS)}")
    if repeats in ("max", "sum") and not has_value:
        raise ParameterError(
            f"repeats={repeats!r} needs values: name a value column, or choose last, first or count"
        )


def merge_repeats(rows: SourceRows, how: str, n_records: int, n_items: int) -> SourceRows:
    """One row per (record, item) pair. Further channels are those of the row that is kept.

    `last` and `first` go by time, then by row; a missing time comes first. `max` keeps the row of
    the largest value, the later one of equals. `sum` and `count` put the sum or the number of rows
    as the value and keep the last time. Missing values add nothing to a sum; a pair that has only
    those has no value.
    """
    none = np.empty(0, np.float64)
    value = none if rows.value is None else rows.value
    moment = none if rows.moment is None else rows.moment
    kept, merged = _merge(_HOW[how], rows.record, rows.item, value, moment, n_records, n_items)
    new_value = None if rows.value is None else value[kept]
    if how == "sum":
        new_value = _without_rounding_noise(merged)
    elif how == "count":
        new_value = merged
    return SourceRows(
        rows.record[kept],
        rows.item[kept],
        new_value,
        None if rows.tick is None else rows.tick[kept],
        channels={name: np.asarray(column)[kept] for name, column in (rows.channels or {}).items()},
    )


def _without_rounding_noise(sums: Array) -> Array:
    """Sums to 12 significant digits: 0.1 + 0.2 + 0.3 must be the same level in any order of the rows."""
    size = np.abs(sums)
    fraction = (size > 0) & (size < 1e12) & (sums != np.rint(sums))
    scale = 10.0 ** (11 - np.floor(np.log10(size[fraction])))
    sums = sums.copy()
    sums[fraction] = np.rint(sums[fraction] * scale) / scale
    return sums


@njit(nogil=True, cache=True)
def _merge(
    how: int, record: Array, item: Array, value: Array, moment: Array, n_records: int, n_items: int
) -> tuple[Array, Array]:
    """Row that represents each pair, and the pair's sum or count."""
    n = record.size
    has_value, has_moment = value.size > 0, moment.size > 0
    ptr = np.zeros(n_records + 1, np.int64)
    for k in range(n):
        ptr[record[k] + 1] += 1
    ptr = np.cumsum(ptr)
    cursor = ptr[:-1].copy()
    order = np.empty(n, np.int64)
    for k in range(n):
        order[cursor[record[k]]] = k
        cursor[record[k]] += 1
    kept = np.empty(n, np.int64)
    merged = np.empty(n, np.float64)
    seen = np.full(n_items, -1, np.int64)
    slot = np.empty(n_items, np.int64)
    m = 0
    for r in range(n_records):
        for p in range(ptr[r], ptr[r + 1]):
            k = order[p]
            i = item[k]
            v = value[k] if has_value else np.nan
            if seen[i] != r:
                seen[i], slot[i] = r, m
                kept[m] = k
                merged[m] = 1.0 if how == _COUNT else v
                m += 1
                continue
            s = slot[i]
            now, then = 0.0, 0.0
            if has_moment:
                now, then = moment[k], moment[kept[s]]
                now, then = (
                    (-np.inf if np.isnan(now) else now),
                    (-np.inf if np.isnan(then) else then),
                )
            if how == _FIRST:
                if now < then:
                    kept[s] = k
            elif how == _MAX:
                equal = v == merged[s] or (np.isnan(v) and np.isnan(merged[s]))
                if (
                    v > merged[s]
                    or (np.isnan(merged[s]) and not np.isnan(v))
                    or (equal and now >= then)
                ):
                    kept[s] = k
                    merged[s] = v
            else:
                if now >= then:
                    kept[s] = k
                if how == _COUNT:
                    merged[s] += 1.0
                elif how == _SUM and not np.isnan(v):
                    merged[s] = v if np.isnan(merged[s]) else merged[s] + v
    return kept[:m], merged[:m]
