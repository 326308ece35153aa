"""Cells of a frontier: risk and utility of a release, measured one by one and kept in files, so that a stopped run goes on.

The risk is that of the strongest attacker of a panel, on the same targets and draws for every
release.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import Attack, attack
from standout.audit.measures import MEASURES, Hits, hits_of
from standout.audit.strongest import strongest
from standout.audit.sweep import FEWEST, fit_to_data, rough_days, rough_value
from standout.data.dataset import Dataset
from standout.data.export import entry_days
from standout.defenses.utility import Settings, Utility, UtilityTest
from standout.defenses.utility_release import level_counts
from standout.errors import EligibilityError, ParameterError
from standout.experiment.attackers import attacks_of
from standout.experiment.experiment import Experiment
from standout.experiment.journal import Journal
from standout.experiment.outcomes import Outcomes
from standout.experiment.subject import target_number
from standout.formulas.rates import Rate
from standout.results import Amount, Count, Part, from_plain, optional, to_plain

CELL_VERSION = 3
"""Raise it when cells of an earlier version must not be used any more."""

UNDEFENDED = "undefended"

AMOUNTS = (4, 2, 1)
"""Numbers of known items; the first that enough people have is used."""

PANEL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("scoreboard-rh", {}),
    ("scoreboard-rh", {"length": "sqrt"}),
    ("likelihood", {}),
)
"""Attackers of a frontier. On a defended release the likelihood knows the published parameters of the defense, and is joined by
its unaware variants (`experiment.attackers`)."""


@dataclass(frozen=True)
class Tried(Part):
    """Hit rate of an adversary with an attack."""

    adversary: str
    attack: str
    kind: str
    """What the attacker knows of the defense; "" where there is only one attacker."""
    found: Rate


@dataclass(frozen=True, kw_only=True)
class CellRisk(Part):
    """Risk of a release, by the worst adversary."""

    adversary: str
    attack: str
    """The strongest attack."""
    n_tried: Count
    n_not_released: Count
    unique: Rate | None
    found: Rate
    sure: Rate | None
    sure_attack: str | None
    not_measured: Mapping[str, str]
    false_match: Rate
    worst: str
    """The measure by which the cell is judged."""
    credit: tuple[Amount, ...]
    """Per reported target: credit for the worst measure, in the same order for every release."""
    tried: tuple[Tried, ...]


@dataclass(frozen=True, kw_only=True)
class FrontierCell(Part):
    """Risk and utility of a release; one element per seed of the splits."""

    family: str
    strength: Count
    defense: str
    risk: CellRisk
    utility: tuple[Utility, ...]
    losses: tuple[Mapping[str, float | None], ...]
    popularity: tuple[Mapping[str, float | None], ...] | None = optional()
    """Of the undefended data: losses of recommending the most popular items to everyone."""
    seconds: float


@dataclass(frozen=True)
class LeftOut(Part):
    """A defense that could not be applied, and why."""

    family: str
    strength: Count
    defense: str
    not_measured: str
    seconds: float


def cell_from(data: Any) -> FrontierCell | LeftOut:
    """A cell from plain data."""
    what = "the cell of a frontier", "standout frontier"
    if isinstance(data, dict) and "not_measured" in data:
        return from_plain(LeftOut, data, *what)
    return from_plain(FrontierCell, data, *what)


@dataclass(frozen=True)
class Setting:
    """One defense at one strength."""

    family: str
    """Name of the defense, or of the chain."""
    strength: int
    """1, 2, … from weak to strong."""
    defense: Any
    """An object with `apply`; None = the source itself."""
    problem: str = ""
    """Why the defense cannot be made; then `defense` is its name."""

    @property
    def text(self) -> str:
        """The defense in words."""
        return UNDEFENDED if self.defense is None else str(self.defense)

    def applied(self, data: Dataset, seed: int) -> Dataset:
        """The data after the defense."""
        made: Dataset = data if self.defense is None else self.defense.apply(data, seed=seed)
        return made

    @property
    def identity(self) -> str | None:
        """Text that tells this setting from all others; None for a defense that does not state its parameters."""
        if self.defense is None:
            return UNDEFENDED
        parameters = getattr(self.defense, "parameters", None)
        if parameters is None:
            return None
        return f"{self.text}\n{json.dumps(parameters, sort_keys=True, default=str)}"


class Bench:
    """Measures cells: the risk on the whole source, the utility on splits of it.

    Parameters
    ----------
    source
        The data to protect.
    risk
        Targets and knowledge.
    seeds
        Seeds of the splits; each also seeds the defense and the models.
    folder
        Folder with finished cells, private to this user; None to keep none.
    fresh
        Whether to measure cells again that an earlier run finished.
    """

    def __init__(
        self,
        source: Dataset,
        risk: RiskTest,
        seeds: Sequence[int],
        folder: str | Path | None = None,
        *,
        fresh: bool = False,
    ) -> None:
        self.source, self.risk, self.seeds = source, risk, tuple(seeds)
        self._journal = None if folder is None else Journal(Path(folder), fresh=fresh)

    @cached_property
    def settings(self) -> Settings:
        """Settings of the models, tuned on the first split of the undefended data."""
        stored = self._load("settings")
        if stored is not None:
            return from_plain(Settings, stored, "stored settings")
        made = UtilityTest(self.source, self.seeds[0]).settings
        self._store("settings", made)
        return made

    @cached_property
    def tests(self) -> list[UtilityTest]:
        """One test of utility per seed, all with the same settings."""
        return [UtilityTest(self.source, seed, self.settings) for seed in self.seeds]

    def stored(self, setting: Setting) -> FrontierCell | LeftOut | None:
        """The finished cell, if there is one."""
        found = None if setting.identity is None else self._load(setting.identity)
        return None if found is None else cell_from(found)

    def measure(self, setting: Setting) -> FrontierCell | LeftOut:
        """Measure a cell and keep it. A defense that cannot be applied gives a cell that only says why."""
        began = time.perf_counter()
        head: dict[str, Any] = {
            "family": setting.family,
            "strength": setting.strength,
            "defense": setting.text,
        }
        try:
            if setting.problem:
                raise ParameterError(setting.problem)
            release = setting.applied(self.source, self.risk.seed)
            releases = [setting.applied(t.split.train, t.seed) for t in self.tests]
        except ParameterError as error:
            return LeftOut(**head, not_measured=str(error), seconds=time.perf_counter() - began)
        found = [
            t.undefended if made is t.split.train else t.of(made)
            for t, made in zip(self.tests, releases, strict=True)
        ]
        undefended = setting.defense is None
        cell = FrontierCell(
            **head,
            risk=self.risk.of(release),
            utility=tuple(found),
            losses=tuple(t.losses(one) for t, one in zip(self.tests, found, strict=True)),
            popularity=tuple(t.popularity_losses for t in self.tests) if undefended else None,
            seconds=round(time.perf_counter() - began, 3),
        )
        if setting.identity is not None:
            self._store(setting.identity, cell)
        return cell

    @cached_property
    def _context(self) -> str:
        """Everything that the numbers of a cell depend on, except the defense."""
        risk = self.risk
        parts = [
            CELL_VERSION,
            version("standout"),
            self.source.fingerprint,
            risk.seed,
            self.seeds,
            [who.to_dict() for who in risk.adversaries],
            [(one.name, one.options()) for one in risk.attacks],
            int(risk.targets.size),
        ]
        return json.dumps(parts, sort_keys=True, default=str)

    def _about(self, text: str) -> dict[str, Any]:
        return {"context": self._context, "cell": text}

    def _load(self, text: str) -> dict[str, Any] | None:
        """A finished cell; a file that is not one is measured again."""
        found = None if self._journal is None else self._journal.find(self._about(text))
        return None if found is None else found[0]

    def _store(self, text: str, content: FrontierCell | Settings) -> None:
        if self._journal is not None:
            self._journal.keep(self._about(text), to_plain(content))


def default_adversary(source: Dataset) -> Adversary:
    """4 items (2 or 1 if too few people have 4) with roughly known values and times, as far as the data has them."""
    value: float | str | None = None
    if source.has_value and source.n_levels > 1:
        value = rough_value(source.levels, level_counts(source)) if source.n_levels > 2 else 0
    day = entry_days(source)
    span = 0 if day is None or np.isnan(day).all() else int(np.nanmax(day) - np.nanmin(day))
    time = rough_days(span) if span > 0 else None
    enough = min(FEWEST, source.n_records / 2)
    for knows in AMOUNTS:
        who = Adversary(knows=knows, value_within=value, time_within=time)
        if who.eligible(source).size >= enough or knows == AMOUNTS[-1]:
            return who
    raise AssertionError("the last amount is always used")


def panel(attacks: Sequence[str | Attack] | None = None) -> list[Attack]:
    """The given attacks, or the default panel."""
    if attacks is None:
        return [attack(name, **options) for name, options in PANEL]
    given = attacks_of(attacks)
    if not given:
        raise ParameterError("a frontier needs at least one attack")
    return given


def worst_of(tried: Sequence[Hits], chosen: Array) -> tuple[int, str]:
    """Place of the adversary with most hits on the chosen targets, and the measure by which she has them.

    A tie goes to *found*, then to *unique*, then to the adversary named first.
    """
    hits = {
        (turn, name): math.fsum(np.asarray(one.by_measure[name], np.float64)[chosen])
        for name in ("found", "unique", "sure")
        for turn, one in enumerate(tried)
        if one.by_measure[name] is not None
    }
    return max(hits, key=lambda key: hits[key])


class RiskTest:
    """Targets and knowledge, drawn once from the source; every release is attacked with them.

    Parameters
    ----------
    source
        The true data of the people.
    adversaries
        What may be known of a target. Everyone who can be a target of all of them is eligible.
    attacks
        Attacks; None for the default panel.
    targets
        Number of records to attack; "all" or None for every eligible one.
    seed
        Random seed.
    """

    def __init__(
        self,
        source: Dataset,
        adversaries: Adversary | Sequence[Adversary] | None = None,
        attacks: Sequence[str | Attack] | None = None,
        targets: int | str | None = 1000,
        seed: int = 0,
    ) -> None:
        wanted = [default_adversary(source)] if adversaries is None else adversaries
        wanted = [wanted] if isinstance(wanted, Adversary) else list(wanted)
        if not wanted or any(not isinstance(who, Adversary) for who in wanted):
            raise ParameterError("adversaries: give one Adversary(knows=…, …) or several")
        self.source, self.seed = source, seed
        self.adversaries = [fit_to_data(who, source) for who in wanted]
        self.attacks = panel(attacks)
        eligible = self.adversaries[0].eligible(source)
        for who in self.adversaries[1:]:
            eligible = np.intersect1d(eligible, who.eligible(source))
        if eligible.size < 2:
            raise EligibilityError(
                f"{eligible.size} people can be targets of these adversaries, and a frontier needs at least 2: lower knows"
            )
        self.n_eligible = int(eligible.size)
        self.targets = sample_targets(source, eligible, target_number(targets), seed)

    @property
    def n_reported(self) -> int:
        """Targets on which rates are reported; the strongest attacker is chosen on the others."""
        return int(self.targets.size - self.targets.size // 2)

    def of(self, release: Dataset) -> CellRisk:
        """Risk of a release: the shares of people who are unique, found and sure, by the worst adversary.

        The worst adversary, and the worst of her three measures, are those with most hits on one
        half of the targets; all rates are measured on the other half. A person who is not in the
        release is neither unique nor found.
        """
        job = Experiment(self.source, self.attacks, release=release, seed=self.seed)
        done: list[tuple[dict[str, Outcomes], Hits]] = []
        for who in self.adversaries:
            people = job.people(who, self.targets)
            truth = people.truth
            outcomes = job.attack(people, absent=True)
            best = strongest(outcomes, truth.calibration)
            done.append((outcomes, hits_of(outcomes, truth.calibration, job.unique(people), best)))
        turn, worst = worst_of([hits for _, hits in done], truth.calibration)
        (outcomes, hits), reported = done[turn], ~truth.calibration
        rates = hits.measures(1.0)
        credit = np.asarray(hits.by_measure[worst], np.float64)[reported]
        words = [who.words(self.source) for who in self.adversaries]
        return CellRisk(
            adversary=words[turn],
            attack=hits.found_attack,
            n_tried=sum(len(tried) for tried, _ in done),
            n_not_released=int((truth.target < 0).sum()),
            **{name: rates[name] for name in (*MEASURES, "sure_attack", "not_measured")},
            false_match=Rate.of(outcomes[hits.found_attack].absent_matched[reported]),
            worst=worst,
            credit=tuple(int(x) if x.is_integer() else round(x, 9) for x in credit.tolist()),
            tried=tuple(
                Tried(who, label, kind, Rate.of(tried[label].credit[reported]))
                for who, (tried, _) in zip(words, done, strict=True)
                for label, _, kind in job.attackers
                if label in tried
            ),
        )
