"""`standout report`: findings made readable again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    findings: Annotated[Path, typer.Argument(help="findings.json, or the folder that holds it.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    tables: Annotated[Path | None, typer.Option(help="Folder for the table and the picture of every chart.")] = None,
    formats: Annotated[str, typer.Option(help="What to put there: csv, parquet, svg, png, pdf, json.")] = "csv,svg,png",
    csv: Annotated[
        bool, typer.Option("--csv", help="Print one row per adversary and attack as CSV, and write no page.")
    ] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the answer and the table as Markdown, and write no page.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON, and write no page.")] = False,
) -> None:
    """Make the report anew from findings: one HTML file that needs no network, and exports.

    Example: standout report standout-out/findings.json -o report.html --tables exports --formats csv,pdf
    """
    from standout.audit.findings import Findings
    from standout.errors import ParameterError
    from standout.report import terminal

    wanted = [form for form, given in (("csv", csv), ("markdown", markdown), ("json", json)) if given]
    if len(wanted) > 1:
        raise ParameterError(f"--{' and --'.join(wanted)}: choose one")
    found = Findings.load(findings / "findings.json" if findings.is_dir() else findings)
    if wanted:
        print(terminal.text(found, wanted[0]), end="")
        return
    from rich.console import Console

    from standout.report.charts import charts
    from standout.report.page import export, render

    console = Console(highlight=False)
    terminal.show(found, console)
    console.print(f"report: {render(found, out)}", markup=False, soft_wrap=True)
    if tables is not None:
        written = export(charts(found).values(), tables, [f.strip() for f in formats.split(",")])
        console.print(f"{len(written)} files in {tables}", markup=False, soft_wrap=True)
