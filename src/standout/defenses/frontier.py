"""`frontier`: risk against utility for many defenses; `Frontier`: what was found.

It is `so.frontier` in Python and `standout frontier` on the command line. A cell (one defense at one
strength) is measured in `frontier_cells.py`; which cells are better is decided in `frontier_front.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.attacks.attack import Attack
from standout.audit.findings import named_rate, naming, read_json, write_whole
from standout.audit.known import not_known
from standout.audit.measures import MEASURES as RISKS
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.defenses import frontier_front
from standout.defenses.frontier_cells import (
    UNDEFENDED,
    Bench,
    FrontierCell,
    LeftOut,
    RiskTest,
    Setting,
    cell_from,
)
from standout.defenses.frontier_strengths import settings_of
from standout.defenses.utility import MEASURES, Utility
from standout.errors import InputError, ParameterError
from standout.experiment.attackers import ADAPTIVE, NAIVE, attackers
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import Data, Protection, describe_data, seed_number, source_of
from standout.results import to_plain

if TYPE_CHECKING:
    import pandas as pd

    from standout.report.drawing import Chart

SCHEMA_VERSION = 2
TARGETS = 1000
SEEDS = 3

RANKED = ("ndcg", "recall")
"""Measures of recommendations."""

NUMBERS = tuple(field.name for field in fields(Utility) if field.name != "n_people")
"""Numbers of utility in a row of the table."""


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Risk and utility of releases, one cell per defense and strength; the first cell is the undefended data.

    `to_frame` gives one row per cell; `sentence` is the answer; `chart` draws it; `save` and `load`
    write and read JSON.
    """

    provenance: Mapping[str, Any]
    cells: tuple[FrontierCell | LeftOut, ...]
    measure: str = "ndcg"
    """Loss that counts as the cost."""

    @property
    def measured(self) -> list[FrontierCell]:
        """Cells with numbers."""
        return [c for c in self.cells if isinstance(c, FrontierCell)]

    @property
    def undefended(self) -> FrontierCell:
        """The cell of the source itself."""
        first = self.cells[0]
        if isinstance(first, LeftOut):
            raise InputError("the undefended data was not measured; make the frontier again")
        return first

    @property
    def front(self) -> list[FrontierCell]:
        """Defended cells whose risk is clearly below that of the undefended data and that no other cell beats.

        A cell is judged by the worst of what was measured: unique, found or sure. Differences
        within the noise are ties.
        """
        return list(compress(self.measured, self._on_front))

    @cached_property
    def _on_front(self) -> list[bool]:
        unbeaten = frontier_front.front(self.measured, self.measure)
        return [x and bool(clear) for x, clear in zip(unbeaten, self._clear_effects, strict=True)]

    @property
    def effective(self) -> list[FrontierCell]:
        """Cells whose risk is clearly below that of the undefended data."""
        return list(compress(self.measured, self._clear_effects))

    @cached_property
    def _clear_effects(self) -> list[bool | None]:
        """Whether each measured cell has a clear effect; None for the undefended data."""
        base, n = self.undefended, len(self.measured) - 1
        return [
            None if c is base else frontier_front.has_clear_effect(c, base, n)
            for c in self.measured
        ]

    @property
    def popularity_loss(self) -> float | None:
        """Cost of recommending the most popular items to everyone; None for measures that are not about recommendations."""
        if self.measure not in RANKED:
            return None
        return _mean([one[self.measure] for one in self.undefended.popularity or ()])

    @property
    def measures(self) -> list[str]:
        """Measures of loss that this data allows."""
        return [m for m in MEASURES if frontier_front.losses(self.undefended, m) is not None]

    def by(self, measure: str) -> Frontier:
        """Return the same cells with another loss as the cost.

        Parameters
        ----------
        measure
            "ndcg" (top-10 recommendations), "recall" (top-20), "rating" (predicted values),
            "popularity" (shares of items), "pairs" (items held together), "time" (entries per
            month) or "entries" (entries kept).
        """
        if measure not in self.measures:
            known = ", ".join(self.measures)
            raise ParameterError(
                f"measure={measure!r} was not measured on this data. Measured: {known}"
            )
        return replace(self, measure=measure)

    @property
    def sentence(self) -> str:
        """The answer: the least costly defense that brings the rate below 5 %, and whether any reaches 1 %."""
        from standout.report.frontier import sentence

        return sentence(self)

    def chart(self) -> Chart:
        """Risk against cost, the front marked."""
        from standout.report.frontier import chart

        return chart(self)

    def to_frame(self) -> pd.DataFrame:
        """One row per measured cell, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain numbers per measured cell: the three risks, means over the seeds, the noise of the cost.

        `rate`, `low`, `high`, `n` and `count` are those of `worst`, the risk by which the cell is
        judged. A risk that was not measured is None.
        """
        out = []
        for cell, best, clear in zip(
            self.measured, self._on_front, self._clear_effects, strict=True
        ):
            risk, cost = cell.risk, frontier_front.losses(cell, self.measure) or []
            row = {
                "defense": cell.defense,
                "family": cell.family,
                "strength": cell.strength,
                "front": best,
                "clear_effect": clear,
                "worst": risk.worst,
                **frontier_front.risk_of(cell),
                **{key: x for name in RISKS for key, x in named_rate(name, risk[name]).items()},
                "attack": risk.attack,
                "sure_attack": risk.sure_attack,
                "adversary": risk.adversary,
                **_awareness(cell),
                "false_match": risk.false_match.rate,
                "cost": float(np.mean(cost)),
                "noise": frontier_front.spread(cost),
            }
            row |= {f"{m}_loss": _mean([one[m] for one in cell.losses]) for m in MEASURES}
            row |= {name: _mean([getattr(one, name) for one in cell.utility]) for name in NUMBERS}
            out.append({**row, "seconds": cell.seconds})
        return out

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        return {
            "schema_version": SCHEMA_VERSION,
            "measure": self.measure,
            "provenance": to_plain(self.provenance),
            "cells": to_plain(self.cells),
            "sentence": self.sentence,
            "front": [c.defense for c in self.front],
        }

    def to_json(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False, ensure_ascii=False) + "\n"

    def save(self, path: str | Path) -> Path:
        """Write the JSON file, completely or not at all."""
        return write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Frontier:
        """Read a JSON file that `save` wrote."""
        data = read_json(path, "a frontier")
        with naming(path):
            return cls._from_dict(data)

    @classmethod
    def _from_dict(cls, data: Any) -> Frontier:
        if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
            raise InputError(
                f"not a frontier of schema version {SCHEMA_VERSION}, which has three risks per cell; make it again with "
                "`standout frontier`"
            )
        try:
            made = cls(data["provenance"], tuple(map(cell_from, data["cells"])), data["measure"])
            # every number that is shown is read once here
            made.rows()
            return made.by(made.measure)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise InputError(
                "the frontier is damaged; make it again with `standout frontier`"
            ) from None

    def _repr_html_(self) -> str:
        """For notebooks: the sentence, the chart and the table."""
        from standout.report.frontier import notebook

        return notebook(self)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<Frontier: {len(self.measured)} cells, {len(self.front)} on the front>"


def frontier(
    source: Data,
    defenses: str | Protection | Sequence[str | Protection] = "all",
    strengths: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
    adversaries: Adversary | Sequence[Adversary] | None = None,
    attacks: Sequence[str | Attack] | None = None,
    targets: int | str | None = TARGETS,
    seed: int = 0,
    *,
    seeds: int = SEEDS,
    measure: str = "ndcg",
    work: str | Path | None = None,
    fresh: bool = False,
    progress: Progress | bool | None = None,
    log: Callable[[str], None] | None = None,
) -> Frontier:
    """Measure risk and utility of many defenses on the same targets and the same held-out entries.

    Parameters
    ----------
    source
        The data to protect: a `Dataset`, or a frame whose columns can be guessed.
    defenses
        "all" (also those of `register_defense`), or a list of names, texts such as
        "drop-entries(share=0.5) | drop-time" and objects with `apply`.
    strengths
        Values of the first parameter of every named defense, or a mapping from name to such values.
        Default: three per defense, chosen for the data.
    adversaries
        One `Adversary` or several; the worst of them counts: the one with most people unique, found
        or sure. Default: 4 items with roughly known
        values and times.
    attacks
        Attacks, of which the strongest counts. Default: Scoreboard-RH, also divided by the root of
        the length, and the likelihood. On a defended release the likelihood runs as the adaptive
        attacker, who knows the published parameters of the defense, and as the unaware ones: naive,
        with changed channels ignored, and fitted.
    targets
        Number of records to attack.
    seed
        Random seed.
    seeds
        Number of splits on which utility is measured, at least 2.
    measure
        Loss that counts as the cost; see `Frontier.by`.
    work
        Folder for finished cells, private to this user. A run with the same folder and the same
        settings goes on where another one stopped.
    fresh
        Whether to measure finished cells again.
    progress
        True for a bar on standard error, False for none, None for a bar if standard error is a
        terminal, or a function.
    log
        Called with the number of cells before anything is measured, and with the expected time
        after the first defended cell.
    """
    data = in_memory(source_of(source), "a frontier")
    seed = seed_number(seed)
    if not isinstance(seeds, int) or seeds < 2:
        raise ParameterError(
            f"seeds={seeds!r}: use at least 2 splits, so that the noise can be measured"
        )
    if measure not in MEASURES:
        raise ParameterError(f"measure={measure!r}: use one of {', '.join(MEASURES)}")
    wanted = settings_of(data, defenses, strengths)
    risk = RiskTest(data, adversaries, attacks, targets, seed)
    bench = Bench(data, risk, range(seed, seed + seeds), work, fresh=fresh)
    began = time.perf_counter()
    cells = _run(bench, [Setting(UNDEFENDED, 0, None), *wanted], progress, log)
    made = Frontier(_provenance(data, bench, time.perf_counter() - began), tuple(cells))
    return made.by(measure)


def _run(
    bench: Bench,
    wanted: Sequence[Setting],
    progress: Progress | bool | None,
    log: Callable[[str], None] | None,
) -> list[FrontierCell | LeftOut]:
    """Measure every cell that is not stored; the time of the first defended cell tells how long the rest will take."""
    found = [bench.stored(setting) for setting in wanted]
    missing = [k for k, cell in enumerate(found) if cell is None]
    say = log or (lambda text: None)
    say(f"{len(wanted)} cells, {len(wanted) - len(missing)} of them finished before")
    estimated = False
    with reporting(progress) as report:
        for n, k in enumerate(missing):
            report(wanted[k].text, n, len(missing))
            found[k] = cell = bench.measure(wanted[k])
            left = len(missing) - n - 1
            # the undefended cell also tunes the models and prepares the splits, which the others
            # share
            defended = wanted[k].defense is not None and isinstance(cell, FrontierCell)
            if defended and left and not estimated:
                estimated = True
                say(
                    f"one cell took {cell.seconds:.0f} s, the other {left} will take about "
                    f"{max(cell.seconds * left / 60, 0.1):.1f} minutes"
                )
        report("done", len(missing), len(missing))
    return [cell for cell in found if cell is not None]


def _provenance(data: Dataset, bench: Bench, seconds: float) -> dict[str, Any]:
    risk, description = bench.risk, describe_data(data)
    lost = not_known(data, risk.adversaries)
    return {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {**description, "not_measured": [*description["not_measured"], *lost]},
        "data_sha256": data.fingerprint,
        "seed": risk.seed,
        "seeds": list(bench.seeds),
        "n_targets": int(risk.targets.size),
        "n_reported": risk.n_reported,
        "n_eligible": risk.n_eligible,
        "adversaries": [{**who.to_dict(), "words": who.words(data)} for who in risk.adversaries],
        "attacks": [one.label for one in attackers(risk.attacks, data, data)],
        "settings": to_plain(bench.settings),
        "held_out": 0.2,
        "wall_seconds": round(seconds, 3),
        "versions": {name: version(name) for name in ("standout", "numpy", "implicit")},
    }


def _awareness(cell: FrontierCell) -> dict[str, float | None]:
    """Hit rates of the naive, of the best unaware and of the adaptive likelihood; None for the undefended data."""
    mine = [t for t in cell.risk.tried if t.adversary == cell.risk.adversary]
    rates = {t.kind: t.found.rate for t in mine if t.kind}
    unaware = [rate for kind, rate in rates.items() if kind != ADAPTIVE]
    return {
        "naive": rates.get(NAIVE),
        "unaware": max(unaware, default=None),
        "adaptive": rates.get(ADAPTIVE),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [x for x in values if x is not None]
    return float(np.mean(known)) if len(known) == len(values) and known else None
