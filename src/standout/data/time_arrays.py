"""Times given as numbers, texts or datetime objects become ticks of a resolution."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from standout.arrays import Array
from standout.data.labels import unmasked
from standout.data.times import (
    _NUMPY,
    MOST_DAYS,
    SLACK,
    TICKS_PER_DAY,
    default_resolution,
    finest_unit,
    mixed_zones,
    to_ticks,
)
from standout.errors import InputError


class Times(NamedTuple):
    """Times of entries, and how finely they are kept."""

    tick: Array
    """float64: ticks since 1970-01-01, NaN where there is no time."""
    moment: Array
    """float64: the full time in days."""
    unit: str
    """Finest unit that the times have."""
    resolution: str
    n_midnight: int
    """Times that are exactly 0:00."""


def times_of(values: Any, resolution: str | None = None) -> Times:
    """Times in any form, in ticks of the resolution; None: of the finest resolution that they have.

    Numbers are days. Dates, date-times, `datetime64` and ISO text are converted; times with a zone
    become UTC, times without one are taken as they are.

    >>> times_of([1.75, -0.5, None])[:4:3], times_of([1.75, -0.5, None], "day").tick
    ((array([ 42., -12.,  nan]), 'hour'), array([ 1., -1., nan]))
    """
    array, moment = _moments(values)
    known = ~np.isnan(moment)
    ticks = {
        name: _ticks(array, moment, name)
        for name in (TICKS_PER_DAY if resolution is None else (resolution,))
    }
    second = ticks["second"] if "second" in ticks else _ticks(array, moment, "second")
    if array.dtype.kind == "M":
        is_whole = {"second": (array == array.astype("datetime64[s]"))[known]}
    else:
        exact = array[known] * TICKS_PER_DAY["second"]
        is_whole = {"second": np.abs(exact - np.rint(exact)) <= SLACK}
    for name in ("day", "hour", "minute"):
        per = TICKS_PER_DAY["second"] // TICKS_PER_DAY[name]
        coarse = ticks[name] if name in ticks else _ticks(array, moment, name)
        is_whole[name] = is_whole["second"] & (second == per * coarse)[known]
    unit = finest_unit({name: bool(whole.all()) for name, whole in is_whole.items()})
    if resolution is None:
        resolution = default_resolution(unit, float(np.ptp(second[known])) if known.any() else 0.0)
    return Times(ticks[resolution], moment, unit, resolution, int(is_whole["day"].sum()))


def days_of(values: Any) -> Array:
    """Times in any form in days, float64, NaN where there is none; see `times_of`."""
    return _moments(values)[1]


def _ticks(array: Array, moment: Array, resolution: str) -> Array:
    """Ticks of times, which are float64 days or datetime64."""
    if array.dtype.kind != "M":
        return to_ticks(moment, resolution)
    return np.where(
        np.isnat(array),
        np.nan,
        array.astype(f"datetime64[{_NUMPY[resolution]}]").astype(np.float64),
    )


def _moments(values: Any) -> tuple[Array, Array]:
    """Times as float64 days or as datetime64, and in float64 days."""
    array = np.asarray(unmasked(values))
    if array.dtype.kind in "OUST":
        array = _parsed(array.tolist())
    if array.dtype.kind in "iuf":
        moment = array.astype(np.float64)
        if bool(np.isinf(moment).any()):
            raise InputError(
                f"{int(np.isinf(moment).sum()):,} infinite times: replace or remove them"
            )
        known = moment[~np.isnan(moment)]
        if known.size and bool((np.abs(known) > MOST_DAYS).all()):
            raise InputError(
                f"all {known.size:,} times are more than {MOST_DAYS:,} days from 1970: numbers are days; divide Unix seconds by "
                "86,400, or give dates"
            )
        return moment, moment
    if array.dtype.kind != "M":
        raise InputError(
            f"time holds {array.dtype} where days or dates belong: give those, or leave time out"
        )
    nat = np.isnat(array)
    day = np.where(nat, np.nan, array.astype("datetime64[D]").astype(np.float64))
    return array, day + np.where(
        nat, 0, (array - array.astype("datetime64[D]")) / np.timedelta64(1, "D")
    )


def _parsed(values: list[Any]) -> Array:
    """Python objects as float64 days or as datetime64."""
    present = [None if type(x).__name__ in ("NAType", "NaTType") or x == "" else x for x in values]
    if all(isinstance(x, (int, float)) or x is None for x in present):
        return np.array([np.nan if x is None else x for x in present], np.float64)
    zoned = [_has_zone(x) for x in present if x is not None]
    if 0 < sum(zoned) < len(zoned):
        raise InputError(mixed_zones("time", sum(zoned), len(zoned) - sum(zoned)))
    try:
        moments = [_in_utc(x) if isinstance(x, datetime) else x for x in present]
        if all(isinstance(x, (date, str, np.datetime64)) or x is None for x in moments):
            with (
                catch_warnings()
            ):  # NumPy converts texts with a zone to UTC, and says that it does not keep the zone
                simplefilter("ignore", UserWarning)
                return np.array(moments, "datetime64[us]")
    except (ValueError, TypeError, OverflowError):
        pass
    raise InputError("time holds objects where days or dates belong: give those, or leave time out")


def _has_zone(moment: Any) -> bool:
    """Whether a date-time or an ISO text has a zone."""
    if isinstance(moment, str):
        return re.search(r"[-+A-Za-z]", moment[11:]) is not None
    return getattr(moment, "tzinfo", None) is not None


def _in_utc(moment: datetime) -> datetime:
    """A date-time without a zone as it is, one with a zone in UTC."""
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
