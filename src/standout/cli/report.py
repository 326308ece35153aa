"""`standout report`: write the report again from saved findings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    findings: Annotated[
        Path, typer.Argument(help="findings.json, or the folder that contains it.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[
        str | None,
        typer.Option(
            help="Name of the dataset, shown in the title. Default: the one given to the audit."
        ),
    ] = None,
    prior: Annotated[
        float,
        typer.Option(
            help="Assumed share of people in the data among those whom an attacker looks up, for linkability."
        ),
    ] = 0.1,
    pdf: Annotated[
        bool, typer.Option("--pdf", help="Write a PDF beside the HTML file. Needs chromium.")
    ] = False,
    tables: Annotated[
        Path | None,
        typer.Option(help="Folder to write the table and the picture of every chart to."),
    ] = None,
    formats: Annotated[
        str, typer.Option(help="Formats to write there: csv, parquet, svg, png, pdf, json.")
    ] = "csv,svg,png",
    csv: Annotated[
        bool,
        typer.Option(
            "--csv", help="Print one row per adversary and attack as CSV, and write no file."
        ),
    ] = False,
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown", help="Print the answer and the table as Markdown, and write no file."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print the findings as JSON, and write no file.")
    ] = False,
) -> None:
    """Write the report from saved findings: one HTML file that works offline, a PDF, and exports.

    Example: standout report standout-out/findings.json -o report.html --pdf --tables exports
    --formats csv,pdf
    """
    from standout.audit.findings import Findings
    from standout.errors import ParameterError
    from standout.report import terminal

    wanted = [
        form for form, given in (("csv", csv), ("markdown", markdown), ("json", json)) if given
    ]
    if len(wanted) > 1:
        raise ParameterError(f"--{' and --'.join(wanted)}: choose one")
    source = findings / "findings.json" if findings.is_dir() else findings
    found = Findings.load(source)
    if wanted:
        print(terminal.text(found, wanted[0], prior), end="")
        return
    from rich.console import Console

    from standout.cli.outputs import refuse_inputs
    from standout.report.charts import charts
    from standout.report.page import check_forms, export, render
    from standout.report.pdf import check_browser, render_pdf

    # check all options before the first file is written
    forms = check_forms(f.strip() for f in formats.split(",") if f.strip())
    if pdf and out.suffix == ".pdf":
        raise ParameterError(
            f"--out {str(out)!r}: name the HTML file; the PDF gets the same name with .pdf"
        )
    refuse_inputs([out, out.with_suffix(".pdf") if pdf else None], [source])
    if pdf:
        check_browser()
    console = Console(highlight=False)
    terminal.show(found, console, prior)
    console.print(
        f"report: {render(found, out, title=title, prior=prior)}", markup=False, soft_wrap=True
    )
    if pdf:
        made = render_pdf(found, out.with_suffix(".pdf"), title=title, prior=prior)
        console.print(f"PDF: {made}", markup=False, soft_wrap=True)
    if tables is not None:
        written = export(charts(found).values(), tables, forms)
        console.print(f"{len(written)} files in {tables}", markup=False, soft_wrap=True)
