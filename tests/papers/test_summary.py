"""Published beside measured, in plain words; the output folder appears whole or not at all."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from standout.cli.app import app
from standout.errors import ParameterError
from standout.papers import summary
from standout.papers.recipe import PAPERS, Published, RecipeInputs, published, read_toml, recipes
from standout.papers.summary import compare, reproduce

CERTAINTIES = {"text", "figure", "independent reproduction"}


def printed(value: float, **more: Any) -> Published:
    base = {
        "paper": "ns08",
        "id": "fig04",
        "what": "x",
        "where": {"a": 1},
        "column": "rate",
        "place": "here",
        "page": 1,
    }
    return Published(**{**base, "value": value, "certainty": "text", **more})


def test_every_published_value_has_a_page_a_certainty_and_a_recipe():
    values = published()
    assert set(read_toml("published.toml")) == {*PAPERS, "value"}
    known = {(paper, r.id) for paper in PAPERS for r in recipes(paper)}
    for p in values:
        assert (
            p.certainty in CERTAINTIES
            and p.page > 100
            and p.place
            and p.relation in ("=", "<", ">")
        )
        assert (p.paper, p.id) in known
    six = [p.value for p in values if p.certainty == "independent reproduction"]
    assert six == [0.680, 0.906, 0.996, 0.432, 0.773, 0.986]


@pytest.mark.parametrize(
    ("measured", "low", "high", "word"),
    [
        (0.70, 0.66, 0.74, "agrees"),
        (0.72, 0.69, 0.75, "close"),
        (0.80, 0.77, 0.83, "higher"),
        (0.5, 0.47, 0.53, "lower"),
    ],
)
def test_a_difference_is_called_by_its_name(
    measured: float, low: float, high: float, word: str, setting: RecipeInputs
):
    rows = [{"a": 1, "n": 500, "rate": measured, "low": low, "high": high}]
    found = compare(setting, recipes("ns08", "fig04")[0], printed(0.68), rows)
    assert found["result"].split(":")[0] == word
    assert found["difference"] == f"{100 * (measured - 0.68):+.1f} points"
    if word in ("higher", "lower"):
        assert "3,000 records instead of 480,189" in found["result"]


def test_a_bound_holds_or_not_and_a_known_flaw_is_told(setting: RecipeInputs):
    recipe = recipes("ns08", "fig04")[0]
    rows = [{"a": 1, "n": 5, "rate": 0.4, "low": 0.1, "high": 0.7}]
    assert compare(setting, recipe, printed(0.5, relation="<"), rows)["result"] == "holds"
    word = compare(setting, recipe, printed(0.5, relation=">", why="the text lost a minus"), rows)[
        "result"
    ]
    assert word == "does not hold: the text lost a minus; other data as well"


def test_a_missing_measurement_is_never_a_number(setting: RecipeInputs):
    found = compare(setting, recipes("ns08", "fig04")[0], printed(0.5), [{"a": 2, "rate": 0.5}])
    assert (found["measured"], found["difference"]) == ("not measured", "–")


def test_the_folder_holds_pictures_tables_and_both_summaries(tmp_path: Path, setting: RecipeInputs):
    out = tmp_path / "new" / "ns08"
    reproduce("ns08", setting, out, "fig04,table")
    names = {p.name for p in out.iterdir()}
    figures = {f"{f}.{form}" for f in ("fig04", "table") for form in ("png", "svg", "csv")}
    assert names == figures | {"summary.md", "summary.html", "run.json"}
    assert (out / "fig04.png").read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((out / "fig04.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 12 and rows[0]["known"] == "2 of 2" and rows[0]["published"] == "0.68"
    page = (out / "summary.md").read_text(encoding="utf-8")
    assert "| 2 of 2, ±3 days, no threshold | 68.0 % | text; section 5" in page
    assert "independent reproduction" in page and "±3 ≥ ±14" in page
    assert '<img src="fig04.svg"' in (out / "summary.html").read_text(encoding="utf-8")
    assert [p.name for p in out.parent.iterdir()] == ["ns08"]


def test_an_earlier_reproduction_is_replaced_and_anything_else_refused(
    tmp_path: Path, setting: RecipeInputs
):
    out = tmp_path / "out"
    reproduce("ns08", setting, out, "fig02")
    reproduce("ns08", setting, out, "fig03")
    assert not (out / "fig02.png").exists() and (out / "fig03.png").exists()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(ParameterError, match="not empty"):
        reproduce("ns08", setting, mine, "fig02")
    assert [p.name for p in mine.iterdir()] == ["thesis.txt"]


def test_a_failure_leaves_nothing_behind(
    tmp_path: Path, setting: RecipeInputs, monkeypatch: pytest.MonkeyPatch
):
    real = summary.picture
    drawn = []

    def fails_late(spec: dict[str, Any], form: str, scale: float = 2.0) -> bytes:
        drawn.append(form)
        if len(drawn) == 4:
            raise RuntimeError("out of ink")
        return real(spec, form, scale)

    monkeypatch.setattr(summary, "picture", fails_late)
    out = tmp_path / "out"
    with pytest.raises(RuntimeError, match="out of ink"):
        reproduce("ns08", setting, out, "fig02,fig03")
    assert list(tmp_path.iterdir()) == []


def test_the_command_reproduces_one_figure_on_a_twin(tmp_path: Path):
    out = tmp_path / "out"
    done = CliRunner().invoke(
        app, ["reproduce", "ns08", "--records", "300", "--only", "table", "--out", str(out)]
    )
    assert done.exit_code == 0, done.output
    assert "≥ 5 items outside the top 500" in (out / "summary.md").read_text(encoding="utf-8")
    assert (out / "table.svg").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["f06", "--data", "x.csv"], "f06 needs mentions"),
        (["f06", "--mentions", "tags.csv"], "--mentions needs --data"),
        (["f06", "--data", "x", "--mentions", "y", "--simulate-mentions"], "not both"),
        (["ns08", "--simulate-mentions"], "belong to f06"),
        (["ns10"], "no paper 'ns10'"),
        (["ns08", "--records", "1"], "at least 2 records"),
    ],
)
def test_the_command_says_what_is_wrong_before_it_works(
    arguments: list[str], message: str, tmp_path: Path
):
    done = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code != 0
    assert message in str(done.exception)
    assert list(tmp_path.iterdir()) == []
