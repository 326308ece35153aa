"""The terminal says what the page says, and its text forms are safe to open."""

from __future__ import annotations

import csv
import io
import json

import pytest
from made_findings import adversary, findings, result, sweep
from rich.console import Console

from standout.errors import ParameterError
from standout.report import terminal
from standout.report.page import page
from standout.report.sentences import write_statements
from standout.report.tables import Column, ReportTable
from standout.report.view import view

EVIL = "=HYPERLINK(1)"


def shown(found, width=80):
    out = io.StringIO()
    terminal.show(found, Console(file=out, width=width))
    return out.getvalue()


def test_sentences_table_and_sparklines_fit_80_columns():
    found = sweep({2: 0.1, 4: 0.6, 8: 1.0})
    text = shown(found)
    for sentence in write_statements(view(found)):
        assert sentence in text.replace("\n", "")
    assert "▁▅█" in text
    lines = text.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("values ±1, days ±14"))
    assert lines[first].split()[4:] == ["2", "10%", "10%", "10%", "scoreboard-rh", "2%"]
    assert lines[first + 1].split() == ["▁▅█", "4", "60%", "60%", "60%", "scoreboard-rh", "2%"]
    assert "…" not in text
    assert max(len(line) for line in lines[first:-1] if "scoreboard" in line) <= 80


def test_every_cell_has_its_own_count_and_strongest_attack():
    found = findings(
        result(
            adversary(2),
            5,
            50,
            right=5,
            false=1,
            attack="scoreboard",
            share=0.9,
            unique=4,
            sure=None,
        ),
        result(adversary(4), 30, 60, right=5, false=1, attack="likelihood", share=0.5),
        result(adversary(4, wrong=1), 12, 60, right=5, false=1, attack="scoreboard-rh", share=0.5),
    )
    rows = [line.split() for line in shown(found).splitlines() if line.endswith(("2%", "1.7%"))]
    assert [row[-6:-1] for row in rows] == [
        ["8%", "–", "10%", "9%", "scoreboard"],
        ["50%", "50%", "50%", "25%", "likelihood"],
        ["20%", "20%", "20%", "10%", "scoreboard-rh"],
    ]
    assert "50 to 60 people tested per row" in shown(found, 2000)
    assert rows[2][:3] == ["4,", "1", "wrong"]


def test_warnings_are_shown():
    found = findings(
        result(adversary(2), 5, 50, right=5, false=1),
        warnings=("Only 7 records [bold]fit[/bold].",),
    )
    assert "Note: Only 7 records [bold]fit[/bold]." in shown(found, 200)


def test_markdown_holds_the_same_sentences_and_a_table():
    found = sweep({2: 0.1, 8: 1.0})
    text = terminal.text(found, "markdown")
    assert all(s in text for s in write_statements(view(found)))
    assert "| values ±1, days ±14 | 2 | 10% | 10% | 10% | scoreboard-rh | 2% |" in text
    assert "| values ±1, days ±14 | 8 | 100% | 100% | 100% | scoreboard-rh | 2% |" in text


def test_json_is_the_findings_file():
    found = sweep({2: 0.1})
    assert json.loads(terminal.text(found, "json")) == found.to_dict()


def test_csv_has_a_row_per_adversary_and_attack_and_no_formula():
    found = findings(result(adversary(2), 5, 50, right=5, false=1, attack=EVIL))
    rows = list(csv.DictReader(io.StringIO(terminal.text(found, "csv"))))
    assert len(rows) == 1
    assert rows[0]["attack"] == "'" + EVIL
    assert float(rows[0]["hit"]) == 0.1


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_a_table_runs_in_a_spreadsheet(first):
    table = ReportTable(
        "t", "t", (Column("a", "a"), Column("b", "b", "number")), ({"a": first + "1+1", "b": -2.5},)
    )
    row = next(iter(csv.DictReader(io.StringIO(table.to_csv()), strict=True)))
    assert row["a"] == "'" + first.replace("\r", "\n") + "1+1"
    assert row["b"] == "-2.5"


def test_an_unknown_form_is_refused():
    with pytest.raises(ParameterError, match="no form 'pdf'"):
        terminal.text(sweep({2: 0.1}), "pdf")


def test_a_share_of_all_people_that_falls_with_more_knowledge_is_explained():
    rising = findings(
        result(adversary(2), 30, 60, right=5, false=1),
        result(adversary(8), 50, 60, right=5, false=1),
    )
    falling = findings(
        result(adversary(2), 30, 60, right=5, false=1, share=0.9),
        result(adversary(8), 50, 60, right=5, false=1, share=0.2),
    )
    why = "The share of all people falls where more items are known than many people hold: 8 items can be known of 20% of people"
    assert why in terminal.text(falling, "markdown") and "falls" not in terminal.text(
        rising, "markdown"
    )
    assert why in page(falling) and why not in page(rising)


@pytest.mark.parametrize(
    "rates, step",
    [
        ({2: 0.1, 4: 0.6, 8: 1.0}, "standout frontier FILE --out frontier"),
        ({2: 0.0, 4: 0.0}, "standout audit FILE --sweep full"),
    ],
)
def test_the_answer_says_what_to_do_next(rates, step):
    found = sweep(rates)
    said = [line for line in shown(found, width=400).splitlines() if line.startswith("Next: ")]
    assert 1 <= len(said) <= 2
    assert step in said[0]
    assert step in page(found)
    assert f"Next: `{step}" in terminal.to_markdown(found)
