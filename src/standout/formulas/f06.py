"""Frankowski, Cosley, Sen, Terveen and Riedl 2006: the terms of Set Intersection, TF-IDF and Scoring.

The attacks are in `attacks/frankowski.py`, the figures of the paper in `papers/f06.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from standout.arrays import Array

FLOOR = 0.05
"""Sub-score of a mention that the user does not hold."""
HEAVY = 1 / 3
"""Users who hold a larger share of all items are not considered."""
FUZZY = 1.0
"""Largest difference of two ratings that FuzzyRating takes as equal."""


def w(support: Any, n_records: Any) -> Array:
    """w_um = ln(|U| / |supp(m)|) for an item that u holds: TF-IDF with term frequency 1.

    Departure: the paper has no item without holders; here it weighs 0 and drops out of the mention
    vector.

    >>> w([1, 10, 100, 0], 100).round(4).tolist()
    [4.6052, 2.3026, 0.0, 0.0]
    """
    held = np.asarray(support, dtype=np.float64)
    share = np.where(held > 0, held, 1.0) / np.asarray(n_records, dtype=np.float64)
    return np.where(held > 0, -np.log(share), 0.0) + 0.0


def cosine(product: Any, mention_norm: Any, record_norm: Any) -> Array:
    """cos(t, u) = Σ_m w_tm · w_um / (‖w_t‖ · ‖w_u‖), and 0 where a vector is all zeros.

    `product` is the sum over the items that are both mentioned and held, each with its weight
    squared.

    >>> cosine([9.0, 0.0], [3.0, 3.0], [5.0, 0.0]).tolist()
    [0.6, 0.0]
    """
    norms = np.asarray(mention_norm, dtype=np.float64) * np.asarray(record_norm, dtype=np.float64)
    return np.where(
        norms > 0, np.asarray(product, dtype=np.float64) / np.where(norms > 0, norms, 1.0), 0.0
    )


def ss(support: Any, n_records: Any) -> Array:
    """ss(u, m) = (|U| - (|supp(m)| - 1)) / |U| for a mention that u holds (equation 1); else the floor, 0.05.

    No item of the paper is rated by 95 % of all users, so holding one always scores above the
    floor. For an item held by more, the formula falls below the floor, and is used unchanged.

    >>> ss([20, 500, 1000, 10000], 10_000).tolist()
    [0.9981, 0.9501, 0.9001, 0.0001]

    The score is the product of the sub-scores (equation 2). The worked example: of 10,000 users,
    20, 500 and 1000 rated A, B and C. The first user rated A, the second B and C.

    >>> a, b, c = ss([20, 500, 1000], 10_000)
    >>> round(float(a * FLOOR * FLOOR), 4), round(float(FLOOR * b * c), 3)
    (0.0025, 0.043)
    """
    # the excluded record may be the only one of the release
    n = np.maximum(np.asarray(n_records, dtype=np.float64), 1.0)
    return np.asarray((n - (np.asarray(support, dtype=np.float64) - 1.0)) / n)


def longest(n_items: Any, heavy: float = HEAVY) -> npt.NDArray[np.int64]:
    """L_u ≤ heavy · M: largest number of items of a user who is considered.

    >>> longest([9, 10, 8957]).tolist()
    [3, 3, 2985]
    """
    # tolerance for rounding: a share of 0.1 of 30 items is 3
    return np.floor(np.asarray(n_items, dtype=np.float64) * heavy + 1e-9).astype(np.int64)


def k_identified(rank: Any, k: int) -> npt.NDArray[np.bool_]:
    """1 ≤ rank ≤ k, rank = users with at least the score of the target, itself included.

    All tied users count: with three tied at the top, none is 1-identified. 0 means no rank.

    >>> k_identified([1, 3, 0], 1).tolist()
    [True, False, False]
    """
    r = np.asarray(rank)
    return np.asarray((r >= 1) & (r <= k))
