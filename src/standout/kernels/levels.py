"""Kernels on levels: how a seen value differs from the true one.

`draw(true, uniform, levels)` returns one seen value per true value, from uniform numbers in [0, 1)
that the caller makes by hash. `table(known, levels)` returns P(seen | true), one row per known value
and one column per level.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.errors import ParameterError

SLACK = 1e-9

_CELLS_AT_ONCE = 4_000_000


class LevelSums(NamedTuple):
    """Sums over all levels, per known value."""

    weighted: Array
    """Σ weight[level] · K(known value | level)."""
    n_possible: Array
    """int64: levels with K > 0."""
    moved: Array
    """bool: whether some K is neither 0 nor 1."""


class LevelKernel(ABC):
    """Probability of each known value, given the candidate's.

    A row of a table holds probabilities or densities, the same for all levels of the row, so that
    ratios within a row and ratios against a background made with the same kernel are likelihood
    ratios.
    """

    @abstractmethod
    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """K(known value | levels[code]), pair by pair; the two arrays are broadcast."""

    def table(self, known: Array, levels: Array) -> Array:
        """(facts, levels): K(known value | level)."""
        return self.chances(known[:, None], np.arange(levels.size)[None, :], levels)

    def sums(self, known: Array, levels: Array, weight: Array) -> LevelSums:
        """Sums over all levels, weighted by a number per level."""
        table = self.table(known, levels)
        moved = ((table > 0) & (table != 1.0)).any(axis=1)
        return LevelSums(table @ weight, (table > 0).sum(axis=1), moved)


class Errors(NamedTuple):
    """Uniform errors, as a compiled loop needs them: whole steps in ±steps, or real numbers in ±width; then clipped."""

    steps: int
    """Largest error in steps; -1 where errors are real numbers."""
    step: float
    width: Array
    """(levels,): largest error of each level, where errors are real numbers."""
    low: float
    high: float


class ErrorKernel(LevelKernel):
    """A kernel whose errors are uniform: an adversary's. Its draw follows from `errors`."""

    def sums(self, known: Array, levels: Array, weight: Array) -> LevelSums:
        """Sums over all levels, weighted by a number per level: over those in reach, in parts that fit into memory."""
        first, stop = self._window(known, levels)
        width = np.maximum(stop - first, 0)
        ends = np.cumsum(width)
        out = LevelSums(
            np.zeros(known.size), np.zeros(known.size, np.int64), np.zeros(known.size, np.bool_)
        )
        lo = 0
        while lo < known.size:
            most = ends[lo] - width[lo] + _CELLS_AT_ONCE
            hi = max(lo + 1, int(np.searchsorted(ends, most, side="right")))
            row = np.repeat(np.arange(hi - lo), width[lo:hi])
            start = first[lo:hi] - np.cumsum(width[lo:hi]) + width[lo:hi]
            code = np.arange(row.size) + np.repeat(start, width[lo:hi])
            chance = self.chances(known[lo:hi][row], code, levels)
            parts = chance * weight[code], chance > 0, (chance > 0) & (chance != 1.0)
            for total, x in zip(out, parts, strict=True):
                total[lo:hi] = np.bincount(row, weights=x, minlength=hi - lo)
            lo = hi
        return out

    def _window(self, known: Array, levels: Array) -> tuple[Array, Array]:
        """First level of each known value, and one past the last, beyond which K is 0."""
        steps, _, width, _, _ = self.errors(levels)
        low, high = levels - width, levels + width
        if steps >= 0 or (np.diff(low) < 0).any() or (np.diff(high) < 0).any():
            return np.zeros(known.size, np.int64), np.full(known.size, levels.size)
        slack = 2 * _rounding(levels) + 1e-12 * np.abs(known)
        return np.searchsorted(high, known - slack), np.searchsorted(low, known + slack, "right")

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

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """1 at the level of the known value, else 0."""
        return np.asarray(np.abs(known - levels[code]) <= _rounding(levels), np.float64)


@dataclass(frozen=True)
class Steps(ErrorKernel):
    """Value moved by a uniform whole number of steps in ±within, clipped to the scale; within = 0 is exact."""

    within: float
    step: float = 1.0

    def errors(self, levels: Array) -> Errors:
        """Whole steps."""
        n = int(np.floor(self.within / self.step + SLACK))
        return Errors(n, float(self.step), np.zeros(levels.size), *_ends(levels, None, None))

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """Probability: share of the steps that lead from each level to the known value."""
        n, step, _, low, high = self.errors(levels)
        if n == 0:
            return Exact().chances(known, code, levels)
        near = _rounding(levels)
        gap = known - levels[code]
        steps = np.rint(gap / step)
        count = ((np.abs(gap - steps * step) <= near) & (np.abs(steps) <= n)).astype(np.float64)
        # steps that would leave the scale end on its last level
        below, above = (
            np.clip(n + 1 - np.ceil(room / step - SLACK), 0, 2 * n + 1)[code]
            for room in (levels - low, high - levels)
        )
        at_low, at_high = (np.abs(known - end) <= near for end in (low, high))
        count = np.where(at_low, below, np.where(at_high, above, count))
        beyond = (known < low - near) | (known > high + near)
        return np.asarray(
            np.where(at_low & at_high, 2 * n + 1, np.where(beyond, 0, count)) / (2 * n + 1)
        )


@dataclass(frozen=True)
class SameLabel(ErrorKernel):
    """Label that is right with a probability, and else any other label."""

    share: float

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """The share of the same label; the rest is spread evenly over the others."""
        other = (1.0 - self.share) / max(levels.size - 1, 1)
        return np.where(known == levels[code], self.share, other)

    def _window(self, known: Array, levels: Array) -> tuple[Array, Array]:
        return np.zeros(known.size, np.int64), np.full(known.size, levels.size)

    def draw(self, true: Array, uniform: Array, levels: Array) -> Array:
        """Return the true label, or another one."""
        rest = np.clip((uniform - self.share) / (1.0 - self.share), 0.0, 1.0 - 1e-12)
        code = np.searchsorted(levels, true)
        other = (rest * (levels.size - 1)).astype(np.int64)
        return np.where(uniform < self.share, true, levels[other + (other >= code)])


@dataclass(frozen=True)
class CircleSteps(ErrorKernel):
    """Level moved by a uniform whole number of steps in ±within on a circle: 23 o'clock and 0 o'clock are one hour apart."""

    within: float
    step: float
    period: float

    @property
    def _n(self) -> int:
        """Largest error in steps; no level is reached from both sides."""
        n = int(np.floor(self.within / self.step + SLACK))
        if (2 * n + 1) * self.step > self.period:
            raise ParameterError(
                f"a tolerance of {self.within:g} reaches around a circle of {self.period:g}: lower it, or leave the "
                "channel out"
            )
        return n

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """Probability: 1/(2n + 1) for levels at most n steps away, on either side."""
        gap = np.abs(known - levels[code]) % self.period
        near = np.minimum(gap, self.period - gap) <= (self._n + SLACK) * self.step
        return np.asarray(near / (2 * self._n + 1))

    def _window(self, known: Array, levels: Array) -> tuple[Array, Array]:
        return np.zeros(known.size, np.int64), np.full(known.size, levels.size)

    def draw(self, true: Array, uniform: Array, levels: Array) -> Array:
        """Return the true level plus a whole number of steps, around the circle."""
        error = self.step * (np.floor(uniform * (2 * self._n + 1)) - self._n)
        return np.asarray((true + error) % self.period)


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

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends."""
        return _clipped(known, code, levels, self.errors(levels))


@dataclass(frozen=True)
class Relative(ErrorKernel):
    """Value moved by a real number uniform in ±share of the value's size, clipped to low … high, or to the levels."""

    share: float
    low: float | None = None
    high: float | None = None

    def errors(self, levels: Array) -> Errors:
        """Real numbers in proportion to the level."""
        return Errors(-1, 1.0, np.abs(levels) * self.share, *_ends(levels, self.low, self.high))

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends and at 0, which does not move."""
        return _clipped(known, code, levels, self.errors(levels))


def _ends(levels: Array, low: float | None, high: float | None) -> tuple[float, float]:
    """The given ends, by default those of the levels."""
    if not levels.size:
        return 0.0, 0.0
    return float(levels[0] if low is None else low), float(levels[-1] if high is None else high)


def _rounding(levels: Array) -> float:
    """Differences up to this are rounding errors, far below the smallest gap of the scale."""
    size = 1e-9 * max(float(np.abs(levels).max(initial=0.0)), 1e-300)
    return float(min(size, np.diff(levels).min(initial=np.inf) / 4))


def _clipped(known: Array, code: Array, levels: Array, errors: Errors) -> Array:
    """Pair by pair: level + uniform real number in ±width[level], clipped to low … high.

    Of a known value at an end, or at a level that does not move, these are probabilities; of any
    other one densities.
    """
    width, low, high = errors.width, errors.low, errors.high
    near = _rounding(levels)
    if high - low <= near:
        return Exact().chances(known, code, levels)
    moves = width > 0
    w = np.where(moves, width, 1.0)
    gap = np.abs(known - levels[code])
    out = np.where(moves[code] & (gap <= width[code] + near), 1 / (2 * w[code]), 0.0)
    if not moves.all():
        at = nearest_level(known, levels)
        stuck = ~moves[at] & (np.abs(known - levels[at]) <= near)
        out = np.where(stuck, (gap <= near) & ~moves[code], out)
    at_low = np.where(
        moves, np.clip((low - (levels - w)) / (2 * w), 0, 1), np.abs(levels - low) <= near
    )
    at_high = np.where(
        moves, np.clip((levels + w - high) / (2 * w), 0, 1), np.abs(levels - high) <= near
    )
    out = np.where(known <= low + near, at_low[code], out)
    out = np.where(known >= high - near, at_high[code], out)
    return np.asarray(np.where((known < low - near) | (known > high + near), 0.0, out))


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
