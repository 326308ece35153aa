"""People of a second file, as queries: one per person, one fact per item; and times that the two files can be compared by.

The first step of `link`, and of the comparison with the truth (`truth.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_values
from standout.data.labels import index_labels
from standout.data.times import TICKS_PER_DAY
from standout.errors import ParameterError

WHOLE = 1e-6
"""Largest distance from a whole number of days that counts as rounding."""


def people(second: Knowledge | Dataset, items: dict[Any, Any] | None = None) -> Knowledge:
    """Knowledge with one query per person and one fact per (person, item) pair.

    Repeated facts count as one fact that was seen several times (`times`: distinct days, or entries
    where days are unknown). Its value is the median of its values, its day the first one.

    Parameters
    ----------
    second
        The second file: a dataset, or knowledge with one query per person.
    items
        Label in the release of each item label of the second file. Items that are not listed keep
        their own label.
    """
    if isinstance(second, Dataset):
        nothing = np.full(second.n_entries, np.nan)
        value, time = entry_values(second), entry_days(second)
        given = Knowledge(
            query_ptr=second.record_ptr.astype(np.int64),
            item=second.item_labels[second.record_item],
            value=nothing if value is None else value,
            time=nothing if time is None else time,
            queries=second.record_labels,
            length=np.full(second.n_records, np.nan),
        )
    elif isinstance(second, Knowledge):
        given = second
    else:
        kind = type(second).__name__
        raise ParameterError(f"knowledge: a Dataset or a Knowledge is needed, not {kind}")
    return _one_fact_per_item(given, items)


def _one_fact_per_item(given: Knowledge, items: dict[Any, Any] | None) -> Knowledge:
    label, code, _ = index_labels(given.item, "item")
    if items:
        # several items of the second file may be one item of the release
        named = {str(k): str(v) for k, v in items.items()}
        renamed = np.array([named.get(str(x), str(x)) for x in label.tolist()], object)
        label, place, _ = index_labels(renamed, "item")
        code = place[code]
    pair = given.query * label.size + code
    order = np.lexsort((given.value, pair))
    distinct, first, count = np.unique(pair[order], return_index=True, return_counts=True)
    known = np.add.reduceat(~np.isnan(given.value[order]), first)
    # values are sorted and NaN goes last: the lower median of those that are known
    value = given.value[order][first + np.maximum(known - 1, 0) // 2]
    has_day = ~np.isnan(given.time)
    day = np.minimum.reduceat(np.where(has_day, given.time, np.inf)[order], first)
    each = np.unique(np.column_stack([pair[has_day], np.floor(given.time[has_day])]), axis=0)
    n_days = np.bincount(np.searchsorted(distinct, each[:, 0]), minlength=distinct.size)
    seen = count if given.times is None else np.add.reduceat(given.times[order], first)
    n_items = np.bincount(distinct // label.size, minlength=given.n_queries)
    return replace(
        given,
        query_ptr=np.concatenate([[0], np.cumsum(n_items)]).astype(np.int64),
        item=label[distinct % label.size],
        value=value,
        time=np.where(np.isinf(day), np.nan, day),
        times=np.where(np.isinf(day), seen, n_days).astype(np.int64),
        _index=None,
        _labels=None,
    )


def comparable(dataset: Dataset, second: Knowledge) -> Dataset:
    """The release with times by the hour if it has hours or finer times and so has the second file, else by the day.

    Minutes and seconds are not compared: their tables would be long, and two files rarely agree to the minute.
    """
    if not dataset.has_time or dataset.ticks_per_day == 1:
        return dataset
    # a comparison with NaN is false
    has_hours = bool((np.abs(second.time - np.round(second.time)) > WHOLE).any())
    return coarser(dataset, "hour" if has_hours else "day")


def coarser(dataset: Dataset, resolution: str) -> Dataset:
    """The same records with times in longer ticks."""
    step = dataset.ticks_per_day // TICKS_PER_DAY[resolution]
    if step <= 1:
        return dataset
    first = dataset.first_tick // step
    tick = dataset.record_tick.astype(np.int64)
    moved = (tick + dataset.first_tick) // step - first
    moved = np.where(tick == dataset.no_tick, dataset.no_tick, moved)
    return replace(
        dataset,
        record_tick=moved.astype(dataset.record_tick.dtype),
        first_tick=int(first),
        tick_span=int((dataset.tick_span + dataset.first_tick) // step - first),
        time_resolution=resolution,
        origin=None,
    )
