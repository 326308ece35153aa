"""Risk of a release: the strongest attacker of a panel, on the same targets and draws for every release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.attacks.attack import Attack, attack
from standout.audit.sweep import FEWEST, fitting, rough_days, rough_value
from standout.data.dataset import Dataset
from standout.data.export import entry_days
from standout.data.labels import find_labels
from standout.errors import EligibilityError, ParameterError
from standout.experiment.attackers import attackers
from standout.experiment.outcomes import Truth
from standout.experiment.subject import target_number
from standout.formulas.rates import Rate

Array = npt.NDArray[Any]

AMOUNTS = (4, 2, 1)
"""Numbers of known items; the first that enough people have is used."""

PANEL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("scoreboard-rh", {}),
    ("scoreboard-rh", {"length": "sqrt"}),
    ("likelihood", {}),
)
"""Attackers of a frontier. On a defended release the likelihood knows the published parameters of the defense, and is joined by
its unaware variants (`experiment.attackers`)."""


def default_adversary(source: Dataset) -> Adversary:
    """4 items (2 or 1 if too few people have 4) with roughly known values and times, as far as the data has them."""
    value: float | str | None = None
    if source.has_value and source.n_levels > 1:
        counts = np.bincount(source.record_code, minlength=source.n_levels + 1)[: source.n_levels]
        value = rough_value(source.levels, counts) if source.n_levels > 2 else 0
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
    given = [attacks] if isinstance(attacks, str | Attack) else list(attacks)
    if not given:
        raise ParameterError("a frontier needs at least one attack")
    return [a if isinstance(a, Attack) else attack(a) for a in given]


def strongest_of(tried: Sequence[dict[str, Any]], chosen: Array) -> dict[str, Any]:
    """The attacker with most hits on the chosen targets; a tie goes to the one named first."""
    return max(tried, key=lambda t: math.fsum(t["credit"][chosen]))


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
    engine
        Name of an engine, or an engine.
    """

    def __init__(
        self,
        source: Dataset,
        adversaries: Sequence[Adversary] | None = None,
        attacks: Sequence[str | Attack] | None = None,
        targets: int | str | None = 1000,
        seed: int = 0,
        engine: Any = "memory",
    ) -> None:
        wanted = [default_adversary(source)] if adversaries is None else adversaries
        wanted = [wanted] if isinstance(wanted, Adversary) else list(wanted)
        if not wanted or any(not isinstance(who, Adversary) for who in wanted):
            raise ParameterError("adversaries: give one Adversary(knows=…, …) or several")
        self.source, self.seed, self.engine = source, seed, engine
        self.adversaries = [fitting(who, source) for who in wanted]
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
        self._knowledge = [who.sample(source, self.targets, seed) for who in self.adversaries]

    @property
    def n_reported(self) -> int:
        """Targets on which rates are reported; the strongest attacker is chosen on the others."""
        return int(self.targets.size - self.targets.size // 2)

    def of(self, release: Dataset) -> dict[str, Any]:
        """Risk of a release: the attacker with most hits on one half of the targets, and her hit rate on the other half.

        A person who is not in the release is not found. `credit` has one number per reported
        target, in the same order for every release.
        """
        place = None
        if release is not self.source:
            place = find_labels(release.record_labels, self.source.record_labels)
        truth = Truth.of(self.targets, place, self.source.record_keys[self.targets], self.seed)
        tried: list[dict[str, Any]] = []
        for turn, (who, knowledge) in enumerate(
            zip(self.adversaries, self._knowledge, strict=True)
        ):
            for label, one, kind in attackers(self.attacks, self.source, release):
                seen = one.run(release, knowledge, self.engine, watch=truth.target, lineup=False)
                credit = np.where(truth.target >= 0, np.asarray(seen.credit, np.float64), 0.0)
                if np.isnan(credit).any():
                    raise ParameterError(f"attack {label} gave no answer for some targets")
                tried.append(
                    {
                        "turn": turn,
                        "adversary": who.words(self.source),
                        "attack": label,
                        "kind": kind,
                        "one": one,
                        "credit": credit,
                    }
                )
        chosen, reported = truth.calibration, ~truth.calibration
        best = strongest_of(tried, chosen)
        absent = best["one"].run(
            release, self._knowledge[best["turn"]], self.engine, exclude=truth.target, lineup=False
        )
        return {
            "adversary": best["adversary"],
            "attack": best["attack"],
            "n_tried": len(tried),
            "n_not_released": int((truth.target < 0).sum()),
            "hit": Rate.of(best["credit"][reported])._asdict(),
            "false_match": Rate.of(absent.matched[reported])._asdict(),
            "credit": [
                int(x) if x.is_integer() else round(x, 9) for x in best["credit"][reported].tolist()
            ],
            "tried": [
                {
                    "adversary": t["adversary"],
                    "attack": t["attack"],
                    "kind": t["kind"],
                    "hit": Rate.of(t["credit"][reported])._asdict(),
                }
                for t in tried
            ],
        }
