"""The report in a terminal: three sentences, a compact table, sparklines; and the same as text for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from standout.audit.findings import Findings
from standout.report.sentences import answer
from standout.report.view import Case, View, view
from standout.report.words import number, percent, sparkline

if TYPE_CHECKING:
    from rich.console import Console

FORMS = ("text", "json", "csv", "markdown")


def show(findings: Findings, console: Console | None = None) -> None:
    """Print what was found: the answer, one row per kind of knowledge, warnings."""
    from rich.console import Console as RichConsole
    from rich.text import Text

    out = console or RichConsole()
    seen = view(findings)
    for sentence in answer(seen).sentences:
        out.print(Text(sentence), soft_wrap=not out.is_terminal)
    out.print()
    out.print(_risk_table(seen))
    out.print(Text(_footnote(seen), style="dim"), soft_wrap=not out.is_terminal)
    for warning in seen.warnings:
        out.print(Text(f"Note: {warning}", style="yellow"), soft_wrap=not out.is_terminal)


def text(findings: Findings, form: str) -> str:
    """Findings as json, csv (one row per adversary and attack) or markdown."""
    from standout.errors import ParameterError

    if form == "json":
        return findings.to_json()
    if form == "csv":
        return to_csv(findings)
    if form == "markdown":
        return to_markdown(findings)
    raise ParameterError(f"no form {form!r}. Forms: {', '.join(FORMS[1:])}")


def to_csv(findings: Findings) -> str:
    """One row per adversary and attack, unrounded; no cell can run as a formula."""
    from standout.report.tables import csv_text

    frame = findings.to_frame()
    return csv_text(
        list(frame.columns), ([None if x != x else x for x in row] for row in frame.itertuples(index=False))
    )


def to_markdown(findings: Findings) -> str:
    """The three sentences and the table."""
    seen = view(findings)
    head, rows = _rows(seen)
    lines = ["| " + " | ".join(row) + " |" for row in [_one_line(head), ["---", *["---:"] * (len(head) - 1)], *rows]]
    notes = [f"Note: {w}" for w in seen.warnings]
    return "\n\n".join([*answer(seen).sentences, "\n".join(lines), _footnote(seen), *notes]) + "\n"


def _one_line(head: list[str]) -> list[str]:
    return [title.replace("\n", " (", 1) + ")" if "wrong" in title else title.replace("\n", " ") for title in head]


def _risk_table(seen: View) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    head, rows = _rows(seen)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for k, title in enumerate(head):
        table.add_column(Text(title), justify="left" if k in (0, len(head) - 2) else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    return table


def _rows(seen: View) -> tuple[list[str], list[list[str]]]:
    """One row per kind of knowledge: hit rate by number of known items, the last one's attack and false matches."""
    head = ["known of the person", *(_amount(seen, n) for n in seen.amounts)]
    curves = len(seen.amounts) > 1
    if curves:
        head.append("")
    head += ["strongest\nattack", "false\nmatch"]
    rows = []
    for kind in seen.kinds:
        by_amount = {c.knows: c for c in seen.of_kind(kind)}
        last = by_amount[max(by_amount)]
        rates = [by_amount[n].hit["rate"] if n in by_amount else None for n in seen.amounts]
        row = [kind, *("–" if p is None else percent(p) for p in rates)]
        if curves:
            row.append(sparkline(rates))
        rows.append([*row, last.attack, false_match(last)])
    return head, rows


def _amount(seen: View, n: int) -> str:
    wrong = {c.adversary["wrong"] for c in seen.cases if c.knows == n}
    several = f"{n} item{'s' if n > 1 else ''}"
    return several if len(wrong) > 1 or wrong == {0} else f"{several}\n{wrong.pop()} wrong"


def false_match(case: Case) -> str:
    """False-match rate at the threshold that was set on the calibration half; – where there was none."""
    tuned = case.result["calibrated"]
    return "–" if tuned is None else percent(tuned["false_match"]["rate"])


def _footnote(seen: View) -> str:
    case = seen.cases[0]
    attacks = f"{len(seen.attacks)} attack{'s' if len(seen.attacks) > 1 else ''}"
    last = f" at {max(seen.amounts)} items" if len(seen.amounts) > 1 else ""
    return (
        f"Share of people whose record came first, by the strongest of {attacks}; {number(case.hit['n'])} people per cell, "
        f"random guess {percent(case.random)}. False match{last}: somebody is named although the person is not in the data."
    )
