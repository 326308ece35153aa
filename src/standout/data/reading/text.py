"""Delimited text: its rows are staged in DuckDB as text, in the order of the files."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

import duckdb

from standout.data.reading.columns import listed
from standout.data.reading.file_content import (
    HEAD,
    as_utf8,
    decoded,
    encoding_of,
    encoding_of_file,
    unpacked,
)
from standout.data.reading.formats import FoundSource
from standout.data.reading.layout import MOVIELENS, Layout, find_layout
from standout.data.reading.options import ReadOptions
from standout.data.reading.profile import SAMPLE
from standout.data.reading.source import Source
from standout.data.reading.workspace import literal_path, one_row, quoted
from standout.errors import InputError, RowError, option

_CHUNK = 1 << 22


@dataclass
class TextFile:
    """One file, unpacked and in UTF-8, and what staging found in it."""

    name: str
    plain: Path
    layout: Layout
    notes: list[str]
    fixed: bool
    """Whether the encoding is certain, so that bytes that do not fit are an error."""
    copy: Path
    """Path for a rewritten copy, without its ending."""
    has_rows: bool
    """Whether there are lines after the header."""
    rows: int = 0
    bad_lines: list[int] = field(default_factory=list)
    """Lines that do not split into the right number of fields, ascending."""

    def line(self, row: int) -> int:
        """Line in the file of a staged row, both counted from 1; quoted line breaks are not counted."""
        first = int(self.layout.header) + self.layout.skip
        line = row + first
        while True:
            moved = row + first + bisect_right(self.bad_lines, line)
            if moved == line:
                return line
            line = moved


class TextTable:
    """Table of one or several text files with the same columns; see `Table`."""

    profiled = True

    def __init__(self, folder: Path, found: FoundSource, options: ReadOptions) -> None:
        self.name = found.name
        self._folder = folder
        self._files = [_opened(folder, path, k, options) for k, path in enumerate(found.paths)]
        self.names = self._files[0].layout.names
        self.profiled = (
            self._files[0].layout.names != MOVIELENS or self._files[0].layout.header
        )  # a known layout
        if any(set(file.layout.names) != set(self.names) for file in self._files):
            raise several_tables(found.name, {file.name: file.layout.names for file in self._files})

    def sample(self, con: duckdb.DuckDBPyConnection) -> None:
        """Make the table `sample_`; see `Table`."""
        file = self._files[0]
        columns = ", ".join(f"c{k}" for k in range(len(self.names)))
        query = f"CREATE OR REPLACE TABLE sample_ AS SELECT {columns} FROM {{}} LIMIT {SAMPLE}"
        try:
            con.execute(query.format(_relation(file, rejects=False)))
        except duckdb.InvalidInputException:
            file.plain = _with_even_line_ends(file.plain, file.copy.with_suffix(".even"))
            con.execute(query.format(_relation(file, rejects=False)))
        if file.layout.skip and not one_row(con, "SELECT count(*) FROM sample_")[0]:
            # lines before the table may end in another way than its own
            file.plain = _with_even_line_ends(file.plain, file.copy.with_suffix(".even"))
            con.execute(query.format(_relation(file, rejects=False)))
        if file.has_rows and not one_row(con, "SELECT count(*) FROM sample_")[0]:
            raise RowError(
                f"{file.name}: no row splits into {len(self.names)} fields as its first line does. Is the delimiter "
                f"{file.layout.delimiter!r} right ({option('delimiter', '…')}), and are cells that hold it in quotation marks?"
            )

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source`; see `Table`."""
        con.execute("DROP TABLE IF EXISTS stage")
        con.execute(f"CREATE TABLE stage ({', '.join(f'{role} VARCHAR' for role in chosen)})")
        for file in self._files:
            _stage(con, file, chosen)
        self._drop_headers(con, chosen)
        if sum(file.rows + len(file.bad_lines) for file in self._files) == 0:
            raise InputError(f"{self.name} holds a header and no rows")
        con.execute("CREATE VIEW source AS SELECT * FROM stage")
        notes = dict.fromkeys(note for file in self._files for note in file.notes)
        if len(self._files) > 1:
            notes[f"{len(self._files):,} files with the same columns read as one table"] = None
        bad = [file for file in self._files if file.bad_lines]
        first = self._in_words(bad[0], bad[0].bad_lines[0]) if bad else None
        return Source(
            self.name, True, tuple(notes), sum(len(f.bad_lines) for f in bad), first, self._place
        )

    def _drop_headers(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> None:
        """Remove lines that repeat the header, as in files that were concatenated by hand."""
        if len(chosen) < 2 or not self._files[0].layout.header:
            return
        again = " AND ".join(f"trim({role}) = {quoted(name)}" for role, name in chosen.items())
        n = one_row(con, f"SELECT count(*) FROM stage WHERE {again}")[0]
        if n:
            con.execute(f"DELETE FROM stage WHERE {again}")
            self._files[0].notes.append(f"text: {n:,} lines that repeat the header left out")

    def _place(self, row: int) -> str:
        """Where a staged row is: its line, and its file where there are several."""
        ends = list(accumulate(file.rows for file in self._files))
        k = min(bisect_right(ends, row - 1), len(ends) - 1)
        return self._in_words(self._files[k], self._files[k].line(row - (ends[k - 1] if k else 0)))

    def _in_words(self, file: TextFile, line: int) -> str:
        return f"line {line:,}" if len(self._files) == 1 else f"{file.name}, line {line:,}"


def several_tables(name: str, columns: dict[str, tuple[str, ...]]) -> InputError:
    """Error for files whose columns differ."""
    tables = "; ".join(f"{file} ({listed(names)})" for file, names in list(columns.items())[:10])
    more = f" and {len(columns) - 10:,} more" if len(columns) > 10 else ""
    return InputError(
        f"{name} holds several tables with different columns: {tables}{more}. Name one of them"
    )


def _opened(folder: Path, path: Path, number: int, options: ReadOptions) -> TextFile:
    """Unpack the file, find its encoding and its layout."""
    plain = unpacked(path, folder, number)
    with plain.open("rb") as file:
        head = file.read(HEAD)
    encoding = options.encoding or encoding_of(head)
    lines = re.split(r"\r\n|\r|\n", decoded(head, encoding))
    if not any(line.strip() for line in lines):
        raise InputError(f"{path.name} is empty")
    if len(head) == HEAD and len(lines) > 1:
        lines.pop()  # it may be cut
    layout = find_layout(lines, path.name, options)
    lines = [line for line in lines[layout.skip :] if line.strip()]
    notes = list(layout.notes)
    copy = folder / f"utf8-{number}.txt"
    fixed = options.encoding is not None
    if fixed or encoding not in ("utf-8", "utf-8-sig"):
        if not fixed and not encoding.startswith("utf"):
            encoding = encoding_of_file(plain)
            notes.append(_encoding_note(encoding))
        plain, fixed = as_utf8(plain, copy, encoding, path.name), True
    return TextFile(path.name, plain, layout, notes, fixed, copy, len(lines) > int(layout.header))


def _encoding_note(encoding: str) -> str:
    return f"text: not UTF-8, read as {encoding}; if that is wrong, name the encoding with {option('encoding')}"


def _stage(con: duckdb.DuckDBPyConnection, file: TextFile, chosen: dict[str, str]) -> None:
    """Add the chosen columns of a file to the table `stage`."""
    before = int(one_row(con, "SELECT count(*) FROM stage")[0])
    try:
        _load(con, file, chosen)
    except duckdb.InvalidInputException:
        # DuckDB refuses files with more than one kind of line end
        file.plain = _with_even_line_ends(file.plain, file.copy.with_suffix(".even"))
        _load(con, file, chosen)
    if one_row(con, "SELECT count(*) FROM reject_errors WHERE error_type = 'INVALID ENCODING'")[0]:
        if file.fixed:
            raise InputError(
                f"{file.name} is not in the encoding that was named: name the right one with {option('encoding')}"
            )
        encoding = encoding_of_file(file.plain)
        file.notes.append(_encoding_note(encoding))
        file.plain = as_utf8(file.plain, file.copy.with_suffix(".late"), encoding, file.name)
        con.execute(f"DELETE FROM stage WHERE rowid >= {before}")
        _load(con, file, chosen)
    _check_quotes(con, file)
    rejected = con.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    file.bad_lines = [int(line) for (line,) in rejected]
    file.rows = int(one_row(con, "SELECT count(*) FROM stage")[0]) - before


def _with_even_line_ends(plain: Path, even: Path) -> Path:
    """Copy whose lines all end in a line feed."""
    with plain.open("rb") as source, even.open("wb") as to:
        held = b""
        while chunk := source.read(_CHUNK):
            chunk = held + chunk
            held = (
                chunk[-1:] if chunk.endswith(b"\r") else b""
            )  # its line feed may be in the next chunk
            to.write(chunk[: len(chunk) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b" "))
        to.write(b"\n" if held else b"")
    return even


def _relation(file: TextFile, *, rejects: bool) -> str:
    """SQL that reads the file: all columns as text, called c0, c1 and so on."""
    layout = file.layout
    types = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(layout.names)))
    return f"""
        read_csv(
            {literal_path(file.plain)}, auto_detect = false, columns = {{{types}}},
            header = {layout.header}, skip = {layout.skip}, delim = {quoted(layout.delimiter)},
            quote = {quoted(layout.quote)}, escape = {quoted(layout.quote)}, encoding = 'utf-8',
            compression = 'none', null_padding = false, ignore_errors = true
            {", store_rejects = true, rejects_limit = 0" if rejects else ""})
        """


def _load(con: duckdb.DuckDBPyConnection, file: TextFile, chosen: dict[str, str]) -> None:
    """Fill the table `stage`, and `reject_errors` with the lines that do not fit."""
    for table in ("reject_errors", "reject_scans"):
        con.execute(f"DROP TABLE IF EXISTS {table}")
    place = {name: k for k, name in enumerate(file.layout.names)}
    columns = ", ".join(f"c{place[name]} AS {role}" for role, name in chosen.items())
    con.execute(f"INSERT INTO stage SELECT {columns} FROM {_relation(file, rejects=True)}")


def _check_quotes(con: duckdb.DuckDBPyConnection, file: TextFile) -> None:
    """Refuse an unclosed quotation mark: the lines after it would be lost as one bad row."""
    line = one_row(
        con,
        "SELECT min(line) FROM reject_errors WHERE error_type LIKE 'LINE SIZE%' "
        "OR (error_type = 'UNQUOTED VALUE' AND contains(rtrim(csv_line, chr(10) || chr(13)), chr(10)))",
    )[0]
    if line is not None:
        raise RowError(
            f"{file.name}: line {line:,} opens a quotation mark that is not closed, so that the rows after it "
            "cannot be separated. Close it or remove it"
        )
