"""Labels on disk, and the digest of all of them, without holding all in memory."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from standout.data.chunked.files import ArrayFile

_CHUNK = 1 << 24


class LabelFile:
    """Labels of very different widths: the bytes of all of them, and the end of each."""

    def __init__(self, folder: Path, name: str) -> None:
        self._data, self._ends = (
            ArrayFile(folder / f"{name}.{part}.npy") for part in ("bytes", "ends")
        )
        self.size = self._ends.size

    def read(self, first: int, stop: int) -> list[str]:
        """Labels `first … stop-1`."""
        if stop == first:
            return []
        ends = self._ends.read(first, stop)
        start = int(self._ends.read(first - 1, first)[0]) if first else 0
        data = self._data.read(start, int(ends[-1])).tobytes()
        cuts = [0, *(ends - start).tolist()]
        return [data[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(cuts)]

    def ranges(self) -> list[tuple[int, int]]:
        """Ranges of labels that cover the file."""
        return self._ends.ranges(_CHUNK)


def is_text(folder: Path, name: str) -> bool:
    """Whether the labels have very different widths."""
    return not (folder / f"{name}.npy").exists()


def digest_labels(made: Any, folder: Path, name: str) -> None:
    """Add labels to a digest as `data.keys.digest` does."""
    if not is_text(folder, name):
        file = ArrayFile(folder / f"{name}.npy")
        made.update(f"{file.dtype.str}{file.shape}".encode())
        for lo, hi in file.ranges(_CHUNK):
            made.update(file.read(lo, hi).data.cast("B"))
        return
    texts = LabelFile(folder, name)
    kind = np.dtype(
        f"U{max(1, *(len(x) for lo, hi in texts.ranges() for x in texts.read(lo, hi)), 1)}"
    )
    made.update(f"{np.dtype(object).str}{(texts.size,)}".encode())
    for lo, hi in texts.ranges():
        # a label may be very long: few at a time have this width
        for label in texts.read(lo, hi):
            made.update(np.array([label], kind).data.cast("B"))
