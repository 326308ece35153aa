"""What commands and errors say: the right option, in the right language, at the right time."""

from __future__ import annotations

import io
import os
import sqlite3

import duckdb
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import standout as so
from standout.audit.measures import MEASURES as RISKS
from standout.cli.frontier import show
from standout.errors import ColumnError, InputError
from standout.linking.items import read_items


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as db:
        pd.DataFrame({"id": [1, 2]}).to_sql("customers", db, index=False)
        pd.DataFrame({"user": [1, 2], "item": [3, 4]}).to_sql("ratings", db, index=False)
    return path


def test_a_database_with_two_tables_names_the_option_and_no_wrong_table(run, database):
    code, _, said = run("describe", database)
    assert code == 2
    assert (
        said == "standout: shop.db holds 2 tables: customers, ratings. Name one with --table NAME\n"
    )
    with pytest.raises(InputError, match=r"Name one with table='NAME'$"):
        so.Dataset.read(database)


def test_errors_in_python_name_keywords_and_on_the_command_line_options(run, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "".join(f"x{k % 7},y{k % 5}\n" for k in range(60)))
    assert "Name it with --record NAME" in run("describe", path)[2]
    with pytest.raises(ColumnError, match="Name it with record='NAME'") as caught:
        so.Dataset.read(path)
    assert "--" not in str(caught.value)
    with pytest.raises(ColumnError) as caught:
        so.Dataset.from_frame(pd.read_csv(path))
    assert "--" not in str(caught.value)


def test_a_file_with_positions_is_told_what_to_do(run, tmp_path):
    path = tmp_path / "tracks.csv"
    lines = [
        f"u{k % 9},{48 + k % 7 / 10},{9 + k % 5 / 10},{1577836800 + k * 86400}" for k in range(90)
    ]
    path.write_text("user,latitude,longitude,timestamp\n" + "\n".join(lines) + "\n")
    named = "--lat latitude --lon longitude"
    assert named in run("describe", path)[2]
    code, shown, _ = run("describe", path, *named.split())
    assert code == 0 and "9 records" in shown


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        (
            'movieId,title,genres\n1,Heat,A|B\n2,"Postman, The (1994)",A|B|C|D\n',
            ["Heat", "Postman, The (1994)"],
        ),
        ("movieId,title\n1,Heat\n2,Postman, The (1994)\n", ["Heat", "Postman, The (1994)"]),
        (
            "title\nHeat\nPostman, The (1994)\nOne, Two, Three\n",
            ["Heat", "Postman, The (1994)", "One, Two, Three"],
        ),
        ('title\n"Postman, The"\n', ["Postman, The"]),
        ("id;title\n1;One, Two, Three; or four\n", ["One, Two, Three, or four"]),
    ],
)
def test_titles_with_commas_are_read(tmp_path, text, titles):
    path = tmp_path / "titles.csv"
    path.write_text(text)
    assert [item.title for item in read_items(path)] == titles


def test_a_title_with_commas_before_another_column_is_refused_with_its_line(tmp_path):
    path = tmp_path / "titles.csv"
    path.write_text("movieId,title,genres\n1,Heat,A\n2,Postman, The,B\n")
    with pytest.raises(
        InputError, match=r"line 3 of .* has 4 fields, and the header has 3: put titles"
    ):
        read_items(path)


def test_a_relation_of_duckdb_is_a_frame():
    frame = pd.DataFrame(
        {"user": np.repeat(np.arange(9), 4), "item": np.arange(36) % 7, "note": "x"}
    )
    made = so.Dataset.from_frame(duckdb.connect().from_df(frame))
    assert made.fingerprint == so.Dataset.from_frame(frame).fingerprint


def test_a_folder_is_announced_after_the_input_is_found(run, ratings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "standout-out").mkdir()
    (tmp_path / "standout-out" / "findings.json").write_text("{}")
    assert run("audit", tmp_path / "missing.csv")[2].startswith("standout: no such file")
    said = run("audit", ratings, "--knows", "2", "--targets", "20", "--attacks", "scoreboard")[2]
    assert "writing to standout-out-2" in said


def test_the_title_of_a_report_does_not_hold_the_name_of_the_file(
    run, ratings, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    path = ratings.rename(tmp_path / "patients-of-dr-x.csv")
    options = ("--knows", "2", "--targets", "20", "--attacks", "scoreboard")
    assert run("audit", path, *options, "--out", "a")[0] == 0
    text = (tmp_path / "a" / "report.html").read_text()
    assert "patients" not in text[: text.index("</header>")]
    assert run("audit", path, *options, "--out", "b", "--title", "patients")[0] == 0
    assert "<title>patients" in (tmp_path / "b" / "report.html").read_text()


@pytest.mark.parametrize("width", [40, 80, 200])
def test_names_of_defenses_are_not_cut(width):
    long = "coarsen-time(to=month) | drop-entries(share=0.5) | suppress-km(k=5, m=2)"

    class Found:
        measures, measure, cells, sentence, measured = (
            ("ndcg", "rating", "popularity", "time", "entries"),
            "ndcg",
            (),
            "Said.",
            (),
        )

        def rows(self):
            risks = {f"{m}{end}": 0.5 for m in RISKS for end in ("", "_low", "_high")}
            rate = {"rate": 0.5, "cost": 0.1, "noise": 0.01, "front": True, "clear_effect": True}
            losses = {f"{m}_loss": 0.2 for m in self.measures}
            return [{**rate, **risks, **losses, "defense": long}]

    file = io.StringIO()
    show(Found(), Console(file=file, width=width))
    lines = file.getvalue().splitlines()
    row = next(line for line in lines if long in line)
    assert len(row) <= max(width, len(f"*  {long}")), (
        "numbers move below a name that leaves no space"
    )
    assert sum(line.count("50% 50%–50%") for line in lines) == 3


@pytest.mark.parametrize(
    "words", [("report", "PIPE"), ("report", "/dev/zero"), ("verify", "PIPE", "d.csv")]
)
def test_a_pipe_or_a_device_is_refused_where_a_saved_file_is_read(run, tmp_path, words):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code, _, said = run(*(pipe if word == "PIPE" else word for word in words))
    assert code == 2
    assert "is a pipe or a device: save its content to a file first" in said
