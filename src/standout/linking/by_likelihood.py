"""How many best records are right, by the likelihood alone: where few facts are known, few records stand out, but many are right.

The spacing test counts people whose best record stands out. With 3 to 10 noisy facts most right
records do not. The likelihood counts them, and errs in the other direction: where items of a person
go together it is too sure. The two are bounds of the truth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.linking.attack import options
from standout.linking.em import MOST_E, some_queries
from standout.linking.fitted import N_CANDIDATES, Scored
from standout.linking.groups import TopScores
from standout.linking.score import candidates

Z = 1.959964
"""Quantile of a 95 % interval."""
FALL = Z**2 / 2
"""Largest fall of the log-likelihood within a 95 % interval of the share of people in the release."""
TOO_LOW = 0.1
"""Share of its estimate that the likelihood may miss: on development pairs (docs/linking_coverage.md) it missed up to 12 %."""
NOISIER = (0.6, 0.75)
"""Shares of wrong items that are tried beside the fitted one: many people with noisy facts look like few with good ones."""
SHARES = np.linspace(0.001, 0.999, 200)


class Estimate(NamedTuple):
    """Number of right links, with a 95 % interval."""

    expected: float
    low: float
    high: float


def by_likelihood(
    top: TopScores, n_records: int, presence: tuple[float, float] | None = None
) -> Estimate:
    """Right links if the likelihood is right; the share of people in the release is fitted to all queries.

    P(facts) = (1-s)·P(facts | absent) + s·mean over records of P(facts | record). The share s runs
    over its profile-likelihood interval. Records beyond the first k are counted once like the k-th,
    and once not at all: the truth lies between.

    Parameters
    ----------
    top
        Candidates of each query.
    n_records
        Records of the release.
    presence
        Smallest and largest share of people in the release, if that is known.
    """
    known = ~np.isnan(top.score[:, 0]) if top.score.size else np.zeros(0, np.bool_)
    if not known.any():
        return Estimate(0.0, 0.0, 0.0)
    score = np.where(np.isnan(top.score[known]), -np.inf, top.score[known]) - np.log(n_records)
    shares = SHARES if presence is None else np.linspace(*presence, 50)
    listed = np.logaddexp.reduce(score, axis=1)
    beyond = np.logaddexp(listed, score[:, -1] + np.log(max(n_records - score.shape[1], 1e-300)))
    return hull([_profile(score[:, 0], all_records, shares) for all_records in (beyond, listed)])


def if_noisier(
    dataset: Dataset,
    second: Knowledge,
    found: Scored,
    engine: Any,
    presence: tuple[float, float] | None,
) -> float:
    """Most right links by the likelihood if more facts are about wrong items than the fit says.

    Who is absent and who has wrong facts cannot be told apart if few records stand out. At most
    1,000 people are scored.

    Parameters
    ----------
    dataset, second, found, engine
        The release, the folded second file, its scores by the fitted noise, and the engine.
    presence
        Smallest and largest share of people in the release, if that is known.
    """
    some, fitted, most = some_queries(second), found.noise.e, 0.0
    for first in NOISIER:
        if first <= fitted[0]:
            continue
        noise = replace(
            found.noise, e=tuple(min(max(x, first * x / fitted[0]), MOST_E) for x in fitted)
        )
        top = TopScores(
            *candidates(dataset, some, options(found.attack, noise=noise), N_CANDIDATES, engine)
        )
        high = by_likelihood(top, dataset.n_records, presence).high
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
