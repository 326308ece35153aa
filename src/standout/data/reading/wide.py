"""Wide matrices: rows are records, columns are items, and a cell that holds something is an entry."""

from __future__ import annotations

import duckdb

from standout.data.cleaning import ColumnUse, identifier_notes, ignored_note
from standout.data.reading import names as by_name
from standout.data.reading.columns import Roles, check_ignored, shown_names
from standout.data.reading.options import GUESS, ReadOptions
from standout.data.reading.profile import Profile, number_rule, profile_columns, trimmed
from standout.data.reading.source import Source, SourceTable
from standout.data.reading.workspace import identifier, one_row
from standout.errors import ColumnError, option

_NUMBERED = "number of the row"


def load_wide(
    con: duckdb.DuckDBPyConnection, table: SourceTable, options: ReadOptions
) -> tuple[Source, Roles]:
    """Make the view `source` (record, item, value) of a wide matrix.

    Raises
    ------
    ColumnError
        If the column of the records is unknown, a column holds text, or the meaning of zeros is
        ambiguous.
    """
    table.sample(con)
    profiles = profile_columns(con, table.names)
    ignored = check_ignored(options.ignore, table.names)
    record = _record(table.names, profiles, options, ignored)
    items = [name for name in table.names if name != record and name not in ignored]
    if len(items) < 2:
        raise ColumnError(
            f"a wide matrix has at least two columns of items, and {table.name} has {len(items)}"
        )
    text = [
        name
        for name in items
        if profiles[name].kind not in ("whole", "real", "flag", "empty", "epoch")
    ]
    if text:
        raise ColumnError(
            f"columns of a wide matrix hold numbers, and these do not: {shown_names(text, table.names)}. Leave them out with "
            f"{option('ignore', 'NAME,NAME')}, or name the record with {option('record')}"
        )
    source = _unpivoted(con, table, record, items, options.decimal)
    zeros, has_value = _zeros(con, options.zeros)
    columns = "record, item, value" if has_value else "record, item"
    con.execute(
        f"CREATE VIEW source AS SELECT {columns} FROM long_ {'WHERE number IS DISTINCT FROM 0' if zeros == 'drop' else ''}"
    )
    uses = tuple(_use(name, record, ignored, profiles[name]) for name in table.names)
    notes = [f"wide matrix: record = {record or _NUMBERED}, {len(items):,} columns of items"]
    notes.append(
        "empty cells are no entries; "
        + {"keep": "zeros are entries", "drop": "zeros are no entries"}[zeros]
    )
    if not has_value:
        notes.append("all entries hold the same value, which is left out")
    roles = Roles(
        record or _NUMBERED,
        "name of the column",
        "cell" if has_value else None,
        None,
        (*notes, *ignored_note(uses), *identifier_notes(uses)),
        uses,
    )
    return Source(
        source.name,
        True,
        source.notes,
        source.rows_bad,
        source.first_bad,
        lambda row: f"entry {row:,}",
    ), roles


def _record(
    names: tuple[str, ...],
    profiles: dict[str, Profile],
    options: ReadOptions,
    ignored: tuple[str, ...],
) -> str | None:
    """Column that names the records; None to number the rows."""
    if options.record is None or options.record == "":
        return None
    if isinstance(options.record, str):
        if options.record not in names:
            raise ColumnError(
                f"no column {options.record!r} for record. Columns: {shown_names(names)}"
            )
        return options.record
    assert options.record is GUESS
    free = [n for n in names if n not in ignored]
    known = [
        n
        for n in free
        if any(by_name.plain(n) in tier for tier in by_name.TIERS["record"]) or n in _INDEX
    ]
    fitting = [n for n in known if profiles[n].distinct == profiles[n].rows]
    if len(fitting) == 1:
        return fitting[0]
    texts = [
        n for n in free if profiles[n].kind == "text" and profiles[n].distinct == profiles[n].rows
    ]
    if not known and len(texts) == 1:
        return texts[0]
    raise ColumnError(
        f"nothing says which column of the wide matrix names the records: name it with {option('record')}, or number the "
        f"rows with {option('record', '')}. Columns: {shown_names(names)}"
    )


_INDEX = ("id", "ID", "Id", "column1", "index")


def _unpivoted(
    con: duckdb.DuckDBPyConnection,
    table: SourceTable,
    record: str | None,
    items: list[str],
    decimal: str | None,
) -> Source:
    """Make the table `long_` (record, item, value, number) of all cells that are not empty."""
    chosen = {f"i{k}": name for k, name in enumerate(items)}
    if record is not None:
        chosen["record"] = record
    source = table.load(con, chosen)
    label = "record::VARCHAR" if record is not None else "row_number() OVER ()::VARCHAR"
    cells = ", ".join(f"i{k}::VARCHAR AS {identifier(f'i{k}')}" for k in range(len(items)))
    con.execute(f"CREATE TABLE cells_ AS SELECT {label} AS record, {cells} FROM source")
    con.execute("DROP VIEW source")
    con.execute("CREATE TABLE items_ (place VARCHAR, item VARCHAR)")
    con.executemany(
        "INSERT INTO items_ VALUES (?, ?)", [(f"i{k}", name) for k, name in enumerate(items)]
    )
    con.execute(
        "CREATE TABLE cells_long AS SELECT u.record, items_.item, u.value FROM "
        "(UNPIVOT cells_ ON COLUMNS(* EXCLUDE record) INTO NAME place VALUE value) u JOIN items_ USING (place) "
        f"WHERE {trimmed('u.value')} IS NOT NULL"
    )
    con.execute("CREATE VIEW source AS SELECT value FROM cells_long")
    rule = number_rule(con, "cells", decimal)
    con.execute("DROP VIEW source")
    con.execute(
        f"CREATE VIEW long_ AS SELECT record, item, value, {rule.number} AS number FROM cells_long"
    )
    return source


def _zeros(con: duckdb.DuckDBPyConnection, said: str | None) -> tuple[str, bool]:
    """Whether zeros are entries ("keep", "drop"), and whether the values then differ."""
    n, n_zero, low, high, n_cells = one_row(
        con,
        "SELECT count(*), count(*) FILTER (number = 0), min(number) FILTER (number <> 0), "
        "max(number) FILTER (number <> 0), (SELECT count(*) FROM cells_) * (SELECT count(*) FROM items_) FROM long_",
    )
    if said is None:
        if n_zero == 0 or n < n_cells:
            said = "keep"  # empty cells already mean "no entry"
        elif low == high:
            said = "drop"  # zeros and one other number: a presence matrix
        else:
            raise ColumnError(
                "every cell of the wide matrix holds a number, and some are 0: say whether a zero is an entry with "
                f"{option('zeros', 'keep')}, or not with {option('zeros', 'drop')}"
            )
    return said, not (low == high and (said == "drop" or n_zero == 0))


def _use(name: str, record: str | None, ignored: tuple[str, ...], profile: Profile) -> ColumnUse:
    role = "record" if name == record else "ignored" if name in ignored else "item"
    return ColumnUse(
        name, role, f"wide matrix; {profile.words}", profile.identifier if role != "item" else None
    )
