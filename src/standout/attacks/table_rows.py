"""Rows of tables in fixed point, and what the excluded record takes away."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.attacks.gap_bins import MOST_DAYS
from standout.data.background import background
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.data.item_codes import MOST_DENSE, ItemCodes, item_codes
from standout.jit import njit
from standout.scoring.plan import (
    VETO,
)


@njit(nogil=True, cache=True)
def holds(ptr: Array, row_item: Array, place: Array, item: Array) -> Array:
    """Whether the row at each place holds each item, pair by pair; False if either is -1."""
    out = np.zeros(place.size, np.bool_)
    for k in range(place.size):
        r, i = place[k], item[k]
        if r >= 0 and i >= 0:
            row = row_item[ptr[r] : ptr[r + 1]]
            at = np.searchsorted(row, i)
            out[k] = at < row.size and row[at] == i
    return out


@njit(nogil=True, cache=True)
def sole_items(ptr: Array, item: Array, supports: Array, place: Array) -> Array:
    """Number of items held only by the row at each place; 0 for place -1."""
    out = np.zeros(place.size, np.int64)
    for q in range(place.size):
        r = place[q]
        if r < 0:
            continue
        last = np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            if i != last and supports[i] == 1:
                out[q] += 1
            last = i
    return out


def ends_without(dataset: Catalog, rows: Rows, place: Array) -> Array:
    """(queries, 2): lowest and highest value code of the scale when the row at `place` is not there; -1 = all are there."""
    whole, last = background(dataset).all_values, dataset.n_levels - 1
    ends = np.tile(np.array([0, last]), (rows.record.size + 1, 1))
    for k in range(rows.record.size):
        own = rows.code[rows.ptr[k] : rows.ptr[k + 1]]
        # an end that no entry has is still part of the scale
        if (own == 0).any() or (own == last).any():
            others = np.flatnonzero(whole - np.bincount(own[own <= last], minlength=whole.size))
            if (own == 0).any():
                ends[k, 0] = others[0] if others.size else last + 1
            if (own == last).any():
                ends[k, 1] = others[-1] if others.size else -1
    return np.asarray(ends[place])


@njit(nogil=True, cache=True)
def row_bounds(x: Array, start: Array) -> Array:
    """Largest absolute finite number of each row `start[r] … start[r+1]-1`, 0 if there is none."""
    out = np.zeros(start.size - 1)
    for r in range(start.size - 1):
        most = 0.0
        for k in range(start[r], start[r + 1]):
            size = abs(x[k])
            if most < size < np.inf:
                most = size
        out[r] = most
    return out


@njit(nogil=True, cache=True)
def to_integers(x: Array, start: Array, row: Array, scale: Array) -> Array:
    """Rows of `x`, one after the other, each with its scale, rounded to fixed point; -inf becomes a veto."""
    n = 0
    for r in row:
        n += start[r + 1] - start[r]
    out = np.empty(n, np.int32)
    n = 0
    for r in range(row.size):
        for k in range(start[row[r]], start[row[r] + 1]):
            if np.isfinite(x[k]):
                out[n] = np.int32(np.rint(x[k] * scale[r]))
            else:
                out[n] = VETO if x[k] < 0.0 else 0
            n += 1
    return out


def even_starts(n: int, width: int) -> Array:
    """int64 (n + 1): starts of rows of the same width."""
    return width * np.arange(n + 1, dtype=np.int64)


class Cells(NamedTuple):
    """The cells of value tables, one row after the other: a fact needs them only for codes that its item has."""

    start: Array
    """int64 (rows + 1)."""
    row: Array
    """int64 (cells)."""
    code: Array
    """int64 (cells): value code; the number of levels, "no value", in the last cell of each row."""
    entries: Array
    """int64 (cells): entries of the item with that code; empty where all levels have a cell."""
    places: ItemCodes | None
    """None where all levels have a cell."""


def cells_of(dataset: Catalog, item: Array) -> Cells:
    """Cells of a row for each of the items."""
    n, n_levels = item.size, dataset.n_levels
    if n_levels <= MOST_DENSE:
        start = even_starts(n, n_levels + 1)
        row, code = np.divmod(np.arange(start[-1]), n_levels + 1)
        return Cells(start, row, code, np.empty(0, np.int64), None)
    places = item_codes(dataset)
    start = np.append(0, np.cumsum(np.diff(places.ptr)[item] + 1))
    row, code, entries = (np.empty(int(start[-1]), np.int64) for _ in range(3))
    _fill_cells(start, item, places.ptr, places.code, places.count, n_levels, row, code, entries)
    return Cells(start, row, code, entries, places)


def n_cells(dataset: Catalog, item: Array) -> Array:
    """int64: cells of a row for each of the items, about as if an array of `Cells` took eight bytes for each."""
    if dataset.mechanism is not None:
        # attackers who know the defense have tables over all levels, of the source too
        return np.full(item.size, max(dataset.n_levels, dataset.source.n_levels) + 1)
    if dataset.n_levels <= MOST_DENSE:
        return np.full(item.size, dataset.n_levels + 1)
    # three arrays, and those that a table is computed from
    return np.asarray(6 * np.append(np.diff(item_codes(dataset).ptr) + 1, 1)[item])


@njit(nogil=True, cache=True)
def _fill_cells(
    start: Array,
    item: Array,
    ptr: Array,
    codes: Array,
    counts: Array,
    n_levels: int,
    row: Array,
    code: Array,
    count: Array,
) -> None:
    for r in range(item.size):
        row[start[r] : start[r + 1]] = r
        last = start[r + 1] - 1
        code[last], count[last] = n_levels, 0
        for k in range(last - start[r]):
            code[start[r] + k] = codes[ptr[item[r]] + k]
            count[start[r] + k] = counts[ptr[item[r]] + k]


def numbered(x: Array, n: int) -> tuple[Array, Array]:
    """Sorted distinct numbers of 0 … n-1 and the place of each element among them: `np.unique` without sorting."""
    there = np.zeros(n, np.bool_)
    there[x] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[x]


def time_columns(dataset: Catalog) -> int:
    """About the most columns of a time table that are not shared among facts; for the size of batches."""
    reach = 1024
    if dataset.ticks_per_day > 1:
        # where entries lack times, rows differ in their last column, and those of fitted noise
        # reach far (`attacks.gap_bins`)
        all_timed = int(background(dataset).all_days.sum()) in (0, dataset.n_entries)
        reach = (
            16_384
            if all_timed
            else dataset.ticks_per_day * (MOST_DAYS.get(dataset.time_resolution, 365) + 1)
        )
    return 2 * min(dataset.tick_span, reach) + 2
