"""Delimited text: the layout is detected from the first lines, and rows are staged in DuckDB as text, in their order."""

from __future__ import annotations

import csv
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

import duckdb

from standout.data.reading.columns import shown_names
from standout.data.reading.file_content import (
    HEAD,
    as_utf8,
    decoded,
    encoding_of,
    encoding_of_file,
    unpacked,
)
from standout.data.reading.formats import FoundSource
from standout.data.reading.names import checked_names
from standout.data.reading.options import ReadOptions
from standout.data.reading.profile import SAMPLE
from standout.data.reading.source import Source, SourceTable
from standout.data.reading.workspace import literal_path, one_row, quoted
from standout.errors import InputError, ParameterError, RowError, option

MOVIELENS = ("userId", "movieId", "rating", "timestamp")
_DELIMITERS = ("\t", ",", ";", "|")
_NUMBER = re.compile(r"\s*-?\d+([.,]\d+)?\s*", re.ASCII)
_NO_NAME = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}.*|[^@\s]+@[^@\s]+\.\w+|\d{1,2}:\d{2}(:\d{2})?)\s*"
)
"""Dates, clock times and e-mail addresses are cells, not names of columns."""


@dataclass(frozen=True)
class Layout:
    """How the lines of a text file split into columns."""

    names: tuple[str, ...]
    delimiter: str
    header: bool
    quote: str
    notes: tuple[str, ...] = ()
    skip: int = 0
    """Lines before the header or the first row: comments, and the line `sep=;` of Excel."""


def preamble(lines: Sequence[str]) -> tuple[int, str | None]:
    """Number of lines before the table, blank ones included, and the delimiter if a line `sep=` names it.

    The last comment belongs to the table where it holds the names of the columns: as many fields as
    the next line, which holds numbers.

    >>> preamble(["# made by hand", "sep=;", "user;item", "1;2"])
    (2, ';')
    >>> preamble(["# made by hand", "# user,item", "1,2", "3,4"])
    (1, None)
    """
    n, named, last = 0, None, 0
    for k, line in enumerate(lines):
        separator = re.fullmatch(r'"?sep=(.)"?', line.strip(" \r\n\ufeff"))
        if separator is None and not line.lstrip("\ufeff").startswith("#") and line.strip():
            break
        if line.strip():
            n, last = k + 1, k
        named = separator[1] if separator is not None else named
    if n and n < len(lines) and lines[last].lstrip("\ufeff").startswith("#"):
        rest = [line for line in lines[n:] if line.strip()]
        delimiter = named or _delimiter(rest)
        header, first = _split(lines[last], delimiter), _split(rest[0], delimiter)
        if len(header) == len(first) > 1 and any(_NUMBER.fullmatch(f) for f in first):
            n = last
    return n, named


def find_layout(lines: Sequence[str], name: str, options: ReadOptions) -> Layout:
    """Find the layout of a text file with these first lines, of which one is not blank."""
    skip, named = preamble(lines)
    if skip:
        layout = find_layout(
            [line for line in lines[skip:] if line.strip()] or [""],
            name,
            replace(options, delimiter=options.delimiter or named),
        )
        note = f"text: {skip:,} line{'s' if skip > 1 else ''} before the table left out"
        return replace(layout, skip=skip, notes=(*layout.notes, note))
    lines = [line for line in lines if line.strip()]
    delimiter = options.delimiter or _delimiter(lines)
    rows = [_split(line, delimiter) for line in lines[:200]]
    quote = '"'
    if delimiter in ("\t", "::") and not any(
        f[:1] == f[-1:] == '"' for line in lines for f in line.split(delimiter)
    ):
        quote = ""  # in tab-separated text, quotation marks often belong to the cell
    given = tuple(options.names or ())
    if given:
        if len(given) != len(rows[0]):
            raise ParameterError(
                f"{name} has {len(rows[0])} columns, and names gives {len(given)} (--names)"
            )
        return Layout(given, delimiter, False, quote)
    if options.header is False:
        return Layout(tuple(f"column{k + 1}" for k in range(len(rows[0]))), delimiter, False, quote)
    if options.header is None:
        known = _without_header(rows, delimiter, name, options.wide)
        if known is not None:
            return known
    names = tuple(f.strip(" \t#") or f"column{k + 1}" for k, f in enumerate(rows[0]))
    return Layout(
        names if options.header or options.wide else checked_names(names), delimiter, True, quote
    )


def _delimiter(lines: Sequence[str]) -> str:
    if "::" in lines[0]:
        return "::"
    outside = re.sub(r'"[^"]*"', "", lines[0])
    best = max(_DELIMITERS, key=outside.count)
    if (
        best not in outside
        and " " in outside.strip()
        and len({line.strip().count(" ") for line in lines[:50]}) == 1
    ):
        return " "
    return best


def _split(line: str, delimiter: str) -> list[str]:
    return (
        line.split(delimiter)
        if len(delimiter) > 1
        else next(csv.reader([line], delimiter=delimiter))
    )


def _without_header(rows: list[list[str]], delimiter: str, name: str, wide: bool) -> Layout | None:
    """Layout of a file without a header whose columns are known; None for a header; else an error."""
    first = rows[0]
    numbers = [bool(_NUMBER.fullmatch(f)) for f in first]
    if not any(numbers):
        if not wide and (any(_NO_NAME.fullmatch(f) for f in first) or _is_like_the_rest(rows)):
            raise _no_header(name, "its first line looks like the lines after it")
        return None
    if wide and not numbers[0] and len(first) > 2:
        return None  # items may have numeric names
    filled = [[bool(_NUMBER.fullmatch(f)) for f in row] for row in rows[:20]]
    if delimiter in ("\t", "::") and sum(row == [True] * 4 for row in filled) * 2 > len(filled):
        which = "u.data" if delimiter == "\t" else "ratings.dat"
        return Layout(MOVIELENS, delimiter, False, "", (f"layout: MovieLens {which}",))
    hint = ""
    if not numbers[0] and all(numbers[1:]) and len(first) > 5:
        hint = f". If each row is a person and each column an item, use {option('wide', None)}"
    raise _no_header(name, "its first line holds numbers", hint)


def _is_like_the_rest(rows: list[list[str]]) -> bool:
    """Whether at least half of the cells of the first line occur again in their columns."""
    first, rest = rows[0], [row for row in rows[1:] if row != rows[0]]
    again = sum(
        any(k < len(row) and row[k] == cell for row in rest)
        for k, cell in enumerate(first)
        if cell.strip()
    )
    return again > 0 and again * 2 >= len(first)


def _no_header(name: str, why: str, hint: str = "") -> InputError:
    return InputError(
        f"{name} has no header: {why}. Give the names of its columns with {option('names', 'user,item,…')}, or say that the "
        f"first line is a header with {option('header', None)}{hint}"
    )


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

    def make_line_ends_even(self) -> None:
        """Go on with a copy whose lines all end in a line feed."""
        plain, self.plain = self.plain, self.copy.with_suffix(".even")
        with plain.open("rb") as source, self.plain.open("wb") as to:
            held = b""
            while chunk := source.read(_CHUNK):
                chunk = held + chunk
                # its line feed may be in the next chunk
                held = chunk[-1:] if chunk.endswith(b"\r") else b""
                chunk = chunk[: len(chunk) - len(held)]
                to.write(chunk.replace(b"\r\n", b"\n").replace(b"\r", b" "))
            to.write(b"\n" if held else b"")


class TextTable(SourceTable):
    """Table of one or several text files with the same columns."""

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
        """Make the table `sample_`; see `SourceTable`."""
        file = self._files[0]
        columns = ", ".join(f"c{k}" for k in range(len(self.names)))
        query = f"CREATE OR REPLACE TABLE sample_ AS SELECT {columns} FROM {{}} LIMIT {SAMPLE}"

        def n_sampled() -> int:
            con.execute(query.format(_relation(file, rejects=False)))
            return int(one_row(con, "SELECT count(*) FROM sample_")[0])

        try:
            n = n_sampled()
        except duckdb.InvalidInputException:
            file.make_line_ends_even()
            n = n_sampled()
        if file.layout.skip and not n:
            # lines before the table may end in another way than its own
            file.make_line_ends_even()
            n = n_sampled()
        if file.has_rows and not n:
            raise RowError(
                f"{file.name}: no row splits into {len(self.names)} fields as its first line does. Is the delimiter "
                f"{file.layout.delimiter!r} right ({option('delimiter', '…')}), and are cells that hold it in quotation marks?"
            )

    def load(self, con: duckdb.DuckDBPyConnection, chosen: dict[str, str]) -> Source:
        """Make the view `source`; see `SourceTable`."""
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
    first = list(columns.items())[:10]
    tables = "; ".join(f"{file} ({shown_names(names)})" for file, names in first)
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
        file.make_line_ends_even()
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
