"""Layout of a delimited text file: delimiter, header, names and quotes, detected from its first lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from standout.data.reading.names import checked_names
from standout.data.reading.options import ReadOptions
from standout.errors import InputError, ParameterError, option

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
    wide_header = not numbers[0] and all(numbers[1:]) and len(first) > 5
    hint = (
        f". If each row is a person and each column an item, use {option('wide', None)}"
        if wide_header
        else ""
    )
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
