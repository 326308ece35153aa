"""Arrays and labels in .npy files that are read and written in ranges: resident memory holds only the range."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from standout.arrays import Array
from standout.data.build import rows_differ
from standout.errors import InputError

_CHUNK = 1 << 24


class Buffers:
    """Memory for arrays that are read again and again: fresh memory costs a page fault every 4 KiB."""

    def __init__(self) -> None:
        self._kept: dict[str, Array] = {}

    def take(self, name: str, size: int) -> Array:
        """uint8 (size): memory that later calls with the same name reuse."""
        if name not in self._kept or self._kept[name].size < size:
            self._kept.pop(name, None)
            self._kept[name] = np.empty(size, np.uint8)
        return self._kept[name][:size]


class ArrayFile:
    """An array on disk. The file must not change while it is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            major, _ = np.lib.format.read_magic(file)
            header = (
                np.lib.format.read_array_header_1_0
                if major == 1
                else np.lib.format.read_array_header_2_0
            )
            shape, fortran, dtype = header(file)
            self._offset = file.tell()
            self._version = _version(file)
        self.shape: tuple[int, ...] = tuple(shape)
        self.dtype: np.dtype[Any] = dtype
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if (
            (fortran and len(shape) > 1)
            or dtype.hasobject
            or self._version[1] != self._offset + size
        ):
            raise ValueError("not an array in C order, or a file of another size")

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))

    def read(self, first: int, stop: int, buffer: Array | None = None) -> Array:
        """Rows `first … stop-1`, in `buffer` (uint8, exactly as large) or in new memory."""
        raw = np.empty((stop - first) * self.row_bytes, np.uint8) if buffer is None else buffer
        with self._file() as file:
            self._fill(file, first, raw)
        return raw.view(self.dtype).reshape(stop - first, *self.shape[1:])

    def read_rows(self, bounds: Array) -> Array:
        """Rows of several ranges, one after the other; `bounds` (ranges, 2) holds their first and stop rows."""
        ends = (
            np.append(0, np.cumsum(bounds[:, 1] - bounds[:, 0])).astype(np.int64) * self.row_bytes
        )
        raw = np.empty(int(ends[-1]), np.uint8)
        with self._file() as file:
            for first, lo, hi in zip(
                bounds[:, 0].tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True
            ):
                self._fill(file, first, raw[lo:hi])
        return raw.view(self.dtype).reshape(-1, *self.shape[1:])

    def _file(self) -> IO[bytes]:
        file = self.path.open("rb", buffering=0)
        if _version(file) != self._version:
            file.close()
            raise InputError(
                f"{self.path.parent.name} changed while it was used: start again when nothing writes to it"
            )
        return file

    def _fill(self, file: IO[bytes], first: int, raw: Array) -> None:
        """Read bytes from the row `first` on."""
        view, done = raw.data, 0
        start = self._offset + first * self.row_bytes
        while done < raw.size:
            n = os.preadv(file.fileno(), [view[done:]], start + done)
            if not n:
                raise InputError(
                    f"{self.path.parent.name}: {self.path.name} ends too early: it is damaged"
                )
            done += n

    def whole(self) -> Array:
        """All rows."""
        return self.read(0, self.size)

    def ranges(self, n_bytes: int) -> list[tuple[int, int]]:
        """Ranges of rows of about this many bytes that cover the array."""
        step = max(1, n_bytes // max(self.row_bytes, 1))
        return [(lo, min(lo + step, self.size)) for lo in range(0, self.size, step)]


class ArrayWriter:
    """Writes an array of known shape and type, range by range."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, *shape: int) -> None:
        self._file: IO[bytes] = path.open("wb")
        kind = np.dtype(dtype)
        header = {
            "descr": np.lib.format.dtype_to_descr(kind),
            "fortran_order": False,
            "shape": shape,
        }
        # the same bytes as `np.save`
        np.lib.format.write_array_header_1_0(self._file, header)
        self._left, self._kind = int(np.prod(shape, dtype=np.int64)) * kind.itemsize, kind

    def append(self, rows: Array) -> None:
        """Write the next rows."""
        data = np.ascontiguousarray(rows, self._kind)
        self._left -= data.nbytes
        self._file.write(data.reshape(-1).view(np.uint8).data)

    def finish(self) -> None:
        """Wait until the file is on disk; refuse an array that is not complete."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        if self._left:
            raise rows_differ()

    def close(self) -> None:
        """Close a file that may not be complete."""
        self._file.close()


def _version(file: IO[bytes]) -> tuple[int, ...]:
    """What changes when a file is replaced or written."""
    about = os.fstat(file.fileno())
    return about.st_ino, about.st_size, about.st_mtime_ns


def digest_labels(made: Any, folder: Path, name: str) -> None:
    """Add labels to a digest as `data.keys.digest` does, without holding all of them in memory."""
    if (folder / f"{name}.npy").exists():
        file = ArrayFile(folder / f"{name}.npy")
        made.update(f"{file.dtype.str}{file.shape}".encode())
        for lo, hi in file.ranges(_CHUNK):
            made.update(file.read(lo, hi).data.cast("B"))
        return
    # labels of very different widths: the bytes of all of them, and the end of each
    data, ends = (ArrayFile(folder / f"{name}.{part}.npy") for part in ("bytes", "ends"))
    width = max([1, *(len(label) for label in _texts(data, ends))])
    made.update(f"{np.dtype(object).str}{(ends.size,)}".encode())
    for label in _texts(data, ends):
        # a label may be very long: one at a time has this width
        made.update(np.array([label], f"U{width}").data.cast("B"))


def _texts(data: ArrayFile, ends: ArrayFile) -> Iterator[str]:
    start = 0
    for lo, hi in ends.ranges(_CHUNK):
        stops = ends.read(lo, hi)
        whole = data.read(start, int(stops[-1])).tobytes()
        for a, b in pairwise([0, *(stops - start).tolist()]):
            yield whole[a:b].decode("utf-8", "surrogatepass")
        start = int(stops[-1])
