"""`standout describe` and `standout bound`: tables for people, JSON for machines, labels for nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from strategies import random_table
from typer.testing import CliRunner

from standout.cli.describe import bound, describe

app = typer.Typer()
app.command()(describe)
app.command()(bound)


@pytest.fixture
def ratings(tmp_path: Path) -> str:
    path = tmp_path / "ratings.csv"
    rows = ["user,movie,rating,day"]
    for e in random_table(120, 40, 8, seed=1).entries:
        rows.append(
            f"someone{e.record},film{e.item},{e.value},2020-{1 + int(e.day) % 12:02d}-{1 + int(e.day) % 28:02d}"
        )
    path.write_text("\n".join(rows) + "\n")
    return str(path)


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "someone" not in done.output and "film" not in done.output
    return done.stdout


def test_describe_prints_its_tables(ratings):
    out = run("describe", ratings)
    for words in (
        "120 records",
        "outside the top 100",
        "Bits that one known entry",
        "nearest other record",
        "days ±14",
    ):
        assert words in " ".join(out.split())


def test_describe_gives_json_and_nothing_else(ratings):
    found = json.loads(run("describe", ratings, "--json", "--records", "30"))
    assert found["overview"]["n_records"] == 120
    assert [c["n"] for c in found["sparsity"]] == [30, 30, 30]


def test_bound_prints_every_theorem_and_the_caveat(ratings):
    out = " ".join(run("bound", ratings, "--knows", "3", "--targets", "30").split())
    for words in ("NS08 T1", "NS08 T5", "DSS12 T3", "Merener 2012", "fails:", "given:"):
        assert words in out


def test_bound_ends_with_a_sentence_that_says_what_follows(ratings):
    out = run("bound", ratings, "--knows", "3", "--targets", "30").strip().splitlines()
    assert out[-1].startswith("What follows: ") and out[-1].endswith(".")
    assert "This is no sign of safety" in out[-1]


def test_bound_does_not_say_that_no_theorem_proves_anything_beside_rows_that_hold(ratings):
    found = json.loads(run("bound", ratings, "--knows", "3", "--targets", "30", "--json"))
    holding = [row["theorem"] for row in found["theorems"] if row["holds"]]
    assert holding and not any(
        row["holds"] and row["asks_m"] is not None for row in found["theorems"]
    )
    assert "no theorem proves anything" not in found["summary"]
    assert all(name in found["summary"] for name in holding)


def test_bound_gives_json_and_nothing_else(ratings):
    found = json.loads(
        run("bound", ratings, "--knows", "3", "--targets", "30", "--json", "--time-within", "none")
    )
    assert len(found["theorems"]) == 8
    assert found["parameters"]["time_within"] is None
