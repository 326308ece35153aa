"""Attack targets in batches, and keep what the limits are about: one yes or no per target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
from standout.audit.measures import is_sure
from standout.data.purposes import PURPOSE_TIES
from standout.gate.groups import Group
from standout.gate.policy import states_posterior

Array = npt.NDArray[Any]
Counts = dict[str, Any]
"""Sums over the targets of one adversary and attack, by name."""


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
    sure: Array = field(default_factory=lambda: np.empty(0, np.bool_))
    """bool: whether the attacker's posterior is at least 95 % and right; size 0 if the attack states no posterior."""

    def take(self, which: Array | slice) -> Outcomes:
        """Some of the targets."""
        return Outcomes(*(x[which] if x.size else x for x in self.arrays))

    def then(self, new: Outcomes) -> Outcomes:
        """These targets, followed by others."""
        return Outcomes(*(np.append(a, b) for a, b in zip(self.arrays, new.arrays, strict=True)))

    @property
    def arrays(self) -> tuple[Array, ...]:
        """All arrays, in the order of the fields."""
        return self.credit, self.found, self.matched, self.false_match, self.sure

    def counts(self) -> Counts:
        """Sums over the targets, which a second run must reproduce exactly."""
        return {
            "n_targets": int(self.credit.size),
            "credit": math.fsum(self.credit.tolist()),
            "found": int(self.found.sum()),
            "matched_right": int((self.matched & self.found).sum()),
            "matched_wrong": int((self.matched & ~self.found).sum()),
            "false_match": int(self.false_match.sum()) if self.false_match.size else None,
            "sure": int(self.sure.sum()) if self.sure.size else None,
        }


def tested(counts: Mapping[str, Any], measure: str) -> tuple[int, int]:
    """Number of trials and of hits that a measure is about.

    Who is unique is named by the attack `Unique`, and nobody else is.

    >>> tested({"n_targets": 9, "found": 4, "matched_right": 3, "matched_wrong": 1}, "false-discovery")
    (4, 1)
    """
    if measure == "false-discovery":
        return counts["matched_right"] + counts["matched_wrong"], counts["matched_wrong"]
    if measure == "unique":
        return counts["n_targets"], counts["matched_right"]
    return counts["n_targets"], counts[measure.replace("-", "_")]


@dataclass(eq=False, repr=False)
class Progress:
    """One adversary: the targets in the order of drawing, and what each attack did to those attacked so far."""

    who: Adversary
    words: str
    """What the adversary knows, in words."""
    n_eligible: int
    share: float
    """Share of all records that are eligible."""
    targets: Array
    group: Group | None = None
    """Group of people that the targets are drawn from; None = all who are eligible."""
    source: str = "source"
    """Where the knowledge is drawn from: "source", or "release" if the release is attacked as its own source."""
    done: dict[str, Outcomes] = field(default_factory=dict)
    """Per attack label."""
    sizes: dict[str, list[int]] = field(default_factory=dict)
    """Per attack label: numbers of targets after each batch."""
    recorded: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    """Per attack label: counts after each batch that evidence states, in place of outcomes."""

    def attacked(self, label: str) -> int:
        """Number of targets attacked so far."""
        return self.sizes[label][-1] if label in self.sizes else 0

    def counts(self, label: str, look: int = -1) -> Counts:
        """Counts of an attack after a batch, the last one by default."""
        if label in self.recorded:
            return dict(self.recorded[label][look])
        return self.done[label].take(slice(self.sizes[label][look])).counts()


def prepare(
    job: Audit, who: Adversary, group: Group | None = None, most: int | None = None
) -> Progress:
    """Eligible records of an adversary, and the targets among them.

    Parameters
    ----------
    job
        Source, number of targets and seed.
    who
        The adversary.
    group
        Group of people to draw from; None = all who are eligible.
    most
        Number of targets, if not the job's.
    """
    rules = conditions(who, job.source) + (() if group is None else group.conditions(job.source))
    # in the order of drawing: the first n are the targets of an audit with n targets
    n_eligible, targets = draw_records(
        job.source, rules, job.targets if most is None else most, job.seed
    )
    return Progress(
        who, who.words(job.source), n_eligible, n_eligible / job.source.n_records, targets, group
    )


def attack_batch(
    job: Audit,
    sofar: Progress,
    attacks: dict[str, Attack],
    start: int,
    stop: int,
    absent: bool,
    advance: Callable[[str, int], None],
) -> None:
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
    keys = rows.keys[rows.places(targets)]
    truth = Truth.of(targets, job._place, keys, job.seed)
    knowledge = sofar.who.sample(job.source, targets, job.seed)
    pick = (starts(np.uint64(job.seed % 2**64), PURPOSE_TIES, keys) >> np.uint64(11)) / 2.0**53
    for label, one in attacks.items():

        def step(n: int, what: str = f"{label}: {sofar.who.words(job.source)}") -> None:
            advance(what, n)

        seen = one.run(
            job.release, knowledge, job.engine, watch=truth.target, lineup=False, progress=step
        )
        credit = Trial(one, seen, seen).credit(truth)
        gone = np.empty(0, np.bool_)
        if absent:
            gone = one.run(
                job.release,
                knowledge,
                job.engine,
                exclude=truth.target,
                lineup=False,
                progress=step,
            ).matched
        sure = (
            is_sure(seen) & (truth.target >= 0) if states_posterior(one) else np.empty(0, np.bool_)
        )
        new = Outcomes(credit, pick < credit, np.asarray(seen.matched, np.bool_), gone, sure)
        sofar.done[label] = sofar.done[label].then(new) if label in sofar.done else new
        sofar.sizes.setdefault(label, []).append(stop)
