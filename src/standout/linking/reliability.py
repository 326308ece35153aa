"""Reliability of posteriors: mean posterior against the share of right links, in bins, and what chance alone would show.

Bins of equal width are easy to read, but those in the middle hold few people. Bins with equal numbers of people all have a small
standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from standout.formulas.rates import Rate

Array = npt.NDArray[Any]

BINS = 5
POINTS = 0.03
"""Difference between mean posterior and share of right links that is asked for."""
DRAWS = 2000
PURPOSE_DRAWS = 44


def equal_width(posterior: Array) -> list[Array]:
    """Queries of each bin of the posterior: 0 to 0.2, 0.2 to 0.4, …; empty bins are left out.

    >>> [x.tolist() for x in equal_width(np.array([0.1, 0.95, 0.2, 1.0]))]
    [[0], [2], [1, 3]]
    """
    place = np.minimum(np.floor(np.round(posterior * BINS, 9)).astype(np.int64), BINS - 1)
    return [np.flatnonzero(place == b) for b in range(BINS) if (place == b).any()]


def equal_count(posterior: Array) -> list[Array]:
    """Queries of each fifth of the people, by posterior; equal posteriors may lie in two bins.

    >>> [x.tolist() for x in equal_count(np.array([0.5, 0.1, 0.9, 0.2, 0.7]))]
    [[1], [3], [0], [4], [2]]
    """
    return [x for x in np.array_split(np.argsort(posterior, kind="stable"), BINS) if x.size]


def reliability(posterior: Array, hit: Array, bins: list[Array]) -> dict[str, Any]:
    """Rows of the bins, and what chance alone would show if every posterior were exactly right.

    Parameters
    ----------
    posterior, hit
        Per query: the posterior of the link, and whether it is right.
    bins
        Indices of the queries of each bin.

    Returns
    -------
    dict
        `bins`: mean posterior and share of right links. `p_value`: probability that exact posteriors show differences at least
        as large, by the sum of squared differences over their variances. `within`: probability that exact posteriors stay within 3
        points in every bin.
    """
    rng = np.random.default_rng(PURPOSE_DRAWS)
    rows, seen, drawn, within = [], 0.0, np.zeros(DRAWS), np.ones(DRAWS, np.bool_)
    for inside in bins:
        p = posterior[inside]
        mean, variance = float(p.mean()), max(float((p * (1 - p)).sum()), 1e-12)
        rows.append({"from": float(p.min()), "to": float(p.max()), "mean": mean, **Rate.of(hit[inside])._asdict()})
        right = np.zeros(DRAWS, np.int64)
        for first in range(0, p.size, 256):
            part = p[first : first + 256]
            right += (rng.random((DRAWS, part.size)) < part).sum(axis=1)
        drawn += (right - p.sum()) ** 2 / variance
        within &= np.abs(right / p.size - mean) <= POINTS
        seen += (float(hit[inside].sum()) - float(p.sum())) ** 2 / variance
    return {"bins": rows, "p_value": float((1 + (drawn >= seen).sum()) / (1 + DRAWS)), "within": float(within.mean())}
