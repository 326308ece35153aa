"""`standout report`: write the report again from saved findings. `app.py` calls it by name."""

from __future__ import annotations

from pathlib import Path

from standout.cli.options import command
from standout.cli.outputs import check_file
from standout.errors import ParameterError


@command()
def report(
    findings: Path,
    /,
    out: Path = Path("report.html"),
    title: str | None = None,
    prior: float = 0.1,
    pdf: bool = False,
    tables: Path | None = None,
    formats: str = "csv,svg,png",
    csv: bool = False,
    markdown: bool = False,
    json: bool = False,
) -> None:
    """Write the report from saved findings: one HTML file that works offline, a PDF, and exports.

    Example: standout report standout-out/findings.json -o report.html --pdf --tables exports
    --formats csv,pdf

    Parameters
    ----------
    findings
        findings.json, or the folder that contains it.
    out
        HTML file to write.
    title
        Name of the dataset, shown in the title. Default: the one given to the audit.
    prior
        Assumed share of people in the data among those whom an attacker looks up, for linkability.
    pdf
        Write a PDF beside the HTML file. Needs chromium.
    tables
        Folder to write the table and the picture of every chart to.
    formats
        Formats to write there: csv, parquet, svg, png, pdf, json.
    csv
        Print one row per adversary and attack as CSV, and write no file.
    markdown
        Print the answer and the table as Markdown, and write no file.
    json
        Print the findings as JSON, and write no file.
    """
    from standout.audit.findings import Findings
    from standout.report import terminal

    forms = {"csv": csv, "markdown": markdown, "json": json}
    wanted = [form for form, given in forms.items() if given]
    if len(wanted) > 1:
        raise ParameterError(f"--{' and --'.join(wanted)}: choose one")
    source = findings / "findings.json" if findings.is_dir() else findings
    if not source.exists() and (findings / "frontier.json").exists():
        raise ParameterError(
            f"{str(findings)!r} holds a frontier; its report is frontier.html, in the same folder"
        )
    found = Findings.load(source)
    if wanted:
        print(terminal.text(found, wanted[0], prior), end="")
        return
    from rich.console import Console

    from standout.report.charts import charts
    from standout.report.page import check_forms, export, render
    from standout.report.pdf import check_browser, render_pdf

    # check all options before the first file is written
    exported = check_forms(f.strip() for f in formats.split(",") if f.strip())
    if pdf and out.suffix == ".pdf":
        raise ParameterError(
            f"--out {str(out)!r}: name the HTML file; the PDF gets the same name with .pdf"
        )
    check_file(out, [source])
    check_file(out.with_suffix(".pdf") if pdf else None, [source])
    if pdf:
        check_browser()
    console = Console(highlight=False)
    terminal.show(found, console, prior)
    console.print(
        f"report: {render(found, out, title=title, prior=prior)}", markup=False, soft_wrap=True
    )
    if pdf:
        pdf_file = render_pdf(found, out.with_suffix(".pdf"), title=title, prior=prior)
        console.print(f"PDF: {pdf_file}", markup=False, soft_wrap=True)
    if tables is not None:
        written = export(charts(found).values(), tables, exported)
        console.print(f"{len(written)} files in {tables}", markup=False, soft_wrap=True)
