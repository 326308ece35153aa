"""Power law or lognormal: fits of entries per record (or records per item), with the KS distance as goodness."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from standout.arrays import Array

MOST_STARTS = 60
"""Largest number of starts tried for the power-law tail."""

SMALLEST_TAIL = 0.1
"""Smallest share of the counts in the tail: any distribution fits a few counts."""


@dataclass(frozen=True)
class Fit:
    """One fitted distribution of counts ≥ `start`."""

    kind: str
    start: int
    share: float
    """Share of all counts that lie at or above `start`."""
    ks: float
    """Largest difference between the cumulative shares of data and fit; 0 = perfect."""
    alpha: float | None = None
    """Power law: P(x) ∝ x^-alpha."""
    mu: float | None = None
    sigma: float | None = None
    """Lognormal: mean and standard deviation of ln x."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def _ks(counts: Array, model: Any) -> float:
    """KS distance between whole counts and a model given as P(X ≤ x), x = count + 1/2."""
    value, n = np.unique(counts, return_counts=True)
    after = np.cumsum(n) / counts.size
    before = after - n / counts.size
    return float(
        max(np.abs(after - model(value + 0.5)).max(), np.abs(before - model(value - 0.5)).max())
    )


def power_law(counts: Array, start: int | None = None) -> Fit:
    """Fit P(x) ∝ x^-α on x ≥ start by maximum likelihood, α = 1 + n / Σ ln(x / (start - 1/2)) (Clauset et al. 2009).

    By default, the start has the smallest KS distance among those that keep a tenth of the counts.

    >>> x = np.floor(9.5 * (1 - (np.arange(5000) + 0.5) / 5000) ** (-1 / 1.5) + 0.5).astype(int)
    >>> round(power_law(x, 10).alpha, 1)
    2.5
    """
    counts = np.asarray(counts)
    if start is None:
        places = np.unique(counts)
        if places.size > MOST_STARTS:
            places = places[np.linspace(0, places.size - 1, MOST_STARTS).astype(int)]
        tried = [int(x) for x in places if (counts >= x).mean() >= SMALLEST_TAIL]
        return min((power_law(counts, x) for x in tried), key=lambda fit: (fit.ks, fit.start))
    tail = counts[counts >= start]
    low = start - 0.5
    logs = np.log(tail / low).sum()
    alpha = float(1 + tail.size / logs)
    return Fit(
        "power law",
        start,
        tail.size / counts.size,
        _ks(tail, lambda x: 1 - (x / low) ** (1 - alpha)),
        alpha=alpha,
    )


def lognormal(counts: Array) -> Fit:
    """Fit ln x ~ Normal(μ, σ) on all counts by moments of the logarithm.

    >>> fit = lognormal(np.exp(np.random.default_rng(1).normal(4, 0.5, 4000)).round())
    >>> round(fit.mu, 1), round(fit.sigma, 1), fit.ks < 0.02
    (4.0, 0.5, True)
    """
    from scipy.special import ndtr

    logs = np.log(counts)
    mu, sigma = float(logs.mean()), max(float(logs.std()), 1e-9)
    return Fit(
        "lognormal",
        int(counts.min()),
        1.0,
        _ks(counts, lambda x: ndtr((np.log(x) - mu) / sigma)),
        mu=mu,
        sigma=sigma,
    )


def fits(counts: Array) -> list[Fit]:
    """Lognormal of all counts, power law of all counts, power law of the tail that it fits best; no NaN.

    The first two share their range, so that the smaller KS distance is the better fit.
    """
    counts = np.asarray(counts)
    return [lognormal(counts), power_law(counts, int(counts.min())), power_law(counts)]
