"""`background`: how values and times of each item are distributed in a dataset, counted once.

The likelihood compares a known value or time with it: one that many entries of the item have says
little. The sweep looks at the values to tell what a rough value is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.data.index import Rows, Shard
from standout.data.item_codes import MOST_DENSE, item_codes
from standout.data.tasks import Range, Task
from standout.jit import njit

CELLS = 40_000_000
"""Largest histogram table (items × bins); wider bins are used beyond it."""

BIN_DAYS = 30

MOST_BINS = 1024
"""Bins of time; wider ones are used where the data spans more than 84 years."""


@dataclass(frozen=True, eq=False, repr=False)
class Background:
    """Histograms per item. Entries without a value or a time are not counted in them."""

    value: Array
    """int32 (items, levels), or (1, levels) of all items together on a wide scale and where the table would be too large."""
    day: Array
    """int32 (items, bins of `bin_ticks`)."""
    bin_ticks: int
    all_values: Array
    """int64 (levels): the same of all items together."""
    all_days: Array
    """int64 (bins): the same of all items together."""

    def values_of(self, dataset: Catalog, items: Array) -> Array:
        """(items, levels): histogram of each item's values."""
        if self.value.shape[0] > 1 or dataset.n_items == 1:
            return np.asarray(self.value[items], np.float64)
        return item_codes(dataset).dense(items)


class _Tables(NamedTuple):
    """Histograms of values and times, by item or of all items together."""

    value: Array
    day: Array

    def merge(self, other: _Tables) -> _Tables:
        """Histograms of both sets of records."""
        return _Tables(self.value + other.value, self.day + other.day)


@dataclass(frozen=True, eq=False, repr=False)
class _CountEntries(Task[_Tables]):
    """Histograms of all entries."""

    value_shape: tuple[int, int]
    day_shape: tuple[int, int]
    bin_ticks: int

    def empty(self) -> _Tables:
        """Zeros."""
        return _Tables(np.zeros(self.value_shape, np.int32), np.zeros(self.day_shape, np.int32))

    def run(
        self, shard: Shard, into: _Tables | None = None, queries: Range | None = None
    ) -> _Tables:
        """Histograms of the shard's entries."""
        out = self.empty() if into is None else into
        _count_entries(shard.ptr, shard.code, shard.tick, shard.no_tick, self.bin_ticks, *out)
        return out


@njit(nogil=True, cache=True)
def _count_entries(
    ptr: Array, code: Array, tick: Array, no_tick: int, bin_ticks: int, value: Array, day: Array
) -> None:
    """Count the values and the times of all postings."""
    by_item_v, by_item_d, n_levels = value.shape[0] > 1, day.shape[0] > 1, value.shape[1]
    for b in range(ptr.shape[0]):
        for i in range(ptr.shape[1] - 1):
            for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                if code.size > 0 and code[p] < n_levels:
                    value[i if by_item_v else 0, code[p]] += 1
                if tick.size > 0 and tick[p] != no_tick:
                    day[i if by_item_d else 0, tick[p] // bin_ticks] += 1


@njit(nogil=True, cache=True)
def _histogram_of(
    lo: int,
    hi: int,
    record_item: Array,
    record_code: Array,
    record_tick: Array,
    item: int,
    n_levels: int,
    no_tick: int,
    bin_ticks: int,
    value: Array,
    day: Array,
) -> None:
    """Count the entries lo … hi-1; only those of `item` unless it is -1."""
    for k in range(lo, hi):
        if item < 0 or record_item[k] == item:
            if record_code.size > 0 and record_code[k] < n_levels:
                value[record_code[k]] += 1
            if record_tick.size > 0 and record_tick[k] != no_tick:
                day[record_tick[k] // bin_ticks] += 1


def background(dataset: Catalog) -> Background:
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
    many = dataset.n_levels > MOST_DENSE or dataset.n_levels * dataset.n_items > CELLS
    rows = 1 if many else dataset.n_items
    days = dataset.n_items if n_bins * dataset.n_items <= CELLS else 1
    value, day = dataset.map(_CountEntries((rows, dataset.n_levels), (days, n_bins), bin_ticks))
    made = Background(
        value, day, bin_ticks, value.sum(axis=0, dtype=np.int64), day.sum(axis=0, dtype=np.int64)
    )
    dataset.__dict__["_background"] = made
    return made


def histograms_of_record(
    dataset: Catalog, rows: Rows, place: int, item: int
) -> tuple[Array, Array]:
    """(values, times) of a fetched record's entries of an item, or of all its items for -1, counted as in `Background`."""
    known = background(dataset)
    value, day = np.zeros(dataset.n_levels, np.int64), np.zeros(known.all_days.size, np.int64)
    _histogram_of(
        rows.ptr[place],
        rows.ptr[place + 1],
        rows.item,
        rows.code,
        rows.tick,
        item,
        dataset.n_levels,
        dataset.no_tick,
        known.bin_ticks,
        value,
        day,
    )
    return value, day
