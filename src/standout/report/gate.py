"""The verdict of the release gate: table in the terminal, page for a person to sign, notebook view."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from standout.data.reading.columns import listed
from standout.gate.verdict import not_measured
from standout.report.page import fill
from standout.report.tables import Column, ReportTable
from standout.report.words import percent

if TYPE_CHECKING:
    from rich.console import Console

SENTENCES = {
    "pass": "Every limit of the policy is shown to be kept, and every requirement is met.",
    "fail": "At least one limit of the policy is shown to be exceeded, or a requirement is not met.",
    "unclear": "The measurement shows neither that all limits are kept nor that one is exceeded. Do not release on this verdict.",
}
STYLES = {"pass": "green", "fail": "bold red", "unclear": "yellow"}


def show(verdict: Mapping[str, Any], console: Console) -> None:
    """Print the verdict and one row per limit and requirement."""
    from rich.table import Table as RichTable
    from rich.text import Text

    console.print(
        Text(f"{verdict['verdict'].upper()}  ", style=STYLES[verdict["verdict"]])
        + Text(_sentence(verdict))
    )
    grid = RichTable(box=None, pad_edge=False)
    for name, side in (
        ("verdict", "left"),
        ("limit", "left"),
        ("max", "right"),
        ("n", "right"),
        ("rate", "right"),
        ("bounds", "right"),
        ("why", "left"),
    ):
        grid.add_column(name, justify=side, overflow="fold")  # type: ignore[arg-type]
    for row in verdict["table"]:
        word = Text(row["verdict"], style=STYLES[row["verdict"]])
        grid.add_row(
            word,
            *(Text(cell) for cell in (row["limit"], *_numbers(row))),
            Text(f"{row['why']}{_where(row)}"),
        )
    console.print(grid)
    if columns := verdict["provenance"].get("columns"):
        seen = RichTable("column", "status", "why", box=None, pad_edge=False)
        for row in columns:
            seen.add_row(
                *(
                    Text(cell)
                    for cell in (
                        listed([row["name"]]),
                        row["status"],
                        row["identifier"] or row["why"],
                    )
                )
            )
        console.print(seen)


def page(verdict: Mapping[str, Any], *, title: str | None = None) -> str:
    """HTML text of the page."""
    made = verdict["provenance"]
    facts = [
        ("Verdict", verdict["verdict"]),
        ("Policy", str(verdict["policy"].get("name") or "without a name")),
        ("Policy, SHA-256", made["policy_sha256"]),
        ("Release, SHA-256", made["data_sha256"]),
        *_whole(made),
        *([("Source, SHA-256", made["source_sha256"])] if "source_sha256" in made else []),
        *([("Defense", made["defense"])] if "defense" in made else []),
        ("Random seed", str(made["seed"])),
        ("Measured", made["created"]),
        ("standout", made["versions"]["standout"]),
    ]
    return fill(
        "gate.html.j2",
        it=verdict,
        sentence=_sentence(verdict),
        facts=facts,
        name=str(title or "").strip(),
        limits=_table(verdict),
        columns=_columns(verdict),
        sources=_sources(verdict),
        tests=_tests(verdict),
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
    head = "".join(
        f"<th>{name}</th>" for name in ("verdict", "limit", "max", "n", "rate", "bounds", "why")
    )
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(cell)}</td>"
            for cell in (row["verdict"], row["limit"], *_numbers(row), row["why"])
        )
        + "</tr>"
        for row in verdict["table"]
    )
    return (
        '<div style="max-width: 60rem; background: #ffffff; color: #1b1f24; padding: 0.5rem 1rem">'
        f"<p><strong>{escape(verdict['verdict'].upper())}</strong> {escape(_sentence(verdict))}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _sentence(verdict: Mapping[str, Any]) -> str:
    return " ".join([SENTENCES[verdict["verdict"]], *not_measured(verdict["provenance"])])


def _numbers(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    """Limit, number of targets, rate and bounds of a row, as text."""
    most = "" if row["max"] is None else percent(row["max"])
    n = "" if row["n"] is None else f"{row['n']:,}"
    rate = "" if row["rate"] is None else percent(row["rate"])
    bounds = (
        "" if row["upper"] is None else f"{percent(row['lower'], -1)} – {percent(row['upper'], 1)}"
    )
    return most, n, rate, bounds


def _where(row: Mapping[str, Any]) -> str:
    parts = [row[key] for key in ("adversary", "attack", "group") if row[key]]
    return f" ({'; '.join(parts)})" if parts else ""


def _table(verdict: Mapping[str, Any]) -> ReportTable:
    columns = (
        Column("verdict", "verdict", "text"),
        Column("limit", "limit or requirement", "text"),
        Column("max", "limit", "share"),
        Column("rate", "rate", "share"),
        Column("lower", "at least", "share"),
        Column("upper", "at most", "share"),
        Column("n", "targets", "number"),
        Column("said", "why", "text"),
    )
    rows = tuple({**_blanks(row), "said": f"{row['why']}{_where(row)}"} for row in verdict["table"])
    return ReportTable("limits", "Limits and requirements", columns, rows)


def _whole(made: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The hash of everything that the release holds, or why there is none."""
    if "whole_sha256" in made:
        return [(f"Release, {made['whole_covers']}, SHA-256", made["whole_sha256"])]
    return [("Not covered by a hash", made["whole_covers"])] if "whole_covers" in made else []


def _columns(verdict: Mapping[str, Any]) -> ReportTable | None:
    """Every column of the release; None if the data has none."""
    given = verdict["provenance"].get("columns")
    if not given:
        return None
    columns = (
        Column("name", "column", "text"),
        Column("status", "status", "text"),
        Column("why", "why", "text"),
        Column("identifier", "direct identifier", "text"),
    )
    rows = tuple(
        {**row, "name": listed([row["name"]]), "identifier": row["identifier"] or ""}
        for row in given
    )
    return ReportTable("columns", "Columns of the release", columns, rows)


def _sources(verdict: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the number of each limit comes from."""
    return [
        (row["limit"], row["source"] or "not stated")
        for row in verdict["table"]
        if row["kind"] == "limit"
    ]


def _tests(verdict: Mapping[str, Any]) -> ReportTable:
    columns = (
        Column("verdict", "verdict", "text"),
        Column("limit", "limit", "text"),
        Column("adversary", "knows", "text"),
        Column("attack", "attack", "text"),
        Column("group", "group", "text"),
        Column("n", "targets", "number"),
        Column("rate", "rate", "share"),
        Column("lower", "at least", "share"),
        Column("upper", "at most", "share"),
    )
    return ReportTable(
        "tests", "All tests", columns, tuple(_blanks(row) for row in verdict["tests"])
    )


def _blanks(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with "" for missing texts."""
    texts = ("limit", "measure", "why", "adversary", "attack", "group", "source")
    return {key: "" if x is None and key in texts else x for key, x in row.items()}
