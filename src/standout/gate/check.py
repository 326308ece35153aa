"""`check`: measure what the policy limits, until every limit is shown to be kept or one is shown to be exceeded."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from standout.adversary.adversary import Adversary
from standout.attacks.attack import Attack
from standout.audit.audit import Audit
from standout.audit.progress import Progress as Reporter
from standout.audit.progress import reporting
from standout.audit.subject import source_of
from standout.audit.sweep import default_sweep, fitting
from standout.data.dataset import in_memory
from standout.engines.engine import Engine
from standout.errors import ParameterError
from standout.formulas.exact_tests import look_sizes
from standout.gate import rows
from standout.gate.measure import Progress, attack_batch, prepare
from standout.gate.policy import Limit, Policy
from standout.gate.provenance import provenance
from standout.gate.question import MOST_GROUPS, Group, Question, groups
from standout.gate.selftest import self_test
from standout.gate.verdict import Verdict, overall

FIRST_LOOK = 125
"""Targets at the first look of the sequential mode."""


def check(source: Any, policy: Any, *, release: Any = None, defense: Any = None, targets: int | str | None = None,
          seed: int = 0, engine: str | Engine = "memory", progress: Reporter | bool | None = None) -> Verdict:  # fmt: skip
    """Decide whether a release keeps a policy.

    The verdict is "pass" if every rate that the policy limits is shown to be below its limit, "fail" if one is shown to be
    above it, and "unclear" otherwise. Each of the two statements is wrong with a probability of at most 1 - confidence.

    Parameters
    ----------
    source
        The true data of the people: a `Dataset`, or a frame whose columns can be guessed. A dataset that a defense made is
        taken as the release, and its source as the source.
    policy
        Path of a TOML file, a dict with the same keys, or a `Policy`.
    release
        What is published, if it differs from the source. Records are matched by label.
    defense
        What makes the release: an object with `apply(source, seed)`; called when no release is given.
    targets
        Number of records to attack per adversary, or "all", in place of the policy's.
    seed
        Random seed.
    engine
        Name of an engine, or an engine.
    progress
        True for a bar on standard error, False for none, None for a bar if standard error is a terminal, or a function that
        is called with (what, queries done, queries in all).
    """
    began = time.perf_counter()
    rules = Policy.of(policy)
    data = source_of(source)
    if release is None and defense is None and data.source is not None:
        data, release = data.source, data
    scopes = [adversaries_of(limit, rules, data) for limit in rules.limits]
    everyone = list(dict.fromkeys(who for scope in scopes for who in scope))
    wanted = targets if targets is not None else rules.targets
    job = Audit(data, everyone, list(rules.all_attacks), wanted, seed, engine, release=release, defense=defense)
    job.check_labels()
    run = _Run(rules, job, [dict.fromkeys(fitting(who, data) for who in scope) for scope in scopes])
    with reporting(progress) as report:
        run.measure(report)
    tested = (
        self_test(in_memory(job.release, "the self-test"), run.attacks, job.engine, job.seed)
        if rules.self_test
        else None
    )
    copies = (
        rows.near_duplicates(in_memory(job.release, "the search for near-duplicates"), rules, job)
        if rules.near_duplicates
        else None
    )
    table, tests = rows.table(rules, run.questions, run.planned, run.n_planned, copies, tested, job)
    return Verdict(
        verdict=overall([row["verdict"] for row in table]),
        table=tuple(table),
        tests=tuple(tests),
        cells=tuple(rows.cells(run.people, run.attacks, job.source)),
        policy=rules.given,
        provenance=provenance(job, rules, time.perf_counter() - began),
    )


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


@dataclass(eq=False, repr=False)
class _Run:
    """The measurement: adversaries and attacks, in batches, until everything is known."""

    policy: Policy
    job: Audit
    scopes: list[dict[Adversary, None]]
    """Adversaries of each limit."""
    people: list[Progress] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.attacks: dict[str, Attack] = dict(zip(self.job._labels(), self.job.attacks, strict=True))
        self.people = [prepare(self.job, who) for who in dict.fromkeys(self.job.adversaries)]
        self.sizes = [self._sizes(sofar.targets.size) for sofar in self.people]
        asked = [(limit, who, a) for limit, scope in self._limits() for who in scope for a in self._attacks_of(limit)]
        self.planned = {limit.name: {(w, a) for x, w, a in asked if x is limit} for limit in self.policy.limits}
        self.n_planned = sum(1 if limit.by == "none" else MOST_GROUPS for limit, _, _ in asked)
        if self.policy.near_duplicates:
            self.n_planned += 1
        # nobody to attack: the question stays open, or is settled because nobody is eligible
        for limit, who, a in asked:
            sofar = next(x for x in self.people if x.who == who)
            if sofar.targets.size == 0:
                self.questions.append(self._question(limit, sofar, a, None, 1))

    def measure(self, report: Reporter) -> None:
        """Attack batch after batch; in sequential mode stop where the answer is known."""
        total = sum(s.targets.size for s in self.people) * len(self.attacks) * (2 if self._absent() else 1)
        done = 0

        def advance(what: str, n: int) -> None:
            nonlocal done
            done += n
            report(what, done, total)

        for look in range(max(map(len, self.sizes))):
            for sofar, sizes in zip(self.people, self.sizes, strict=True):
                if look >= len(sizes):
                    continue
                open_attacks = self._open_attacks(sofar, look)
                start, stop = ([0, *sizes][look], sizes[look])
                if not open_attacks or stop == 0:
                    continue
                attack_batch(self.job, sofar, open_attacks, start, stop, self._absent(), advance)
                if look == 0:
                    self._ask(sofar, len(sizes))
                for question in self.questions:
                    asked = question.sofar is sofar and question.label in open_attacks
                    if asked and not (question.below and question.is_met):
                        question.look(sofar.done[question.label])
                if self.policy.sequential and self._is_exceeded(sofar):
                    return

    def _sizes(self, n: int) -> list[int]:
        """Numbers of targets at which this adversary's questions are looked at."""
        first = max(self.policy.min_targets, FIRST_LOOK)
        return look_sizes(n, first) if self.policy.sequential else [n]

    def _limits(self) -> Iterator[tuple[Limit, dict[Adversary, None]]]:
        return zip(self.policy.limits, self.scopes, strict=True)

    def _attacks_of(self, limit: Limit) -> list[str]:
        """Labels of the attacks that a limit is about."""
        return [a for a, one in self.attacks.items() if limit.attacks is None or one.name in limit.attacks]

    def _absent(self) -> bool:
        return any(limit.measure == "false-match" for limit in self.policy.limits)

    def _ask(self, sofar: Progress, n_looks: int) -> None:
        """Make the questions about an adversary; groups are cut by the targets of the first batch."""
        for limit, scope in self._limits():
            if sofar.who not in scope:
                continue
            for group in groups(limit.by, sofar):
                for a in self._attacks_of(limit):
                    self.questions.append(self._question(limit, sofar, a, group, n_looks))

    def _question(self, limit: Limit, sofar: Progress, label: str, group: Group | None, n_looks: int) -> Question:
        it = self.policy
        return Question(limit, sofar, label, group, it.alpha, n_looks, it.min_targets, it.smallest_group)

    def _open_attacks(self, sofar: Progress, look: int) -> dict[str, Attack]:
        """Attacks that some open question about this adversary needs."""
        if look == 0:
            wanted = {a for limit, scope in self._limits() if sofar.who in scope for a in self._attacks_of(limit)}
        else:
            wanted = {q.label for q in self.questions if q.sofar is sofar and not q.is_met}
        return {a: one for a, one in self.attacks.items() if a in wanted}

    def _is_exceeded(self, sofar: Progress) -> bool:
        """Whether a limit is exceeded, all planned questions considered (the first step of Holm's procedure)."""
        return any(q.p_exceeded * self.n_planned <= self.policy.alpha for q in self.questions if q.sofar is sofar)
