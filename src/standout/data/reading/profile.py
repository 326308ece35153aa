"""Content of a column: its kind, and how texts are read as numbers; whether it looks like a direct identifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb

from standout.data.reading.names import direct_identifier, words
from standout.data.reading.workspace import one_row, quoted
from standout.errors import ColumnError

SAMPLE = 5_000
"""Number of rows examined."""
_MOST = 0.8
"""Share of the present cells that decides what a column holds."""

NO_CELL = ("", "na", "n/a", "nan", "nat", "null", "none", "<na>", "\\n")
"""Texts that mean a missing value or time, in lower case."""

NO_LABEL = ("", "NULL", "null", "NaN", "nan", "<NA>", "\\N")
"""Texts that exports write for a missing label."""

CURRENCY = r"\p{Sc}|%|EUR|USD|GBP|CHF|JPY|SEK|NOK|DKK|PLN|CZK|HUF|INR|CNY|AUD|CAD|NZD|BRL|MXN|ZAR|TRY|RUB|Rs\.?|kr\.?|zł|Fr\.?"
"""Signs and codes that may precede or follow an amount, as a regular expression."""
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
EMAIL = r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}"
"""An e-mail address, as a regular expression."""
PHONE = r"(\+|00)\d[\d ()/.-]{7,18}\d|\(\d{3}\) ?\d{3}[- ]\d{4}"
"""A phone number, as a regular expression."""
_PATTERNS = {
    "date": (
        r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2})|\d{1,2} \d{1,2}, \d{4})([T ,].*)?"
        rf"|(?i)([a-z]{{3,9}},? )?({_MONTH}[ .-]*\d{{1,2}}|\d{{1,2}}(st|nd|rd|th)?[ ./-]*{_MONTH})\b.*\d{{2}}.*"
    ),
    "clock": r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[AaPp][Mm])?",
    "number": rf"[-+(]?\s*({CURRENCY})?\s*[-+]?\d[\d.,'’ \x{{A0}}\x{{202F}}]*\s*({CURRENCY})?\)?",
    "e-mail address": EMAIL,
    "IP address": r"(\d{1,3}\.){3}\d{1,3}|[0-9A-Fa-f]{0,4}(:[0-9A-Fa-f]{0,4}){3,7}",
    "device identifier": r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}",
    "phone number": PHONE,
    "bank account": r"[A-Z]{2}\d{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}",
    "national identifier": r"\d{3}-\d{2}-\d{4}",
    "card": r"\d{4}([ -]?\d{4}){2}[ -]?\d{1,7}|\d{13,19}",
    "person": r"\p{Lu}\p{Ll}+,? (\p{Lu}\. ?)?\p{Lu}\p{Ll}+",
}
_EPOCHS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EARLIEST, _LATEST = 315_532_800, 4_102_444_800  # 1980 and 2100 in seconds


@dataclass(frozen=True)
class Profile:
    """What the sample shows about one column. Holds counts and kinds, no cells."""

    name: str
    kind: str
    """empty, date, clock, epoch, whole, real, flag, text or other."""
    rows: int
    present: int
    distinct: int
    identifier: str | None = None
    """Kind of direct identifier that it looks like, or None."""

    @property
    def is_number(self) -> bool:
        """Whether the cells can be values."""
        return self.kind in ("whole", "real", "flag")

    @property
    def is_time(self) -> bool:
        """Whether the cells are dates, date-times or seconds since 1970."""
        return self.kind in ("date", "epoch")

    @property
    def numbers_rows(self) -> bool:
        """Whether every row has a different number or name."""
        return self.rows >= 50 and self.distinct == self.rows

    @property
    def is_constant(self) -> bool:
        """Whether all rows of a large enough sample have the same content."""
        return self.rows >= 50 and self.distinct <= 1

    @property
    def words(self) -> str:
        """The content in words."""
        if self.kind == "empty":
            return "empty in the sample"
        word = {
            "date": "dates",
            "clock": "times of day",
            "epoch": "dates as numbers",
            "whole": "whole numbers",
            "real": "numbers",
            "flag": "true or false",
            "text": "text",
            "other": "nested data",
        }[self.kind]
        return f"{word}, {self.distinct:,} distinct in {self.rows:,} rows"


def trimmed(cell: str) -> str:
    """SQL for the text of a cell, NULL if it means a missing value or time."""
    missing = ", ".join(quoted(word) for word in NO_CELL)
    return f"CASE WHEN lower(trim({cell})) NOT IN ({missing}) THEN trim({cell}) END"


def profile_columns(
    con: duckdb.DuckDBPyConnection, names: list[str] | tuple[str, ...]
) -> dict[str, Profile]:
    """Profile of each column; the table `sample_` holds the rows to examine, with columns c0, c1 and so on."""
    kinds = [kind for _, kind, *_ in con.execute("DESCRIBE sample_").fetchall()]
    rows = int(one_row(con, "SELECT count(*) FROM sample_")[0])
    found = {}
    for k, name in enumerate(names):
        if name not in found:
            found[name] = _profiled(con, name, f"c{k}", kinds[k], rows)
    return found


def is_constant_per(con: duckdb.DuckDBPyConnection, column: int, by: int) -> bool:
    """Whether the sample's rows with the same `by` all have the same `column`, if the sample can show it."""
    pairs, groups, rows, values = one_row(
        con,
        f"SELECT count(DISTINCT (c{by}, c{column})), count(DISTINCT c{by}), count(*), count(DISTINCT c{column}) "
        f"FROM sample_ WHERE c{by} IS NOT NULL AND c{column} IS NOT NULL",
    )
    return bool(values > 1 and groups > 1 and rows >= 1.5 * groups and pairs == groups)


def _profiled(
    con: duckdb.DuckDBPyConnection, name: str, column: str, kind: str, rows: int
) -> Profile:
    base = kind.split("(")[0]
    text = kind == "VARCHAR" or base == "ENUM"
    cell = trimmed(f"{column}::VARCHAR")
    present, distinct = (
        int(x) for x in one_row(con, f"SELECT count({cell}), count(DISTINCT {cell}) FROM sample_")
    )
    content, identifier = "other", None
    if not present:
        content = "empty"
    elif text:
        content, identifier = _text_kind(con, cell, present, "name" in words(name))
    elif kind == "DATE" or kind.startswith("TIMESTAMP"):
        content = "date"
    elif base == "TIME":
        content = "clock"
    elif base == "BOOLEAN":
        content = "flag"
    elif base in ("FLOAT", "DOUBLE", "DECIMAL") or base.endswith(("INT", "INTEGER")):
        content = _number_kind(con, cell)
        identifier = "card number" if content == "whole" and _are_cards(con, cell) else None
    elif base == "UUID":
        content = "text"
    identifier = identifier or direct_identifier(name)
    return Profile(
        name, content, rows, present, distinct, None if content == "empty" else identifier
    )


def _text_kind(
    con: duckdb.DuckDBPyConnection, cell: str, present: int, is_name: bool
) -> tuple[str, str | None]:
    """Kind of a column of text, and the direct identifier that its cells look like."""
    counts = one_row(
        con,
        "SELECT count(TRY_CAST(c AS DOUBLE)), "
        + ", ".join(
            f"count(*) FILTER (regexp_full_match(c, {quoted(p)}))" for p in _PATTERNS.values()
        )
        + f" FROM (SELECT {cell} AS c FROM sample_) WHERE c IS NOT NULL",
    )
    cast, hits = counts[0], dict(zip(_PATTERNS, counts[1:], strict=True))
    most = _MOST * present
    if cast >= most and cast * 2 > present:
        kind = _number_kind(con, cell)
        return kind, "card number" if kind == "whole" and hits["card"] >= most and _are_cards(
            con, cell
        ) else None
    for kind in ("date", "clock"):
        # cells that do not parse are counted when the file is read; the column still holds dates
        if hits[kind] * 2 > present:
            return kind, None
    for what in (
        "e-mail address",
        "IP address",
        "device identifier",
        "phone number",
        "bank account",
        "national identifier",
    ):
        if hits[what] >= most:
            return "text", what
    if hits["card"] >= most and _are_cards(con, cell):
        return "text", "card number"
    if is_name and hits["person"] >= most:
        return "text", "person name"
    return ("real" if hits["number"] * 2 > present else "text"), None


def _number_kind(con: duckdb.DuckDBPyConnection, cell: str) -> str:
    """Kind of a column of numbers: whole, real, or dates as numbers."""
    low, high, whole, calendar, n = one_row(
        con,
        "SELECT min(x), max(x), bool_and(x = floor(x)), count(*) FILTER (x BETWEEN 19000101 AND 21001231 AND "
        "TRY(make_date(x::BIGINT // 10000, x::BIGINT // 100 % 100, x::BIGINT % 100)) IS NOT NULL), count(*) FROM "
        f"(SELECT TRY_CAST({cell} AS DOUBLE) AS x FROM sample_) WHERE isfinite(x)",
    )
    if n == 0:
        return "real"
    if n == calendar or any(_EARLIEST * f <= low and high <= _LATEST * f for f in _EPOCHS.values()):
        return "epoch"
    return "whole" if whole else "real"


def _are_cards(con: duckdb.DuckDBPyConnection, cell: str) -> bool:
    """Whether the cells are as long as card numbers and nearly all have the right check digit."""
    cells: list[tuple[Any]] = con.execute(
        f"SELECT DISTINCT regexp_replace({cell}, '[ -]', '', 'g') AS c FROM sample_ WHERE c IS NOT NULL LIMIT 300"
    ).fetchall()
    digits = [c for (c,) in cells if c.isdecimal() and 13 <= len(c) <= 19]
    return (
        len(digits) >= 10
        and len(digits) >= _MOST * len(cells)
        and sum(map(_luhn, digits)) >= 0.9 * len(digits)
    )


def _luhn(digits: str) -> bool:
    total = 0
    for k, c in enumerate(reversed(digits)):
        x = int(c) * (1 + k % 2)
        total += x - 9 if x > 9 else x
    return total % 10 == 0


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


def amount_like(cell: str) -> str:
    """SQL: whether a trimmed cell is a number, perhaps with a currency, thousands or parentheses."""
    return f"(TRY_CAST({cell} AS DOUBLE) IS NOT NULL OR regexp_full_match({cell}, {quoted(_PATTERNS['number'])}))"


def number_rule(
    con: duckdb.DuckDBPyConnection,
    column: str,
    decimal: str | None,
    sql_name: str = "value",
    role: str = "value",
) -> NumberRule:
    """Find out how to read the texts in a column of the view `source`.

    Parameters
    ----------
    con
        Connection that has the view `source`.
    column
        Name of the column in the data, for messages.
    decimal
        Decimal sign given by the caller, None = detect.
    sql_name
        What the view calls the column.
    role
        What the column is used for, for the note.

    Raises
    ------
    ColumnError
        If the cells can be read both with a decimal point and with a decimal comma.
    """
    cell = trimmed(f"{sql_name}::VARCHAR" if sql_name != "value" else sql_name)
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
    note = f"{role}: column {column!r} read with a decimal {'comma' if comma else 'point'}, signs and thousands removed"
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
