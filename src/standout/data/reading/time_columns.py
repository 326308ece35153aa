"""Columns of numbers and of calendar times: the expressions that read them as ticks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import duckdb

from standout.data.reading.names import words
from standout.data.reading.workspace import one_row
from standout.data.times import ORDERS, PER_DAY, SLACK, TICKS_PER_DAY, unit_by_size
from standout.errors import ColumnError, InputError, ParameterError

_WORDS = {
    "day": "day numbers",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
    "min": "minutes",
    "hour": "hours",
    "week": "weeks",
}
OTHER_UNITS = {
    "week",
    "weeks",
    "month",
    "months",
    "quarter",
    "year",
    "years",
    "hour",
    "hours",
    "minute",
    "minutes",
    "min",
    "second",
    "seconds",
    "sec",
    "step",
    "steps",
    "period",
    "slot",
    "bin",
    "tick",
    "epoch",
    "index",
}
"""Words in the name of a column which indicate that its small numbers may not be days."""
LAST_PART = 60
"""Numbers from 0 to this may be weeks of a year, hours of a day, minutes of an hour."""


@dataclass(frozen=True)
class TimeRule:
    """How the cells of a time column are read, in SQL."""

    stamp: str
    """The time of the cell `time`, NULL where it is missing or cannot be read."""
    ticks: dict[str, str]
    """Resolution → ticks of `stamp` since 1970-01-01."""
    whole: dict[str, str]
    """Resolution → whether `stamp` is a whole number of ticks."""
    moment: str
    """`stamp` in days."""
    bad: str
    """True where the cell holds something other than a time."""
    note: str


def _calendar_rule(stamp: str, bad: str, note: str) -> TimeRule:
    """Rule for dates and time stamps."""
    ticks, whole = {"day": "(CAST(stamp AS DATE) - DATE '1970-01-01')"}, {}
    for name, n in TICKS_PER_DAY.items():
        ticks.setdefault(name, f"CAST(floor(epoch(stamp) / {86_400 // n}) AS BIGINT)")
        whole[name] = f"epoch_us(stamp) % {PER_DAY['us'] // n} = 0"
    return TimeRule(stamp, ticks, whole, "epoch(stamp) / 86400.0", bad, note)


def _number_rule(
    con: duckdb.DuckDBPyConnection, column: str, unit: str | None, x: str, bad: str = "false"
) -> TimeRule:
    """Rule for numbers: by the given unit, or by their size."""
    if unit in ORDERS:
        raise ParameterError(
            f"time_unit={unit!r} is for dates in text, and column {column!r} holds numbers"
        )
    low, high, whole = one_row(
        con, f"SELECT min(x), max(x), bool_and(x = floor(x)) FROM (SELECT {x} AS x FROM source)"
    )
    if low is not None and not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"column {column!r} holds infinite times: replace or remove them")
    guessed = unit is None
    if unit is None:
        if (
            low is not None
            and whole
            and low >= 19_000_101
            and high <= 21_001_231
            and _all_calendar(con, x)
        ):
            return _calendar_rule(
                _calendar(x), bad, f"time: column {column!r} read as dates written YYYYMMDD"
            )
        unit = unit_by_size(0.0 if low is None else max(abs(low), abs(high)))
        if low is not None and unit == "day":
            _check_days(column, low, high)
        _check_one_unit(con, column, x, unit)
    why = "by their size" if guessed else "as asked"
    note = f"time: column {column!r} read as {_WORDS[unit]} since 1970 ({why})"
    if unit == "week":
        note = f"time: column {column!r} read as numbers of weeks: days within a week are not known (as asked)"
        ticks = {
            name: f"CAST(floor(stamp * {7 * n}) AS BIGINT)" for name, n in TICKS_PER_DAY.items()
        }
        return TimeRule(x, ticks, _whole(x, ticks, 1 / 7), "stamp::DOUBLE * 7", bad, note)
    per_day = PER_DAY[unit]
    ticks = {name: _tick_of_number("DOUBLE" in x, per_day, n) for name, n in TICKS_PER_DAY.items()}
    return TimeRule(x, ticks, _whole(x, ticks, per_day), f"stamp::DOUBLE / {per_day}", bad, note)


def _whole(x: str, ticks: dict[str, str], per_day: float) -> dict[str, str]:
    """SQL for whether a number of which a day has `per_day` is a whole number of ticks, by resolution."""
    if "DOUBLE" not in x:
        return {
            name: f"stamp % {per_day // n} = 0" if per_day > n else "true"
            for name, n in TICKS_PER_DAY.items()
        }
    if per_day >= TICKS_PER_DAY["second"]:
        return {
            name: f"stamp = {ticks[name]} * {int(per_day // n)}"
            for name, n in TICKS_PER_DAY.items()
        }
    # fractions of days, hours and minutes are not exact in binary
    most = TICKS_PER_DAY["second"]
    seconds = f"(stamp * {most / per_day})"
    near = f"abs({seconds} - round({seconds})) <= {SLACK}"
    return {
        name: f"({near} AND {ticks['second']} = {most // n} * {ticks[name]})"
        for name, n in TICKS_PER_DAY.items()
    }


def _check_one_unit(con: duckdb.DuckDBPyConnection, column: str, x: str, unit: str) -> None:
    """Refuse a column of two units, as where two exports were joined: half of the times would be in January 1970."""
    finer = ("s", "ms", "us", "ns")
    for coarser in finer[: finer.index(unit)] if unit in finer else ():
        # of 1990 to 2100 in the other unit, and before 1975 in this one
        early, late, before = (
            7_300 * PER_DAY[coarser],
            47_500 * PER_DAY[coarser],
            1_800 * PER_DAY[unit],
        )
        n = one_row(
            con,
            f"SELECT count(*) FROM (SELECT {x} AS x FROM source) WHERE x BETWEEN {early} AND {min(late, before)}",
        )
        if n[0]:
            raise InputError(
                f"column {column!r} mixes {_WORDS[coarser]} and {_WORDS[unit]} since 1970 ({n[0]:,} of the smaller "
                "numbers): convert them to one unit, or say that all are of one with --time-unit (time_unit=)"
            )


def _tick_of_number(is_float: bool, per_day: int, ticks: int) -> str:
    """SQL for the tick of the number `stamp` of which a day has `per_day`; a day has this many ticks."""
    if (
        per_day < ticks
    ):  # whole days or hours become several ticks; fractions of them are not exact in binary
        slack = f" + {SLACK}" if is_float else ""
        return f"CAST(floor(stamp * {ticks // per_day}{slack}) AS BIGINT)"
    per_tick = per_day // ticks
    if is_float:
        return f"CAST(floor(stamp / {per_tick}) AS BIGINT)"
    # `//` rounds toward zero, and times before 1970 must round down
    return (
        f"CAST((stamp - ((stamp % {per_tick} + {per_tick}) % {per_tick})) // {per_tick} AS BIGINT)"
    )


def _check_days(column: str, low: float, high: float) -> None:
    """Ask for the unit of small numbers if the name indicates another unit than days, or if they may be part of a date."""
    said = {*words(column), "".join(words(column))}
    named = bool({"day", "days", "daynumber", "daynr"} & said)
    if not (OTHER_UNITS & said) and not (low >= 0 and high <= (31 if named else LAST_PART)):
        return
    what = (
        "days of the month or numbers of days" if named else "days, weeks, hours or something else"
    )
    raise ColumnError(
        f"column {column!r} holds small numbers, and nothing says whether they are {what}: say which with "
        "--time-unit day, week, hour, min or s (time_unit=), or leave the time out with time=None (--time '')"
    )


def _check_some(n_read: int, column: str, what: str) -> None:
    if n_read == 0:
        raise InputError(
            f"column {column!r} holds text where {what} belong: name another, or none (time=None, --time '')"
        )


def _calendar(x: str) -> str:
    n = f"CAST({x} AS BIGINT)"
    return f"TRY(make_date({n} // 10000, {n} // 100 % 100, {n} % 100))"


def _all_calendar(con: duckdb.DuckDBPyConnection, x: str) -> bool:
    n, read = one_row(
        con, f"SELECT count(x), count({_calendar('x')}) FROM (SELECT {x} AS x FROM source)"
    )
    return bool(n == read)
