"""`Noise`: an attacker's model of how knowledge differs from the record it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.data.catalog import Catalog
from standout.data.values import percent
from standout.errors import ParameterError

Array = npt.NDArray[Any]

LEAST_WRONG = 1e-4
"""Smallest share of wrong items in the model: with zero, one unexpected fact would exclude the true record."""

_SLACK = 1e-9

MOST_REGULAR = 64
"""Evenly spaced scales up to this many levels are assumed to clip errors at their ends."""


class ValueKernel(Protocol):
    """Probability of each known value, given the candidate's.

    A row of a table holds probabilities or densities, the same for all levels of the row, so that
    ratios within a row and ratios against a background made with the same kernel are likelihood
    ratios.
    """

    def table(self, known: Array, levels: Array) -> Array:
        """(facts, levels): K(known value | level)."""
        ...


class TimeKernel(Protocol):
    """Probability of a known time, given the candidate's. Gaps are signed: known minus candidate's time, in ticks."""

    @property
    def reach(self) -> int:
        """Gaps beyond ±reach have the probability of the gap -reach or +reach."""
        ...

    def table(self, gaps: Array) -> Array:
        """K(gap), one number per signed gap; over all gaps they sum to 1."""
        ...


@dataclass(frozen=True)
class Steps:
    """Value moved by a uniform whole number of steps in ±within, clipped to the scale; within = 0 is exact."""

    within: float
    step: float = 1.0

    def table(self, known: Array, levels: Array) -> Array:
        """Probability: share of the steps that lead from each level to the known value."""
        n = int(np.floor(self.within / self.step + _SLACK))
        low, high, near = levels[0], levels[-1], _rounding(levels)
        gap = known[:, None] - levels[None, :]
        if n == 0:
            return np.asarray(np.abs(gap) <= near, np.float64)
        steps = np.rint(gap / self.step)
        count = ((np.abs(gap - steps * self.step) <= near) & (np.abs(steps) <= n)).astype(
            np.float64
        )
        # steps that would leave the scale end on its last level
        below = np.clip(n + 1 - np.ceil((levels - low) / self.step - _SLACK), 0, 2 * n + 1)[None, :]
        above = np.clip(n + 1 - np.ceil((high - levels) / self.step - _SLACK), 0, 2 * n + 1)[
            None, :
        ]
        at_low, at_high = (np.abs(known - end)[:, None] <= near for end in (low, high))
        count = np.where(at_low, below, np.where(at_high, above, count))
        beyond = ((known < low - near) | (known > high + near))[:, None]
        return np.asarray(
            np.where(at_low & at_high, 2 * n + 1, np.where(beyond, 0, count)) / (2 * n + 1)
        )


@dataclass(frozen=True)
class Cells:
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
class Uniform:
    """Value moved by a real number uniform in ±width, clipped to low … high, or to the levels (DSS12)."""

    width: float
    low: float | None = None
    high: float | None = None

    def table(self, known: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends."""
        return _clipped(known, levels, np.full(levels.size, self.width), self.low, self.high)


@dataclass(frozen=True)
class Relative:
    """Value moved by a real number uniform in ±share of the value's size, clipped to low … high, or to the levels."""

    share: float
    low: float | None = None
    high: float | None = None

    def table(self, known: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends and at 0, which does not move."""
        return _clipped(known, levels, self.share * np.abs(levels), self.low, self.high)


def _rounding(levels: Array) -> float:
    """Differences up to this are rounding errors, far below the smallest gap of the scale."""
    size = 1e-9 * max(float(np.abs(levels).max(initial=0.0)), 1e-300)
    return float(min(size, np.diff(levels).min(initial=np.inf) / 4))


def _clipped(
    known: Array, levels: Array, width: Array, low: float | None, high: float | None
) -> Array:
    """(facts, levels): level + uniform real number in ±width[level], clipped to low … high.

    A row of a known value at an end, or at a level that does not move, holds probabilities; any
    other row densities.
    """
    low, high = levels[0] if low is None else low, levels[-1] if high is None else high
    near = _rounding(levels)
    if high - low <= near:
        return np.asarray(np.abs(known[:, None] - levels[None, :]) <= near, np.float64)
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


@dataclass(frozen=True)
class ValueBins:
    """Probability by size of the error: `share[b]` uniform over the errors in (edges[b-1], edges[b]], clipped to the scale."""

    edges: tuple[float, ...]
    share: tuple[float, ...]

    def table(self, known: Array, levels: Array) -> Array:
        """Probability of the level nearest to the known value."""
        at = nearest_level(known, levels)
        if self.is_regular(levels):
            chance = np.einsum("b,bcv->cv", np.asarray(self.share), self.landing(levels))
            return np.asarray(chance.T[at])
        # on an uneven scale, count the levels at each distance
        each = np.asarray(self.share)[None, :] / np.maximum(self.reach(levels), 1.0)
        return np.asarray(
            each[np.arange(levels.size)[None, :], self.place(levels[None, :] - levels[at][:, None])]
        )

    def chance(self, levels: Array, code: Array, known_code: Array) -> Array:
        """Probability of each known level given the true one, pair by pair; both are codes of `levels`."""
        if self.is_regular(levels):
            return np.asarray(
                np.einsum("b,bcv->cv", np.asarray(self.share), self.landing(levels))[
                    code, known_code
                ]
            )
        each = np.asarray(self.share)[None, :] / np.maximum(self.reach(levels), 1.0)
        return np.asarray(each[code, self.place(levels[code] - levels[known_code])])

    def counts(self, levels: Array, code: Array, known_code: Array, weight: Array) -> Array:
        """Expected number of errors in each bin; clipped errors are split by their current probabilities."""
        n, n_bins = levels.size, len(self.share)
        if not self.is_regular(levels):
            return np.bincount(
                self.place(levels[code] - levels[known_code]), weights=weight, minlength=n_bins
            )
        pairs = np.bincount(code * n + known_code, weights=weight, minlength=n * n).reshape(n, n)
        parts = np.asarray(self.share)[:, None, None] * self.landing(levels)
        return np.asarray(
            (parts * (pairs / np.maximum(parts.sum(axis=0), 1e-300))).sum(axis=(1, 2))
        )

    @staticmethod
    def is_regular(levels: Array) -> bool:
        """Whether the scale is evenly spaced and short, so that clipping at its ends is taken into account."""
        step = np.diff(levels)
        return bool(levels.size <= MOST_REGULAR and np.allclose(step, step[:1]))

    def landing(self, levels: Array) -> Array:
        """(bins, levels, levels) of a regular scale: probability that an error in the bin leads from one level to the other."""
        offsets = np.arange(-(levels.size - 1), levels.size)
        bins = self.place(offsets * (levels[1] - levels[0] if levels.size > 1 else 1.0))
        ends = np.clip(np.arange(levels.size)[:, None] + offsets[None, :], 0, levels.size - 1)
        out = np.zeros((len(self.share), levels.size, levels.size))
        for k in range(offsets.size):
            out[bins[k], np.arange(levels.size), ends[:, k]] += 1.0
        return np.asarray(out / np.maximum(out.sum(axis=2, keepdims=True), 1.0))

    def reach(self, levels: Array) -> Array:
        """(levels, bins): number of levels whose distance from a level lies in each bin."""
        edges = np.asarray(self.edges) + _SLACK
        upper = np.searchsorted(levels, levels[:, None] + edges[None, :], side="right")
        lower = np.searchsorted(levels, levels[:, None] - edges[None, :], side="left")
        inside = np.column_stack([upper - lower, np.full(levels.size, levels.size)])
        return np.diff(inside, axis=1, prepend=0).astype(np.float64)

    def widths(self, levels: Array) -> Array:
        """Mean number of levels whose distance lies in each bin."""
        return np.asarray(np.maximum(self.reach(levels).mean(axis=0), 1e-6))

    def place(self, gap: Array) -> Array:
        """Bin of each gap."""
        return np.searchsorted(np.asarray(self.edges), np.abs(gap) - _SLACK, side="left")

    def width(self, quantile: float = 0.9) -> float:
        """Half-width of the uniform noise that has the same 90 % quantile."""
        return _width(np.asarray(self.edges), np.asarray(self.share), quantile)


def nearest_level(known: Array, levels: Array) -> Array:
    """Index of the level nearest to each known value."""
    middle = (levels[1:] + levels[:-1]) / 2
    return np.searchsorted(middle, known)


@dataclass(frozen=True)
class Window:
    """Time moved by a uniform whole number of ticks in ±ticks."""

    ticks: int

    @property
    def reach(self) -> int:
        """One past the window."""
        return self.ticks + 1

    def table(self, gaps: Array) -> Array:
        """1/(2·ticks + 1) inside the window, 0 outside."""
        return np.where(np.abs(gaps) <= self.ticks, 1.0 / (2 * self.ticks + 1), 0.0)


@dataclass(frozen=True)
class DayBins:
    """Probability by size of the gap: `share[b]` uniform over the |gaps| in (edges[b-1], edges[b]]; last = the rest."""

    edges: tuple[int, ...]
    share: tuple[float, ...]
    span: int
    """Smallest number of ticks that the last bin covers."""

    @property
    def reach(self) -> int:
        """One past the last edge."""
        return self.edges[-1] + 1

    def table(self, gaps: Array) -> Array:
        """Share of the bin divided by its number of ticks."""
        return np.asarray((np.asarray(self.share) / self.widths())[self.place(gaps)])

    def place(self, gap: Array) -> Array:
        """Bin of each gap."""
        return np.searchsorted(np.asarray(self.edges), np.abs(gap), side="left")

    def widths(self) -> Array:
        """Ticks in each bin, both signs."""
        edges = np.asarray(self.edges)
        inner = 2 * np.diff(edges, prepend=-1)
        inner[0] -= 1
        return np.append(inner, max(2 * (self.span - self.edges[-1]), 2)).astype(np.float64)

    def width(self, quantile: float = 0.9) -> float:
        """Half-width of the uniform noise that has the same 90 % quantile."""
        return _width(np.asarray(self.edges, dtype=np.float64), np.asarray(self.share), quantile)


def _width(edges: Array, share: Array, quantile: float) -> float:
    """Gap at which the cumulated share reaches the quantile, divided by the quantile."""
    total = np.cumsum(share) / np.sum(share)
    at = np.concatenate([edges, [edges[-1]]])
    if total[0] >= quantile:
        return float(at[0])
    return float(np.interp(quantile, total, at) / quantile)


@dataclass(frozen=True)
class Noise:
    """Shares of wrong facts and kernels of right ones.

    Parameters
    ----------
    e
        Share of facts about an item that the target does not hold.
    h
        Share of facts whose item is right and whose value and day are wrong.
    value, time
        Kernels of right facts; None = that channel is not used.
    n_right
        Number of right items of a query, drawn without replacement, when known.
    sure
        Whether that number is certain, so that a record with fewer items cannot be the target.
    even_wrong
        Share of wrong values and days that are spread evenly over the scale and the span; the rest
        follow the item's own distribution.
    complete
        Whether the release holds every item that a target may hold, so that a fact about another
        item is wrong and costs ln e. If not, the item was removed from all records, and the fact
        changes nothing.
    """

    e: float
    h: float
    value: ValueKernel | None
    time: TimeKernel | None
    n_right: int | None = None
    sure: bool = True
    even_wrong: float = 0.5
    complete: bool = False

    def __post_init__(self) -> None:
        if not (0 < self.e < 1 and 0 <= self.h < 1):
            raise ParameterError(
                f"e={self.e}, h={self.h}: shares of wrong facts lie between 0 and 1"
            )

    @classmethod
    def informed(cls, who: Adversary, dataset: Catalog) -> Noise:
        """The noise of knowledge that the adversary draws from this dataset."""
        share = who.wrong_share
        wrong_item = share if who.wrong_kind == "item" else 0.0
        return cls(
            e=min(max(wrong_item, LEAST_WRONG), 1 - LEAST_WRONG),
            h=min(share if who.wrong_kind == "value" else 0.0, 1 - LEAST_WRONG),
            value=value_kernel(who, dataset),
            time=None if who.time_within is None else Window(who.time_ticks(dataset)),
            n_right=None
            if who.wrong_varies and who.wrong_kind == "item"
            else who.n_right_items or None,
            even_wrong=1.0,
            complete=True,
        )


def value_kernel(who: Adversary, dataset: Catalog) -> ValueKernel | None:
    """Kernel of a right value that the adversary draws from this dataset; None if values are not known.

    The same rules as in `adversary.sampling`: whole steps on a regular grid, real numbers on any
    other scale.
    """
    if not dataset.n_levels or (who.gamma is None and who.value_within is None):
        return None
    low, high = (float(bound) for bound in dataset.scale_ends)
    if who.gamma is not None:
        return Uniform(who.gamma * dataset.value_range, low, high)
    share = percent(who.value_within)
    if share is not None:
        return Relative(share, low, high)
    within = float(who.value_within or 0.0)
    if dataset.value_grid is not None:
        return Steps(within, dataset.value_grid)
    if within:
        return Uniform(within, low, high)
    bounds = dataset.level_bounds
    return (
        Cells(tuple(bounds[0].tolist()), tuple(bounds[1].tolist()))
        if dataset.level_low.size
        else Steps(0)
    )


VALUE_EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def averaged(edges: Array, widths: tuple[float, ...]) -> tuple[float, ...]:
    """Shares of the gap bins, averaged over uniform noises of the given half-widths; a little for larger gaps."""
    rows = []
    for w in widths:
        below = np.minimum(edges, w) * 2 + 1 if w else np.ones(edges.size)
        total = np.append(below / (2 * w + 1), 1.0)
        rows.append(np.diff(total, prepend=0.0))
    mean = np.mean(rows, axis=0) + 0.01
    return tuple((mean / mean.sum()).tolist())
