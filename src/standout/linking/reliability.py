"""Reliability of posteriors: mean posterior against the share of right links in bins, and what chance alone would show.

Bins of equal width are easy to read, but those in the middle hold few people. Bins with equal
numbers of people have similar and smaller standard errors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.purposes import PURPOSE_DRAWS
from standout.formulas.rates import Rate

N_BINS = 5
POINTS = 0.03
"""Largest difference between mean posterior and share of right links that is asked for."""
DRAWS = 2000
BATCH = 256
MANY = 20_000
"""In a bin with more people, the number of right links is drawn from a normal distribution."""


class Bin(NamedTuple):
    """Queries whose posterior lies between two numbers."""

    low: float
    high: float
    inside: Array
    """Indices of the queries."""


def equal_width(posterior: Array) -> list[Bin]:
    """Five bins of the posterior: 0 to 0.2, 0.2 to 0.4, …; empty bins are left out.

    >>> [(b.high, b.inside.tolist()) for b in equal_width(np.array([0.1, 0.95, 0.2, 1.0]))]
    [(0.2, [0]), (0.4, [2]), (1.0, [1, 3])]
    """
    edges = np.arange(N_BINS + 1) / N_BINS
    place = np.minimum(np.searchsorted(edges, posterior, side="right") - 1, N_BINS - 1)
    every = [
        Bin(float(edges[b]), float(edges[b + 1]), np.asarray(np.flatnonzero(place == b)))
        for b in range(N_BINS)
    ]
    return [b for b in every if b.inside.size]


def equal_count(posterior: Array) -> list[Bin]:
    """Five bins with equal numbers of queries, by posterior; equal posteriors may lie in two bins.

    >>> [(b.high, b.inside.tolist()) for b in equal_count(np.array([0.5, 0.1, 0.9, 0.2, 0.7]))]
    [(0.1, [1]), (0.2, [3]), (0.5, [0]), (0.7, [4]), (0.9, [2])]
    """
    parts = np.array_split(np.argsort(posterior, kind="stable"), N_BINS)
    return [Bin(float(posterior[x].min()), float(posterior[x].max()), x) for x in parts if x.size]


def calibration(posterior: Array, hit: Array, bins: list[Bin]) -> list[dict[str, Any]]:
    """Mean posterior and share of right links of each bin."""
    return [
        {
            "from": b.low,
            "to": b.high,
            "mean": float(posterior[b.inside].mean()),
            **Rate.of(hit[b.inside])._asdict(),
        }
        for b in bins
    ]


class ByChance(NamedTuple):
    """What posteriors that are exactly right would show in the same bins."""

    p_value: float
    """Probability of differences at least as large, by the sum of squared differences over their variances."""
    within: float
    """Probability that every bin stays within 3 points."""


def by_chance(posterior: Array, hit: Array, bins: list[Bin]) -> ByChance:
    """Draw right and wrong links from the posteriors, and compare with the truth.

    Parameters
    ----------
    posterior, hit
        Per query: the posterior of its link, and whether the link is right.
    bins
        Made by `equal_width` or `equal_count` from these posteriors.
    """
    rng = np.random.default_rng(PURPOSE_DRAWS)
    seen, drawn, within = 0.0, np.zeros(DRAWS), np.ones(DRAWS, np.bool_)
    for b in bins:
        p = posterior[b.inside]
        variance = max(float((p * (1 - p)).sum()), 1e-12)
        right = (
            _right_links(p, rng)
            if p.size <= MANY
            else p.sum() + np.sqrt(variance) * rng.standard_normal(DRAWS)
        )
        drawn += (right - p.sum()) ** 2 / variance
        within &= np.abs(right - p.sum()) <= POINTS * p.size
        seen += (float(hit[b.inside].sum()) - float(p.sum())) ** 2 / variance
    return ByChance(
        float((1 + (drawn >= seen * (1 - 1e-9)).sum()) / (1 + DRAWS)), float(within.mean())
    )


def _right_links(p: Array, rng: np.random.Generator) -> Array:
    """Numbers of right links in the draws, in parts that fit into memory."""
    parts = [p[first : first + BATCH] for first in range(0, p.size, BATCH)]
    return np.asarray(sum((rng.random((DRAWS, x.size)) < x).sum(axis=1) for x in parts))
