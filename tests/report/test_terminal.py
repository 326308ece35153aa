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
from standout.report.sentences import answer
from standout.report.tables import Column, Table
from standout.report.view import view

EVIL = "=HYPERLINK(1)"


def shown(found, width=80):
    out = io.StringIO()
    terminal.show(found, Console(file=out, width=width))
    return out.getvalue()


def test_sentences_table_and_sparklines_fit_80_columns():
    found = sweep({2: 0.1, 4: 0.6, 8: 1.0})
    text = shown(found)
    for sentence in answer(view(found)).sentences:
        assert sentence in text.replace("\n", "")
    assert "▁▅█" in text
    table = [line for line in text.splitlines() if "days ±14" in line and "values" in line][-1]
    assert table.split() == ["values", "±1,", "days", "±14", "10%", "60%", "100%", "▁▅█", "scoreboard-rh", "2%"]
    assert "…" not in text


def test_warnings_are_shown():
    found = findings(result(adversary(2), 5, 50, right=5, false=1), warnings=("Only 7 records [bold]fit[/bold].",))
    assert "Note: Only 7 records [bold]fit[/bold]." in shown(found, 200)


def test_markdown_holds_the_same_sentences_and_a_table():
    found = sweep({2: 0.1, 8: 1.0})
    text = terminal.text(found, "markdown")
    assert all(s in text for s in answer(view(found)).sentences)
    assert "| values ±1, days ±14 | 10% | 100% | ▁█ | scoreboard-rh | 2% |" in text


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
    table = Table("t", "t", (Column("a", "a"), Column("b", "b", "number")), ({"a": first + "1+1", "b": -2.5},))
    row = next(iter(csv.DictReader(io.StringIO(table.to_csv()), strict=True)))
    assert row["a"] == "'" + first.replace("\r", "\n") + "1+1"
    assert row["b"] == "-2.5"


def test_an_unknown_form_is_refused():
    with pytest.raises(ParameterError, match="no form 'pdf'"):
        terminal.text(sweep({2: 0.1}), "pdf")
