"""How many best records are right by the likelihood alone, and how many of the people are in the release.

The spacing test counts people whose best record stands out. With 3 to 10 noisy facts most right
records do not. The likelihood counts them, and errs in the other direction: where items of a person
go together it is too sure. The two are bounds of the truth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.formulas.logistic import fit_logistic
from standout.linking.attack import LinkLikelihood, candidates
from standout.linking.em import MOST_E, N_CANDIDATES, some_queries
from standout.linking.groups import TopScores

Z = 1.959964
"""Quantile of a 95 % interval."""
FALL = Z**2 / 2
"""Largest fall of the log-likelihood within a 95 % interval of the share of people in the release."""
TOO_LOW = 0.1
"""Share of its estimate that the likelihood may miss: on development pairs (docs/linking_coverage.md) it missed up to 12 %."""
NOISIER = (0.6, 0.75)
"""Shares of wrong items that are tried beside the fitted one: many people with noisy facts look like few with good ones."""
SHARES = np.linspace(0.001, 0.999, 200)
RIDGE = 0.1
LEAST = 0.01


class Estimate(NamedTuple):
    """Number of right links, with a 95 % interval."""

    expected: float
    low: float
    high: float


def by_likelihood(top: TopScores, presence: tuple[float, float] | None = None) -> Estimate:
    """Right links if the likelihood is right; the share of people in the release is fitted to all queries.

    P(facts) = (1-s)·P(facts | absent) + s·mean over records of P(facts | record). The share s runs
    over its profile-likelihood interval. Records beyond the first k are counted once like the k-th,
    and once not at all: the truth lies between.

    Parameters
    ----------
    top
        Candidates of each query.
    presence
        Smallest and largest share of people in the release, if that is known.
    """
    known = ~np.isnan(top.score[:, 0]) if top.score.size else np.zeros(0, np.bool_)
    if not known.any():
        return Estimate(0.0, 0.0, 0.0)
    score = np.where(np.isnan(top.score[known]), -np.inf, top.score[known]) - np.log(top.n_records)
    shares = SHARES if presence is None else np.linspace(*presence, 50)
    first = np.logaddexp.reduce(score, axis=1)
    n_beyond = max(top.n_records - score.shape[1], 1e-300)
    all_records = (np.logaddexp(first, score[:, -1] + np.log(n_beyond)), first)
    return hull([_profile(score[:, 0], one, shares) for one in all_records])


def if_noisier(
    dataset: Dataset,
    second: Knowledge,
    attack: LinkLikelihood,
    engine: Any,
    presence: tuple[float, float] | None,
) -> float:
    """Most right links by the likelihood if more facts are about wrong items than the fit says.

    Who is absent and who has wrong facts cannot be told apart if few records stand out. At most
    1,000 people are scored.

    Parameters
    ----------
    dataset, second, attack, engine
        The release, the folded second file, the attack with the fitted noise, and the engine.
    presence
        Smallest and largest share of people in the release, if that is known.
    """
    some, fitted, most = some_queries(second), attack.noise.e, 0.0
    for first in NOISIER:
        if first <= fitted[0]:
            continue
        e = tuple(min(max(x, first * x / fitted[0]), MOST_E) for x in fitted)
        noisier = attack.with_options(noise=replace(attack.noise, e=e))
        top = candidates(dataset, some, noisier, N_CANDIDATES, engine)
        high = by_likelihood(top, presence).high
        most = max(most, high * second.n_queries / max(some.n_queries, 1))
    return most


def hull(estimates: list[Estimate]) -> Estimate:
    """Mean of the estimates, with an interval that holds all of theirs."""
    middle = float(np.mean([one.expected for one in estimates]))
    return Estimate(middle, min(one.low for one in estimates), max(one.high for one in estimates))


def _profile(best: Array, every: Array, shares: Array) -> Estimate:
    """Best record's and all records' mean likelihood ratios (logarithms) to right links, over the shares that are likely."""
    evidence = np.logaddexp(np.log1p(-shares)[:, None], np.log(shares)[:, None] + every)
    fit = evidence.sum(axis=1)
    chance = np.exp(np.minimum(np.log(shares)[:, None] + best - evidence, 0.0))
    right, spread = chance.sum(axis=1), np.sqrt((chance * (1 - chance)).sum(axis=1))
    likely = np.flatnonzero(fit >= fit.max() - FALL)
    first, last = likely[0], likely[-1]
    low, high = right[first] - Z * spread[first], (1 + TOO_LOW) * right[last] + Z * spread[last]
    return Estimate(float(right[fit.argmax()]), float(max(low, 0.0)), float(min(high, best.size)))


def check_overlap(overlap: Any) -> None:
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
) -> dict[str, float]:
    """Share of the people who are in the release: `rate`, and the 95 % interval `low` to `high`.

    It is the expected number of people found, divided by the number that would be found if all were
    in the release. The latter comes from canaries that are in the release: how often they are
    found, by their number of facts.

    Parameters
    ----------
    expected, interval
        Right links, one by one, with a 95 % interval.
    n_facts
        Facts about items of the release, per person of the second file.
    canary_facts, canary_found
        The same of present canaries, and whether each is found.
    """
    design, known = (
        np.column_stack([np.ones(n.size), np.log(np.maximum(n, 1))])
        for n in (n_facts, canary_facts)
    )
    beta, spread = fit_logistic(known, canary_found.astype(np.float64), np.array([RIDGE, RIDGE]))
    recall = expit(design @ beta) * (n_facts > 0)
    total = max(float(recall.sum()), 1e-9)
    slope = (recall * (1 - recall)) @ design
    error = float(np.sqrt(max(slope @ spread @ slope, 0.0))) / total
    rate = expected / total
    # errors of the two numbers are independent: relative errors add up in squares
    below, above = (
        float(np.hypot(abs(x / total - rate) / max(rate, 1e-9), Z * error)) for x in interval
    )
    middle = float(np.clip(rate, LEAST, 1 - LEAST))
    low = float(np.clip(rate * (1 - below), 0.0, middle))
    return {
        "rate": middle,
        "low": low,
        "high": float(np.clip(rate * (1 + above), middle, 1.0)),
    }
