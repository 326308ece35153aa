"""The likelihood of what an adversary knows: Fellegi–Sunter for sparse records (beyond the papers).

For an adversary with exactly w wrong facts: `log_wrong_items` and `log_wrong_values`. For one whose
facts are wrong
independently, with e = share of wrong items, h = share of right items whose value and day are
wrong::

    P(A|r) = Π_i [ (1-e)·1[i∈r]·((1-h)·K_i(r) + h·u_i)/L_r + e·q_i·g_i ]

K is the noise of a right fact, u the distribution of a wrong value, q·g that of a fact about a
person outside the release.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array
from standout.jit import njit

MOST_ORDERED = 10
"""Wrong items up to which all orders of their draws are summed exactly."""


def log_presence(llr_best: Any, mass: Any, n_records: Any) -> Array:
    """Log of (1/N)·Σ_s P(A|s) / P(A|absent), the Bayes factor of "the target is in the release"; -inf if no record can be it.

    Parameters
    ----------
    llr_best
        LLR of the best record.
    mass
        Σ_s e^(LLR(s) - LLR(best)), 0 where there is no candidate.
    n_records
        N.

    >>> float(np.exp(log_presence(np.log(8.0), 1.0, 4)).round(6))
    2.0
    """
    some = np.asarray(mass, dtype=np.float64) > 0
    score = np.where(some, np.nan_to_num(np.asarray(llr_best, dtype=np.float64)), 0.0)
    whole = score + np.log(np.where(some, mass, 1.0)) - np.log(np.maximum(n_records, 1))
    return np.where(some, whole, -np.inf)


def posterior(log_odds: Any, share: Any, prior: float) -> tuple[Array, Array]:
    """P(best|A) = P(present|A)·share and P(absent|A) = 1 / (1 + odds·λ/(1-λ)).

    Parameters
    ----------
    log_odds
        Logarithm of the odds of presence at λ = 1/2: the Bayes factor, or its calibrated value.
    share
        P(best | A, present).
    prior
        λ, the prior that the target is in the release.

    >>> p, absent = posterior(np.log(2.0), 1.0, 0.5)
    >>> float(p.round(4)), float(absent.round(4))
    (0.6667, 0.3333)
    """
    from scipy.special import expit

    nobody = np.isneginf(log_odds)
    z = np.where(nobody, 0.0, log_odds) + (
        np.log(prior) - np.log1p(-prior) if prior < 1 else np.inf
    )
    return np.where(nobody, 0.0, expit(z) * np.asarray(share)), np.where(nobody, 1.0, expit(-z))


def pick_rate(pickable: Any, n_right: int | None, sure: bool = True) -> Array:
    """Probability of one picked item, 1/L_r; for m of L_r without replacement the m-th root of (L_r-m)!/L_r!.

    A record with fewer pickable items than were picked cannot be the target: 0, if their number is
    `sure`.

    >>> pick_rate([4, 1, 0], None).tolist(), pick_rate([4, 1], 2).round(6).tolist()
    ([0.25, 1.0, 0.0], [0.288675, 0.0])
    """
    length = np.asarray(pickable, dtype=np.float64)
    if not n_right:
        return np.where(length > 0, 1.0 / np.maximum(length, 1.0), 0.0)
    from scipy.special import gammaln

    enough = length >= n_right
    safe = np.where(enough, length, n_right)
    return np.where(
        enough | ((not sure) & (length > 0)),
        np.exp(-(gammaln(safe + 1) - gammaln(safe - n_right + 1)) / n_right),
        0.0,
    )


def shrunk(own: Any, n_own: Any, common: Any, weight: float) -> Array:
    """(n·own + κ·common)/(n + κ): an item's own distribution, shrunk toward the common one if the item is rare.

    >>> float(shrunk(own=1.0, n_own=10, common=0.0, weight=10.0))
    0.5
    """
    n = np.asarray(n_own, dtype=np.float64)
    return np.asarray((n * np.asarray(own) + weight * np.asarray(common)) / (n + weight))


@njit(nogil=True, cache=True, error_model="numpy")
def wrong_order(support: Array, n: int, rest: float, scratch: Array) -> float:
    """Mean over the orders of `n` items of Π_j s_j / (rest - Σ of the earlier s): their probability as draws without replacement.

    Exact for up to `MOST_ORDERED` items, by subsets. Beyond that every earlier item counts with the
    mean of the s.

    Parameters
    ----------
    support
        s_j: (record, item) pairs of each item, of which the first `n` are used.
    n
        Number of items.
    rest
        Pairs of all items that could have been drawn first.
    scratch
        float64 array of at least 2^min(n, `MOST_ORDERED`) elements.

    >>> two = wrong_order(np.array([1.0, 3.0]), 2, 8.0, np.empty(4))
    >>> round(two, 6) == round((1 / 8 * 3 / 7 + 3 / 8 * 1 / 5) / 2, 6)
    True
    """
    if n > MOST_ORDERED:
        mean = 0.0
        for j in range(n):
            mean += support[j] / n
        out = 1.0
        for j in range(n):
            out *= support[j] / (rest - j * mean)
        return out
    scratch[0] = 1.0
    for chosen in range(1, 1 << n):
        total = 0.0
        for j in range(n):
            if chosen >> j & 1:
                total += support[j]
        whole = 0.0
        for j in range(n):
            if chosen >> j & 1:
                whole += scratch[chosen ^ (1 << j)] * support[j] / (rest - (total - support[j]))
        scratch[chosen] = whole
    out = float(scratch[(1 << n) - 1])
    for j in range(2, n + 1):
        out /= j
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def log_wrong_items(
    right: Array,
    held: Array,
    support: Array,
    g: Array,
    rest: float,
    log_pick: float,
    log_ways: float,
    wrong: Array,
    scratch: Array,
) -> float:
    """Log P(A|r) = Σ_{i∈R} log K_i + log W + Σ_{j∉R} log g_j - log (L_r)_(m-w) - log C(m,w), exactly w items wrong.

    R are the facts whose item r holds. W is `wrong_order` of the other items.

    Parameters
    ----------
    right
        K_i(r) per fact.
    held
        Whether r holds the item of each fact.
    support, g
        Pairs of each item, and the probability of the known value and day among the item's pairs.
    rest
        Pairs of all pickable items that r does not hold.
    log_pick, log_ways
        log (L_r)_(m-w) and log C(m,w).
    wrong, scratch
        Scratch arrays of at least m and 2^min(w, `MOST_ORDERED`) elements.

    >>> p = log_wrong_items(np.array([0.5, 0.0]), np.array([True, False]), np.array([4.0, 2.0]), np.array([0.3, 0.25]),
    ...                     10.0, np.log(3.0), np.log(2.0), np.empty(2), np.empty(2))
    >>> round(float(np.exp(p)), 9) == round(0.5 * (2 / 10) * 0.25 / 3 / 2, 9)
    True
    """
    out = -log_pick - log_ways
    n = np.int64(0)
    for i in range(right.size):
        if held[i]:
            out += np.log(right[i])
        else:
            wrong[n] = support[i]
            n += 1
            out += np.log(g[i])
    if n > 0:
        out += np.log(wrong_order(wrong, n, rest, scratch))
    return out


@njit(nogil=True, cache=True, error_model="numpy")
def log_wrong_values(
    right: Array, wrong: Array, w: int, log_pick: float, log_ways: float, scratch: Array
) -> float:
    """Log P(A|r) = log [x^w] Π_i (K_i + u_i·x) - log (F_r)_(w)·(L_r-w)_(m-w) - log C(m,w), exactly w values and days wrong.

    The polynomial sums over all choices of the wrong facts, so it is exact even if r does not
    determine them.

    Parameters
    ----------
    right, wrong
        K_i(r) and u_i(r) per fact.
    w
        Number of wrong facts.
    log_pick, log_ways
        log (F_r)_(w)·(L_r-w)_(m-w), F_r = items of r that can give a wrong fact, and log C(m,w).
    scratch
        Scratch array of at least w + 1 elements.

    >>> p = log_wrong_values(np.array([0.5, 0.2]), np.array([0.1, 0.4]), 1, np.log(6.0), np.log(2.0), np.empty(2))
    >>> round(float(np.exp(p)), 9) == round((0.5 * 0.4 + 0.2 * 0.1) / 6 / 2, 9)
    True
    """
    out = -log_pick - log_ways
    scratch[: w + 1] = 0.0
    scratch[0] = 1.0
    for i in range(right.size):
        # shares instead of probabilities, so that many small ones do not underflow
        both = right[i] + wrong[i]
        if not both > 0.0:
            return -np.inf
        out += np.log(both)
        a, b = right[i] / both, wrong[i] / both
        for k in range(w, 0, -1):
            scratch[k] = scratch[k] * a + scratch[k - 1] * b
        scratch[0] *= a
    return out + np.log(scratch[w]) if scratch[w] > 0.0 else -np.inf
