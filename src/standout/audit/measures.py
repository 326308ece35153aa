"""Three measures of risk on the same people: unique, found and sure.

*unique*: the person's record is the only one of the release that could have produced what is known, within the stated errors.
It needs no model of how facts are chosen. *found*: the best guess of the strongest attack is right.
*sure*: an attacker's calibrated posterior of the best record is at least `SURE`, and the record is
the right one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from standout.attacks.verdicts import Verdicts
from standout.audit.judge import Trial, Truth
from standout.formulas.rates import Z_95, Rate, at_most

Array = npt.NDArray[Any]

MEASURES = ("unique", "found", "sure")

SURE = 0.95
"""Smallest calibrated posterior of an attacker who is sure."""

NO_POSTERIOR = (
    "no attack that ran gives a probability that its answer is right; add the attack `likelihood`"
)
REFUTED = "the probabilities that the attacks state are too high, so nobody can be called sure"


def is_sure(present: Verdicts, shift: float = 0.0) -> Array:
    """Bool (queries): whether the posterior of the best record is at least `SURE` and it is the target.

    The attack must have run with `watch=targets`. The posterior is that of the attack: the default
    likelihood assumes that the target is in the release with probability 1/2. All are False for an
    attack without a posterior (`has_posterior`).

    Parameters
    ----------
    present
        Answers with the targets in the release.
    shift
        Standard errors of the calibration to add to logit P(present).
    """
    posterior = np.nan_to_num(present.posterior, nan=0.0)
    if shift:
        is_there = np.clip(1.0 - np.nan_to_num(present.absent, nan=0.0), 1e-12, 1 - 1e-12)
        posterior *= expit(logit(is_there) + shift * present.presence_error) / is_there
    return np.asarray((posterior >= SURE) & (present.credit == 1.0))


def has_posterior(present: Verdicts) -> bool:
    """Whether the attack states the probability that its answer is right."""
    return present.posterior.size > 0 and not bool(np.isnan(present.posterior).any())


def holds(trial: Trial, chosen: Array) -> bool:
    """Whether the queries `chosen` do not refute that answers with a posterior of at least `SURE` are right as often as that.

    With its target present and with it removed, each query counts once, as a prior of 1/2 weights
    them; another prior weights the two accordingly.
    """
    prior = float(getattr(trial.attack, "prior", 0.5))
    named = trial.present.posterior[chosen] >= SURE
    right = float((named * np.nan_to_num(trial.present.credit[chosen])).sum())
    false = float((trial.absent.posterior[chosen] >= SURE).sum()) * (1.0 - prior) / prior
    n = int(np.ceil(named.sum() + false))
    return n == 0 or at_most(right, n, 0.99) >= SURE


def surest(trials: Mapping[str, Trial], truth: Truth, reported: Array) -> tuple[str, str]:
    """Label of the attack that is sure of most targets, chosen on the other half, and "" ; or "" and why there is none."""
    stated = [label for label, trial in trials.items() if has_posterior(trial.present)]
    if not stated:
        return "", NO_POSTERIOR
    chosen = truth.calibration if truth.calibration.any() else reported
    honest = [label for label in stated if holds(trials[label], chosen)]
    if not honest:
        return "", REFUTED
    return max(
        honest,
        key=lambda label: int((is_sure(trials[label].present) & (truth.target >= 0))[chosen].sum()),
    ), ""


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """What became of each target, by measure; the three measures are of the same people."""

    by_measure: dict[str, Array | None]
    """Per measure and query: bool, or credit from 0 to 1 for *found*; None where it is not measured."""
    reported: Array
    """Bool (queries): whether rates count the query; attacks are chosen on the others."""
    found_attack: str
    """Label of the strongest attack."""
    sure_attack: str
    """Label of the attack that is sure of most targets; "" if there is none."""
    why_not_sure: str
    rates: dict[str, Rate | None]
    """Rate of each measure on the reported queries; None where it is not measured."""


def hits_of(
    trials: Mapping[str, Trial],
    truth: Truth,
    unique: Array | None,
    strongest: Mapping[str, Any] | None,
) -> Hits:
    """Who is unique, found, sure.

    Parameters
    ----------
    trials, truth
        One trial per attack label, and the answer key.
    unique
        Per query: whether the target is unique; None where that is not defined.
    strongest
        The strongest attack as `strongest` reports it; None if there are too few targets to choose
        one.
    """
    reported = ~truth.calibration if strongest else np.ones(truth.target.size, np.bool_)
    credit = {label: trial.credit(truth) for label, trial in trials.items()}
    found = (
        strongest["attack"]
        if strongest
        else max(credit, key=lambda label: float(credit[label].sum()))
    )
    sure, why_not_sure = surest(trials, truth, reported)
    released = truth.target >= 0
    hits = {
        "unique": unique,
        "found": credit[found],
        "sure": is_sure(trials[sure].present) & released if sure else None,
    }
    rates = {name: None if one is None else Rate.of(one[reported]) for name, one in hits.items()}
    if rates["sure"] is not None:
        present = trials[sure].present
        rates["sure"] = _with_calibration(rates["sure"], present, released & reported)
    return Hits(hits, reported, found, sure, why_not_sure, rates)


def measured(seen: Hits, why_not_unique: str, eligible_share: float) -> dict[str, Any]:
    """The three rates on the same targets, as a part of an adversary's result.

    Parameters
    ----------
    seen
        Who is unique, found, sure.
    why_not_unique
        Why uniqueness is not defined; nothing if it is.
    eligible_share
        Share of all records that could be targets; in rates of all records the others count as not
        found.
    """
    out: dict[str, Any] = {}
    for name, rate in seen.rates.items():
        out[name] = None if rate is None else rate._asdict()
        out[f"{name}_all"] = None if rate is None else rate.of_all(eligible_share)._asdict()
    reasons = {"unique": why_not_unique, "sure": seen.why_not_sure}
    return {
        **out,
        "sure_attack": seen.sure_attack or None,
        "not_measured": {name: why for name, why in reasons.items() if why},
    }


def _with_calibration(rate: Rate, present: Verdicts, counted: Array) -> Rate:
    """The rate of *sure* with an interval that also holds for what the calibration on few canaries leaves open."""
    fewer, more = (
        Rate.from_count(int((is_sure(present, z) & counted).sum()), rate.n) for z in (-Z_95, Z_95)
    )
    return rate._replace(low=min(rate.low, fewer.low), high=max(rate.high, more.high))
