"""Top-N recommendation: train `implicit` ALS on a release, recommend to the people of the source.

A person whom the release lost gets no recommendations and counts as a miss, and so does a held-out
item that it lost. Items of the person's training data are never recommended, whatever the release
says about them: a release that hides them must not gain or lose by recommending them again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.data.purposes import PURPOSE_TUNING
from standout.defenses.utility_release import Matrix, matrix_of
from standout.defenses.utility_split import Split, exact_mean, hold_out, people_to_test
from standout.errors import EligibilityError, EngineError
from standout.formulas.ranking import ndcg, recall

NDCG_AT = 10
RECALL_AT = 20
MOST_PEOPLE = 5_000
"""Tested people; more are sampled."""

MOST_TUNING_ENTRIES = 500_000
"""Settings are tuned on people with about this many entries."""


@dataclass(frozen=True)
class RankingSettings:
    """Settings of `implicit.als.AlternatingLeastSquares`."""

    factors: int = 32
    alpha: float = 5.0
    regularization: float = 10.0
    iterations: int = 10

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


GRID = tuple(
    RankingSettings(factors, alpha, regularization)
    for factors in (8, 32, 64)
    for alpha, regularization in ((1.0, 10.0), (5.0, 10.0), (5.0, 100.0), (20.0, 10.0))
)
"""Settings that tuning tries."""


@dataclass(frozen=True, eq=False, repr=False)
class Ranking:
    """Quality of the recommendations, one number per tested person."""

    ndcg: Array
    recall: Array


def library() -> Any:
    """The recommender library; an optional part."""
    try:
        import implicit.als
        import threadpoolctl
    except ImportError:
        raise EngineError(
            "utility needs the package implicit, which is not installed: pip install 'standout[utility]'"
        ) from None
    return implicit.als.AlternatingLeastSquares, threadpoolctl.threadpool_limits


def rank(
    split: Split, matrix: Matrix, settings: RankingSettings, seed: int = 0, most: int = MOST_PEOPLE
) -> Ranking:
    """Train on a release and recommend to the people with held-out items.

    Parameters
    ----------
    split
        Training data and held-out pairs.
    matrix
        What a defense made of the training data.
    settings
        Settings of the model.
    seed
        Random seed of the model and of the sample of people.
    most
        Tested people.
    """
    people = people_to_test(split, most, seed)
    return _judged(split, people, recommend(split, matrix, people, settings, seed))


def rank_by_popularity(split: Split, seed: int = 0, most: int = MOST_PEOPLE) -> Ranking:
    """Recommend the most popular items of the training data that the person does not hold, the same for everyone."""
    train, people = split.train, people_to_test(split, most, seed)
    order = np.argsort(-train.supports, kind="stable")
    top = np.full((people.size, RECALL_AT), -1, np.int64)
    for k, r in enumerate(people.tolist()):
        own = train.record_item[train.record_ptr[r] : train.record_ptr[r + 1]]
        # at most as many items are skipped as the person holds
        head = order[: RECALL_AT + train.lengths[r]]
        new = head[~np.isin(head, own)][:RECALL_AT]
        top[k, : new.size] = new
    return _judged(split, people, top)


def _judged(split: Split, people: Array, top: Array) -> Ranking:
    """Quality of lists of items, one per person; -1 = none."""
    held = _csr(split.train.n_records, split.train.n_items, split.record, split.item)[people]
    found = np.zeros(top.shape, np.bool_)
    known = top >= 0
    who = np.repeat(np.arange(people.size), RECALL_AT).reshape(top.shape)
    if known.any():
        found[known] = np.asarray(held[who[known], top[known]]).ravel() > 0
    relevant = np.diff(held.indptr)
    return Ranking(ndcg(found[:, :NDCG_AT], relevant), recall(found[:, :RECALL_AT], relevant))


def recommend(
    split: Split, matrix: Matrix, people: Array, settings: RankingSettings, seed: int = 0
) -> Array:
    """(people, 20) items of the training data, best first; -1 = none.

    If the release groups items, a member of a group scores the group's score times its share of the
    group's training pairs: the chance of the group times the chance of the member, by public
    popularity.
    """
    train = split.train
    top = np.full((people.size, RECALL_AT), -1, np.int64)
    there = matrix.row_of[people] >= 0
    if not there.any() or not matrix.held.any():
        return top
    model_of, limits = library()
    with limits(1, user_api="blas"):
        # implicit runs its own threads; more threads in the linear algebra library slow it down
        model = model_of(
            **settings.to_dict(), num_threads=os.cpu_count() or 1, random_state=seed % 2**32
        )
        model.fit(matrix.pairs, show_progress=False)
        own = np.repeat(np.arange(train.n_records), np.diff(train.record_ptr))
        seen = _csr(train.n_records, train.n_items, own, train.record_item)[people[there]]
        if matrix.grouped or not np.array_equal(
            matrix.column_of, np.arange(model.item_factors.shape[0])
        ):
            factors = model.item_factors[np.maximum(matrix.column_of, 0)]
            model.item_factors = (factors * matrix.weight[:, None]).astype(np.float32)
        items, scores = model.recommend(
            matrix.row_of[people[there]],
            seen,
            N=RECALL_AT,
            filter_already_liked_items=True,
            filter_items=np.flatnonzero(~matrix.held),
        )
    # a list that runs out of items is filled with filtered ones, at the lowest score
    items = np.where(scores > -1e38, items, -1)
    top[there, : items.shape[1]] = items
    return top


def tune(split: Split, seed: int = 0, grid: Sequence[RankingSettings] = GRID) -> RankingSettings:
    """Settings with the best NDCG@10 on undefended data: part of the training data is held out once more.

    Held-out pairs of `split` are not used. A tie goes to the settings that come first. Records that
    are too short for a second split get the default settings.
    """
    try:
        inner = hold_out(_smaller(split, seed), seed)
    except EligibilityError:
        return RankingSettings()
    matrix = matrix_of(inner.train, inner.train)
    return max(grid, key=lambda one: exact_mean(rank(inner, matrix, one, seed).ndcg))


def _smaller(split: Split, seed: int) -> Any:
    """The training data, or a part of its people with about `MOST_TUNING_ENTRIES` entries."""
    from standout.adversary.sampling import sample_targets

    train = split.train
    n = int(np.ceil(train.n_records * MOST_TUNING_ENTRIES / max(train.n_entries, 1)))
    if n >= train.n_records:
        return train
    return train.take(
        sample_targets(train, np.arange(train.n_records), n, seed + PURPOSE_TUNING),
        drop_empty=False,
    )


def _csr(n_rows: int, n_columns: int, row: Array, column: Array) -> sparse.csr_matrix:
    """Matrix of ones at the given places; repeated places count once."""
    made = sparse.csr_matrix(
        (np.ones(row.size, np.float32), (row, column)), shape=(n_rows, n_columns)
    )
    made.sum_duplicates()
    made.data[:] = 1.0
    return made
