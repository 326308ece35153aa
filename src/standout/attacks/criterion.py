"""When she dares to answer: the eccentricity criterion, and the matching set."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from standout.attacks.verdicts import Outcome

Array = npt.NDArray[Any]


def stands_out(seen: Outcome, phi: float) -> tuple[Array, Array]:
    """Match iff (max - max2) / σ ≥ φ (NS08)."""
    statistic = seen.eccentricity
    return statistic, statistic >= phi


def matching_set(seen: Outcome) -> tuple[Array, Array]:
    """Match iff the matching set is not empty; she is as sure of a member as the set is small."""
    n = seen.partials.n_cut
    return np.where(n > 0, 1.0 / np.maximum(n, 1), 0.0), n > 0


def one_over_sigma(seen: Outcome) -> Array:
    """Sharpness of the lineup Π(r) ∝ e^(Score/σ); 0 (uniform) where σ is 0."""
    sigma = seen.partials.sigma()
    return np.where(sigma > 0, 1.0 / np.where(sigma > 0, sigma, 1.0), 0.0)
