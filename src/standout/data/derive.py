"""Datasets made from a dataset: some of its records, some of its items, or its records and items with other entries.

Labels, value scale and time origin stay, rows stay sorted, lengths and supports are counted again. Use these instead of
the constructor of `Dataset`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from standout.data.build import count_pairs, missing_tick, smallest_unsigned
from standout.data.index import rows_of
from standout.data.times import TICKS_PER_DAY, check_span, tick_text
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset

Array = npt.NDArray[Any]


def take(dataset: Dataset, records: Any, drop_empty: bool = True) -> Dataset:
    """Dataset of the chosen records, in ascending order; with `drop_empty` without the items that none of them holds."""
    chosen = _chosen(records, dataset.n_records, "records")
    ptr, at = rows_of(dataset.record_ptr, chosen)
    changed = replace(dataset, record_labels=dataset.record_labels[chosen], **_entries(dataset, ptr, at))
    return _without_items(changed, changed.supports > 0) if drop_empty else changed


def select(dataset: Dataset, items: Any, drop_empty: bool = True) -> Dataset:
    """Dataset of the chosen items, in ascending order; with `drop_empty` without the records that hold none of them."""
    chosen = np.zeros(dataset.n_items, np.bool_)
    chosen[_chosen(items, dataset.n_items, "items")] = True
    changed = _without_items(with_entries(dataset, chosen[dataset.record_item]), chosen)
    return take(changed, changed.lengths > 0) if drop_empty else changed


def with_entries(dataset: Dataset, keep: Any = None, *, value: Any = None, day: Any = None) -> Dataset:
    """Dataset with the same records and items, but only some of the entries, or entries with other values and days.

    Parameters
    ----------
    dataset
        Where the entries come from.
    keep
        One bool per entry; all entries by default.
    value, day
        One number per kept entry, in the order of the entries; NaN = none. Values must be on the dataset's scale. Days are
        counted from 1970-01-01, whole ticks of the dataset's resolution, and not before its first tick.
    """
    kept = np.ones(dataset.n_entries, np.bool_) if keep is None else np.asarray(keep)
    if kept.dtype != np.bool_ or kept.shape != (dataset.n_entries,):
        raise ParameterError(f"keep: one bool per entry is needed, {dataset.n_entries:,} in all")
    at = np.flatnonzero(kept)
    ptr = np.concatenate([[0], np.cumsum(kept)])[dataset.record_ptr].astype(np.int64)
    if value is None and day is None:
        return replace(dataset, **_entries(dataset, ptr, at))
    code = _codes(dataset, value, at.size) if value is not None else _part(dataset.record_code, at)
    tick, span = _part(dataset.record_tick, at), dataset.tick_span
    if day is not None:
        tick, span = _ticks(dataset, day, at.size)
    item = dataset.record_item[at]
    record = np.repeat(np.arange(dataset.n_records), np.diff(ptr))
    # the entries of a record are sorted by item, then tick, then value
    order = np.lexsort((*(a for a in (code, tick) if a.size), item, record))
    return replace(
        dataset, tick_span=span,
        **_counted(dataset, ptr, item[order], _part(code, order), _part(tick, order)),
    )  # fmt: skip


def _chosen(which: Any, n: int, name: str) -> Array:
    """Ascending indices from indices in any order or from a mask."""
    array = np.asarray(which)
    if array.dtype == np.bool_ and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ParameterError(f"{name}: use a one-dimensional array of indices, or one bool for each of {n:,}")
    chosen = np.unique(array).astype(np.int64)
    if chosen.size != array.size:
        raise ParameterError(f"{name}: {array.size - chosen.size:,} indices are given more than once")
    if chosen.size and (chosen[0] < 0 or chosen[-1] >= n):
        raise ParameterError(f"{name}: indices run from 0 to {n - 1:,}")
    return chosen


def _part(channel: Array, at: Array) -> Array:
    return channel[at] if channel.size else channel


def _entries(dataset: Dataset, ptr: Array, at: Array) -> dict[str, Any]:
    """Fields of a dataset that holds the entries `at` in rows that start at `ptr`."""
    return _counted(
        dataset, ptr, dataset.record_item[at], _part(dataset.record_code, at), _part(dataset.record_tick, at)
    )


def _counted(dataset: Dataset, ptr: Array, item: Array, code: Array, tick: Array) -> dict[str, Any]:
    lengths, supports = np.zeros(ptr.size - 1, np.int64), np.zeros(dataset.n_items, np.int64)
    count_pairs(ptr, item, lengths, supports)
    return {
        "record_ptr": ptr, "record_item": item, "record_code": code, "record_tick": tick,
        "lengths": lengths, "supports": supports, "origin": None,
    }  # fmt: skip


def _without_items(dataset: Dataset, kept: Array) -> Dataset:
    """The dataset without the items outside `kept`, which no record holds."""
    if kept.all():
        return dataset
    number = np.cumsum(kept) - 1
    return replace(
        dataset, item_labels=dataset.item_labels[kept], supports=dataset.supports[kept],
        record_item=number[dataset.record_item].astype(smallest_unsigned(int(kept.sum()))),
    )  # fmt: skip


def _codes(dataset: Dataset, value: Any, n: int) -> Array:
    """Codes of values on the dataset's scale."""
    values = np.asarray(value, dtype=np.float64)
    if not dataset.has_value or values.shape != (n,):
        raise ParameterError(f"value: one number per kept entry ({n:,}) of a dataset with values is needed")
    code = np.minimum(np.searchsorted(dataset.levels, values), dataset.n_levels - 1)
    known = ~np.isnan(values)
    if (dataset.levels[code[known]] != values[known]).any():
        raise ParameterError("value: some values are not on the dataset's scale (see `levels`)")
    return np.where(known, code, dataset.n_levels).astype(dataset.record_code.dtype)


def _ticks(dataset: Dataset, day: Any, n: int) -> tuple[Array, int]:
    """Tick offsets of times in days, and the largest."""
    days = np.asarray(day, dtype=np.float64)
    if not dataset.has_time or days.shape != (n,):
        raise ParameterError(f"day: one number per kept entry ({n:,}) of a dataset with times is needed")
    exact = days * TICKS_PER_DAY[dataset.time_resolution]
    offset = np.rint(exact) - dataset.first_tick
    known = ~np.isnan(offset)
    if (offset[known] < 0).any() or (np.abs(exact - np.rint(exact))[known] > 1e-5).any():
        first = tick_text(dataset.first_tick, dataset.time_resolution)
        raise ParameterError(f"day: use whole {dataset.time_resolution}s, from the dataset's first one ({first}) on")
    check_span(0, offset[known].max(initial=0), dataset.time_resolution)
    span = max(dataset.tick_span, int(offset[known].max(initial=0)))
    dtype = smallest_unsigned(span + 1)
    return np.where(known, offset, missing_tick(dtype)).astype(dtype), span
