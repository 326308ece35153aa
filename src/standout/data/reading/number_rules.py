"""How a column of values in text is read, decided from all of its cells: decimal signs, thousands, currencies."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from standout.data.reading.profile import CURRENCY, trimmed
from standout.data.reading.workspace import one_row, quoted
from standout.errors import ColumnError

# signs and codes before or after the number; blanks of all kinds; parentheses of accountants
_AROUND = rf"[\s\x{{A0}}\x{{202F}}]*({CURRENCY})[\s\x{{A0}}\x{{202F}}]*"
_POINT = r"[-+]?(\d{1,3}([,'’ ]\d{3})+(\.\d+)?|\d+(\.\d+)?|\.\d+)"
_COMMA = r"[-+]?(\d{1,3}([.'’ ]\d{3})+(,\d+)?|\d+(,\d+)?|,\d+)"
_DOUBTFUL = r"[-+]?[1-9]\d{0,2}(\.\d{3})+"
_PARENTHESES = r"^\((.*)\)$"
_MINUS, _FIRST = r"'-\1'", r"'\1'"
_BLANK = r"[\s\x{A0}\x{202F}]"
_THOUSANDS_POINT, _THOUSANDS_COMMA = r"[, '’]", r"[. '’]"


@dataclass(frozen=True)
class NumberRule:
    """How the cells of a column of values are read, in SQL."""

    number: str
    """The number, NULL where the cell is missing or cannot be read."""
    bad: str
    """True where the cell holds something other than a number."""
    note: str | None


def number_rule(con: duckdb.DuckDBPyConnection, column: str, decimal: str | None) -> NumberRule:
    """Find out how to read the texts in the column `value` of the view `source`.

    Parameters
    ----------
    con
        Connection that has the view `source`.
    column
        Name of the column in the data, for messages.
    decimal
        Decimal sign given by the caller, None = detect.

    Raises
    ------
    ColumnError
        If the cells can be read both with a decimal point and with a decimal comma.
    """
    cell = trimmed("value")
    plain = f"TRY_CAST({cell} AS DOUBLE)"
    cells = f"(SELECT {cell} AS c FROM source)"
    n, n_plain = one_row(con, f"SELECT count(c), count(TRY_CAST(c AS DOUBLE)) FROM {cells}")
    if n_plain == n and decimal != ",":
        if decimal is None and _may_be_thousands(con, cells):
            raise _doubt(column, "is 1.234 a fraction or more than a thousand?")
        return _rule(plain, cell, None)
    bare = _bare(cell)
    n_point, n_comma = one_row(
        con,
        f"SELECT count(*) FILTER (regexp_full_match(c, {quoted(_POINT)})), "
        f"count(*) FILTER (regexp_full_match(c, {quoted(_COMMA)})) FROM (SELECT {bare} AS c FROM source)",
    )
    if decimal is None and n_point == n_comma and n_point > n_plain:
        n_grouped = one_row(
            con, f"SELECT count(*) FILTER (regexp_matches({bare}, '[.,]')) FROM source"
        )[0]
        if n_grouped:
            raise _doubt(column, "is 1,234 a fraction or more than a thousand?")
    if max(n_point, n_comma) <= n_plain and decimal is None:
        return _rule(plain, cell, None)
    comma = decimal == "," or (decimal is None and n_comma > n_point)
    number = _comma_number(bare) if comma else _point_number(bare)
    note = f"value: column {column!r} read with a decimal {'comma' if comma else 'point'}, signs and thousands removed"
    return _rule(number if comma else f"coalesce({plain}, {number})", cell, note)


def _may_be_thousands(con: duckdb.DuckDBPyConnection, cells: str) -> bool:
    """Whether every point could separate thousands: 1.234 and 567, but never 0.5 or 2.75."""
    # counts only: a cluster adds them up over its partitions
    grouped = f"regexp_full_match(c, {quoted(_DOUBTFUL)})"
    first = f"SELECT {grouped} AS grouped FROM {cells} WHERE contains(c, '.') LIMIT 1000"
    n, n_other = one_row(con, f"SELECT count(*), count(*) FILTER (NOT grouped) FROM ({first})")
    if n == 0 or n_other:
        return False
    n_other, n_short = one_row(
        con,
        f"SELECT count(*) FILTER (contains(c, '.') AND NOT {grouped}), "
        f"count(*) FILTER (NOT contains(c, '.') AND length(c) <= 3) FROM {cells}",
    )
    return bool(n_other == 0 and n_short > 0)


def _rule(number: str, cell: str, note: str | None) -> NumberRule:
    return NumberRule(
        f"CASE WHEN NOT isnan({number}) THEN {number} END",
        f"({cell} IS NOT NULL AND {number} IS NULL)",
        note,
    )


def _bare(cell: str) -> str:
    """The cell without currency signs, with a sign for parentheses and plain blanks for all others."""
    inner = f"regexp_replace({cell}, {quoted(_PARENTHESES)}, {_MINUS})"
    after = f"regexp_replace({inner}, {quoted(_AROUND + '$')}, '')"
    before = f"regexp_replace({after}, {quoted('^([-+]?)' + _AROUND)}, {_FIRST})"
    return f"trim(regexp_replace({before}, {quoted(_BLANK)}, ' ', 'g'))"


def _point_number(bare: str) -> str:
    digits = f"regexp_replace({bare}, {quoted(_THOUSANDS_POINT)}, '', 'g')"
    return f"CASE WHEN regexp_full_match({bare}, {quoted(_POINT)}) THEN TRY_CAST({digits} AS DOUBLE) END"


def _comma_number(bare: str) -> str:
    digits = f"replace(regexp_replace({bare}, {quoted(_THOUSANDS_COMMA)}, '', 'g'), ',', '.')"
    return f"CASE WHEN regexp_full_match({bare}, {quoted(_COMMA)}) THEN TRY_CAST({digits} AS DOUBLE) END"


def _doubt(column: str, why: str) -> ColumnError:
    return ColumnError(
        f"numbers of column {column!r} read both with a decimal point and with a decimal comma ({why}): say which with "
        "decimal='.' or ',' (--decimal)"
    )
