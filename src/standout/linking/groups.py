"""Two groups of queries, found and not found, told apart by the spacing test: a posterior that needs no truth.

If the best record is not the person's, y = -log p of the spacing test is exponential with mean 1,
whatever the noise model says. If it is, y is larger: a mixture of gamma distributions. How many are
found depends on how much is known of a person. All of it is fitted by EM to the queries themselves
(Efron's two-groups model with covariates).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, gamma

from standout.arrays import Array
from standout.formulas.logistic import fit_logistic
from standout.formulas.rates import wilson
from standout.formulas.spacing import K, p_value, spacing

MEANS = (4.0, 8.0, 16.0, 16.0, 32.0, 8.0)
"""Means of y of the gamma distributions that a found query is a mixture of. Smaller means cannot be told from the null, and would
make the number of found queries depend on noise."""
SHAPES = (1, 1, 1, 3, 3, 3)
"""Their shapes: 1 is the exponential; with 3, hardly any found query has a small y."""
CAREFUL, SHARP = 5, 6
"""Parts that are used: the last one separates found queries more sharply, which may miss those that hardly stand out."""
RIDGE = (0.1, 1.0)
"""Precision of the normal priors on the intercept and on the other coefficients."""
ALMOST_SURE = 0.95
MOST = 0.999
"""Largest probability of a candidate."""
FEWEST_FACTS = 3
SMALL, TOO_MANY = 0.01, 2.0
"""If more than this many times too many second best records have a p-value this small, the test is corrected."""
PSEUDO = 0.5
"""Pseudo-count of each part of the mixture."""


def standard(x: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; 1 for the deviation of a column of equal numbers."""
    width = x.std(axis=0)
    return x.mean(axis=0), np.where(width > 0, width, 1.0)


def design_of(x: Array, center: Array, width: Array) -> Array:
    """The columns in units of their width, behind a column of ones for the intercept."""
    return np.column_stack([np.ones(x.shape[0]), (x - center) / width])


def ridge(design: Array) -> Array:
    """Precision of the normal prior of each coefficient."""
    return np.array([RIDGE[0], *[RIDGE[1]] * (design.shape[1] - 1)])


@dataclass(frozen=True, eq=False, repr=False)
class TwoGroups:
    """P(found) from covariates and the p-value of the spacing test."""

    center: Array
    width: Array
    beta: Array
    weight: Array
    null_mean: float = 1.0
    """Mean of y if the query is not found: 1, or more if absent canaries showed so."""

    @classmethod
    def start(cls, covariates: Array, null_mean: float = 1.0, parts: int = CAREFUL) -> TwoGroups:
        """Before any fit: half of the queries are found; a found query is a mixture of the first `parts` distributions."""
        n = covariates.shape[1]
        center, width = standard(covariates) if covariates.size else (np.zeros(n), np.ones(n))
        return cls(center, width, np.zeros(n + 1), np.full(parts, 1 / parts), null_mean)

    def posterior(self, y: Array, covariates: Array) -> Array:
        """P(found) given y = -log p."""
        prior = expit(design_of(covariates, self.center, self.width) @ self.beta)
        found = prior * self._densities(y).sum(axis=1)
        other = (1 - prior) * np.exp(-y / self.null_mean) / self.null_mean
        return np.asarray(found / np.maximum(found + other, 1e-300))

    def improved(
        self, y: Array, covariates: Array, rounds: int, weight: Array | None = None
    ) -> TwoGroups:
        """Return the fit after more rounds of EM.

        Parameters
        ----------
        y, covariates
            Per query: -log p, and (queries, covariates).
        rounds
            Rounds of EM.
        weight
            Number of times that each query counts, for the bootstrap.
        """
        if not y.size:
            return self
        n = np.ones(y.size) if weight is None else weight
        now, design = self, design_of(covariates, self.center, self.width)
        for _ in range(rounds):
            z, parts = now.posterior(y, covariates), now._densities(y)
            each = parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
            share = (n * z) @ each + PSEUDO
            beta = fit_logistic(design, z, ridge(design), weight=n, start=now.beta, steps=2)[0]
            now = replace(now, beta=beta.clip(-8, 8), weight=share / share.sum())
        return now

    def _densities(self, y: Array) -> Array:
        """(queries, parts of the mixture): their shares of the density of y of found queries; no mean is below the null's."""
        shape = np.asarray(SHAPES[: self.weight.size])
        scale = np.asarray(MEANS[: self.weight.size]) * self.null_mean / shape
        x = y[:, None] / scale
        return np.asarray(self.weight * x ** (shape - 1) * np.exp(-x) / (scale * gamma(shape)))


@dataclass(frozen=True, eq=False, repr=False)
class TopScores:
    """The best candidates of each query and what the spacing test says of them."""

    record: Array
    """(queries, k): record indices, best first; -1 = none."""
    score: Array
    """(queries, k): log likelihood ratio, NaN = none."""
    n_facts: Array
    """Facts about items of the release, per query."""
    n_records: int
    """Records of the release."""
    p: Array
    """p-value of the spacing test, NaN where it does not apply."""
    scale: Array
    """Mean of the normalized spacings: nats by which the scores of unrelated records differ; NaN where it does not apply."""

    @classmethod
    def of(cls, record: Array, score: Array, n_facts: Array, n_records: int) -> TopScores:
        """Apply the spacing test to queries with at least three facts: fewer give scores that come in clusters."""
        p = scale = np.full(score.shape[0], np.nan)
        if score.shape[1] > K:
            top = score[:, : K + 1]
            first = np.where(n_facts >= FEWEST_FACTS, spacing(top), np.nan)
            p = p_value(first)
            scale = (np.arange(2, K + 1) * (top[:, 1:-1] - top[:, 2:])).mean(axis=1)
            scale = np.where(np.isnan(first), np.nan, scale)
        return cls(record, score, n_facts, n_records, p, scale)

    def second_best(self) -> tuple[Array, Array]:
        """p-values of the same test for the second best record, as if the best were the person's, and as if it were not.

        If the best is the person's, the others are unrelated records and the second best is the
        highest of them. If not, all are unrelated, and the normalized spacings go on from the
        second. Nothing where there are too few candidates.
        """
        if self.score.shape[1] < K + 2:
            return np.empty(0), np.empty(0)
        gaps = -np.diff(self.score[self.applies, 1 : K + 2])
        j = np.arange(1, K + 1)
        out = []
        for first in (j, j + 1):
            scale = (first[1:] * gaps[:, 1:]).mean(axis=1)
            # no spacing at all below says nothing
            g = np.where(scale > 0, first[0] * gaps[:, 0] / np.where(scale > 0, scale, 1.0), 0.0)
            out.append(np.where(np.isnan(g), 1.0, p_value(np.nan_to_num(g))))
        return out[0], out[1]

    def checked(self, posterior: Array) -> TopScores:
        """The candidates with p-values that the second best records confirm.

        Where scores come in clusters (one exact day more or less), even unrelated records leave
        large gaps, and the gap below the second best shows it. Then a p-value is at least the share
        of second best records with as small a one.

        Parameters
        ----------
        posterior
            P(found) of each query by the p-values as they are.
        """
        found, other = self.second_best()
        if not found.size:
            return self
        use = self.applies
        p = np.concatenate([found, other])
        weight = np.concatenate([posterior[use], 1 - posterior[use]])
        if wilson(float(weight[p <= SMALL].sum()), found.size)[0] <= TOO_MANY * SMALL:
            return self
        order = np.argsort(p, kind="stable")
        # a sum of weights may round to more than their total
        share = np.minimum(np.concatenate([[0.0], np.cumsum(weight[order])]) / weight.sum(), 1.0)
        seen = share[np.searchsorted(p[order], self.p[use], side="right")]
        changed = self.p.copy()
        changed[use] = np.maximum(changed[use], np.maximum(seen, 1.0 / (found.size + 1)))
        return replace(self, p=changed)

    @property
    def applies(self) -> Array:
        """Queries that the test applies to."""
        return ~np.isnan(self.p)

    def without_taken(self, log_free: Array) -> TopScores:
        """The candidates in the order they have if records that other queries claim score less."""
        there = (self.record >= 0) & ~np.isnan(self.score)
        score = np.where(there, self.score + self.temperature()[:, None] * log_free, -np.inf)
        return TopScores.of(*best_first(self.record, score), self.n_facts, self.n_records)

    def y(self) -> Array:
        """-log p of the queries that the test applies to."""
        return np.asarray(-np.log(np.maximum(self.p[self.applies], 1e-300)))

    def covariates(self) -> Array:
        """(queries that the test applies to, 2): log number of facts, log scale. Under the null, p does not depend on them."""
        n_facts, scale = self.n_facts[self.applies], self.scale[self.applies]
        floored = np.column_stack([np.maximum(n_facts, 1), np.maximum(scale, 1e-3)])
        return np.asarray(np.log(floored))

    def temperature(self) -> Array:
        """Per query: the scale, at least 1, and the median where the test does not apply.

        Scores of unrelated records that differ by more than the model says show that the items of a
        person go together, and that the scores are too sure by that factor.
        """
        usual = float(np.median(self.scale[self.applies])) if self.applies.any() else 1.0
        return np.maximum(np.where(self.applies, np.nan_to_num(self.scale, nan=1.0), usual), 1.0)

    def tempered(self) -> Array:
        """(queries, k): weight of each candidate against the best, exp((score - best)/temperature); 0 where there is none."""
        gap = (self.score - self.score[:, :1]) / self.temperature()[:, None]
        return np.nan_to_num(np.exp(np.minimum(gap, 0.0)), nan=0.0)

    def model_posterior(self, prior: float = 0.5) -> Array:
        """P(best record is the person's) by the likelihood alone; records beyond the first k count like the k-th."""
        if not self.score.size:
            return np.zeros(self.score.shape[0])
        score = np.where(np.isnan(self.score), -np.inf, self.score)
        beyond = np.log(max(self.n_records - score.shape[1], 1e-300))
        known = np.logaddexp(np.logaddexp.reduce(score, axis=1), score[:, -1] + beyond)
        absent = np.log1p(-prior) - np.log(prior) + np.log(self.n_records)
        return np.asarray(np.exp(score[:, 0] - np.logaddexp(known, absent)))


def best_first(record: Array, score: Array) -> tuple[Array, Array]:
    """Candidates of each query in descending order of their scores, -inf = none; a missing score becomes NaN."""
    order = np.argsort(-score, axis=1, kind="stable")
    score = np.take_along_axis(score, order, axis=1)
    return np.take_along_axis(record, order, axis=1), np.where(np.isfinite(score), score, np.nan)


def probabilities(top: TopScores, groups: TwoGroups, prior: float = 0.5) -> Array:
    """(queries, k): P(the candidate is the person's record), so that the best one's agrees with the two groups.

    It is never above the likelihood's own posterior of an attacker who is almost sure that the
    person is in the release. Where the spacing test does not apply, it is the likelihood's
    posterior with that prior of presence. The rows sum to at most 1.
    """
    best, use = top.model_posterior(prior), top.applies
    if use.any():
        most = top.model_posterior(ALMOST_SURE)[use]
        best[use] = np.minimum(most, groups.posterior(top.y(), top.covariates()))
    weight = top.tempered()[:, 1:]
    best = np.minimum(best, MOST)
    # the others share what is left at most
    others = np.minimum(best, (MOST - best) / np.maximum(weight.sum(axis=1), 1e-12))
    return np.column_stack([best, others[:, None] * weight])
