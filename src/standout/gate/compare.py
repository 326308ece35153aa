"""Rows of `verify`: what the evidence says, compared with what the policy, the data and the counts give."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from standout.audit.canonical import canonical
from standout.gate.policy import Policy

Row = dict[str, str]
HEAD = ("adversary", "attack", "group", "source")
"""Parts of a cell that say what it is about; a check has each combination once."""
SHORT = 200
TOLERANCE = 1e-9
"""Relative difference of two p-values or bounds that another machine may cause."""


def row(check: str, verdict: str, why: str) -> Row:
    """One check of a verification."""
    return {"check": check, "verdict": verdict, "why": why}


class EvidenceCells:
    """Cells of evidence, found by what they are about."""

    def __init__(self, cells: Sequence[Mapping[str, Any]]) -> None:
        self.all = cells
        self._index = {_key(cell): k for k, cell in enumerate(cells)}

    def find(self, cell: Mapping[str, Any]) -> int | None:
        """Index of the cell with the same head; None if there is none."""
        return self._index.get(_key(cell))


def _key(cell: Mapping[str, Any]) -> bytes:
    return canonical(_plain({name: cell[name] for name in HEAD if name in cell}))


def _plain(x: Any) -> Any:
    """As in a JSON file: a tuple is a list."""
    return json.loads(json.dumps(x))


def alike(a: Any, b: Any) -> bool:
    """Whether two plain values are equal, numbers with a fraction up to rounding errors.

    >>> alike({"a": [1, 0.1 + 0.2]}, {"a": [1, 0.3]}), alike([1], [True]), alike(1, 2), alike(0.0, 1e-12)
    (True, False, False, False)
    """
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=TOLERANCE)
    return type(a) is type(b) and bool(a == b)


def asked_rows(content: Mapping[str, Any], policy: Policy, planted: bool) -> list[Row]:
    """What the policy asks for and the check was told to leave out."""
    rows = []
    n, wanted = content["provenance"]["targets"], policy.targets
    if n != "all" and (wanted is None or n < wanted):
        asked = "all" if wanted is None else f"{wanted:,}"
        rows.append(
            row(
                "targets",
                "unclear",
                f"the policy asks for {asked} per adversary, and the check had {n:,}",
            )
        )
    if policy.self_test and not planted:
        rows.append(row("self-test", "unclear", "it was switched off"))
    return rows


def derived_row(name: str, said: Any, again: Any, differs: str, other: str) -> Row:
    """Whether a part of the evidence follows from the policy, the data and the counts.

    Parameters
    ----------
    name
        Name of the part.
    said, again
        What the evidence says, and what follows.
    differs
        Verdict if they differ.
    other
        What to add if the evidence was made by another version.
    """
    if alike(said, _plain(again)):
        return row(f"derived {name}", "pass", "follows from the policy, the data and the counts")
    if isinstance(again, str):
        return row(
            f"derived {name}",
            differs,
            f"the counts give {again!r}, and the evidence says {said!r}{other}",
        )
    where = next(
        (k for k, (a, b) in enumerate(zip(said, again, strict=False)) if not alike(a, _plain(b))),
        None,
    )
    given = "what the policy, the data and the counts give"
    why = (
        f"row {where + 1} is not {given}"
        if where is not None
        else f"{len(said)} rows; {len(again)} are {given}"
    )
    return row(f"derived {name}", differs, why + other)


def cell_rows(
    said: EvidenceCells,
    again: Sequence[Mapping[str, Any]],
    chosen: set[int],
    differs: str,
    other: str,
    signed: bool,
) -> list[Row]:
    """Whether the counts are the same, one row per cell that was run again."""
    out = []
    n, every = len(chosen), len(said.all)
    if n < every:
        seen = f"one forged pair would be noticed with a probability of {100 * n / every:.0f}%"
        share = f"{n} of {every} pairs of adversary and attack were run again; {seen}"
        if signed:
            out.append(row("counts", "pass", f"{share}. The signer answers for the others"))
        else:
            out.append(
                row("counts", "unclear", f"{share}. Run all again, or give the key of a signer")
            )
    for cell in again:
        k = said.find(_plain(cell))
        name = f"{cell['attack']['label']}: {cell['adversary']['words']}"[:SHORT]
        if k is None or not alike(dict(said.all[k]), _plain(cell)):
            theirs = {} if k is None else said.all[k]
            first = next(key for key, x in cell.items() if not alike(theirs.get(key), _plain(x)))
            out.append(row(name, differs, f"other counts: {first}{other}"))
        elif k in chosen:
            out.append(row(name, "pass", f"the same counts on {cell['n_targets']:,} targets"))
    return out
