"""Columns of the release: measured, harmless or not measured. What nobody measured cannot pass."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from standout.data.catalog import Catalog
from standout.data.identifiers import kind_of_labels
from standout.data.reading.columns import shown_names
from standout.data.whole import Whole, whole_of
from standout.gate.policy import Policy

ROW = "columns"
"""Name of the row of the table."""


def provenance_of(data: Catalog, known: Collection[str]) -> dict[str, Any]:
    """The columns of the released data and the hash of all that it holds, as plain data for the provenance.

    Parameters
    ----------
    data
        What is released.
    known
        Names of the channels that the policy's adversaries know (`known_channels`).
    """
    whole = whole_of(data)
    columns = column_list(whole, known)
    # a phone number that was called does not name the person of the record
    if (kind := kind_of_labels(data.item_labels)) == "e-mail address":
        items = [row for row in columns if row["why"].startswith("item:")]
        if not items:
            items = [_column("items", "measured", "item: labels of items")]
            columns += items
        for row in items:
            row["identifier"] = kind
    made: dict[str, Any] = {"columns": columns, "whole_covers": whole.covers}
    return {**made, "whole_sha256": whole.sha256} if whole.sha256 is not None else made


def _column(name: str, status: str, why: str, identifier: str | None = None) -> dict[str, Any]:
    return {"name": name, "status": status, "why": why, "identifier": identifier}


def column_list(whole: Whole, known: Collection[str]) -> list[dict[str, Any]]:
    """One row per column: name, status ("measured", "harmless", "not measured"), why, and the identifier it looks like.

    The columns of items of a wide matrix are one row: their names are labels of items. What is read is measured if it
    is in `known` or names the record.
    """
    items = [use for use in whole.columns if use.role == "item"]
    rows = []
    for use in whole.columns:
        if use.is_read and (use.role != "item" or len(items) == 1):
            # an item may be a telephone number that was called; it does not name the person of the
            # record
            who = use.identifier if use.role == "record" or use.further else None
            rows.append(_read_column(use.name, use.role, use.reason, known, who))
        elif not use.is_read:
            status = "harmless" if use.role == "harmless" else "not measured"
            who = use.identifier if status == "not measured" else None
            rows.append(_column(use.name, status, use.reason, who))
    if len(items) > 1:
        rows.append(
            _read_column(f"{len(items):,} columns", "item", "columns of a wide matrix", known)
        )
    return rows


def _read_column(
    name: str, role: str, reason: str, known: Collection[str], identifier: str | None = None
) -> dict[str, Any]:
    if role == "record" or role.rpartition(" ")[2] in known:
        return _column(name, "measured", f"{role}: {reason}", identifier)
    why = f"{role}: no adversary of a limit on risk knows it"
    return _column(name, "not measured", why, identifier)


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
    if direct := [c for c in columns if c["identifier"]]:
        named = ", ".join(f"{shown_names([c['name']])} ({c['identifier']})" for c in direct[:10])
        return "fail", f"direct identifiers of people: {named}; remove these columns"
    accepted = policy.unmeasured_columns
    by_status: dict[str, list[str]] = {"measured": [], "harmless": [], "not measured": []}
    for column in columns:
        by_status[column["status"]].append(column["name"])
    measured, harmless, unmeasured = by_status.values()
    if missing := [name for name in unmeasured if name not in accepted]:
        return "unclear", (
            f"not measured: {shown_names(missing)}; remove these columns, let an adversary of the policy know them, or accept "
            "them with a reason under [unmeasured_columns] in the policy"
        )
    parts = [f"measured: {shown_names(measured)}."]
    if harmless:
        parts.append(f"Harmless: {shown_names(harmless)}.")
    for name in unmeasured:
        parts.append(
            f"Not measured, accepted by the policy: {shown_names([name])} ({accepted[name]})."
        )
    return "pass", " ".join(parts)


def column_lines(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """One line of text per column."""
    return [
        f"{shown_names([c['name']])}: {c['status']} ({c['identifier'] or c['why']})"
        for c in columns
    ]


def verify_rows(
    content: Mapping[str, Any], data: Catalog, policy: Policy, known: Collection[str]
) -> Iterator[dict[str, str]]:
    """Checks of evidence: the columns of the data given, judged again, and the hash of everything it holds."""
    made, whole = content["provenance"], whole_of(data)
    if (judged := requirement(column_list(whole, known), policy)) is not None:
        yield {"check": ROW, "verdict": judged[0], "why": judged[1]}
    stated = made.get("whole_sha256")
    if stated is None and whole.sha256 is None:
        return
    if stated is None:
        why = (
            "the evidence does not state its hash, so columns that nobody measured may have changed"
        )
    elif whole.sha256 is None:
        why = f"the evidence is about a file, and {whole.covers}"
    elif whole.sha256 == stated:
        why = f"the same: {whole.covers}"
    else:
        why = "it differs from the one that was checked, also where nothing was measured"
    both = stated is not None and whole.sha256 is not None
    verdict = ("pass" if whole.sha256 == stated else "fail") if both else "unclear"
    yield {"check": "whole file", "verdict": verdict, "why": why}
