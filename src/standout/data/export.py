"""The entries of a dataset as columns: arrays, and an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array

if TYPE_CHECKING:
    import pyarrow as pa

    from standout.data.dataset import Dataset


def entry_records(dataset: Dataset) -> Array:
    """Record index of each entry."""
    return np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr))


def entry_values(dataset: Dataset) -> Array | None:
    """Value of each entry, NaN = none; None if the data has no values."""
    return np.append(dataset.levels, np.nan)[dataset.record_code] if dataset.has_value else None


def entry_days(dataset: Dataset) -> Array | None:
    """Time of each entry in days since 1970-01-01, NaN = none; None if the data has no times."""
    if not dataset.has_time:
        return None
    day = (dataset.record_tick.astype(np.float64) + dataset.first_tick) / dataset.ticks_per_day
    return np.where(dataset.record_tick == dataset.no_tick, np.nan, day)


def to_arrow(dataset: Dataset) -> pa.Table:
    """Arrow table with one row per entry: record, item, and what else the data has: value, channels, attributes, time.

    Rows are sorted by record, then item, then time. Missing values and times are null. A time is a date, or a date-time.
    """
    import pyarrow as pa

    columns = {
        "record": _labels(dataset.record_labels).take(pa.array(entry_records(dataset))),
        "item": _labels(dataset.item_labels).take(pa.array(dataset.record_item)),
    }
    value, day = entry_values(dataset), entry_days(dataset)
    if value is not None:
        columns["value"] = pa.array(value, from_pandas=True)
    for channel in dataset.channels:
        assert dataset.further is not None
        level = dataset.further.columns()[dataset.further.named(channel.name)]
        scale = _labels(channel.decode(channel.levels))
        columns[channel.name] = scale.take(pa.array(level, mask=level == channel.n_levels))
    for name, own in dataset.attributes.items():
        scale = _labels(own.channel.decode(own.channel.levels))
        level = own.code[entry_records(dataset)]
        columns[name] = scale.take(pa.array(level, mask=level == own.channel.n_levels))
    if day is not None:
        gone = np.isnan(day)
        # of dates the days count, of date-times the seconds
        unit, kind = (
            (1, pa.date32()) if dataset.time_resolution == "day" else (86_400, pa.timestamp("s"))
        )
        whole = np.rint(np.where(gone, 0, day) * unit).astype(np.int32 if unit == 1 else np.int64)
        columns["time"] = pa.array(whole, mask=gone).cast(kind)
    return pa.table(columns)


def _labels(labels: Array) -> pa.Array:
    import pyarrow as pa

    return pa.array(labels.tolist() if labels.dtype.kind == "O" else labels)
