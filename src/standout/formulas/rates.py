"""Statistics of rates: intervals, tests of differences, precision at a prior."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from standout.results import Amount, Count, Part, Share

Z_95 = 1.959963984540054


@dataclass(frozen=True)
class Rate(Part):
    """A mean of numbers from 0 to 1 with its sum, its size and its 95 % Wilson interval."""

    count: Amount
    """Number of hits; a fraction if ties count in part."""
    n: Count
    rate: Share
    low: Share
    high: Share

    @classmethod
    def of(cls, hits: Any) -> Rate:
        """Rate of true elements, or mean of credits from 0 to 1.

        A credit between 0 and 1 has a smaller variance than a hit or miss of the same mean: the
        interval is then a little too wide, never too narrow. The sum does not depend on the order.

        >>> Rate.of([True, False, True, True])
        Rate(count=3, n=4, rate=0.75, low=0.3006..., high=0.9544...)
        >>> Rate.of([0.5, 0.25, 0.0]).count
        0.75
        """
        array = np.asarray(hits)
        if array.dtype.kind != "f":
            return cls.from_count(int(array.astype(np.bool_).sum()), int(array.size))
        total = math.fsum(array.tolist())
        return cls.from_count(int(total) if total.is_integer() else total, int(array.size))

    @classmethod
    def from_count(cls, count: float, n: int) -> Rate:
        """Rate of `count` hits among `n`.

        >>> Rate.from_count(1, 2).rate
        0.5
        """
        low, high = wilson(count, n)
        return cls(count, n, count / n if n else math.nan, low, high)

    def of_all(self, share: float) -> Rate:
        """The same hits as a rate of all records, of which only `share` could be tested; the others count as not found.

        >>> Rate.from_count(3, 4).of_all(0.5).rate
        0.375
        """
        return Rate(self.count, self.n, self.rate * share, self.low * share, self.high * share)


def wilson(count: float, n: int, z: float = Z_95) -> tuple[float, float]:
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
    # at 0 and 1 the formula gives the end itself, up to rounding
    return (0.0 if count == 0 else max(0.0, low)), (1.0 if count == n else min(1.0, high))


def at_most(count: float, n: int, confidence: float = 0.95) -> float:
    """One-sided Clopper–Pearson upper bound: the largest p with P(X ≤ count | n, p) ≥ 1 - confidence.

    A count that is not whole is rounded up, which makes the bound larger.

    >>> round(at_most(0, 500), 4)
    0.006
    """
    whole = math.ceil(count - 1e-9)
    if whole >= n:
        return 1.0
    from scipy.special import betaincinv

    return float(betaincinv(whole + 1, n - whole, confidence))


def at_least(count: float, n: int, confidence: float = 0.95) -> float:
    """One-sided Clopper–Pearson lower bound, 1 - at_most(n - count, n).

    >>> round(at_least(500, 500), 4)
    0.994
    """
    return 1.0 - at_most(n - count, n, confidence)


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


GRID = 60
"""Differences are rounded to this part of a hit: ties of 1 to 6 records are exact."""

MOST_EXACT = 1000
"""Number of differences up to which the sign-flip distribution is computed exactly; beyond it is approximated as normal."""


def sign_flip(differences: Any) -> float:
    """Two-sided sign-flip test of paired differences: p = P(|Σ ±d_i| ≥ |Σ d_i|), every sign equally likely.

    For differences of -1, 0 and 1 this is the exact McNemar test.

    >>> round(sign_flip([-1.0] + [1.0] * 9), 4), round(sign_flip([0.5, 0.5, -1.0, 0.0]), 4)
    (0.0215, 1.0)
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[d != 0]
    if np.all(np.abs(d) == 1):
        return mcnemar(int((d > 0).sum()), int((d < 0).sum()))
    if d.size > MOST_EXACT:
        return math.erfc(abs(math.fsum(d)) / math.sqrt(2.0 * math.fsum(d * d)))
    steps = np.rint(np.abs(d) * GRID).astype(np.int64)
    total = int(steps.sum())
    # probability that the differences with a kept sign sum to k: Σ ±d = 2k - total
    chance = np.zeros(total + 1)
    chance[0] = 1.0
    for w in steps.tolist():
        moved = 0.5 * chance
        chance = moved.copy()
        chance[w:] += moved[: chance.size - w]
    seen = abs(int((np.sign(d) * steps).sum()))
    return min(1.0, float(chance[np.abs(2 * np.arange(total + 1) - total) >= seen].sum()))


def precision(true_rate: float, false_rate: float, prior: float, wrong_rate: float = 0.0) -> float:
    """λ·TPR / (λ·(TPR + WPR) + (1-λ)·FPR): probability that a named record is the right one; NaN if none is named.

    Parameters
    ----------
    true_rate, wrong_rate
        Shares of people in the data for whom the right record, and a wrong one, is named.
    false_rate
        Share of people who are not in the data for whom a record is named.
    prior
        λ, share of those looked up who are in the data.

    >>> round(precision(0.9, 0.05, 0.1), 2), round(precision(0.9, 0.05, 0.01), 2), round(precision(0.9, 0.05, 0.1, 0.1), 2)
    (0.67, 0.15, 0.62)
    """
    named = prior * (true_rate + wrong_rate) + (1 - prior) * false_rate
    return prior * true_rate / named if named > 0 else math.nan
