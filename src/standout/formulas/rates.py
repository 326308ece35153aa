"""How a rate is stated: intervals, tests of differences, precision at a prior."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

Z_95 = 1.959963984540054


class Rate(NamedTuple):
    """A proportion with its count, its size and its 95 % Wilson interval."""

    count: int  # type: ignore[assignment]  # a tuple's own count() is not missed
    n: int
    rate: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: Any) -> Rate:
        """Rate of true elements.

        >>> Rate.of([True, False, True, True])
        Rate(count=3, n=4, rate=0.75, low=0.3006..., high=0.9544...)
        """
        array = np.asarray(hits, dtype=np.bool_)
        count, n = int(array.sum()), int(array.size)
        low, high = wilson(count, n)
        return cls(count, n, count / n if n else math.nan, low, high)


def wilson(count: int, n: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson interval (p + z²/2n ± z√(p(1-p)/n + z²/4n²)) / (1 + z²/n); (0, 1) when n is 0.

    >>> [round(x, 4) for x in wilson(0, 500)]
    [0.0, 0.0076]
    """
    if n == 0:
        return 0.0, 1.0
    p = count / n
    center = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (center - half) / (1 + z * z / n), (center + half) / (1 + z * z / n)
    # at the ends the formula gives the end itself, up to rounding
    return (0.0 if count == 0 else max(0.0, low)), (1.0 if count == n else min(1.0, high))


def at_most(count: int, n: int, confidence: float = 0.95) -> float:
    """One-sided Clopper–Pearson upper bound: the largest p with P(X ≤ count | n, p) ≥ 1 - confidence.

    >>> round(at_most(0, 500), 4)
    0.006
    """
    if count >= n:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(count + 1, n - count, confidence))


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar test: p = min(1, 2·P(X ≤ min(b, c))), X ~ Binomial(b + c, 1/2).

    >>> mcnemar(0, 0), round(mcnemar(1, 9), 4)
    (1.0, 0.0215)
    """
    n = only_first + only_second
    if n == 0:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(only_first, only_second), n, 0.5)))


def precision(true_rate: float, false_rate: float, prior: float) -> float:
    """λ·TPR / (λ·TPR + (1-λ)·FPR): how often a named record is the right one; NaN when nobody is named.

    >>> round(precision(0.9, 0.05, 0.1), 2), round(precision(0.9, 0.05, 0.01), 2)
    (0.67, 0.15)
    """
    named = prior * true_rate + (1 - prior) * false_rate
    return prior * true_rate / named if named > 0 else math.nan
