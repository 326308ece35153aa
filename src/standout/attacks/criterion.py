"""When an attack names its best record: eccentricity, a matching set, or the spacing test."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.attacks.verdicts import Outcome
from standout.formulas.spacing import K, p_value, spacing
from standout.scoring.partials import NO_RECORD


def stands_out(seen: Outcome, phi: float) -> tuple[Array, Array]:
    """Match iff (max - max2) / σ ≥ φ (NS08)."""
    statistic = seen.eccentricity
    return statistic, statistic >= phi


def matching_set(seen: Outcome) -> tuple[Array, Array]:
    """Match iff the matching set is not empty; the statistic is 1 / size of the set."""
    n = seen.partials.n_cut
    return np.where(n > 0, 1.0 / np.maximum(n, 1), 0.0), n > 0


def spacing_p_values(seen: Outcome) -> Array:
    """p-value of the spacing test per query; NaN if it does not apply or too few top scores were kept."""
    p, plan = seen.partials, seen.plan
    if p.k <= K:
        return np.full(plan.n_queries, np.nan)
    here = p.top[:, : K + 1] != NO_RECORD
    scores = np.where(
        here, plan.base[:, None] + p.top_score[:, : K + 1] / plan.scale[:, None], np.nan
    )
    return p_value(spacing(scores))


def unlikely_absent(seen: Outcome, level: float) -> tuple[Array, Array]:
    """Match iff the spacing test gives p ≤ level; the statistic is 1 - p, 0 if the test does not apply."""
    statistic = 1.0 - np.nan_to_num(spacing_p_values(seen), nan=1.0)
    return statistic, statistic >= 1.0 - level


def one_over_sigma(seen: Outcome) -> Array:
    """Sharpness of the lineup Π(r) ∝ e^(Score/σ); 0 (uniform) where σ is 0."""
    sigma = seen.partials.sigma()
    return np.where(sigma > 0, 1.0 / np.where(sigma > 0, sigma, 1.0), 0.0)
