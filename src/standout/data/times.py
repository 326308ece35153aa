"""Conversion of times to whole days since 1970-01-01."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.data.labels import unmasked
from standout.errors import InputError, ParameterError

Array = npt.NDArray[Any]

PER_DAY = {
    "day": 1,
    "s": 86_400,
    "ms": 86_400_000,
    "us": 86_400_000_000,
    "ns": 86_400_000_000_000,
    "min": 1_440,
    "hour": 24,
}
ORDERS = {"m/d": "month/day/year", "d/m": "day/month/year"}
TIME_UNITS = (*PER_DAY, "week", *ORDERS)


def days_of(values: Any) -> tuple[Array, Array]:
    """Whole days since 1970-01-01 and the full time in days, both float64, NaN where there is no time.

    Numbers are days. Dates, date-times, `datetime64` and ISO text are converted.

    >>> days_of([1.75, -0.5, None])[0]
    array([ 1., -1., nan])
    """
    array = np.asarray(unmasked(values))
    if array.dtype.kind in "iuf":
        moment = array.astype(np.float64)
        if bool(np.isinf(moment).any()):
            raise InputError(f"{int(np.isinf(moment).sum()):,} infinite times: replace or remove them")
        return np.floor(moment), moment
    if array.dtype.kind in "OUST":
        array = _parsed(array.tolist())
        if array.dtype.kind == "f":
            return days_of(array)
    if array.dtype.kind != "M":
        raise InputError(f"time holds {array.dtype} where days or dates belong: give those, or leave time out")
    nat = np.isnat(array)
    day = np.where(nat, np.nan, array.astype("datetime64[D]").astype(np.float64))
    within = np.where(nat, 0, (array - array.astype("datetime64[D]")) / np.timedelta64(1, "D"))
    return day, day + within


def _parsed(values: list[Any]) -> Array:
    """Python objects as float64 days or as datetime64."""
    present = [None if type(x).__name__ in ("NAType", "NaTType") or x == "" else x for x in values]
    if all(isinstance(x, (int, float)) or x is None for x in present):
        return np.array([np.nan if x is None else x for x in present], np.float64)
    try:
        moments = [x.replace(tzinfo=None) if isinstance(x, datetime) else x for x in present]
        if all(isinstance(x, (date, str, np.datetime64)) or x is None for x in moments):
            return np.array(moments, "datetime64[us]")
    except (ValueError, TypeError):
        pass
    raise InputError("time holds objects where days or dates belong: give those, or leave time out")


def check_time_unit(unit: str | None) -> None:
    """Refuse an unknown unit of time."""
    if unit is not None and unit not in TIME_UNITS:
        raise ParameterError(f"time_unit={unit!r}: choose one of {', '.join(TIME_UNITS)}")


def unit_by_size(largest: float) -> str:
    """Unit of times, by their largest absolute number.

    >>> [unit_by_size(x) for x in (18_262, 1.6e9, 1.6e12, 1.6e15, 1.6e18)]
    ['day', 's', 'ms', 'us', 'ns']
    """
    for unit, limit in (("day", 200_001), ("s", 1e11), ("ms", 1e14), ("us", 1e17)):
        if largest < limit:
            return unit
    return "ns"
