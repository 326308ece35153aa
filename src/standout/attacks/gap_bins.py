"""Bins of gaps for noise that is fitted or averaged: edges in ticks of a resolution, and shares from counts."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.data.catalog import Catalog
from standout.kernels.bins import TickBins, averaged_shares

DAY_EDGES = (0, 3, 14, 30, 90, 365)
"""Edges in days."""

FINE_EDGES: dict[str, tuple[int, ...]] = {
    "day": (),
    "hour": (2, 12),
    "minute": (5, 30, 120, 720),
    "second": (10, 60, 300, 1_800, 7_200, 43_200),
}
"""Further edges below the days, in ticks."""

MOST_DAYS = {"minute": 90, "second": 14}
"""Last edge in days, by resolution: tables of minutes over a year, or of seconds over a month, would be long."""


def gap_edges(dataset: Catalog) -> tuple[int, ...]:
    """Edges of the bins in ticks, ascending from 0."""
    n = dataset.ticks_per_day
    days = [day for day in DAY_EDGES[1:] if day <= MOST_DAYS.get(dataset.time_resolution, day)]
    return (0, *FINE_EDGES[dataset.time_resolution], *(n * day for day in days))


def gap_widths(dataset: Catalog, days: tuple[float, ...]) -> tuple[float, ...]:
    """Half-widths in ticks: the given days, and the fine edges."""
    return (
        *(dataset.ticks_per_day * day for day in days),
        *map(float, FINE_EDGES[dataset.time_resolution]),
    )


def averaged_bins(dataset: Catalog, days: tuple[float, ...]) -> TickBins:
    """Probabilities by size of the gap, averaged over uniform noises of these half-widths and the fine ones."""
    edges = gap_edges(dataset)
    return TickBins(
        edges,
        averaged_shares(np.asarray(edges, dtype=np.float64), gap_widths(dataset, days)),
        dataset.tick_span,
    )


def decreasing(counts: Array, widths: Array) -> Array:
    """Counts of the bins after making their density non-increasing in the gap.

    >>> decreasing(np.array([10.0, 0.0, 30.0]), np.array([1.0, 1.0, 2.0])).tolist()
    [10.0, 10.0, 20.0]
    """
    from scipy.optimize import isotonic_regression

    return np.asarray(
        isotonic_regression(counts / widths, weights=widths, increasing=False).x * widths
    )


def without_floor(counts: Array, widths: Array) -> tuple[float, ...]:
    """Shares of the bins after subtracting the density of the widest gaps everywhere, with one pseudo-count in total.

    A part that is as frequent at the widest gaps as at narrow ones is unrelated to the entry: h
    accounts for it.

    >>> [round(x, 3) for x in without_floor(np.array([10.0, 2.0, 2.0]), np.array([1.0, 1.0, 2.0]))]
    [0.848, 0.121, 0.03]
    """
    kept = np.maximum(counts - counts[-1] / widths[-1] * widths, 0.0) + 1.0 / counts.size
    return tuple((kept / kept.sum()).tolist())
