"""`LinkNoise`: how what a second file says of a person differs from the person's record; and agreement of values and times.

Agreement counts in levels as in Fellegi–Sunter linkage. The gap between a known value or day and a
candidate's falls into a bin b. `share[b]` is the probability of the bin if the fact is about the
candidate's entry; u_b is its share among the release's own entries of the item. The likelihood
ratio is share[b] / u_b: agreement on a rare value counts more, and where the bins say nothing it
is 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks.bayes import SHRINK
from standout.attacks.odds import entry_histograms
from standout.attacks.tables import Known
from standout.data.background import background
from standout.errors import ParameterError
from standout.formulas.likelihood import shrunk
from standout.kernels.bins import Bins

CLASSES = 4
"""Facts seen once, twice, three times, more often: an item that a person bought often is more likely bought again."""
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


@dataclass(frozen=True)
class LinkNoise:
    """Shares of wrong facts, and agreement of right ones.

    Parameters
    ----------
    e
        Share of facts about an item that the person's record lacks, by how often the fact was seen
        (once, twice, three times, more often). One number holds for all.
    h
        Share of right items whose value and day agree no more than by chance.
    value, time
        Agreement of right facts; None = that channel is not used.
    unrelated
        Share of people whose days in the second file are unrelated to the release.
    """

    e: tuple[float, ...]
    h: float = 0.0
    value: Bins | None = None
    time: Bins | None = None
    unrelated: float = 0.0

    def __post_init__(self) -> None:
        if not self.e or len(self.e) > CLASSES or not all(0 < x < 1 for x in self.e):
            raise ParameterError(f"e={self.e}: use one to {CLASSES} shares between 0 and 1")
        if not (0 <= self.h < 1 and 0 <= self.unrelated < 1):
            raise ParameterError(
                f"h={self.h}, unrelated={self.unrelated}: shares lie between 0 and 1"
            )

    @property
    def kernels(self) -> dict[str, Bins]:
        """Agreement in each channel that is used."""
        return {k: x for k, x in (("value", self.value), ("time", self.time)) if x is not None}

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        kernels = {
            name: {"edges": list(x.edges), "share": list(x.share), "wide": x.wide}
            for name, x in self.kernels.items()
        }
        shares = {"e": list(self.e), "h": self.h, "unrelated": self.unrelated}
        return {**shares, "value": None, "time": None, **kernels}


def classes(facts: Facts, n: int) -> Array:
    """Class of each fact about an item of the release by the number of times it was seen, for `n` classes."""
    here = facts.item >= 0
    times = np.ones(int(here.sum()), np.int64) if facts.times is None else facts.times[here]
    return np.minimum(np.maximum(times, 1), n) - 1


def value_bins(levels: Array) -> Bins:
    """Bins for the values of a release, with equal shares."""
    steps = np.diff(levels)
    if levels.size and float(np.ptp(levels)) > WIDE * float(steps.min(initial=np.inf)):
        return _even(RATIOS, wide=True)
    # edges that separate nothing would give empty bins
    gaps = np.abs(levels[:, None] - levels[None, :]).round(9)
    edges = [
        e for lo, e in zip((-1.0, *STEPS), STEPS, strict=False) if ((gaps > lo) & (gaps <= e)).any()
    ]
    return _even(edges or [0.0])


def time_bins(resolution: str = "day") -> Bins:
    """Bins for days or for hours, with equal shares."""
    return _even(HOURS if resolution == "hour" else DAYS)


def _even(edges: Iterable[float], wide: bool = False) -> Bins:
    at = tuple(float(e) for e in edges)
    return Bins(at, (1.0 / (len(at) + 1),) * (len(at) + 1), wide=wide)


def agreement_by_chance(known: Known, noise: LinkNoise) -> dict[str, Array]:
    """Per channel that is used, (facts, bins): share of the item's own entries in each bin of gaps to what is known.

    It is 1 where the value or day is unknown.
    """
    within = {"value": _values_within, "time": _days_within}
    out = {}
    for channel, bins in noise.kernels.items():
        has = known.has_value if channel == "value" else known.has_tick
        at_once = _AT_ONCE
        if channel == "value":
            n_levels = max(known.dataset.levels.size, 1)
            at_once = max(1, min(_AT_ONCE, _CELLS_AT_ONCE // n_levels))
        share = np.ones((known.item.size, len(bins.share)))
        facts = np.flatnonzero(has)
        for lo in range(0, facts.size, at_once):
            part = facts[lo : lo + at_once]
            share[part] = np.diff(within[channel](known, part, bins), axis=1, prepend=0.0)
        out[channel] = np.maximum(share, LEAST)
    return out


def _values_within(known: Known, facts: Array, bins: Bins) -> Array:
    """(facts, bins): share of the item's entries whose value is at most each edge away; 1 for the last bin."""
    own, n_own, common = entry_histograms(known, facts, "value")
    # the levels within a gap are consecutive: differences of running sums
    low, high = bins.spans(known.value[facts], known.dataset.levels)
    mine, every = (
        np.column_stack(
            [
                np.take_along_axis(x, high, axis=1) - np.take_along_axis(x, low, axis=1),
                x[:, -1],
            ]
        )
        for x in (_below(own), _below(common))
    )
    return shrunk(mine / np.maximum(n_own, 1)[:, None], n_own[:, None], every, SHRINK)


def _days_within(known: Known, facts: Array, bins: Bins) -> Array:
    """(facts, bins): share of the item's entries whose day is at most each edge away; 1 for the last bin."""
    own, n_own, common = entry_histograms(known, facts, "day")
    mixed = shrunk(own / np.maximum(n_own, 1)[:, None], n_own[:, None], common, SHRINK)
    below, day = _below(mixed), known.tick[facts]
    width = background(known.dataset).bin_ticks
    inside = [_up_to(below, day + e + 1, width) - _up_to(below, day - e, width) for e in bins.edges]
    return np.stack([*inside, np.ones(facts.size)], axis=1)


def _below(histograms: Array) -> Array:
    """(facts, cells + 1): sum of the cells before each."""
    return np.pad(np.cumsum(histograms, axis=1), ((0, 0), (1, 0)))


def _up_to(below: Array, day: Array, width: int) -> Array:
    """Share of the entries before each day, if they are spread evenly in their bins."""
    x = np.clip(day / width, 0.0, below.shape[1] - 1.0)
    k = np.minimum(x.astype(np.int64), below.shape[1] - 2)
    rows = np.arange(day.size)
    low, high = below[rows, k], below[rows, k + 1]
    return np.asarray(low + (x - k) * (high - low))
