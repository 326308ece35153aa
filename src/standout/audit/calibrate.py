"""Thresholds at which misses equal false matches, and the error rates at each threshold (present/absent pairs).

`credit` of an answer: 1 if the best record is the target, 1/n if n records tie at the top and the
target is one of them, else 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.arrays import Array
from standout.formulas.rates import Rate, precision
from standout.results import Part, Share

PRIORS = (0.5, 0.1, 0.01)
FALSE_RATES = (0.01, 0.001)
DET_POINTS = 40


@dataclass(frozen=True)
class ErrorRates(Part):
    """Shares that are named at a threshold."""

    threshold: float
    true_rate: Share
    """Of those in the data, named rightly."""
    false_rate: Share
    """Of those whose record was removed, named all the same."""


@dataclass(frozen=True)
class Precision(Part):
    """Share of the names that are right, if this share of those looked up is in the data; None if nobody is named."""

    prior: Share
    precision: Share | None


@dataclass(frozen=True)
class AtThreshold(Part):
    """Rates at a threshold."""

    threshold: float
    matched_right: Rate
    matched_wrong: Rate
    false_match: Rate
    precision: tuple[Precision, ...]


@dataclass(frozen=True)
class ShareBin(Part):
    """Queries to whose best record the lineup gives a probability from `low` to `high`."""

    low: Share
    high: Share
    mean_share: float
    hit: Rate


@dataclass(frozen=True)
class Reliability(Part):
    """How often the best record is right, by the probability that the lineup gives it."""

    bins: tuple[ShareBin, ...]
    mean_share: float
    log_loss_bits: float


Swept = tuple[Array, Array, Array]
"""Result of `sweep`; a caller that has it already can pass it on."""


def sweep(credit: Array, present: Array, absent: Array) -> Swept:
    """For each distinct threshold: share matched correctly when present, share matched when absent.

    Parameters
    ----------
    credit
        Credit of each answer, 0 to 1.
    present, absent
        The criterion's statistic with the target in the data, and with it removed. A query is
        answered when its statistic is at least the threshold.
    """
    thresholds = np.unique(np.concatenate([present, absent, [np.inf]]))
    order = np.argsort(present, kind="stable")
    below = np.concatenate([[0.0], np.cumsum(np.asarray(credit, dtype=np.float64)[order])])
    others = np.sort(absent)
    first = np.searchsorted(present[order], thresholds, side="left")
    true_rate = np.clip((below[-1] - below[first]) / max(present.size, 1), 0.0, 1.0)
    # no query is answered at the last threshold: remove what rounding leaves of the sum
    true_rate[first == present.size] = 0.0
    false_rate = (others.size - np.searchsorted(others, thresholds, side="left")) / max(
        absent.size, 1
    )
    return thresholds, true_rate, false_rate


def equal_error(credit: Array, present: Array, absent: Array) -> float:
    """Threshold at which dismissed right answers (of all right ones) and false matches are equally frequent.

    This is the false negative rate of NS08 (footnote 4), "the chance of erroneously dismissing a
    correct match". Where no answer is right, every match is an error, and the threshold is one that
    no query reaches. The higher one of a tie wins.

    >>> equal_error(np.array([True, True]), np.array([5.0, 4.0]), np.array([1.0, 2.0]))
    4.0
    """
    if not credit.any():
        return float("inf")
    thresholds, true_rate, false_rate = sweep(credit, present, absent)
    gap = np.abs((1 - true_rate / credit.mean()) - false_rate)
    return float(thresholds[np.flatnonzero(gap <= gap.min() + 1e-12)[-1]])


def at_false_rate(
    credit: Array, present: Array, absent: Array, false_rate: float, swept: Swept | None = None
) -> ErrorRates:
    """Best share matched correctly among thresholds whose false-match rate is at most `false_rate`."""
    thresholds, true_rate, found = swept or sweep(credit, present, absent)
    k = int(np.flatnonzero(found <= false_rate)[0])
    return ErrorRates(_finite(thresholds[k]), float(true_rate[k]), false_rate)


def det_curve(
    credit: Array, present: Array, absent: Array, swept: Swept | None = None
) -> tuple[ErrorRates, ...]:
    """Points of the curve (threshold, true rate, false rate), at most `DET_POINTS` of them."""
    thresholds, true_rate, false_rate = swept or sweep(credit, present, absent)
    keep = np.unique(
        np.linspace(0, thresholds.size - 1, min(DET_POINTS, thresholds.size)).astype(int)
    )
    return tuple(
        ErrorRates(_finite(thresholds[k]), float(true_rate[k]), float(false_rate[k]))
        for k in keep.tolist()
    )


def _finite(x: float) -> float:
    """The largest float instead of infinity, which JSON lacks: a threshold that no query reaches."""
    return float(x) if np.isfinite(x) else float(np.finfo(np.float64).max)


def at_threshold(threshold: float, credit: Array, present: Array, absent: Array) -> AtThreshold:
    """Rates at a threshold: matched and right, matched and wrong, false match, precision at priors."""
    worth = np.asarray(credit, dtype=np.float64)
    matched = present >= threshold
    matched_right, false_match = Rate.of(matched * worth), Rate.of(absent >= threshold)
    named = [(p, precision(matched_right.rate, false_match.rate, p)) for p in PRIORS]
    return AtThreshold(
        threshold=_finite(threshold),
        matched_right=matched_right,
        matched_wrong=Rate.of(matched * (1.0 - worth)),
        false_match=false_match,
        precision=tuple(Precision(p, None if np.isnan(x) else x) for p, x in named),
    )


def reliability(share: Array, credit: Array, bins: int = 10) -> Reliability:
    """How often the best record is right, by the probability the lineup gives it; mean log-loss in bits."""
    worth = np.asarray(credit, dtype=np.float64)
    edges = np.linspace(0, 1, bins + 1)
    place = np.clip(np.digitize(share, edges[1:-1]), 0, bins - 1)
    rows = tuple(
        ShareBin(
            low=float(edges[b]),
            high=float(edges[b + 1]),
            mean_share=float(share[place == b].mean()),
            hit=Rate.of(worth[place == b]),
        )
        for b in range(bins)
        if (place == b).any()
    )
    clipped = np.clip(share, 1e-12, 1 - 1e-12)
    loss = -(worth * np.log2(clipped) + (1.0 - worth) * np.log2(1 - clipped)).mean()
    return Reliability(rows, float(share.mean()), float(loss))
