"""Tasks that run a plan. The base class and the rules for all tasks are in `data.tasks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.data.tasks import Range, Result, Sums, Task
from standout.scoring.kernels import kernel_of
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan

UNWATCHED = 2**31
"""Score to count against that no record reaches."""

SCORES_AT_ONCE = 4_000_000
"""Scores that `FindAbove` holds in memory at once."""

R = TypeVar("R", bound=Result)


class Scores(NamedTuple):
    """Integer scores; `LOWEST` where the records seen so far say nothing."""

    score: Array

    def merge(self, other: Scores) -> Scores:
        """Scores known from either set of records."""
        return Scores(np.maximum(self.score, other.score))


class Found(NamedTuple):
    """Records found by a query, ordered by query, then by record."""

    query: Array
    record: Array
    score: Array

    def merge(self, other: Found) -> Found:
        """Records found in either set."""
        return Found.joined([self, other])

    @classmethod
    def joined(cls, parts: list[Found]) -> Found:
        """Records found in any of the sets."""
        query, record, score = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        order = np.lexsort((record, query))
        return Found(query[order], record[order], score[order])


@dataclass(frozen=True, eq=False, repr=False)
class _Planned(Task[R]):
    """A task that runs a plan."""

    plan: Plan

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return self.plan.n_queries

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.plan!r}>"


@dataclass(frozen=True, eq=False, repr=False)
class Score(_Planned[Partials]):
    """Top k records (at least 2), ties, sums and counts per query; the mass as well if `beta` is known."""

    watch: Array | None = None
    """int64 (queries): integer score to count against, `UNWATCHED` = none."""
    k: int = 2
    beta: Array | None = None
    """float64 (queries): sharpness of the lineup, if it does not depend on the scores."""

    def empty(self) -> Partials:
        """Partials of no records."""
        return Partials.empty(self.plan.n_queries, max(self.k, 2), self.beta)

    def run(
        self, shard: Shard, into: Partials | None = None, queries: Range | None = None
    ) -> Partials:
        """Partials of the shard's records."""
        out = self.empty() if into is None else into
        kernel_of(self.plan).score(
            shard, self.plan, queries or (0, self.plan.n_queries), self.marks, out
        )
        return out

    @property
    def marks(self) -> Array:
        """int64 (queries): `watch`, `UNWATCHED` for all queries by default."""
        if self.watch is None:
            return np.full(self.plan.n_queries, UNWATCHED, np.int64)
        return self.watch.astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Mass(_Planned[Sums]):
    """Σ exp(beta · (score - top)) over all candidates, per query, in integer score units."""

    top: Array
    """int64 (queries): highest score of the whole release."""
    beta: Array
    """float64 (queries)."""

    def empty(self) -> Sums:
        """Zeros."""
        return Sums(np.zeros(self.plan.n_queries))

    def run(self, shard: Shard, into: Sums | None = None, queries: Range | None = None) -> Sums:
        """Masses of the shard's records."""
        out = self.empty() if into is None else into
        n = self.plan.n_queries
        top, beta = self.top.astype(np.int64), np.full(n, self.beta, np.float64)
        kernel_of(self.plan).mass(shard, self.plan, queries or (0, n), top, beta, out.total)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class ScoreRecord(_Planned[Scores]):
    """Integer score of one record per query, from the record's own entries."""

    record: Array
    """int64 (queries): record index, -1 = none."""

    @property
    def n_queries(self) -> int:
        """1: the shard that holds a record scores it at once."""
        return 1

    def empty(self) -> Scores:
        """No score is known."""
        return Scores(np.full(self.plan.n_queries, LOWEST, np.int64))

    def run(self, shard: Shard, into: Scores | None = None, queries: Range | None = None) -> Scores:
        """Scores of those records that the shard holds."""
        out = self.empty() if into is None else into
        kernel_of(self.plan).score_record(shard, self.plan, self.record.astype(np.int64), out.score)
        return out


@dataclass(frozen=True, eq=False, repr=False)
class AllScores(_Planned[Scores]):
    """All integer scores (queries, records); for small data."""

    n_records: int
    """Records of the whole release."""

    def empty(self) -> Scores:
        """No score is known."""
        return Scores(np.full((self.plan.n_queries, self.n_records), LOWEST, np.int32))

    def run(self, shard: Shard, into: Scores | None = None, queries: Range | None = None) -> Scores:
        """Scores of the shard's records."""
        out = self.empty() if into is None else into
        lo, hi = queries or (0, self.plan.n_queries)
        part = np.empty((hi - lo, shard.n_records), np.int32)
        kernel_of(self.plan).all_scores(shard, self.plan, (lo, hi), part)
        out.score[lo:hi, shard.first_record : shard.first_record + shard.n_records] = part
        return out


@dataclass(frozen=True, eq=False, repr=False)
class FindAbove(_Planned[Found]):
    """Records that score at least a threshold, with their integer scores."""

    least: Array
    """int64 (queries): threshold."""

    def empty(self) -> Found:
        """No records."""
        return Found(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))

    def run(self, shard: Shard, into: Found | None = None, queries: Range | None = None) -> Found:
        """Records of the shard that score as high."""
        first, stop = queries or (0, self.plan.n_queries)
        kernel, parts = kernel_of(self.plan), [self.empty() if into is None else into]
        for piece in shard.slices(shard.n_blocks):
            step = max(1, SCORES_AT_ONCE // max(piece.n_records, 1))
            for lo in range(first, stop, step):
                hi = min(lo + step, stop)
                scores = np.empty((hi - lo, piece.n_records), np.int32)
                kernel.all_scores(piece, self.plan, (lo, hi), scores)
                query, local = np.nonzero((scores >= self.least[lo:hi, None]) & (scores != LOWEST))
                parts.append(
                    Found(
                        lo + query,
                        piece.first_record + local,
                        scores[query, local].astype(np.int64),
                    )
                )
        return Found.joined(parts)
