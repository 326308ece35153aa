"""How a time column is read, decided by looking at all of it: the rule is SQL, so that DuckDB applies it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import duckdb

from standout.data.reading.workspace import one_row, quoted
from standout.data.times import ORDERS, PER_DAY, unit_by_size
from standout.errors import InputError, ParameterError

_WORDS = {
    "day": "day numbers",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}

NO_CELL = ("", "na", "n/a", "nan", "nat", "null", "none", "<na>", "\\n")
"""Texts that say that a value or a time is missing, in lower case."""

_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", "T%H:%M:%S")
_DATES = {
    # %y comes first: %Y would read the year of 12/1/10 as 10
    "m/d": ("%m/%d/%y", "%m/%d/%Y", "%m-%d-%y", "%m-%d-%Y"),
    "d/m": ("%d/%m/%y", "%d/%m/%Y", "%d-%m-%y", "%d-%m-%Y", "%d.%m.%y", "%d.%m.%Y"),
    "name": ("%d %b %Y", "%d-%b-%y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y"),
}
_NAMED = "dates with the name of the month"


@dataclass(frozen=True)
class TimeRule:
    """How the cells of a time column are read, in SQL."""

    day: str
    """Whole days since 1970-01-01, NULL where the cell is missing or cannot be read."""
    moment: str
    """The full time in days."""
    bad: str
    """True where the cell holds something that is no time."""
    note: str


def time_rule(con: duckdb.DuckDBPyConnection, column: str, kind: str, unit: str | None) -> TimeRule:
    """Find out how to read the times of the view `source`, whose SQL type is `kind`.

    Parameters
    ----------
    con
        Connection that has the view `source` with the column `time`.
    column
        What the owner of the data calls the column, for messages.
    kind
        SQL type of the column.
    unit
        What the caller says about the unit, None = find out.
    """
    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        # DuckDB has no functions for zoned nanoseconds
        stamp = "time::TIMESTAMP_NS" if kind == "TIMESTAMPTZ_NS" else "time"
        moment = f"CASE WHEN isfinite({stamp}) THEN {stamp} END"
        note = "dates" if kind == "DATE" else "date-times"
        return _calendar_rule(moment, "false", f"time: {note} of column {column!r}")
    if kind == '"NULL"':
        return _calendar_rule("NULL::TIMESTAMP", "false", "")  # that it is empty is for the survey to say
    if kind == "VARCHAR":
        return _text_rule(con, column, unit)
    if kind.split("(")[0] in ("FLOAT", "DOUBLE", "DECIMAL"):
        return _number_rule(con, column, unit, "CASE WHEN NOT isnan(time::DOUBLE) THEN time::DOUBLE END")
    if kind.endswith(("INT", "INTEGER")):
        return _number_rule(
            con, column, unit, "time::DOUBLE" if "HUGE" in kind or kind == "UBIGINT" else "time::BIGINT"
        )
    raise InputError(
        f"column {column!r} is of type {kind.lower()}, which holds no dates: name another, or none (time='')"
    )


def _calendar_rule(stamp: str, bad: str, note: str) -> TimeRule:
    day = f"(CAST({stamp} AS DATE) - DATE '1970-01-01')"
    return TimeRule(day, f"epoch({stamp}) / 86400.0", bad, note)


def _number_rule(con: duckdb.DuckDBPyConnection, column: str, unit: str | None, x: str, bad: str = "false") -> TimeRule:
    """Rule for numbers: by the unit that was said, or by their size."""
    if unit in ORDERS:
        raise ParameterError(f"time_unit={unit!r} is for dates in text, and column {column!r} holds numbers")
    low, high, whole = one_row(con, f"SELECT min(x), max(x), bool_and(x = floor(x)) FROM (SELECT {x} AS x FROM source)")
    if low is not None and not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"column {column!r} holds infinite times: replace or remove them")
    guessed = unit is None
    if unit is None:
        if low is not None and whole and low >= 19_000_101 and high <= 21_001_231 and _all_calendar(con, x):
            return _calendar_rule(_calendar(x), bad, f"time: column {column!r} read as dates written YYYYMMDD")
        unit = unit_by_size(0.0 if low is None else max(abs(low), abs(high)))
    per_day = PER_DAY[unit]
    why = "by their size" if guessed else "as asked"
    note = f"time: column {column!r} read as {_WORDS[unit]} since 1970 ({why})"
    if "DOUBLE" in x:
        day = f"CAST(floor({x} / {per_day}) AS BIGINT)"
    else:
        # `//` cuts towards zero, and days before 1970 have to go down
        day = f"CAST(({x} - (({x} % {per_day} + {per_day}) % {per_day})) // {per_day} AS BIGINT)"
    return TimeRule(day, f"({x})::DOUBLE / {per_day}", bad, note)


def _calendar(x: str) -> str:
    n = f"CAST({x} AS BIGINT)"
    return f"TRY(make_date({n} // 10000, {n} // 100 % 100, {n} % 100))"


def _all_calendar(con: duckdb.DuckDBPyConnection, x: str) -> bool:
    n, read = one_row(con, f"SELECT count(x), count({_calendar('x')}) FROM (SELECT {x} AS x FROM source)")
    return bool(n == read)


def _text_rule(con: duckdb.DuckDBPyConnection, column: str, unit: str | None) -> TimeRule:
    """Rule for text: numbers, ISO, or the known way to write dates that reads the most cells."""
    words = ", ".join(f"'{w}'" for w in NO_CELL)
    cell = f"CASE WHEN lower(trim(time)) NOT IN ({words}) THEN trim(time) END"
    number = f"TRY_CAST({cell} AS DOUBLE)"
    iso = _four_digit_year(f"TRY_CAST({cell} AS TIMESTAMP)")
    n, n_number, n_iso = one_row(con, f"SELECT count({cell}), count({number}), count({iso}) FROM source")
    if unit in PER_DAY or (n_number >= n_iso and n_number * 2 > n):
        _check_some(n_number if n else 1, column, "numbers")
        return _number_rule(con, column, unit, number, f"({cell} IS NOT NULL AND {number} IS NULL)")
    if n_iso == n and unit is None:
        return _calendar_rule(iso, "false", f"time: ISO dates of column {column!r}")
    stamps, counts = _family_counts(con, cell, unit)
    stamps["iso"], counts["iso"] = iso, n_iso
    best = max(counts, key=lambda k: counts[k])
    _check_some(counts[best], column, "dates")
    if unit is None and counts["m/d"] == counts["d/m"] == counts[best]:
        raise InputError(
            f"dates of column {column!r} read both as month/day and as day/month: say which with "
            "time_unit='m/d' or 'd/m' (--time-unit m/d or d/m)"
        )
    word = {"iso": "ISO dates", "name": _NAMED, **ORDERS}[best]
    return _calendar_rule(
        stamps[best],
        f"({cell} IS NOT NULL AND {stamps[best]} IS NULL)",
        f"time: column {column!r} read as {word}",
    )


def _family_counts(
    con: duckdb.DuckDBPyConnection, cell: str, unit: str | None
) -> tuple[dict[str, str], dict[str, int]]:
    """SQL for each way to write dates, and how many cells it reads."""
    families = {unit: _DATES[unit]} if unit is not None else _DATES
    stamps, counts = {}, {}
    sample = f"(SELECT {cell} AS c FROM source WHERE {cell} IS NOT NULL LIMIT 1000)"
    for family, dates in families.items():
        formats = [d + clock for d in dates for clock in _CLOCKS]
        hits = one_row(
            con, f"SELECT {', '.join(f'count(try_strptime(c, {quoted(f)}))' for f in formats)} FROM {sample}"
        )
        # a row costs as many tries as there are formats before its own: those of the sample go first
        tried = [f for f, hit in zip(formats, hits, strict=True) if hit]
        formats = tried + [f for f in formats if f not in tried]
        listed = ", ".join(quoted(f) for f in formats)
        stamps[family] = _four_digit_year(f"try_strptime({cell}, [{listed}])")
        counts[family] = int(one_row(con, f"SELECT count({stamps[family]}) FROM source")[0])
    return stamps, counts


def _four_digit_year(stamp: str) -> str:
    """The time-stamp, unless 01-02-03 was taken for the year 1, or it is "infinity"."""
    return f"CASE WHEN year({stamp}) >= 1000 THEN {stamp} END"


def _check_some(n_read: int, column: str, what: str) -> None:
    if n_read == 0:
        raise InputError(
            f"column {column!r} holds text where {what} belong: name another, or none (time='', --time '')"
        )
