"""A posterior learned from labeled queries: logit P(found) = a + b·y + c·√y + d·log(facts) + (f + g·y)·log(scale) + shift.

y = -log p of the spacing test; scale = that of the gaps among the next records. The terms were
chosen by the cross-validated likelihood of labeled queries (docs/linking.md).

The labeled queries and those of the second file are alike except for the share of people who are
found. That share is estimated from the queries in two ways: from all features (Saerens, Latinne and
Decaestecker 2002; the change counts only as far as it exceeds its error, positive-part James–Stein
shrinkage), and from the null distribution of the test. The first is wrong where found people stand
out more than labeled ones, the second where they stand out little; their mean is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from standout.arrays import Array
from standout.formulas.logistic import fit_logistic
from standout.linking.groups import TopScores

MOST_Y = 30.0
RIDGE = (0.1, 1.0)
"""Precision of the normal priors on the intercept and on the other coefficients."""
ROUNDS = 500
TOLERANCE = 1e-8
LEAST = 1e-4
MOST_MOVE = 8.0
MOST_ERROR = 2.0
"""Standard error of the shift in logits above which the labeled queries say too little."""


class Shift(NamedTuple):
    """How much more or less often queries are found than labeled ones, in logits."""

    change: float
    """As estimated from the features of the queries."""
    by_test: float
    """As the null distribution of the spacing test says (`linking.groups`)."""
    used: float
    """The mean of the two; a `change` within its error counts less."""
    error: float
    """Standard error of `used`: that of `change`, and half of the distance between the two."""


@dataclass(frozen=True, eq=False, repr=False)
class Recalibration:
    """P(found) from what the spacing test says of a query."""

    center: Array
    width: Array
    beta: Array
    share: float
    """Share of the labeled queries that are found."""
    n: int
    """Labeled queries."""

    @classmethod
    def fit(cls, features: Array, found: Array) -> Recalibration:
        """Logistic regression of found on the features.

        Parameters
        ----------
        features
            (queries, features), as `features` gives them.
        found
            Whether the best record is the right one.
        """
        center, width = features.mean(axis=0), features.std(axis=0)
        width = np.where(width > 0, width, 1.0)
        design = np.column_stack([np.ones(found.size), (features - center) / width])
        ridge = np.array([RIDGE[0], *[RIDGE[1]] * features.shape[1]])
        beta = fit_logistic(design, found, ridge)[0]
        share = float(np.clip(found.mean(), LEAST, 1 - LEAST))
        return cls(center, width, beta, share, int(found.size))

    def logits(self, features: Array) -> Array:
        """Logit of P(found) if the share of found queries is that of the labeled ones."""
        design = np.column_stack(
            [np.ones(features.shape[0]), (features - self.center) / self.width]
        )
        return np.asarray(design @ self.beta)

    def shift(self, features: Array, found: float) -> Shift:
        """Estimate the change of the share of found queries.

        Parameters
        ----------
        features
            Those of the queries.
        found
            Number of found queries that the null distribution of the spacing test gives.
        """
        level, share = self.logits(features), self.share
        for _ in range(ROUNDS):
            before = share
            share = float(
                np.clip(expit(level + logit(share) - logit(self.share)).mean(), LEAST, 1 - LEAST)
            )
            if abs(share - before) < TOLERANCE:
                break
        change = float(logit(share) - logit(self.share))
        mine = expit(level + change)
        # information that the mixture leaves, and the error of the labeled share
        known = max(
            float(features.shape[0] * share * (1 - share) - (mine * (1 - mine)).sum()), 1e-9
        )
        square = 1.0 / known + 1.0 / (self.n * self.share * (1 - self.share))
        kept = change * max(0.0, 1.0 - square / change**2) if change else 0.0
        by_test = _move(level, found)
        return Shift(
            change,
            by_test,
            (kept + by_test) / 2,
            float(np.hypot(np.sqrt(square), (kept - by_test) / 2)),
        )

    def posterior(self, features: Array, shift: Shift) -> Array:
        """P(found) of each query."""
        return np.asarray(expit(self.logits(features) + shift.used))


def features(top: TopScores, n_facts: Array) -> Array:
    """(queries that the test applies to, 5): y = -log p, log number of facts, log scale, √y, y·log scale."""
    y, others = np.minimum(top.y(), MOST_Y), top.covariates(n_facts)
    return np.column_stack([y, others, np.sqrt(y), y * others[:, 1]])


def _move(level: Array, total: float) -> float:
    """The number that, added to all logits, makes the probabilities sum to `total`."""
    low, high = -MOST_MOVE, MOST_MOVE
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(expit(level + middle).sum()) < total else (low, middle)
    return (low + high) / 2
