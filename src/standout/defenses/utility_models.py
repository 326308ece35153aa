"""Models that are trained on a release: recommendations by `implicit` ALS, values by biased matrix factorization.

A person whom the release lost gets no recommendations and counts as a miss, and so does a held-out
item that it lost. Items of the person's training data are never recommended, whatever the release
says about them: a release that hides them must not gain or lose by recommending them again.

Values are value ≈ μ + b_person + b_item + p·q: biases by damped means, factors by alternating least
squares with a penalty of λ per entry (ALS-WR, Zhou et al. 2008). No maintained library with this
model installs beside NumPy 2 without a deep learning framework. Alternating least squares has no
learning rate and no order of entries, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.audit.sweep import FEW_STEPS
from standout.data.dataset import Dataset
from standout.data.export import entry_records
from standout.data.purposes import PURPOSE_FACTORS, PURPOSE_TUNING
from standout.data.values import grid_step
from standout.defenses.utility_release import (
    HeldOut,
    Matrix,
    exact_mean,
    hold_out,
    level_counts,
    matrix_of,
    people_to_test,
)
from standout.errors import EligibilityError, EngineError
from standout.formulas.ranking import ndcg, recall

Quality = tuple[Array, Array]
"""NDCG@10 and recall@20 of the recommendations, one number per tested person."""

NDCG_AT = 10
RECALL_AT = 20
MOST_PEOPLE = 5_000
"""Tested people; more are sampled."""

MOST_TUNING_ENTRIES = 500_000
"""Settings are tuned on people with about this many entries."""

DAMPING = 5.0
"""A bias is estimated as if this many entries of value 0 were there in addition."""

BIAS_SWEEPS = 10
_AT_ONCE = 512
"""Rows per task of a thread; changes no result."""


@dataclass(frozen=True)
class RankingSettings:
    """Settings of `implicit.als.AlternatingLeastSquares`."""

    factors: int = 32
    alpha: float = 5.0
    regularization: float = 10.0
    iterations: int = 10


RANKING_GRID = tuple(
    RankingSettings(factors, alpha, regularization)
    for factors in (8, 32, 64)
    for alpha, regularization in ((1.0, 10.0), (5.0, 10.0), (5.0, 100.0), (20.0, 10.0))
)
"""Settings of recommendations that tuning tries."""


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
    split: HeldOut,
    matrix: Matrix,
    settings: RankingSettings,
    seed: int = 0,
) -> Quality:
    """Train on a release and recommend to the people with held-out items: NDCG@10 and recall@20 of each tested person.

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
    """
    people = people_to_test(split, MOST_PEOPLE, seed)
    return _judged(split, people, recommend(split, matrix, people, settings, seed))


def rank_by_popularity(split: HeldOut, seed: int = 0) -> Quality:
    """Recommend the most popular items of the training data that the person does not hold, the same for everyone."""
    train, people = split.train, people_to_test(split, MOST_PEOPLE, seed)
    order = np.argsort(-train.supports, kind="stable")
    top = np.full((people.size, RECALL_AT), -1, np.int64)
    for k, r in enumerate(people.tolist()):
        own = train.record_item[train.record_ptr[r] : train.record_ptr[r + 1]]
        # at most as many items are skipped as the person holds
        head = order[: RECALL_AT + train.lengths[r]]
        new = head[~np.isin(head, own)][:RECALL_AT]
        top[k, : new.size] = new
    return _judged(split, people, top)


def _judged(split: HeldOut, people: Array, top: Array) -> Quality:
    """Quality of lists of items, one per person; -1 = none."""
    held = _csr(split.train, split.record, split.item)[people]
    found = np.zeros(top.shape, np.bool_)
    known = top >= 0
    who = np.repeat(np.arange(people.size), RECALL_AT).reshape(top.shape)
    if known.any():
        found[known] = np.asarray(held[who[known], top[known]]).ravel() > 0
    relevant = np.diff(held.indptr)
    return ndcg(found[:, :NDCG_AT], relevant), recall(found[:, :RECALL_AT], relevant)


def recommend(
    split: HeldOut, matrix: Matrix, people: Array, settings: RankingSettings, seed: int = 0
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
            **asdict(settings), num_threads=os.cpu_count() or 1, random_state=seed % 2**32
        )
        model.fit(matrix.pairs, show_progress=False)
        seen = _csr(train, entry_records(train), train.record_item)[people[there]]
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


def tune_ranking(
    split: HeldOut, seed: int = 0, grid: Sequence[RankingSettings] = RANKING_GRID
) -> RankingSettings:
    """Settings with the best NDCG@10 on undefended data: part of the training data is held out once more.

    Held-out pairs of `split` are not used. A tie goes to the settings that come first. Records that
    are too short for a second split get the default settings.
    """
    try:
        inner = hold_out(_smaller(split.train, seed), seed)
    except EligibilityError:
        return RankingSettings()
    matrix = matrix_of(inner.train, inner.train)
    return max(grid, key=lambda one: exact_mean(rank(inner, matrix, one, seed)[0]))


def _smaller(train: Dataset, seed: int) -> Dataset:
    """The training data, or a part of its people with about `MOST_TUNING_ENTRIES` entries."""
    from standout.adversary.sampling import sample_targets

    n = int(np.ceil(train.n_records * MOST_TUNING_ENTRIES / max(train.n_entries, 1)))
    if n >= train.n_records:
        return train
    part = sample_targets(train, np.arange(train.n_records), n, seed + PURPOSE_TUNING)
    return train.take(part, drop_empty=False)


def _csr(train: Dataset, record: Array, item: Array) -> sparse.csr_matrix:
    """Matrix of ones at the given places; repeated places count once."""
    shape = (train.n_records, train.n_items)
    made = sparse.csr_matrix((np.ones(record.size, np.float32), (record, item)), shape=shape)
    made.sum_duplicates()
    made.data[:] = 1.0
    return made


@dataclass(frozen=True)
class RatingSettings:
    """Settings of the biased matrix factorization."""

    factors: int = 8
    penalty: float = 0.1
    iterations: int = 8


RATING_GRID = (
    RatingSettings(0, 0.0, 0),
    RatingSettings(8, 0.05),
    RatingSettings(8, 0.1),
    RatingSettings(8, 0.2),
)
"""Settings of predicted values that tuning tries; 0 factors = biases alone."""


@dataclass(frozen=True, eq=False, repr=False)
class ErrorUnits:
    """Units in which errors are measured.

    A scale of few even steps is used as it is. On any other scale (amounts, quantities) a few
    extreme values would decide everything, so that a value is replaced by its mid-rank among the
    values of the training data, from 0 to 1.
    """

    levels: Array
    height: Array

    @classmethod
    def of(cls, train: Dataset) -> ErrorUnits:
        """Scale of this data."""
        levels = np.asarray(train.levels, np.float64)
        step = grid_step(levels)
        if step is not None and levels[-1] - levels[0] <= (FEW_STEPS + 0.5) * step:
            return cls(levels, levels)
        held = level_counts(train)
        return cls(levels, (np.cumsum(held) - held / 2) / max(int(held.sum()), 1))

    def __call__(self, value: Array) -> Array:
        """Height of each value; values between two levels lie between their heights, NaN stays NaN."""
        return (
            np.interp(value, self.levels, self.height)
            if self.levels.size > 1
            else np.where(np.isnan(value), value, 0.0)
        )


@dataclass(frozen=True, eq=False, repr=False)
class RatingModel:
    """A trained model in terms of the rows and columns of a matrix; index -1 (the last element) = not in the release."""

    mean: float
    row_bias: Array
    column_bias: Array
    row_factors: Array
    column_factors: Array

    def predict(self, row: Array, column: Array) -> Array:
        """Predicted height of each pair; what the release lost contributes nothing."""
        product = np.einsum("nk,nk->n", self.row_factors[row], self.column_factors[column])
        return np.asarray(self.mean + self.row_bias[row] + self.column_bias[column] + product)


def rating_error(
    split: HeldOut, matrix: Matrix, settings: RatingSettings, seed: int = 0
) -> float | None:
    """Root mean squared error on the held-out values; None if the release has no values.

    Every held-out pair with a value counts. A person or an item that the release lost is predicted
    by the rest of the model.
    """
    known = ~np.isnan(split.value)
    if not known.any() or np.isnan(matrix.value).all():
        return None
    scale = ErrorUnits.of(split.train)
    model = fit_ratings(matrix, scale, settings, seed)
    low, high = float(scale.height[0]), float(scale.height[-1])
    guess = model.predict(matrix.row_of[split.record[known]], matrix.column_of[split.item[known]])
    return math.sqrt(exact_mean((np.clip(guess, low, high) - scale(split.value[known])) ** 2))


def constant_error(split: HeldOut) -> float | None:
    """Root mean squared error if the mean of the training data is predicted for every held-out pair; None without values."""
    known = ~np.isnan(split.value)
    if not known.any() or not split.train.has_value:
        return None
    scale = ErrorUnits.of(split.train)
    levels = np.append(scale(split.train.levels), np.nan)
    mean = np.nanmean(levels[split.train.record_code.astype(np.int64)])
    return math.sqrt(exact_mean((scale(split.value[known]) - mean) ** 2))


def tune_rating(split: HeldOut, seed: int = 0) -> RatingSettings:
    """Settings with the smallest error on undefended data: part of the training data is held out once more."""
    try:
        inner = hold_out(split.train, seed)
    except EligibilityError:
        # records too short for a second split
        return RatingSettings()
    matrix = matrix_of(inner.train, inner.train)
    errors = [rating_error(inner, matrix, one, seed) for one in RATING_GRID]
    return RATING_GRID[int(np.argmin([np.inf if x is None else x for x in errors]))]


def fit_ratings(
    matrix: Matrix, scale: ErrorUnits, settings: RatingSettings, seed: int = 0
) -> RatingModel:
    """Train on the pairs of a release that have a value."""
    known = ~np.isnan(matrix.value)
    row = matrix.rows[known]
    column = matrix.pairs.indices[known].astype(np.int64)
    height = scale(matrix.value[known])
    n_rows, n_columns = matrix.pairs.shape
    mean = float(height.mean())
    rest = height - mean
    of_row, of_column = np.zeros(n_rows + 1), np.zeros(n_columns + 1)
    for _ in range(BIAS_SWEEPS):
        of_column[:-1] = _damped(column, rest - of_row[row], n_columns)
        of_row[:-1] = _damped(row, rest - of_column[column], n_rows)
    rest = rest - of_row[row] - of_column[column]
    p, q = np.zeros((n_rows + 1, settings.factors)), np.zeros((n_columns + 1, settings.factors))
    if settings.factors:
        q[:-1] = np.random.default_rng([seed % 2**63, PURPOSE_FACTORS]).normal(
            0, 0.1, (n_columns, settings.factors)
        )
        by_row = sparse.csr_matrix((rest, (row, column)), shape=(n_rows, n_columns))
        by_column = by_row.T.tocsr()
        for _ in range(settings.iterations):
            _solve(by_row, q, settings.penalty, p)
            _solve(by_column, p, settings.penalty, q)
    return RatingModel(mean, of_row, of_column, p, q)


def _damped(group: Array, rest: Array, n: int) -> Array:
    return np.asarray(
        np.bincount(group, rest, minlength=n) / (np.bincount(group, minlength=n) + DAMPING)
    )


def _solve(entries: sparse.csr_matrix, fixed: Array, penalty: float, out: Array) -> None:
    """Solve (Σ q qᵀ + penalty·n·1) p = Σ rest·q for the factors p of every row, given those of the columns."""
    k = fixed.shape[1]
    fixed = fixed[:-1]
    products = (fixed[:, :, None] * fixed[:, None, :]).reshape(-1, k * k)
    there = sparse.csr_matrix(
        (np.ones(entries.nnz), entries.indices, entries.indptr), entries.shape
    )
    n = np.diff(entries.indptr)
    # a row without entries gets 0
    ridge = np.where(n > 0, penalty * n, 1.0)

    def part(low: int) -> None:
        rows = slice(low, min(low + _AT_ONCE, entries.shape[0]))
        square = (there[rows] @ products).reshape(-1, k, k)
        square[:, np.arange(k), np.arange(k)] += ridge[rows, None]
        right = entries[rows] @ fixed
        out[rows] = np.linalg.solve(square, right[:, :, None])[:, :, 0]

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(part, range(0, entries.shape[0], _AT_ONCE)))
