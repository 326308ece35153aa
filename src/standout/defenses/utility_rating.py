"""Rating error: predict held-out values with biased matrix factorization trained on a release.

The model is value ≈ μ + b_person + b_item + p·q: biases by damped means, factors by alternating
least squares with a penalty of λ per entry (ALS-WR, Zhou et al. 2008). No maintained library with
this model installs beside NumPy 2 without a deep learning framework. Alternating least squares has
no learning rate and no order of entries, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.audit.sweep import FEW_STEPS
from standout.data.dataset import Dataset
from standout.data.purposes import PURPOSE_FACTORS
from standout.data.values import grid_step
from standout.defenses.utility_release import Matrix, matrix_of
from standout.defenses.utility_split import Split, exact_mean, hold_out
from standout.errors import EligibilityError
from standout.jit import njit

DAMPING = 5.0
"""A bias is estimated as if this many entries of value 0 were there in addition."""

BIAS_SWEEPS = 10
_AT_ONCE = 512
"""Rows per task of a thread; changes no result."""


@dataclass(frozen=True)
class RatingSettings:
    """Settings of the biased matrix factorization."""

    factors: int = 8
    penalty: float = 0.1
    iterations: int = 8

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


GRID = (
    RatingSettings(0, 0.0, 0),
    RatingSettings(8, 0.05),
    RatingSettings(8, 0.1),
    RatingSettings(8, 0.2),
)
"""Settings that tuning tries; 0 factors = biases alone."""


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
        held = np.bincount(train.record_code, minlength=levels.size + 1)[: levels.size]
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
    split: Split, matrix: Matrix, settings: RatingSettings, seed: int = 0
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


def constant_error(split: Split) -> float | None:
    """Root mean squared error if the mean of the training data is predicted for every held-out pair; None without values."""
    known = ~np.isnan(split.value)
    if not known.any() or not split.train.has_value:
        return None
    scale = ErrorUnits.of(split.train)
    levels = np.append(scale(split.train.levels), np.nan)
    mean = np.nanmean(levels[split.train.record_code.astype(np.int64)])
    return math.sqrt(exact_mean((scale(split.value[known]) - mean) ** 2))


def tune(split: Split, seed: int = 0) -> RatingSettings:
    """Settings with the smallest error on undefended data: part of the training data is held out once more."""
    try:
        inner = hold_out(split.train, seed)
    except EligibilityError:
        # records too short for a second split
        return RatingSettings()
    matrix = matrix_of(inner.train, inner.train)
    return min(GRID, key=lambda one: _or_infinite(rating_error(inner, matrix, one, seed)))


def _or_infinite(error: float | None) -> float:
    return np.inf if error is None else error


def fit_ratings(
    matrix: Matrix, scale: ErrorUnits, settings: RatingSettings, seed: int = 0
) -> RatingModel:
    """Train on the pairs of a release that have a value."""
    known = ~np.isnan(matrix.value)
    row = np.repeat(np.arange(matrix.pairs.shape[0]), np.diff(matrix.pairs.indptr))[known]
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
    """Least-squares factors of every row, given those of the columns."""

    def part(low: int) -> None:
        high = min(low + _AT_ONCE, entries.shape[0])
        solve_rows(entries.indptr, entries.indices, entries.data, fixed, penalty, low, high, out)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(part, range(0, entries.shape[0], _AT_ONCE)))


@njit(nogil=True, cache=True)
def solve_rows(
    ptr: Array,
    column: Array,
    rest: Array,
    fixed: Array,
    penalty: float,
    low: int,
    high: int,
    out: Array,
) -> None:
    """Solve (Σ q qᵀ + penalty·n·1) p = Σ rest·q for the rows from `low` on; rows without entries get 0."""
    k = fixed.shape[1]
    square, right = np.empty((k, k)), np.empty(k)
    for r in range(low, high):
        n = ptr[r + 1] - ptr[r]
        if n == 0:
            out[r] = 0.0
            continue
        square[:] = 0.0
        right[:] = 0.0
        for e in range(ptr[r], ptr[r + 1]):
            q = fixed[column[e]]
            for a in range(k):
                right[a] += rest[e] * q[a]
                for b in range(a + 1):
                    square[a, b] += q[a] * q[b]
        for a in range(k):
            square[a, a] += penalty * n
            for b in range(a):
                square[b, a] = square[a, b]
        out[r] = np.linalg.solve(square, right)
