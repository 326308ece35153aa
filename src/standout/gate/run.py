"""`GateRun`: what a policy asks for on this data, measured in batches, and the rows that follow from the counts."""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.unique import Unique
from standout.audit.audit import Audit
from standout.audit.matching import Match, match
from standout.data.dataset import Dataset
from standout.data.intact import count_again
from standout.data.loading import in_memory
from standout.engines.engine import Engine
from standout.errors import ParameterError
from standout.experiment.progress import Progress
from standout.experiment.subject import Data, Protection, describe_data, source_of
from standout.formulas.exact_tests import fewest_to_pass, look_sizes
from standout.gate import rows
from standout.gate.columns import provenance_of
from standout.gate.groups import SMALLEST_SHARE, Group, groups, too_short
from standout.gate.measure import Measurement, Question, attack_batch, prepare
from standout.gate.policy import HARM, RISK, Limit, Policy, states_posterior
from standout.gate.scopes import adversaries_of, known_channels, not_measured
from standout.gate.selftest import self_test
from standout.versions import version_of

FIRST_LOOK = 125
"""Targets at the first look of the sequential mode."""
FIRST_GROUP_LOOK = 40
"""The same, of a group."""
GROUP_TARGETS, MOST_GROUP_TARGETS = 250, 1000
"""Targets of a group: at least, and at most times the margin."""
INFORM = 250
"""Targets of the attack on the release as its own source where it only informs."""
GROUP_MARGIN = 8
"""A group has this many times the targets that are needed to pass without a single hit."""

UNIQUE = "unique"
"""Label of the search for people who are unique. It is no attack of the policy."""

PACKAGES = ("standout", "numpy", "numba", "scipy", "duckdb")

Batch = Callable[
    [Audit, Measurement, Mapping[str, Attack], int, bool, Callable[[str, int], None]], None
]
"""Measures one batch, as `attack_batch` does."""


@dataclass(eq=False, repr=False)
class GateRun:
    """What a policy asks for on this data: adversaries and attacks, in batches, until everything is known.

    `check` measures each batch. `verify` does the same, or takes the counts of a batch from
    evidence. Everything else is a function of policy, data and counts, and is the same code for
    both.
    """

    policy: Policy
    job: Audit
    scopes: list[list[Adversary]]
    """Adversaries of each limit."""
    source: str = "source"
    """Where the knowledge is drawn from: "source", or "release" if the release is attacked as its own source."""
    given: Audit | None = None
    """Source and release as they were given; `job` has the release without the records of nobody."""
    match: Match | None = None
    """How far the release is what its labels and its defense say; None if there is only one dataset."""
    own: GateRun | None = None
    """The attack on the release as its own source."""
    people: list[Measurement] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        source: Data,
        policy: Policy,
        *,
        release: Data | None = None,
        defense: Protection | None = None,
        targets: int | str | None = None,
        seed: int = 0,
        engine: str | Engine = "memory",
    ) -> GateRun:
        """What a policy asks for; the parameters are those of `check`."""
        data = source_of(source)
        if release is None and defense is None and data.source is not None:
            data, release = data.source, data
        scopes = [adversaries_of(limit, policy, data) for limit in policy.limits]
        wanted = policy.targets if targets is None else targets
        attacks = list(policy.all_attacks)
        everyone = [who for scope in scopes for who in scope]
        audit = partial(Audit, data, everyone, attacks, wanted, seed, engine)
        job = people = audit(release=release, defense=defense)
        for one in (job.source, job.release):
            count_again(one)
        job.check_labels()
        place = job.experiment.place
        if place is None:
            return cls(policy, job, scopes)
        released = in_memory(job.release, "a release")
        seen = match(in_memory(data, "a release"), released, place, seed)
        if seen.n_added:
            people = audit(release=_of_people(released, place))
        own = cls._as_own_source(policy, people, seen)
        return cls(policy, people, scopes, given=job, match=seen, own=own)

    @classmethod
    def _as_own_source(cls, policy: Policy, job: Audit, seen: Match) -> GateRun | None:
        """The same questions about the release as its own source; fewer of them where the answer does not decide."""
        limits = tuple(
            x
            for x in policy.limits
            if x.measure not in HARM and (x.by == "none" or not seen.is_shown)
        )
        data = replace(in_memory(job.release, "a release"), origin=None)
        targets: int | str = "all" if job.targets is None else job.targets
        if seen.is_shown:
            targets = INFORM if job.targets is None else min(INFORM, job.targets)
        try:
            scopes = [
                [_with_fewer_facts(who, data) for who in adversaries_of(x, policy, data)]
                for x in limits
            ]
            attacks = list(policy.all_attacks)
            everyone = [who for scope in scopes for who in scope]
            own = Audit(data, everyone, attacks, targets, job.seed, job.engine)
        except ParameterError:  # what remains in the release is too little for these adversaries
            return None
        rules = replace(policy, limits=limits, near_duplicates=None)
        return cls(rules, own, scopes, source="release")

    def __post_init__(self) -> None:
        attackers = self.job.experiment.attackers
        self.attacks: dict[str, Attack] = {one.label: one.attack for one in attackers}
        if any(limit.measure == UNIQUE for limit in self.policy.limits):
            self.attacks[UNIQUE] = Unique()
        self.absent = any(limit.measure == "false-match" for limit in self.policy.limits)
        made: dict[tuple[Adversary, Group | None], Measurement] = {}
        for limit, scope in zip(self.policy.limits, self.scopes, strict=True):
            for who, group in dict.fromkeys(
                pair for one in scope for pair in self._asked(limit, one)
            ):
                if (who, group) not in made:
                    most = self._group_targets(limit.by) if group else None
                    made[who, group] = prepare(self.job, who, group, most)
                    made[who, group].source = self.source
                measured = made[who, group]
                if limit.by == "none" and group and _says_nothing(limit, measured):
                    continue
                self.questions += [
                    self._question(limit, measured, a) for a in self._attacks_of(limit, who)
                ]
        asked = [id(q.measured) for q in self.questions]
        self.people = [one for one in made.values() if id(one) in asked]

    def measure(self, report: Progress, batch: Batch = attack_batch) -> None:
        """Attack batch after batch; in sequential mode stop where the answer is known."""
        n_targets = sum(one.targets.size for one in self.people)
        total = n_targets * len(self.attacks) * (2 if self.absent else 1)
        done = 0

        def advance(what: str, n: int) -> None:
            nonlocal done
            done += n
            report(what, done, total)

        for look in range(max(len(self._looks(one)) for one in self.people)):
            for measured in self.people:
                looks = self._looks(measured)
                stop = looks[look] if look < len(looks) else 0
                questions = [q for q in self.questions if q.measured is measured]
                attacks = self._open_attacks(measured, questions)
                if not attacks or not stop:
                    continue
                batch(self.job, measured, attacks, stop, self.absent, advance)
                for question in questions:
                    if question.label in attacks and question.is_open:
                        question.look()
                if self.policy.sequential and self._is_exceeded(questions):
                    return
        if self.own is not None:
            self.own.measure(report, batch)

    def decide(self) -> tuple[list[rows.Row], list[rows.Row]]:
        """The table and the tests, from the policy, the data and the counts."""
        job, policy = self.job, self.policy
        tested = copies = None
        if policy.self_test:
            data = in_memory(job.release, "the self-test")
            tested = self_test(data, self.attacks, job.engine, job.seed)
        if policy.near_duplicates:
            data = in_memory(job.release, "the search for near-duplicates")
            similarity = policy.near_duplicates.similarity
            copies = rows.near_duplicates(data, job.targets, similarity, job.seed)
        columns = self.columns["columns"]
        table, tests = rows.table(policy, self.questions, copies, tested, job, columns)
        if self.match is not None:
            own = self.own.questions if self.own else []
            table += rows.match_rows(self.match, own, policy.alpha)
        elif copies is None and (loaded := job.release.loaded()) is not None:
            table.append(rows.one_record_each(loaded, job))
        return table, tests

    def cells(self) -> list[rows.Row]:
        """Counts per adversary and attack, after each batch; a second run reproduces them."""
        made = list(rows.cells(self.people, self.attacks, self.policy.smallest_group))
        return made + (self.own.cells() if self.own else [])

    @cached_property
    def _known(self) -> set[str]:
        """Names of the channels that an adversary of a limit on risk knows."""
        return known_channels(self.policy, self.job.source, self.scopes)

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of the release and the hash of all that it holds."""
        return provenance_of((self.given or self.job).release, self._known)

    def provenance(self, seconds: float = 0.0) -> dict[str, Any]:
        """What the verdict was made of, as plain data: counts, hashes, names of columns, seed and versions."""
        job = self.given or self.job
        shape = describe_data(job.release)
        versions = {name: version_of(name) for name in PACKAGES}
        made: dict[str, Any] = {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "data_sha256": job.release.fingerprint,
            "data": {name: shape[name] for name in ("n_records", "n_items", "n_entries")},
            "not_measured": [
                *job.source.not_measured,
                *not_measured(job.release, self._known),
            ],
            "policy_sha256": self.policy.sha256,
            "seed": job.seed,
            "targets": "all" if job.targets is None else job.targets,
            "engine": job.engine.name,
            "wall_seconds": round(seconds, 3),
            "versions": {"python": platform.python_version(), **versions},
            "platform": f"{sys.platform} {platform.machine()}",
        }
        if job.experiment.place is not None:
            made["source_sha256"] = job.source.fingerprint
        made |= self.columns
        if (defense := job.defense or job.release.defense) is not None:
            made["defense"] = str(getattr(defense, "name", type(defense).__name__))
        return made

    def _asked(self, limit: Limit, who: Adversary) -> list[tuple[Adversary, Group | None]]:
        """Adversaries and groups of people that a limit is about: also those who hold fewer items than she knows."""
        seen = seen_through(self.job.source, who)
        if limit.by != "none":
            return [(who, group) for group in groups(limit.by, who, seen)]
        return [(who, None), *(too_short(who, seen) if limit.measure in RISK else ())]

    def _group_targets(self, by: str) -> int:
        """Targets of a group: enough to show that a rate well below the strictest limit of groups is below it."""
        limit = min(x.max for x in self.policy.limits if by == "none" or x.by != "none")
        need = min(fewest_to_pass(limit, self.policy.alpha), MOST_GROUP_TARGETS)
        most = int(max(GROUP_TARGETS, GROUP_MARGIN * need))
        return most if self.job.targets is None else min(most, self.job.targets)

    def _looks(self, measured: Measurement) -> list[int]:
        """Numbers of targets at which questions about these people are looked at."""
        n = measured.targets.size
        first = FIRST_GROUP_LOOK if measured.group else max(self.policy.min_targets, FIRST_LOOK)
        return look_sizes(n, first) if self.policy.sequential else [n]

    def _attacks_of(self, limit: Limit, who: Adversary) -> list[str]:
        """Labels of the attacks of this adversary that a limit is about."""
        if limit.measure == UNIQUE:
            return [UNIQUE]
        return [
            one.label
            for one in self.job.experiment.attackers_for(who)
            if (limit.attacks is None or one.attack.name in limit.attacks)
            and (limit.measure != "sure" or states_posterior(one.attack))
        ]

    def _question(self, limit: Limit, measured: Measurement, label: str) -> Question:
        policy, n_looks = self.policy, max(1, len(self._looks(measured)))
        # a group that is smaller than the fewest targets of the policy is attacked as a whole
        most = measured.targets.size if measured.group else policy.min_targets
        least = min(policy.min_targets, most)
        return Question(limit, measured, label, policy.alpha, n_looks, least, policy.smallest_group)

    def _open_attacks(self, measured: Measurement, questions: list[Question]) -> dict[str, Attack]:
        """Attacks that some open question about these people needs."""
        needed = {q.label for q in questions if q.is_open}
        if measured.not_unique:
            needed.discard(UNIQUE)
        return {label: one for label, one in self.attacks.items() if label in needed}

    def _is_exceeded(self, questions: list[Question]) -> bool:
        """Whether a limit is exceeded, all planned questions considered (the first step of Holm's procedure)."""
        n = len(self.questions) + (self.policy.near_duplicates is not None)
        return any(q.p_exceeded * n <= self.policy.alpha for q in questions)


def _of_people(release: Dataset, place: Array) -> Dataset:
    """The release without the records that belong to nobody in the source.

    Copies of a person's record and invented people must not hide anybody: finding a copy is finding
    the person.
    """
    part = release.take(np.sort(place[place >= 0]), drop_empty=False)
    return replace(part, origin=release.origin)


def _with_fewer_facts(who: Adversary, data: Dataset) -> Adversary:
    """The adversary with no more facts than half of the records of a release hold."""
    typical = max(1, int(np.median(seen_through(data, who).lengths)))
    return who if who.knows <= typical else replace(who, knows=typical, wrong=0)


def _says_nothing(limit: Limit, short: Measurement) -> bool:
    """Whether those with short records are too few to be tested alone, or to exceed a limit on the share of all people."""
    return short.share < SMALLEST_SHARE or (limit.of == "all" and short.share <= limit.max)
