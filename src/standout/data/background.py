"""`Background`: how values and times of each item are distributed in the release, counted once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.data.dataset import Dataset

Array = npt.NDArray[Any]

CELLS = 40_000_000
"""Largest histogram table (items × bins); wider bins are used beyond it."""

BIN_DAYS = 30

MOST_BINS = 1024
"""Bins of time; wider ones are used where the data spans more than 84 years."""


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """Histograms per item. Entries without a value or a time are not counted in them."""

    value: Array
    """int32 (items, levels), or (1, levels) of all items together when the table would be too large."""
    day: Array
    """int32 (items, bins of `bin_ticks`)."""
    bin_ticks: int
    all_values: Array
    all_days: Array

    def values_of(self, dataset: Dataset, items: Array) -> Array:
        """(items, levels): histogram of each item's values, counted from its postings if there is no table."""
        if self.value.shape[0] > 1 or dataset.n_items == 1:
            return np.asarray(self.value[items], np.float64)
        distinct, place = np.unique(items, return_inverse=True)
        out = np.zeros((distinct.size, dataset.n_levels))
        _count_postings(dataset.index.ptr, dataset.index.code, distinct, out)
        return np.asarray(out[place.reshape(-1)])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count(record_item: Array, record_code: Array, record_tick: Array, n_levels: int, no_tick: int, bin_ticks: int,
           value: Array, day: Array) -> None:  # fmt: skip
    by_item_v, by_item_d = value.shape[0] > 1, day.shape[0] > 1
    for k in range(record_item.size):
        i = record_item[k]
        if record_code.size > 0 and record_code[k] < n_levels:
            value[i if by_item_v else 0, record_code[k]] += 1
        if record_tick.size > 0 and record_tick[k] != no_tick:
            day[i if by_item_d else 0, record_tick[k] // bin_ticks] += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _histogram_of(lo: int, hi: int, record_item: Array, record_code: Array, record_tick: Array, item: int, n_levels: int,
                  no_tick: int, bin_ticks: int, value: Array, day: Array) -> None:  # fmt: skip
    """Count the entries lo … hi-1; only those of `item` unless it is -1."""
    for k in range(lo, hi):
        if item < 0 or record_item[k] == item:
            if record_code.size > 0 and record_code[k] < n_levels:
                value[record_code[k]] += 1
            if record_tick.size > 0 and record_tick[k] != no_tick:
                day[record_tick[k] // bin_ticks] += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count_postings(ptr: Array, code: Array, items: Array, out: Array) -> None:
    """Count the value codes in the posting lists of the items."""
    for row in range(items.size):
        for b in range(ptr.shape[0]):
            for p in range(ptr[b, items[row]], ptr[b, items[row] + 1]):
                if code[p] < out.shape[1]:
                    out[row, code[p]] += 1.0


def background(dataset: Dataset) -> Background:
    """Histograms of the dataset, computed on first use and cached on it."""
    kept = dataset.__dict__.get("_background")
    if kept is not None:
        return kept  # type: ignore[no-any-return]
    bin_ticks = BIN_DAYS * dataset.ticks_per_day
    while bin_ticks <= dataset.tick_span and dataset.tick_span // bin_ticks + 1 > min(
        MOST_BINS, CELLS // dataset.n_items
    ):
        bin_ticks *= 2
    n_bins = dataset.tick_span // bin_ticks + 1
    rows = dataset.n_items if dataset.n_levels * dataset.n_items <= CELLS else 1
    value = np.zeros((rows, dataset.n_levels), np.int32)
    day = np.zeros((dataset.n_items if n_bins * dataset.n_items <= CELLS else 1, n_bins), np.int32)
    _count(
        dataset.record_item,
        dataset.record_code,
        dataset.record_tick,
        dataset.n_levels,
        dataset.no_tick,
        bin_ticks,
        value,
        day,
    )
    made = Background(value, day, bin_ticks, value.sum(axis=0, dtype=np.int64), day.sum(axis=0, dtype=np.int64))
    dataset.__dict__["_background"] = made
    return made


def entries_of(dataset: Dataset, record: int, item: int) -> tuple[Array, Array]:
    """Histograms (levels, bins of time) of a record's entries of an item, or of all its items for -1."""
    known = background(dataset)
    value, day = np.zeros(dataset.n_levels, np.int64), np.zeros(known.all_days.size, np.int64)
    _histogram_of(dataset.record_ptr[record], dataset.record_ptr[record + 1], dataset.record_item, dataset.record_code,
                  dataset.record_tick, item, dataset.n_levels, dataset.no_tick, known.bin_ticks, value, day)  # fmt: skip
    return value, day
