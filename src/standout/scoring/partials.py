"""`Partials`: the result of one shard per query. Partials of all shards merge, in any order, to the result of the release."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array

NO_RECORD = -1
LOWEST = -(2**31)
"""Score of an empty place: below every score of a record."""

RANDOM_KEY = 2**63
"""Tie keys of at least this order equal scores pseudo-randomly; such records still count as tied."""


class Partials(NamedTuple):
    """Per query: the top k records, how many tie with the best, and sums over all candidates.

    `merge` combines the partials of two sets of records; `empty` is neutral. Records are ordered by
    descending score, then by ascending tie key, then by ascending index.
    """

    top_score: Array
    """int64 (queries, k): the k highest scores, descending; `LOWEST` where there are fewer candidates."""
    top_key: Array
    """uint64 (queries, k): their tie keys."""
    top: Array
    """int64 (queries, k): their record indices, -1 = none."""
    n_top: Array
    """int64: candidates tied with the best: same score, and same tie key unless keys are random."""
    n: Array
    """int64: candidates."""
    total: Array
    """int64: sum of the scores."""
    squares: Array
    """float64: sum of the squared scores."""
    n_watch: Array
    """int64: candidates with at least the score of the watched record."""
    n_cut: Array
    """int64: candidates with at least the plan's `cut`."""
    beta: Array
    """float64: sharpness of the lineup, per integer score unit; of size 0 if it is not known before scoring."""
    mass: Array
    """float64: Σ exp(beta · (score - highest score)) over all candidates; of size 0 without `beta`."""

    @classmethod
    def empty(cls, n_queries: int, k: int = 2, beta: Array | None = None) -> Partials:
        """Partials of no records."""
        sharp = np.empty(0) if beta is None else np.full(n_queries, beta, np.float64)
        return cls(
            top_score=np.full((n_queries, k), LOWEST, np.int64),
            top_key=np.full((n_queries, k), np.iinfo(np.uint64).max, np.uint64),
            top=np.full((n_queries, k), NO_RECORD, np.int64),
            n_top=np.zeros(n_queries, np.int64),
            n=np.zeros(n_queries, np.int64),
            total=np.zeros(n_queries, np.int64),
            squares=np.zeros(n_queries, np.float64),
            n_watch=np.zeros(n_queries, np.int64),
            n_cut=np.zeros(n_queries, np.int64),
            beta=sharp,
            mass=np.zeros(sharp.size),
        )

    @classmethod
    def of_records(
        cls, like: Partials, record: Array, score: Array, key: Array, watch: Array, cut: Array
    ) -> Partials:
        """Partials of one record per query, to be merged with `like`.

        Parameters
        ----------
        like
            Partials of other records, with the same k and `beta`.
        record, score, key
            Record index, integer score (`LOWEST` = no candidate) and tie key.
        watch, cut
            Scores to count against.
        """
        here = score > LOWEST
        out = cls.empty(record.size, like.k, like.beta if like.beta.size else None)
        out.top_score[here, 0], out.top_key[here, 0], out.top[here, 0] = (
            score[here],
            key[here],
            record[here],
        )
        known = np.where(here, score, 0)
        return out._replace(
            n_top=here.astype(np.int64),
            n=here.astype(np.int64),
            total=known,
            squares=known.astype(float) ** 2,
            n_watch=(here & (score >= watch)).astype(np.int64),
            n_cut=(here & (score >= cut)).astype(np.int64),
            mass=here.astype(float) if like.beta.size else out.mass,
        )

    @property
    def best_score(self) -> Array:
        """int64: highest score."""
        return self.top_score[:, 0]

    @property
    def best_key(self) -> Array:
        """uint64: tie key of the best record."""
        return self.top_key[:, 0]

    @property
    def best(self) -> Array:
        """int64: index of the best record, -1 = none."""
        return self.top[:, 0]

    @property
    def second_score(self) -> Array:
        """int64: second highest score."""
        return self.top_score[:, 1]

    @property
    def second(self) -> Array:
        """int64: index of the second best record, -1 = none."""
        return self.top[:, 1]

    @property
    def k(self) -> int:
        """Number of records kept per query."""
        return int(self.top.shape[1])

    def merge(self, other: Partials) -> Partials:
        """Partials of both sets of records together; the sets must not overlap."""
        ranked = _first_k(
            np.concatenate([self.top_score, other.top_score], axis=1),
            np.concatenate([self.top_key, other.top_key], axis=1),
            np.concatenate([self.top, other.top], axis=1),
            self.k,
        )
        return Partials(
            *ranked,
            n_top=_tied(self, ranked) + _tied(other, ranked),
            n=self.n + other.n,
            total=self.total + other.total,
            squares=self.squares + other.squares,
            n_watch=self.n_watch + other.n_watch,
            n_cut=self.n_cut + other.n_cut,
            beta=self.beta,
            mass=_mass_below(self, ranked[0][:, 0]) + _mass_below(other, ranked[0][:, 0])
            if self.beta.size
            else self.mass,
        )

    def sigma(self) -> Array:
        """Population standard deviation of the candidates' scores, 0 where there are none."""
        n = np.maximum(self.n, 1)
        mean = self.total / n
        return np.sqrt(np.maximum(self.squares / n - mean * mean, 0.0))


def _first_k(score: Array, key: Array, record: Array, k: int) -> tuple[Array, Array, Array]:
    """First k of each row by descending score, ascending key, ascending record."""
    # empty places go last, even if a record has the score LOWEST
    order = np.lexsort((record, key, record == NO_RECORD, -score), axis=1)[:, :k]
    return (
        np.take_along_axis(score, order, axis=1),
        np.take_along_axis(key, order, axis=1),
        np.take_along_axis(record, order, axis=1),
    )


def _tied(part: Partials, ranked: tuple[Array, Array, Array]) -> Array:
    """Candidates of one part that tie with the best of the whole."""
    score, key = ranked[0][:, 0], ranked[1][:, 0]
    same_key = (part.best_key == key) | ((part.best_key >= RANDOM_KEY) & (key >= RANDOM_KEY))
    return np.where((part.best != NO_RECORD) & (part.best_score == score) & same_key, part.n_top, 0)


def _mass_below(part: Partials, top: Array) -> Array:
    """Mass of one part, relative to the highest score of the whole."""
    return np.where(
        part.best != NO_RECORD,
        part.mass * np.exp(part.beta * np.minimum(part.best_score - top, 0)),
        0.0,
    )
