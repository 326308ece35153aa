"""Calendar periods: the first day of each, and its length."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array


def period_starts(days: Array, period: str) -> Array:
    """First day of the period of each day, both counted from 1970-01-01; weeks start on Monday.

    >>> period_starts(np.array([0, 45, 100]), "month").tolist(), period_starts(np.array([0, 4]), "week").tolist()
    ([0, 31, 90], [-3, 4])
    """
    if period == "day":
        return np.asarray(days)
    if period == "week":
        # 1970-01-01 was a Thursday
        return np.asarray(days - (days + 3) % 7)
    dates = days.astype("datetime64[D]")
    if period == "quarter":
        month = dates.astype("datetime64[M]").astype(np.int64)
        return np.asarray(
            (month - month % 3).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
        )
    unit = {"month": "M", "year": "Y"}[period]
    return np.asarray(dates.astype(f"datetime64[{unit}]").astype("datetime64[D]").astype(np.int64))


def period_lengths(first: int, n: int, period: str) -> Array:
    """int64 (n): length in days of the period that starts on each of the days `first … first + n - 1`, 0 where none starts.

    Parameters
    ----------
    first, n
        Days, counted from 1970-01-01.
    period
        "day", "week", "month", "quarter" or "year".

    >>> period_lengths(30, 3, "month").tolist(), period_lengths(23, 3, "day").tolist()
    ([0, 28, 0], [1, 1, 1])
    """
    days = np.arange(first, first + n + 368)
    at = days[period_starts(days, period) == days]
    day, length = at[:-1] - first, np.diff(at)
    inside = day < n
    out = np.zeros(n, np.int64)
    out[day[inside]] = length[inside]
    return out
