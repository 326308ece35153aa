"""Every recipe runs at a small size, draws, and has a row for every number that the paper prints."""

from __future__ import annotations

import numpy as np
import pytest

from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.papers.mentions import simulate_mentions
from standout.papers.recipe import (
    PAPERS,
    Claim,
    Recipe,
    RecipeInputs,
    of_figure,
    recipes,
    with_published,
)
from standout.papers.summary import Summary, specification, table_text
from standout.report.drawing import picture

ALL = [recipe for paper in PAPERS for recipe in recipes(paper)]
FIGURES = {
    "ns08": [*(f"fig{k:02}" for k in range(1, 13)), "table"],
    "f06": ["table1", *(f"fig{k:02}" for k in range(3, 10))],
    "dss12": ["table1", *(f"fig{k:02}" for k in range(1, 7)), "sec61"],
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_figure_and_table_of_a_paper_has_a_recipe(paper: str):
    assert sorted(r.id for r in recipes(paper)) == sorted(FIGURES[paper])


@pytest.mark.parametrize("recipe", ALL, ids=lambda r: f"{r.paper}-{r.id}")
def test_a_recipe_measures_and_draws(recipe: Recipe, setting: RecipeInputs):
    rows = recipe.run(setting)
    assert rows
    for p in of_figure(recipe):
        found = [r for r in rows if p.fits(r)]
        assert found, f"no row for the printed {p.what!r}"
        assert found[0].get(p.column) is not None or found[0].get("note")
    for row in rows:
        if row.get("low") is not None and "rate" in row:
            assert row["low"] <= row["rate"] <= row["high"]
    drawn = picture(specification(setting, recipe, rows), "svg").decode()
    assert recipe.title in drawn.replace("&lt;", "<")
    assert drawn.count("<path") + drawn.count("<rect") > 5
    assert len(table_text(rows).splitlines()) == len(rows) + 1


def test_published_numbers_stand_beside_their_bars(setting: RecipeInputs):
    recipe = recipes("ns08", "fig04")[0]
    rows = with_published(recipe, recipe.run(setting))
    marked = {
        (r["known"], r["days"]): r["published"]
        for r in rows
        if "published" in r and "no threshold" in r["criterion"]
    }
    assert marked[("2 of 2", "±3 days")] == 0.68
    assert marked[("3 of 4", "±14 days")] == 0.773


def test_data_without_days_and_values_still_gives_every_figure():
    rng = np.random.default_rng(0)
    ds = Dataset.from_arrays(rng.integers(0, 300, 9000), rng.zipf(1.3, 9000) % 900)
    bare = RecipeInputs(ds, 20, 0, simulate_mentions(ds, 20))
    for recipe in ALL:
        rows = recipe.run(bare)
        assert rows
        assert picture(specification(bare, recipe, rows), "svg")
    table = recipes("ns08", "table")[0]
    page = Summary.of(bare, [(table, table.run(bare))]).markdown()
    assert (
        "no values: where a figure uses them" in page
        and "no days: where a figure uses them" in page
    )


def test_what_cannot_be_measured_has_a_reason_and_no_number():
    ds = Dataset.from_arrays(
        np.repeat(np.arange(30), 10),
        np.tile(np.arange(10), 30),
        value=np.tile(np.arange(10) % 5, 30),
    )
    bare = RecipeInputs(ds, 10)
    recipe = recipes("ns08", "fig08")[0]
    rows = recipe.run(bare)
    assert all(r["rate"] is None and "no record holds enough items" in r["note"] for r in rows)
    summary = Summary.of(bare, [(recipe, rows)])
    assert {x["measured"] for x in summary.lines} == {"not measured"}
    assert "Not measured: no record holds enough items" in summary.markdown()
    assert {c["result"] for c in summary.claims} == {"not measurable here"}


def test_no_targets_are_refused(small_twin: Dataset):
    with pytest.raises(ParameterError, match="at least one record"):
        RecipeInputs(small_twin, 0)


def test_an_unknown_paper_or_figure_is_refused():
    with pytest.raises(ParameterError, match="Papers: ns08"):
        recipes("ns09")
    with pytest.raises(ParameterError, match="It has: fig01"):
        recipes("ns08", "fig04,fig99")


def test_a_claim_is_judged_on_the_common_targets_only():
    first = (np.arange(100), np.ones(100, np.bool_))
    second = (np.arange(50, 150), np.zeros(100, np.bool_))
    claim = Claim.paired("first ≥ second", first, second)
    assert (claim.n, claim.difference, claim.word) == (50, 1.0, "holds")
    assert Claim.paired("the other way round", second, first).word == "contradicted"
    assert Claim.paired("the same", first, first).word == "equal"
    mixed = (np.arange(100), np.arange(100) % 2 == 0)
    other = (np.arange(100), np.arange(100) % 2 == 1)
    assert Claim.paired("as often one as the other", mixed, other).word == "undecided"
