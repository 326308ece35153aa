"""Make a `Dataset` from rows with indices: merge repeats, code values, count days from the first."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.data.build import EntryBuilder
from standout.data.cleaning import Cleaning
from standout.data.dataset import Dataset
from standout.data.repeats import Rows, merge_repeats
from standout.data.values import Scale, code_values, codes_of, coding_note
from standout.errors import InputError

Array = npt.NDArray[Any]

LONGEST_SPAN = 0xFFFFFE
"""Days have 24 bits in the sort key, and the largest number means "no day"."""


def assemble(rows: Rows, record_labels: Array, item_labels: Array, cleaning: Cleaning) -> Dataset:
    """Make a dataset from rows in memory; `cleaning` holds what was done so far and how repeats are merged."""
    n_before = rows.record.size
    if cleaning.repeats != "keep":
        rows = merge_repeats(rows, cleaning.repeats, record_labels.size, item_labels.size)
        _check_left(rows.value, "value", cleaning.repeats)
        _check_left(rows.day, "time", cleaning.repeats)
    codes, scale, cleaning = _coded(rows.value, cleaning)
    days, first_tick, span, cleaning = _counted(rows.day, cleaning)
    builder = EntryBuilder(
        np.bincount(rows.record, minlength=record_labels.size),
        item_labels.size,
        has_value=codes is not None,
        has_time=days is not None,
        n_levels=scale.levels.size,
        tick_span=span,
    )
    if days is not None:
        days = np.where(np.isnan(days), builder.no_tick, days).astype(builder.tick.dtype)
    builder.add(rows.record.astype(np.uint32), rows.item.astype(np.uint32), codes, days)
    return complete(builder, record_labels, item_labels, scale, first_tick, span, cleaning, n_before)


def complete(
    builder: EntryBuilder,
    record_labels: Array,
    item_labels: Array,
    scale: Scale,
    first_tick: int,
    span: int,
    cleaning: Cleaning,
    n_rows: int,
) -> Dataset:
    """Sort the placed entries and count the repeats; `n_rows` is the number of rows before merging."""
    lengths, supports = builder.finish(cores())
    cleaning = replace(cleaning, repeated_pairs=n_rows - int(lengths.sum()))
    return Dataset(
        record_labels=record_labels,
        item_labels=item_labels,
        record_ptr=builder.ptr,
        record_item=builder.item,
        record_code=builder.code,
        record_tick=builder.tick,
        levels=scale.levels,
        first_tick=first_tick,
        tick_span=span,
        lengths=lengths,
        supports=supports,
        cleaning=cleaning,
        level_low=scale.low if scale.error else np.empty(0),
        level_high=scale.high if scale.error else np.empty(0),
    )


def check_span(first_tick: float, last_day: float) -> None:
    """Refuse times that lie further apart than day offsets can represent."""
    if last_day - first_tick > LONGEST_SPAN:
        years = (last_day - first_tick) / 365.25
        raise InputError(f"the times span {years:,.0f} years: is the unit right? Say it with time_unit (--time-unit)")


def cores() -> int:
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_left(numbers: Array | None, channel: str, repeats: str) -> None:
    """Refuse a channel that is empty after merging: the kept rows may be those without a value or a time."""
    if numbers is not None and bool(np.isnan(numbers).all()):
        raise InputError(
            f"repeats={repeats!r} keeps no row that has a {channel}: choose another way, or leave {channel} out"
        )


def _coded(value: Array | None, cleaning: Cleaning) -> tuple[Array | None, Scale, Cleaning]:
    """Codes, their scale, and the cleaning with the coding error."""
    if value is None:
        return None, Scale.empty(), cleaning
    if bool(np.isinf(value).any()):
        raise InputError(f"{int(np.isinf(value).sum()):,} infinite values: replace or remove them")
    distinct, counts = np.unique(value[~np.isnan(value)], return_counts=True)
    scale = code_values(distinct, counts)
    cleaning = replace(cleaning, values_missing=int(np.isnan(value).sum()), value_error=scale.error)
    if scale.error:
        note = coding_note(distinct.size, scale.levels.size, scale.error)
        cleaning = replace(cleaning, notes=(*cleaning.notes, note))
    return codes_of(value, scale.high), scale, cleaning


def _counted(day: Array | None, cleaning: Cleaning) -> tuple[Array | None, int, int, Cleaning]:
    """Days after the first one, the first day, the largest offset."""
    if day is None:
        return None, 0, 0, cleaning
    low, high = float(np.nanmin(day)), float(np.nanmax(day))
    check_span(low, high)
    cleaning = replace(cleaning, times_missing=int(np.isnan(day).sum()))
    return day - low, int(low), int(high - low), cleaning
