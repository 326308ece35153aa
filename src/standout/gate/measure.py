"""Attack targets in batches, and keep what the limits are about: one yes or no per target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import draw_records
from standout.adversary.eligible import conditions
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.unique import why_not_unique
from standout.audit.audit import Audit
from standout.audit.measures import is_sure
from standout.experiment.attackers import Attacker
from standout.experiment.outcomes import Outcomes
from standout.gate.groups import Group

Counts = dict[str, Any]
"""Sums over the targets of one adversary and attack, by name."""


def counts_of(outcomes: Outcomes) -> Counts:
    """Sums over the targets, which a second run must reproduce exactly."""
    found, matched = outcomes.found, outcomes.matched
    return {
        "n_targets": outcomes.n,
        "credit": math.fsum(outcomes.credit.tolist()),
        "found": int(found.sum()),
        "matched_right": int((matched & found).sum()),
        "matched_wrong": int((matched & ~found).sum()),
        "false_match": int(outcomes.absent_matched.sum()) if outcomes.absent_matched.size else None,
        "sure": int(is_sure(outcomes).sum()) if outcomes.has_posterior else None,
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
    not_unique: str = ""
    """Why nobody can be called unique by this adversary on this release; nothing if it is defined."""
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
        return counts_of(self.done[label].take(slice(self.sizes[label][look])))


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
    seen = seen_through(job.source, who)
    rules = conditions(who.without_view, seen) + (() if group is None else group.conditions(seen))
    # in the order of drawing: the first n are the targets of an audit with n targets
    n_eligible, targets = draw_records(seen, rules, job.targets if most is None else most, job.seed)
    return Progress(
        who,
        who.words(job.source),
        n_eligible,
        n_eligible / job.source.n_records,
        targets,
        group,
        why_not_unique(who, job.release),
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
    people = job.experiment.people(sofar.who, sofar.targets[start:stop])
    wanted = [Attacker(label, one, "") for label, one in attacks.items()]
    new = job.experiment.attack(people, wanted, absent=absent, advance=advance)
    for label, outcomes in new.items():
        before = [sofar.done[label]] if label in sofar.done else []
        sofar.done[label] = Outcomes.concatenate([*before, outcomes])
        sofar.sizes.setdefault(label, []).append(stop)
