"""`GateRun`: what a policy asks for on this data, measured in batches, and the rows that follow from the counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from standout.adversary.adversary import Adversary
from standout.adversary.seen import seen_through
from standout.attacks.attack import Attack
from standout.attacks.unique import Unique
from standout.audit.audit import Audit
from standout.audit.matching import Match, match
from standout.audit.sweep import default_sweep, fitting
from standout.data.intact import count_again
from standout.data.loading import in_memory
from standout.engines.engine import Engine
from standout.errors import ParameterError
from standout.experiment.progress import Progress as Reporter
from standout.experiment.subject import Data, Protection, source_of
from standout.formulas.exact_tests import fewest_to_pass, look_sizes
from standout.gate import rows
from standout.gate.columns import provenance_of
from standout.gate.groups import SMALLEST_SHARE, Group, groups, too_short
from standout.gate.measure import Progress, attack_batch, prepare
from standout.gate.own import match_rows, of_people, within
from standout.gate.policy import HARM, RISK, Limit, Policy, states_posterior
from standout.gate.question import Question
from standout.gate.selftest import self_test

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

Batch = Callable[
    [Audit, Progress, dict[str, Attack], int, int, bool, Callable[[str, int], None]], None
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
    scopes: list[dict[Adversary, None]]
    """Adversaries of each limit."""
    source: str = "source"
    """Where the knowledge is drawn from: "source", or "release" if the release is attacked as its own source."""
    given: Audit | None = None
    """Source and release as they were given; `job` has the release without the records of nobody."""
    match: Match | None = None
    """How far the release is what its labels and its defense say; None if there is only one dataset."""
    own: GateRun | None = None
    """The attack on the release as its own source."""
    people: list[Progress] = field(default_factory=list)
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
        everyone = list(dict.fromkeys(who for scope in scopes for who in scope))
        wanted = targets if targets is not None else policy.targets
        job = Audit(
            data,
            everyone,
            list(policy.all_attacks),
            wanted,
            seed,
            engine,
            release=release,
            defense=defense,
        )
        for one in (job.source, job.release):
            count_again(one)
        job.check_labels()
        fitted = [dict.fromkeys(fitting(who, data) for who in scope) for scope in scopes]
        place = job.experiment.place
        if place is None:
            return cls(policy, job, fitted)
        seen = match(in_memory(data, "a release"), in_memory(job.release, "a release"), place, seed)
        people = job
        if seen.n_added:
            part = of_people(in_memory(job.release, "a release"), place)
            people = Audit(
                data, everyone, list(policy.all_attacks), wanted, seed, engine, release=part
            )
        return cls(
            policy, people, fitted, given=job, match=seen, own=cls._alone(policy, people, seen)
        )

    @classmethod
    def _alone(cls, policy: Policy, job: Audit, seen: Match) -> GateRun | None:
        """The same questions about the release as its own source; fewer of them where the answer does not decide."""
        limits = tuple(
            x
            for x in policy.limits
            if x.measure not in HARM and (x.by == "none" or not seen.is_shown)
        )
        data = replace(in_memory(job.release, "a release"), origin=None)
        rules = replace(policy, limits=limits, near_duplicates=None)
        try:
            scopes = [
                dict.fromkeys(within(who, data) for who in adversaries_of(x, policy, data))
                for x in limits
            ]
            everyone = list(dict.fromkeys(who for scope in scopes for who in scope))
            targets: int | str = "all" if job.targets is None else job.targets
            if seen.is_shown:
                targets = INFORM if job.targets is None else min(INFORM, job.targets)
            own = Audit(data, everyone, list(policy.all_attacks), targets, job.seed, job.engine)
        except ParameterError:  # what remains in the release is too little for these adversaries
            return None
        return cls(rules, own, scopes, source="release")

    def __post_init__(self) -> None:
        self.attacks: dict[str, Attack] = {
            one.label: one.attack for one in self.job.experiment.attackers
        }
        if any(limit.measure == UNIQUE for limit in self.policy.limits):
            self.attacks[UNIQUE] = Unique()
        made: dict[tuple[Adversary, Group | None], Progress] = {}
        for limit, scope in zip(self.policy.limits, self.scopes, strict=True):
            for who, group in dict.fromkeys(
                pair for one in scope for pair in self._asked(limit, one)
            ):
                if (who, group) not in made:
                    most = None if group is None else self._group_targets(limit.by)
                    made[who, group] = prepare(self.job, who, group, most)
                    made[who, group].source = self.source
                if (
                    limit.by == "none"
                    and group is not None
                    and _says_nothing(limit, made[who, group])
                ):
                    continue
                for a in self._attacks_of(limit, who):
                    self.questions.append(self._question(limit, made[who, group], a))
        self.people = [
            sofar for sofar in made.values() if any(q.sofar is sofar for q in self.questions)
        ]
        self.sizes = [self._sizes(sofar) for sofar in self.people]

    def measure(self, report: Reporter, batch: Batch = attack_batch) -> None:
        """Attack batch after batch; in sequential mode stop where the answer is known."""
        total = (
            sum(s.targets.size for s in self.people)
            * len(self.attacks)
            * (2 if self._absent() else 1)
        )
        done = 0

        def advance(what: str, n: int) -> None:
            nonlocal done
            done += n
            report(what, done, total)

        for look in range(max(map(len, self.sizes))):
            for sofar, sizes in zip(self.people, self.sizes, strict=True):
                if look >= len(sizes):
                    continue
                open_attacks = self._open_attacks(sofar)
                start, stop = ([0, *sizes][look], sizes[look])
                if not open_attacks or stop == 0:
                    continue
                batch(self.job, sofar, open_attacks, start, stop, self._absent(), advance)
                for question in self.questions:
                    asked = question.sofar is sofar and question.label in open_attacks
                    if asked and not (question.below and question.is_met):
                        question.look()
                if self.policy.sequential and self._is_exceeded(sofar):
                    return
        if self.own is not None:
            self.own.measure(report, batch)

    def decide(self) -> tuple[list[rows.Row], list[rows.Row]]:
        """The table and the tests, from the policy, the data and the counts."""
        release = self.job.release
        tested = copies = None
        if self.policy.self_test:
            tested = self_test(
                in_memory(release, "the self-test"), self.attacks, self.job.engine, self.job.seed
            )
        if self.policy.near_duplicates:
            data = in_memory(release, "the search for near-duplicates")
            copies = rows.near_duplicates(data, self.policy, self.job)
        table, tests = rows.table(
            self.policy, self.questions, copies, tested, self.job, self.columns["columns"]
        )
        if self.match is not None:
            table += match_rows(
                self.match, self.own.questions if self.own else [], self.policy.alpha
            )
        elif copies is None and (loaded := release.loaded()) is not None:
            table.append(rows.one_record_each(loaded, self.job))
        return table, tests

    @cached_property
    def columns(self) -> dict[str, Any]:
        """The columns of the release and the hash of all that it holds, for the provenance."""
        return provenance_of((self.given or self.job).release)

    def cells(self) -> list[rows.Row]:
        """Counts per adversary and attack, after each batch; a second run reproduces them."""
        made = list(rows.cells(self.people, self.attacks, self.policy.smallest_group))
        return made + (self.own.cells() if self.own else [])

    def _asked(self, limit: Limit, who: Adversary) -> list[tuple[Adversary, Group | None]]:
        """Adversaries and groups of people that a limit is about: also those who hold fewer items than she knows."""
        seen = seen_through(self.job.source, who)
        if limit.by != "none":
            return [(who, group) for group in groups(limit.by, who, seen)]
        return [(who, None), *(too_short(who, seen) if limit.measure in RISK else ())]

    def _group_targets(self, by: str) -> int | None:
        """Targets of a group: enough to show that a rate well below the strictest limit of groups is below it."""
        limit = min(x.max for x in self.policy.limits if by == "none" or x.by != "none")
        need = max(
            GROUP_TARGETS,
            GROUP_MARGIN * min(fewest_to_pass(limit, self.policy.alpha), MOST_GROUP_TARGETS),
        )
        return int(need if self.job.targets is None else min(need, self.job.targets))

    def _sizes(self, sofar: Progress) -> list[int]:
        """Numbers of targets at which questions about these people are looked at."""
        first = (
            max(self.policy.min_targets, FIRST_LOOK) if sofar.group is None else FIRST_GROUP_LOOK
        )
        return (
            look_sizes(sofar.targets.size, first)
            if self.policy.sequential
            else [sofar.targets.size]
        )

    def _attacks_of(self, limit: Limit, who: Adversary) -> list[str]:
        """Labels of the attacks of this adversary that a limit is about."""
        if limit.measure == UNIQUE:
            return [UNIQUE]
        named = [
            one.label
            for one in self.job.experiment.attackers_for(who)
            if limit.attacks is None or one.attack.name in limit.attacks
        ]
        return (
            [a for a in named if states_posterior(self.attacks[a])]
            if limit.measure == "sure"
            else named
        )

    def _absent(self) -> bool:
        return any(limit.measure == "false-match" for limit in self.policy.limits)

    def _question(self, limit: Limit, sofar: Progress, label: str) -> Question:
        it = self.policy
        # a group that is smaller than the fewest targets of the policy is attacked as a whole
        least = it.min_targets if sofar.group is None else min(it.min_targets, sofar.targets.size)
        return Question(
            limit, sofar, label, it.alpha, max(1, len(self._sizes(sofar))), least, it.smallest_group
        )

    def _open_attacks(self, sofar: Progress) -> dict[str, Attack]:
        """Attacks that some open question about these people needs."""
        wanted = {
            q.label for q in self.questions if q.sofar is sofar and (not q.below or not q.is_met)
        }
        return {
            a: one
            for a, one in self.attacks.items()
            if a in wanted and not (a == UNIQUE and sofar.not_unique)
        }

    def _is_exceeded(self, sofar: Progress) -> bool:
        """Whether a limit is exceeded, all planned questions considered (the first step of Holm's procedure)."""
        n = len(self.questions) + (self.policy.near_duplicates is not None)
        return any(
            q.p_exceeded * n <= self.policy.alpha for q in self.questions if q.sofar is sofar
        )


def _says_nothing(limit: Limit, short: Progress) -> bool:
    """Whether those with short records are too few to be tested alone, or to exceed a limit on the share of all people."""
    return short.share < SMALLEST_SHARE or (limit.of == "all" and short.share <= limit.max)


def adversaries_of(limit: Limit, policy: Policy, data: Any) -> list[Adversary]:
    """The adversaries that a limit is about."""
    if isinstance(limit.adversaries, str):
        return default_sweep(data, limit.adversaries)
    return [_fitting(name, policy.adversaries[name], data) for name in limit.adversaries]


def _fitting(name: str, who: Adversary, data: Any) -> Adversary:
    """The adversary without knowledge that the data does not have: nobody can know values of data without values."""
    told = who
    if not data.has_value:
        told = replace(told, value_within=None, gamma=None)
    if not data.has_time:
        told = replace(told, time_within=None)
    if told.wrong and told.value_within is None and told.gamma is None and told.time_within is None:
        told = replace(told, wrong_kind="item")
    try:
        return fitting(told, data)
    except ParameterError as error:
        raise ParameterError(
            f'policy: [adversary.{name}] does not fit the data: {error} (in the policy, None is written "none")'
        ) from None
