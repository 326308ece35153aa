"""The report in a terminal: three sentences, a compact table, sparklines; also as CSV, JSON and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standout.audit.findings import Findings
from standout.report.knowledge_words import amount_words, kind_words
from standout.report.sections import AWARENESS, awareness_cells
from standout.report.sentences import PRIOR, next_steps, write_statements
from standout.report.view import (
    Case,
    FindingsView,
    view,
    weaker_first,
    why_falling,
)
from standout.report.words import percent, several, sparkline

if TYPE_CHECKING:
    from rich.console import Console

FORMS = ("text", "json", "csv", "markdown")


def show(findings: Findings, console: Console | None = None, prior: float = PRIOR) -> None:
    """Print what was found: the answer, one row per adversary, warnings."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    out = console or RichConsole()
    seen = view(findings)

    def say(words: str, style: str = "") -> None:
        out.print(Text(words, style=style), soft_wrap=not out.is_terminal)

    for sentence in write_statements(seen, prior):
        say(sentence)
    out.print()
    out.print(_plain_table(_risk_rows(seen)))
    say(_footnote(seen), "dim")
    if known := awareness_cells(seen):
        out.print()
        out.print(_plain_table(known))
        say(AWARENESS, "dim")
    for warning in seen.warnings:
        say(f"Note: {warning}", "yellow")
    for step in next_steps(seen):
        say(f"Next: {step}")


def text(findings: Findings, form: str, prior: float = PRIOR) -> str:
    """Findings as json, csv (one row per adversary and attack) or markdown."""
    from standout.errors import ParameterError

    if form == "json":
        return findings.to_json()
    if form == "csv":
        return to_csv(findings)
    if form == "markdown":
        return to_markdown(findings, prior)
    raise ParameterError(f"no form {form!r}. Forms: {', '.join(FORMS[1:])}")


def to_csv(findings: Findings) -> str:
    """One row per adversary and attack, unrounded; no cell can run as a formula."""
    from standout.report.tables import csv_text

    frame = findings.to_frame()
    return csv_text(
        list(frame.columns),
        ([None if x != x else x for x in row] for row in frame.itertuples(index=False)),
    )


def to_markdown(findings: Findings, prior: float = PRIOR) -> str:
    """The three sentences and the table."""
    seen = view(findings)
    parts = [
        *write_statements(seen, prior),
        _markdown(_risk_rows(seen, repeat=True)),
        _footnote(seen),
    ]
    if known := awareness_cells(seen):
        parts += [_markdown(known), AWARENESS]
    parts += [f"Note: {w}" for w in seen.warnings]
    parts += [f"Next: {step}" for step in next_steps(seen)]
    return "\n\n".join(parts) + "\n"


def _markdown(rows: list[list[str]]) -> str:
    """Lines of a Markdown table; the first row is the heading."""
    rule = ["---" if title in LEFT else "---:" for title in rows[0]]
    return "\n".join(f"| {' | '.join(row)} |" for row in [rows[0], rule, *rows[1:]])


HEAD = ["known of the person", "items", "unique", "sure", "found", "of all", "strongest", "false"]
OF_ALL = HEAD.index("of all")
"""Column that is left out if everybody holds enough items."""
WRAPS = ("known of the person", "strongest")
"""Columns that may wrap; a cut number misleads."""
LEFT = (*WRAPS, "items")
"""Columns that are left-aligned."""


def _everybody(seen: FindingsView) -> bool:
    return all(c.eligible_share == 1 for c in seen.cases)


def _risk_rows(seen: FindingsView, repeat: bool = False) -> list[list[str]]:
    """The heading and one row per adversary; without the share of all people if everybody holds enough items."""
    rows = [HEAD, *_rows(seen, repeat)]
    return [row[:OF_ALL] + row[OF_ALL + 1 :] for row in rows] if _everybody(seen) else rows


def _plain_table(rows: list[list[str]]) -> Any:
    """A table without frame; the first row is the heading."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for k, title in enumerate(rows[0]):
        table.add_column(
            Text(title),
            justify="left" if title in LEFT else "right",
            no_wrap=title not in WRAPS,
            overflow="fold",
            min_width=None if title in WRAPS else max(len(row[k]) for row in rows),
        )
    for row in rows[1:]:
        table.add_row(*map(Text, row))
    return table


def _rows(seen: FindingsView, repeat: bool) -> list[list[str]]:
    """One row per adversary, grouped by kind of knowledge, the most exact first.

    The kind is in the first row of its group (`repeat`: in each row), a sparkline over the right
    facts in the second.
    """
    groups: dict[str, list[Case]] = {}
    for case in sorted(seen.cases, key=weaker_first):
        groups.setdefault(kind_words(case.adversary), []).append(case)
    rows = []
    for kind, group in sorted(
        groups.items(), key=lambda g: weaker_first(g[1][-1])[1:], reverse=True
    ):
        cases = sorted(group, key=lambda c: (c.knows, c.entry.adversary.wrong))
        curve = [c.hit.rate for c in cases if not c.entry.adversary.wrong]
        heads = [kind, sparkline(curve) if len(curve) > 1 else "", *[""] * len(cases)]
        rows += [
            [kind if repeat else head, *_cells(case)]
            for head, case in zip(heads, cases, strict=False)
        ]
    return rows


def _cells(case: Case) -> list[str]:
    # false matches at the threshold set on the calibration half
    false = case.calibrated.false_match if case.calibrated else None
    rates = [*map(case.measure, ("unique", "sure", "found")), case.hit_all, false]
    shares = ["–" if rate is None else percent(rate.rate) for rate in rates]
    return [amount_words(case.adversary), *shares[:-1], case.attack, shares[-1]]


def _footnote(seen: FindingsView) -> str:
    attacks = several(len(seen.attacks), "attack")
    few, many = (end(c.hit.n for c in seen.cases) for end in (min, max))
    tested = f"{many:,}" if few == many else f"{few:,} to {many:,}"
    of_all = (
        ""
        if _everybody(seen)
        else "Of all: found, as a share of all people; those with too few items count as not found. "
    )
    return (
        "Of people with enough items: unique, no other record fits what is known; sure, the attacker names the right record and "
        "is at least 95% sure, although half of those looked up may not be in the data; found, the best guess of the strongest "
        f"of {attacks} is right. {of_all}False: somebody is named although the person is not in the data. {tested} people tested "
        f"per row; a random guess finds {percent(seen.cases[0].random)}. {why_falling(seen)}"
    ).strip()
