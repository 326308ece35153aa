"""Two periods of the same records: entries before a day, and from that day on."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import numpy as np

from standout.data.dataset import Dataset
from standout.errors import InputError, ParameterError

EPOCH = date(1970, 1, 1)


def split_time(dataset: Dataset, at: date | str | float = 0.5) -> tuple[Dataset, Dataset]:
    """Entries before a day and from that day on, as two datasets. Entries without a time are in neither.

    Parameters
    ----------
    dataset
        Records with times.
    at
        First day of the second period: a date, a text like "2011-06-01", or a share of the entries
        that lie before it.
    """
    day = split_day(dataset, at)
    tick = dataset.record_tick.astype(np.int64)
    known = tick != dataset.no_tick
    first = (day - EPOCH).days * dataset.ticks_per_day - dataset.first_tick
    parts = []
    for name, mask in (("before", known & (tick < first)), ("from", known & (tick >= first))):
        part = dataset.with_entries(mask)
        if not mask.any():
            raise ParameterError(f"split at {day}: no entry lies {name} that day{span(dataset)}")
        parts.append(part.take(part.lengths > 0))
    return parts[0], parts[1]


def split_day(dataset: Dataset, at: date | str | float) -> date:
    """First day of the second period."""
    if not dataset.has_time:
        raise InputError("a split by time needs times, and this data has none")
    if isinstance(at, datetime):
        return at.date()
    if isinstance(at, date):
        return at
    if isinstance(at, str):
        try:
            return date.fromisoformat(at.strip())
        except ValueError:
            pass
        try:
            at = float(at)
        except ValueError:
            raise ParameterError(
                f"split at {at!r}: use a date like 2011-06-01, or a share like 0.5"
            ) from None
    if not isinstance(at, int | float) or not 0 < at < 1:
        raise ParameterError(
            f"split at {at!r}: use a date like 2011-06-01, or a share between 0 and 1"
        )
    tick = dataset.record_tick[dataset.record_tick != dataset.no_tick].astype(np.int64)
    if not tick.size:
        raise InputError("a split by time needs times, and no entry has one")
    middle = int(np.quantile(tick, at, method="higher")) + dataset.first_tick
    return EPOCH + timedelta(days=-(-middle // dataset.ticks_per_day))


def span(dataset: Dataset) -> str:
    """The period of the data, as the end of an error message."""
    first = datetime.fromtimestamp(dataset.first_tick * 86_400 / dataset.ticks_per_day, UTC).date()
    last = first + timedelta(days=dataset.tick_span // dataset.ticks_per_day)
    return f"; the data runs from {first} to {last}"
