"""Counts over all records, and a digest of the content that does not depend on how the records are cut into shards."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.index import Shard
from standout.data.tasks import Range, Task
from standout.jit import njit

ON_SPARK = "spark:"
"""Beginning of the fingerprints of datasets on Spark."""


class Counted(NamedTuple):
    """Counts of distinct (record, item) pairs, and sums that change with the contents of a record."""

    supports: Array
    """int64 (items)."""
    length_counts: Array
    """int64: records with 0, 1, … distinct items."""
    content: Array
    """uint64 (2): sums, modulo 2^64, of two hashes of each record's index and key."""

    def merge(self, other: Counted) -> Counted:
        """Counts of both sets of records."""
        counts = np.zeros(max(self.length_counts.size, other.length_counts.size), np.int64)
        for part in (self.length_counts, other.length_counts):
            counts[: part.size] += part
        return Counted(self.supports + other.supports, counts, self.content + other.content)


@dataclass(frozen=True)
class CountPairs(Task[Counted]):
    """Supports of the items, and histogram of the lengths of the records."""

    n_items: int

    def empty(self) -> Counted:
        """No records."""
        return Counted(
            np.zeros(self.n_items, np.int64), np.zeros(1, np.int64), np.zeros(2, np.uint64)
        )

    def run(
        self, shard: Shard, into: Counted | None = None, queries: Range | None = None
    ) -> Counted:
        """Counts of the shard's records."""
        supports = np.zeros(self.n_items, np.int64)
        _count_supports(shard.ptr, shard.local, supports)
        index = np.arange(shard.first_record, shard.first_record + shard.n_records, dtype=np.uint64)
        content = [
            _mixed(shard.keys, index * np.uint64(odd)).sum()
            for odd in (0x9E3779B97F4A7C15, 0xD1342543DE82EF95)
        ]
        found = Counted(
            supports,
            np.bincount(shard.lengths, minlength=1).astype(np.int64),
            np.array(content, np.uint64),
        )
        return found if into is None else into.merge(found)


def _mixed(keys: Array, salt: Array) -> Array:
    """Hash of each key and its salt, 64 bits."""
    x = keys + salt
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(x ^ (x >> np.uint64(31)))


@njit(nogil=True, cache=True)
def _count_supports(ptr: Array, local: Array, out: Array) -> None:
    """Count the records that hold each item; several entries of one record count once."""
    for b in range(ptr.shape[0]):
        for i in range(out.size):
            last = np.int64(-1)
            for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                k = np.int64(local[p])
                if k != last:
                    out[i] += 1
                last = k


def unordered_fingerprint(data: Catalog, content: Array | None = None) -> str:
    """SHA-256 of the catalog and of sums of hashes of the records, without their labels; it begins with "spark:".

    `content` are the sums of `CountPairs`, if they are known.
    """
    if content is None:
        content = once(data, "content", 0, lambda: data.map(CountPairs(data.n_items)).content)
    made = sha256()
    for array in (
        data.item_labels,
        data.supports,
        data.levels,
        # part of the digest since values could have bounds
        *(np.empty(0), np.empty(0)),
        data.length_counts,
        content,
        np.array([data.first_tick, data.tick_span, data.n_records, data.n_entries]),
    ):
        made.update(repr((array.dtype.str, array.tolist())).encode())
    # keys of records have the codes of channels and attributes; what the codes mean is here
    owned = [one.channel for one in data.attributes.values()]
    for kind, channels in (("channel", data.channels), ("attribute", owned)):
        for channel in channels:
            scale = channel.levels.tolist(), channel.label_array.tolist()
            made.update(repr((kind, channel.name, scale)).encode())
    return f"{ON_SPARK}{made.hexdigest()}"


def is_same_content(one: Catalog, other: Catalog) -> bool:
    """Whether two datasets hold the same entries, also where one is on Spark; content is hashed only if all sizes agree."""
    if one is other:
        return True
    if _sizes(one) != _sizes(other):
        return False
    if one.fingerprint.startswith(ON_SPARK) == other.fingerprint.startswith(ON_SPARK):
        return one.fingerprint == other.fingerprint
    here, there = (one, other) if other.fingerprint.startswith(ON_SPARK) else (other, one)
    return unordered_fingerprint(here) == there.fingerprint


def _sizes(data: Catalog) -> tuple[object, ...]:
    return (
        data.n_records,
        data.n_items,
        data.n_entries,
        data.n_levels,
        data.has_value,
        data.has_time,
        int(data.first_tick),
        int(data.tick_span),
        data.ticks_per_day,
        [channel.name for channel in data.channels],
        list(data.attributes),
    )
