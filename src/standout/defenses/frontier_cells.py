"""Cells of a frontier: measured one by one, each kept in a file, so that a run that was stopped goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from standout.data.dataset import Dataset
from standout.defenses.frontier_risk import RiskTest
from standout.defenses.utility import Settings, UtilityTest
from standout.errors import ParameterError
from standout.experiment.journal import Journal

CELL_VERSION = 3
"""Raise it when cells of an earlier version must not be used any more."""

UNDEFENDED = "undefended"


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

    @property
    def identity(self) -> str | None:
        """Text that tells this setting from all others; None for a defense that does not state its parameters."""
        if self.defense is None:
            return UNDEFENDED
        parameters = getattr(self.defense, "parameters", None)
        return (
            None
            if parameters is None
            else f"{self.text}\n{json.dumps(parameters, sort_keys=True, default=str)}"
        )


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
            return settings_from(stored["settings"])
        made = UtilityTest(self.source, self.seeds[0]).settings
        self._store("settings", {"settings": made.to_dict()})
        return made

    @cached_property
    def tests(self) -> list[UtilityTest]:
        """One test of utility per seed, all with the same settings."""
        return [UtilityTest(self.source, seed, self.settings) for seed in self.seeds]

    def stored(self, setting: Setting) -> dict[str, Any] | None:
        """The finished cell, if there is one."""
        return None if setting.identity is None else self._load(setting.identity)

    def measure(self, setting: Setting) -> dict[str, Any]:
        """Measure a cell and keep it. A defense that cannot be applied gives a cell that only says why."""
        began = time.perf_counter()
        cell: dict[str, Any] = {
            "family": setting.family,
            "strength": setting.strength,
            "defense": setting.text,
        }
        try:
            if setting.problem:
                raise ParameterError(setting.problem)
            if setting.defense is None:
                release = self.source
            else:
                release = setting.defense.apply(self.source, seed=self.risk.seed)
            releases = [
                t.split.train
                if setting.defense is None
                else setting.defense.apply(t.split.train, seed=t.seed)
                for t in self.tests
            ]
        except ParameterError as error:
            cell |= {"not_measured": str(error), "seconds": time.perf_counter() - began}
            return cell
        found = [
            t.undefended if made is t.split.train else t.of(made)
            for t, made in zip(self.tests, releases, strict=True)
        ]
        cell |= {
            "risk": self.risk.of(release),
            "utility": [one.to_dict() for one in found],
            "losses": [t.losses(one) for t, one in zip(self.tests, found, strict=True)],
        }
        if setting.defense is None:
            cell["popularity"] = [t.popularity_losses for t in self.tests]
        cell["seconds"] = round(time.perf_counter() - began, 3)
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

    def _store(self, text: str, content: dict[str, Any]) -> None:
        if self._journal is not None:
            self._journal.keep(self._about(text), content)


def settings_from(data: Any) -> Settings:
    """Settings from plain data."""
    from standout.defenses.utility_ranking import RankingSettings
    from standout.defenses.utility_rating import RatingSettings

    rating = None if data["rating"] is None else RatingSettings(**data["rating"])
    return Settings(RankingSettings(**data["ranking"]), rating)
