"""Item-major form in blocks of records: the posting lists that scoring kernels read.

A block holds `block_size` consecutive records. Inside a block the entries are sorted by item, then by record, so that one
known item of one query is one contiguous run, and the block's accumulator stays in cache. A record is stored as its
offset in the block, in 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.data.build import missing_tick

Array = npt.NDArray[Any]

DEFAULT_BLOCK = 32_768
LARGEST_BLOCK = 65_536
MOST_COUNTS = 4
"""Number of sets of marked items whose counts a shard caches."""


@dataclass(frozen=True, eq=False, repr=False)
class Shard:
    """Posting lists of the consecutive records `first_record … first_record + n_records - 1`."""

    first_record: int
    n_records: int
    block_size: int
    ptr: Array
    """(blocks, items + 1): start of each item's run in `local`, `code` and `tick`."""
    local: Array
    code: Array
    tick: Array
    has_repeats: bool

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.ptr.shape[0])

    def __repr__(self) -> str:
        return f"<Shard of {self.n_records:,} records in {self.n_blocks:,} blocks>"

    @cached_property
    def all_dated(self) -> bool:
        """Whether every entry has a time."""
        return bool(self.tick.size == 0 or self.tick.max() < missing_tick(self.tick.dtype))

    @property
    def no_tick(self) -> int:
        """Tick that means "no time"."""
        return missing_tick(self.tick.dtype)

    @cached_property
    def lengths(self) -> Array:
        """int64: distinct items of each record."""
        return self.count(np.ones(self.ptr.shape[1] - 1, np.bool_))

    def count(self, marked: Array) -> Array:
        """int64: distinct marked items (bool per item) of each record; the last few results are cached."""
        kept: dict[bytes, Array] = self.__dict__.setdefault("_counts", {})
        key = np.packbits(marked).tobytes()
        if key not in kept:
            out = np.zeros(self.n_records, np.int64)
            _count_marked(self.block_size, self.ptr, self.local, marked, out)
            while len(kept) >= MOST_COUNTS:
                kept.pop(next(iter(kept)))
            kept[key] = out
        return kept[key]

    @property
    def nbytes(self) -> int:
        """Bytes that the posting lists take."""
        return int(self.ptr.nbytes + self.local.nbytes + self.code.nbytes + self.tick.nbytes)


def rows_of(ptr: Array, row: Array) -> tuple[Array, Array]:
    """Starts of the chosen rows when concatenated, and the current positions of their entries.

    >>> [x.tolist() for x in rows_of(np.array([0, 2, 2, 5]), np.array([2, 0]))]
    [[0, 3, 5], [2, 3, 4, 0, 1]]
    """
    size = ptr[row + 1] - ptr[row]
    starts = np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
    return starts, np.repeat(ptr[row] - starts[:-1], size) + np.arange(starts[-1])


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _count_marked(block_size: int, ptr: Array, local: Array, marked: Array, out: Array) -> None:
    """Count the marked items of each record; an item held several times counts once."""
    for b in range(ptr.shape[0]):
        for i in range(marked.size):
            last = np.int64(-1)
            if marked[i]:
                for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                    k = np.int64(local[p])
                    if k != last:
                        out[b * block_size + k] += 1
                    last = k


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _fill_block(first: int, stop: int, record_ptr: Array, record_item: Array, record_code: Array, record_tick: Array,
                ptr: Array, local: Array, code: Array, tick: Array) -> None:  # fmt: skip
    """Counting sort of the entries of records `first … stop-1` by item; records stay in order."""
    n_items = ptr.size - 1
    start = ptr[0]
    count = np.zeros(n_items, np.int64)
    for k in range(record_ptr[first], record_ptr[stop]):
        count[record_item[k]] += 1
    for i in range(n_items):
        ptr[i] = start
        start += count[i]
        count[i] = ptr[i]
    ptr[n_items] = start
    has_code = code.size > 0
    has_tick = tick.size > 0
    for r in range(first, stop):
        for k in range(record_ptr[r], record_ptr[r + 1]):
            i = record_item[k]
            slot = count[i]
            count[i] = slot + 1
            local[slot] = r - first
            if has_code:
                code[slot] = record_code[k]
            if has_tick:
                tick[slot] = record_tick[k]


def build_shard(record_ptr: Array, record_item: Array, record_code: Array, record_tick: Array, n_items: int,
                first: int, stop: int, block_size: int, has_repeats: bool, threads: int | None = None) -> Shard:  # fmt: skip
    """Index the records `first … stop-1`, on all cores unless `threads` says otherwise."""
    import os
    from concurrent.futures import ThreadPoolExecutor

    n_blocks = max(1, -(-(stop - first) // block_size))
    origin = int(record_ptr[first])
    n = int(record_ptr[stop]) - origin
    ptr = np.zeros((n_blocks, n_items + 1), np.int64 if n > np.iinfo(np.uint32).max else np.uint32)
    local = np.empty(n, np.uint16)
    code = np.empty(n if record_code.size else 0, record_code.dtype)
    tick = np.empty(n if record_tick.size else 0, record_tick.dtype)

    def fill(b: int) -> None:
        lo = first + b * block_size
        hi = min(stop, lo + block_size)
        ptr[b, 0] = int(record_ptr[lo]) - origin
        _fill_block(lo, hi, record_ptr, record_item, record_code, record_tick, ptr[b], local, code, tick)

    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(fill, range(n_blocks)))
    return Shard(first, stop - first, block_size, ptr, local, code, tick, has_repeats)


def fitting_block(n_records: int, n_items: int, n_entries: int) -> int:
    """Block size that stays in cache; larger if the table of starts would be larger than the entries."""
    size = DEFAULT_BLOCK
    while size < LARGEST_BLOCK and (n_records / size) * n_items * 4 > 2 * n_entries:
        size *= 2
    return size
