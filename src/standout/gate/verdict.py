"""`check`: measure what a policy limits, until every limit is shown to be kept or one is shown to be exceeded.

It is `so.check` in Python and `standout check` on the command line. `run.py` measures, `rows.py`
decides; `verify.py` derives a verdict again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.domain import joined_with_and
from standout.audit.findings import write_whole
from standout.engines.engine import Engine
from standout.experiment.progress import Progress, reporting
from standout.experiment.subject import Data, Protection
from standout.gate.policy import Policy
from standout.gate.run import GateRun
from standout.results import to_plain

if TYPE_CHECKING:
    import pandas as pd

EXIT = {"pass": 0, "fail": 1, "unclear": 3}
"""Exit codes of the command line; 2 is bad input."""

PARTS = ("verdict", "table", "tests", "cells", "policy", "provenance")


def overall(verdicts: list[str]) -> str:
    """One fail makes a fail; else one unclear makes an unclear; nothing at all is unclear.

    >>> overall(["pass", "unclear", "fail"]), overall(["pass", "unclear"]), overall(["pass"]), overall([])
    ('fail', 'unclear', 'pass', 'unclear')
    """
    if "fail" in verdicts:
        return "fail"
    return "pass" if verdicts and set(verdicts) == {"pass"} else "unclear"


@dataclass(frozen=True, eq=False, repr=False)
class GateVerdict:
    """Whether a release keeps a policy.

    `table` has one row per limit and requirement, `tests` one row per limit, adversary, attack and
    group. `to_frame` gives the table as a pandas frame; `save` writes everything as JSON.
    """

    verdict: str
    """"pass": every limit is shown to be kept. "fail": one is shown to be exceeded. "unclear": neither."""
    table: tuple[Mapping[str, Any], ...]
    tests: tuple[Mapping[str, Any], ...]
    cells: tuple[Mapping[str, Any], ...]
    """Per adversary and attack: the counts that the tests are made of."""
    policy: Mapping[str, Any]
    """The policy as it was written."""
    provenance: Mapping[str, Any]

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 3 unclear."""
        return EXIT[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        plain = {name: to_plain(getattr(self, name)) for name in PARTS}
        return {"schema": "standout-verdict", "schema_version": 1, **plain}

    def to_json(self) -> str:
        """The JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False, ensure_ascii=False) + "\n"

    def to_frame(self, tests: bool = False) -> pd.DataFrame:
        """One row per limit and requirement as a pandas frame; one row per test with `tests=True`."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in (self.tests if tests else self.table)])

    def save(self, path: str | Path) -> Path:
        """Write the JSON file, completely or not at all."""
        return write_whole(path, self.to_json())

    def _repr_html_(self) -> str:
        """For notebooks: the verdict and the table."""
        from standout.report.gate import fragment

        return fragment(self.to_dict())

    def __str__(self) -> str:
        rows = "\n".join(f"{row['verdict']:8} {row['limit']}: {row['why']}" for row in self.table)
        return "\n".join([self.verdict, *self.not_measured, rows])

    @property
    def not_measured(self) -> list[str]:
        """A sentence on knowledge that reading made coarser than the file has it; empty if there is none."""
        return not_measured(self.provenance)

    def __repr__(self) -> str:
        return f"<GateVerdict: {self.verdict}, {len(self.table)} limits and requirements>"


Verdict = GateVerdict
"""The earlier name of `GateVerdict`, one letter away from `Verdicts` of an attack."""


def not_measured(provenance: Mapping[str, Any]) -> list[str]:
    """A sentence on knowledge that reading made coarser than the file has it; empty if there is none."""
    parts = provenance.get("not_measured") or []
    return (
        [
            f"Not measured: {joined_with_and(parts)}. The verdict does not hold for {'it' if len(parts) == 1 else 'them'}."
        ]
        if parts
        else []
    )


def check(
    source: Data,
    policy: Policy | Mapping[str, Any] | str | Path,
    *,
    release: Data | None = None,
    defense: Protection | None = None,
    targets: int | str | None = None,
    seed: int = 0,
    engine: str | Engine = "memory",
    progress: Progress | bool | None = None,
) -> GateVerdict:
    """Decide whether a release keeps a policy.

    The verdict is "pass" if every rate that the policy limits is shown to be below its limit,
    "fail" if one is shown to be above it, and "unclear" otherwise. Each of the two statements is
    wrong with a probability of at most 1 - confidence.

    Parameters
    ----------
    source
        The true data of the people: a `Dataset`, or a frame whose columns can be guessed. A dataset
        that a defense made is taken as the release, and its source as the source.
    policy
        Path of a TOML file, a dict with the same keys, or a `Policy`.
    release
        What is published, if it differs from the source. Records are matched by label.
    defense
        What makes the release: an object with `apply(source, seed)`; called when no release is
        given.
    targets
        Number of records to attack per adversary, or "all", in place of the policy's.
    seed
        Random seed.
    engine
        Name of an engine, or an engine.
    progress
        True for a bar on standard error, False for none, None for a bar if standard error is a
        terminal, or a function that is called with (what, queries done, queries in all).
    """
    began = time.perf_counter()
    rules = Policy.of(policy)
    run = GateRun.of(
        source, rules, release=release, defense=defense, targets=targets, seed=seed, engine=engine
    )
    with reporting(progress) as report:
        run.measure(report)
    table, tests = run.decide()
    verdict = overall([row["verdict"] for row in table])
    provenance = run.provenance(time.perf_counter() - began)
    return GateVerdict(
        verdict, tuple(table), tuple(tests), tuple(run.cells()), rules.given, provenance
    )
