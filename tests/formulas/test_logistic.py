"""The one logistic regression, against a general optimizer on the equation of its docstring."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from standout.formulas.logistic import fit_logistic

PRECISION, CENTER = np.array([0.1, 1.0, 2.0]), np.array([0.0, 1.0, -0.5])


def cases():
    rng = np.random.default_rng(5)
    x = np.column_stack([np.ones(80), rng.normal(size=(80, 2))])
    y = (rng.random(80) < expit(x @ [0.5, -2.0, 1.0])).astype(float)
    y[:20] = rng.random(20)  # probabilities
    return x, y, rng.poisson(1.5, 80).astype(float)


def log_density(b, x, y, weight):
    p = expit(x @ b)
    fit = weight * (y * np.log(p) + (1 - y) * np.log1p(-p))
    return fit.sum() - 0.5 * (PRECISION * (b - CENTER) ** 2).sum()


def by_scipy(x, y, weight, bounds=None):
    return minimize(
        lambda b: -log_density(b, x, y, weight),
        CENTER,
        method="Nelder-Mead",
        bounds=bounds,
        options={"xatol": 1e-10, "fatol": 1e-14, "maxiter": 10_000, "maxfev": 10_000},
    ).x


def test_newton_steps_find_the_maximum_and_its_curvature():
    x, y, weight = cases()
    beta, covariance = fit_logistic(x, y, PRECISION, CENTER, weight=weight)
    np.testing.assert_allclose(beta, by_scipy(x, y, weight), atol=1e-6)
    h = 1e-4 * np.eye(3)
    curve = [
        [
            sum(
                s * t * log_density(beta + s * h[i] + t * h[j], x, y, weight)
                for s in (1, -1)
                for t in (1, -1)
            )
            / (4 * 1e-8)
            for j in range(3)
        ]
        for i in range(3)
    ]
    np.testing.assert_allclose(np.linalg.inv(covariance), -np.array(curve), atol=1e-4)


@pytest.mark.parametrize("least", [-3.0, 0.05])
def test_a_coefficient_stays_at_its_least_value(least):
    x, y, weight = cases()
    beta, _ = fit_logistic(
        x, y, PRECISION, CENTER, weight=weight, lowest=np.array([-np.inf, least, -np.inf])
    )
    expected = by_scipy(x, y, weight, [(None, None), (least, None), (None, None)])
    assert (beta[1] == least) == (least > 0)
    np.testing.assert_allclose(beta, expected, atol=1e-4)


def test_steps_continue_from_the_start():
    x, y, _ = cases()
    whole, _ = fit_logistic(x, y, PRECISION, steps=4)
    half, _ = fit_logistic(x, y, PRECISION, steps=2)
    np.testing.assert_array_equal(fit_logistic(x, y, PRECISION, start=half, steps=2)[0], whole)


def test_complete_separation_is_held_by_the_prior():
    x = np.column_stack([np.ones(40), np.repeat([-50.0, 50.0], 20), np.zeros(40)])
    beta, covariance = fit_logistic(x, np.repeat([0.0, 1.0], 20), PRECISION)
    assert np.isfinite(beta).all() and (np.linalg.eigvalsh(covariance) > 0).all()
