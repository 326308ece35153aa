"""Calibration of P(absent): the likelihood's answers for canaries, with their records in the release and without.

An absent person's items are correlated like a present person's, so the product of popularities
understates P(knowledge | absent). The release alone shows by how much: draw knowledge of random
records as the adversary does, and run the attack with each record present and removed. No target
and no truth is needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from scipy.special import expit, logit

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.verdicts import Verdicts
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.formulas.logistic import fit_logistic

CANARIES = 200
"""Number of canaries; all eligible records if there are fewer."""

SMALL, CANARIES_IF_SMALL = 20_000, 1_000
"""Number of canaries in a release of at most `SMALL` records, where they cost little: the interval of *sure* is narrower."""

LEAST_SHARE = 1e-9
"""Shares of the lineup are calibrated as if they were at least this, and at most 1 minus this."""

Run = Callable[[Catalog, Knowledge, Array], tuple[Verdicts, Verdicts]]


@dataclass(frozen=True)
class Presence:
    """logit P(present) = a + b·(log Bayes factor of presence) + c·log P(best | present), at a prior of 1/2.

    a = 0, b = 1, c = 0 leaves the likelihood unchanged. The term c is needed because an absent
    person's knowledge fits several similar records about equally well, while a present person's
    fits one.
    """

    a: float = 0.0
    b: float = 1.0
    c: float = 0.0
    n: int = 0
    """Number of canaries used in the fit."""
    errors: tuple[tuple[float, ...], ...] = ()
    """Covariance of a, b and c; empty = known exactly."""
    shift: float = 0.0
    slope: float = 1.0
    """logit P(best | present) = shift + slope·logit(share of the best record in the lineup)."""

    def best(self, share: Array, n_tied: Array) -> Array:
        """P(best | present), at most 1 over the number of records tied at the top; 0 and 1 leave the share as it is."""
        if self.shift == 0.0 and self.slope == 1.0:
            return share
        p = expit(self.shift + self.slope * logit(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE)))
        return np.asarray(np.minimum(p, 1.0 / np.maximum(n_tied, 1)))

    def log_odds(self, log_factor: Array, share: Array) -> Array:
        """Logarithm of the odds of presence at a prior of 1/2; -inf if no record can be the target."""
        x = _covariates(log_factor, share)
        return np.where(np.isfinite(log_factor), np.array([self.a, self.b, self.c]) @ x, -np.inf)

    def log_odds_error(self, log_factor: Array, share: Array) -> Array:
        """Standard error of `log_odds`: what the fit on few canaries leaves open."""
        if not self.errors:
            return np.zeros(log_factor.size)
        x = _covariates(log_factor, share)
        return np.asarray(np.sqrt(np.einsum("iq,ij,jq->q", x, np.array(self.errors), x)))


def _covariates(log_factor: Array, share: Array) -> Array:
    """(3, queries): 1, log Bayes factor of presence and log share; 0 for both where no record can be the target."""
    some = np.isfinite(log_factor)
    focus = np.log(np.where(some, np.maximum(share, 1e-300), 1.0))
    return np.stack([np.ones(log_factor.size), np.where(some, log_factor, 0.0), focus])


def fit_presence(log_factor: Array, share: Array, present: Array) -> Presence:
    """Presence that explains the canaries best, under weak priors: a ~ N(0, 3²), b ~ N(1, 1²) and b ≥ 0.01, c ~ N(0, 1²).

    The priors keep the numbers finite if the canaries separate completely, or if there are few of
    them.
    """
    some = np.isfinite(log_factor)
    (a, b, c), errors = fit_logistic(
        _covariates(log_factor[some], share[some]).T,
        present[some].astype(np.float64),
        np.array([3.0, 1.0, 1.0]) ** -2.0,
        np.array([0.0, 1.0, 0.0]),
        lowest=np.array([-np.inf, 0.01, -np.inf]),
    )
    return Presence(
        float(a), float(b), float(c), int(present.sum()), tuple(map(tuple, errors.tolist()))
    )


def fit_share(share: Array, credit: Array) -> tuple[float, float]:
    """Shift and slope of P(best | present) that explain the credit of present canaries best: N(0, 1²), and N(1, 0.5²) ≥ 0.05."""
    x = np.stack([np.ones(share.size), logit(np.clip(share, LEAST_SHARE, 1 - LEAST_SHARE))], axis=1)
    (shift, slope), _ = fit_logistic(
        x,
        credit,
        np.array([1.0, 0.5]) ** -2.0,
        np.array([0.0, 1.0]),
        lowest=np.array([-np.inf, 0.05]),
    )
    return float(shift), float(slope)


def canary_seed(who: Adversary) -> int:
    """Random seed of an adversary's canaries: different for each adversary, and unlike the small numbers that users give.

    With one seed for all, the same canaries would shift all results of an audit in the same
    direction. Parameters that keep their default are left out, so that neither a new parameter nor
    other words change the canaries of an adversary.
    """
    default = Adversary().to_dict()
    chosen = {name: value for name, value in who.to_dict().items() if value != default.get(name)}
    # 1 and 1.0 are the same adversary
    numbers = {
        name: float(value) if isinstance(value, int) else value for name, value in chosen.items()
    }
    return 2**40 + crc32(json.dumps(numbers, sort_keys=True).encode())


def canaries(dataset: Catalog, who: Adversary, n: int = CANARIES) -> Array:
    """Records that serve as canaries: `n` of them, or all eligible ones if there are fewer."""
    return who.choose_targets(dataset, n, canary_seed(who))[1]


def n_canaries(dataset: Catalog) -> int:
    """Number of canaries of a release that is not defended."""
    return CANARIES_IF_SMALL if dataset.n_records <= SMALL else CANARIES


def calibrated(dataset: Catalog, who: Adversary, run: Run) -> Presence:
    """Presence fitted on canaries; a function of the release and the adversary, computed once and cached on the release.

    Parameters
    ----------
    dataset, who
        The release, and the adversary whose knowledge is to be calibrated.
    run
        Runs the uncalibrated attack at a prior of 1/2, with the records in the release and without
        them: `run_both`.
    """

    def fit() -> Presence:
        records = canaries(dataset, who, n_canaries(dataset))
        knowledge = who.sample(dataset, records, canary_seed(who))
        both = run(dataset, knowledge, records)
        factor = np.concatenate([factor_of(v) for v in both])
        share = np.concatenate([v.share for v in both])
        return fit_presence(factor, share, np.repeat([True, False], records.size))

    return once(dataset, "presence", who, fit)


def factor_of(verdicts: Verdicts) -> Array:
    """Log Bayes factor of presence in uncalibrated verdicts at a prior of 1/2; -inf if there is no candidate."""
    some = (verdicts.n_candidates > 0) & (verdicts.share > 0) & (verdicts.posterior > 0)
    p, share = np.where(some, verdicts.posterior, 1.0), np.where(some, verdicts.share, 1.0)
    factor = np.log(p) - np.log(share) - np.log(np.maximum(verdicts.absent, 1e-300))
    return np.where(some, factor, -np.inf)
