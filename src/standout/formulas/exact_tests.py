"""Exact one-sided tests of a rate against a limit, several tests at once, and several looks at growing data."""

from __future__ import annotations

import math
from collections.abc import Sequence

SHARE_OF_LAST_LOOK = 0.5


def p_below(count: int, n: int, limit: float) -> float:
    """P(X ≤ count), X ~ Binomial(n, limit): p-value of "the rate is at least the limit"; small = the rate is below it.

    A rate cannot be above 1: a limit of 1 is met by any data. A limit of 0 cannot be shown to be
    met.

    >>> round(p_below(0, 31, 0.09), 4), round(p_below(0, 32, 0.09), 4), p_below(0, 0, 0.09)
    (0.0537, 0.0489, 1.0)
    """
    if limit >= 1:
        return 0.0
    if limit <= 0 or count >= n:
        return 1.0
    from scipy.special import bdtr

    return float(bdtr(count, n, limit))


def p_above(count: int, n: int, limit: float) -> float:
    """P(X ≥ count), X ~ Binomial(n, limit): p-value of "the rate is at most the limit"; small = the rate is above it.

    >>> round(p_above(17, 100, 0.09), 4), p_above(0, 100, 0.09), p_above(1, 100, 0.0)
    (0.0078, 1.0, 0.0)
    """
    if limit >= 1 or count <= 0:
        return 1.0
    if limit <= 0:
        return 0.0
    from scipy.special import bdtrc

    return float(bdtrc(count - 1, n, limit))


def fewest_to_pass(limit: float, alpha: float = 0.05) -> float:
    """Smallest n with (1 - limit)^n ≤ alpha: with fewer targets not even zero hits show that the rate is below the limit.

    >>> fewest_to_pass(0.09), fewest_to_pass(0.05), fewest_to_pass(0.0), fewest_to_pass(1.0)
    (32, 59, inf, 0)
    """
    if limit >= 1:
        return 0
    if limit <= 0:
        return math.inf
    n = max(1, math.ceil(math.log(alpha) / math.log1p(-limit)))
    while p_below(0, n, limit) > alpha:
        n += 1
    return n


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: max over the smaller ones of (m - rank + 1)·p, at most 1.

    Among hypotheses with an adjusted value ≤ α, the probability that any is rejected although it is
    true is at most α.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    most = 0.0
    for rank, k in enumerate(sorted(range(len(p_values)), key=lambda k: p_values[k])):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[k]))
        adjusted[k] = most
    return adjusted


def look_sizes(most: int, first: int) -> list[int]:
    """Numbers of targets at which a growing sample is looked at: `first`, doubled until `most`.

    The last look before `most` is left out if it would come after two thirds of it.

    >>> look_sizes(1000, 125), look_sizes(1000, 100), look_sizes(80, 100), look_sizes(300, 150)
    ([125, 250, 500, 1000], [100, 200, 400, 1000], [80], [150, 300])
    """
    sizes = []
    n = max(1, first)
    while n * 3 <= most * 2:
        sizes.append(n)
        n *= 2
    return [*sizes, most]


def look_shares(n_looks: int) -> list[float]:
    """Share of the error that each look may spend: half for the last, half of the rest for the one before, …; sum 1.

    >>> look_shares(1), look_shares(3)
    ([1.0], [0.25, 0.25, 0.5])
    """
    shares = []
    left = 1.0
    for _ in range(n_looks - 1):
        shares.append(left * SHARE_OF_LAST_LOOK)
        left -= shares[-1]
    return [left, *shares[::-1]]


def over_looks(p_values: Sequence[float], shares: Sequence[float]) -> float:
    """Min over looks of p/share, at most 1: a p-value that stays valid when the data is looked at several times.

    By the union bound P(min p_k / s_k ≤ x) ≤ Σ x·s_k ≤ x, however the looks depend on each other.

    >>> over_looks([0.02, 0.001], [0.5, 0.5]), over_looks([0.9], [0.25, 0.75])
    (0.002, 1.0)
    """
    return min([1.0, *(p / s for p, s in zip(p_values, shares, strict=False))])
