"""Rows of tables in fixed point, and what the excluded record takes away."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from standout.attacks.gap_bins import MOST_DAYS
from standout.data.background import background
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.jit import njit
from standout.scoring.plan import (
    VETO,
)

Array = npt.NDArray[Any]


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
def row_bounds(x: Array) -> Array:
    """Largest absolute finite number of each row, 0 if there is none."""
    out = np.zeros(x.shape[0])
    for r in range(x.shape[0]):
        for k in range(x.shape[1]):
            if np.isfinite(x[r, k]):
                out[r] = max(out[r], abs(x[r, k]))
    return out


@njit(nogil=True, cache=True)
def to_integers(x: Array, row: Array, scale: Array) -> Array:
    """Rows of `x`, each with its scale, rounded to fixed point; -inf becomes a veto."""
    out = np.empty((row.size, x.shape[1]), np.int32)
    for r in range(row.size):
        for k in range(x.shape[1]):
            y = x[row[r], k]
            if np.isfinite(y):
                out[r, k] = np.int32(np.rint(y * scale[r]))
            else:
                out[r, k] = VETO if y < 0.0 else 0
    return out


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
