"""Further columns of a source: channels of the entries beside the value, and attributes of the records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from standout.data.positions import LAT, LON, is_position
from standout.data.reading import names as by_name
from standout.data.reading.profile import NO_LABEL, amount_like, number_rule, trimmed
from standout.data.reading.workspace import is_number, one_row, quoted
from standout.errors import ColumnError, InputError, option

LARGEST_EXACT = 2**53
"""Whole numbers of this size and more are not all different as floats: a column of them holds labels."""


@dataclass(frozen=True)
class FurtherColumn:
    """A column of a channel beside the value, or of an attribute of the records."""

    kind: str
    """"channel" or "attribute"."""
    name: str
    column: str
    sql_name: str
    """What views call it: a channel may be called like something in SQL."""

    @property
    def role(self) -> str:
        """Its role in the list of columns."""
        return f"{self.kind} {self.name}"


@dataclass(frozen=True)
class FurtherRule:
    """How the cells of a further column are read, in SQL."""

    of: FurtherColumn
    sql: str
    """DOUBLE or VARCHAR; NULL = none."""
    is_number: bool
    note: str | None = None


def latitude_column(further: Sequence[FurtherColumn]) -> str | None:
    """Column of the latitude, if there is one and one of longitudes; refuses two that are named the other way round."""
    columns = {one.name: one.column for one in further if one.kind == "channel"}
    if not is_position(columns):
        return None
    if by_name.is_longitude(columns[LAT]) and by_name.is_latitude(columns[LON]):
        raise ColumnError(
            f"columns {columns[LAT]!r} for lat and {columns[LON]!r} for lon look swapped: use "
            f"{option(LAT, columns[LON])} {option(LON, columns[LAT])}"
        )
    return columns[LAT]


def further_rules(
    con: duckdb.DuckDBPyConnection,
    columns: Iterable[FurtherColumn],
    kinds: Mapping[str, str],
    decimal: str | None,
) -> tuple[FurtherRule, ...]:
    """How to read each further column of the view `source`: as numbers if all its cells are numbers, else as labels.

    Parameters
    ----------
    con
        Connection that has the view `source`.
    columns
        The columns.
    kinds
        SQL type of each column of the view.
    decimal
        Decimal sign of numbers in text; None = detect.

    Raises
    ------
    InputError
        If a column is empty in every row.
    """
    rules = []
    for one in columns:
        kind = kinds[one.sql_name]
        base = kind.split("(")[0]
        if kind == "VARCHAR" or base == "ENUM":
            rule = _text_rule(con, one, decimal)
        elif base in ("FLOAT", "DOUBLE", "DECIMAL") or base.endswith(("INT", "INTEGER")):
            rule = _number_rule(con, one)
        elif kind == "JSON":
            rule = FurtherRule(one, f"nullif({one.sql_name} ->> '$', '')", False)
        else:
            rule = FurtherRule(one, f"nullif({one.sql_name}::VARCHAR, '')", False)
        if one_row(con, f"SELECT count({rule.sql}) FROM source")[0] == 0:
            raise InputError(
                f"column {one.column!r} for {one.role} is empty in every row: leave it out"
            )
        rules.append(rule)
    return tuple(rules)


def _number_rule(con: duckdb.DuckDBPyConnection, one: FurtherColumn) -> FurtherRule:
    """Rule for a column of numbers."""
    number = f"CASE WHEN {is_number(f'{one.sql_name}::DOUBLE')} THEN {one.sql_name}::DOUBLE END"
    if _holds_large(con, number):
        return _labels(
            one, f"{one.sql_name}::VARCHAR", "some of its numbers have 16 digits or more"
        )
    return FurtherRule(one, number, True)


def _text_rule(
    con: duckdb.DuckDBPyConnection, one: FurtherColumn, decimal: str | None
) -> FurtherRule:
    """Rule for a column of text: numbers only if every cell is one, and none begins with a zero as a postcode does."""
    words = ", ".join(quoted(word) for word in NO_LABEL)
    text = f"{one.sql_name}::VARCHAR"
    label = f"CASE WHEN {text} NOT IN ({words}) THEN {text} END"
    cell = trimmed(text)
    n, n_numbers, n_zeros = one_row(
        con,
        f"SELECT count(c), count(*) FILTER ({amount_like('c')}), "
        f"count(*) FILTER (regexp_matches(c, '^[-+]?0[0-9]')) FROM (SELECT {cell} AS c FROM source)",
    )
    if n == 0 or n_numbers < n:
        why = f"{n - n_numbers:,} of {n:,} cells hold no number" if n_numbers else ""
        return _labels(one, label, why)
    if n_zeros:
        return _labels(one, label, f"{n_zeros:,} of {n:,} cells begin with a zero")
    rule = number_rule(con, one.column, decimal, one.sql_name, one.role)
    n_bad = one_row(con, f"SELECT count(*) FILTER ({rule.bad}) FROM source")[0]
    if n_bad:
        return _labels(one, label, f"{n_bad:,} of {n:,} cells hold no number")
    if _holds_large(con, rule.number):
        return _labels(one, label, "some of its numbers have 16 digits or more")
    return FurtherRule(one, rule.number, True, rule.note)


def _labels(one: FurtherColumn, sql: str, why: str) -> FurtherRule:
    note = (
        f"{one.role}: column {one.column!r} read as labels without an order: {why}" if why else None
    )
    return FurtherRule(one, sql, False, note)


def _holds_large(con: duckdb.DuckDBPyConnection, number: str) -> bool:
    """Whether there are numbers that are too large to be exact."""
    query = (
        f"SELECT count(*) FROM source WHERE isfinite({number}) AND abs({number}) >= {LARGEST_EXACT}"
    )
    return bool(one_row(con, query)[0])
