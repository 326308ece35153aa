"""Datta, Sharma and Sinha: certificates are never wrong, f_D rises, rarity moves with the size of the release."""

from __future__ import annotations

import numpy as np
import pytest

from standout.papers import dss12
from standout.papers.recipe import RecipeInputs, recipes


def test_rare_means_the_same_share_of_records_at_any_size():
    assert dss12.same_share(0.075, dss12.N_PAPER) == 0.075
    share = 2 ** (1 / 0.07) / dss12.N_PAPER
    for n in (1000, 20_000, 2_000_000):
        assert 2 ** (1 / dss12.same_share(0.07, n)) / n == pytest.approx(share)
    # weights stop at support 2
    assert dss12.same_share(0.07, 10) == 1.0


def test_table_1_filters_more_for_more_items_and_stricter_rarity(setting: RecipeInputs):
    rate = {
        (r["rare"], r["m"], r["t"]): r["rate"] for r in recipes("dss12", "table1")[0].run(setting)
    }
    for rare in ("same share of records", "t as published"):
        for t in dss12.TS:
            assert rate[rare, 8, t] <= rate[rare, 10, t] <= rate[rare, 20, t]
    assert rate["same share of records", 8, 0.07] <= rate["same share of records", 8, 0.075]


def test_certificates_grow_with_items_and_shrink_with_noise_and_are_never_wrong(
    setting: RecipeInputs,
):
    recipe = recipes("dss12", "fig01")[0]
    rows = recipe.run(setting)
    assert [r["violations"] for r in rows] == [0] * 8
    assert [c.text for c in recipe.claims(setting) if c.word == "contradicted"] == []
    ten = [r["rate"] for r in rows if r["m"] == "m = 10"]
    assert ten == sorted(ten, reverse=True)
    assert recipe.claims(setting)[1].word == "holds"


def test_shares_of_all_records_are_certified_times_eligible(setting: RecipeInputs):
    rows = [r for r in recipes("dss12", "sec61")[0].run(setting) if r["of"] == "all records"]
    assert len(rows) == 2
    for row in rows:
        assert row["rate"] == pytest.approx(row["count"] / row["n"] * row["eligible"])
        assert row["low"] <= row["rate"] <= row["eligible"] < 1


def test_f_d_rises_with_the_similarity_asked_for(setting: RecipeInputs):
    rows = recipes("dss12", "fig03")[0].run(setting)
    assert {(r["eta1"], r["eta2"]) for r in rows} == {
        (a, b) for a in dss12.ETA_1 for b in dss12.ETA_2
    }
    for share in dss12.ETA_1:
        f = [r["f"] for r in rows if r["eta1"] == share]
        if f[0] is not None:
            assert (np.diff(f) >= -1e-12).all()
            assert f[-1] > 0.9


def test_a_share_kept_more_often_is_a_weaker_promise(setting: RecipeInputs):
    often, seldom = (recipes("dss12", x)[0].run(setting) for x in ("fig06", "fig05"))
    pairs = [(a["f"], b["f"]) for a, b in zip(often, seldom, strict=True) if a["f"] is not None]
    assert pairs
    assert all(a <= b + 1e-12 for a, b in pairs)
