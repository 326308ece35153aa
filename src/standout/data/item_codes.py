"""`ItemCodes`: the distinct value codes of each item, and where each entry's code lies among them.

An attack needs the contribution of a fact only for the values that entries of its item have. On a
scale with thousands of levels these are few, and never more than the item has entries: tables with
one cell for each of them take less time to make than scoring takes to read the entries.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.index import Shard
from standout.data.tasks import Range, Task
from standout.data.values import code_type
from standout.jit import njit

MOST_DENSE = 255
"""Value tables have a cell for every level up to this many."""

_ONE_AT_A_TIME = Lock()
"""Threads that score slices of one shard need the same places."""


@dataclass(frozen=True, eq=False, repr=False)
class ItemCodes:
    """Distinct value codes of the entries of each item, ascending; entries without a value are not counted."""

    n_levels: int
    ptr: Array
    """int64 (items + 1): range of each item in `code` and `count`."""
    code: Array
    count: Array
    """int64: entries of the item with that code."""

    def find(self, item: Array, code: Array) -> Array:
        """Place of each code among those of its item, pair by pair; the number of the item's codes for "no value"."""
        out = np.empty(code.size, code_type(int(np.diff(self.ptr).max(initial=0))))
        _find(self.ptr, self.code, np.asarray(item, np.int64), code, out)
        return out

    def places(self, shard: Shard) -> Array:
        """Place of each posting's code, computed once per shard; items that are not here are left out."""
        whole = shard if shard.parent is None else shard.parent

        def compute() -> tuple[ItemCodes, Array]:
            out = np.zeros(whole.code.size, code_type(int(np.diff(self.ptr).max(initial=0))))
            _places(whole.ptr, whole.code, self.ptr, self.code, out)
            # kept with its owner: as long as that exists, no other one has its id
            return self, out

        with _ONE_AT_A_TIME:
            return once(whole, "places", id(self), compute, 1)[1]

    def dense(self, items: Array) -> Array:
        """float64 (items, levels): entries of each item by value code."""
        width = np.diff(self.ptr)[items]
        row = np.repeat(np.arange(items.size), width)
        at = np.arange(row.size) + np.repeat(self.ptr[items] - np.cumsum(width) + width, width)
        out = np.zeros((items.size, self.n_levels))
        out[row, self.code[at]] = self.count[at]
        return out

    def only(self, items: Array) -> ItemCodes:
        """Return the same with codes for some items alone, so that less is sent to another machine."""
        kept = np.zeros(self.ptr.size - 1, np.bool_)
        kept[items] = True
        width = np.diff(self.ptr)
        of = np.repeat(kept, width)
        ptr = np.append(0, np.cumsum(np.where(kept, width, 0)))
        return ItemCodes(self.n_levels, ptr, self.code[of], self.count[of])


def item_codes(dataset: Catalog) -> ItemCodes:
    """Distinct value codes of each item of the dataset, counted on first use and cached on it."""

    def compute() -> ItemCodes:
        n = dataset.n_levels + 1
        key, count = dataset.map(_CountCodes(dataset.n_levels))
        ptr = np.searchsorted(key, n * np.arange(dataset.n_items + 1, dtype=np.int64))
        return ItemCodes(n - 1, ptr, (key % n).astype(code_type(n - 1)), count)

    return once(dataset, "item_codes", None, compute)


class _CodeCounts(NamedTuple):
    """Entries by item and value code."""

    key: Array
    """int64, ascending: item · (levels + 1) + code."""
    entries: Array

    def merge(self, other: _CodeCounts) -> _CodeCounts:
        """Entries of both sets of records."""
        if not (self.key.size and other.key.size):
            return self if self.key.size else other
        key, place = np.unique(np.concatenate([self.key, other.key]), return_inverse=True)
        entries = np.zeros(key.size, np.int64)
        np.add.at(entries, place.reshape(-1), np.concatenate([self.entries, other.entries]))
        return _CodeCounts(key, entries)


@dataclass(frozen=True, eq=False, repr=False)
class _CountCodes(Task[_CodeCounts]):
    """Entries by item and value code."""

    n_levels: int

    def empty(self) -> _CodeCounts:
        """No entries."""
        return _CodeCounts(np.empty(0, np.int64), np.empty(0, np.int64))

    def run(
        self, shard: Shard, into: _CodeCounts | None = None, queries: Range | None = None
    ) -> _CodeCounts:
        """Entries of the shard."""
        n = int(shard.ptr[-1, -1]) - int(shard.ptr[0, 0]) if shard.code.size else 0
        key, count = np.empty(n, np.int64), np.empty(n, np.int64)
        used = _count_codes(shard.ptr, shard.code, self.n_levels, key, count) if n else 0
        made = _CodeCounts(key[:used].copy(), count[:used].copy())
        return made if into is None else into.merge(made)


@njit(nogil=True, cache=True)
def _count_codes(ptr: Array, code: Array, n_levels: int, key: Array, count: Array) -> int:
    """Put the counts into `key` and `count`; return their number."""
    seen = np.zeros(n_levels, np.int64)
    n = 0
    for i in range(ptr.shape[1] - 1):
        first = n
        for b in range(ptr.shape[0]):
            for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                c = np.int64(code[p])
                if c < n_levels:
                    if seen[c] == 0:
                        key[n] = c
                        n += 1
                    seen[c] += 1
        key[first:n].sort()
        for k in range(first, n):
            c = key[k]
            key[k], count[k], seen[c] = i * (n_levels + 1) + c, seen[c], 0
    return n


@njit(nogil=True, cache=True)
def place_of(ptr: Array, codes: Array, item: int, code: int) -> int:
    """Place of the code among those of the item."""
    lo, hi = ptr[item], ptr[item + 1]
    while lo < hi:
        middle = (lo + hi) >> 1
        if codes[middle] < code:
            lo = middle + 1
        else:
            hi = middle
    return lo - ptr[item]  # type: ignore[no-any-return]


@njit(nogil=True, cache=True)
def _find(ptr: Array, codes: Array, item: Array, code: Array, out: Array) -> None:
    for k in range(item.size):
        out[k] = place_of(ptr, codes, item[k], np.int64(code[k]))


@njit(nogil=True, cache=True)
def _places(post_ptr: Array, code: Array, ptr: Array, codes: Array, out: Array) -> None:
    for b in range(post_ptr.shape[0]):
        for i in range(post_ptr.shape[1] - 1):
            if ptr[i + 1] > ptr[i]:
                for p in range(np.int64(post_ptr[b, i]), np.int64(post_ptr[b, i + 1])):
                    out[p] = place_of(ptr, codes, i, np.int64(code[p]))
