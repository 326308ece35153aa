"""`Attack` (score + criterion), its `run` method, and the registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.queries import bound, one_per_query, query_batches
from standout.attacks.running import Run, run_both
from standout.attacks.verdicts import Outcome, Verdicts
from standout.data.catalog import Catalog
from standout.engines.engine import Engine, engine
from standout.errors import ParameterError, unknown_name
from standout.scoring.partials import LOWEST
from standout.scoring.plan import Plan
from standout.scoring.tasks import AllScores, Score, ScoreRecord

RULES = ("own", "spacing")
"""Decision rules that every attack offers."""


class Attack(ABC):
    """One way to rank the records of a release by what is known, and to decide whether to name one.

    A subclass defines `compile` and `decide`. Options are keyword arguments of the constructor.
    `with_rule` replaces the attack's own decision rule.
    """

    name: ClassVar[str] = ""
    lineup: ClassVar[bool] = True
    """Whether the attack gives a distribution over the records."""
    needs_lineup: ClassVar[bool] = False
    """Whether the decision needs that distribution."""
    all_channels: ClassVar[bool] = False
    """Whether the attack reads every level channel that is known; else it reads the value, or the first of them."""
    alone: ClassVar[bool] = False
    """Whether queries that exclude different records need separate plans, because the factor of every record changes."""
    rule: str = "own"
    """How to decide: "own" (the attack's `decide`) or "spacing" (the spacing test at `level`)."""
    level: float = 0.05
    """For the rule "spacing": largest p-value at which the best record is named."""

    @abstractmethod
    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Turn the facts of a batch of queries into tables; `exclude` is one record per query, -1 = none."""

    @abstractmethod
    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Return (statistic, matched) per query: the statistic of the criterion, and whether the best record is named."""

    def known_beta(self, plan: Plan) -> Array | None:
        """Sharpness of the lineup if it does not depend on the scores: the lineup is then computed while scoring."""
        return None

    def beta(self, seen: Outcome) -> Array | None:
        """Sharpness of the lineup Π(r) ∝ exp(beta · score) in integer score units; None = uniform over the matching set."""
        return self.known_beta(seen.plan)

    def review(
        self, dataset: Catalog, facts: Facts, verdicts: Verdicts, watch: Array, exclude: Array
    ) -> Verdicts:
        """Return the verdicts, or others after a look at the best records; the parameters are those of `run`."""
        return verdicts

    def posterior(self, seen: Outcome) -> Array:
        """P(the best record is the target) per query, absence allowed for; NaN for attacks without a model."""
        return np.full(seen.plan.n_queries, np.nan)

    def absent(self, seen: Outcome) -> Array:
        """P(target not in the release) per query, NaN for attacks without a model."""
        return np.full(seen.plan.n_queries, np.nan)

    def presence_error(self, seen: Outcome) -> Array:
        """Standard error of logit P(present) per query, from the calibration; 0 for attacks that are not calibrated."""
        return np.zeros(seen.plan.n_queries)

    def options(self) -> dict[str, Any]:
        """Options as plain data, stored with results; `attack(name, **options)` makes an equal attack."""
        own = {
            k: v
            for k, v in vars(self).items()
            if not k.startswith("_") and k not in ("rule", "level")
        }
        return {**own, **self.rule_options()}

    def rule_options(self) -> dict[str, Any]:
        """Options of the decision rule, if it is not the attack's own."""
        return {} if self.rule == "own" else {"decide": self.rule, "level": self.level}

    def with_rule(self, decide: str, level: float = 0.05) -> Self:
        """Return a copy that decides by another rule.

        Parameters
        ----------
        decide
            "own": as the attack does. "spacing": name the best record iff the spacing test gives p
            ≤ `level`.
        level
            Probability of naming a record although the target is absent, for "spacing".
        """
        if decide not in RULES:
            raise ParameterError(f"decide={decide!r}: use {' or '.join(repr(r) for r in RULES)}")
        if not isinstance(level, int | float) or not 0 < level < 1:
            raise ParameterError(f"level={level!r}: use a number between 0 and 1")
        changed = copy(self)
        changed.rule, changed.level = decide, level
        return changed

    def fit(self, dataset: Catalog, knowledge: Knowledge | Facts, exclude: Any = None) -> Attack:
        """Return the attack with parameters fitted to the whole knowledge; attacks without such parameters return themselves.

        Parameters
        ----------
        dataset, knowledge
            The release, and what is known.
        exclude
            One record index per query, -1 = none: that query is fitted as if the record were not in
            the data.
        """
        return self

    def scores(
        self,
        dataset: Catalog,
        knowledge: Knowledge,
        engine_: str | Engine = "memory",
        exclude: Any = None,
    ) -> Array:
        """Scores of all records for all queries, by the production kernel; for small data. -inf for non-candidates."""
        dataset, facts = bound(dataset, knowledge, self.all_channels)
        rows = []
        absent = one_per_query(exclude, facts, "exclude", dataset)
        fitted = self.fit(dataset, facts, absent)
        machine = engine(engine_, dataset)
        for part, gone in query_batches(dataset, facts, absent, self.alone, machine):
            plan = fitted.compile(dataset, part, gone)
            whole = machine.map(
                AllScores(_uncapped(plan), dataset.n_records), dataset.all_shards
            ).score
            rows.append(np.where(whole == LOWEST, -np.inf, plan.score(whole.T).T))
        return np.concatenate(rows)

    def scores_of(
        self, dataset: Catalog, knowledge: Knowledge, records: Any, engine_: str | Engine = "memory"
    ) -> Array:
        """Scores (queries, records) of these records alone, as in `scores`, without the scores of all others."""
        dataset, facts = bound(dataset, knowledge, self.all_channels)
        nobody = facts.nobody
        fitted, machine = self.fit(dataset, facts, nobody), engine(engine_, dataset)
        chosen = np.asarray(records, np.int64).reshape(-1)
        if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= dataset.n_records:
            raise ParameterError(
                f"records: give at least one record index, from 0 to {dataset.n_records - 1}"
            )
        rows = []
        for part, gone in query_batches(dataset, facts, nobody, False, machine):
            plan = fitted.compile(dataset, part, gone)
            bare = _uncapped(plan)
            tasks = [ScoreRecord(bare, np.full(part.n_queries, r)) for r in chosen]
            whole = np.array([machine.map(task, dataset.all_shards).score for task in tasks]).T
            rows.append(np.where(whole == LOWEST, -np.inf, plan.score(whole.T).T))
        return np.concatenate(rows)

    def top(
        self, dataset: Catalog, knowledge: Knowledge, k: int, engine_: str | Engine = "memory"
    ) -> Array:
        """Record indices (queries, k) of the k best records, in the order of `Verdicts.best`; -1 = no candidate left."""
        return self.top_scores(dataset, knowledge, k, engine_)[0]

    def top_scores(
        self,
        dataset: Catalog,
        knowledge: Knowledge,
        k: int,
        engine_: str | Engine = "memory",
        exclude: Any = None,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[Array, Array]:
        """Record indices and scores (queries, k) of the k best records, descending; -1 and NaN = no candidate left."""
        dataset, facts = bound(dataset, knowledge, self.all_channels)
        gone = one_per_query(exclude, facts, "exclude", dataset)
        fitted, machine = self.fit(dataset, facts, gone), engine(engine_, dataset)
        records, scores = [], []
        for part, absent in query_batches(dataset, facts, gone, self.alone, machine):
            plan = fitted.compile(dataset, part, absent)
            found = machine.map(Score(plan, k=k), dataset.all_shards)
            records.append(found.top[:, :k])
            score = plan.score(found.top_score[:, :k].T).T
            scores.append(np.where(records[-1] >= 0, score, np.nan))
            if progress:
                progress(part.n_queries)
        return np.concatenate(records), np.concatenate(scores)

    def run(
        self,
        dataset: Catalog,
        knowledge: Knowledge,
        engine: str | Engine = "memory",
        exclude: Any = None,
        watch: Any = None,
        lineup: bool = True,
        progress: Callable[[int], None] | None = None,
        spacing: bool = False,
    ) -> Verdicts:
        """Attack every query.

        Parameters
        ----------
        dataset, knowledge
            The release, and what is known.
        engine
            Name of an engine, or an engine.
        exclude
            One record index per query, -1 = none: that query is answered as if the record were not
            in the data.
        watch
            One record index per query, -1 = none: `rank` and `bits` of that record are reported.
            The decision does not depend on it.
        lineup
            Whether to compute the distribution over the records (`share`, `bits`) if the decision
            does not need it.
        progress
            Called with the number of queries done after each batch.
        spacing
            Whether to report the p-value of the spacing test if the decision does not need it.
        """
        dataset, facts = bound(dataset, knowledge, self.all_channels)
        gone = one_per_query(exclude, facts, "exclude", dataset)
        seen = one_per_query(watch, facts, "watch", dataset)
        fitted = self.fit(dataset, facts, gone)
        parts = []
        done = 0
        machine = _engine(engine, dataset)
        for part, absent in query_batches(dataset, facts, gone, self.alone, machine):
            run = Run(fitted, dataset, machine, spacing)
            plan = fitted.compile(dataset, part, absent)
            parts.append(run.verdicts(plan, seen[done : done + part.n_queries], lineup))
            done += part.n_queries
            if progress:
                progress(part.n_queries)
        return self.review(dataset, facts, Verdicts.concatenate(parts), seen, gone)

    def run_both(
        self,
        dataset: Catalog,
        knowledge: Knowledge,
        targets: Any,
        engine: str | Engine = "memory",
        progress: Callable[[int], None] | None = None,
    ) -> tuple[Verdicts, Verdicts]:
        """Attack every query twice: with its target in the release, and as if the target were not there.

        The same answers as `run(watch=targets)` and `run(exclude=targets, lineup=False)`. If the
        target's absence changes no other record's score, all records are scored once for both.

        Parameters
        ----------
        dataset, knowledge, engine
            As in `run`.
        targets
            One record index per query, -1 = not in the release.
        progress
            Called with the number of queries answered after each batch: two for each target.
        """
        release = dataset
        dataset, facts = bound(release, knowledge, self.all_channels)
        gone = one_per_query(targets, facts, "targets", dataset)
        # an attack with a `run` of its own is asked twice; `run` applies the view to the release
        if self.alone or type(self).run is not Attack.run:
            return (
                self.run(release, knowledge, engine, watch=gone, progress=progress),
                self.run(release, knowledge, engine, exclude=gone, lineup=False, progress=progress),
            )
        nobody = np.full(gone.size, -1, np.int64)
        machine, parts = _engine(engine, dataset), []
        here, away = (
            Run(self.fit(dataset, facts, who), dataset, machine) for who in (nobody, gone)
        )
        for part, absent in query_batches(dataset, facts, gone, False, machine):
            present = here.attack.compile(dataset, part, nobody[: absent.size])
            parts.append(
                run_both(here, away, present, away.attack.compile(dataset, part, absent), absent)
            )
            if progress:
                progress(2 * part.n_queries)
        with_target, without = zip(*parts, strict=True)
        answers = Verdicts.concatenate(list(with_target)), Verdicts.concatenate(list(without))
        return (
            self.review(dataset, facts, answers[0], gone, nobody),
            self.review(dataset, facts, answers[1], nobody, gone),
        )

    def __repr__(self) -> str:
        options = ", ".join(f"{k}={v!r}" for k, v in self.options().items())
        return f"<attack {self.name}{': ' + options if options else ''}>"


_engine = engine


def _uncapped(plan: Plan) -> Plan:
    """Plan without the cap that makes a matching set tie."""
    return plan.replace_tables(cap=np.full(plan.n_queries, 2**31, np.int64))


_REGISTRY: dict[str, Callable[..., Attack]] = {}
_BUILT_IN = {
    "scoreboard": "scoreboard",
    "scoreboard-rh": "scoreboard",
    "set-intersection": "frankowski",
    "tf-idf": "frankowski",
    "scoring": "frankowski",
    "exact-rating": "frankowski",
    "fuzzy-rating": "frankowski",
    "generic": "datta",
    "weighted": "datta",
    "unicity": "unicity",
    "likelihood": "likelihood",
}

A = TypeVar("A", bound=type[Attack])


def register_attack(name: str) -> Callable[[A], A]:
    """Class decorator that registers an attack under `name`."""

    def add(cls: A) -> A:
        cls.name = name
        _REGISTRY[name] = cls
        return cls

    return add


register = register_attack
"""The earlier name of `register_attack`."""


def attack_names() -> list[str]:
    """Names of all attacks, built-in ones first."""
    return [*_BUILT_IN, *(n for n in _REGISTRY if n not in _BUILT_IN)]


def attack(name: str, *, decide: str = "own", level: float = 0.05, **options: Any) -> Attack:
    """Make the attack of that name.

    Parameters
    ----------
    name
        One of `attack_names()`.
    decide
        Decision rule: "own" (as the attack does), or "spacing" (name the best record iff the
        spacing test gives p ≤ `level`).
    level
        Largest p-value of the spacing test at which the best record is named.
    options
        Options of the attack.
    """
    if not isinstance(name, str):
        raise ParameterError(
            f"attack: use one of {', '.join(attack_names())}, not a {type(name).__name__}"
        )
    if name not in _REGISTRY and name in _BUILT_IN:
        from importlib import import_module

        import_module(f"standout.attacks.{_BUILT_IN[name]}")
    if name not in _REGISTRY:
        raise unknown_name("attack", name, attack_names())
    try:
        made = _REGISTRY[name](**options)
    except TypeError as error:
        raise ParameterError(f"attack {name!r}: {error}") from None
    return made if decide == "own" else made.with_rule(decide, level)
