"""No command writes its output over a file that it reads."""

from __future__ import annotations

import shutil

import pytest

from standout.cli.outputs import refuse_inputs
from standout.errors import ParameterError

POLICY = """
version = 1
targets = 20
[adversary.a]
knows = 2
[[limit]]
adversaries = ["a"]
max = 0.5
[end]
"""


@pytest.fixture
def folder(tmp_path, ratings, monkeypatch):
    shutil.copy(ratings, tmp_path / "data.csv")
    (tmp_path / "policy.toml").write_text(POLICY)
    (tmp_path / "key.pem").write_text("x")
    (tmp_path / "titles.csv").write_text("item,title\n1,Alien\n")
    (tmp_path / "films.csv").write_text("item,title\n7,Alien\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "check data.csv --policy policy.toml --out data.csv",
        "check data.csv --policy policy.toml --page ./data.csv",
        "check data.csv --policy policy.toml --junit policy.toml",
        "check dat*.csv --policy policy.toml --sarif data.csv",
        "check . --policy policy.toml --evidence data.csv",
        "explain data.csv --record 1 --out data.csv",
        "match-items titles.csv films.csv --out titles.csv",
        "match-items titles.csv films.csv --out films.csv",
        "defend data.csv --apply drop-time --out data.csv --overwrite",
    ],
)
def test_an_output_that_is_an_input_is_refused_and_the_input_is_left_as_it_was(folder, run, words):
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    code, _, said = run(*words.split())
    assert code == 2 and "is the file that is read: name another one" in said
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_the_findings_are_not_replaced_by_their_report(folder, run):
    run(
        "audit",
        "data.csv",
        "--targets",
        "10",
        "--knows",
        "2",
        "--attacks",
        "scoreboard",
        "--out",
        "out",
    )
    before = (folder / "out" / "findings.json").read_bytes()
    for given in ("out", "out/findings.json"):
        code, _, said = run("report", given, "--out", "out/findings.json")
        assert code == 2 and "is the file that is read" in said
    assert (folder / "out" / "findings.json").read_bytes() == before


def test_a_link_to_an_input_is_an_input_and_a_new_file_beside_the_data_is_not(folder):
    (folder / "link.json").symlink_to("data.csv")
    with pytest.raises(ParameterError, match="is the file that is read"):
        refuse_inputs([folder / "link.json"], ["data.csv"])
    (folder / "verdict.json").write_text("{}")
    refuse_inputs(
        [folder / "verdict.json", folder / "new.csv", None],
        [str(folder), "x" * 5000, None, "s3://a/b", "-"],
    )
