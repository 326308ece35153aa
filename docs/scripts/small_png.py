"""Make a PNG small: at most 256 colors from a palette, packed as well as zlib can."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]


@njit  # type: ignore[untyped-decorator]
def _unfilter(raw: Array, rows: int, row_bytes: int, size: int) -> Array:
    """Undo the five filters of PNG (none, sub, up, average, Paeth)."""
    out = np.zeros((rows + 1, row_bytes + size), np.int64)
    at = 0
    for y in range(1, rows + 1):
        kind = raw[at]
        for x in range(size, row_bytes + size):
            left, up, corner = out[y, x - size], out[y - 1, x], out[y - 1, x - size]
            guess = 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            elif kind == 4:
                p = left + up - corner
                a, b, c = abs(p - left), abs(p - up), abs(p - corner)
                guess = left if a <= b and a <= c else up if b <= c else corner
            out[y, x] = (raw[at + 1 + x - size] + guess) % 256
        at += row_bytes + 1
    return out[1:, size:]


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def small_png(png: bytes) -> bytes:
    """The same picture with at most 256 colors; white shows through where it was transparent."""
    at, body, width, height, kind = 8, b"", 0, 0, 0
    while at < len(png):
        (n,), name = struct.unpack(">I", png[at : at + 4]), png[at + 4 : at + 8]
        data = png[at + 8 : at + 8 + n]
        if name == b"IHDR":
            width, height, _, kind = struct.unpack(">IIBB", data[:10])
        elif name == b"IDAT":
            body += data
        at += n + 12
    size = {2: 3, 6: 4}[kind]
    raw = np.frombuffer(zlib.decompress(body), np.uint8)
    pixels = _unfilter(raw, height, width * size, size).reshape(height * width, size)
    if size == 4:
        alpha = pixels[:, 3:] / 255
        pixels = np.rint(pixels[:, :3] * alpha + 255 * (1 - alpha)).astype(np.int64)
    for step in (1, 8, 16, 24, 32, 51):
        # white and black stay unchanged
        rough = np.minimum((pixels + step // 2) // step * step, 255)
        colors, index = np.unique(
            rough[:, 0] * 65536 + rough[:, 1] * 256 + rough[:, 2], return_inverse=True
        )
        if colors.size <= 256:
            break
    palette = np.column_stack([colors >> 16, colors >> 8 & 255, colors & 255]).astype(np.uint8)
    lines = np.zeros((height, width + 1), np.uint8)
    lines[:, 1:] = index.reshape(height, width)
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (
        _chunk(b"IHDR", head),
        _chunk(b"PLTE", palette.tobytes()),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)),
    )
    return png[:8] + b"".join(parts) + _chunk(b"IEND", b"")
