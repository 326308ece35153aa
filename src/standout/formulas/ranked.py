"""Number of ways to know the first items of a record in some order, where some items share a rank."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from standout.arrays import Array


def log_ranked_ways(n: Array, last: Array, knows: int) -> Array:
    """log(K!·C(n - (ℓ - 1), K - (ℓ - 1))); inf where n < K.

    Ranks are those of a competition: 1, 2, 2, 4. A record keeps its items of rank ≤ K, so that ℓ - 1
    of them come before the last rank ℓ ≤ K and are certain to be known. The other K - (ℓ - 1) are
    any of the n - (ℓ - 1) that share the last rank. Each set has K! orders.

    Parameters
    ----------
    n
        Items of rank ≤ K of each record.
    last
        Largest rank ℓ of each record.
    knows
        Number K of known items.

    >>> np.exp(log_ranked_ways(np.array([2, 4, 1]), np.array([2, 2, 1]), 2)).round(9).tolist()
    [2.0, 6.0, inf]
    """
    sure = np.maximum(np.asarray(last), 1) - 1
    enough = np.asarray(n) >= knows
    tied = np.where(enough, n - sure, 1).astype(np.float64)
    open_ = np.where(enough, knows - sure, 1).astype(np.float64)
    ways = gammaln(tied + 1) - gammaln(open_ + 1) - gammaln(tied - open_ + 1)
    return np.where(enough, ways + gammaln(knows + 1.0), np.inf)
