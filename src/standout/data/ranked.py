"""Posting lists by item, value and day: what a pruned run walks.

As in `index`, blocks of records and 16-bit offsets; but inside an item's run entries lie by value code, then by day. The
entries near a known day are then one stretch for each value, and all entries of a stretch share one bound.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.data.index import LARGEST_BLOCK

Array = npt.NDArray[Any]


class Ranked(NamedTuple):
    """Posting lists of all records, sorted for bounds, in the shape that compiled kernels take."""

    n_records: int
    block_size: int
    n_codes: int
    """Value codes, the one for "no value" included; 1 where there are no values."""
    ptr: Array
    """(blocks, items · codes + 1): where each run of one item and code starts in `local` and `day`."""
    local: Array
    day: Array

    def __repr__(self) -> str:
        return f"<Ranked index of {self.n_records:,} records in {self.n_blocks:,} blocks>"

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.ptr.shape[0])

    @property
    def nbytes(self) -> int:
        """Bytes that the posting lists take."""
        return int(self.ptr.nbytes + self.local.nbytes + self.day.nbytes)


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _by_day(
    first: int, stop: int, record_ptr: Array, record_day: Array, count: Array, entry: Array, who: Array
) -> None:
    """Entries of records `first … stop-1` in the order of their days, and whose they are."""
    for k in range(record_ptr[first], record_ptr[stop]):
        count[record_day[k]] += 1
    start = 0
    for d in range(count.size):
        start, count[d] = start + count[d], start
    for r in range(first, stop):
        for k in range(record_ptr[r], record_ptr[r + 1]):
            slot = count[record_day[k]]
            count[record_day[k]] = slot + 1
            entry[slot] = k
            who[slot] = r - first


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _by_record(first: int, stop: int, record_ptr: Array, entry: Array, who: Array) -> None:
    """As `_by_day`, where there are no days."""
    slot = 0
    for r in range(first, stop):
        for k in range(record_ptr[r], record_ptr[r + 1]):
            entry[slot], who[slot] = k, r - first
            slot += 1


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def _by_item(entry: Array, who: Array, record_item: Array, record_code: Array, record_day: Array, n_codes: int, ptr: Array,
             local: Array, day: Array) -> None:  # fmt: skip
    """Counting sort of the entries by item and code; entries of one run stay in order."""
    n_runs = ptr.size - 1
    at = np.zeros(n_runs, np.int64)
    has_code, has_day = record_code.size > 0, record_day.size > 0
    for s in range(entry.size):
        k = entry[s]
        at[record_item[k] * n_codes + (record_code[k] if has_code else 0)] += 1
    start = np.int64(ptr[0])
    for i in range(n_runs):
        ptr[i] = start
        start, at[i] = start + at[i], start
    ptr[n_runs] = start
    for s in range(entry.size):
        k = entry[s]
        i = record_item[k] * n_codes + (record_code[k] if has_code else 0)
        slot = at[i]
        at[i] = slot + 1
        local[slot] = who[s]
        if has_day:
            day[slot] = record_day[k]


def build_ranked(record_ptr: Array, record_item: Array, record_code: Array, record_day: Array, n_items: int, n_levels: int,
                 block_size: int = LARGEST_BLOCK, threads: int = 2) -> Ranked:  # fmt: skip
    """Sort all records' entries."""
    n_records, n = record_ptr.size - 1, int(record_ptr[-1])
    n_codes = n_levels + 1 if record_code.size else 1
    n_blocks = max(1, -(-n_records // block_size))
    kind = np.int64 if n > np.iinfo(np.uint32).max else np.uint32
    ptr = np.zeros((n_blocks, n_items * n_codes + 1), kind)
    local, day = np.empty(n, np.uint16), np.empty(n if record_day.size else 0, record_day.dtype)

    def fill(b: int) -> None:
        lo, hi = b * block_size, min((b + 1) * block_size, n_records)
        first, size = int(record_ptr[lo]), int(record_ptr[hi] - record_ptr[lo])
        entry, who = np.empty(size, np.int64), np.empty(size, np.uint16)
        if record_day.size:
            # days without a number come last: their code is the largest
            days = record_day[first : first + size]
            _by_day(lo, hi, record_ptr, record_day, np.zeros(int(days.max(initial=0)) + 1, np.int64), entry, who)
        else:
            _by_record(lo, hi, record_ptr, entry, who)
        ptr[b, 0] = first
        _by_item(entry, who, record_item, record_code, record_day, n_codes, ptr[b], local, day)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, range(n_blocks)))
    return Ranked(n_records, block_size, n_codes, ptr, local, day)
