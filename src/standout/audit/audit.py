"""`Audit`: sample targets, draw each adversary's knowledge, run each attack, evaluate the answers."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.eligible import none_eligible
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.audit import notes
from standout.audit.attribute_classes import attribute_classes
from standout.audit.defaults import ATTACKS, MOST_TO_DESCRIBE, TARGETS
from standout.audit.domain import beside_sweep, choose_domain
from standout.audit.findings import (
    SCHEMA_VERSION,
    AdversaryEntry,
    AdversaryResult,
    Findings,
    Uncertainty,
)
from standout.audit.judge import AttackResult, AttackUsed, judge
from standout.audit.known import not_known
from standout.audit.measures import hits_of
from standout.audit.related import relation
from standout.audit.same_labels import other_labels
from standout.audit.strongest import Strongest, strongest
from standout.audit.sweep import default_sweep, fitting
from standout.data.catalog import Catalog
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.engines.engine import Engine
from standout.errors import EligibilityError, InputError, ParameterError
from standout.experiment.attackers import MODEL, awareness
from standout.experiment.experiment import Experiment
from standout.experiment.journal import Journal
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import (
    Data,
    DataShape,
    Protection,
    describe_data,
    target_number,
)
from standout.results import from_plain, to_plain
from standout.versions import version_of
from standout.views.view import view_of


class Audit:
    """Measure how many people are found in a release, by which attacks, with how much knowledge.

    Knowledge is drawn from the source; attacks run on the release. Without a release the source
    itself is attacked.

    Parameters
    ----------
    source
        The true data of the people: a `Dataset`, or a pandas, polars or pyarrow frame whose columns
        can be guessed.
    adversaries
        What is known of a target: one `Adversary` or several. Default: the sweep.
    attacks
        Names or attacks; "all" for every attack.
    targets
        Number of records to attack, drawn among those that hold enough items; "all" or None for
        every one.
    seed
        Random seed, any whole number.
    engine
        Name of an engine, or an engine.
    release
        What is published, if it differs from the source. Records are matched by label; a person
        whose record is missing cannot be found and counts as not found.
    defense
        What makes the release: an object with `apply(source, seed)`; called when no release is
        given.
    sweep
        "default" (about 30 kinds of knowledge) or "full", when no adversaries are given.
    domain
        "ratings", "purchases", "visits" or "clicks": what is tried beside the sweep, and the words
        of the report. Default: detected from columns and shape of the data.
    describe
        Whether to describe the released data as well (up to 20 million entries).
    journal
        Where finished parts are kept, so that an audit that was stopped can continue. Default:
        nowhere.
    """

    def __init__(
        self,
        source: Data,
        adversaries: Adversary | Sequence[Adversary] | None = None,
        attacks: Attack | Sequence[str | Attack] | str = ATTACKS,
        targets: int | str | None = TARGETS,
        seed: int = 0,
        engine: str | Engine = "memory",
        *,
        release: Data | None = None,
        defense: Protection | None = None,
        sweep: str = "default",
        domain: str | None = None,
        describe: bool = True,
        journal: Journal | None = None,
    ) -> None:
        self.targets = target_number(targets)
        self.experiment = Experiment(
            source, attacks, release=release, defense=defense, seed=seed, engine=engine
        )
        self.source, self.release = self.experiment.source, self.experiment.release
        self.seed, self.engine = self.experiment.seed, self.experiment.engine
        self.attacks = [attacker.attack for attacker in self.experiment.attackers]
        self.defense, self.describe, self.journal = defense, describe, journal
        self.sweep = None if adversaries is not None else sweep
        self.domain = choose_domain(self.source, domain)
        self.not_tried: list[str] = []
        """Notes on knowledge of the domain that cannot be tried on this data."""
        if adversaries is None:
            tried = default_sweep(self.source, sweep)
            more, self.not_tried = beside_sweep(
                self.domain.domain, self.source, tried, self.release
            )
            wanted: Any = [*tried, *more]
        else:
            wanted = adversaries
        if isinstance(wanted, Adversary):
            wanted = [wanted]
        if strange := [a for a in wanted if not isinstance(a, Adversary)]:
            raise ParameterError(
                f"adversaries holds a {type(strange[0]).__name__}: use Adversary(knows=…, …)"
            )
        self.adversaries = [fitting(who, self.source) for who in wanted]
        if not self.adversaries or not self.attacks:
            raise ParameterError("an audit needs at least one adversary and one attack")

    def run(self, progress: Progress | bool | None = None) -> Findings:
        """Run everything.

        Parameters
        ----------
        progress
            True for a bar on standard error, False for none, None for a bar if standard error is a
            terminal, or a function that is called with (what, queries done, queries in all).
        """
        began = time.perf_counter()
        plan = self._eligible_targets()
        total = sum(2 * t.size * len(self.experiment.attackers_for(who)) for who, _, t in plan)
        done = 0
        results = []
        with reporting(progress) as report:

            def advance(what: str, n: int) -> None:
                nonlocal done
                done += n
                report(what, done, total)

            for who, n_eligible, targets in plan:
                results.append(self._part(who, n_eligible, targets, advance))
        classes = attribute_classes(self.release)
        sections: dict[str, Any] = {} if classes is None else {"attributes": classes}
        whole = (
            self.release.loaded()
            if self.describe and self.release.n_entries <= MOST_TO_DESCRIBE
            else None
        )
        if whole is not None:
            from standout.theory.describe import describe

            made = describe(whole, seed=self.seed)
            sections["describe"] = made.to_dict()
        return Findings(
            provenance=self._provenance(time.perf_counter() - began),
            data=self._described(self.release),
            results=tuple(results),
            warnings=tuple(notes.warnings(self, results)),
            sections=sections,
            source=None
            if self.experiment.place is None
            else {**self._described(self.source), "other_labels": bool(self.other_labels)},
        )

    def _described(self, data: Catalog) -> DataShape:
        """Shape of the source or of the release; channels and attributes that no adversary knew count as not measured."""
        made, more = describe_data(data), not_known(data, self.adversaries)
        return {**made, "not_measured": [*made["not_measured"], *more]}

    @cached_property
    def other_labels(self) -> str:
        """What is wrong if labels of the release seem to name other people or items than in the source; else nothing.

        Records that are not in memory are not compared, nor is a release whose defense is known,
        which compares itself.
        """
        source, release = self.source, self.release
        if (
            self.experiment.place is None
            or not isinstance(source, Dataset)
            or not isinstance(release, Dataset)
            or release.origin
        ):
            return ""
        return other_labels(source, release, self.experiment.place)

    def check_labels(self) -> None:
        """Refuse a release whose labels seem to name other people or items than in the source."""
        if self.other_labels:
            raise InputError(self.other_labels)

    def _eligible_targets(self) -> list[tuple[Adversary, int, Array]]:
        """Adversary, number of eligible records and the records to attack, for each adversary with eligible records."""
        plan = []
        for who in self.adversaries:
            n_eligible, targets = who.choose_targets(self.source, self.targets, self.seed)
            if n_eligible:
                plan.append((who, n_eligible, targets))
        if not plan:
            least = min(self.adversaries, key=lambda who: who.knows)
            if least.choose != "uniform":
                raise EligibilityError(none_eligible(least, self.source))
            longest = seen_through(self.source, least).longest
            raise EligibilityError(
                f"no eligible target: the longest record holds {longest} items, the least demanding "
                f"adversary knows {least.knows}; lower knows"
            )
        return plan

    def _part(
        self, who: Adversary, n_eligible: int, targets: Array, advance: Callable[[str, int], None]
    ) -> AdversaryResult:
        """Everything about one adversary: from the journal, if an earlier run finished it."""
        if self.journal is None:
            return self._attack(who, n_eligible, targets, advance)
        made, place = self._provenance(0), self.experiment.place
        about = {
            "schema": SCHEMA_VERSION,
            "release": self.release.fingerprint,
            "source": self.source.fingerprint,
            "adversary": who.to_dict(),
            "view": who.view and seen_through(self.release, who).fingerprint,
            "resolution": self.source.time_resolution,
            "attacks": [(a.name, a.options()) for a in self.attacks],
            "kinds": [attacker.kind for attacker in self.experiment.attackers_for(who)],
            "defense": made.get("defense"),
            "mechanism": content_digest(self.release.mechanism),
            "targets": _digest(targets.tobytes()),
            "places": None if place is None else _digest(place.tobytes()),
            "seed": self.seed,
            "engine": self.engine.name,
            "versions": made["versions"],
            "platform": made["platform"],
        }
        result, kept = self.journal.part(
            about, lambda: to_plain(self._attack(who, n_eligible, targets, advance))
        )
        if kept:
            ran = self.experiment.attackers_for(who)
            advance("kept from an earlier run", 2 * targets.size * len(ran))
        return from_plain(AdversaryResult, result, "a finished part")

    def _entry(self, who: Adversary) -> AdversaryEntry:
        """What is known, and which of the known channels are attributes of the person, for the findings."""
        given = tuple(name for name in who.within or () if name in self.source.attributes)
        view = view_of(who.view)
        return AdversaryEntry(
            **who.to_dict(),
            view_words=view.words if view else None,
            attributes=given or None,
            words=who.words(self.source),
        )

    def _attack(
        self, who: Adversary, n_eligible: int, targets: Array, advance: Callable[[str, int], None]
    ) -> AdversaryResult:
        """Everything about one adversary: all attacks on the same targets and draws."""
        people = self.experiment.people(who, targets)
        seen, ran = seen_through(self.release, who), self.experiment.attackers_for(who)
        truth, facts = people.truth, people.knowledge.bind(seen)
        held = np.where(facts.item >= 0, seen.supports[np.maximum(facts.item, 0)], 0)
        rarest = np.minimum.reduceat(held, facts.query_ptr[:-1])
        share = n_eligible / self.source.n_records
        outcomes = self.experiment.attack(people, absent=True, advance=advance)
        judged = tuple(
            AttackResult(
                attack=AttackUsed(label, one.name, one.options()),
                **judge(outcomes[label], truth.calibration, seen, people.lengths, rarest, share),
            )
            for label, one, _ in ran
        )
        best = strongest(outcomes, truth.calibration, share)
        hits = hits_of(outcomes, truth.calibration, self.experiment.unique(people), best)
        return AdversaryResult(
            adversary=self._entry(who),
            n_targets=int(targets.size),
            n_eligible=n_eligible,
            n_records=self.source.n_records,
            n_not_released=int((truth.target < 0).sum()),
            eligible_share=share,
            more_items=self._more_items(who, truth.target),
            **hits.measures(share),
            strongest=best,
            uncertainty=_uncertainty(judged, best),
            attacks=judged,
            relation=relation(who, seen, outcomes),
            awareness=awareness({one.attack.label: one.hit for one in judged}, ran),
        )

    def _more_items(self, who: Adversary, target: Array) -> float | None:
        """Items in the released record of a target beyond those that are known, on average over the targets."""
        there = target[target >= 0]
        if there.size == 0:
            return None
        # a record that is found reveals its own items, of which a view tells none
        known = 0 if who.view else who.n_right_items
        return float(np.maximum(self.release.lengths_of(there) - known, 0).mean())

    def __repr__(self) -> str:
        return f"<Audit: {len(self.adversaries)} kinds of knowledge × {len(self.attacks)} attacks on {self.release!r}>"

    def _provenance(self, seconds: float) -> dict[str, Any]:
        made: dict[str, Any] = {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "data_sha256": self.release.fingerprint,
            "seed": self.seed,
            "targets": self.targets if self.targets is not None else "all",
            "engine": self.engine.name,
            "n_attacks": len(self.attacks),
            "n_adversaries": len(self.adversaries),
            "sweep": self.sweep,
            "domain": self.domain.to_dict(),
            "wall_seconds": round(seconds, 3),
            "versions": {
                "standout": version_of("standout"),
                "python": platform.python_version(),
                "numpy": version_of("numpy"),
                "numba": version_of("numba"),
                "duckdb": version_of("duckdb"),
            },
            "platform": f"{sys.platform} {platform.machine()}",
        }
        if self.experiment.place is not None:
            made["source_sha256"] = self.source.fingerprint
        if self.defense is not None:
            made["defense"] = str(getattr(self.defense, "name", type(self.defense).__name__))
        return made


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


def _uncertainty(judged: Sequence[AttackResult], best: Strongest | None) -> Uncertainty | None:
    """Remaining uncertainty in bits: from the likelihood if it ran, else from the lineup of the strongest attack."""
    label = best.attack if best else judged[0].attack.label
    by_model = [one for one in judged if one.attack.name == MODEL]
    chosen = (by_model or [one for one in judged if one.attack.label == label])[0]
    if chosen.lineup_bits is None:
        return None
    return Uncertainty(**chosen.lineup_bits, attack=chosen.attack.label, calibrated=bool(by_model))
