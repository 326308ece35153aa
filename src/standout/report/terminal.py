"""The report in a terminal: three sentences, a compact table, sparklines; also as CSV, JSON and Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standout.audit.findings import Findings
from standout.report import aware
from standout.report.knowledge_words import amount_words, kind_words
from standout.report.linkability import PRIOR
from standout.report.next_steps import next_steps
from standout.report.sentences import answer
from standout.report.view import (
    Case,
    Plain,
    View,
    view,
    weaker_first,
    why_falling,
)
from standout.report.words import percent, sparkline

if TYPE_CHECKING:
    from rich.console import Console

FORMS = ("text", "json", "csv", "markdown")


def show(findings: Findings, console: Console | None = None, prior: float = PRIOR) -> None:
    """Print what was found: the answer, one row per adversary, warnings."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    out = console or RichConsole()
    seen = view(findings)
    for sentence in answer(seen, prior).sentences:
        out.print(Text(sentence), soft_wrap=not out.is_terminal)
    out.print()
    out.print(_risk_table(seen))
    out.print(Text(_footnote(seen), style="dim"), soft_wrap=not out.is_terminal)
    if rows := aware.cells(seen):
        out.print()
        out.print(_plain_table(aware.HEAD, rows))
        out.print(Text(aware.TEXT, style="dim"), soft_wrap=not out.is_terminal)
    for warning in seen.warnings:
        out.print(Text(f"Note: {warning}", style="yellow"), soft_wrap=not out.is_terminal)
    for step in next_steps(seen):
        out.print(Text(f"Next: {step}"), soft_wrap=not out.is_terminal)


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
    rule = ["---" if k in LEFT or title == "strongest" else "---:" for k, title in enumerate(HEAD)]
    rows = _without_of_all(seen, [HEAD, rule, *_rows(seen, repeat=True)])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = [
        *(f"Note: {w}" for w in seen.warnings),
        *(f"Next: {step}" for step in next_steps(seen)),
    ]
    known = aware.cells(seen)
    table = [
        "| " + " | ".join(row) + " |"
        for row in [aware.HEAD, ["---", "---:", "---:", "---:"], *known]
    ]
    both = ["\n".join(table), aware.TEXT] if known else []
    return (
        "\n\n".join(
            [*answer(seen, prior).sentences, "\n".join(lines), _footnote(seen), *both, *notes]
        )
        + "\n"
    )


HEAD = ["known of the person", "items", "unique", "sure", "found", "of all", "strongest", "false"]
OF_ALL = HEAD.index("of all")
"""Column that is left out if everybody holds enough items."""
LEFT = (0, 1)
"""Columns that are left-aligned, beside the strongest attack."""


def _risk_table(seen: View) -> Any:
    head, *rows = _without_of_all(seen, [HEAD, *_rows(seen)])
    attack = head.index("strongest")
    return _plain_table(head, rows, (*LEFT, attack), (0, attack))


def _everybody(seen: View) -> bool:
    return all(c.eligible_share == 1 for c in seen.cases)


def _without_of_all(seen: View, rows: list[list[str]]) -> list[list[str]]:
    return [row[:OF_ALL] + row[OF_ALL + 1 :] for row in rows] if _everybody(seen) else rows


def _plain_table(
    head: list[str],
    rows: list[list[str]],
    left: tuple[int, ...] = (0,),
    wraps: tuple[int, ...] = (0,),
) -> Any:
    """A table without frame; the columns `left` are left-aligned. Only the columns `wraps` may wrap: a cut number misleads."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for k, title in enumerate(head):
        side: Any = "left" if k in left else "right"
        widest = None if k in wraps else max(map(len, [title, *(row[k] for row in rows)]))
        table.add_column(
            Text(title), justify=side, no_wrap=k not in wraps, overflow="fold", min_width=widest
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _rows(seen: View, repeat: bool = False) -> list[list[str]]:
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
        cases = sorted(group, key=lambda c: (c.knows, c.adversary["wrong"]))
        curve = [float(c.hit["rate"]) for c in cases if not c.adversary["wrong"]]
        heads = [kind, sparkline(curve) if len(curve) > 1 else "", *[""] * len(cases)]
        rows += [
            [kind if repeat else head, *_cells(case)]
            for head, case in zip(heads, cases, strict=False)
        ]
    return rows


def _cells(case: Case) -> list[str]:
    return [
        amount_words(case.adversary),
        *(_rate(case.measure(name)) for name in ("unique", "sure", "found")),
        percent(case.hit_all["rate"]),
        case.attack,
        false_match(case),
    ]


def _rate(rate: Plain | None) -> str:
    return "–" if rate is None else percent(rate["rate"])


def false_match(case: Case) -> str:
    """False-match rate at the threshold set on the calibration half; – if there is none."""
    tuned = case.result["calibrated"]
    return "–" if tuned is None else percent(tuned["false_match"]["rate"])


def _footnote(seen: View) -> str:
    attacks = f"{len(seen.attacks)} attack{'s' if len(seen.attacks) > 1 else ''}"
    few, many = (end(int(c.hit["n"]) for c in seen.cases) for end in (min, max))
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
