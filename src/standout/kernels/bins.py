"""Kernels by size of the error: a probability for each bin of gaps between the seen and the true number.

What is inside a bin differs: `LevelBins` spreads it over the levels at that distance, `TickBins`
over the ticks. In linkage (`Bins` itself) it follows the item's own entries, so that only the shares
are needed.

Noise that is fitted has such kernels: `attacks/fit*.py` fit the shares for the likelihood,
`linking/em.py` for two files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.kernels.levels import SLACK, LevelKernel, LevelSums, nearest_level

MOST_REGULAR = 64
"""Evenly spaced scales up to this many levels are assumed to clip errors at their ends."""


@dataclass(frozen=True)
class Bins:
    """Probability of each bin of gaps between a right fact and the entry it is about."""

    edges: tuple[float, ...]
    """Bin b holds the gaps in (edges[b-1], edges[b]]."""
    share: tuple[float, ...]
    """One more than there are edges: the last bin holds all larger gaps."""
    wide: bool = field(default=False, kw_only=True)
    """Whether gaps are those of asinh(value)."""

    def place(self, known: Any, true: Any) -> Array:
        """Bin of each gap."""
        a, b = (np.arcsinh(x) if self.wide else np.asarray(x) for x in (known, true))
        return np.asarray(
            np.searchsorted(np.asarray(self.edges), np.abs(a - b) - SLACK, side="left")
        )

    def spans(self, known: Array, levels: Array) -> tuple[Array, Array]:
        """(facts, edges): first level, and one past the last, whose gap is at most each edge."""
        edges = np.asarray(self.edges) + SLACK
        at, scale = (np.arcsinh(x) if self.wide else x for x in (known, levels))
        low = np.searchsorted(scale, at[:, None] - edges[None, :], side="left")
        return low, np.searchsorted(scale, at[:, None] + edges[None, :], side="right")

    def within(self, gap: float) -> float:
        """Share of right facts whose gap is at most `gap`, which must be an edge.

        >>> Bins((0.0, 1.0), (0.5, 0.25, 0.25)).within(1.0)
        0.75
        """
        return float(sum(self.share[: self.edges.index(gap) + 1]))

    def width(self, quantile: float = 0.9) -> float:
        """Half-width of the uniform noise that has the same 90 % quantile."""
        total = np.cumsum(self.share) / np.sum(self.share)
        at = np.asarray((*self.edges, self.edges[-1]), np.float64)
        if total[0] >= quantile:
            return float(at[0])
        return float(np.interp(quantile, total, at) / quantile)

    def draw(
        self, true: Array, uniform: Array, levels: Array, inside: Array | None = None
    ) -> Array:
        """Return a level from a bin, all levels in the bin alike; the nearest level where the bin is empty.

        `inside` are the uniform numbers that choose the level in its bin; by default, they are made
        from what `uniform` says beyond the bin.
        """
        share, total = np.asarray(self.share), np.cumsum(self.share)
        b = np.minimum(np.searchsorted(total, uniform * total[-1], side="right"), share.size - 1)
        if inside is None:
            inside = np.clip((uniform * total[-1] - total[b] + share[b]) / share[b], 0, 1 - 1e-12)
        low, high = self.spans(true, levels)
        rows = np.arange(true.size)
        lows = np.column_stack([high[:, :1], low, np.zeros(true.size, np.int64)])
        highs = np.column_stack([high[:, :1], high, np.full(true.size, levels.size)])
        # the levels of a bin lie on both sides of those of the bins before it
        n_left = lows[rows, b] - lows[rows, b + 1]
        count = n_left + highs[rows, b + 1] - highs[rows, b]
        turn = (inside * count).astype(np.int64)
        at = np.where(turn < n_left, lows[rows, b + 1] + turn, highs[rows, b] + turn - n_left)
        return np.asarray(levels[np.where(count > 0, at, nearest_level(true, levels))])


@dataclass(frozen=True)
class LevelBins(Bins, LevelKernel):
    """Bins of value errors: `share[b]` is uniform over the levels in the bin; errors are clipped to a short regular scale."""

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """Probability of the level nearest to each known value, pair by pair; the two arrays are broadcast."""
        return self.chance(levels, code, nearest_level(known, levels))

    def sums(self, known: Array, levels: Array, weight: Array) -> LevelSums:
        """Sums over all levels, weighted by a number per level."""
        if self.is_regular(levels):
            table = self.table(known, levels)
            weighted, n_possible = table @ weight, (table > 0).sum(axis=1)
        else:
            each = self._each(levels) * weight[:, None]
            there = np.tile(np.asarray(self.share) > 0, (levels.size, 1))
            weighted, n_possible = (self._in_bins(known, levels, x) for x in (each, there))
        return LevelSums(weighted, n_possible, np.ones(known.size, np.bool_))

    def _in_bins(self, known: Array, levels: Array, each: Array) -> Array:
        """Per fact: sum over the levels of the number that the level has for the bin of its error."""
        before = np.concatenate([np.zeros((1, each.shape[1])), np.cumsum(each, axis=0)])
        low, high = self.spans(levels[nearest_level(known, levels)], levels)
        none, n = np.zeros(known.size, np.int64), np.full(known.size, levels.size)
        # a bin holds what is within its edge but not within the one before
        low, high = np.column_stack([none, low, none]), np.column_stack([none, high, n])
        bins = np.arange(each.shape[1])
        outer = before[high[:, 1:], bins] - before[low[:, 1:], bins]
        inner = before[high[:, :-1], bins] - before[low[:, :-1], bins]
        return np.asarray((outer - inner).sum(axis=1))

    def draw(
        self, true: Array, uniform: Array, levels: Array, inside: Array | None = None
    ) -> Array:
        """Return a level; on a regular scale, an error that leads beyond its end is clipped."""
        if not self.is_regular(levels):
            return super().draw(true, uniform, levels, inside)
        step, n = _step(levels), levels.size
        error = super().draw(np.zeros(true.size), uniform, np.arange(1 - n, n) * step, inside)
        return np.asarray(
            levels[
                np.clip(nearest_level(true, levels) + np.rint(error / step), 0, n - 1).astype(int)
            ]
        )

    def chance(self, levels: Array, code: Array, known_code: Array) -> Array:
        """Probability of each known level given the true one, pair by pair; both are codes of `levels`."""
        if self.is_regular(levels):
            return np.asarray(self._seen_given_true(levels)[code, known_code])
        return np.asarray(self._each(levels)[code, self.place(levels[code], levels[known_code])])

    def counts(self, levels: Array, code: Array, known_code: Array, weight: Array) -> Array:
        """Expected number of errors in each bin; clipped errors are split by their current probabilities."""
        n, n_bins = levels.size, len(self.share)
        if not self.is_regular(levels):
            return np.bincount(
                self.place(levels[code], levels[known_code]), weights=weight, minlength=n_bins
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
        bins = self.place(offsets * _step(levels), 0.0)
        ends = np.clip(np.arange(levels.size)[:, None] + offsets[None, :], 0, levels.size - 1)
        out = np.zeros((len(self.share), levels.size, levels.size))
        for k in range(offsets.size):
            out[bins[k], np.arange(levels.size), ends[:, k]] += 1.0
        return np.asarray(out / np.maximum(out.sum(axis=2, keepdims=True), 1.0))

    def _seen_given_true(self, levels: Array) -> Array:
        """(true levels, seen levels): probability of the seen level, on a regular scale."""
        return np.asarray(np.einsum("b,bcv->cv", np.asarray(self.share), self.landing(levels)))

    def _each(self, levels: Array) -> Array:
        """(levels, bins) of an uneven scale: probability of each level in the bin."""
        return np.asarray(np.asarray(self.share)[None, :] / np.maximum(self.sizes(levels), 1.0))

    def sizes(self, levels: Array) -> Array:
        """(levels, bins): number of levels whose distance from a level lies in each bin."""
        low, high = self.spans(levels, levels)
        inside = np.column_stack([high - low, np.full(levels.size, levels.size)])
        return np.diff(inside, axis=1, prepend=0).astype(np.float64)

    def widths(self, levels: Array) -> Array:
        """Mean number of levels whose distance lies in each bin."""
        return np.asarray(np.maximum(self.sizes(levels).mean(axis=0), 1e-6))


@dataclass(frozen=True)
class TickBins(Bins):
    """Bins of time gaps: `share[b]` is uniform over the ticks in the bin, on both sides."""

    span: int
    """Smallest number of ticks that the last bin covers."""

    @property
    def reach(self) -> int:
        """One past the last edge."""
        return int(self.edges[-1]) + 1

    def table(self, gaps: Array) -> Array:
        """Share of the bin divided by its number of ticks."""
        return np.asarray(self.each()[self.place(gaps, 0)])

    def each(self) -> Array:
        """Probability of each tick, by bin."""
        return np.asarray(np.asarray(self.share) / self.widths())

    def widths(self) -> Array:
        """Ticks in each bin, both signs."""
        edges = np.asarray(self.edges)
        inner = 2 * np.diff(edges, prepend=-1)
        inner[0] -= 1
        return np.append(inner, max(2 * (self.span - edges[-1]), 2)).astype(np.float64)


def averaged_shares(edges: Array, widths: tuple[float, ...]) -> tuple[float, ...]:
    """Shares of the gap bins, averaged over uniform noises of the given half-widths; a little for larger gaps."""
    rows = []
    for w in widths:
        below = np.minimum(edges, w) * 2 + 1 if w else np.ones(edges.size)
        total = np.append(below / (2 * w + 1), 1.0)
        rows.append(np.diff(total, prepend=0.0))
    mean = np.mean(rows, axis=0) + 0.01
    return tuple((mean / mean.sum()).tolist())


def _step(levels: Array) -> float:
    """Step of a regular scale."""
    return float(levels[1] - levels[0]) if levels.size > 1 else 1.0
