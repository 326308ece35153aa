"""Compiled loops over posting lists: build them, count items, copy the rows of records."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.jit import njit


@njit(nogil=True, cache=True)
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


@njit(nogil=True, cache=True)
def _count_rows(
    b: int, block_size: int, ptr: Array, local: Array, held: Array, place: Array, out: Array
) -> None:
    """Count the entries of the wanted records of block `b`: `out[1 + place]`."""
    for p in range(np.int64(ptr[b, 0]), np.int64(ptr[b, ptr.shape[1] - 1])):
        r = b * block_size + np.int64(local[p])
        if held[r]:
            out[1 + place[r]] += 1


@njit(nogil=True, cache=True)
def _fill_rows(
    b: int,
    block_size: int,
    ptr: Array,
    local: Array,
    code: Array,
    tick: Array,
    held: Array,
    place: Array,
    at: Array,
    row_item: Array,
    row_code: Array,
    row_tick: Array,
) -> None:
    """Copy the entries of the wanted records of block `b`; `at` holds the next free position of each."""
    for i in range(ptr.shape[1] - 1):
        for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
            r = b * block_size + np.int64(local[p])
            if held[r]:
                k = at[place[r]]
                at[place[r]] = k + 1
                row_item[k] = i
                if row_code.size > 0:
                    row_code[k] = code[p]
                if row_tick.size > 0:
                    row_tick[k] = tick[p]


@njit(nogil=True, cache=True)
def _fill_block(
    first: int,
    stop: int,
    record_ptr: Array,
    record_item: Array,
    record_code: Array,
    record_tick: Array,
    ptr: Array,
    local: Array,
    code: Array,
    tick: Array,
) -> None:
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
