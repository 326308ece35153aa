"""Ways to know the first items of a record in some order, where items that share a rank are equally likely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.counts import ItemCount
from standout.adversary.ranked import last_ranks
from standout.arrays import Array
from standout.data.index import Shard
from standout.formulas.ranked import log_ranked_ways


@dataclass(frozen=True, eq=False, repr=False)
class RankedWays:
    """Log of the number of ways, in order, to know the first items of a record; inf = it holds too few items."""

    rank: Array
    """int64 (codes + 1): rank of an entry by its code; 0 = none."""
    knows: int
    marked: Array | None
    """bool (items): the items that may be known; all when None."""
    longest: int
    """No record holds more items."""

    @property
    def largest(self) -> float:
        """No finite factor is larger than this."""
        first = np.ones(1, np.int64)
        return (
            float(log_ranked_ways(first * max(self.longest, self.knows), first, self.knows)[0]) + 1
        )

    def compute(self, shard: Shard) -> Array:
        """float64 (records of the shard)."""
        ends = shard.ptr[:, -1].astype(np.int64)
        starts = shard.ptr[:, 0].astype(np.int64)
        record = np.empty(shard.local.size, np.int64)
        for b, (lo, hi) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            record[lo:hi] = b * shard.block_size + shard.local[lo:hi].astype(np.int64)
        last = last_ranks(self.rank[shard.code], record, shard.n_records)
        return log_ranked_ways(ItemCount(self.marked).of(shard), last, self.knows)
