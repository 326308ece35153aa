"""Tables of every format except delimited text: Parquet, Arrow, JSON, databases, workbooks, the Netflix Prize."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from standout.data.reading.file_content import UnpackLimit, check_workbook, unpacked
from standout.data.reading.formats import READERS, FoundSource, read_frame
from standout.data.reading.options import ReadOptions
from standout.data.reading.servers import ObjectTable, PostgresTable
from standout.data.reading.source import FrameTable, Relation, SourceTable, chosen_table
from standout.data.reading.text import TextTable, several_tables
from standout.data.reading.workspace import identifier, literal_path, one_row, quoted
from standout.errors import InputError, ParameterError, StandoutError

_ROWS = 100_000


def open_table(
    con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource, options: ReadOptions
) -> SourceTable:
    """Open the source on the connection; refuse damaged or empty sources and several tables."""
    if found.kind == "text":
        return TextTable(folder, found, options)
    text_only = ("encoding", "delimiter", "header", "names")
    given = [name for name in text_only if getattr(options, name) is not None]
    if given:
        raise ParameterError(
            f"{', '.join(given)}: for delimited text, and {found.name} is {found.kind}: leave it out"
        )
    if found.kind in READERS:
        return FrameTable(read_frame(found, folder), found.name)
    return _OPENERS[found.kind](con, folder, found)


def _relation(
    con: duckdb.DuckDBPyConnection,
    name: str,
    sql: str,
    what: str = "",
    rows_bad: int = 0,
    first_bad: str | None = None,
) -> Relation:
    """A table that DuckDB reads; `what` names it in the error for one without rows."""
    if one_row(con, f"SELECT count(*) FROM {sql}")[0] + rows_bad == 0:
        raise InputError(f"{what or name} holds no rows")
    columns = tuple(con.sql(f"SELECT * FROM {sql} LIMIT 0").columns)
    return Relation(name, columns, sql, rows_bad=rows_bad, first_bad=first_bad)


@contextmanager
def _refused(found: FoundSource, what: str, *errors: type[Exception]) -> Iterator[None]:
    """Replace errors of libraries, which may quote cells, by one line that says what the source is not."""
    try:
        yield
    except StandoutError:
        raise
    except errors:
        raise InputError(f"{found.name} is not {what}") from None


def _netflix(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    from standout.data.reading.netflix import NAMES, parse_netflix

    parsed, n = parse_netflix(found.paths), len(found.paths)
    con.register("table_", parsed.table())
    notes = (f"layout: Netflix Prize, {n:,} file{'s' if n > 1 else ''}",)
    bad = parsed.bad_lines, parsed.first_bad
    return Relation(found.name, NAMES, "table_", False, notes, *bad, profiled=False)


def _parquet(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """Parquet files that have the same columns."""
    hive = ", hive_partitioning = true" if all("=" in p.parent.name for p in found.paths) else ""
    union = ", union_by_name = true" if len(found.paths) > 1 else ""
    files = ", ".join(literal_path(path) for path in found.paths)
    with _refused(found, "a Parquet file that can be read: truncated or damaged?", duckdb.Error):
        if union:
            names = {
                p.name: tuple(
                    con.sql(f"SELECT * FROM read_parquet({literal_path(p)}) LIMIT 0").columns
                )
                for p in found.paths[:100]
            }
            if len({frozenset(columns) for columns in names.values()}) > 1:
                raise several_tables(found.name, names)
        return _relation(con, found.name, f"read_parquet([{files}]{hive}{union})")


def _lake(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """A Delta or Iceberg table, if DuckDB has the extension for it: nothing is downloaded here."""
    kind = found.kind.capitalize()
    try:
        con.execute(f"LOAD {found.kind}")
    except duckdb.Error:
        raise InputError(
            f"{found.name} is {'an' if kind == 'Iceberg' else 'a'} {kind} table, and DuckDB's extension for it is not "
            f"installed here. Install it: python -c \"import duckdb; duckdb.sql('INSTALL {found.kind}')\""
        ) from None
    what = f"{kind} data that can be read: damaged, or of another version?"
    with _refused(found, what, duckdb.Error):
        return _relation(con, found.name, f"{found.kind}_scan({quoted(str(found.paths[0]))})")


def _arrow(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """The Arrow file, which stays mapped; a wrong offset in it would crash the process, so all are checked."""
    what = "an Arrow IPC file that can be read: truncated or damaged?"
    with _refused(found, what, pa.ArrowException, OSError, UnicodeError):
        mapped, limit = pa.memory_map(str(found.paths[0])), UnpackLimit(found.paths[0])
        reader = (pa.ipc.open_file if found.kind == "arrow" else pa.ipc.open_stream)(mapped)
        batches = []
        for batch in _arrow_batches(reader):
            limit.add(batch.nbytes)
            batches.append(batch)
        table = pa.Table.from_batches(batches, reader.schema)
        table.validate(full=True)
        table.schema.names  # noqa: B018 (decodes the names, which may be damaged)
    return _registered(con, found.name, table)


def _arrow_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        return (reader.get_batch(k) for k in range(reader.num_record_batches))
    return iter(reader)


def _registered(con: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> Relation:
    if table.num_rows == 0:
        raise InputError(f"{name} holds no rows")
    con.register("table_", table)
    return Relation(name, tuple(table.column_names), "table_")


def _json(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """JSON lines, or arrays of objects; lines that are not JSON are counted as bad rows."""
    paths = [unpacked(path, folder, k) for k, path in enumerate(found.paths)]
    files = f"[{', '.join(literal_path(p) for p in paths)}]"
    options = "compression = 'none', maximum_object_size = 67108864"
    rows, bad, first = f"read_json({files}, format = 'array', {options})", 0, None
    what = "JSON that can be read: one object per line, or an array of them"
    with _refused(found, what, duckdb.Error):
        if _first_byte(paths[0]) != b"[":
            lines = f"read_ndjson_objects({files}, ignore_errors = true, {options})"
            bad = int(one_row(con, f"SELECT count(*) - count(json) FROM {lines}")[0])
            rows = f"read_json({files}, format = 'newline_delimited', ignore_errors = true, sample_size = -1, {options})"
        if bad:
            numbered = f"SELECT row_number() OVER () AS n, json FROM {lines}"
            line = one_row(con, f"SELECT min(n) FROM ({numbered}) WHERE json IS NULL")[0]
            columns = con.sql(f"SELECT * FROM {rows} LIMIT 0").columns
            present = " OR ".join(f"{identifier(c)} IS NOT NULL" for c in columns)
            rows, first = f"(SELECT * FROM {rows} WHERE {present})", f"line {line:,}"
        # parsed once: DuckDB would parse the text again in every pass
        con.execute(f"CREATE TABLE table_ AS SELECT * FROM {rows}")
        return _relation(con, found.name, "table_", rows_bad=bad, first_bad=first)


def _first_byte(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


def _duckdb(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """A table or a view of a DuckDB file. A view is foreign SQL: it may read no other file and no address."""
    what = "a DuckDB file that can be read: damaged, open in another program, or of another version"
    with _refused(found, what, duckdb.Error):
        con.execute(f"ATTACH {quoted(str(found.paths[0]))} AS release_ (READ_ONLY)")
        con.execute("SET enable_external_access = false")  # DuckDB does not allow to set it back
    rows = con.execute(
        "SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = 'release_' UNION ALL "
        "SELECT schema_name, view_name FROM duckdb_views() WHERE database_name = 'release_' AND NOT internal ORDER BY ALL"
    ).fetchall()
    places = {
        table if schema == "main" else f"{schema}.{table}": (schema, table)
        for schema, table in rows
    }
    schema, table = places[chosen_table(found.name, found.table, list(places), "table")]
    sql = f"release_.{identifier(schema)}.{identifier(table)}"
    try:
        return _relation(con, f"{found.name}::{table}", sql, f"{found.name}: table {table!r}")
    except duckdb.PermissionException:
        raise InputError(
            f"{found.name}: {table!r} is a view that reads other files or addresses, which is not allowed: store its rows "
            "in a table"
        ) from None


def _sqlite(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """A table of an SQLite file, read with Python: DuckDB needs an extension for it that has to be downloaded."""
    path = unpacked(found.paths[0], folder)
    with _refused(found, "an SQLite file that can be read: truncated or damaged?", sqlite3.Error):
        _check_complete(path)
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            # views and virtual tables are SQL written by the author of the file
            db.execute("PRAGMA trusted_schema = OFF")
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            names = db.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name"
            )
            table = chosen_table(found.name, found.table, [name for (name,) in names], "table")
            cursor = db.execute(f"SELECT * FROM {identifier(table)}")
            columns = [column[0] for column in cursor.description]
            made = _arrow_of(columns, iter(lambda: cursor.fetchmany(_ROWS), []))
    return _registered(con, f"{found.name}::{table}", made)


def _check_complete(path: Path) -> None:
    """Refuse an SQLite file that is shorter than its header says: SQLite reads one that is cut within its last page."""
    with path.open("rb") as file:
        head = file.read(100)
        size = file.seek(0, 2)
    page = int.from_bytes(head[16:18]) or 1
    page = 65536 if page == 1 else page
    # the number of pages is valid if the program that changed the file last wrote it, and pages may
    # still be in the log
    counted = head[24:28] == head[92:96]
    log = path.with_name(f"{path.name}-wal")
    pages = int.from_bytes(head[28:32]) if counted else 0
    if len(head) < 100 or (
        (size < pages * page or size % page) and not (log.exists() and log.stat().st_size)
    ):
        raise sqlite3.DatabaseError("the file is cut")


def _workbook(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> Relation:
    """A sheet of an xlsx workbook whose first row holds the names of the columns."""
    from openpyxl import load_workbook

    # a damaged file makes the libraries below raise nearly anything
    with _refused(found, "a workbook that can be read: truncated or damaged?", Exception):
        check_workbook(found.paths[0])
        # openpyxl warns about styles and extensions, which hold no data
        with (
            warnings.catch_warnings(action="ignore"),
            closing(load_workbook(found.paths[0], read_only=True, data_only=True)) as book,
        ):
            filled = [sheet.title for sheet in book.worksheets if any(_cells(sheet))]
            sheet = chosen_table(found.name, found.table, filled, "sheet")
            rows = _cells(book[sheet])
            header = next(rows)
            width = max(k + 1 for k, cell in enumerate(header) if cell is not None)
            names = [
                f"column{k + 1}" if c is None else str(c).strip()
                for k, c in enumerate(header[:width])
            ]
            padded = (row[:width] + (None,) * (width - len(row)) for row in rows)
            made = _arrow_of(names, iter(lambda: list(islice(padded, _ROWS)), []))
    return _registered(con, f"{found.name}::{sheet}", made)


def _cells(sheet: Any) -> Iterator[tuple[Any, ...]]:
    """Rows of a sheet that are not blank."""
    return (
        tuple(row)
        for row in sheet.iter_rows(values_only=True)
        if any(cell is not None for cell in row)
    )


def _arrow_of(names: list[str], batches: Iterable[list[tuple[Any, ...]]]) -> pa.Table:
    """Rows of Python objects as an Arrow table; a column of several types becomes text."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"the name {twice[0]!r} is used for more than one column: rename all but one"
        )
    parts: list[list[pa.Array]] = [[] for _ in names]
    for batch in batches:
        for k, column in enumerate(zip(*batch, strict=True)):
            parts[k].append(_array(list(column)))
    return pa.table({name: _joined(part) for name, part in zip(names, parts, strict=True)})


def _array(cells: list[Any]) -> pa.Array:
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds <= {int, float} and len(kinds) > 1:
        return pa.array([None if c is None else float(c) for c in cells], pa.float64())
    try:
        if len(kinds) <= 1:
            return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        pass
    return pa.array([None if c is None else _as_text(c) for c in cells], pa.string())


def _as_text(cell: Any) -> str:
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _joined(parts: list[pa.Array]) -> pa.ChunkedArray:
    kinds = {part.type for part in parts if part.type != pa.null()}
    if len(kinds) <= 1:
        kind = kinds.pop() if kinds else pa.null()
    else:
        kind = pa.float64() if kinds <= {pa.int64(), pa.float64()} else pa.string()
    return pa.chunked_array([part.cast(kind) for part in parts], kind)


def _postgres(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> SourceTable:
    assert found.remote is not None
    return PostgresTable(found.remote.url, found.name, found.table)


def _objects(con: duckdb.DuckDBPyConnection, folder: Path, found: FoundSource) -> SourceTable:
    assert found.objects is not None
    return ObjectTable(found.objects)


_OPENERS: dict[str, Callable[[duckdb.DuckDBPyConnection, Path, FoundSource], SourceTable]] = {
    "arrow": _arrow,
    "arrow-stream": _arrow,
    "delta": _lake,
    "duckdb": _duckdb,
    "iceberg": _lake,
    "json": _json,
    "netflix": _netflix,
    "objects": _objects,
    "parquet": _parquet,
    "postgresql": _postgres,
    "sqlite": _sqlite,
    "xlsx": _workbook,
}
