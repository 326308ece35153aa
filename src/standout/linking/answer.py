"""Candidates of every query with their probabilities: one by one, one-to-one, recalibrated, and how many are right.

`link` makes a `LinkCandidates` of the best records of each query (`TopScores`), and `Links` of it;
`history.py` makes one for the release's own history. In one-to-one linking a record can be claimed
once, so a strong claim of one person weakens the claims of others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from standout.arrays import Array
from standout.data.purposes import PURPOSE_RESAMPLE
from standout.linking.canaries import N_CANARIES
from standout.linking.groups import CAREFUL, MOST, SHARP, TopScores, TwoGroups, probabilities
from standout.linking.totals import Estimate, by_likelihood, hull

ROUNDS = 300
"""Rounds of EM for the two groups."""
FEW_ROUNDS = 12
"""Rounds of EM from the fit, for a resample."""
NULL_ERROR = 1 / N_CANARIES**0.5
"""Relative standard error of the null distribution's mean, as checked by the canaries."""
UNKNOWN_PRESENCE = (0.1, 0.95)
"""Shares of people in the release that the interval allows for where the spacing test does not apply."""
LEAST = 1e-6
"""Smallest probability that a logarithm or a quotient is taken of."""
STILL_BEST = 0.999
"""Largest probability of another candidate after a recalibration, as a share of that of the best."""
ASSIGNMENT_ROUNDS = 500
"""Most rounds of the soft assignment."""
TOLERANCE = 1e-7
"""Largest change of a probability in its last round."""
LEAST_ABSENT = 1e-3
"""Smallest probability in it that a person is not in the release."""
RESAMPLES = 100
"""Bootstrap resamples of the people, for the interval of the expected links."""


class LinkCandidates(NamedTuple):
    """Candidates of each query with their probabilities, and the fit that these come from."""

    top: TopScores
    groups: TwoGroups
    chance: Array
    """(queries, k): in the order of `top`."""
    null_mean: float
    """Mean of -log p of absent canaries."""
    prior: float
    """P(in the release) where the spacing test does not apply."""
    n_found: float
    """Expected number of found queries among those that the test applies to, one by one."""
    shift_error: float = 0.0
    """Standard error of the share of found queries in logits, if the probabilities were recalibrated."""
    before: tuple[TopScores, ...] = ()
    """The candidates one by one, if the answer is one-to-one."""

    @classmethod
    def of(cls, top: TopScores, null_mean: float, prior: float = 0.5) -> LinkCandidates:
        """One by one; `prior` is P(in the release) where the spacing test does not apply."""
        groups = _fitted_groups(top, null_mean)
        checked = top.checked(probabilities(top, groups, prior)[:, 0])
        if checked is not top:
            top = checked
            # corrected p-values are uniform if nobody is found: what the canaries showed must not
            # be counted twice
            groups = _fitted_groups(top, 1.0)
        chance = probabilities(top, groups, prior)
        chance[top.n_facts == 0] = 0.0
        return cls(top, groups, chance, null_mean, prior, float(chance[top.applies, 0].sum()))

    def joint(self) -> LinkCandidates:
        """One-to-one: scores without records that others claim, tested again, and a soft assignment of the result."""
        n_records = self.top.n_records
        left = self.top.without_taken(log_free(self.top.record, self.chance, n_records))
        again = LinkCandidates.of(left, self.null_mean, self.prior)
        return again._replace(
            chance=soft_assignment(left.record, again.chance, n_records), before=(self.top,)
        )

    def recalibrated(self, posterior: Array, error: float) -> LinkCandidates:
        """The same answers, with other probabilities of the best candidates where the spacing test applies.

        Parameters
        ----------
        posterior
            P(the best candidate is right) of the queries that the test applies to.
        error
            Standard error of the share of found queries, in logits.
        """
        use, rows = self.top.applies, np.arange(self.chance.shape[0])
        at, mine = self.chance.argmax(axis=1), self.posterior
        mine[use] = np.where(mine[use] > 0, np.clip(posterior, LEAST, MOST), 0.0)
        others = self.chance.copy()
        others[rows, at] = 0.0
        # the others share what is left, and none of them becomes the best
        left = (MOST - np.minimum(mine, MOST)) / np.maximum(others.sum(axis=1), 1e-12)
        others *= np.minimum(1.0, left)[:, None]
        others = np.minimum(others, STILL_BEST * mine[:, None])
        others[rows, at] = mine
        return self._replace(chance=np.where(use[:, None], others, self.chance), shift_error=error)

    @property
    def p(self) -> Array:
        """p-values of the spacing test, NaN where it does not apply; larger if absent canaries have too small ones."""
        return np.asarray(self.top.p ** (1.0 / self.groups.null_mean))

    @property
    def posterior(self) -> Array:
        """Probability of the most probable candidate."""
        return np.asarray(self.chance.max(axis=1))

    @property
    def best(self) -> Array:
        """The most probable candidate, -1 if all have probability 0."""
        at = self.chance.argmax(axis=1)
        return np.where(self.posterior > 0, self.top.record[np.arange(at.size), at], -1)

    def assigned(self) -> Array:
        """Hard assignment: the record of each query, each record once, -1 = none left."""
        absent = np.maximum(1 - self.chance.sum(axis=1, keepdims=True), 1e-12)
        column = hard_assignment(self.top.record, np.log(np.maximum(self.chance / absent, 1e-12)))
        return np.where(column >= 0, self.top.record[np.arange(column.size), column], -1)

    def right_links(
        self, seed: int, presence: tuple[float, float] | None = None, if_noisier: float = 0.0
    ) -> tuple[tuple[float, float], Estimate, Estimate]:
        """How many links are right: a 95 % interval in whole people, the estimate by the gaps, that by the likelihood.

        The interval is the hull of the two. Right records that do not stand out are missing in the
        first; the second is too high where people resemble each other. Posteriors that were learned
        from the release's history need no second estimate: labeled queries showed both.

        Parameters
        ----------
        seed
            Random seed of the bootstrap.
        presence
            Smallest and largest share of people in the release, None = unknown.
        if_noisier
            Most right links by the likelihood with more noise than was fitted.
        """
        gaps = self._by_gaps(seed, presence or UNKNOWN_PRESENCE)
        likelihood = hull([by_likelihood(top, presence) for top in (self.top, *self.before)])
        likelihood = likelihood._replace(high=max(likelihood.high, if_noisier))
        used = (gaps,) if self.shift_error else (gaps, likelihood)
        most = int((self.posterior > 0).sum())
        # whole people; the sum of the posteriors is inside
        low = np.floor(min(gaps.expected, *(x.low for x in used)))
        high = np.ceil(min(max(gaps.expected, *(x.high for x in used)), most))
        return (float(low), float(high)), gaps, likelihood

    def _by_gaps(self, seed: int, presence: tuple[float, float]) -> Estimate:
        """Sum of the posteriors, with a 95 % interval.

        It covers the fit on resampled people, with either mixture, the chance of each link, that
        the null distribution of the test is known only as precisely as the absent canaries can
        check it, the error of a recalibration, and the unknown share of people who are in the
        release (`presence`).
        """
        y, covariates, posterior = self.top.y(), self.top.covariates(), self.posterior
        rng = np.random.default_rng([seed % 2**63, PURPOSE_RESAMPLE])
        spread = float(np.sqrt((posterior * (1 - posterior)).sum()))
        expected = float(posterior.sum())
        # the order of the people must not change the draws
        order = np.lexsort((covariates[:, 1], covariates[:, 0], y))
        middle = float(self.groups.posterior(y, covariates).sum())
        tested = logit(np.clip(posterior[self.top.applies], LEAST, 1 - LEAST))
        totals = []
        # which of the two mixtures is right cannot be seen from the queries: half of the resamples
        # use the sharper one
        mixtures = (self.groups, _fitted_groups(self.top, self.groups.null_mean, SHARP))
        for k in range(RESAMPLES if y.size else 0):
            groups, weight = mixtures[k % 2], np.zeros(y.size)
            weight[order] = rng.multinomial(y.size, np.full(y.size, 1 / y.size))
            null = groups.null_mean * max(1.0 + NULL_ERROR * float(rng.standard_normal()), 0.5)
            start = replace(groups, null_mean=null)
            again = start.improved(y, covariates, FEW_ROUNDS, weight)
            shift = float(again.posterior(y, covariates).sum()) - middle
            if self.shift_error:
                moved = expit(tested + self.shift_error * float(rng.standard_normal()))
                shift += float(moved.sum()) - float(expit(tested).sum())
            totals.append(expected + shift + spread * float(rng.standard_normal()))
        low, high = expected - 2 * spread, expected + 2 * spread
        if totals:
            low, high = np.quantile(totals, [0.025, 0.975])
        # where the test does not apply, the posterior depends on the share of people who are in the
        # release
        model = logit(np.clip(posterior[~self.top.applies & (posterior > 0)], 1e-12, 1 - 1e-12))
        fewest, most = (
            float((expit(model - logit(self.prior) + logit(x)) - expit(model)).sum())
            for x in presence
        )
        low = float(np.clip(low + fewest, 0, expected))
        high = float(np.clip(high + most, expected, (posterior > 0).sum()))
        return Estimate(expected, low, high)


def _fitted_groups(top: TopScores, null_mean: float, parts: int = CAREFUL) -> TwoGroups:
    """Found and not found queries, told apart by what the spacing test says of them."""
    covariates = top.covariates()
    return TwoGroups.start(covariates, null_mean, parts).improved(top.y(), covariates, ROUNDS)


def soft_assignment(record: Array, chance: Array, n_records: int) -> Array:
    """(queries, k): P(the candidate is the person's record) if each record belongs to one person at most.

    Sinkhorn scaling of the odds: the candidates of a query and "absent" sum to 1, and so do the
    claims on a record and "nobody". A claim that no other claim disputes keeps its probability.

    Parameters
    ----------
    record
        (queries, k): candidates, -1 = none.
    chance
        (queries, k): their probabilities one by one; the rest of a row is "absent".
    n_records
        Records of the release.

    >>> soft_assignment(np.array([[0], [1]]), np.array([[0.6], [0.9]]), 2).round(6).tolist()
    [[0.6], [0.9]]
    >>> soft_assignment(np.array([[0], [0]]), np.array([[0.9], [0.9]]), 1).round(2).tolist()
    [[0.49], [0.49]]
    """
    odds, place, row, claims = _sinkhorn_scaling(record, chance, n_records, keep_total=False)
    return np.asarray(odds * row[:, None] / (1.0 + claims[place]))


def log_free(record: Array, chance: Array, n_records: int) -> Array:
    """(queries, k): log P(no other query has the record), in a joint assignment with as many links as one by one.

    Parameters are those of `soft_assignment`.

    >>> (-log_free(np.array([[0], [0]]), np.array([[0.5], [0.0]]), 2)).round(2).tolist()
    [[0.0], [0.69]]
    """
    odds, place, row, claims = _sinkhorn_scaling(record, chance, n_records, keep_total=True)
    return np.asarray(-np.log1p(np.maximum(claims[place] - odds * row[:, None], 0.0)))


def _sinkhorn_scaling(
    record: Array, chance: Array, n_records: int, keep_total: bool
) -> tuple[Array, Array, Array, Array]:
    """Odds (queries, k), places of the candidates, scale of each query, and the sum of the claims on each record."""
    there = record >= 0
    mine = np.where(there, chance, 0.0)
    absent = np.maximum(1.0 - mine.sum(axis=1), LEAST_ABSENT)
    # alone, x = odds·(1-x)², so that an undisputed claim keeps its probability
    odds = mine / absent[:, None] / np.maximum(1.0 - mine, LEAST)
    place = np.where(there, record, n_records)
    free: Array = np.ones(n_records + 1)
    claims: Array = np.zeros(n_records + 1)
    row, total = np.ones(record.shape[0]), mine.sum()
    for _ in range(ASSIGNMENT_ROUNDS):
        row = 1.0 / (1.0 + (odds * free[place]).sum(axis=1))
        claimed = (odds * row[:, None]).reshape(-1)
        claims = np.bincount(place.reshape(-1), weights=claimed, minlength=n_records + 1)
        before, free = free, 1.0 / (1.0 + claims)
        linked = float((free * claims).sum())
        if keep_total and linked > 0:
            odds = odds * np.sqrt(min(total, 0.98 * n_records) / linked)
        if np.abs(free - before).max(initial=0.0) < TOLERANCE:
            break
    return odds, place, row, claims


def hard_assignment(record: Array, score: Array) -> Array:
    """Column of the candidate that each query gets, each record at most once, with the largest sum of scores; -1 = none left.

    Parameters
    ----------
    record
        (queries, k): candidates, -1 = none.
    score
        (queries, k): scores that can be added up over queries, such as log odds; NaN = none.

    >>> hard_assignment(np.array([[0, 1], [0, 1]]), np.array([[2.0, 1.0], [3.0, 0.0]])).tolist()
    [1, 0]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n = record.shape[0]
    query, column = np.nonzero((record >= 0) & np.isfinite(score))
    if not query.size:
        return np.full(n, -1, np.int64)
    names, place = np.unique(record[query, column], return_inverse=True)
    value = score[query, column]
    low, high = float(value.min()), float(value.max())
    # costs must not be 0; a query without a record costs more than any chain of exchanges can save
    cost = np.append(1.0 + high - value, np.full(n, 2.0 + 2.0 * (high - low)))
    at = np.append(query, np.arange(n)), np.append(place, names.size + np.arange(n))
    graph = csr_array((cost, at), shape=(n, names.size + n))
    chosen = np.append(names, np.full(n, -1))[min_weight_full_bipartite_matching(graph)[1]]
    same = (record == chosen[:, None]) & (chosen >= 0)[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)
