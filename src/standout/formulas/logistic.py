"""Logistic regression with normal priors: the fit behind every probability that is calibrated on canaries or labels."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from standout.arrays import Array

STEPS = 50
LONGEST_STEP = 5.0
"""Most that a Newton step changes a coefficient."""


def fit_logistic(
    x: Array,
    y: Array,
    precision: Array,
    center: Array | float = 0.0,
    *,
    lowest: Array | None = None,
    weight: Array | float = 1.0,
    start: Array | None = None,
    steps: int = STEPS,
) -> tuple[Array, Array]:
    """Coefficients β of logit P(y = 1) = x·β, and their covariance.

    β maximizes Σ weight·(y·log p + (1 - y)·log(1 - p)) - ½·Σ precision·(β - center)², where p =
    1 / (1 + exp(-x·β)), by Newton steps; among β ≥ lowest, if that is given, by L-BFGS-B, which
    stops about 1e-5 from the maximum. The covariance is the inverse of minus the second derivative:
    (Σ weight·p·(1 - p)·x·xᵀ + diag(precision))⁻¹.

    Parameters
    ----------
    x
        (cases, coefficients).
    y
        Per case: 0 or 1, or a probability.
    precision, center
        Of the normal prior of each coefficient: 1 / variance, above 0, and mean.
    lowest
        Least value of each coefficient; -inf = none.
    weight
        Number of times that each case counts.
    start
        Coefficients to start from. Default: `center`.
    steps
        Newton steps.

    >>> beta, covariance = fit_logistic(np.ones((4, 1)), np.array([1, 1, 1, 0]), np.array([1.0]))
    >>> round(float(beta[0]), 4), round(float(covariance[0, 0]), 4)  # without the prior log 3
    (0.5052, 0.5158)
    """
    beta = np.zeros(precision.size) + (center if start is None else start)

    def slope(b: Array) -> Array:
        return np.asarray(x.T @ (weight * (y - expit(x @ b))) - precision * (b - center))

    def curve(b: Array) -> Array:
        p = expit(x @ b)
        return np.asarray((x.T * (weight * p * (1 - p))) @ x + np.diag(precision))

    def loss(b: Array) -> tuple[float, Array]:
        z, pull = x @ b, precision @ (b - center) ** 2
        return float((weight * (np.logaddexp(0.0, z) - y * z)).sum() + pull / 2), -slope(b)

    if lowest is not None:
        from scipy.optimize import Bounds, minimize

        beta = minimize(loss, beta, jac=True, method="L-BFGS-B", bounds=Bounds(lowest)).x
        return beta, np.linalg.inv(curve(beta))
    for _ in range(steps):
        step = np.linalg.solve(curve(beta), slope(beta))
        beta = beta + step * min(1.0, LONGEST_STEP / max(float(np.abs(step).max()), 1e-12))
    return beta, np.linalg.inv(curve(beta))
