"""The spacing test of absence, from the top scores alone (beyond the papers).

For an absent target the best scores are extremes of many unrelated records. Their normalized
spacings ``j·(s_(j) - s_(j+1))`` are then about independent and exponential with a common scale
(Rényi). A present target makes the first spacing larger. It is the eccentricity of NS08 with a null
distribution per query, and assumes nothing about the noise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array

K = 20
"""Spacings that the test uses; it needs the K + 1 highest scores."""

FEWEST_DISTINCT = 15
"""Distinct numbers among the K + 1 highest scores below which the test does not apply: tied scores have no spacings."""


def spacing(top: Any) -> Array:
    """G = (s_(1) - s_(2)) / scale, scale = mean of j·(s_(j) - s_(j+1)) over j = 2…K; NaN where the test does not apply.

    Parameters
    ----------
    top
        (queries, K + 1): the highest scores, descending; NaN where there are fewer candidates.

    >>> s = -np.cumsum(1 / np.arange(1, 21))
    >>> float(spacing([0.0, *s]).round(6)), float(spacing([3.0, *s]).round(6))
    (1.0, 4.0)
    """
    s = np.asarray(top, dtype=np.float64)
    gaps = s[..., :-1] - s[..., 1:]
    j = np.arange(2, gaps.shape[-1] + 1)
    scale = (j * gaps[..., 1:]).mean(axis=-1)
    applies = (
        (1 + (gaps > 0).sum(axis=-1) >= FEWEST_DISTINCT) & np.isfinite(s).all(axis=-1) & (scale > 0)
    )
    return np.where(applies, gaps[..., 0] / np.where(applies, scale, 1.0), np.nan)


def p_value(g: Any, k: int = K) -> Array:
    """P = (1 + g/(K-1))^-(K-1): probability of a first spacing at least this large if the target is absent.

    >>> p_value([0.0, 1.0, 10.0]).round(4).tolist()
    [1.0, 0.3774, 0.0003]
    """
    return np.asarray((1.0 + np.asarray(g, dtype=np.float64) / (k - 1)) ** -(k - 1.0))


def benjamini_hochberg(p: Any) -> Array:
    """Adjusted p-values: accepting those up to q keeps the expected share of wrong ones at q. NaN counts as 1.

    Rounding may have made a p-value larger than 1.

    >>> benjamini_hochberg([0.01, 0.04, np.nan, 1.0 + 2e-16]).round(3).tolist()
    [0.04, 0.08, 1.0, 1.0]
    """
    from scipy.stats import false_discovery_control

    return np.asarray(
        false_discovery_control(
            np.clip(np.nan_to_num(np.asarray(p, np.float64), nan=1.0), 0.0, 1.0)
        )
    )
