"""Agreement of a known value or day with a candidate's, in levels as in Fellegi–Sunter linkage.

The gap between the two falls into a bin b. `share[b]` is the probability of the bin if the fact is
about the candidate's entry; u_b is its share among the release's own entries of the item. The
likelihood ratio is share[b] / u_b: agreement on a rare value counts more, and where the bins say
nothing it is 1.
"""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.attacks.bayes import SHRINK
from standout.attacks.odds import entry_histograms
from standout.attacks.tables import Known
from standout.data.background import background
from standout.formulas.likelihood import shrunk
from standout.kernels.bins import Bins

STEPS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Edges of value gaps on a short scale, such as ratings."""
RATIOS = (0.0, 0.1, 0.35, 0.7, 1.1, 1.8, 3.0)
"""Edges of the gaps of asinh(value) on a wide scale, such as quantities: about the logarithm of the ratio."""
DAYS = (0, 3, 14, 30, 90, 365)
HOURS = (0, 1, 6, 24, 72, 336)
WIDE = 50.0
"""A scale whose range is more than this many of its smallest steps is wide."""
LEAST = 1e-6
_AT_ONCE, _CELLS_AT_ONCE = 20_000, 20_000_000
"""Facts whose histograms are counted at once, and their cells."""


def value_bins(levels: Array) -> Bins:
    """Bins for the values of a release, with equal shares."""
    steps = np.diff(levels)
    if levels.size and float(np.ptp(levels)) > WIDE * float(steps.min(initial=np.inf)):
        return Bins(RATIOS, _even(len(RATIOS) + 1), wide=True)
    # edges that separate nothing would give empty bins
    gaps = np.unique(np.abs(levels[:, None] - levels[None, :]).round(9))
    edges = [
        e for lo, e in zip((-1.0, *STEPS), STEPS, strict=False) if ((gaps > lo) & (gaps <= e)).any()
    ]
    return Bins(tuple(edges or [0.0]), _even(len(edges or [0.0]) + 1))


def time_bins(resolution: str = "day") -> Bins:
    """Bins for days or for hours, with equal shares."""
    edges = HOURS if resolution == "hour" else DAYS
    return Bins(tuple(float(d) for d in edges), _even(len(edges) + 1))


def _even(n: int) -> tuple[float, ...]:
    return (1.0 / n,) * n


def value_background(known: Known, bins: Bins) -> Array:
    """(facts, bins): share of the item's own entries in each bin of gaps to the known value; 1 where it is unknown."""
    out = np.ones((known.item.size, len(bins.share)))
    has = np.flatnonzero(known.has_value)
    levels = known.dataset.levels
    step = max(1, min(_AT_ONCE, _CELLS_AT_ONCE // levels.size))
    for lo in range(0, has.size, step):
        part = has[lo : lo + step]
        own, n_own, common = entry_histograms(known, part, "value")
        # the levels within a gap are consecutive: differences of running sums
        low, high = bins.spans(known.value[part], levels)
        mine, all_ = (
            np.concatenate([np.zeros((part.size, 1)), np.cumsum(x, axis=1)], axis=1)
            for x in (own, common)
        )
        near = [
            np.take_along_axis(x, high, axis=1) - np.take_along_axis(x, low, axis=1)
            for x in (mine, all_)
        ]
        near = [np.column_stack([x, y[:, -1]]) for x, y in zip(near, (mine, all_), strict=True)]
        inside = shrunk(near[0] / np.maximum(n_own, 1)[:, None], n_own[:, None], near[1], SHRINK)
        out[part] = np.diff(inside, axis=1, prepend=0.0)
    return np.maximum(out, LEAST)


def day_background(known: Known, bins: Bins) -> Array:
    """(facts, bins): share of the item's own entries in each bin of gaps to the known day; 1 where it is unknown."""
    out = np.ones((known.item.size, len(bins.share)))
    has = np.flatnonzero(known.has_tick)
    width = background(known.dataset).bin_ticks
    for lo in range(0, has.size, _AT_ONCE):
        part = has[lo : lo + _AT_ONCE]
        own, n_own, common = entry_histograms(known, part, "day")
        mixed = shrunk(own / np.maximum(n_own, 1)[:, None], n_own[:, None], common, SHRINK)
        below = np.concatenate([np.zeros((part.size, 1)), np.cumsum(mixed, axis=1)], axis=1)
        day = known.tick[part]
        inside = np.stack(
            [_up_to(below, day + e + 1, width) - _up_to(below, day - e, width) for e in bins.edges],
            axis=1,
        )
        out[part, :-1] = np.diff(inside, axis=1, prepend=0.0)
        out[part, -1] = 1.0 - inside[:, -1]
    return np.maximum(out, LEAST)


def _up_to(below: Array, day: Array, width: int) -> Array:
    """Share of the entries before each day, if they are spread evenly in their bins."""
    x = np.clip(day / width, 0.0, below.shape[1] - 1.0)
    k = np.minimum(x.astype(np.int64), below.shape[1] - 2)
    rows = np.arange(day.size)
    low, high = below[rows, k], below[rows, k + 1]
    return np.asarray(low + (x - k) * (high - low))
