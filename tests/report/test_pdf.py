"""The report as PDF: printed by an installed browser, or refused before anything is written."""

from __future__ import annotations

import pytest
import typer
from made_findings import sweep
from typer.testing import CliRunner

import standout as so
from standout.cli.report import report
from standout.errors import ParameterError
from standout.report import pdf

FOUND = sweep({2: 0.2, 4: 0.6})

app = typer.Typer()
app.command()(report)


@pytest.fixture
def no_browser(monkeypatch):
    monkeypatch.setattr(pdf, "find_browser", lambda: None)
    monkeypatch.setattr(pdf, "_playwright_browser", lambda: None)


@pytest.fixture
def saved(tmp_path):
    return FOUND.save(tmp_path / "in" / "findings.json")


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_without_a_browser_the_error_says_what_to_install(no_browser, tmp_path):
    with pytest.raises(ParameterError, match="apt-get install"):
        so.render_pdf(FOUND, tmp_path / "out" / "report.pdf")
    assert not (tmp_path / "out").exists()


def test_a_pdf_that_cannot_be_made_stops_the_report_before_it_is_written(
    no_browser, saved, tmp_path
):
    done = run(saved, "-o", tmp_path / "report.html", "--pdf")
    assert isinstance(done.exception, ParameterError)
    assert not (tmp_path / "report.html").exists()


def test_an_unknown_format_stops_the_report_before_it_is_written(saved, tmp_path):
    done = run(
        saved, "-o", tmp_path / "report.html", "--tables", tmp_path / "t", "--formats", "csv,docx"
    )
    assert isinstance(done.exception, ParameterError) and "docx" in str(done.exception)
    assert [p.name for p in tmp_path.iterdir()] == ["in"]


@pytest.mark.browser
def test_a_pdf_is_printed_whole(saved, tmp_path):
    if pdf.find_browser() is None:
        pytest.skip("no chromium here: apt-get install chromium")
    done = run(saved, "-o", tmp_path / "report.html", "--pdf", "--title", "Loans")
    assert done.exit_code == 0, done.output
    data = (tmp_path / "report.pdf").read_bytes()
    assert data.startswith(b"%PDF") and data.rstrip().endswith(b"%%EOF") and len(data) > 20_000
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in", "report.html", "report.pdf"]
