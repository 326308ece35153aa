"""`Facts`: knowledge in the indices of one dataset."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.arrays import Array

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


@dataclass(frozen=True, eq=False, repr=False)
class Facts:
    """Knowledge in the indices of one dataset. An item that the release does not hold has index -1."""

    query_ptr: Array
    item: Array
    value: Array
    """float64, NaN = unknown; (facts, channels) in a dataset with joint codes."""
    day: Array
    """float64, days since 1970-01-01 with their fractions, NaN = unknown."""
    length: Array
    """float64 per query: about how many items the target holds, NaN = unknown."""
    length_within: float | None
    adversary: Adversary | None
    from_release: bool = False
    """Whether the knowledge was sampled from this dataset: only then does the adversary's noise describe it."""
    from_source: bool = False
    """Whether the knowledge was sampled from the data that a defense made this dataset from."""
    chance: Array | None = None
    """float64 (facts): probability that the item is the one that the fact is about; None = 1."""
    given: Array | None = None
    """bool (facts): facts about attributes of the person, which are known beside the items; None = none."""
    times: Array | None = None
    """int64 per fact: how often the adversary saw it; None = once."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query_ptr.size - 1)

    @property
    def query(self) -> Array:
        """Query of each fact."""
        return np.repeat(np.arange(self.n_queries), np.diff(self.query_ptr))

    @property
    def nobody(self) -> Array:
        """int64: excluded record of each query if none is excluded, -1."""
        return np.full(self.n_queries, -1, np.int64)

    def only(self, kept: Array) -> Facts:
        """Return some of the facts of the same queries."""
        counts = np.bincount(self.query[kept], minlength=self.n_queries)
        chosen: dict[str, Any] = {
            name: None if (column := getattr(self, name)) is None else column[kept]
            for name in ("item", "value", "day", "chance", "given", "times")
        }
        ptr = np.append(0, np.cumsum(counts)).astype(np.int64)
        return replace(self, query_ptr=ptr, **chosen)

    def part(self, first: int, stop: int) -> Facts:
        """Facts of queries `first … stop-1`."""
        lo, hi = int(self.query_ptr[first]), int(self.query_ptr[stop])
        return Facts(
            self.query_ptr[first : stop + 1] - lo,
            self.item[lo:hi],
            self.value[lo:hi],
            self.day[lo:hi],
            self.length[first:stop],
            self.length_within,
            self.adversary,
            self.from_release,
            self.from_source,
            None if self.chance is None else self.chance[lo:hi],
            None if self.given is None else self.given[lo:hi],
            None if self.times is None else self.times[lo:hi],
        )
