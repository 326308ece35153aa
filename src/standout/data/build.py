"""Sort entries into record-major order: count first, then place, without a copy in between."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.values import code_type
from standout.errors import InputError
from standout.jit import njit


@njit(nogil=True, cache=True)
def _place(
    cursor: Array,
    ptr: Array,
    n_items: int,
    n_levels: int,
    tick_span: int,
    no_tick: int,
    record: Array,
    item: Array,
    code: Array,
    tick: Array,
    to_item: Array,
    to_code: Array,
    to_tick: Array,
) -> bool:
    """Put each entry into the next free slot of its record; False at the first entry that is out of range."""
    has_code = to_code.size > 0
    has_tick = to_tick.size > 0
    n_records = cursor.size
    for k in range(record.size):
        r = np.int64(record[k])
        i = np.int64(item[k])
        if r < 0 or r >= n_records or i < 0 or i >= n_items:
            return False
        slot = cursor[r]
        if slot >= ptr[r + 1]:
            return False
        cursor[r] = slot + 1
        to_item[slot] = i
        if has_code:
            if np.int64(code[k]) > n_levels:
                return False
            to_code[slot] = code[k]
        if has_tick:
            if np.int64(tick[k]) > tick_span and np.int64(tick[k]) != no_tick:
                return False
            to_tick[slot] = tick[k]
    return True


@njit(nogil=True, cache=True)
def _sort_records(first: int, stop: int, ptr: Array, item: Array, code: Array, tick: Array) -> None:
    """Order the entries of each record by item, then tick, then value code.

    Item and tick form one number of 64 bits; the codes of entries where it is equal are sorted after it.
    """
    has_code, has_tick, bits, low = (
        code.size > 0,
        tick.size > 0,
        np.uint64(32),
        np.uint64(2**32 - 1),
    )
    for r in range(first, stop):
        lo, hi = ptr[r], ptr[r + 1]
        n = hi - lo
        key = np.empty(n, np.uint64)
        for k in range(n):
            key[k] = np.uint64(item[lo + k]) << bits
            if has_tick:
                key[k] |= np.uint64(tick[lo + k])
        if has_code:
            order = np.argsort(key)
            key = key[order]
            own = code[lo:hi][order]
            begin = 0
            for k in range(1, n + 1):
                if k == n or key[k] != key[begin]:
                    if k - begin > 1:
                        own[begin:k].sort()
                    begin = k
            code[lo:hi] = own
        else:
            key.sort()
        for k in range(n):
            item[lo + k] = key[k] >> bits
            if has_tick:
                tick[lo + k] = key[k] & low


@njit(nogil=True, cache=True)
def count_pairs(ptr: Array, item: Array, lengths: Array, supports: Array) -> None:
    """Count distinct (record, item) pairs by record and by item."""
    for r in range(ptr.size - 1):
        last = -1
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            if i != last:
                lengths[r] += 1
                supports[i] += 1
                last = i


def smallest_unsigned(highest: int) -> np.dtype[Any]:
    """Smallest unsigned type that holds `highest`.

    >>> smallest_unsigned(65535), smallest_unsigned(65536)
    (dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.uint16 if highest <= np.iinfo(np.uint16).max else np.uint32)


class EntryBuilder:
    """Takes entries in batches, in any order, and stores them record-major and sorted.

    Parameters
    ----------
    record_counts
        Exact number of entries of each record.
    n_items
        Number of items.
    has_value, has_time
        Which channels the entries carry.
    n_levels
        Number of value levels; it decides how wide the codes are.
    tick_span
        Largest tick offset. The largest number of the tick type means "no time".
    """

    def __init__(
        self,
        record_counts: Array,
        n_items: int,
        *,
        has_value: bool,
        has_time: bool,
        n_levels: int = 0,
        tick_span: int = 0,
    ) -> None:
        n = int(record_counts.sum())
        self.n_items = n_items
        self._n_levels, self._tick_span = n_levels, tick_span
        self.ptr = np.zeros(record_counts.size + 1, np.int64)
        np.cumsum(record_counts, out=self.ptr[1:])
        self._cursor = self.ptr[:-1].copy()
        self.item = np.empty(n, smallest_unsigned(n_items))
        self.code = np.empty(n if has_value else 0, code_type(n_levels))
        self.tick = np.empty(n if has_time else 0, smallest_unsigned(tick_span + 1))
        self.no_tick = missing_tick(self.tick.dtype)

    def add(
        self, record: Array, item: Array, code: Array | None = None, tick: Array | None = None
    ) -> None:
        """Place one batch; `code` and `tick` only where the channel exists.

        Raises
        ------
        InputError
            Where an entry is out of range, or its record has received all its entries already.
        """
        none = np.empty(0, np.uint8)
        codes, ticks = none if code is None else code, none if tick is None else tick
        sizes = (
            item.size,
            codes.size if self.code.size else record.size,
            ticks.size if self.tick.size else record.size,
        )
        placed = sizes == (record.size,) * 3 and _place(
            self._cursor,
            self.ptr,
            self.n_items,
            self._n_levels,
            self._tick_span,
            self.no_tick,
            record,
            item,
            codes,
            ticks,
            self.item,
            self.code,
            self.tick,
        )
        if not placed:
            raise rows_differ()

    def finish(self, threads: int = 2) -> tuple[Array, Array]:
        """Sort each record and return (distinct items per record, distinct records per item)."""
        from concurrent.futures import ThreadPoolExecutor

        if not np.array_equal(self._cursor, self.ptr[1:]):
            raise rows_differ()
        n_records = self.ptr.size - 1
        cuts = np.searchsorted(self.ptr, np.linspace(0, self.ptr[-1], 4 * threads + 1)[1:-1])
        edges = [0, *np.minimum(cuts, n_records).tolist(), n_records]
        with ThreadPoolExecutor(threads) as pool:
            spans = pairwise(edges)
            list(
                pool.map(
                    lambda s: _sort_records(s[0], s[1], self.ptr, self.item, self.code, self.tick),
                    spans,
                )
            )
        lengths = np.zeros(n_records, np.int64)
        supports = np.zeros(self.n_items, np.int64)
        count_pairs(self.ptr, self.item, lengths, supports)
        return lengths, supports


def missing_tick(dtype: np.dtype[Any]) -> int:
    """Tick that means "no time": the largest number of the type."""
    return int(np.iinfo(dtype).max)


def rows_differ() -> InputError:
    """Error for rows that are not the rows that were counted before."""
    return InputError(
        "two passes over the data found different rows: the file changed while it was read, or it is damaged. "
        "Read it again, or make the file again"
    )
