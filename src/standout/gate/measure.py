"""Attack targets in batches, and test each rate against its limit after every batch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
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
from standout.formulas.exact_tests import fewest_to_pass, look_shares, over_looks, p_above, p_below
from standout.formulas.rates import at_least, at_most
from standout.gate.groups import Group
from standout.gate.policy import RISK, Limit

Counts = dict[str, Any]
"""Sums over the targets of one adversary and attack, by name."""


def percent(x: float, toward: int = 0) -> str:
    """Write a share with three digits; `toward` +1 rounds up, -1 down, so that a bound is never shown too narrow.

    >>> percent(0.09), percent(0.0899996, 1), percent(0.12345, -1), percent(1.0), percent(0.0)
    ('9%', '9%', '12.3%', '100%', '0%')
    """
    if x <= 0:
        return "0%"
    step = 10.0 ** (math.floor(math.log10(100 * x)) - 2)
    units = 100 * x / step
    whole = math.ceil(units - 1e-9) if toward > 0 else math.floor(units + 1e-9)
    return f"{(whole if toward else round(units)) * step:.12g}%"


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


def trials_and_hits(counts: Mapping[str, Any], measure: str) -> tuple[int, int]:
    """Number of trials and of hits that a measure is about.

    Who is unique is named by the attack `Unique`, and nobody else is.

    >>> trials_and_hits({"n_targets": 9, "found": 4, "matched_right": 3, "matched_wrong": 1}, "false-discovery")
    (4, 1)
    """
    if measure == "false-discovery":
        return counts["matched_right"] + counts["matched_wrong"], counts["matched_wrong"]
    name = "matched_right" if measure == "unique" else measure.replace("-", "_")
    return counts["n_targets"], counts[name]


@dataclass(eq=False, repr=False)
class Measurement:
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
    ignored: str = ""
    """Relation among the known items that the release shows and that no attack uses; nothing if there is none."""
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
) -> Measurement:
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
    source, seen = job.source, seen_through(job.source, who)
    rules = conditions(who.without_view, seen) + (group.conditions(seen) if group else ())
    # in the order of drawing: the first n are the targets of an audit with n targets
    n_eligible, targets = draw_records(seen, rules, most or job.targets, job.seed)
    share = n_eligible / source.n_records
    unique = why_not_unique(who, job.release)
    related = who.choice.grouping
    shown = related is not None and not related.lacking(seen_through(job.release, who))
    ignored = related.words if related is not None and shown else ""
    return Measurement(who, who.words(source), n_eligible, share, targets, group, unique, ignored)


def attack_batch(
    job: Audit,
    measured: Measurement,
    attacks: Mapping[str, Attack],
    stop: int,
    absent: bool,
    advance: Callable[[str, int], None],
) -> None:
    """Attack the targets of an adversary up to target `stop`, and add the outcomes to what is there.

    Parameters
    ----------
    job
        Source, release, engine and seed.
    measured
        The adversary, and what was measured before.
    attacks
        Attacks to run, by label; all of them have attacked the same targets before.
    stop
        Number of targets after the batch.
    absent
        Whether to attack each target a second time with its record removed.
    advance
        Called with (what, number of queries).
    """
    if not attacks:
        return
    start = measured.attacked(next(iter(attacks)))
    people = job.experiment.people(measured.who, measured.targets[start:stop])
    attackers = [Attacker(label, one, "") for label, one in attacks.items()]
    new = job.experiment.attack(people, attackers, absent=absent, advance=advance)
    for label, outcomes in new.items():
        before = [measured.done[label]] if label in measured.done else []
        measured.done[label] = Outcomes.concatenate([*before, outcomes])
        measured.sizes.setdefault(label, []).append(stop)


@dataclass(eq=False)
class Question:
    """Is one rate below its limit? Tests of the rate of one adversary, attack and group, at each look at the data."""

    limit: Limit
    measured: Measurement
    label: str
    alpha: float
    n_looks: int
    least: int
    """Targets of the adversary below which the answer is never "met"."""
    hidden_below: int = 0
    """Groups with fewer targets are shown without their counts."""
    n: int = 0
    count: int = 0
    below: list[float] = field(default_factory=list)
    above: list[float] = field(default_factory=list)
    uppers: list[float] = field(default_factory=list)
    lowers: list[float] = field(default_factory=list)

    @property
    def scale(self) -> float:
        """Factor from the tested rate to the rate that the limit is about."""
        return self.measured.share if self.limit.of == "all" else 1.0

    @property
    def tested_limit(self) -> float:
        """The limit as a limit of the rate among eligible targets."""
        return min(1.0, self.limit.max / self.scale) if self.scale > 0 else 1.0

    @property
    def is_hidden(self) -> bool:
        """Whether the group is so small that its counts are not shown."""
        return self.measured.group is not None and self.n < self.hidden_below

    @property
    def always_met(self) -> bool:
        """Whether so few records are eligible that the limit holds even if all of them are found."""
        return self.limit.of == "all" and self.scale <= self.limit.max

    @cached_property
    def shares(self) -> list[float]:
        """Share of the error that each look may use."""
        return look_shares(self.n_looks)

    def look(self) -> None:
        """Test with the targets attacked so far."""
        self.n, self.count = trials_and_hits(self.measured.counts(self.label), self.limit.measure)
        confidence = 1 - self.alpha * self.shares[len(self.below)]
        self.below.append(p_below(self.count, self.n, self.tested_limit))
        self.above.append(p_above(self.count, self.n, self.tested_limit))
        self.uppers.append(at_most(self.count, self.n, confidence))
        self.lowers.append(at_least(self.count, self.n, confidence) if self.n else 0.0)

    @property
    def cannot_fail(self) -> str:
        """Why no data could exceed the limit, or its measure is not defined; nothing if it can be judged."""
        who, words, most = self.measured.who, self.measured.words, self.limit.max
        if self.is_undefined:
            what = "use a whole number of wrong facts" if who.wrong_varies else "use found"
            return f"{words}: {self.measured.not_unique}; {what}"
        if most >= 1:
            return "no rate exceeds a limit of 100%, so the limit cannot fail; lower max"
        all_wrong = who.wrong_share**who.knows if who.wrong_varies else who.most_wrong >= who.knows
        if 1 - all_wrong <= most:
            return f"{words}: with all facts wrong, the limit cannot fail; lower wrong"
        n = self.measured.n_eligible
        if n == 0 or (self.always_met and n < fewest_to_pass(most, self.alpha)):
            few = f"{n or 'no'} record{'s hold' if n > 1 else ' holds'} enough items for this adversary"
            return f"{few}, so the limit cannot fail; lower knows"
        return ""

    @property
    def p_met(self) -> float:
        """P-value of "the rate is at least the limit"; small = the limit is kept."""
        return 0.0 if self.always_met else over_looks(self.below, self.shares)

    @property
    def p_exceeded(self) -> float:
        """P-value of "the rate is at most the limit"; small = the limit is exceeded."""
        return 1.0 if self.always_met else over_looks(self.above, self.shares)

    @property
    def is_done(self) -> bool:
        """Whether it was measured, or there is nothing to measure."""
        nothing = self.always_met or self.measured.targets.size == 0 or self.is_undefined
        return nothing or bool(self.below)

    @property
    def is_undefined(self) -> bool:
        """Whether the measure is not defined for this adversary."""
        return self.limit.measure == "unique" and bool(self.measured.not_unique)

    @property
    def ignored(self) -> str:
        """Why a low rate shows nothing: the attack does not use what is known of the items; nothing if it does."""
        if (
            not self.measured.ignored
            or self.limit.measure not in RISK
            or self.limit.measure == "unique"
        ):
            return ""
        return (
            f"{self.measured.words}: {self.label} ignores that the items are {self.measured.ignored}, and an attacker who uses "
            'it may find more people; limit measure = "unique", which uses it'
        )

    @property
    def is_met(self) -> bool:
        """Whether the rate is shown to be below the limit."""
        if self.cannot_fail or self.ignored:
            return False
        enough = self.measured.attacked(self.label) >= self.least
        return self.always_met or (enough and self.p_met <= self.alpha)

    @property
    def is_open(self) -> bool:
        """Whether more targets may change the answer."""
        return not (self.below and self.is_met)

    @property
    def upper(self) -> float:
        """One-sided upper bound of the rate, valid at every look."""
        return min([1.0, *self.uppers]) * self.scale

    @property
    def lower(self) -> float:
        """One-sided lower bound of the rate, valid at every look."""
        return max([0.0, *self.lowers]) * self.scale

    def why(self) -> str:
        """Why the answer is not known."""
        if self.cannot_fail:
            return self.cannot_fail
        if self.ignored:
            return self.ignored
        if not self.below:
            return "not measured"
        alpha = self.alpha * self.shares[len(self.below) - 1]
        need = fewest_to_pass(self.tested_limit, alpha)
        if self.n < need < float("inf"):
            return f"{self.n} targets are too few: with a limit of {percent(self.limit.max)}, at least {need} are needed"
        if self.limit.max <= 0:
            return "no number of targets shows that a rate is 0; use a limit above 0"
        attacked = self.measured.attacked(self.label)
        if attacked < self.least:
            return f"{attacked} targets, and the policy asks for at least {self.least}"
        if self.is_hidden:
            return f"a group of fewer than {self.hidden_below} targets does not decide; attack more"
        return f"between {percent(self.lower, -1)} and {percent(self.upper, 1)}: the targets do not decide; attack more"
