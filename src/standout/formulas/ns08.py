"""Narayanan and Shmatikov 2008: the terms of Scoreboard and Scoreboard-RH."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

RHO_0 = 1.5
D_0 = 30.0
PHI = 1.5


def wt(support: Any) -> Array:
    """wt(i) = 1 / ln |supp(i)|, with a support below 2 counted as 2.

    >>> wt([1, 2, 100]).round(4).tolist()
    [1.4427, 1.4427, 0.2171]
    """
    return np.asarray(1.0 / np.log(np.maximum(np.asarray(support, dtype=np.float64), 2.0)))


def closeness(gap: Any, width: float) -> Array:
    """e^(-|gap| / width): the exponential similarity of section 5 (the text lost the minus and the bars).

    >>> closeness([0, 1.5, -1.5], RHO_0).round(4).tolist()
    [1.0, 0.3679, 0.3679]
    """
    return np.asarray(np.exp(-np.abs(np.asarray(gap, dtype=np.float64)) / width))


def within(gap: Any, tolerance: float) -> Array:
    """Sim = 1 if |gap| ≤ tolerance else 0: the threshold similarity.

    >>> within([0, 1, 2], 1).tolist()
    [1.0, 1.0, 0.0]
    """
    # a hair of slack: 3.4 - 2.4 is not 1 in binary
    return (np.abs(np.asarray(gap, dtype=np.float64)) <= tolerance + 1e-9).astype(np.float64)


def eccentricity(best: Any, second: Any, sigma: Any) -> Array:
    """(max - max2) / σ, and 0 where σ is 0.

    >>> eccentricity([3.0, 1.0], [1.0, 1.0], [0.5, 0.0]).tolist()
    [4.0, 0.0]
    """
    sd = np.asarray(sigma, dtype=np.float64)
    gap = np.asarray(best, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.where(sd > 0, gap / np.where(sd > 0, sd, 1.0), 0.0)


def bits_left(share: Any, n_records: int) -> Array:
    """-log2 Π(target), at most log2 N: a lineup that leaves the target out tells nothing about it.

    >>> bits_left([1.0, 0.25, 0.0], 16).tolist()
    [0.0, 2.0, 4.0]
    """
    p = np.asarray(share, dtype=np.float64)
    most = np.log2(n_records)
    return np.minimum(-np.log2(np.where(p > 0, np.minimum(p, 1.0), 2.0**-most)), most) + 0.0
