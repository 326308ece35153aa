"""`standout columns`, and the reading options that every verb with data takes."""

from __future__ import annotations

import io
import json
import sys

import pytest
import typer

from standout.cli import app

READING = {
    "record",
    "item",
    "value",
    "time",
    "repeats",
    "skip_bad",
    "max_bad",
    "time_unit",
    "date_format",
    "encoding",
    "delimiter",
    "decimal",
    "header",
    "names",
    "wide",
    "zeros",
    "ignore",
    "table",
    "resolution",
    "channels",
    "attributes",
    "lat",
    "lon",
}


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    rows = [
        f"{k % 30},s3cret/{k % 11},{k % 52 + 1},2020-01-{k % 28 + 1:02d},u{k % 30}@example.org"
        for k in range(200)
    ]
    path.write_text("\n".join(["user,url,week,seen,[mail]", *rows]) + "\n")
    return path


def test_the_inventory_is_printed_without_an_audit_and_without_cells(visits, tmp_path, run):
    code, shown, _ = run("columns", visits)
    assert code == 0
    words = [line.split() for line in shown.splitlines()]
    assert [w[:2] for w in words[1:6]] == [
        ["user", "record"],
        ["url", "item"],
        ["week", "ignored"],
        ["seen", "time"],
        ["[mail]", "ignored"],
    ]
    assert "warning: column '[mail]' looks like a direct identifier (e-mail address)" in shown
    assert "s3cret" not in shown
    assert [p.name for p in tmp_path.iterdir()] == ["visits.csv"]


def test_the_inventory_is_json_for_machines(visits, run):
    code, shown, _ = run("columns", visits, "--json", "--time", "")
    assert code == 0
    found = json.loads(shown)
    assert {use["name"]: use["role"] for use in found["columns"]}["seen"] == "ignored"
    assert found["question"] is None


def test_the_inventory_shows_the_question_that_an_audit_would_ask(visits, tmp_path, run):
    code, shown, _ = run("columns", visits, "--ignore", "seen")
    assert code == 0
    assert "question: column 'week' holds small numbers" in shown
    out = tmp_path / "out"
    code, shown, said = run("audit", visits, "--ignore", "seen", "--out", out)
    assert (code, shown) == (2, "")
    assert "--time-unit" in said
    assert not out.exists()


def test_standard_input_is_a_source(visits, monkeypatch, run):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(visits.read_bytes())))
    code, shown, _ = run("columns", "-", "--json")
    assert code == 0
    assert json.loads(shown)["source"] == "standard input"


@pytest.mark.parametrize("verb", ["audit", "columns", "describe", "bound", "explain"])
def test_every_verb_with_data_takes_all_options_of_reading(verb):
    command = typer.main.get_command(app.app).commands[verb]
    assert {parameter.name for parameter in command.params} >= READING


def test_the_options_of_reading_are_those_of_the_library():
    from inspect import signature

    from standout.data.dataset import Dataset

    assert set(signature(Dataset.read).parameters) - {"path"} == READING


def test_the_column_of_the_person_can_be_named_where_record_is_a_label(tmp_path, run):
    path = tmp_path / "loans.csv"
    rows = [f"p{r},b{(r * 3 + k) % 11}" for r in range(30) for k in range(4)]
    path.write_text("Ausweis,item\n" + "\n".join(rows) + "\n")
    code, _, said = run("explain", path, "--record", "p3", "--knows", "2")
    assert code == 2 and "--record-column NAME" in said
    named = ["--record-column", "Ausweis", "--value", ""]
    code, shown, said = run("explain", path, "--record", "p3", "--knows", "2", *named)
    assert code == 0 and "record p3" in " ".join(shown.split()), said
