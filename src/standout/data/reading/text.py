"""Delimited text: its layout is found by looking, its rows are staged in DuckDB as text."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from codecs import getincrementaldecoder
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow as pa

from standout.data.reading.formats import compression_of, damaged, head_of
from standout.data.reading.workspace import literal_path, one_row, quoted
from standout.errors import InputError, RowError

MOVIELENS = ("userId", "movieId", "rating", "timestamp")
_DELIMITERS = ("\t", ",", ";", "|")
_NUMBER = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Layout:
    """How the lines of a text file split into columns."""

    names: tuple[str, ...]
    delimiter: str
    header: bool
    quote: str
    encoding: str
    notes: tuple[str, ...] = ()


@dataclass
class Staged:
    """What staging found besides the rows that it put into the table `stage`."""

    rows: int
    bad_lines: list[int]
    """Lines that do not split into the right number of fields, rising."""
    header: bool
    notes: list[str] = field(default_factory=list)

    def line(self, row: int) -> int:
        """Line in the file of a staged row, both counted from 1; quoted line breaks are not counted."""
        line = row + int(self.header)
        while True:
            moved = row + int(self.header) + bisect_right(self.bad_lines, line)
            if moved == line:
                return line
            line = moved


def look(path: Path) -> Layout:
    """Find the layout of a text file: delimiter, names, encoding."""
    head = head_of(path)
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    text = _decoded(head, encoding)
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path.name} is empty")
    delimiter = _delimiter(lines[0])
    fields = _split(lines[0], delimiter)
    if any(_NUMBER.fullmatch(f) for f in fields):
        return _known_layout(path, lines[:20], delimiter, encoding)
    quote = '"'
    if delimiter in ("\t", "::") and not any(f[:1] == f[-1:] == '"' for line in lines for f in line.split(delimiter)):
        quote = ""  # tab-separated text often has quotation marks that belong to the cell
    return Layout(tuple(f.strip() for f in fields), delimiter, True, quote, encoding)


def stage(con: duckdb.DuckDBPyConnection, folder: Path, path: Path, layout: Layout, chosen: dict[str, str]) -> Staged:
    """Put the chosen columns into the table `stage`, as text, in the order of the file.

    Parameters
    ----------
    con, folder
        The workspace.
    path, layout
        The file and what `look` found.
    chosen
        Role → column name.
    """
    plain = _unpacked(path, folder)
    notes = list(layout.notes)
    encoding = layout.encoding
    try:
        _load(con, plain, layout, chosen, encoding)
    except duckdb.InvalidInputException:
        # DuckDB gives up on files whose lines end now in one way, now in another
        plain = _with_even_line_ends(plain, folder)
        _load(con, plain, layout, chosen, encoding)
    if one_row(con, "SELECT count(*) FROM reject_errors WHERE error_type = 'INVALID ENCODING'")[0]:
        encoding = "latin-1"
        notes.append("text: not UTF-8, read as Latin-1")
        _load(con, plain, layout, chosen, encoding)
    _check_quotes(con, path)
    bad = [int(line) for (line,) in con.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()]
    rows = int(one_row(con, "SELECT count(*) FROM stage")[0])
    if rows + len(bad) == 0:
        raise InputError(f"{path.name} holds a header and no rows")
    return Staged(rows, bad, layout.header, notes)


def _decoded(head: bytes, encoding: str) -> str:
    """Text of the head, which may end inside a character."""
    try:
        return getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)().decode(head)
    except UnicodeDecodeError:
        return head.decode("latin-1")


def _delimiter(line: str) -> str:
    if "::" in line:
        return "::"
    outside = re.sub(r'"[^"]*"', "", line)
    return max(_DELIMITERS, key=outside.count)


def _split(line: str, delimiter: str) -> list[str]:
    return line.split("::") if delimiter == "::" else next(csv.reader([line], delimiter=delimiter))


def _known_layout(path: Path, lines: list[str], delimiter: str, encoding: str) -> Layout:
    """Layout of a file without a header: only those whose columns are known."""
    numbers = [[bool(_NUMBER.fullmatch(f)) for f in _split(line, delimiter)] for line in lines]
    if delimiter in ("\t", "::") and sum(row == [True] * 4 for row in numbers) * 2 > len(numbers):
        which = "u.data" if delimiter == "\t" else "ratings.dat"
        return Layout(MOVIELENS, delimiter, False, "", encoding, (f"layout: MovieLens {which}",))
    raise InputError(f"{path.name} has no header: its first line holds numbers. Put the names of the columns on top")


def _unpacked(path: Path, folder: Path) -> Path:
    """The file itself, or its unpacked copy: DuckDB would take a damaged archive for a shorter file."""
    compression = compression_of(path)
    if compression is None:
        return path
    plain = folder / "plain.txt"
    try:
        with pa.input_stream(str(path), compression=compression) as stream, plain.open("wb") as to:
            while chunk := stream.read(_CHUNK):
                to.write(chunk)
    except pa.ArrowException:
        raise damaged(path, compression) from None
    except OSError as error:
        if error.errno is not None:  # the disk, not the archive
            raise InputError(f"cannot unpack {path.name}: {error.strerror}") from None
        raise damaged(path, compression) from None
    return plain


def _with_even_line_ends(plain: Path, folder: Path) -> Path:
    """Copy whose lines all end in a line feed."""
    even = folder / "even.txt"
    with plain.open("rb") as source, even.open("wb") as to:
        held = b""
        while chunk := source.read(_CHUNK):
            chunk = held + chunk
            held = chunk[-1:] if chunk.endswith(b"\r") else b""  # its line feed may be in the next chunk
            to.write(chunk[: len(chunk) - len(held)].replace(b"\r\n", b"\n").replace(b"\r", b" "))
        to.write(b"\n" if held else b"")
    return even


def _load(con: duckdb.DuckDBPyConnection, plain: Path, layout: Layout, chosen: dict[str, str], encoding: str) -> None:
    """Fill the table `stage`, and `reject_errors` with the lines that do not fit."""
    for table in ("stage", "reject_errors", "reject_scans"):
        con.execute(f"DROP TABLE IF EXISTS {table}")
    types = ", ".join(f"'c{k}': 'VARCHAR'" for k in range(len(layout.names)))
    place = {name: k for k, name in enumerate(layout.names)}
    columns = ", ".join(f"c{place[name]} AS {role}" for role, name in chosen.items())
    con.execute(
        f"""
        CREATE TABLE stage AS SELECT {columns} FROM read_csv(
            {literal_path(plain)}, auto_detect = false, columns = {{{types}}}, header = {layout.header},
            delim = {quoted(layout.delimiter)}, quote = {quoted(layout.quote)}, escape = {quoted(layout.quote)},
            encoding = {quoted(encoding)}, compression = 'none', null_padding = false,
            ignore_errors = true, store_rejects = true, rejects_limit = 0)
        """
    )


def _check_quotes(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Refuse a quotation mark that swallows the lines after it: they would be lost as one bad row."""
    line = one_row(
        con,
        "SELECT min(line) FROM reject_errors WHERE error_type LIKE 'LINE SIZE%' "
        "OR (error_type = 'UNQUOTED VALUE' AND contains(rtrim(csv_line, chr(10) || chr(13)), chr(10)))",
    )[0]
    if line is not None:
        raise RowError(
            f"{path.name}: line {line:,} opens a quotation mark that is not closed, so that the rows after it "
            "cannot be told apart. Close it or take it out"
        )
