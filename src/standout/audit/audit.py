"""`Audit`: sample targets, draw each adversary's knowledge, run each attack, judge."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import PURPOSE_SPLIT, sample_targets, starts
from standout.attacks.attack import Attack, attack, attack_names
from standout.audit.findings import Findings
from standout.audit.judge import Trial, Truth, judge
from standout.audit.strongest import strongest
from standout.audit.sweep import default_sweep
from standout.data.dataset import Dataset
from standout.engines.engine import Engine
from standout.engines.engine import engine as engine_of
from standout.errors import EligibilityError, InputError, ParameterError

Progress = Callable[[str, int, int], None]

VARIANTS = (("scoreboard-rh", {"length": "sqrt"}),)
"""Options that make a different attacker: `all` runs them beside the defaults."""


class Audit:
    """How many of a release's records would be found, by whom, knowing how much.

    Parameters
    ----------
    dataset
        The release.
    adversaries
        What she may know; a sweep over knowledge when left out.
    attacks
        Names or attacks; "all" for the whole panel.
    targets
        Number of records to attack, drawn among those that hold enough items; "all" for every one.
    seed
        Any whole number.
    engine
        Name of an engine, or an engine.
    """

    def __init__(self, dataset: Dataset, adversaries: Sequence[Adversary] | None = None,
                 attacks: Sequence[str | Attack] | str = ("scoreboard", "scoreboard-rh"), targets: int | str | None = 1000,
                 seed: int = 0, engine: str | Engine = "memory") -> None:  # fmt: skip
        if dataset.n_records < 2:
            raise InputError("the data has 1 record: nobody to tell it from; an audit needs at least 2")
        if dataset.n_items < 2:
            raise InputError("the data has 1 item: nothing to tell records apart by; an audit needs at least 2")
        self.dataset = dataset
        self.adversaries = list(adversaries) if adversaries is not None else default_sweep(dataset)
        names: Sequence[str | Attack] = attacks if not isinstance(attacks, str) else [attacks]
        if list(names) == ["all"]:
            names = [*attack_names(), *(attack(name, **options) for name, options in VARIANTS)]
        self.attacks = [a if isinstance(a, Attack) else attack(a) for a in names]
        if not self.adversaries or not self.attacks:
            raise ParameterError("an audit needs at least one adversary and one attack")
        if isinstance(targets, str):
            if targets != "all":
                raise ParameterError(f"targets={targets!r}: use a whole number ≥ 1 or 'all'")
            targets = None
        if targets is not None and targets < 1:
            raise ParameterError(f"targets={targets}: use a whole number ≥ 1 or 'all'")
        self.targets, self.seed, self.engine = targets, int(seed), engine_of(engine)

    def run(self, progress: Progress | None = None) -> Findings:
        """Run everything; `progress` is called with (what, queries done, queries in all)."""
        began = time.perf_counter()
        results: list[dict[str, Any]] = []
        winners: list[dict[str, Any]] = []
        warnings: list[str] = []
        plan = []
        for who in self.adversaries:
            eligible = who.eligible(self.dataset)
            if eligible.size == 0:
                warnings.append(f"No record holds enough items for an adversary who knows {who.describe()}: left out.")
            else:
                plan.append((who, eligible, sample_targets(eligible, self.targets, self.seed)))
        if not plan:
            fewest = min(a.knows for a in self.adversaries)
            raise EligibilityError(
                f"no eligible target: the longest record holds {int(self.dataset.lengths.max())} items, the least demanding "
                f"adversary knows {fewest}; lower knows"
            )
        total = sum(2 * t.size for _, _, t in plan) * len(self.attacks)
        done = 0

        def tick(what: str) -> Callable[[int], None]:
            def advance(n: int) -> None:
                nonlocal done
                done += n
                if progress:
                    progress(what, done, total)

            return advance

        for who, eligible, targets in plan:
            if self.targets is not None and eligible.size < self.targets:
                warnings.append(
                    f"{eligible.size:,} records are eligible for an adversary who knows {who.describe()}, fewer than the "
                    f"{self.targets:,} asked for: all of them are attacked."
                )
            truth = self._truth(targets)
            knowledge = who.sample(self.dataset, targets, self.seed)
            facts = knowledge.bind(self.dataset)
            rarest = np.minimum.reduceat(self.dataset.supports[facts.item], facts.query_ptr[:-1])
            trials = {}
            for label, one in zip(self._labels(), self.attacks, strict=True):
                step = tick(f"{label}: {who.describe()}")
                present = one.run(self.dataset, knowledge, self.engine, watch=targets, progress=step)
                absent = one.run(self.dataset, knowledge, self.engine, exclude=targets, lineup=False, progress=step)
                trials[label] = trial = Trial(one, present, absent)
                results.append({
                    "adversary": {**who.to_dict(), "words": who.describe()},
                    "attack": {"label": label, "name": one.name, "options": one.options()},
                    "n_targets": int(targets.size), "n_eligible": int(eligible.size),
                    **judge(trial, truth, self.dataset, rarest),
                })  # fmt: skip
            best = strongest(trials, truth)
            if best is not None:
                winners.append({"adversary": {**who.to_dict(), "words": who.describe()}, **best})
        return Findings(
            provenance=self._provenance(time.perf_counter() - began),
            data=describe_data(self.dataset),
            results=tuple(results),
            strongest=tuple(winners),
            warnings=tuple(dict.fromkeys(warnings)),
        )

    def _truth(self, targets: Any) -> Truth:
        """Half of the targets, by hash, for calibration."""
        order = np.argsort(starts(np.uint64(self.seed % 2**64), PURPOSE_SPLIT, targets), kind="stable")
        calibration = np.zeros(targets.size, np.bool_)
        calibration[order[: targets.size // 2]] = True
        return Truth(targets, calibration)

    def _labels(self) -> list[str]:
        """One label per attack: its name, with its options when a name comes twice."""
        names = [a.name for a in self.attacks]
        labels = []
        for a in self.attacks:
            label = a.name
            if names.count(a.name) > 1:
                changed = {k: v for k, v in a.options().items() if v != attack(a.name).options().get(k)}
                label += "".join(f" {k}={v}" for k, v in changed.items())
            while label in labels:
                label += "'"
            labels.append(label)
        return labels

    def _provenance(self, seconds: float) -> dict[str, Any]:
        return {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "data_sha256": self.dataset.fingerprint,
            "seed": self.seed,
            "targets": self.targets if self.targets is not None else "all",
            "engine": self.engine.name,
            "n_attacks": len(self.attacks),
            "n_adversaries": len(self.adversaries),
            "wall_seconds": round(seconds, 3),
            "versions": {
                "standout": version("standout"),
                "python": platform.python_version(),
                "numpy": version("numpy"),
                "numba": version("numba"),
                "duckdb": version("duckdb"),
            },
            "platform": f"{sys.platform} {platform.machine()}",
        }


def describe_data(dataset: Dataset) -> dict[str, Any]:
    """Shape of a dataset and what reading did to it: counts only."""
    from dataclasses import asdict

    days = None
    if dataset.has_time:
        first = np.datetime64(dataset.first_day, "D")
        days = {"first": str(first), "last": str(first + np.timedelta64(dataset.day_span, "D"))}
    values = None
    if dataset.has_value:
        values = {"levels": dataset.n_levels, "low": float(dataset.levels[0]), "high": float(dataset.levels[-1])}
    return {
        "n_records": dataset.n_records, "n_items": dataset.n_items, "n_entries": dataset.n_entries,
        "n_pairs": dataset.n_pairs, "values": values, "days": days, "cleaning": asdict(dataset.cleaning),
    }  # fmt: skip
