"""`Partials`: what one shard knows of each query. Partials merge, in any order, to what the whole knows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NOBODY = -1
LOWEST = -(2**31)
"""Score of nobody: below every score a record can have."""


class Partials(NamedTuple):
    """Per query: the two best records, and sums over all candidates. `merge` adds up shards, `empty` is neutral."""

    best_score: Array
    best_key: Array
    """uint64: tie key of the best, smaller first."""
    best: Array
    """int64: record index, -1 = nobody."""
    second_score: Array
    second_key: Array
    second: Array
    n: Array
    """int64: candidates."""
    total: Array
    """int64: sum of the scores."""
    squares: Array
    """float64: sum of the squared scores."""
    n_watch: Array
    """int64: candidates that score at least what the watched record scores."""
    n_cut: Array
    """int64: candidates that score at least the plan's cut."""

    @classmethod
    def empty(cls, n_queries: int) -> Partials:
        """What no record at all gives."""
        return cls(
            best_score=np.full(n_queries, LOWEST, np.int64),
            best_key=np.full(n_queries, np.iinfo(np.uint64).max, np.uint64),
            best=np.full(n_queries, NOBODY, np.int64),
            second_score=np.full(n_queries, LOWEST, np.int64),
            second_key=np.full(n_queries, np.iinfo(np.uint64).max, np.uint64),
            second=np.full(n_queries, NOBODY, np.int64),
            n=np.zeros(n_queries, np.int64),
            total=np.zeros(n_queries, np.int64),
            squares=np.zeros(n_queries, np.float64),
            n_watch=np.zeros(n_queries, np.int64),
            n_cut=np.zeros(n_queries, np.int64),
        )

    def merge(self, other: Partials) -> Partials:
        """Partials of both sets of records together; the sets must not overlap."""
        ranked = _two_first(
            np.stack([self.best_score, self.second_score, other.best_score, other.second_score]),
            np.stack([self.best_key, self.second_key, other.best_key, other.second_key]),
            np.stack([self.best, self.second, other.best, other.second]),
        )
        sums = (mine + theirs for mine, theirs in zip(self[6:], other[6:], strict=True))
        return Partials(*ranked, *sums)

    def sigma(self) -> Array:
        """Population standard deviation of the candidates' scores, 0 where there are none."""
        n = np.maximum(self.n, 1)
        mean = self.total / n
        return np.sqrt(np.maximum(self.squares / n - mean * mean, 0.0))


def _two_first(score: Array, key: Array, record: Array) -> tuple[Array, ...]:
    """First two of four by score falling, key rising, record rising."""
    # nobody goes last even where a record also scores LOWEST
    order = np.lexsort((record, key, record == NOBODY, -score), axis=0)
    columns = np.arange(score.shape[1])
    first, second = order[0], order[1]
    return (
        score[first, columns], key[first, columns], record[first, columns],
        score[second, columns], key[second, columns], record[second, columns],
    )  # fmt: skip


def concatenate(parts: list[Partials]) -> Partials:
    """Partials of several batches of queries, one after the other."""
    return Partials(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
