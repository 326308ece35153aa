"""Overlap: the share of the people of the second file who are in the release."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from standout.arrays import Array
from standout.errors import ParameterError
from standout.formulas.logistic import fit_logistic

RIDGE = 0.1
LEAST = 0.01
Z = 1.959964
"""Quantile of a 95 % interval."""


class Overlap(NamedTuple):
    """Share of people in the release, with a 95 % interval."""

    rate: float
    low: float
    high: float


def checked(overlap: Any) -> None:
    """Refuse what is neither None, "fit", nor a share."""
    if overlap is None or (isinstance(overlap, str) and overlap == "fit"):
        return
    if isinstance(overlap, bool) or not isinstance(overlap, int | float) or not 0 < overlap < 1:
        raise ParameterError(f"overlap={overlap!r}: use None, 'fit', or a share between 0 and 1")


def fit_overlap(
    expected: float,
    interval: tuple[float, float],
    n_facts: Array,
    canary_facts: Array,
    canary_found: Array,
) -> Overlap:
    """Expected number of people found, divided by the number that would be found if all were in the release.

    The latter comes from canaries that are in the release: how often they are found, by their
    number of facts.

    Parameters
    ----------
    expected, interval
        Right links, one by one, with a 95 % interval.
    n_facts
        Facts about items of the release, per person of the second file.
    canary_facts, canary_found
        The same of present canaries, and whether each is found.
    """
    design = _design(n_facts)
    beta, spread = fit_logistic(
        _design(canary_facts), canary_found.astype(np.float64), np.array([RIDGE, RIDGE])
    )
    recall = expit(design @ beta) * (n_facts > 0)
    total = max(float(recall.sum()), 1e-9)
    slope = (recall * (1 - recall)) @ design
    error = float(np.sqrt(max(slope @ spread @ slope, 0.0))) / total
    rate, low, high = (x / total for x in (expected, *interval))
    # errors of the two numbers are independent: relative errors add up in squares
    below, above = (
        float(np.hypot(abs(x - rate) / max(rate, 1e-9), Z * error)) for x in (low, high)
    )
    middle = float(np.clip(rate, LEAST, 1 - LEAST))
    return Overlap(
        middle,
        float(np.clip(rate * (1 - below), 0.0, middle)),
        float(np.clip(rate * (1 + above), middle, 1.0)),
    )


def _design(n_facts: Array) -> Array:
    return np.column_stack([np.ones(n_facts.size), np.log(np.maximum(n_facts, 1))])
