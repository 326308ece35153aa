"""Difference of two rates measured on different people."""

from __future__ import annotations

import math

from standout.formulas.rates import wilson


def newcombe(count: float, n: int, other_count: float, other_n: int) -> tuple[float, float, float]:
    """Newcombe's 95 % interval of p1 - p2 from the Wilson limits: d - √((p1-l1)² + (u2-p2)²), d + √((u1-p1)² + (p2-l2)²).

    Returns the difference and the two ends of its interval; (0, -1, 1) if one of the samples is
    empty.

    >>> [round(x, 4) for x in newcombe(56, 70, 48, 80)]
    [0.2, 0.0524, 0.3339]
    """
    if n == 0 or other_n == 0:
        return 0.0, -1.0, 1.0
    p, q = count / n, other_count / other_n
    (low, high), (other_low, other_high) = wilson(count, n), wilson(other_count, other_n)
    return (
        p - q,
        p - q - math.hypot(p - low, other_high - q),
        p - q + math.hypot(high - p, q - other_low),
    )


def p_larger(count: float, n: int, other_count: float, other_n: int) -> float:
    """One-sided p-value of "p1 ≤ p2" by the normal approximation with pooled variance; 1 if one of the samples is empty.

    Counts may be sums of credits from 0 to 1: their variance is at most that of hits and misses
    with the same mean.

    >>> round(p_larger(56, 70, 48, 80), 4), p_larger(0, 5, 0, 5)
    (0.004, 1.0)
    """
    if n == 0 or other_n == 0:
        return 1.0
    pooled = (count + other_count) / (n + other_n)
    variance = pooled * (1 - pooled) * (1 / n + 1 / other_n)
    gap = count / n - other_count / other_n
    if variance <= 0:
        return 1.0
    return 0.5 * math.erfc(gap / math.sqrt(2 * variance))
