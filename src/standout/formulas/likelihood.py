"""The mixture likelihood: Fellegi–Sunter for sparse records (beyond the papers).

With e = share of knowledge that is a wrong item, h = share whose value and day are wrong though the item is right::

    P(A|r) = Π_i [ (1-e)·1[i∈r]·((1-h)·K_i(r) + h·u_i)/L_r + e·q_i·g_i ]

K is the noise of a right fact, u the distribution of a wrong value, q·g what a person outside the release would say.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def odds(kernel: Any, e: Any, h: Any, wrong: Any, q: Any, g: Any) -> Array:
    """(1-e)·((1-h)·K + h·u) / (e·q·g): odds of one held item against a wrong one, before the division by L_r.

    >>> float(odds(kernel=0.5, e=0.5, h=0.0, wrong=0.0, q=0.01, g=0.1).round(6))
    500.0
    """
    right = (1.0 - np.asarray(h)) * np.asarray(kernel) + np.asarray(h) * np.asarray(wrong)
    return np.asarray((1.0 - np.asarray(e)) * right / (np.asarray(e) * np.asarray(q) * np.asarray(g)))


def llr(held_odds: Any, length: float, e: float, m: int) -> float:
    """LLR(r) = Σ_{i∈A∩r} ln(1 + odds_i / L_r) + m·ln e, against "target not in the release".

    >>> round(llr([500.0], length=10, e=0.5, m=1), 4)
    3.2387
    """
    return float(np.log1p(np.asarray(held_odds, dtype=np.float64) / length).sum() + m * np.log(e))


def posterior(llr_best: Any, mass: Any, n_records: Any, prior: float) -> tuple[Array, Array]:
    """P(r|A) = (λ/N)·e^LLR(r) / [(1-λ) + (λ/N)·Σ_s e^LLR(s)] and P(absent|A).

    Parameters
    ----------
    llr_best
        LLR of the best record.
    mass
        Σ_s e^(LLR(s) - LLR(best)).
    n_records, prior
        N and λ, the prior that the target is in the release.

    >>> p, absent = posterior(np.log(8.0), 1.0, 4, 0.5)
    >>> float(p.round(4)), float(absent.round(4))
    (0.6667, 0.3333)
    """
    best = np.log(prior) - np.log(np.maximum(n_records, 1)) + np.asarray(llr_best, dtype=np.float64)
    with np.errstate(divide="ignore"):
        absent = np.log1p(-prior) if prior < 1 else -np.inf
    whole = np.logaddexp(absent, best + np.log(mass))
    return np.exp(best - whole), np.exp(absent - whole)


def pick_rate(pickable: Any, n_right: int | None, sure: bool = True) -> Array:
    """Chance of one picked item, 1/L_r; for m of L_r without replacement the m-th root of (L_r-m)!/L_r!.

    A record with fewer pickable items than were picked cannot be the target: 0, if their number is `sure`.

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
        enough | ((not sure) & (length > 0)), np.exp(-(gammaln(safe + 1) - gammaln(safe - n_right + 1)) / n_right), 0.0
    )


def shrunk(own: Any, n_own: Any, common: Any, weight: float) -> Array:
    """(n·own + κ·common)/(n + κ): an item's own distribution, drawn to the common one while the item is rare.

    >>> float(shrunk(own=1.0, n_own=10, common=0.0, weight=10.0))
    0.5
    """
    n = np.asarray(n_own, dtype=np.float64)
    return np.asarray((n * np.asarray(own) + weight * np.asarray(common)) / (n + weight))
