"""`standout frontier`: defenses compared on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tastes import grouped_tastes

import standout as so


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """One setting of the model, so that nothing is tuned for long."""
    from standout.defenses import utility_models

    one = utility_models.RankingSettings(8, 5.0, 1.0, 4)
    monkeypatch.setattr(utility_models.tune_ranking, "__defaults__", (0, (one,)))


@pytest.fixture
def file(tmp_path):
    """A file of 60 people with names that no other text holds."""
    ds = grouped_tastes(60, 30)
    lines = ["user,item,rating"]
    for r in range(ds.n_records):
        for k in range(ds.record_ptr[r], ds.record_ptr[r + 1]):
            lines.append(f"U{r:04d}x,M{ds.record_item[k]:03d}y,{ds.levels[ds.record_code[k]]:g}")
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_frontier_writes_a_table_a_page_and_a_file_without_names_of_people(run, file, tmp_path):
    out = tmp_path / "out"
    code, shown, _ = run(
        "frontier",
        file,
        "--defenses",
        "drop-entries(share=0.5),drop-values",
        "--targets",
        40,
        "--out",
        out,
    )
    assert code == 0
    assert "drop-entries(share=0.5)" in shown
    assert "undefended" in shown
    assert "An attacker knows" in shown
    assert all(word in shown for word in ("unique", "found", "sure", "no clear effect"))
    page, data = (out / "frontier.html").read_text(), (out / "frontier.json").read_text()
    assert so.Frontier.load(out / "frontier.json").sentence in shown.replace("\n", " ")
    for text in (shown, page, data, *(p.read_text() for p in (out / "cells").iterdir())):
        assert "U0003x" not in text
        assert "M003y" not in text
    code, _, said = run(
        "frontier", file, "--defenses", "drop-values", "--targets", 40, "--out", out
    )
    assert code == 2
    assert "--overwrite" in said


def test_json_is_the_only_thing_on_standard_output(run, file, tmp_path):
    code, shown, said = run(
        "frontier",
        file,
        "--defenses",
        "drop-entries",
        "--strengths",
        "0.5",
        "--targets",
        30,
        "--json",
        "--out",
        tmp_path / "out",
    )
    assert code == 0, said
    assert [c["defense"] for c in json.loads(shown)["cells"]] == [
        "undefended",
        "drop-entries(share=0.5)",
    ]
    assert said == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--defenses", "drop-entrys"], "Did you mean"),
        (["--defenses", ","], "empty"),
        (["--measure", "beauty"], "use one of"),
        (["--defenses", "drop-entries", "--strengths", "a=1;a=2"], "each defense once"),
        (["--defenses", "drop-entries", "--strengths", "1,,2"], "separated by commas"),
        (["--targets", "many"], "whole number ≥ 1"),
    ],
)
def test_wrong_options_exit_with_2_and_write_nothing(run, file, tmp_path, options, words):
    code, shown, said = run("frontier", file, "--out", tmp_path / "out", *options)
    assert code == 2
    assert words in said
    assert shown == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("typed", "proposed"), [("fron", "frontier"), ("frontier --str", "--strengths")]
)
def test_the_shell_completes_commands_and_options(typed, proposed):
    asked = {
        **os.environ,
        "_STANDOUT_COMPLETE": "complete_bash",
        "COMP_WORDS": f"standout {typed}",
        "COMP_CWORD": str(len(typed.split())),
    }
    program = "from standout.cli.start import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[0] = 'standout'; {program}"],
        env=asked,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == [proposed], done.stderr
