"""`standout audit --title --pdf`: the title is shown and recorded, and a PDF lies beside the report or is refused first."""

from __future__ import annotations

import json

import pytest

from standout.report import pdf

QUICK = ("--targets", "20", "--attacks", "scoreboard", "--knows", "2", "--wrong", "0")


@pytest.fixture
def no_browser(monkeypatch):
    monkeypatch.setattr(pdf, "find_browser", lambda: None)
    monkeypatch.setattr(pdf, "_playwright_browser", lambda: None)


@pytest.fixture
def printer(monkeypatch):
    """A browser that writes what it was given to print into the PDF."""
    monkeypatch.setattr(pdf, "find_browser", lambda: "a browser")
    monkeypatch.setattr(
        pdf, "print_page", lambda source, target: target.write_bytes(b"%PDF-" + source.read_bytes())
    )


def test_a_title_is_shown_on_the_page_and_recorded_in_the_findings(ratings, tmp_path, run):
    code, _, said = run(
        "audit", ratings, "--out", tmp_path / "o", "--title", "Loans <2019> & later", *QUICK
    )
    assert code == 0, said
    page = (tmp_path / "o" / "report.html").read_text()
    head = page[page.index("<title>") : page.index("</title>")]
    assert "Loans &lt;2019&gt; &amp; later" in head and "Loans <2019>" not in page
    assert (
        json.loads((tmp_path / "o" / "findings.json").read_text())["provenance"]["title"]
        == "Loans <2019> & later"
    )


def test_without_a_title_none_is_recorded(ratings, tmp_path, run):
    assert run("audit", ratings, "--out", tmp_path / "o", *QUICK)[0] == 0
    assert "title" not in json.loads((tmp_path / "o" / "findings.json").read_text())["provenance"]
    assert sorted(p.name for p in (tmp_path / "o").iterdir()) == ["findings.json", "report.html"]


def test_a_pdf_of_the_titled_report_lies_beside_the_page(printer, ratings, tmp_path, run):
    out = tmp_path / "o"
    code, shown, said = run("audit", ratings, "--out", out, "--pdf", "--title", "Loans", *QUICK)
    assert code == 0, said
    assert sorted(p.name for p in out.iterdir()) == ["findings.json", "report.html", "report.pdf"]
    assert (out / "report.pdf").read_bytes() == b"%PDF-" + (out / "report.html").read_bytes()
    assert b"Loans" in (out / "report.pdf").read_bytes()
    assert "report.pdf" in shown and "report.html" in shown
    assert sorted(p.name for p in tmp_path.iterdir()) == ["o", "ratings.csv"]


def test_a_pdf_without_a_browser_is_refused_before_the_data_is_read(no_browser, tmp_path, run):
    code, _, said = run("audit", tmp_path / "nowhere.csv", "--out", tmp_path / "o", "--pdf")
    assert (
        code == 2
        and "apt-get install" in said
        and "nowhere" not in said
        and "Traceback" not in said
    )
    assert not list(tmp_path.iterdir())


def test_a_browser_that_fails_to_print_leaves_nothing(printer, ratings, tmp_path, run, monkeypatch):
    def broken(source, target):
        raise pdf.InputError("the browser could not print the report")

    monkeypatch.setattr(pdf, "print_page", broken)
    code, _, said = run("audit", ratings, "--out", tmp_path / "o", "--pdf", *QUICK)
    assert code == 2 and "could not print" in said
    # finished parts are kept, so that the next try continues from them
    assert sorted(p.name for p in tmp_path.iterdir()) == [".standout-work.o", "ratings.csv"]


def test_an_overwritten_folder_does_not_keep_the_pdf_of_an_earlier_audit(
    printer, ratings, tmp_path, run
):
    out = tmp_path / "o"
    assert run("audit", ratings, "--out", out, "--pdf", *QUICK)[0] == 0
    (out / "notes.txt").write_text("mine")
    code, shown, _ = run("audit", ratings, "--out", out, "--overwrite", "--seed", "5", *QUICK)
    assert code == 0 and "report.pdf" not in shown
    assert sorted(p.name for p in out.iterdir()) == ["findings.json", "notes.txt", "report.html"]


@pytest.mark.browser
def test_a_browser_prints_the_report_of_an_audit(ratings, tmp_path, run):
    if pdf.find_browser() is None:
        pytest.skip("no chromium here: apt-get install chromium")
    code, _, said = run("audit", ratings, "--out", tmp_path / "o", "--pdf", *QUICK)
    assert code == 0, said
    assert (tmp_path / "o" / "report.pdf").read_bytes().startswith(b"%PDF")
