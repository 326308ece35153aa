"""People of a second file, as queries: one per person, one fact per item, with the number of times it was seen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import index_labels
from standout.errors import ParameterError


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
        return _folded(_of_dataset(second), items)
    if isinstance(second, Knowledge):
        return _folded(second, items)
    raise ParameterError(
        f"knowledge: a Dataset or a Knowledge is needed, not {type(second).__name__}"
    )


def _of_dataset(second: Dataset) -> Knowledge:
    nothing = np.full(second.n_entries, np.nan)
    value, time = nothing, nothing
    if second.has_value and second.n_levels:
        code = second.record_code.astype(np.int64)
        value = np.append(second.levels.astype(np.float64), np.nan)[
            np.minimum(code, second.n_levels)
        ]
    if second.has_time:
        tick = second.record_tick.astype(np.int64)
        time = np.where(
            tick == second.no_tick, np.nan, (tick + float(second.first_tick)) / second.ticks_per_day
        )
    return Knowledge(
        query_ptr=second.record_ptr.astype(np.int64),
        item=second.item_labels[second.record_item],
        value=value,
        time=time,
        queries=second.record_labels,
        length=np.full(second.n_records, np.nan),
    )


def _folded(given: Knowledge, items: dict[Any, Any] | None) -> Knowledge:
    label, code, _ = index_labels(given.item, "item")
    if items:
        label, code = _mapped(label, code, items)
    pair = given.query * label.size + code
    order = np.lexsort((given.value, pair))
    distinct, first, count = np.unique(pair[order], return_index=True, return_counts=True)
    known = np.add.reduceat(~np.isnan(given.value[order]), first)
    # values are sorted and NaN goes last: the lower median of those that are known
    value = given.value[order][first + np.maximum(known - 1, 0) // 2]
    day = np.minimum.reduceat(np.where(np.isnan(given.time), np.inf, given.time)[order], first)
    query = distinct // label.size
    ptr = np.concatenate([[0], np.cumsum(np.bincount(query, minlength=given.n_queries))]).astype(
        np.int64
    )
    seen = count if given.times is None else np.add.reduceat(given.times[order], first)
    return replace(
        given,
        query_ptr=ptr,
        item=label[distinct % label.size],
        value=value,
        time=np.where(np.isinf(day), np.nan, day),
        times=np.where(np.isinf(day), seen, _days(pair, given.time, distinct)).astype(np.int64),
        _index=None,
        _labels=None,
    )


def _days(pair: Array, time: Array, distinct: Array) -> Array:
    """Number of distinct days of each pair."""
    known = ~np.isnan(time)
    days = np.unique(np.column_stack([pair[known], np.floor(time[known])]), axis=0)[:, 0].astype(
        np.int64
    )
    return np.bincount(np.searchsorted(distinct, days), minlength=distinct.size)


def _mapped(label: Array, code: Array, items: dict[Any, Any]) -> tuple[Array, Array]:
    """Labels of the release instead of those of the second file; several may become one."""
    named = {str(k): v for k, v in items.items()}
    renamed = np.empty(label.size, object)
    renamed[:] = [str(named.get(str(x), x)) for x in label.tolist()]
    new, place, _ = index_labels(renamed, "item")
    return new, place[code]
