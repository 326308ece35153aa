"""The Netflix Prize layout: lines `MovieID:`, each followed by lines `CustomerID,Rating,YYYY-MM-DD`."""

from __future__ import annotations

import re
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.data.reading.file_content import (
    UnpackLimit,
    compression_of,
    damaged,
    head_of,
)
from standout.data.reading.formats import is_tar
from standout.errors import InputError
from standout.jit import njit

NAMES = ("customer", "movie", "rating", "date")
_CHUNK = 1 << 25
_BEST_RATING = 5
_MEMBER = re.compile(r"(.*/)?(mv_\d+|combined_data_\d+)\.txt")
_INNER = re.compile(r"(.*/)?training_set\.tar(\.gz)?")


@dataclass(repr=False)
class Parsed:
    """Entries of all files read so far."""

    parts: list[tuple[Array, Array, Array, Array]] = field(default_factory=list)
    bad_lines: int = 0
    first_bad: str | None = None
    """File and line of the first line that does not parse."""

    def table(self) -> pa.Table:
        """The entries as an Arrow table with the columns customer, movie, rating, date."""
        kinds = (pa.int32(), pa.int32(), pa.uint8(), pa.date32())
        columns = [
            pa.chunked_array([_arrow(part[k], kind) for part in self.parts], type=kind)
            for k, kind in enumerate(kinds)
        ]
        return pa.table(columns, names=list(NAMES))


def parse_netflix(paths: tuple[Path, ...]) -> Parsed:
    """Read the files of the Netflix Prize: mv_*.txt, combined_data_*.txt or tar archives of them."""
    parsed = Parsed()
    for path in paths:
        try:
            limit = UnpackLimit(path)
            if is_tar(head_of(path)):
                with tarfile.open(path) as tar:
                    _parse_tar(tar, parsed, limit)
                continue
            with pa.input_stream(str(path), compression=compression_of(path)) as stream:
                _parse_stream(_whole_lines(limit.chunks(stream, _CHUNK)), path.name, parsed)
        except (tarfile.TarError, EOFError, zlib.error, pa.ArrowException):
            raise damaged(path, compression_of(path) or "tar") from None
        except OSError as error:
            if error.errno is None:
                raise damaged(path, compression_of(path) or "tar") from None
            raise InputError(f"cannot read {path.name}: {error.strerror}") from None
    if not parsed.parts and not parsed.bad_lines:
        raise InputError("the archive holds no ratings: no mv_*.txt or combined_data_*.txt in it")
    return parsed


def _arrow(array: Array, kind: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(kind, array.size, [None, pa.py_buffer(array)])


def _parse_tar(tar: tarfile.TarFile, parsed: Parsed, limit: UnpackLimit, depth: int = 0) -> None:
    for member in tar:
        file = tar.extractfile(member) if member.isfile() else None
        if file is None:
            continue
        if _INNER.fullmatch(member.name) and depth < 2:
            with tarfile.open(fileobj=file) as inner:
                _parse_tar(inner, parsed, limit, depth + 1)
        elif _MEMBER.fullmatch(member.name):
            chunks = _whole_lines(limit.chunks(file, _CHUNK))
            _parse_stream(chunks, Path(member.name).name[:100], parsed)


def _whole_lines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces, cut where a line ends."""
    rest = b""
    for piece in pieces:
        whole = rest + piece
        cut = whole.rfind(b"\n") + 1
        rest = whole[cut:]
        if cut:
            yield whole[:cut]
    if rest.strip():
        yield rest + b"\n"


def _parse_stream(chunks: Iterator[bytes], name: str, parsed: Parsed) -> None:
    movie, line = -1, 0
    for chunk in chunks:
        most = min(chunk.count(b"\n"), chunk.count(b",") // 2)  # a row has one line and two commas
        customer, movies, day = (np.empty(most, np.int32) for _ in range(3))
        rating = np.empty(most, np.uint8)
        n, lines, bad, first_bad, movie = _parse(
            np.frombuffer(chunk, np.uint8), movie, customer, movies, rating, day
        )
        if n:
            # copies, because lines that do not parse leave room
            parsed.parts.append(
                (customer[:n].copy(), movies[:n].copy(), rating[:n].copy(), day[:n].copy())
            )
        if bad and parsed.first_bad is None:
            parsed.first_bad = f"{name}, line {line + first_bad:,}"
        parsed.bad_lines += bad
        line += lines


@njit(nogil=True, cache=True)
def _day_number(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a Gregorian date."""
    y = year - (1 if month <= 2 else 0)
    m = (month + 9) % 12
    return 365 * y + y // 4 - y // 100 + y // 400 + (153 * m + 2) // 5 + day - 1 - 719468


@njit(nogil=True, cache=True)
def _month_length(year: int, month: int) -> int:
    """Days of a month in the Gregorian calendar."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@njit(nogil=True, cache=True)
def _number(text: Array, at: int) -> tuple[int, int]:
    """Number written in digits from `at` on (-1 if there are none or too many), and the position after it."""
    start = at
    x = 0
    while 48 <= text[at] <= 57:
        x = x * 10 + (text[at] - 48)
        at += 1
        if at - start > 9:
            return -1, at
    return (x if at > start else -1), at


@njit(nogil=True, cache=True)
def _parse(
    text: Array, movie: int, customer: Array, movies: Array, rating: Array, day: Array
) -> tuple[int, int, int, int, int]:
    """Parse a piece that ends in a line feed: (entries, lines, bad lines, first bad line, current movie)."""
    n = lines = bad = first_bad = at = 0
    while at < text.size:
        lines += 1
        end = at
        while text[end] != 10:
            end += 1
        stop = end - 1 if end > at and text[end - 1] == 13 else end
        x, p = _number(text, at)
        good = stop == at  # skip an empty line
        if x >= 0 and text[p] == 58 and p + 1 == stop:
            movie = x
            good = True
        elif x >= 0 and text[p] == 44 and movie >= 0:
            r, p = _number(text, p + 1)
            y, p = _number(text, p + 1) if text[p] == 44 else (-1, p)
            m, p = _number(text, p + 1) if text[p] == 45 else (-1, p)
            d, p = _number(text, p + 1) if text[p] == 45 else (-1, p)
            good = (
                p == stop
                and 1 <= r <= _BEST_RATING
                and 1000 <= y <= 9999
                and 1 <= m <= 12
                and d >= 1
            )
            good = good and d <= _month_length(y, m)
            if good:
                customer[n], movies[n], rating[n], day[n] = x, movie, r, _day_number(y, m, d)
                n += 1
        if not good:
            bad += 1
            first_bad = lines if first_bad == 0 else first_bad
            for k in range(at, stop):
                if (
                    text[k] == 58
                ):  # an unreadable movie: the lines after it do not belong to the movie before
                    movie = -1
        at = end + 1
    return n, lines, bad, first_bad, movie
