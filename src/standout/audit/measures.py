"""Three measures of risk on the same people: unique, found and sure.

*unique*: the person's record is the only one of the release that could have produced what is known, within the stated errors.
It needs no model of how facts are chosen. *found*: the best guess of the strongest attack is right.
*sure*: an attacker's calibrated posterior of the best record is at least `SURE`, and the record is
the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit

from standout.arrays import Array
from standout.audit.strongest import Strongest
from standout.experiment.outcomes import Outcomes
from standout.formulas.rates import Z_95, Rate, at_most

MEASURES = ("unique", "found", "sure")

SURE = 0.95
"""Smallest calibrated posterior of an attacker who is sure."""

NO_POSTERIOR = (
    "no attack that ran gives a probability that its answer is right; add the attack `likelihood`"
)
REFUTED = "the probabilities that the attacks state are too high, so nobody can be called sure"


def is_sure(outcomes: Outcomes, shift: float = 0.0) -> Array:
    """Bool (queries): whether the posterior of the best record is at least `SURE` and it is the target.

    The posterior is that of the attack: the default likelihood assumes that the target is in the
    release with probability 1/2. All are False for an attack without a posterior.

    Parameters
    ----------
    outcomes
        What became of the targets.
    shift
        Standard errors of the calibration to add to logit P(present).
    """
    posterior = np.nan_to_num(outcomes.posterior, nan=0.0)
    if shift:
        is_there = np.clip(1.0 - np.nan_to_num(outcomes.absent, nan=0.0), 1e-12, 1 - 1e-12)
        posterior *= expit(logit(is_there) + shift * outcomes.presence_error) / is_there
    return np.asarray((posterior >= SURE) & (outcomes.credit == 1.0))


def holds(outcomes: Outcomes, chosen: Array) -> bool:
    """Whether the queries `chosen` do not refute that answers with a posterior of at least `SURE` are right as often as that.

    With its target present and with it removed, each query counts once, as a prior of 1/2 weights
    them; another prior weights the two accordingly.
    """
    prior = outcomes.prior
    named = outcomes.posterior[chosen] >= SURE
    right = float((named * outcomes.credit[chosen]).sum())
    false = float((outcomes.absent_posterior[chosen] >= SURE).sum()) * (1.0 - prior) / prior
    n = int(np.ceil(named.sum() + false))
    return n == 0 or at_most(right, n, 0.99) >= SURE


def surest(
    outcomes: Mapping[str, Outcomes], calibration: Array, reported: Array
) -> tuple[str, str]:
    """Label of the attack that is sure of most targets, chosen on the other half, and "" ; or "" and why there is none."""
    stated = [label for label, one in outcomes.items() if one.has_posterior]
    if not stated:
        return "", NO_POSTERIOR
    chosen = calibration if calibration.any() else reported
    honest = [label for label in stated if holds(outcomes[label], chosen)]
    if not honest:
        return "", REFUTED
    return max(honest, key=lambda label: int(is_sure(outcomes[label])[chosen].sum())), ""


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """Who is unique, found, sure; the three measures are of the same people."""

    by_measure: dict[str, Array | None]
    """Per measure and query: bool, or credit from 0 to 1 for *found*; None where it is not measured."""
    found_attack: str
    """Label of the strongest attack."""
    sure_attack: str
    """Label of the attack that is sure of most targets; "" if there is none."""
    why_not: dict[str, str]
    """Why a measure is None."""
    rates: dict[str, Rate | None]
    """Rate of each measure on the reported queries; None where it is not measured."""

    def measures(self, eligible_share: float) -> dict[str, Any]:
        """The three rates as a part of an adversary's result.

        Parameters
        ----------
        eligible_share
            Share of all records that could be targets; in rates of all records the others count as
            not found.
        """
        out: dict[str, Any] = {}
        for name, rate in self.rates.items():
            out[name] = rate
            out[f"{name}_all"] = rate and rate.of_all(eligible_share)
        return {**out, "sure_attack": self.sure_attack or None, "not_measured": self.why_not}


def hits_of(
    outcomes: Mapping[str, Outcomes],
    calibration: Array,
    unique: Array | str,
    strongest: Strongest | None,
) -> Hits:
    """Who is unique, found, sure.

    Parameters
    ----------
    outcomes
        Outcomes by attack label.
    calibration
        bool: queries on which the strongest attack is chosen; rates are reported on the others.
    unique
        Per query: whether the target is unique; or why that is not defined.
    strongest
        The strongest attack; None if there are too few targets to choose one.
    """
    reported = ~calibration if strongest else np.ones(calibration.size, np.bool_)
    credit = {label: one.credit for label, one in outcomes.items()}
    found = (
        strongest.attack if strongest else max(credit, key=lambda label: float(credit[label].sum()))
    )
    sure, why_not_sure = surest(outcomes, calibration, reported)
    hits = {
        "unique": None if isinstance(unique, str) else unique,
        "found": credit[found],
        "sure": is_sure(outcomes[sure]) if sure else None,
    }
    rates = {name: None if one is None else Rate.of(one[reported]) for name, one in hits.items()}
    if rates["sure"] is not None:
        rates["sure"] = _with_calibration(rates["sure"], outcomes[sure].take(reported))
    reasons = {"unique": unique if isinstance(unique, str) else "", "sure": why_not_sure}
    why_not = {name: why for name, why in reasons.items() if why}
    return Hits(hits, found, sure, why_not, rates)


def _with_calibration(rate: Rate, outcomes: Outcomes) -> Rate:
    """The rate of *sure* with an interval that also holds for what the calibration on few canaries leaves open."""
    fewer, more = (Rate.from_count(int(is_sure(outcomes, z).sum()), rate.n) for z in (-Z_95, Z_95))
    return replace(rate, low=min(rate.low, fewer.low), high=max(rate.high, more.high))
