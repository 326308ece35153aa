"""`likelihood`: Bayes' rule for what an adversary knows, with P(absent)."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.attack import Attack, register_attack
from standout.attacks.bayes import compile_exact, is_complete, is_drawn_here
from standout.attacks.defended_canaries import calibrated_again
from standout.attacks.noise import Noise
from standout.attacks.odds import compile_odds, told_background
from standout.attacks.presence import Presence, calibrated
from standout.attacks.queries import bound, one_per_query
from standout.attacks.tables import Known
from standout.attacks.unaware import at_face_value, unaware_noise
from standout.attacks.verdicts import Outcome
from standout.data.catalog import Catalog
from standout.data.channels import JointDataset
from standout.data.loading import in_memory
from standout.errors import ParameterError
from standout.formulas import likelihood as formula
from standout.scoring.plan import Plan

ADAPTIVE = "the adaptive attack"

FEWEST_TO_FIT = 8
"""With fewer queries than this, noise is averaged over a grid instead of fitted."""


@register_attack("likelihood")
class Likelihood(Attack):
    """Score = log P(A|r) - log P(A|absent): how much better a record explains the knowledge than no record does.

    For knowledge that an adversary with a fixed number of wrong facts drew from this release,
    P(A|r) is exact. For facts that are wrong independently, and for noise that was fitted or given,
    it is a product over the facts (`formulas.likelihood`).

    Parameters
    ----------
    noise
        "informed": the parameters of the adversary who drew the knowledge; only for knowledge that
        was drawn from the release itself. "fit": estimated by EM from the knowledge alone (averaged
        over a grid for fewer than 8 queries). A `Noise`: as given, for example how a defense
        changed the release. Default: informed when the knowledge was drawn from this release,
        adaptive when it was drawn from the source of a release with a mechanism, else fit.
    adapt
        For knowledge of the source of a release that a defense made. True: the likelihood under the
        defense's published parameters (`attacks.adaptive`). False: naive, as if the release were
        the source. "ignore": naive, without the values or times that the defense changed; items
        with secret names are matched by their popularity.
    prior
        λ, the prior that the target is in the release.
    cut
        Match iff the posterior of the best record is at least this.
    calibrate
        Whether P(absent) and the posterior are calibrated on canaries (`attacks.presence`). This is
        done for informed noise and for an adaptive attack: knowledge from outside, and noise that
        was fitted or given, keep the likelihood's own probabilities.
    """

    needs_lineup = True
    all_channels = True

    def __init__(
        self,
        *,
        noise: str | Noise | None = None,
        prior: float = 0.5,
        cut: float = 0.5,
        calibrate: bool = True,
        adapt: bool | str = True,
    ) -> None:
        if isinstance(noise, str) and noise not in ("informed", "fit"):
            raise ParameterError(f"noise={noise!r}: use 'informed', 'fit' or a Noise")
        if not (0 < prior <= 1 and 0 < cut <= 1):
            raise ParameterError(f"prior={prior} and cut={cut} lie above 0 and at most at 1")
        if adapt not in (True, False, "ignore"):
            raise ParameterError(f"adapt={adapt!r}: use True, False or 'ignore'")
        self.noise, self.prior, self.cut, self.calibrate, self.adapt = (
            noise,
            prior,
            cut,
            calibrate,
            adapt,
        )
        self._noise: Noise | None = None
        self._presence = Presence()
        self._sampled = 1.0
        self._fitted_for: tuple[Catalog, Adversary] | None = None

    def options(self) -> dict[str, Any]:
        """Options as plain data."""
        noise = (
            self.noise if self.noise is None or isinstance(self.noise, str) else repr(self.noise)
        )
        return {
            "noise": noise,
            "prior": self.prior,
            "cut": self.cut,
            "calibrate": self.calibrate,
            **({} if self.adapt is True else {"adapt": self.adapt}),
            **self.rule_options(),
        }

    @property
    def fitted(self) -> Noise | None:
        """The noise that `fit` chose; None before it."""
        return self._noise

    @property
    def presence(self) -> Presence:
        """Conversion of the Bayes factor of presence to P(absent): unchanged, or calibrated by `fit`."""
        return self._presence

    def fit(
        self, dataset: Catalog, knowledge: Knowledge | Facts, exclude: Any = None
    ) -> Likelihood:
        """Return a copy with the noise chosen for all queries together, and P(absent) calibrated.

        A query that excludes a record is fitted as if that record were not in the data. An attack
        that was fitted to the same release and the same adversary's knowledge is returned as it is.
        """
        if isinstance(knowledge, Knowledge):
            dataset, facts = bound(dataset, knowledge, self.all_channels)
        else:
            facts = knowledge
        # canaries resemble these queries only if the adversary drew complete queries from this
        # release
        adapts = self._is_adaptive(dataset, facts)
        who = (
            facts.adversary if is_complete(facts) and (adapts or self._is_informed(facts)) else None
        )
        if who is not None and self._fitted_for is not None:
            release, adversary = self._fitted_for
            if release is dataset and adversary == who:
                return self
        fitted = copy(self)
        noise = self._settle(dataset, facts, one_per_query(exclude, facts, "exclude", dataset))
        fitted._noise, fitted._presence, fitted._fitted_for = noise, Presence(), None
        if who is not None:
            fitted._fitted_for = dataset, who
            if self.calibrate:
                run = Likelihood(noise=self.noise, calibrate=False).run_both
                fitted._presence = (
                    calibrated_again(in_memory(dataset, ADAPTIVE), who, run)
                    if adapts
                    else calibrated(dataset, who, run)
                )
        if adapts and dataset.mechanism is not None:
            fitted._sampled = dataset.mechanism.sampled
        return fitted

    def _settle(self, dataset: Catalog, facts: Facts, exclude: Array) -> Noise:
        """Noise for all queries together; an adversary's own parameters hold only if the release is the source."""
        if isinstance(self.noise, Noise):
            return self.noise
        if facts.adversary is not None and (
            self._is_informed(facts) or self._is_adaptive(dataset, facts)
        ):
            return Noise.informed(facts.adversary, dataset)
        if facts.adversary is not None and self.noise != "fit" and self.adapt is not True:
            return unaware_noise(dataset, facts.adversary, ignore=self.adapt == "ignore")
        if self.noise == "informed":
            why = (
                "the knowledge came from outside, with no Adversary who states its noise"
                if facts.adversary is None
                else "the knowledge was drawn from other data than this release, and entries that the release lost or "
                "changed would count as proof that the target is absent"
            )
            raise ParameterError(
                f"noise='informed': {why}; use noise='fit', or a Noise if you know how they differ"
            )
        if facts.n_queries < FEWEST_TO_FIT:
            from standout.attacks.fit_grid import average_noise

            fit = average_noise
        else:
            from standout.attacks.fit import fit_noise

            fit = fit_noise
        if isinstance(dataset, JointDataset):
            from standout.attacks.fit_joint import joint_noise

            return joint_noise(dataset, facts, exclude, fit)
        return fit(dataset, facts, exclude)

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Exact tables for a fixed number of wrong facts that the adversary's own noise explains, else odds tables."""
        if self._is_adaptive(dataset, facts):
            from standout.attacks.adaptive import compile_adaptive

            return compile_adaptive(in_memory(dataset, ADAPTIVE), facts, exclude)
        if self.adapt is False:
            facts = at_face_value(dataset, facts)
        noise = self._noise or self._settle(dataset, facts, exclude)
        who = facts.adversary if self._is_informed(facts) else None
        if who is not None and not who.wrong_varies and is_drawn_here(facts):
            known = Known.of(dataset, facts, exclude)
            return compile_exact(known, who, noise, told_background(known, noise))
        return compile_odds(dataset, facts, exclude, noise)

    def _is_informed(self, facts: Facts) -> bool:
        """Whether the adversary's own parameters are used: only for knowledge drawn from the release itself."""
        return (
            self.noise in (None, "informed") and facts.from_release and facts.adversary is not None
        )

    def _is_adaptive(self, dataset: Catalog, facts: Facts) -> bool:
        """Whether the defense's mechanism is used: for knowledge drawn from the source of a release that has one."""
        mechanism = dataset.mechanism
        if (
            self.adapt is not True
            or self.noise not in (None, "informed")
            or mechanism is None
            or facts.adversary is None
        ):
            return False
        # a defense that removes what is not there leaves the source as it is, and still says what
        # to expect
        return facts.from_source and not (facts.from_release and mechanism.is_neutral)

    def known_beta(self, plan: Plan) -> Array:
        """Lineup Π(r) ∝ e^LLR: the posterior given that the target is in the release."""
        return 1.0 / plan.scale

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the posterior of the best record reaches the cut."""
        p = self.posterior(seen)
        return p, p >= self.cut

    def posterior(self, seen: Outcome) -> Array:
        """P(best | A), where the target may be absent."""
        return self._posterior(seen)[0]

    def absent(self, seen: Outcome) -> Array:
        """P(absent | A)."""
        return self._posterior(seen)[1]

    def presence_error(self, seen: Outcome) -> Array:
        """Standard error of logit P(present), from the calibration on canaries."""
        return self._presence.log_odds_error(*_presence_of(seen))

    def _posterior(self, seen: Outcome) -> tuple[Array, Array]:
        factor, share = _presence_of(seen)
        best = self._presence.best(share, seen.partials.n_top)
        return formula.posterior(
            self._presence.log_odds(factor, share), best, self.prior * self._sampled
        )


def _presence_of(seen: Outcome) -> tuple[Array, Array]:
    """Log Bayes factor of presence, and share of the best record in the lineup."""
    assert seen.mass is not None
    return formula.log_presence(seen.score, seen.mass, n_possible(seen)), 1.0 / np.maximum(
        seen.mass, 1.0
    )


def n_possible(seen: Outcome) -> Array:
    """Per query: records that may be the target."""
    if seen.plan.exact is not None:
        return np.asarray(seen.plan.exact.n_possible)
    assert seen.plan.n_possible is not None
    return seen.plan.n_possible
