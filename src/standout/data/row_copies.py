"""Copy the entries of chosen records, in parts, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from standout.arrays import Array

ENTRIES_PER_PART = 500_000
"""Entries that are worth a thread of their own."""


def rows_of(ptr: Array, row: Array) -> tuple[Array, Array]:
    """Starts of the chosen rows when concatenated, and the current positions of their entries.

    >>> [x.tolist() for x in rows_of(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    size = ptr[row + 1] - ptr[row]
    starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return starts, np.repeat(ptr[row] - starts[:-1], size) + np.arange(starts[-1])


def gather_rows(ptr: Array, row: Array, *entries: Array) -> tuple[Array, list[Array]]:
    """Starts of the chosen rows when concatenated, and their entries in each of the arrays; an empty array stays empty."""
    starts = np.concatenate([[0], np.cumsum(ptr[row + 1] - ptr[row])]).astype(np.int64)
    out = [np.empty(starts[-1] if array.size else 0, array.dtype) for array in entries]
    # parts of about as many entries
    edges = np.unique(
        np.searchsorted(starts, np.arange(0, starts[-1] + ENTRIES_PER_PART, ENTRIES_PER_PART))
    )
    edges = np.minimum(edges, row.size)

    def copy(part: tuple[int, int]) -> None:
        lo, hi = part
        at = rows_of(ptr, row[lo:hi])[1]
        for array, copied in zip(entries, out, strict=True):
            if array.size:
                # without "clip", NumPy writes to a buffer first
                np.take(array, at, out=copied[starts[lo] : starts[hi]], mode="clip")

    in_parts(copy, list(pairwise(edges.tolist())), int(starts[-1]))
    return starts, out


def in_parts(
    work: Callable[[Any], None],
    parts: Sequence[Any],
    n_entries: int | None = None,
    threads: int | None = None,
) -> None:
    """Run `work` for each part, on all cores unless `threads` says otherwise; `n_entries` are the entries of all parts."""
    n = min(threads or os.cpu_count() or 1, len(parts))
    if n_entries is not None:
        n = min(n, 1 + n_entries // ENTRIES_PER_PART)
    # for one part or few entries, threads cost more than they save
    if n <= 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(n) as pool:
        list(pool.map(work, parts))
