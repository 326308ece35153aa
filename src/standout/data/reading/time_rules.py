"""How a time column is read, decided from all of its cells: the rule is SQL, so that DuckDB applies it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import duckdb

from standout.data.reading.names import words
from standout.data.reading.profile import trimmed
from standout.data.reading.workspace import is_number, one_row, quoted
from standout.data.times import ORDERS, PER_DAY, SLACK, TICKS_PER_DAY, mixed_zones, unit_by_size
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
_UNIT_WORDS = (
    "week weeks month months quarter year years hour hours minute minutes min second seconds sec step steps period slot bin "
    "tick epoch index"
)
"""Words in the name of a column which indicate that its small numbers may not be days."""
_LAST_PART = 60
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
    may_be_part = low >= 0 and high <= (31 if named else _LAST_PART)
    if not may_be_part and not said & set(_UNIT_WORDS.split()):
        return
    what = (
        "days of the month or numbers of days" if named else "days, weeks, hours or something else"
    )
    raise ColumnError(
        f"column {column!r} holds small numbers, and nothing says whether they are {what}: say which with "
        "--time-unit day, week, hour, min or s (time_unit=), or leave the time out with time=None (--time '')"
    )


def _calendar(x: str) -> str:
    n = f"CAST({x} AS BIGINT)"
    return f"TRY(make_date({n} // 10000, {n} // 100 % 100, {n} % 100))"


def _all_calendar(con: duckdb.DuckDBPyConnection, x: str) -> bool:
    n, read = one_row(
        con, f"SELECT count(x), count({_calendar('x')}) FROM (SELECT {x} AS x FROM source)"
    )
    return bool(n == read)


_CLOCKS = "| %H:%M| %H:%M:%S| %I:%M %p| %I:%M:%S %p|T%H:%M:%S|, %H:%M|, %I:%M %p"
"""What may follow a date, nothing first."""
_DATES = {
    # %y comes first: %Y would read the year of 12/1/10 as 10
    "m/d": "%m/%d/%y|%m/%d/%Y|%m-%d-%y|%m-%d-%Y|%m %d, %Y",
    "d/m": "%d/%m/%y|%d/%m/%Y|%d-%m-%y|%d-%m-%Y|%d.%m.%y|%d.%m.%Y",
    "name": "%d %b %Y|%d-%b-%y|%d-%b-%Y|%b %d, %Y|%d %B %Y|%B %d, %Y|%b %d %Y|%d %b %y|%d. %B %Y|%d/%b/%Y|%a, %d %b %Y|"
    "%a %d %b %Y|%A, %B %d, %Y|%d-%B-%Y",
    "zone": "%a %b %d %H:%M:%S %z %Y|%a, %d %b %Y %H:%M:%S %z|%d/%b/%Y:%H:%M:%S %z|%d %b %Y %H:%M:%S %z",
    "dots": "%Y.%m.%d",
}
"""Formats of dates by family, in the order in which they are tried."""
_NAMES = {
    "iso": "ISO dates",
    "name": "dates with the name of the month",
    "zone": "dates of e-mails and logs, in UTC",
    "dots": "year.month.day",
    **ORDERS,
}


def time_rule(
    con: duckdb.DuckDBPyConnection,
    column: str,
    kind: str,
    unit: str | None,
    date_format: str | None = None,
) -> TimeRule:
    """Find out how to read the times of the view `source`, whose SQL type is `kind`.

    Parameters
    ----------
    con
        Connection that has the view `source` with the column `time`.
    column
        Name of the column in the data, for messages.
    kind
        SQL type of the column.
    unit
        Unit given by the caller, None = detect.
    date_format
        Format of dates in text, None = detect.

    Raises
    ------
    ColumnError
        If the unit of numbers does not follow from their size, or dates can be read in two orders.
    """
    if date_format is not None:
        return _format_rule(con, column, kind, date_format)
    if unit is not None and (kind == "DATE" or kind.startswith("TIMESTAMP")):
        raise ParameterError(
            f"time_unit={unit!r} is for numbers and text, and column {column!r} holds dates"
        )
    if kind == "DATE":
        rule = _calendar_rule(
            "CASE WHEN isfinite(time) THEN time END", "false", f"time: dates of column {column!r}"
        )
        return replace(rule, whole=dict.fromkeys(TICKS_PER_DAY, "true"))
    if kind.startswith("TIMESTAMP"):
        # DuckDB has no functions for zoned nanoseconds
        stamp = "time::TIMESTAMP_NS" if kind == "TIMESTAMPTZ_NS" else "time"
        moment = f"CASE WHEN isfinite({stamp}) THEN {stamp} END"
        return _calendar_rule(moment, "false", f"time: date-times of column {column!r}")
    if kind == '"NULL"':
        return _calendar_rule("NULL::TIMESTAMP", "false", "")  # the survey reports an empty column
    if kind == "VARCHAR":
        return _text_rule(con, column, unit)
    if kind.split("(")[0] in ("FLOAT", "DOUBLE", "DECIMAL"):
        number = f"CASE WHEN {is_number('time::DOUBLE')} THEN time::DOUBLE END"
        return _number_rule(con, column, unit, number)
    if kind.endswith(("INT", "INTEGER")):
        number = "time::DOUBLE" if "HUGE" in kind or kind == "UBIGINT" else "time::BIGINT"
        return _number_rule(con, column, unit, number)
    raise InputError(
        f"column {column!r} is of type {kind.lower()}, which holds no dates: name another, or none (time=None, --time '')"
    )


def _format_rule(
    con: duckdb.DuckDBPyConnection, column: str, kind: str, date_format: str
) -> TimeRule:
    """Rule for texts in the format given by the caller."""
    if kind != "VARCHAR" and not kind.endswith(("INT", "INTEGER")):
        raise ParameterError(
            f"date_format={date_format!r} is for dates in text, and column {column!r} is {kind.lower()}"
        )
    cell = trimmed("time" if kind == "VARCHAR" else "time::VARCHAR")
    stamp = f"try_strptime({cell}, {quoted(date_format)})::TIMESTAMP"
    try:
        n, n_read = one_row(con, f"SELECT count({cell}), count({stamp}) FROM source")
    except duckdb.InvalidInputException:
        raise ParameterError(
            f"date_format={date_format!r} is not a format: use %Y, %m, %d, %H, %M and %S as in %d.%m.%Y"
        ) from None
    if n and not n_read:
        raise InputError(
            f"no cell of column {column!r} is written like date_format={date_format!r}"
        )
    note = f"time: column {column!r} read as {date_format} (as asked)"
    return _calendar_rule(stamp, f"({cell} IS NOT NULL AND {stamp} IS NULL)", note)


def _text_rule(con: duckdb.DuckDBPyConnection, column: str, unit: str | None) -> TimeRule:
    """Rule for text: numbers, ISO, or the known date format that reads the most cells."""
    cell = trimmed("time")
    number = f"TRY_CAST({cell} AS DOUBLE)"
    iso = _four_digit_year(_iso(cell))
    n, n_number, n_iso, n_zoned = one_row(
        con,
        f"SELECT count({cell}), count({number}), count({iso}), count(CASE WHEN {_zoned(cell)} THEN {iso} END) FROM source",
    )
    if unit in PER_DAY or unit == "week" or (n_number >= n_iso and n_number * 2 > n):
        _check_some(n_number if n else 1, column, "numbers")
        return _number_rule(con, column, unit, number, f"({cell} IS NOT NULL AND {number} IS NULL)")
    if 0 < n_zoned < n_iso:
        raise InputError(mixed_zones(f"column {column!r}", n_zoned, n_iso - n_zoned))
    if n_iso == n and unit is None:
        return _calendar_rule(iso, "false", f"time: ISO dates of column {column!r}")
    stamps, counts = _family_counts(con, cell)
    stamps["iso"], counts["iso"] = iso, n_iso
    best = unit if unit is not None else max(counts, key=lambda k: counts[k])
    _check_some(counts[best], column, "dates")
    if unit is None and counts["m/d"] == counts["d/m"] == counts[best]:
        raise ColumnError(
            f"dates of column {column!r} read both as month/day and as day/month: say which with "
            "time_unit='m/d' or 'd/m' (--time-unit m/d or d/m)"
        )
    if counts[best] < n:
        _check_one_order(con, column, cell, stamps, best)
    word = _NAMES[best]
    return _calendar_rule(
        stamps[best],
        f"({cell} IS NOT NULL AND {stamps[best]} IS NULL)",
        f"time: column {column!r} read as {word}",
    )


def _check_some(n_read: int, column: str, what: str) -> None:
    if n_read == 0:
        raise InputError(
            f"column {column!r} holds text where {what} belong: name another, or none (time=None, --time '')"
        )


def _check_one_order(
    con: duckdb.DuckDBPyConnection, column: str, cell: str, stamps: dict[str, str], best: str
) -> None:
    """Refuse dates of several orders in one column: reading some of them wrongly would change the measured risk."""
    others = " OR ".join(
        f"{stamp} IS NOT NULL" for family, stamp in stamps.items() if family != best
    )
    n = one_row(
        con,
        f"SELECT count(*) FROM source WHERE {cell} IS NOT NULL AND {stamps[best]} IS NULL AND ({others})",
    )[0]
    if n:
        raise InputError(
            f"column {column!r} mixes ways to write dates: most are {_NAMES[best]}, {n:,} are written otherwise. Write "
            "all of them in one way, or name one with --date-format (date_format=), which makes the others bad rows"
        )


def _family_counts(
    con: duckdb.DuckDBPyConnection, cell: str
) -> tuple[dict[str, str], dict[str, int]]:
    """SQL for each family of date formats, and the number of cells it reads; 0 if it reads none of the first thousand."""
    stamps, counts = {}, {}
    sample = f"(SELECT {cell} AS c FROM source WHERE {cell} IS NOT NULL LIMIT 1000)"
    for family, dates in _DATES.items():
        clocks = _CLOCKS.split("|") if family != "zone" else [""]
        formats = [date + clock for date in dates.split("|") for clock in clocks]
        hits = one_row(
            con,
            f"SELECT {', '.join(f'count(try_strptime(c, {quoted(f)}))' for f in formats)} FROM {sample}",
        )
        # formats are tried in order for each row: those of the sample come first
        tried = [f for f, hit in zip(formats, hits, strict=True) if hit]
        formats = tried + [f for f in formats if f not in tried]
        listed = ", ".join(quoted(f) for f in formats)
        stamps[family] = _four_digit_year(f"try_strptime({cell}, [{listed}])::TIMESTAMP")
        counts[family] = (
            int(one_row(con, f"SELECT count({stamps[family]}) FROM source")[0]) if tried else 0
        )
    return stamps, counts


def _iso(cell: str) -> str:
    """SQL for the time stamp of an ISO text, in UTC: a cast to TIMESTAMP would drop the zone."""
    plain = f"TRY_CAST({cell} AS TIMESTAMP)"
    zoned = f"TRY_CAST({cell} AS TIMESTAMPTZ)::TIMESTAMP"
    return f"CASE WHEN {_zoned(cell)} THEN coalesce({zoned}, {plain}) ELSE {plain} END"


def _zoned(cell: str) -> str:
    """SQL for whether an ISO text has a zone: a sign or a letter after the date."""
    return f"regexp_matches(substr({cell}, 12), '[-+A-Za-z]')"


def _four_digit_year(stamp: str) -> str:
    """The time stamp, unless 01-02-03 was read as the year 1, or it is "infinity"."""
    return f"CASE WHEN year({stamp}) >= 1000 THEN {stamp} END"
