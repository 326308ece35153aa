"""Hashes of contents: a number per record, the seed of its random draws, and a digest of a dataset."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256

import numpy as np

from standout.arrays import Array
from standout.jit import njit

_GOLDEN = 0x9E3779B97F4A7C15


@njit(nogil=True, cache=True)
def hash_records(ptr: Array, item: Array, code: Array, day: Array) -> Array:
    """Hash of each record's entries, 64 bits; records with the same entries have the same hash."""
    out = np.empty(ptr.size - 1, np.uint64)
    for r in range(out.size):
        x = np.uint64(ptr[r + 1] - ptr[r])
        for k in range(ptr[r], ptr[r + 1]):
            x = (x ^ np.uint64(item[k])) * np.uint64(0xBF58476D1CE4E5B9)
            if code.size > 0:
                x = (x ^ (np.uint64(code[k]) << np.uint64(32))) * np.uint64(0x94D049BB133111EB)
            if day.size > 0:
                x = (x ^ (np.uint64(day[k]) << np.uint64(8))) * np.uint64(0xD1342543DE82EF95)
            x ^= x >> np.uint64(29)
        out[r] = x
    return out


def record_keys(ptr: Array, item: Array, code: Array, day: Array) -> Array:
    """Key of each record. Records with equal contents are numbered, so that their draws differ.

    Which of them gets which number does not matter: no attack can distinguish them.

    >>> keys = record_keys(np.array([0, 1, 2, 4]), np.array([5, 5, 5, 7]), np.empty(0), np.empty(0))
    >>> len(set(keys.tolist()))
    3
    """
    return number_equal(np.asarray(hash_records(ptr, item, code, day)))


def number_equal(hashes: Array, known: Array | None = None, earlier: Array | None = None) -> Array:
    """Keys of records with these hashes: equal hashes are numbered in the order of the records.

    Parameters
    ----------
    hashes
        uint64 (records).
    known, earlier
        Hashes (sorted, distinct) of records before the first of these, and how many records each
        has there.

    Examples
    --------
    >>> whole = number_equal(np.array([7, 7, 9, 7], np.uint64))
    >>> part = number_equal(np.array([9, 7], np.uint64), np.array([7], np.uint64), np.array([2]))
    >>> part.tolist() == whole[2:].tolist()
    True
    """
    keys = hashes.copy()
    order = np.argsort(keys, kind="stable")
    equal = np.concatenate([[False], keys[order][1:] == keys[order][:-1]])
    if known is not None and earlier is not None and known.size:
        at = np.minimum(np.searchsorted(known, hashes), known.size - 1)
        before = np.where(known[at] == hashes, earlier[at], 0).astype(np.uint64)
        keys += before * np.uint64(_GOLDEN)
    if not equal.any():
        return keys
    first = np.maximum.accumulate(np.where(equal, 0, np.arange(keys.size)))
    number = (np.arange(keys.size) - first).astype(np.uint64)
    keys[order] += number * np.uint64(_GOLDEN)
    return keys


class LazyKeys:
    """Keys of all records of a dataset, computed on first use; shared by the dataset and its shards."""

    def __init__(
        self,
        ptr: Array,
        item: Array,
        code: Array,
        tick: Array,
        attributes: tuple[Array, ...] = (),
    ) -> None:
        self._entries = ptr, item, code, tick
        self._attributes = attributes

    @cached_property
    def values(self) -> Array:
        """uint64 (records). Records with the same entries are numbered by their attributes."""
        if not self._attributes:
            return record_keys(*self._entries)
        hashes = np.asarray(hash_records(*self._entries))
        order = np.lexsort(self._attributes[::-1])
        keys = np.empty_like(hashes)
        keys[order] = number_equal(hashes[order])
        return keys


def digest(*arrays: Array) -> str:
    """SHA-256 of the arrays: types, shapes and contents."""
    made = sha256()
    for array in arrays:
        made.update(f"{array.dtype.str}{array.shape}".encode())
        data = array if array.dtype.kind != "O" else np.array([str(x) for x in array])
        made.update(np.ascontiguousarray(data).data.cast("B") if data.size else b"")
    return made.hexdigest()
