"""Three measures of risk on the same people: unique, found and sure.

*unique*: the person's record is the only one of the release that could have produced what is known, within the stated errors.
It needs no model of how facts are chosen. *found*: the best guess of the strongest attack is right.
*sure*: an attacker's calibrated posterior of the best record is at least `SURE`, and the record is
the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from standout.adversary.adversary import Adversary
from standout.attacks.unique import why_not_unique
from standout.experiment.outcomes import Outcomes
from standout.formulas.rates import Z_95, Rate, at_most

Array = npt.NDArray[Any]

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


def measured(
    outcomes: Mapping[str, Outcomes],
    calibration: Array,
    who: Adversary,
    unique: Array | None,
    strongest: Mapping[str, Any] | None,
    eligible_share: float,
) -> dict[str, Any]:
    """The three rates on the same targets, as a part of an adversary's result.

    Parameters
    ----------
    outcomes
        Outcomes by attack label.
    calibration
        bool: queries on which the strongest attack is chosen; rates are reported on the others.
    who
        The adversary.
    unique
        Per query: whether the target is unique; None where that is not defined.
    strongest
        The strongest attack as `strongest` reports it; None if there are too few targets to choose
        one.
    eligible_share
        Share of all records that could be targets; in rates of all records the others count as not
        found.
    """
    reported = ~calibration if strongest else np.ones(calibration.size, np.bool_)
    credit = {label: one.credit for label, one in outcomes.items()}
    found = (
        strongest["attack"]
        if strongest
        else max(credit, key=lambda label: float(credit[label].sum()))
    )
    sure, why_not_sure = surest(outcomes, calibration, reported)
    hits = {
        "unique": unique,
        "found": credit[found],
        "sure": is_sure(outcomes[sure]) if sure else None,
    }
    out: dict[str, Any] = {}
    for name, one in hits.items():
        rate = None if one is None else Rate.of(one[reported])
        if name == "sure" and rate is not None:
            rate = _with_calibration(rate, outcomes[sure].take(reported))
        out[name] = None if rate is None else rate._asdict()
        out[f"{name}_all"] = None if rate is None else rate.of_all(eligible_share)._asdict()
    reasons = {"unique": why_not_unique(who), "sure": why_not_sure}
    return {
        **out,
        "sure_attack": sure or None,
        "not_measured": {name: why for name, why in reasons.items() if why},
    }


def _with_calibration(rate: Rate, outcomes: Outcomes) -> Rate:
    """The rate of *sure* with an interval that also holds for what the calibration on few canaries leaves open."""
    fewer, more = (Rate.from_count(int(is_sure(outcomes, z).sum()), rate.n) for z in (-Z_95, Z_95))
    return rate._replace(low=min(rate.low, fewer.low), high=max(rate.high, more.high))
