"""Tasks: what an engine runs on each shard. Each is small and can be pickled, and its results merge.

For every task: the results of any cut into shards, merged in any order, are the result of the
whole, and `empty` is neutral. Integers are identical bit for bit; floating-point sums agree within
1e-9.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.index import Rows, Shard

Range = tuple[int, int]


class Result(Protocol):
    """Result of a task."""

    def merge(self, other: Self) -> Self:
        """Result of both sets of records; the sets must not overlap."""
        ...


R = TypeVar("R", bound=Result)


class Task(ABC, Generic[R]):
    """Work on one shard, and how to begin a result."""

    @property
    def n_queries(self) -> int:
        """Number of queries, if threads may take some of them each; 1 if the task cannot be split."""
        return 1

    @abstractmethod
    def empty(self) -> R:
        """Result for no records."""

    @abstractmethod
    def run(self, shard: Shard, into: R | None = None, queries: Range | None = None) -> R:
        """Result for the records of the shard.

        Parameters
        ----------
        shard
            Some records of the release.
        into
            Result of other shards to merge with; it may be changed. Shards must come in ascending
            order of their records.
        queries
            First query, and one after the last; the other queries stay empty. Default: all.
        """


class Sums(NamedTuple):
    """Numbers that add up."""

    total: Array

    def merge(self, other: Sums) -> Sums:
        """Sums over both sets of records."""
        return Sums(self.total + other.total)


@dataclass(frozen=True, eq=False, repr=False)
class FetchRows(Task[Rows]):
    """Entries of some records."""

    records: Array
    """int64: record indices, in any order; a record that is named several times is fetched once."""

    def empty(self) -> Rows:
        """No rows."""
        none = np.empty(0, np.int64)
        return Rows(
            none,
            np.zeros(1, np.int64),
            np.empty(0, np.int32),
            none,
            none,
            none,
            np.empty(0, np.uint64),
        )

    def run(self, shard: Shard, into: Rows | None = None, queries: Range | None = None) -> Rows:
        """Rows of those records that the shard holds."""
        local = np.unique(self.records) - shard.first_record
        local = local[(local >= 0) & (local < shard.n_records)]
        found = shard.rows(local) if local.size else self.empty()
        return found if into is None else into.merge(found)
