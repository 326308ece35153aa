"""Make a `Dataset` from rows with indices: merge repeats, code values, count ticks from the first."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np

from standout.arrays import Array
from standout.data.build import EntryBuilder
from standout.data.channels import JointCodes, read_channels
from standout.data.cleaning import Cleaning
from standout.data.dataset import Dataset
from standout.data.repeats import SourceRows, merge_repeats
from standout.data.times import check_span
from standout.data.values import code_type, codes_of, levels_of
from standout.errors import InputError


def assemble(
    rows: SourceRows,
    record_labels: Array,
    item_labels: Array,
    cleaning: Cleaning,
    resolution: str = "day",
) -> Dataset:
    """Make a dataset from rows in memory; `cleaning` holds what was done so far and how repeats are merged."""
    n_before = rows.record.size
    if cleaning.repeats != "keep":
        rows = merge_repeats(rows, cleaning.repeats, record_labels.size, item_labels.size)
        _check_left(rows.value, "value", cleaning.repeats)
        _check_left(rows.tick, "time", cleaning.repeats)
    codes, levels, cleaning = _coded(rows.value, cleaning)
    joint = None
    if rows.channels:
        joint = JointCodes.of(*read_channels(rows.channels, rows.value, rows.record.size))
        codes = joint.code
    ticks, first_tick, span, cleaning = _counted(rows.tick, cleaning, resolution)
    builder = EntryBuilder(
        np.bincount(rows.record, minlength=record_labels.size),
        item_labels.size,
        has_value=codes is not None,
        has_time=ticks is not None,
        n_levels=levels.size if joint is None else joint.n_codes,
        tick_span=span,
    )
    if ticks is not None:
        ticks = np.where(np.isnan(ticks), builder.no_tick, ticks).astype(builder.tick.dtype)
    builder.add(rows.record.astype(np.uint32), rows.item.astype(np.uint32), codes, ticks)
    made = complete(
        builder,
        record_labels,
        item_labels,
        levels,
        first_tick,
        span,
        cleaning,
        n_before,
        resolution,
    )
    if joint is None:
        return made
    # entries were sorted by their joint codes
    further = replace(joint, code=made.record_code)
    value = np.empty(0, code_type(0))
    if rows.value is not None:
        value = further.level(0)[further.code].astype(code_type(levels.size))
    return replace(made, record_code=value, further=further)


def complete(
    builder: EntryBuilder,
    record_labels: Array,
    item_labels: Array,
    levels: Array,
    first_tick: int,
    span: int,
    cleaning: Cleaning,
    n_rows: int,
    resolution: str = "day",
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
        levels=levels,
        first_tick=first_tick,
        tick_span=span,
        time_resolution=resolution if builder.tick.size else "day",
        lengths=lengths,
        supports=supports,
        cleaning=cleaning,
    )


def cores() -> int:
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _check_left(numbers: Array | None, channel: str, repeats: str) -> None:
    """Refuse a channel that is empty after merging: the kept rows may be those without a value or a time."""
    if numbers is not None and bool(np.isnan(numbers).all()):
        raise empty_channel(channel, repeats)


def empty_channel(channel: str, repeats: str) -> InputError:
    """Error for a channel that is empty after merging."""
    return InputError(
        f"repeats={repeats!r} keeps no row that has a {channel}: choose another way, or leave {channel} out"
    )


def _coded(value: Array | None, cleaning: Cleaning) -> tuple[Array | None, Array, Cleaning]:
    """Codes, the levels, and the cleaning with the number of missing values."""
    if value is None:
        return None, np.empty(0), cleaning
    check_finite(int(np.isinf(value).sum()))
    levels = levels_of(np.unique(value[~np.isnan(value)]))
    cleaning = replace(cleaning, values_missing=int(np.isnan(value).sum()))
    return codes_of(value, levels), levels, cleaning


def check_finite(n_infinite: int) -> None:
    """Refuse infinite values."""
    if n_infinite:
        raise InputError(f"{n_infinite:,} infinite values: replace or remove them")


def _counted(
    tick: Array | None, cleaning: Cleaning, resolution: str
) -> tuple[Array | None, int, int, Cleaning]:
    """Ticks after the first one, the first tick, the largest offset."""
    if tick is None:
        return None, 0, 0, cleaning
    low, high = float(np.nanmin(tick)), float(np.nanmax(tick))
    check_span(low, high, resolution)
    cleaning = replace(cleaning, times_missing=int(np.isnan(tick).sum()))
    return tick - low, int(low), int(high - low), cleaning
