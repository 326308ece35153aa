"""`Noise`: what an attacker believes of how knowledge differs from the record it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.data.dataset import Dataset
from standout.errors import ParameterError

Array = npt.NDArray[Any]

LEAST_WRONG = 1e-4
"""Share of wrong items that an attacker allows for when she is told there are none: a zero would bar the truth."""

_SLACK = 1e-9

MOST_REGULAR = 64
"""Evenly spaced scales up to this many levels are taken to clip errors at their ends."""


class ValueKernel(Protocol):
    """Chance of each known value, given the candidate's."""

    def table(self, known: Array, levels: Array) -> Array:
        """(facts, levels): K(known value | level)."""
        ...


class TimeKernel(Protocol):
    """Chance of a known day, given the candidate's."""

    @property
    def reach(self) -> int:
        """Gaps beyond this all have the chance of the last one."""
        ...

    def table(self, gaps: Array) -> Array:
        """K(gap in days), one number per gap ≥ 0; both signs together sum to 1."""
        ...


@dataclass(frozen=True)
class Steps:
    """Value moved by a uniform whole number of steps in ±within, clipped to the scale; within = 0 is exact."""

    within: float
    step: float = 1.0

    def table(self, known: Array, levels: Array) -> Array:
        """Share of the steps that lead from each level to the known value."""
        n = int(np.floor(self.within / self.step + _SLACK))
        moved = np.clip(levels[:, None] + self.step * np.arange(-n, n + 1)[None, :], levels[0], levels[-1])
        return np.asarray((np.abs(known[:, None, None] - moved[None, :, :]) < 1e-6).mean(axis=2))


@dataclass(frozen=True)
class Uniform:
    """Value moved by a real number uniform in ±width, clipped to the scale (DSS12). Ends of the scale hold a lump."""

    width: float

    def table(self, known: Array, levels: Array) -> Array:
        """Density inside the scale, probability at its ends."""
        if self.width <= 0:
            return Steps(0).table(known, levels)
        low, high, w = levels[0], levels[-1], self.width
        inside = (np.abs(known[:, None] - levels[None, :]) <= w + _SLACK) / (2 * w)
        at_low = np.clip((low - (levels - w)) / (2 * w), 0, 1)[None, :]
        at_high = np.clip(((levels + w) - high) / (2 * w), 0, 1)[None, :]
        out = np.where((known <= low + _SLACK)[:, None], at_low, inside)
        return np.asarray(np.where((known >= high - _SLACK)[:, None], at_high, out))


@dataclass(frozen=True)
class Gaussian:
    """Value moved by a normal error of standard deviation `sd`, read off on the levels of the scale."""

    sd: float

    def table(self, known: Array, levels: Array) -> Array:
        """Normal weight of the nearest level to the known value, normalized over the levels."""
        weight = np.exp(-0.5 * ((levels[None, :] - levels[:, None]) / self.sd) ** 2)
        weight /= weight.sum(axis=1, keepdims=True)
        return np.asarray(weight.T[nearest_level(known, levels)])


@dataclass(frozen=True)
class ValueBins:
    """Chance by size of the error: `share[b]` spread evenly over the errors in (edges[b-1], edges[b]], clipped to the scale."""

    edges: tuple[float, ...]
    share: tuple[float, ...]

    def table(self, known: Array, levels: Array) -> Array:
        """Chance of the level nearest to the known value."""
        chance = np.einsum("b,bcv->cv", np.asarray(self.share), self.landing(levels))
        return np.asarray(chance.T[nearest_level(known, levels)])

    def landing(self, levels: Array) -> Array:
        """(bins, levels, levels): chance that an error in the bin leads from the first level to the second."""
        step = np.diff(levels)
        if levels.size <= MOST_REGULAR and np.allclose(step, step[0]):
            offsets = np.arange(-(levels.size - 1), levels.size)
            bins = self.place(offsets * step[0])
            ends = np.clip(np.arange(levels.size)[:, None] + offsets[None, :], 0, levels.size - 1)
            out = np.zeros((len(self.share), levels.size, levels.size))
            for k in range(offsets.size):
                out[bins[k], np.arange(levels.size), ends[:, k]] += 1.0
        else:
            # on an uneven scale nobody can say where an error would have led: count the levels that are there
            bins = self.place(levels[:, None] - levels[None, :])
            out = (bins[None, :, :] == np.arange(len(self.share))[:, None, None]).astype(np.float64)
        return np.asarray(out / np.maximum(out.sum(axis=2, keepdims=True), 1.0))

    def widths(self, levels: Array) -> Array:
        """Mean number of levels whose distance lies in each bin."""
        bins = self.place(levels[:, None] - levels[None, :])
        count = np.array([(bins == b).sum() for b in range(len(self.share))])
        return np.asarray(np.maximum(count / levels.size, 1e-6))

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
    """Day moved by a uniform whole number of days in ±days."""

    days: int

    @property
    def reach(self) -> int:
        """One past the window."""
        return self.days + 1

    def table(self, gaps: Array) -> Array:
        """1/(2·days + 1) inside the window, 0 outside."""
        return np.where(gaps <= self.days, 1.0 / (2 * self.days + 1), 0.0)


@dataclass(frozen=True)
class Laplace:
    """Day moved by a two-sided geometric error with scale `scale` days."""

    scale: float

    @property
    def reach(self) -> int:
        """Where the chance has fallen by e^-30."""
        return int(np.ceil(30 * self.scale)) + 1

    def table(self, gaps: Array) -> Array:
        """(1-a)/(1+a)·a^gap, a = e^(-1/scale)."""
        a = np.exp(-1.0 / self.scale)
        return np.asarray((1 - a) / (1 + a) * a ** np.asarray(gaps, dtype=np.float64))


@dataclass(frozen=True)
class DayBins:
    """Chance by size of the gap: `share[b]` spread evenly over the days with gap in (edges[b-1], edges[b]]; last = the rest."""

    edges: tuple[int, ...]
    share: tuple[float, ...]
    span: int
    """Days that the last bin is spread over, at least."""

    @property
    def reach(self) -> int:
        """One past the last edge."""
        return self.edges[-1] + 1

    def table(self, gaps: Array) -> Array:
        """Share of the bin divided by its number of days."""
        return np.asarray((np.asarray(self.share) / self.widths())[self.place(gaps)])

    def place(self, gap: Array) -> Array:
        """Bin of each gap."""
        return np.searchsorted(np.asarray(self.edges), np.abs(gap), side="left")

    def widths(self) -> Array:
        """Days in each bin, both signs."""
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
        Kernels of right facts; None = that channel carries nothing.
    n_right
        Number of right items of a query, drawn without replacement, when known.
    sure
        Whether that number is certain, so that a record with fewer items cannot be the target.
    even_wrong
        Share of wrong values and days that are spread evenly over the scale and the span; the rest follow the item's
        own distribution.
    complete
        Whether the release holds every item of the data that the knowledge is about. If so, a fact about any other item
        is wrong and costs ln e. If not, the release withholds that item from everybody: the fact is equally likely for
        every record and for an absent target, and changes nothing.
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
            raise ParameterError(f"e={self.e}, h={self.h}: shares of wrong facts lie between 0 and 1")

    @classmethod
    def informed(cls, who: Adversary, dataset: Dataset) -> Noise:
        """The noise that the adversary's knowledge really has."""
        share = who.wrong / who.knows
        wrong_item = share if who.wrong_kind == "item" else 0.0
        value: ValueKernel | None = None
        if who.gamma is not None:
            value = Uniform(who.gamma * dataset.value_range)
        elif who.value_within is not None:
            gaps = np.diff(dataset.levels)
            fine = float(gaps.min()) if gaps.size else 1.0
            value = Steps(who.value_within, 1.0 if who.value_within >= 1 else fine)
        return cls(
            e=min(max(wrong_item, LEAST_WRONG), 1 - LEAST_WRONG),
            h=min(share if who.wrong_kind == "value" else 0.0, 1 - LEAST_WRONG),
            value=value,
            time=None if who.time_within is None else Window(int(who.time_within)),
            n_right=who.n_right_items or None,
            even_wrong=1.0,
            complete=True,
        )


VALUE_EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
DAY_EDGES = (0, 3, 14, 30, 90, 365)


def averaged(edges: Array, widths: tuple[float, ...]) -> tuple[float, ...]:
    """Shares of the gap bins, averaged over uniform noises of the given half-widths; a little for larger gaps."""
    rows = []
    for w in widths:
        below = np.minimum(edges, w) * 2 + 1 if w else np.ones(edges.size)
        total = np.append(below / (2 * w + 1), 1.0)
        rows.append(np.diff(total, prepend=0.0))
    mean = np.mean(rows, axis=0) + 0.01
    return tuple((mean / mean.sum()).tolist())
