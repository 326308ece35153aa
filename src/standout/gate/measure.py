"""Attack targets in batches, and keep what the limits are about: one yes or no per target."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import draw_records, starts
from standout.adversary.eligible import conditions
from standout.attacks.attack import Attack
from standout.audit.audit import Audit
from standout.audit.judge import Trial, Truth

Array = npt.NDArray[Any]

PURPOSE_TIES = 71
"""Purpose of the random number that picks one of several tied records."""


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes:
    """What an attack did to each target, in the order in which targets are drawn."""

    credit: Array
    """float64: 1/(tied records) if the target is tied at the top, else 0."""
    found: Array
    """bool: whether the target is the one record that the attacker picks among the tied ones."""
    matched: Array
    """bool: whether the attack names a record."""
    false_match: Array
    """bool: whether the attack names a record when the target is removed; size 0 if that was not measured."""

    def part(self, n: int) -> Outcomes:
        """The first `n` targets."""
        return Outcomes(self.credit[:n], self.found[:n], self.matched[:n], self.false_match[:n])

    def counts(self) -> dict[str, Any]:
        """Sums over the targets, which a second run must reproduce exactly."""
        return {
            "n_targets": int(self.credit.size),
            "credit": math.fsum(self.credit.tolist()),
            "found": int(self.found.sum()),
            "matched_right": int((self.matched & self.found).sum()),
            "matched_wrong": int((self.matched & ~self.found).sum()),
            "false_match": int(self.false_match.sum()) if self.false_match.size else None,
        }

    def yes(self, measure: str) -> tuple[Array, Array]:
        """Per target: whether it counts for this measure, and whether it is a hit."""
        everyone = np.ones(self.credit.size, np.bool_)
        match measure:
            case "hit":
                return everyone, self.found
            case "matched-right":
                return everyone, self.matched & self.found
            case "matched-wrong":
                return everyone, self.matched & ~self.found
            case "false-match":
                return everyone, self.false_match
            case _:
                return self.matched, self.matched & ~self.found


@dataclass(eq=False, repr=False)
class Progress:
    """One adversary: the targets in the order of drawing, and what each attack did to those attacked so far."""

    who: Adversary
    n_eligible: int
    share: float
    """Share of all records that are eligible."""
    targets: Array
    length: Array = field(default_factory=lambda: np.empty(0, np.int64))
    rarest: Array = field(default_factory=lambda: np.empty(0, np.int64))
    """Per attacked target: number of items, and support of the rarest known item."""
    done: dict[str, Outcomes] = field(default_factory=dict)
    """Per attack label."""
    sizes: dict[str, list[int]] = field(default_factory=dict)
    """Per attack label: numbers of targets after each batch."""


def prepare(job: Audit, who: Adversary) -> Progress:
    """Eligible records of an adversary, and the targets among them."""
    # in the order of drawing: the first n are the targets of an audit with n targets
    n_eligible, targets = draw_records(job.source, conditions(who, job.source), job.targets, job.seed)
    return Progress(who, n_eligible, n_eligible / job.source.n_records, targets)


def attack_batch(job: Audit, sofar: Progress, attacks: dict[str, Attack], start: int, stop: int, absent: bool,
                 advance: Callable[[str, int], None]) -> None:  # fmt: skip
    """Attack targets `start` to `stop` of an adversary, and add the outcomes to what is there.

    Parameters
    ----------
    job
        Source, release, engine and seed.
    sofar
        The adversary, and what was measured before.
    attacks
        Attacks to run, by label.
    start, stop
        Range of targets.
    absent
        Whether to attack each target a second time with its record removed.
    advance
        Called with (what, number of queries).
    """
    targets = sofar.targets[start:stop]
    rows = job.source.rows(np.sort(targets))
    persons = rows.places(targets)
    keys = rows.keys[persons]
    truth = Truth.of(targets, job._place, keys, job.seed)
    knowledge = sofar.who.sample(job.source, targets, job.seed)
    pick = (starts(np.uint64(job.seed % 2**64), PURPOSE_TIES, keys) >> np.uint64(11)) / 2.0**53
    if sofar.length.size < stop:
        facts = knowledge.bind(job.release)
        held = np.where(facts.item >= 0, job.release.supports[np.maximum(facts.item, 0)], 0)
        sofar.length = np.append(sofar.length, rows.lengths[persons])
        sofar.rarest = np.append(sofar.rarest, np.minimum.reduceat(held, facts.query_ptr[:-1]))
    for label, one in attacks.items():

        def step(n: int, what: str = f"{label}: {sofar.who.words(job.source)}") -> None:
            advance(what, n)

        seen = one.run(job.release, knowledge, job.engine, watch=truth.target, lineup=False, progress=step)
        credit = Trial(one, seen, seen).credit(truth)
        gone = np.empty(0, np.bool_)
        if absent:
            gone = one.run(
                job.release, knowledge, job.engine, exclude=truth.target, lineup=False, progress=step
            ).matched
        _append(sofar, label, Outcomes(credit, pick < credit, np.asarray(seen.matched, np.bool_), gone), stop)


def _append(sofar: Progress, label: str, new: Outcomes, stop: int) -> None:
    old = sofar.done.get(label)
    if old is not None:
        new = Outcomes(
            np.append(old.credit, new.credit),
            np.append(old.found, new.found),
            np.append(old.matched, new.matched),
            np.append(old.false_match, new.false_match),
        )
    sofar.done[label] = new
    sofar.sizes.setdefault(label, []).append(stop)
