"""Options are declared once: every one is described, groups are expanded, and what is known means the same in all commands."""

from __future__ import annotations

import inspect
import json
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

from standout.cli.app import VERBS
from standout.cli.options import KnowledgeOptions, Reading, command


def options_of(verb):
    module = import_module(f"standout.cli.{VERBS[verb]}")
    parameters = inspect.signature(getattr(module, verb.replace("-", "_"))).parameters
    return {name: get_args(option.annotation)[1] for name, option in parameters.items()}


def flags_of(option):
    # typer takes the first flag of an annotated option for its default, until it reads the parameter
    return [option.default, *option.param_decls]


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_is_described(verb):
    assert [name for name, option in options_of(verb).items() if not option.help] == []


@pytest.mark.parametrize("verb", VERBS)
def test_out_has_the_same_flags_everywhere(verb):
    out = options_of(verb).get("out")
    assert out is None or flags_of(out) == ["--out", "-o"]


def test_a_group_stands_for_its_fields_and_its_default_gives_theirs():
    seen = {}

    @command(label="--name")
    def verb(
        path: str,
        /,
        reading: Reading,
        known: KnowledgeOptions = KnowledgeOptions("3"),
        label: str = "x",
    ) -> None:
        """Do nothing."""
        seen.update(path=path, keywords=reading.keywords, knows=known.knows, label=label)

    parameters = inspect.signature(verb).parameters
    assert parameters["knows"].default == "3" and parameters["wide"].default is False
    assert flags_of(get_args(parameters["label"].annotation)[1]) == ["--name"]
    verb(path="a.csv", wide=True, repeats="keep", value="", knows="5", label="y")
    assert seen == {
        "path": "a.csv",
        "keywords": {"wide": True, "value": ""},
        "knows": "5",
        "label": "y",
    }


def test_the_fields_of_reading_are_the_keywords_of_the_library():
    from standout.data.reading.options import ReadOptions

    assert set(inspect.signature(Reading).parameters) == set(
        inspect.signature(ReadOptions).parameters
    )


def test_risk_takes_the_choice_of_items(run, ratings):
    code, shown, _ = run(
        "risk", ratings, "--knows", "2", "--choose", "outside-top:3", "--draws", "1", "--json"
    )
    assert code == 0 and "outside" in json.loads(shown)["adversary"]


@pytest.mark.parametrize("option", ["--knows", "--wrong", "--value-within", "--time-within"])
def test_a_list_is_refused_where_one_adversary_is_described(run, ratings, option):
    code, _, said = run("risk", ratings, option, "1,2")
    assert code == 2 and f"{option} '1,2': give one value" in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("explain data.csv --record 1 --out .", "--out '.' is a folder; name a file"),
        ("match-items data.csv data.csv --out .", "--out '.' is a folder; name a file"),
        ("twin --records 10 --out .", "--out '.' is a folder; name a file"),
        ("link data.csv data.csv --pairs .", "--pairs '.' is a folder; name a file"),
        ("link data.csv data.csv --pairs data.csv", "is the file that is read"),
        ("frontier data.csv --out data.csv", "--out 'data.csv' is a file; name a folder"),
        ("link data.csv data.csv --out data.csv", "--out 'data.csv' is a file; name a folder"),
        ("audit data.csv --out data.csv", "--out 'data.csv' is a file; name a folder"),
        ("check data.csv --policy p.toml --junit a --out a", "is named for two outputs"),
        ("risk data.csv --out no/such.csv", "the folder 'no' does not exist"),
    ],
)
def test_an_output_is_checked_before_any_work(run, ratings, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(ratings.read_text())
    run("policy", "init", "--out", "p.toml")
    code, _, shown = run(*words.split())
    assert code == 2 and said in shown, shown
    assert "records ×" not in shown
