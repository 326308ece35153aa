"""Columns of the release: measured, harmless or not measured. What nobody measured cannot pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from standout.data.catalog import Catalog
from standout.data.reading.columns import listed
from standout.data.whole import MEASURED, Whole, whole_of
from standout.gate.policy import Policy

ROW = "columns"
"""Name of the row of the table."""


def provenance_of(data: Catalog) -> dict[str, Any]:
    """The columns of the released data and the hash of all that it holds, as plain data for the provenance."""
    whole = whole_of(data)
    made: dict[str, Any] = {"columns": column_list(whole), "whole_covers": whole.covers}
    return {**made, "whole_sha256": whole.sha256} if whole.sha256 is not None else made


def column_list(whole: Whole) -> list[dict[str, Any]]:
    """One row per column: name, status ("measured", "harmless", "not measured"), why, and the identifier it looks like.

    The columns of items of a wide matrix are one row: their names are labels of items.
    """
    items = [use for use in whole.columns if use.role == "item"]
    rows = []
    for use in whole.columns:
        if len(items) > 1 and use.role == "item":
            continue
        status = "measured" if use.role in MEASURED else "harmless" if use.role == "harmless" else "not measured"
        why = f"{use.role}: {use.reason}" if status == "measured" else use.reason
        # an item may be a telephone number that was called; it does not name the person of the record
        who = use.identifier if status == "not measured" or use.role == "record" else None
        rows.append({"name": use.name, "status": status, "why": why, "identifier": who})
    if len(items) > 1:
        why = "item: columns of a wide matrix"
        rows.append({"name": f"{len(items):,} columns", "status": "measured", "why": why, "identifier": None})
    return rows


def requirement(columns: Sequence[Mapping[str, Any]], policy: Policy) -> tuple[str, str] | None:
    """Verdict on the columns and the reason; None if the data has no columns that are known.

    A direct identifier fails, named in the policy or not. A column that was not measured is unclear unless the policy
    names it with a reason.
    """
    if not columns:
        return None
    direct = [c for c in columns if c["identifier"]]
    if direct:
        said = ", ".join(f"{listed([c['name']])} ({c['identifier']})" for c in direct[:10])
        return "fail", f"direct identifiers of people: {said}; remove these columns"
    open_ = [c["name"] for c in columns if c["status"] == "not measured" and c["name"] not in policy.unmeasured_columns]
    if open_:
        return "unclear", (
            f"not measured: {listed(open_)}; remove these columns, or accept them with a reason under [unmeasured_columns] "
            "in the policy"
        )
    return "pass", " ".join(_parts(columns, policy))


def column_lines(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text per column."""
    return [f"{listed([c['name']])}: {c['status']} ({c['identifier'] or c['why']})" for c in columns]


def _parts(columns: Sequence[Mapping[str, Any]], policy: Policy) -> Iterator[str]:
    by = {s: [c["name"] for c in columns if c["status"] == s] for s in ("measured", "harmless", "not measured")}
    yield f"measured: {listed(by['measured'])}."
    if by["harmless"]:
        yield f"Harmless: {listed(by['harmless'])}."
    for name in by["not measured"]:
        yield f"Not measured, accepted by the policy: {listed([name])} ({policy.unmeasured_columns[name]})."


def verify_rows(content: Mapping[str, Any], data: Catalog, policy: Policy) -> Iterator[dict[str, str]]:
    """Checks of evidence: the columns of the data given, judged again, and the hash of everything it holds."""
    made, whole = content["provenance"], whole_of(data)
    if (judged := requirement(column_list(whole), policy)) is not None:
        yield {"check": ROW, "verdict": judged[0], "why": judged[1]}
    said = made.get("whole_sha256")
    if said is None and whole.sha256 is None:
        return
    if said is None:
        verdict, why = (
            "unclear",
            "the evidence does not state its hash, so columns that nobody measured may have changed",
        )
    elif whole.sha256 is None:
        verdict, why = "unclear", f"the evidence is about a file, and {whole.covers}"
    elif whole.sha256 == said:
        verdict, why = "pass", f"the same: {whole.covers}"
    else:
        verdict, why = "fail", "it differs from the one that was checked, also where nothing was measured"
    yield {"check": "whole file", "verdict": verdict, "why": why}
