"""Factors per record, computed by a shard: a plan holds nothing that depends on the number of records."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np

from standout.adversary.counts import EntryTest, ItemCount
from standout.arrays import Array
from standout.data.index import Shard
from standout.data.row_copies import in_parts
from standout.formulas.f06 import cosine
from standout.jit import njit

NO_FACTOR = np.empty(0)
_COMPUTING = Lock()


class RecordFactor(Protocol):
    """How to compute one number per record. Its own size does not depend on the number of records."""

    @property
    def largest(self) -> float:
        """No factor is larger than this."""
        ...

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class ByCount:
    """Factor by the number of distinct items that a record holds, or by the number of its marked items."""

    table: Array
    """float64: factor by count."""
    marked: Array | None = None
    """bool (items): the items that count; all when None."""
    only: EntryTest | None = None
    """Test that some entry must pass for its item to count."""

    @property
    def largest(self) -> float:
        """No factor is larger than this."""
        return float(self.table.max(initial=0.0))

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        return self.table[ItemCount(self.marked, self.only).of(shard)]


@dataclass(frozen=True, eq=False, repr=False)
class SumOfCounts:
    """Sum of several factors by count."""

    parts: tuple[ByCount, ...]

    @property
    def largest(self) -> float:
        """No factor is larger than this."""
        return sum(part.largest for part in self.parts)

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        return np.asarray(sum(part.compute(shard) for part in self.parts))


@dataclass(frozen=True, eq=False, repr=False)
class BySum:
    """Sum of the weights of the items that a record holds."""

    weight: Array
    """float64 (items)."""

    @property
    def largest(self) -> float:
        """No factor is larger than this."""
        return float(np.maximum(self.weight, 0.0).sum())

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        return _sums(shard, self.weight)


@dataclass(frozen=True, eq=False, repr=False)
class ByNorm:
    """1/‖w_r‖ for the weights of the record's items, 0 for a record without weight: turns a sum into a cosine."""

    weight: Array
    """float64 (items)."""

    @property
    def largest(self) -> float:
        """No factor is larger than this."""
        return float(np.max(cosine(1.0, 1.0, np.abs(self.weight)), initial=0.0))

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        return np.asarray(cosine(1.0, 1.0, np.sqrt(_sums(shard, self.weight**2))))


def _sums(shard: Shard, weight: Array) -> Array:
    """Sum of the weights of each record's distinct items, in the order of the items."""
    out = np.zeros(shard.n_records)
    in_parts(
        lambda b: _add_weights(b, shard.block_size, shard.ptr, shard.local, weight, out),
        range(shard.n_blocks),
        shard.local.size,
    )
    return out


def factors_of(factor: RecordFactor | None, shard: Shard) -> Array:
    """Factors of the shard's records, cached on the whole shard while `factor` exists; empty if `factor` is None."""
    if factor is None:
        return NO_FACTOR
    if shard.parent is not None:
        return shard.of_parent(factors_of(factor, shard.parent))
    # one thread computes the factors, the others wait for them
    with _COMPUTING:
        kept: WeakKeyDictionary[RecordFactor, Array] = shard.__dict__.setdefault(
            "_factors", WeakKeyDictionary()
        )
        if factor not in kept:
            kept[factor] = np.ascontiguousarray(factor.compute(shard), np.float64)
        return kept[factor]


@njit(nogil=True, cache=True)
def _add_weights(
    b: int, block_size: int, ptr: Array, local: Array, weight: Array, out: Array
) -> None:
    """Add the weight of each item to the records of block `b` that hold it, once per (record, item) pair."""
    for i in range(ptr.shape[1] - 1):
        last = np.int64(-1)
        for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
            k = np.int64(local[p])
            if k != last:
                out[b * block_size + k] += weight[i]
            last = k
