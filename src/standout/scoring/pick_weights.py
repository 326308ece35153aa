"""Sums of pick weights per record, computed by a shard: the denominators of choices with weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.choice import PickRule
from standout.adversary.counts import EntryTest, ItemCount
from standout.arrays import Array
from standout.data.index import Rows, Shard
from standout.jit import njit

jit = njit(nogil=True, cache=True)


@dataclass(frozen=True, eq=False, repr=False)
class ByPickWeight:
    """Ω_r = Σ over the items that may be known of weight · number of events (1, unless weights count by events)."""

    weight: Array
    """int64 (items); 0 for items that are never known."""
    by_events: bool
    only: EntryTest | None = None
    """Test that some event must pass for its item to count; by events, only those that pass count."""

    @classmethod
    def of(cls, chosen: PickRule, only: EntryTest | None = None) -> ByPickWeight:
        """Factor of a settled rule with weights."""
        assert chosen.weight is not None and chosen.marked is not None
        return cls(np.where(chosen.marked, chosen.weight, 0), chosen.by_events, only)

    @property
    def largest(self) -> float:
        """No factor is larger than this: sums are exact whole numbers."""
        return 2.0**53

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        out = np.zeros(shard.n_records, np.int64)
        passing = np.empty(0, np.bool_) if self.only is None else self.only.passing(shard)
        _add_postings(
            shard.block_size, shard.ptr, shard.local, self.weight, self.by_events, passing, out
        )
        return out.astype(np.float64)

    def of_rows(self, rows: Rows) -> Array:
        """float64: the same for fetched records."""
        passing = np.empty(0, np.bool_) if self.only is None else self.only.passing(rows)
        out = np.zeros(rows.ptr.size - 1, np.int64)
        _add_rows(rows.ptr, rows.item, self.weight, self.by_events, passing, out)
        return out.astype(np.float64)


@dataclass(frozen=True, eq=False, repr=False)
class PickRateByWeight:
    """rate(L)·L/Ω_r, to the 24 bits of a float32: probability of one picked item of weight 1.

    `rate` is 1/L, or its mean without replacement where the number of picks is known, as if the
    weights were equal.
    """

    rate: Array
    """float64: rate by the number of items that may be known."""
    count: ItemCount
    total: ByPickWeight

    @property
    def largest(self) -> float:
        """No factor times the number of events of an item is larger than this."""
        some = self.total.weight[self.total.weight > 0]
        most = float((self.rate * np.arange(self.rate.size)).max(initial=0.0))
        return most / float(some.min()) if some.size else 0.0

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        rate = self._rates(self.count.of(shard), self.total.compute(shard))
        return rate.astype(np.float32).astype(np.float64)

    def of_rows(self, rows: Rows) -> Array:
        """float64: the same for fetched records, not rounded."""
        return self._rates(self.count.of(rows), self.total.of_rows(rows))

    def _rates(self, n: Array, total: Array) -> Array:
        return np.asarray(np.where(total > 0, self.rate[n] * n / np.maximum(total, 1.0), 0.0))


@jit
def _add_postings(
    block_size: int,
    ptr: Array,
    local: Array,
    weight: Array,
    by_events: bool,
    passing: Array,
    out: Array,
) -> None:
    """Add the weight of each item to the records that hold it, once or once per event; `passing` is empty or marks entries."""
    for b in range(ptr.shape[0]):
        for i in range(weight.size):
            last = np.int64(-1)
            if weight[i] > 0:
                for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                    k = np.int64(local[p])
                    if (by_events or k != last) and (passing.size == 0 or passing[p]):
                        out[b * block_size + k] += weight[i]
                        last = k


@jit
def _add_rows(
    ptr: Array, item: Array, weight: Array, by_events: bool, passing: Array, out: Array
) -> None:
    """The same for rows."""
    for r in range(out.size):
        last = np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            if (by_events or i != last) and (passing.size == 0 or passing[k]):
                out[r] += weight[i]
                last = i
