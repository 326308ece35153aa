"""Datasets made from a dataset: some of its records, some of its items, or its records with other entries.

Labels, value scale and time origin stay where nothing else is asked for, rows stay sorted, lengths
and supports are counted again. Use these instead of the constructor of `Dataset`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array
from standout.data.build import count_pairs, missing_tick, smallest_unsigned
from standout.data.row_copies import rows_of
from standout.data.times import longest_span
from standout.data.values import MOST_LEVELS, code_type
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


def take(dataset: Dataset, records: Any, drop_empty: bool = True) -> Dataset:
    """Dataset of the chosen records, in ascending order; with `drop_empty` without the items that none of them holds."""
    chosen = _chosen(records, dataset.n_records, "records")
    ptr, at = rows_of(dataset.record_ptr, chosen)
    changed = replace(
        dataset,
        record_labels=dataset.record_labels[chosen],
        attributes={
            name: replace(own, code=own.code[chosen]) for name, own in dataset.attributes.items()
        },
        **_entries(dataset, ptr, at),
    )
    return _without_items(changed, changed.supports > 0) if drop_empty else changed


def select(dataset: Dataset, items: Any, drop_empty: bool = True) -> Dataset:
    """Dataset of the chosen items, in ascending order; with `drop_empty` without the records that hold none of them."""
    chosen = np.zeros(dataset.n_items, np.bool_)
    chosen[_chosen(items, dataset.n_items, "items")] = True
    changed = _without_items(with_entries(dataset, chosen[dataset.record_item]), chosen)
    return take(changed, changed.lengths > 0) if drop_empty else changed


def with_entries(
    dataset: Dataset,
    keep: Any = None,
    *,
    item: Any = None,
    item_labels: Any = None,
    value: Any = None,
    levels: Any = None,
    day: Any = None,
    drop: Collection[str] = (),
    further: Any = None,
) -> Dataset:
    """Dataset with the same records, but only some of the entries, or entries with other items, values and days.

    Parameters
    ----------
    dataset
        Where the entries come from.
    keep
        One bool per entry, or how often it is kept, as a whole number; all entries once by default.
    item
        One index per kept entry, in the order of the entries, into `item_labels`.
    item_labels
        Labels of the items, ascending and distinct; those of the dataset by default.
    value
        One number per kept entry, NaN = none; each on the scale.
    levels
        The scale, ascending; that of the dataset by default. It needs `value`.
    day
        Time of each kept entry in days since 1970-01-01, NaN = none: whole ticks of the dataset's
        resolution. The time origin moves only for a time before it.
    drop
        Channels that the result lacks: "value", "time", or a further one.
    further
        Index per kept entry of the entry of the dataset whose further channels it gets; its own by
        default. Values and days are given apart.
    """
    kept = np.ones(dataset.n_entries, np.bool_) if keep is None else np.asarray(keep)
    if kept.dtype.kind not in "bi" or kept.shape != (dataset.n_entries,) or (kept < 0).any():
        raise ParameterError(f"keep: one bool per entry is needed, {dataset.n_entries:,} in all")
    at = np.repeat(np.arange(dataset.n_entries), kept)
    ptr = np.concatenate([[0], np.cumsum(kept)])[dataset.record_ptr].astype(np.int64)
    if (
        item is None
        and item_labels is None
        and value is None
        and levels is None
        and day is None
        and further is None
        and not drop
    ):
        return replace(dataset, **_entries(dataset, ptr, at))
    changed = replace(dataset, **_entries(dataset, ptr, at))
    changed = replace(changed, **_items(changed, item, item_labels))
    if further is not None and dataset.further is not None:
        other = dataset.further.taken(np.asarray(further))
        if dataset.has_value:
            other = other.with_value(dataset.levels, changed.record_code)
        changed = replace(changed, further=other)
    if value is not None or levels is not None:
        changed = replace(changed, **_values(changed, value, levels))
    if day is not None:
        changed = replace(changed, **_ticks(changed, day))
    changed = _dropped(changed, drop)
    record = np.repeat(np.arange(dataset.n_records), np.diff(ptr))
    # the entries of a record are sorted by item, then tick, then value
    code = changed.record_code if changed.further is None else changed.further.code
    keys = (*(a for a in (code, changed.record_tick) if a.size), changed.record_item, record)
    return replace(changed, **_entries(changed, ptr, np.lexsort(keys)))


def _chosen(which: Any, n: int, name: str) -> Array:
    """Ascending indices from indices in any order or from a mask."""
    array = np.asarray(which)
    if array.dtype == np.bool_ and array.shape == (n,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.size and not np.issubdtype(array.dtype, np.integer)):
        raise ParameterError(
            f"{name}: use a one-dimensional array of indices, or one bool for each of {n:,}"
        )
    chosen = np.unique(array).astype(np.int64)
    if chosen.size != array.size:
        raise ParameterError(
            f"{name}: {array.size - chosen.size:,} indices are given more than once"
        )
    if chosen.size and (chosen[0] < 0 or chosen[-1] >= n):
        raise ParameterError(f"{name}: indices run from 0 to {n - 1:,}")
    return chosen


def _part(channel: Array, at: Array) -> Array:
    return channel[at] if channel.size else channel


def _entries(dataset: Dataset, ptr: Array, at: Array) -> dict[str, Any]:
    """Fields of a dataset that holds the entries `at` in rows that start at `ptr`."""
    further = dataset.further
    return {
        **_counted(
            dataset,
            ptr,
            dataset.record_item[at],
            _part(dataset.record_code, at),
            _part(dataset.record_tick, at),
        ),
        "further": None if further is None else further.taken(at),
    }


def _counted(dataset: Dataset, ptr: Array, item: Array, code: Array, tick: Array) -> dict[str, Any]:
    lengths, supports = np.zeros(ptr.size - 1, np.int64), np.zeros(dataset.n_items, np.int64)
    count_pairs(ptr, item, lengths, supports)
    return {
        "record_ptr": ptr,
        "record_item": item,
        "record_code": code,
        "record_tick": tick,
        "lengths": lengths,
        "supports": supports,
        "origin": None,
    }


def _without_items(dataset: Dataset, kept: Array) -> Dataset:
    """The dataset without the items outside `kept`, which no record holds."""
    if kept.all():
        return dataset
    number = np.cumsum(kept) - 1
    return replace(
        dataset,
        item_labels=dataset.item_labels[kept],
        supports=dataset.supports[kept],
        record_item=number[dataset.record_item].astype(smallest_unsigned(int(kept.sum()))),
    )


def _items(dataset: Dataset, item: Any, item_labels: Any) -> dict[str, Any]:
    """Fields of a dataset whose entries have other items."""
    labels = dataset.item_labels if item_labels is None else np.asarray(item_labels)
    index = dataset.record_item if item is None else np.asarray(item)
    if index.shape != (dataset.n_entries,) or (
        index.size and not np.issubdtype(index.dtype, np.integer)
    ):
        raise ParameterError(
            f"item: one index per kept entry is needed, {dataset.n_entries:,} in all"
        )
    if index.size and (int(index.min()) < 0 or int(index.max()) >= labels.size):
        raise ParameterError(f"item: indices run from 0 to {labels.size - 1:,}")
    if labels.ndim != 1 or (labels.size > 1 and not bool((labels[1:] > labels[:-1]).all())):
        raise ParameterError("item_labels: use ascending labels without duplicates")
    return {
        "item_labels": labels,
        "record_item": index.astype(smallest_unsigned(labels.size)),
        "supports": np.zeros(labels.size, np.int64),
    }


def _values(dataset: Dataset, value: Any, levels: Any) -> dict[str, Any]:
    """Fields of a dataset whose entries have other values."""
    n = dataset.n_entries
    values = np.asarray([] if value is None else value, dtype=np.float64)
    if (n and not dataset.has_value) or values.shape != (n,):
        raise ParameterError(
            f"value: one number per kept entry ({n:,}) of a dataset with values is needed"
        )
    scale = dataset.levels if levels is None else np.asarray(levels, np.float64)
    if (
        scale.ndim != 1
        or not 0 < scale.size <= MOST_LEVELS
        or not np.isfinite(scale).all()
        or (np.diff(scale) <= 0).any()
    ):
        raise ParameterError(f"levels: use 1 to {MOST_LEVELS:,} finite numbers in ascending order")
    code = np.minimum(np.searchsorted(scale, values), scale.size - 1)
    known = ~np.isnan(values)
    if (scale[code[known]] != values[known]).any():
        raise ParameterError("value: some values are not on the dataset's scale (see `levels`)")
    made: dict[str, Any] = {
        "record_code": np.where(known, code, scale.size).astype(code_type(scale.size))
    }
    if levels is not None:
        made["levels"] = scale
    if dataset.further is not None:
        made["further"] = dataset.further.with_value(scale, made["record_code"])
    return made


def _ticks(dataset: Dataset, day: Any) -> dict[str, Any]:
    """Fields of a dataset whose entries have other times, given in days."""
    days, n = np.asarray(day, dtype=np.float64), dataset.n_entries
    if (n and not dataset.has_time) or days.shape != (n,):
        raise ParameterError(
            f"day: one number per kept entry ({n:,}) of a dataset with times is needed"
        )
    known = ~np.isnan(days)
    exact = days * dataset.ticks_per_day
    ticks = np.rint(exact)
    if (np.abs(exact - ticks)[known] > (0 if dataset.ticks_per_day == 1 else 1e-5)).any():
        raise ParameterError(f"day: use whole {dataset.time_resolution}s")
    first = int(min(dataset.first_tick, ticks[known].min(initial=dataset.first_tick)))
    last = int(max(dataset.first_tick + dataset.tick_span, ticks[known].max(initial=first)))
    if last - first > longest_span(dataset.time_resolution):
        years = (last - first) / dataset.ticks_per_day / 365.25
        raise ParameterError(f"day: the times span {years:,.0f} years, which is too long")
    dtype = smallest_unsigned(last - first + 1)
    offset = np.where(known, ticks - first, missing_tick(dtype)).astype(dtype)
    return {"record_tick": offset, "first_tick": first, "tick_span": last - first}


def _dropped(dataset: Dataset, channels: Collection[str]) -> Dataset:
    """The dataset without these channels."""
    there = {"value", "time", *(channel.name for channel in dataset.channels)}
    if unknown := set(channels) - there:
        raise ParameterError(f"drop={sorted(unknown)}: use {', '.join(sorted(there))}")
    for name in channels:
        if dataset.further is not None and name != "time":
            dataset = replace(dataset, further=dataset.further.without(name))
    if "value" in channels:
        code = np.empty(0, dataset.record_code.dtype)
        dataset = replace(dataset, record_code=code, levels=np.empty(0))
    if "time" in channels:
        tick = np.empty(0, dataset.record_tick.dtype)
        dataset = replace(
            dataset, record_tick=tick, first_tick=0, tick_span=0, time_resolution="day"
        )
    return dataset
