"""Columns of the release: measured, harmless or not measured. What nobody measured cannot pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from standout.data.catalog import Catalog
from standout.data.identifiers import kind_of_labels
from standout.data.reading.columns import listed
from standout.data.whole import MEASURED, Whole, whole_of
from standout.gate.policy import Policy

ROW = "columns"
"""Name of the row of the table."""


def provenance_of(data: Catalog) -> dict[str, Any]:
    """The columns of the released data and the hash of all that it holds, as plain data for the provenance."""
    whole = whole_of(data)
    columns = _with_named_items(column_list(whole), data)
    made: dict[str, Any] = {"columns": columns, "whole_covers": whole.covers}
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
        status = (
            "measured"
            if use.role in MEASURED
            else "harmless"
            if use.role == "harmless"
            else "not measured"
        )
        why = f"{use.role}: {use.reason}" if status == "measured" else use.reason
        # an item may be a telephone number that was called; it does not name the person of the
        # record
        who = use.identifier if status == "not measured" or use.role == "record" else None
        rows.append({"name": use.name, "status": status, "why": why, "identifier": who})
    if len(items) > 1:
        why = "item: columns of a wide matrix"
        rows.append(
            {
                "name": f"{len(items):,} columns",
                "status": "measured",
                "why": why,
                "identifier": None,
            }
        )
    return rows


def _with_named_items(columns: list[dict[str, Any]], data: Catalog) -> list[dict[str, Any]]:
    """The columns, with a direct identifier where a label of an item holds an e-mail address."""
    # a phone number that was called does not name the person of the record
    if (kind := kind_of_labels(data.item_labels)) != "e-mail address":
        return columns
    named = {"identifier": kind}
    items = [c for c in columns if c["why"].startswith("item:")]
    if not items:
        return [
            *columns,
            {"name": "items", "status": "measured", "why": "item: labels of items", **named},
        ]
    return [{**c, **named} if c in items else c for c in columns]


def dropped_rows(data: Catalog) -> tuple[str, str] | None:
    """Verdict on rows of the release that no attack saw, and the reason; None if there are none.

    The file is published with these rows, whatever they hold.
    """
    seen = data.cleaning
    kinds = {
        "without a record": seen.rows_without_record,
        "without an item": seen.rows_without_item,
        "that cannot be read": seen.rows_bad,
    }
    parts = [f"{n:,} {words}" for words, n in kinds.items() if n]
    if not parts:
        return None
    return "unclear", f"rows that were not measured: {', '.join(parts)}; remove them from the file"


def requirement(columns: Sequence[Mapping[str, Any]], policy: Policy) -> tuple[str, str] | None:
    """Verdict on the columns and the reason; None if the data has no columns that are known.

    A direct identifier fails, named in the policy or not. A column that was not measured is unclear
    unless the policy names it with a reason.
    """
    if not columns:
        return None
    direct = [c for c in columns if c["identifier"]]
    if direct:
        said = ", ".join(f"{listed([c['name']])} ({c['identifier']})" for c in direct[:10])
        return "fail", f"direct identifiers of people: {said}; remove these columns"
    open_ = [
        c["name"]
        for c in columns
        if c["status"] == "not measured" and c["name"] not in policy.unmeasured_columns
    ]
    if open_:
        return "unclear", (
            f"not measured: {listed(open_)}; remove these columns, or accept them with a reason under [unmeasured_columns] "
            "in the policy"
        )
    return "pass", " ".join(_parts(columns, policy))


def column_lines(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text per column."""
    return [
        f"{listed([c['name']])}: {c['status']} ({c['identifier'] or c['why']})" for c in columns
    ]


def _parts(columns: Sequence[Mapping[str, Any]], policy: Policy) -> Iterator[str]:
    by = {
        s: [c["name"] for c in columns if c["status"] == s]
        for s in ("measured", "harmless", "not measured")
    }
    yield f"measured: {listed(by['measured'])}."
    if by["harmless"]:
        yield f"Harmless: {listed(by['harmless'])}."
    for name in by["not measured"]:
        yield f"Not measured, accepted by the policy: {listed([name])} ({policy.unmeasured_columns[name]})."


def verify_rows(
    content: Mapping[str, Any], data: Catalog, policy: Policy
) -> Iterator[dict[str, str]]:
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
        verdict, why = (
            "fail",
            "it differs from the one that was checked, also where nothing was measured",
        )
    yield {"check": "whole file", "verdict": verdict, "why": why}
