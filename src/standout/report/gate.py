"""The verdict of the release gate: table in the terminal, page for a person to sign, notebook view."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from standout.data.reading.columns import shown_names
from standout.gate.verdict import not_measured
from standout.report.page import fill
from standout.report.page import fragment as html_fragment
from standout.report.tables import ReportTable, html_table, make_table
from standout.report.words import percent

if TYPE_CHECKING:
    from rich.console import Console

SENTENCES = {
    "pass": "Every limit of the policy is shown to be kept, and every requirement is met.",
    "fail": "At least one limit of the policy is shown to be exceeded, or a requirement is not met.",
    "unclear": "The measurement shows neither that all limits are kept nor that one is exceeded. Do not release on this verdict.",
}
HEAD = {
    "verdict": "left",
    "limit": "left",
    "max": "right",
    "n": "right",
    "rate": "right",
    "bounds": "right",
    "why": "left",
}
"""Columns of the short table, and the side on which they are aligned."""

STYLES: dict[str, str] = {"pass": "green", "fail": "bold red", "unclear": "yellow"}


def show(verdict: Mapping[str, Any], console: Console) -> None:
    """Print the verdict and one row per limit and requirement."""
    from rich.table import Table as RichTable
    from rich.text import Text

    console.print(
        Text(f"{verdict['verdict'].upper()}  ", style=STYLES[verdict["verdict"]])
        + Text(_sentence(verdict))
    )
    grid = RichTable(box=None, pad_edge=False)
    for name, side in HEAD.items():
        grid.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in verdict["table"]:
        word, *cells = _cells(row)
        cells[-1] += _where(row)
        grid.add_row(Text(word, style=STYLES[word]), *map(Text, cells))
    console.print(grid)
    if columns := verdict["provenance"].get("columns"):
        seen = RichTable("column", "status", "why", box=None, pad_edge=False)
        for row in columns:
            why = row["identifier"] or row["why"]
            seen.add_row(*map(Text, (shown_names([row["name"]]), row["status"], why)))
        console.print(seen)


def page(verdict: Mapping[str, Any], *, title: str | None = None) -> str:
    """HTML text of the page."""
    made = verdict["provenance"]
    facts = {
        "Verdict": verdict["verdict"],
        "Policy": str(verdict["policy"].get("name") or "without a name"),
        "Policy, SHA-256": made["policy_sha256"],
        "Release, SHA-256": made["data_sha256"],
    }
    # everything that the release holds, or why there is no hash of it
    if "whole_sha256" in made:
        facts[f"Release, {made['whole_covers']}, SHA-256"] = made["whole_sha256"]
    elif "whole_covers" in made:
        facts["Not covered by a hash"] = made["whole_covers"]
    if "source_sha256" in made:
        facts["Source, SHA-256"] = made["source_sha256"]
    if "defense" in made:
        facts["Defense"] = made["defense"]
    facts |= {
        "Random seed": str(made["seed"]),
        "Measured": made["created"],
        "standout": made["versions"]["standout"],
    }
    limits = [row for row in verdict["table"] if row["kind"] == "limit"]
    return fill(
        "gate.html.j2",
        it=verdict,
        sentence=_sentence(verdict),
        facts=facts.items(),
        name=str(title or "").strip(),
        limits=make_table(
            "limits",
            [{**_blanks(row), "said": f"{row['why']}{_where(row)}"} for row in verdict["table"]],
        ),
        columns=_columns(verdict),
        sources=[(row["limit"], row["source"] or "not stated") for row in limits],
        tests=make_table("tests", list(map(_blanks, verdict["tests"]))),
        lines=(
            "Decision (release / do not release)",
            "Reason, if it differs from the verdict",
            "Name",
            "Role",
            "Date",
            "Signature",
        ),
    )


def fragment(verdict: Mapping[str, Any]) -> str:
    """A fragment without script or style sheet, on white, for notebooks."""
    word = f"<strong>{escape(verdict['verdict'].upper())}</strong>"
    table = html_table(HEAD, map(_cells, verdict["table"]))
    return html_fragment(f"<p>{word} {escape(_sentence(verdict))}</p>", table, width=60)


def _sentence(verdict: Mapping[str, Any]) -> str:
    return " ".join([SENTENCES[verdict["verdict"]], *not_measured(verdict["provenance"])])


def _cells(row: Mapping[str, Any]) -> list[str]:
    """A row of the short table as text."""
    most, rate = ("" if row[key] is None else percent(row[key]) for key in ("max", "rate"))
    n = "" if row["n"] is None else f"{row['n']:,}"
    bounds = (
        "" if row["upper"] is None else f"{percent(row['lower'], -1)} – {percent(row['upper'], 1)}"
    )
    return [row["verdict"], row["limit"], most, n, rate, bounds, row["why"]]


def _where(row: Mapping[str, Any]) -> str:
    parts = [row[key] for key in ("adversary", "attack", "group") if row[key]]
    return f" ({'; '.join(parts)})" if parts else ""


def _columns(verdict: Mapping[str, Any]) -> ReportTable | None:
    """Every column of the release; None if the data has none."""
    given = verdict["provenance"].get("columns")
    if not given:
        return None
    rows = [
        {**row, "name": shown_names([row["name"]]), "identifier": row["identifier"] or ""}
        for row in given
    ]
    return make_table("columns", rows)


def _blanks(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with "" for missing texts."""
    texts = ("limit", "measure", "why", "adversary", "attack", "group", "source")
    return {key: "" if x is None and key in texts else x for key, x in row.items()}
