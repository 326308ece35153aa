"""The strongest attack: chosen on one half of the targets, reported on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from standout.arrays import Array
from standout.experiment.outcomes import Outcomes
from standout.formulas.rates import Z_95, Rate, sign_flip
from standout.results import Count, Part, Positive, Share, optional

REFERENCE = "scoreboard-rh"

EQUAL_HITS = 1.0
"""Attacks whose hits differ by less than this count as equal: ties give parts of a hit, which should not decide."""

EQUAL_SHARE = 0.005
"""The same as a share of the targets, where there are few."""


@dataclass(frozen=True)
class Paired(Part):
    """Difference of two hit rates on the same targets, with its 95 % interval."""

    n: Count
    only_first: Count
    """People whose record came first alone with the first attack and not with the other."""
    only_second: Count
    difference: float
    low: float
    high: float
    p_value: Share


@dataclass(frozen=True)
class Versus(Paired):
    """The same against an attack."""

    attack: str


@dataclass(frozen=True)
class Strongest(Part):
    """The attack chosen on one half of the targets, measured on the other."""

    attack: str
    n_attacks: Positive
    hit: Rate
    hit_all: Rate
    """As a share of all records; those that hold too few items count as not found."""
    versus: Versus | None = optional()


def strongest(
    outcomes: Mapping[str, Outcomes], calibration: Array, eligible_share: float = 1.0
) -> Strongest | None:
    """Attack with most hits on the calibration half, its rate on the other half, and its lead over Scoreboard-RH.

    Of attacks whose hits differ by less than one person, the one with fewest false matches is
    chosen.

    Parameters
    ----------
    outcomes
        Outcomes by attack label, all on the same targets and draws.
    calibration
        bool: queries on which the attack is chosen.
    eligible_share
        Share of all records that could be targets; the others count as not found in `hit_all`.
    """
    chosen, reported = calibration, ~calibration
    if not chosen.any() or not reported.any():
        return None
    credit = {label: one.credit for label, one in outcomes.items()}
    hits = {label: math.fsum(own[chosen]) for label, own in credit.items()}
    enough = max(hits.values()) - min(EQUAL_HITS, EQUAL_SHARE * int(chosen.sum()))
    equal = [label for label in hits if hits[label] > enough or hits[label] == max(hits.values())]
    # then to the attack with more hits, then to the one named first
    winner = min(
        equal, key=lambda label: (int(outcomes[label].absent_matched[chosen].sum()), -hits[label])
    )
    hit = Rate.of(credit[winner][reported])
    versus = None
    if REFERENCE in credit:
        versus = Versus(
            **paired(credit[winner][reported], credit[REFERENCE][reported]), attack=REFERENCE
        )
    return Strongest(winner, len(outcomes), hit, hit.of_all(eligible_share), versus)


def paired(first: Array, second: Array) -> Paired:
    """Difference of two hit rates on the same targets, with a sign-flip test and a 95 % interval.

    Hits are credits from 0 to 1. Where no record ties, the test is the exact McNemar test.
    `only_first` and `only_second` count people: those whose record came first alone in one of the
    two.
    """
    gap = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    alone, other = np.asarray(first) == 1, np.asarray(second) == 1
    n = int(gap.size)
    difference = math.fsum(gap) / n
    # variance of a paired difference: (Σd² - (Σd)²/n) / n²
    half = Z_95 * math.sqrt(max(math.fsum(gap * gap) - n * difference**2, 0.0)) / n
    return Paired(
        n=n,
        only_first=int((alone & ~other).sum()),
        only_second=int((other & ~alone).sum()),
        difference=difference,
        low=max(-1.0, difference - half),
        high=min(1.0, difference + half),
        p_value=sign_flip(gap),
    )
