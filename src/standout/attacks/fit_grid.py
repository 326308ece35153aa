"""Noise for queries that are too few to fit: an average over a small grid, weighted by the queries."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks.fit import Weighing, start_noise, usable
from standout.attacks.gap_bins import gap_widths
from standout.attacks.noise import Noise
from standout.data.catalog import Catalog
from standout.kernels.bins import LevelBins, TickBins, averaged_shares

WRONG_ITEMS = {0.02: 0.22, 0.1: 0.37, 0.3: 0.32, 0.6: 0.09}
WRONG_VALUES = {0.02: 0.37, 0.2: 0.63}
"""Values of e and h, each with its weight under Beta(1, 4)."""
VALUE_WIDTHS = (0.0, 1.0, 2.0)
DAY_WIDTHS = (0.0, 3.0, 14.0, 60.0)
PRIOR = 0.5
"""Prior that a target is in the release."""


def average_noise(dataset: Catalog, facts: Facts, exclude: Array) -> Noise:
    """Mean of the noises of a grid, weighted by P(knowledge | noise); the target may be absent.

    If the queries carry no information (an absent target is equally likely under every noise), it
    is the grid's mean.

    Parameters
    ----------
    dataset, facts
        The release, and what is known.
    exclude
        One record index per query, -1 = none: that query is answered as if the record were not in
        the data.
    """
    known = usable(dataset, facts, exclude)
    start = start_noise(dataset, known)
    grid = _grid(dataset, start)
    prior = np.array([WRONG_ITEMS[n.e] * WRONG_VALUES.get(n.h, 1.0) for n in grid])
    if known.item.size == 0:
        return _mean(grid, prior / prior.sum())
    weighing = Weighing.of(known, start)
    rate = weighing.rates(start)
    n_records = weighing.n_like.sum(axis=1)
    log_present = np.log(PRIOR) - np.log(np.maximum(n_records, 1.0))
    level = []
    for noise in grid:
        chances = weighing.chances(noise, rate)
        present = log_present + weighing.posterior(chances)[1]
        absent = np.log1p(-PRIOR) + known.sum_over_facts(np.log(chances.absent))
        level.append(np.where(weighing.answerable, np.logaddexp(present, absent), 0.0).sum())
    weight = prior * np.exp(np.asarray(level) - np.max(level))
    return _mean(grid, weight / weight.sum())


def _grid(dataset: Catalog, start: Noise) -> list[Noise]:
    """Every combination of shares and widths; none for a channel without a kernel."""
    values: list[LevelBins | None] = [None]
    times: list[TickBins | None] = [None]
    if isinstance(start.value, LevelBins):
        edges = np.asarray(start.value.edges)
        values = [LevelBins(start.value.edges, averaged_shares(edges, (w,))) for w in VALUE_WIDTHS]
    if isinstance(start.time, TickBins):
        edges = np.asarray(start.time.edges, dtype=np.float64)
        widths = gap_widths(dataset, DAY_WIDTHS)
        times = [
            TickBins(start.time.edges, averaged_shares(edges, (w,)), start.time.span)
            for w in widths
        ]
    wrong_values = WRONG_VALUES if start.h > 0 else (0.0,)
    return [
        Noise(e, h, v, d, sure=False)
        for e, h, v, d in product(WRONG_ITEMS, wrong_values, values, times)
    ]


def _mean(grid: list[Noise], weight: Array) -> Noise:
    """Noise whose shares and kernels are the weighted means."""
    value, time = grid[0].value, grid[0].time
    if isinstance(value, LevelBins):
        value = LevelBins(value.edges, _mean_share([n.value for n in grid], weight))
    if isinstance(time, TickBins):
        time = TickBins(time.edges, _mean_share([n.time for n in grid], weight), time.span)
    e, h = (float(weight @ np.array([getattr(n, name) for n in grid])) for name in ("e", "h"))
    return Noise(e, h, value, time, sure=False)


def _mean_share(kernels: list[Any], weight: Array) -> tuple[float, ...]:
    return tuple((weight @ np.array([k.share for k in kernels])).tolist())
