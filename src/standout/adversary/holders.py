"""A random holder of an item, found where the records lie: a wrong fact has the value and the time of a holder's entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from standout.adversary.splitmix import mix
from standout.arrays import Array
from standout.data.index import Shard
from standout.data.tasks import Range, Task
from standout.jit import njit

_NOBODY = np.iinfo(np.int64).max


class Holders(NamedTuple):
    """One holder of each item: the record with the lowest random number."""

    order: Array
    """uint64 (items): the random number."""
    record: Array
    """int64 (items): its record; the largest integer = none found."""
    code: Array
    """int64 (items): value code of the entry."""
    tick: Array
    """int64 (items): tick of the entry."""

    def merge(self, other: Holders) -> Holders:
        """Holders in both sets of records."""
        mine = (self.order < other.order) | (
            (self.order == other.order) & (self.record <= other.record)
        )
        return Holders(*(np.where(mine, a, b) for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False, repr=False)
class PickHolders(Task[Holders]):
    """One of the records that hold an item, each with the same chance, and one of its entries of the item."""

    item: Array
    """int64: item indices."""
    salt: Array
    """uint64: random number of each draw."""

    @property
    def n_queries(self) -> int:
        """Number of draws."""
        return int(self.item.size)

    def empty(self) -> Holders:
        """No holder."""
        n = self.item.size
        return Holders(
            np.full(n, np.iinfo(np.uint64).max, np.uint64),
            np.full(n, _NOBODY, np.int64),
            np.zeros(n, np.int64),
            np.zeros(n, np.int64),
        )

    def run(
        self, shard: Shard, into: Holders | None = None, queries: Range | None = None
    ) -> Holders:
        """Holders among the shard's records."""
        out = self.empty() if into is None else into
        lo, hi = queries or (0, self.item.size)
        _pick(
            lo,
            hi,
            self.item,
            self.salt,
            shard.first_record,
            shard.block_size,
            shard.ptr,
            shard.local,
            shard.code,
            shard.tick,
            shard.keys,
            *out,
        )
        return out


@njit(nogil=True, cache=True)
def _pick(
    first: int,
    stop: int,
    item: Array,
    salt: Array,
    first_record: int,
    block_size: int,
    ptr: Array,
    local: Array,
    code: Array,
    tick: Array,
    keys: Array,
    order: Array,
    record: Array,
    out_code: Array,
    out_tick: Array,
) -> None:
    """Keep the holder with the lowest random number, a function of the draw and of the record's key."""
    for k in range(first, stop):
        for b in range(ptr.shape[0]):
            p, hi = np.int64(ptr[b, item[k]]), np.int64(ptr[b, item[k] + 1])
            while p < hi:
                at = b * block_size + np.int64(local[p])
                n = np.int64(1)
                while p + n < hi and local[p + n] == local[p]:
                    n += 1
                x = mix(salt[k] ^ (keys[at] * np.uint64(0xA0761D6478BD642F)))
                if x < order[k] or (x == order[k] and first_record + at < record[k]):
                    order[k], record[k] = x, first_record + at
                    # the events of a pair are sorted by time, then value: every engine sees the
                    # same order
                    event = p + np.int64(mix(x) % np.uint64(n))
                    if code.size > 0:
                        out_code[k] = code[event]
                    if tick.size > 0:
                        out_tick[k] = tick[event]
                p += n
