"""Rows on disk, one file per range of records: rows arrive in any order, and each file fits into memory."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from standout.arrays import Array


def bucket_edges(record_counts: Array, step: int, row_bytes: int, most_bytes: int) -> Array:
    """Records at which buckets begin, and the number of records.

    Parameters
    ----------
    record_counts
        Rows of each record.
    step
        Buckets begin at multiples of this many records.
    row_bytes, most_bytes
        Bytes that a row takes while its bucket is in memory, and the limit for a bucket of several
        steps.
    """
    firsts = np.arange(0, record_counts.size, step)
    sizes = np.add.reduceat(record_counts, firsts) * row_bytes
    cuts, filled = [0], 0
    for first, size in zip(firsts.tolist(), sizes.tolist(), strict=True):
        if filled and filled + size > most_bytes:
            cuts.append(first)
            filled = 0
        filled += size
    return np.array([*cuts, record_counts.size], np.int64)


class Buckets:
    """Files of rows, by range of records.

    Parameters
    ----------
    folder
        Existing folder for the files.
    edges
        Records at which buckets begin, and the number of records.
    row
        Type of a row; its field `record` holds the index of the record within the bucket.
    """

    def __init__(self, folder: Path, edges: Array, row: np.dtype[Any]) -> None:
        self.folder, self.edges, self.row = folder, edges, row
        self.n_rows = np.zeros(len(self), np.int64)
        self._open = ExitStack()
        self._files: list[IO[bytes]] = []

    def __len__(self) -> int:
        return int(self.edges.size - 1)

    def __enter__(self) -> Buckets:
        self._files = [self._open.enter_context(self._path(k).open("ab")) for k in range(len(self))]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open.close()

    def add(self, record: Array, **columns: Array | None) -> None:
        """Append rows; `record` holds indices of all records."""
        bucket = (np.searchsorted(self.edges, record, side="right") - 1).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        rows = np.empty(record.size, self.row)
        rows["record"] = record - self.edges[bucket]
        for name, column in columns.items():
            if column is not None:
                rows[name] = column
        rows = rows[order]
        ends = np.cumsum(np.bincount(bucket, minlength=len(self)))
        for k, (lo, hi) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
            if hi > lo:
                self._files[k].write(rows[lo:hi].tobytes())
                self.n_rows[k] += hi - lo

    def read(self, k: int) -> dict[str, Array]:
        """Columns of a bucket."""
        rows = np.fromfile(self._path(k), self.row)
        return {name: np.ascontiguousarray(rows[name]) for name in self.row.names or ()}

    def drop(self, k: int) -> None:
        """Remove the file of a bucket."""
        self._path(k).unlink()

    def _path(self, k: int) -> Path:
        return self.folder / f"bucket-{k:05}"
