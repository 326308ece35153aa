"""How a time column is read, decided from all of its cells: the rule is SQL, so that DuckDB applies it."""

from __future__ import annotations

from dataclasses import replace

import duckdb

from standout.data.reading.profile import NO_CELL
from standout.data.reading.time_columns import TimeRule, _calendar_rule, _check_some, _number_rule
from standout.data.reading.workspace import is_number, one_row, quoted
from standout.data.times import ORDERS, PER_DAY, TICKS_PER_DAY, mixed_zones
from standout.errors import ColumnError, InputError, ParameterError

_CLOCKS = (
    "",
    " %H:%M",
    " %H:%M:%S",
    " %I:%M %p",
    " %I:%M:%S %p",
    "T%H:%M:%S",
    ", %H:%M",
    ", %I:%M %p",
)
_DATES = {
    # %y comes first: %Y would read the year of 12/1/10 as 10
    "m/d": ("%m/%d/%y", "%m/%d/%Y", "%m-%d-%y", "%m-%d-%Y", "%m %d, %Y"),
    "d/m": ("%d/%m/%y", "%d/%m/%Y", "%d-%m-%y", "%d-%m-%Y", "%d.%m.%y", "%d.%m.%Y"),
    "name": (
        *(
            "%d %b %Y",
            "%d-%b-%y",
            "%d-%b-%Y",
            "%b %d, %Y",
            "%d %B %Y",
            "%B %d, %Y",
            "%b %d %Y",
            "%d %b %y",
            "%d. %B %Y",
        ),
        *("%d/%b/%Y", "%a, %d %b %Y", "%a %d %b %Y", "%A, %B %d, %Y", "%d-%B-%Y"),
    ),
    "zone": (
        *(
            "%a %b %d %H:%M:%S %z %Y",
            "%a, %d %b %Y %H:%M:%S %z",
            "%d/%b/%Y:%H:%M:%S %z",
            "%d %b %Y %H:%M:%S %z",
        ),
    ),
    "dots": ("%Y.%m.%d",),
}
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
    cell = _cell("time" if kind == "VARCHAR" else "time::VARCHAR")
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


def _cell(time: str = "time") -> str:
    """SQL for the text of a cell, NULL if it means a missing time."""
    listed = ", ".join(quoted(w) for w in NO_CELL)
    return f"CASE WHEN lower(trim({time})) NOT IN ({listed}) THEN trim({time}) END"


def _text_rule(con: duckdb.DuckDBPyConnection, column: str, unit: str | None) -> TimeRule:
    """Rule for text: numbers, ISO, or the known date format that reads the most cells."""
    cell = _cell()
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
        formats = [d + clock for d in dates for clock in (_CLOCKS if family != "zone" else ("",))]
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
