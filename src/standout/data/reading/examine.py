"""What a check has to know of a source: the columns that reading leaves out, and hashes of everything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path

import duckdb

from standout.data.cleaning import ColumnUse
from standout.data.reading.file_content import unzipped
from standout.data.reading.formats import FoundSource, find_source
from standout.data.reading.options import ReadOptions
from standout.data.reading.profile import EMAIL
from standout.data.reading.source import FrameTable, SourceTable
from standout.data.reading.tables import open_table
from standout.data.reading.workspace import one_row, workspace
from standout.data.scratch import scratch_folder
from standout.data.whole import How, Whole, changed, unexamined
from standout.errors import InputError

Uses = tuple[ColumnUse, ...]
Versions = list[tuple[int, ...]]


def how_to_examine(found: FoundSource, options: ReadOptions, uses: Uses) -> How:
    """How to examine a source that was just read; at once if it is a copy that is removed after reading.

    Parameters
    ----------
    found
        What was read.
    options
        How it was read.
    uses
        Its columns.
    """
    if found.archive is not None:
        archive = found.archive.absolute()
        return partial(_examine_zip, archive, versions_of([archive]), found.table, options, uses)
    here = replace(found, paths=tuple(p.absolute() for p in found.paths))
    if found.is_copy:
        return _examine(here, None, options, uses)
    return partial(_examine, here, versions_of(_files(here)), options, uses)


def examine_frame(table: FrameTable, uses: Uses) -> Whole:
    """What is known of a frame: its columns."""
    try:
        if all(use.role != "ignored" for use in uses):
            return unexamined(uses, "the data is a frame")
        with workspace(table.name) as (con, _):
            uses = examined(con, table, uses)
    except InputError:  # objects that are no cells stay "not measured"
        pass
    return unexamined(uses, "the data is a frame")


def _examine_zip(
    archive: Path, before: Versions, table: str | None, options: ReadOptions, uses: Uses
) -> Whole:
    try:
        if versions_of([archive]) != before:
            raise changed(archive.name)
        whole = hash_of_files([archive])
    except OSError:
        return unexamined(uses, "the file cannot be read any more")
    with scratch_folder() as made:
        (made / "unzipped").mkdir()
        found = find_source(unzipped(archive, made / "unzipped"), table)
        return replace(_examine(found, None, options, uses), sha256=whole)


def _examine(
    found: FoundSource, before: Versions | None, options: ReadOptions, uses: Uses
) -> Whole:
    """All columns and the hash of a source; `before` is its version when it was read."""
    try:
        files = _files(found)
        if before is not None and versions_of(files) != before:
            raise changed(found.name)
        sha = hash_of_files(files) if files else None
    except OSError:
        return unexamined(uses, "the file cannot be read any more")
    covers = f"all bytes of {'the file' if len(files) == 1 else f'{len(files):,} files'}"
    if found.kind == "saved":
        return Whole(uses, sha, covers)
    ignored = any(use.role == "ignored" for use in uses)
    if sha is None or ignored:
        with workspace(found.name) as (con, folder):
            table = open_table(con, folder, found, options)
            uses = examined(con, table, uses)
            if sha is None:
                sha, covers = hash_of_cells(con, table), "all cells of the table"
    if files and before is not None and versions_of(files) != before:
        raise changed(found.name)
    return Whole(uses, sha, covers)


def _files(found: FoundSource) -> list[Path]:
    """Files that hold the source, in a fixed order; none for a table on a server."""
    return [
        file
        for path in found.paths
        for file in (sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path])
    ]


def versions_of(files: Iterable[Path]) -> Versions:
    """What changes when a file is written or replaced: file number, size and time of the last change."""
    stats = [path.stat() for path in files]
    return [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in stats]


CHECKABLE = 0.95
"""A column depends on another one if no two rows contradict it, and this share of the rows could: several records share them."""
_EMAIL = f"'{EMAIL}'"
_CHUNK = 1 << 22
_ROWS = 100_000


def examined(
    con: duckdb.DuckDBPyConnection, table: SourceTable, uses: Sequence[ColumnUse]
) -> tuple[ColumnUse, ...]:
    """The columns, with the role "harmless" and the reason for those that add nothing to the measured ones.

    Harmless is only what all rows show: one content, a copy of a measured column, the number of the
    row, or one content per item, value or time. A column of attributes of people is none of these.
    """
    names = [use.name for use in uses]
    once = [use for use in uses if names.count(use.name) == 1]
    read = [use for use in once if use.is_read]
    measured = {f"f{k}" if x.further else x.role: x.name for k, x in enumerate(read)}
    if list(measured.values()) != [use.name for use in read]:
        measured.pop("item", None)  # a wide matrix: its items are columns
    left = {f"c{k}": use for k, use in enumerate(once) if use.role == "ignored"}
    if not left:
        return tuple(uses)
    table.load(con, {**measured, **{column: use.name for column, use in left.items()}})
    found = {use.name: _judged(con, column, use, measured) for column, use in left.items()}
    con.execute("DROP VIEW source")
    return tuple(found.get(use.name, use) for use in uses)


def _judged(
    con: duckdb.DuckDBPyConnection, column: str, use: ColumnUse, measured: dict[str, str]
) -> ColumnUse:
    reason = _harmless(con, column, measured)
    if reason is not None:
        return replace(use, role="harmless", reason=reason)
    if use.identifier is None and _emails(con, column):
        return replace(use, identifier="e-mail address")
    return use


def _harmless(con: duckdb.DuckDBPyConnection, column: str, measured: dict[str, str]) -> str | None:
    """Why a column adds nothing to the measured ones; None if the rows do not show it."""
    cell = f"{column}::VARCHAR"
    same = "".join(f", bool_and({cell} IS NOT DISTINCT FROM {role}::VARCHAR)" for role in measured)
    n, present, distinct, *copies = one_row(
        con, f"SELECT count(*), count({column}), count(DISTINCT {cell}){same} FROM source"
    )
    if present == 0:
        return "empty in every row"
    if distinct == 1 and present == n and n > 1:
        return "the same in every row"
    for name, is_copy in zip(measured.values(), copies, strict=True):
        if is_copy:
            return f"a copy of {name}"
    # as text, because 1.25, 2.17, … are no row numbers
    numbers = (
        f"SELECT CASE WHEN TRY_CAST({cell} AS BIGINT)::VARCHAR = {cell} THEN TRY_CAST({cell} AS BIGINT) - "
        "row_number() OVER () END AS d FROM source"
    )
    if one_row(
        con, f"SELECT count(d) = count(*) AND min(d) = max(d) AND count(*) > 1 FROM ({numbers})"
    )[0]:
        return "the number of the row"
    for role in ("item", "value", "time"):
        if (
            role in measured
            and "record" in measured
            and (reason := _depends(con, column, role, measured[role]))
        ):
            return reason
    return None


def _depends(con: duckdb.DuckDBPyConnection, column: str, role: str, name: str) -> str | None:
    """Reason if rows with the same content in a measured column have the same content in this one.

    Rows that only one record could contradict show nothing: there, an attribute of the person looks
    the same. So they must be few, and no content may occur with several items of one record and
    nowhere else.
    """
    groups = (
        f"SELECT count(*) AS n, count(DISTINCT record) AS people, count(DISTINCT coalesce('=' || {column}::VARCHAR, '')) "
        f"AS contents, count(*) FILTER (regexp_matches({column}::VARCHAR, {_EMAIL})) AS emails FROM source GROUP BY {role}"
    )
    n, checkable, most, emails = one_row(
        con,
        "SELECT sum(n), coalesce(sum(n) FILTER (people > 1), 0), max(contents), "
        f"coalesce(sum(emails) FILTER (people < 2), 0) FROM ({groups})",
    )
    if most > 1 or emails or checkable < CHECKABLE * n:
        return None
    personal = (
        f"SELECT 1 FROM source WHERE {column} IS NOT NULL GROUP BY {column}::VARCHAR "
        f"HAVING count(DISTINCT record) = 1 AND count(DISTINCT {role}) > 1"
    )
    if one_row(con, f"SELECT count(*) FROM ({personal})")[0]:
        return None
    share = "" if checkable == n else f" (shown by {int(1000 * checkable / n) / 10:g}% of the rows)"
    return f"follows from {name}: one content for each{share}"


def _emails(con: duckdb.DuckDBPyConnection, column: str) -> bool:
    """Whether any cell holds an e-mail address; the detector of direct identifiers looks at the first rows only."""
    return bool(
        one_row(
            con, f"SELECT count(*) FROM source WHERE regexp_matches({column}::VARCHAR, {_EMAIL})"
        )[0]
    )


def hash_of_files(files: Iterable[Path]) -> str:
    """SHA-256 of all bytes of the files, and of where each file ends; their names do not matter."""
    whole = sha256()
    for path in files:
        one = sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                one.update(chunk)
        whole.update(one.digest())
    return whole.hexdigest()


def hash_of_cells(con: duckdb.DuckDBPyConnection, table: SourceTable) -> str:
    """SHA-256 of all cells of a table and the names of its columns; the order of the rows does not matter."""
    table.load(con, {f"h{k}": name for k, name in enumerate(table.names)})
    cells = ", ".join(
        f"coalesce(length(h{k}::VARCHAR)::VARCHAR || ':' || h{k}::VARCHAR, '-')"
        for k in range(len(table.names))
    )
    whole = sha256(repr(table.names).encode())
    rows = con.execute(f"SELECT sha256(concat({cells})) AS h FROM source ORDER BY h")
    while batch := rows.fetchmany(_ROWS):
        whole.update("".join(row[0] for row in batch).encode())
    con.execute("DROP VIEW source")
    return whole.hexdigest()
