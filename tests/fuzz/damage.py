"""Damage to a file, as a function of a seed: bits, bytes, ranges, numbers, and what is inside a compressed file."""

from __future__ import annotations

import gzip
import io
import random
import re
import zipfile
from collections.abc import Callable

import pyarrow as pa

_NUMBERS = (
    b"0",
    b"-1",
    b"2147483647",
    b"2147483648",
    b"4294967296",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775809",
    b"1e308",
    b"1e999",
    b"nan",
    b"inf",
    b"-0.0",
    b"1e-320",
    b"99999999999999999999999",
)
_WORDS = (
    b"",
    b"NULL",
    b"nan",
    b'"',
    b"''",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n",
    b"::",
    b"\t",
    b",",
    b"../../../x",
    b"'; DROP TABLE x; --",
    b"%n%s",
    b"9999-12-31",
    b"0001-01-01",
    b"2020-02-30",
    b"{" * 500,
    b"[" * 500,
    "\u202e\u0000É".encode(),
    b"A" * 3000,
    b"=cmd|' /C calc'!A0",
    b"1,2,3,4,5,6,7,8,9,10,11,12",
)
_EDGES = (0, 1, 0x7F, 0x80, 0xFF)


def damaged(data: bytes, ending: str, seed: int, other: bytes) -> bytes:
    """The data with one to four kinds of damage; `other` is a file to take pieces of."""
    rng = random.Random(f"{ending}/{seed}")
    if rng.random() < 0.5 and (inside := _INSIDE.get(ending.rpartition(".")[2])) is not None:
        try:
            return inside(data, lambda content: _damaged(content, rng, other))
        except (OSError, ValueError, zipfile.BadZipFile):
            pass
    return _damaged(data, rng, other)


def _damaged(data: bytes, rng: random.Random, other: bytes) -> bytes:
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(_WAYS)(data, rng, other)
    return data


def _place(data: bytes, rng: random.Random) -> int:
    """A position, often near the beginning or the end, where headers and footers are."""
    n = max(len(data), 1)
    near = min(n, rng.choice((16, 64, 512)))
    return rng.choice((rng.randrange(n), rng.randrange(near), n - 1 - rng.randrange(near)))


def _flip(data: bytes, rng: random.Random, other: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[_place(data, rng)] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(data: bytes, rng: random.Random, other: bytes) -> bytes:
    at = _place(data, rng)
    size = rng.choice((1, 2, 4, 8))
    new = (
        bytes(rng.choice(_EDGES) for _ in range(size))
        if rng.random() < 0.5
        else rng.randbytes(size)
    )
    return data[:at] + new + data[at + size :]


def _remove(data: bytes, rng: random.Random, other: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + rng.choice((1, 2, 7, 64, 1000)) :]


def _cut(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data[: _place(data, rng)]


def _repeat(data: bytes, rng: random.Random, other: bytes) -> bytes:
    at = _place(data, rng)
    return (
        data[:at]
        + data[at : at + rng.choice((1, 4, 100, 2000))] * rng.choice((2, 3, 20))
        + data[at:]
    )


def _insert(data: bytes, rng: random.Random, other: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(_WORDS) + data[at:]


def _splice(data: bytes, rng: random.Random, other: bytes) -> bytes:
    at, begin = _place(data, rng), _place(other, rng)
    return data[:at] + other[begin : begin + rng.choice((4, 50, 500))] + data[at:]


def _renumber(data: bytes, rng: random.Random, other: bytes) -> bytes:
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data[:20_000]))
    if not found:
        return _overwrite(data, rng, other)
    spot = rng.choice(found)
    return data[: spot.start()] + rng.choice(_NUMBERS) + data[spot.end() :]


def _swap_lines(data: bytes, rng: random.Random, other: bytes) -> bytes:
    lines = data.split(b"\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return b"\n".join(lines)


_WAYS: tuple[Callable[[bytes, random.Random, bytes], bytes], ...] = (
    _flip,
    _flip,
    _overwrite,
    _overwrite,
    _remove,
    _cut,
    _repeat,
    _insert,
    _splice,
    _renumber,
    _renumber,
    _swap_lines,
)


def _in_gzip(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    return gzip.compress(change(gzip.decompress(data)), mtime=0)


def _in_zstd(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    with pa.input_stream(io.BytesIO(data), compression="zstd") as stream:
        return bytes(pa.Codec("zstd").compress(change(bytes(stream.read()))))


def _in_zip(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Damage one member of a zip archive or a workbook."""
    out = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        members = old.infolist()
        chosen = sum(data[:50]) % len(members)
        for k, member in enumerate(members):
            content = old.read(member)
            changed = change(content) if k == chosen or "sheet1" in member.filename else content
            new.writestr(
                zipfile.ZipInfo(member.filename, (2020, 1, 1, 0, 0, 0)),
                changed,
                zipfile.ZIP_DEFLATED,
            )
    return out.getvalue()


_INSIDE = {"gz": _in_gzip, "zst": _in_zstd, "zip": _in_zip, "xlsx": _in_zip}
