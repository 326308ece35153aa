"""Times as ticks: whole days, hours, minutes or seconds since 1970-01-01 in UTC; tolerances of times."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.errors import InputError, ParameterError

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


TICKS_PER_DAY = {"day": 1, "hour": 24, "minute": 1440, "second": 86_400}
"""Resolutions, from coarse to fine: the ticks that a day has."""

LONGEST_SPAN = 2**31 - 2**27
"""Ticks from the first to the last time: kernels compute gaps in 32 bits, and a known time may lie
up to 2^26 ticks outside the data (`attacks.tables`). 64 years of seconds."""

LONGEST_DAYS = 2**24
"""Days from the first to the last time: in 46,000 years, the unit is not the right one."""

_WITHIN = {
    "w": Fraction(7),
    "d": Fraction(1),
    "h": Fraction(1, 24),
    "min": Fraction(1, 1440),
    "s": Fraction(1, 86_400),
}
_NUMPY = {"day": "D", "hour": "h", "minute": "m", "second": "s"}
SLACK = 1e-5
"""Ticks by which a fraction of a day may be too small: hours, minutes and seconds are not exact in binary days."""


def check_resolution(resolution: str) -> None:
    """Refuse an unknown resolution of time."""
    if resolution not in TICKS_PER_DAY:
        raise ParameterError(f"resolution={resolution!r}: choose one of {', '.join(TICKS_PER_DAY)}")


FINER = (*TICKS_PER_DAY, "millisecond")
"""Units of times, from coarse to fine. Fractions of a second occur in data and are read to the second."""


def finer_than(unit: str, resolution: str) -> bool:
    """Whether a unit of times is finer than a resolution; no unit is not.

    >>> finer_than("second", "minute"), finer_than("day", "day"), finer_than("", "day")
    (True, False, False)
    """
    return unit != "" and FINER.index(unit) > FINER.index(resolution)


def finest_unit(whole: Mapping[str, bool]) -> str:
    """Finest unit that times have; `whole` says of each resolution whether all times are whole numbers of it.

    >>> none = dict.fromkeys(TICKS_PER_DAY, False)
    >>> finest_unit(none | {"hour": True, "minute": True, "second": True}), finest_unit(none)
    ('hour', 'millisecond')
    """
    return next((name for name in TICKS_PER_DAY if whole[name]), FINER[-1])


def default_resolution(unit: str, n_seconds: float) -> str:
    """Finest resolution for times that have this finest unit and span this many seconds.

    >>> default_resolution("second", 1e8), default_resolution("hour", 1e8), default_resolution("second", 3e9)
    ('second', 'hour', 'minute')
    """
    fitting = [
        name
        for name, n in TICKS_PER_DAY.items()
        if n_seconds * n / TICKS_PER_DAY["second"] <= LONGEST_SPAN
    ]
    return next((name for name in reversed(fitting) if not finer_than(name, unit)), "day")


def resolution_notes(unit: str, resolution: str, asked: bool) -> tuple[str, ...]:
    """Notes on how finely times were read; `asked` says whether the caller chose the resolution.

    >>> resolution_notes("millisecond", "second", False)
    ('time: the data has milliseconds; times were read to the second',)
    """
    if finer_than(unit, resolution):
        why = ""
        if asked:
            why = " (as asked)"
        elif resolution != "second":
            years = LONGEST_SPAN / 365.25 / TICKS_PER_DAY[FINER[FINER.index(resolution) + 1]]
            why = f", because they span more than {years:,.0f} years"
        return (f"time: {cut_words(unit, resolution)}{why}",)
    if resolution == "day":
        return ()
    nothing = ", but no row has a time of day: every time is 0:00" if unit == "day" else ""
    return (f"time: read to the {resolution}{nothing}",)


def cut_words(unit: str, resolution: str) -> str:
    """Words for times that were read more coarsely than the data has them."""
    return f"the data has {unit}s; times were read to the {resolution}"


def midnight_words(n_midnight: int, n_times: int, unit: str) -> str:
    """Words for times that are 0:00 more often than times of day would be by chance; empty if they are not.

    Dates without a time of day are read as 0:00. `unit` is the finest one that the times have.

    >>> midnight_words(300, 1000, "minute")
    '300 of 1,000 times are exactly 0:00, as dates without a time of day are read'
    >>> midnight_words(2, 3000, "minute"), midnight_words(1000, 1000, "day")
    ('', '')
    """
    expected = n_times / TICKS_PER_DAY.get(unit, PER_DAY["s"])
    if unit in ("", "day") or n_midnight < max(3, expected + 5 * expected**0.5):
        return ""
    return f"{n_midnight:,} of {n_times:,} times are exactly 0:00, as dates without a time of day are read"


def mixed_zones(what: str, n_zoned: int, n_plain: int) -> str:
    """Error for times of which some have a time zone and some have none."""
    return (
        f"{what} mixes times with a time zone ({n_zoned:,}) and without one ({n_plain:,}), and nothing says which zone the "
        "latter are in: write all of them with a zone, or all without"
    )


def longest_span(resolution: str) -> int:
    """Most ticks from the first to the last time."""
    return min(LONGEST_SPAN, LONGEST_DAYS * TICKS_PER_DAY[resolution])


def check_span(first_tick: float, last_tick: float, resolution: str = "day") -> None:
    """Refuse times that lie further apart than tick offsets can represent."""
    if last_tick - first_tick <= longest_span(resolution):
        return
    per_year = 365.25 * TICKS_PER_DAY[resolution]
    years = (last_tick - first_tick) / per_year
    if resolution != "day":
        raise InputError(
            f"the times span {years:,.0f} years, and with {resolution}s at most {LONGEST_SPAN / per_year:,.0f} years can be "
            "read: use a coarser resolution (--resolution), or check the unit of the times (--time-unit)"
        )
    raise InputError(
        f"the times span {years:,.0f} years: is the unit right? Say it with time_unit (--time-unit)"
    )


def days_within(within: Any) -> Fraction:
    """Tolerance of times in days: a whole number of days, or a text like "30s", "30min", "2h", "3d" or "2w".

    >>> days_within(14), days_within("2h"), days_within("2w")
    (Fraction(14, 1), Fraction(1, 12), Fraction(14, 1))
    """
    if isinstance(within, str):
        found = re.fullmatch(r"(\d{1,9}) ?(s|min|h|d|w)", within.strip())
        if found:
            return int(found[1]) * _WITHIN[found[2]]
    elif _is_number(within) and np.isfinite(within) and within == int(within) >= 0:
        return Fraction(int(within))
    raise ParameterError(
        f'time_within={within!r}: use a whole number of days, a text like "30s", "30min", "2h", "3d" or "2w", or None for times '
        "that are not known"
    )


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


def needed_resolution(withins: Any) -> str:
    """Coarsest resolution in which every tolerance is a whole number of ticks; None is no tolerance.

    >>> needed_resolution([14, None]), needed_resolution([0, "2h"]), needed_resolution(["90min"])
    ('day', 'hour', 'minute')
    """
    days = [days_within(w) for w in withins if w is not None]
    return next(
        name for name, n in TICKS_PER_DAY.items() if all((d * n).denominator == 1 for d in days)
    )


def ticks_within(within: Any, resolution: str) -> int:
    """Tolerance in ticks.

    >>> ticks_within(2, "hour"), ticks_within("30min", "minute")
    (48, 30)
    """
    ticks = days_within(within) * TICKS_PER_DAY[resolution]
    if ticks.denominator != 1:
        finer = needed_resolution([within])
        raise ParameterError(
            f"time_within={within!r} is no whole number of {resolution}s, and the times of the data are {resolution}s: read "
            f"the data with resolution={finer!r} (--resolution {finer})"
        )
    return int(ticks)


def loose_ticks(within: Any, resolution: str) -> float:
    """Tolerance of an attack in ticks: a number of days, fractions included, or a text; it need not be whole ticks.

    >>> loose_ticks(0.5, "hour"), loose_ticks("90min", "hour")
    (12.0, 1.5)
    """
    if _is_number(within) and 0 <= within < np.inf:
        return float(within) * TICKS_PER_DAY[resolution]
    return float(days_within(within) * TICKS_PER_DAY[resolution])


def time_words(within: Any, resolution: str = "day") -> str:
    """How exactly times are known.

    >>> time_words(14), time_words(0), time_words(14, "hour"), time_words("30min", "minute"), time_words(0, "minute")
    ('days ±14', 'days exact', 'times ±14 days', 'times ±30 min', 'times to the minute')
    """
    if resolution == "day" and not isinstance(within, str):
        return "days exact" if within == 0 else f"days ±{within:g}"
    return (
        f"times to the {resolution}"
        if days_within(within) == 0
        else f"times ±{within_text(within)}"
    )


def within_text(within: Any) -> str:
    """Tolerance with its unit.

    >>> within_text(14), within_text("30min"), within_text("1w")
    ('14 days', '30 min', '1 week')
    """
    if not isinstance(within, str):
        within = f"{within:g}d"
    number, unit = re.findall(r"[\d.]+|[a-z]+", within)
    one, more = {
        "s": ("s", "s"),
        "min": ("min", "min"),
        "h": ("h", "h"),
        "d": ("day", "days"),
        "w": ("week", "weeks"),
    }[unit]
    return f"{number} {one if number == '1' else more}"


def to_ticks(days: Any, resolution: str) -> Array:
    """Ticks since 1970-01-01 (float64, NaN stays NaN) of times in days, fractions included.

    >>> to_ticks([1.5, -0.25, np.nan], "hour").tolist()
    [36.0, -6.0, nan]
    """
    array = np.asarray(days, dtype=np.float64)
    n = TICKS_PER_DAY[resolution]
    if n == 1:
        return np.asarray(np.floor(array))
    exact = array * n
    # seconds of the year 9999 have fewer bits after the point than the slack
    return np.asarray(np.floor(exact + np.maximum(SLACK, 2.0**-51 * np.abs(exact))))


def tick_text(tick: int, resolution: str) -> str:
    """A tick since 1970-01-01 as a date, with the time of day where the resolution has one.

    >>> tick_text(18262, "day"), tick_text(438297, "hour")
    ('2020-01-01', '2020-01-01T09:00')
    """
    moment = np.array(int(tick)).astype(f"datetime64[{_NUMPY[resolution]}]")
    return str(moment.astype("datetime64[m]") if resolution == "hour" else moment)


MOST_DAYS = 10_000_000
"""Days from 1970 beyond which a number is no day: 27,000 years. Unix seconds are larger from April 1970 on."""


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
