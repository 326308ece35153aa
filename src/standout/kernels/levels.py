"""Kernels on levels: how a seen value differs from the true one.

`draw(true, uniform, levels)` returns one seen value per true value, from uniform numbers in [0, 1)
that the caller makes by hash. `table(known, levels)` returns P(seen | true), one row per known value
and one column per level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from standout.errors import ParameterError

Array = npt.NDArray[Any]

SLACK = 1e-9


class LevelKernel(Protocol):
    """Probability of each known value, given the candidate's.

    A row of a table holds probabilities or densities, the same for all levels of the row, so that
    ratios within a row and ratios against a background made with the same kernel are likelihood
    ratios.
    """

    def table(self, known: Array, levels: Array) -> Array:
        """(facts, levels): K(known value | level)."""
        ...

    def draw(self, true: Array, uniform: Array, levels: Array) -> Array:
        """One seen value per true value; true values are among the levels."""
        ...


class Errors(NamedTuple):
    """Uniform errors, as a compiled loop needs them: whole steps in ±steps, or real numbers in ±width; then clipped."""

    steps: int
    """Largest error in steps; -1 where errors are real numbers."""
    step: float
    width: Array
    """(levels,): largest error of each level, where errors are real numbers."""
    low: float
    high: float


class ErrorKernel(ABC):
    """A kernel whose errors are uniform: an adversary's. Its draw follows from `errors`."""

    @abstractmethod
    def table(self, known: Array, levels: Array) -> Array:
        """(facts, levels): K(known value | level)."""

    def errors(self, levels: Array) -> Errors:
        """Parameters of the errors on this scale; here there are none."""
        return Errors(-1, 1.0, np.zeros(levels.size), *_ends(levels, None, None))

    def draw(self, true: Array, uniform: Array, levels: Array) -> Array:
        """Return the true value plus a uniform error, clipped to the scale."""
        steps, step, width, low, high = self.errors(levels)
        if steps >= 0:
            error = step * (np.floor(uniform * (2 * steps + 1)) - steps)
        else:
            error = width[nearest_level(true, levels)] * (2 * uniform - 1)
        return np.asarray(np.clip(true + error, low, high))


@dataclass(frozen=True)
class Exact(ErrorKernel):
    """Value known exactly."""

    def table(self, known: Array, levels: Array) -> Array:
        """1 at the level of the known value, else 0."""
        near = np.abs(known[:, None] - levels[None, :]) <= _rounding(levels)
        return np.asarray(near, np.float64)


@dataclass(frozen=True)
class Cells(ErrorKernel):
    """Value known exactly, of a scale whose levels stand for the values from `low` to `high`."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def table(self, known: Array, levels: Array) -> Array:
        """Probability of the cell: 1 if the known value lies in it, else 0."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        return np.asarray(
            (known[:, None] >= low[None, :]) & (known[:, None] <= high[None, :]), np.float64
        )


@dataclass(frozen=True)
class Steps(ErrorKernel):
    """Value moved by a uniform whole number of steps in ±within, clipped to the scale; within = 0 is exact."""

    within: float
    step: float = 1.0

    def errors(self, levels: Array) -> Errors:
        """Whole steps."""
        n = int(np.floor(self.within / self.step + SLACK))
        return Errors(n, float(self.step), np.zeros(levels.size), *_ends(levels, None, None))

    def table(self, known: Array, levels: Array) -> Array:
        """Probability: share of the steps that lead from each level to the known value."""
        n, step, _, low, high = self.errors(levels)
        if n == 0:
            return Exact().table(known, levels)
        near = _rounding(levels)
        gap = known[:, None] - levels[None, :]
        steps = np.rint(gap / step)
        count = ((np.abs(gap - steps * step) <= near) & (np.abs(steps) <= n)).astype(np.float64)
        # steps that would leave the scale end on its last level
        below, above = (
            np.clip(n + 1 - np.ceil(room / step - SLACK), 0, 2 * n + 1)[None, :]
            for room in (levels - low, high - levels)
        )
        at_low, at_high = (np.abs(known - end)[:, None] <= near for end in (low, high))
        count = np.where(at_low, below, np.where(at_high, above, count))
        beyond = ((known < low - near) | (known > high + near))[:, None]
        return np.asarray(
            np.where(at_low & at_high, 2 * n + 1, np.where(beyond, 0, count)) / (2 * n + 1)
        )


@dataclass(frozen=True)
class Uniform(ErrorKernel):
    """Value moved by a real number uniform in ±width, clipped to low … high, or to the levels (DSS12)."""

    width: float
    low: float | None = None
    high: float | None = None

    def errors(self, levels: Array) -> Errors:
        """Real numbers, the same for all levels."""
        return Errors(
            -1, 1.0, np.full(levels.size, float(self.width)), *_ends(levels, self.low, self.high)
        )

    def table(self, known: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends."""
        return _clipped(known, levels, self.errors(levels))


@dataclass(frozen=True)
class Relative(ErrorKernel):
    """Value moved by a real number uniform in ±share of the value's size, clipped to low … high, or to the levels."""

    share: float
    low: float | None = None
    high: float | None = None

    def errors(self, levels: Array) -> Errors:
        """Real numbers in proportion to the level."""
        return Errors(-1, 1.0, np.abs(levels) * self.share, *_ends(levels, self.low, self.high))

    def table(self, known: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends and at 0, which does not move."""
        return _clipped(known, levels, self.errors(levels))


def _ends(levels: Array, low: float | None, high: float | None) -> tuple[float, float]:
    """The given ends, by default those of the levels."""
    if not levels.size:
        return 0.0, 0.0
    return float(levels[0] if low is None else low), float(levels[-1] if high is None else high)


def _rounding(levels: Array) -> float:
    """Differences up to this are rounding errors, far below the smallest gap of the scale."""
    size = 1e-9 * max(float(np.abs(levels).max(initial=0.0)), 1e-300)
    return float(min(size, np.diff(levels).min(initial=np.inf) / 4))


def _clipped(known: Array, levels: Array, errors: Errors) -> Array:
    """(facts, levels): level + uniform real number in ±width[level], clipped to low … high.

    A row of a known value at an end, or at a level that does not move, holds probabilities; any
    other row densities.
    """
    width, low, high = errors.width, errors.low, errors.high
    near = _rounding(levels)
    if high - low <= near:
        return Exact().table(known, levels)
    moves = width > 0
    w = np.where(moves, width, 1.0)
    gap = np.abs(known[:, None] - levels[None, :])
    out = np.where(moves & (gap <= width + near), 1 / (2 * w), 0.0)
    still = (gap <= near) & ~moves
    out = np.where(still.any(axis=1)[:, None], still, out)
    at_low = np.where(
        moves, np.clip((low - (levels - w)) / (2 * w), 0, 1), np.abs(levels - low) <= near
    )
    at_high = np.where(
        moves, np.clip((levels + w - high) / (2 * w), 0, 1), np.abs(levels - high) <= near
    )
    out = np.where((known <= low + near)[:, None], at_low[None, :], out)
    out = np.where((known >= high - near)[:, None], at_high[None, :], out)
    return np.asarray(np.where(((known < low - near) | (known > high + near))[:, None], 0.0, out))


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Any change of values: P(value in the release | value in the source)."""

    source: Array
    """float64 (levels of the source), ascending."""
    release: Array
    """float64 (levels of the release), ascending."""
    chance: sparse.csr_array
    """(levels of the source, levels of the release): each row sums to 1."""

    def table(self, known: Array, levels: Array) -> Array:
        """Probability of the released level nearest to the known value; `levels` are those of the source."""
        return np.asarray(self.chance.toarray().T[nearest_level(known, self.release)])

    def draw(self, true: Array, uniform: Array, levels: Array | None = None) -> Array:
        """Return a level of the release, by the inverse of its distribution function."""
        row = np.searchsorted(self.source, true)
        start, ends = self.chance.indptr, np.cumsum(self.chance.data)
        before = np.concatenate([[0.0], ends])[start]
        total = before[row + 1] - before[row]
        at = np.searchsorted(ends, before[row] + uniform * total, side="right")
        return np.asarray(
            self.release[self.chance.indices[np.clip(at, start[row], start[row + 1] - 1)]]
        )

    def then(self, other: Table) -> Table:
        """Return this change followed by another one."""
        if not np.array_equal(self.release, other.source):
            raise ParameterError(
                "the second change of values does not start from the levels that the first one leaves"
            )
        return Table(self.source, other.release, sparse.csr_array(self.chance @ other.chance))


def nearest_level(known: Array, levels: Array) -> Array:
    """Index of the level nearest to each known value."""
    middle = (levels[1:] + levels[:-1]) / 2
    return np.searchsorted(middle, known)
