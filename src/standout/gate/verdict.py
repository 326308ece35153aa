"""`GateVerdict`: pass, fail or unclear, with the table of limits behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole

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
        plain = {name: _plain(getattr(self, name)) for name in PARTS}
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
        [f"Not measured: {' and '.join(parts)}. The verdict does not hold for it."] if parts else []
    )


def _plain(x: Any) -> Any:
    if isinstance(x, Mapping):
        return {k: _plain(v) for k, v in x.items()}
    return [_plain(v) for v in x] if isinstance(x, list | tuple) else x
