"""Narayanan and Shmatikov: what the text says about its figures holds on a small twin."""

from __future__ import annotations

import numpy as np
import pytest
from made_outcomes import made_outcomes

from standout.attacks.attack import attack
from standout.papers.ns08_cases import (
    BEST,
    STANDS_OUT,
    by_error,
    by_length,
    by_popularity,
    dated,
    hit,
    trial,
    undated,
)
from standout.papers.recipe import RecipeInputs, recipes


@pytest.mark.parametrize("figure", ["fig04", "fig08", "fig09", "fig10", "fig12"])
def test_no_claim_of_the_text_is_contradicted(figure: str, setting: RecipeInputs):
    recipe = recipes("ns08", figure)[0]
    recipe.run(setting)
    claims = recipe.claims(setting)
    assert claims
    assert [c for c in claims if c.n < 30] == []
    assert [c.text for c in claims if c.word == "contradicted"] == []
    assert any(c.word == "holds" for c in claims), "a small twin shows at least one of them clearly"


def test_every_bar_is_named_for_what_its_adversary_knows():
    for columns, who in [*dated(), *undated(), *by_popularity(), *by_error(), *by_length()]:
        assert columns["known"] == f"{who.knows - who.wrong} of {who.knows}"
        if "days" in columns:
            assert columns["days"] == f"±{who.time_within} days" and who.value_within == 0
        if "items" in columns:
            assert (
                columns["items"].split()[-1]
                == who.choose.replace("uniform", "items").split(":")[-1]
            )
        if "wrong" in columns:
            assert columns["wrong"].startswith(f"wrong {who.wrong_kind}")
        if "length" in columns:
            assert ("±50 %" in columns["length"]) == (who.length_within == 0.5)
    assert {who.time_within for _, who in undated()} == {None}
    assert {
        (who.value_within, who.time_within)
        for _, who in [*by_popularity(), *by_error(), *by_length()]
    } == {(1, 14)}


def test_a_threshold_never_finds_more(setting: RecipeInputs):
    for _, who in dated():
        found = trial(setting, who)
        assert (hit(found, STANDS_OUT) <= hit(found, BEST)).all()


def test_removing_a_target_silences_the_attack(setting: RecipeInputs):
    who = {c["known"] + c["days"]: w for c, w in dated()}["6 of 8±3 days"]
    found = trial(setting, who, absent=True)
    target, silent = found.target, ~found.absent_matched
    assert np.array_equal(target, trial(setting, who).target)
    assert hit(found, STANDS_OUT).mean() > 0.9
    assert silent.mean() > 0.5
    # never does an answer appear because the target went away
    assert (~silent & ~found.matched).sum() <= 2
    aux = who.sample(setting.dataset, target, setting.seed)
    assert (attack("scoreboard-rh").run(setting.dataset, aux, exclude=target).best != target).all()


def bits_of(
    setting: RecipeInputs, figure: str, measure: str
) -> dict[tuple[str, ...], dict[str, object]]:
    rows = recipes("ns08", figure)[0].run(setting)
    column = "days" if figure == "fig06" else "items"
    return {(r["known"], r[column], r["group"]): r for r in rows if r["measure"] == measure}


@pytest.mark.parametrize("measure", ["log2(rank)", "lineup, -log2 Π"])
def test_remaining_bits_fall_with_more_items_and_stay_below_the_prior(
    setting: RecipeInputs, measure: str
):
    rows = bits_of(setting, "fig06", measure)
    for days in ("±3 days", "±14 days"):
        two, eight = rows["2 of 2", days, "all targets"], rows["6 of 8", days, "all targets"]
        assert eight["bits"] < two["bits"] < two["prior"]
        assert two["prior"] == np.log2(setting.dataset.n_records)


def test_the_figures_show_the_logarithm_of_the_rank_and_not_the_lineup(setting: RecipeInputs):
    who = {c["known"] + c["days"]: w for c, w in dated()}["2 of 2±14 days"]
    asked = trial(setting, who).target
    aux = who.sample(setting.dataset, asked, setting.seed)
    scores = attack("scoreboard-rh").scores(setting.dataset, aux)
    own = scores[np.arange(asked.size), asked][:, None]
    log_rank = np.log2((scores >= own).sum(axis=1))
    key = ("2 of 2", "±14 days", "all targets")
    assert bits_of(setting, "fig06", "log2(rank)")[key]["bits"] == pytest.approx(
        log_rank.mean(), abs=1e-9
    )
    lineup = bits_of(setting, "fig06", "lineup, -log2 Π")[key]["bits"]
    weight = np.exp(scores / scores.std(axis=1, keepdims=True))
    exact = -np.log2(weight[np.arange(asked.size), asked] / weight.sum(axis=1))
    assert lineup == pytest.approx(exact.mean(), abs=1e-3) and lineup > log_rank.mean() + 0.5


def test_targets_that_the_guess_misses_have_more_bits_left(setting: RecipeInputs):
    rows = bits_of(setting, "fig11", "log2(rank)")
    case = ("2 of 2", "outside the top 100")
    assert (
        rows[*case, "targets that the best guess misses"]["bits"]
        > rows[*case, "all targets"]["bits"]
    )


def test_a_tie_at_the_top_is_worth_its_part(setting: RecipeInputs):
    made = made_outcomes([1.0, 0.5, 0.0])
    assert hit(made, BEST).mean() == 0.5 and made.missed.tolist() == [False, False, True]


def test_the_curve_of_nearest_neighbors_falls_and_sharper_agreement_lies_lower(
    setting: RecipeInputs,
):
    curves: dict[str, list[float]] = {}
    for row in recipes("ns08", "fig01")[0].run(setting):
        curves.setdefault(row["similarity"], []).append(row["delta"])
    assert len(curves) == 3
    items, values, days = (np.array(c) for c in curves.values())
    assert (np.diff(items) <= 0).all()
    assert (values <= items).all() and (days <= values).all()


def test_lengths_count_every_record_once(setting: RecipeInputs):
    rows = recipes("ns08", "fig03")[0].run(setting)
    assert sum(r["records"] for r in rows) == (setting.dataset.lengths <= 1000).sum()
    assert recipes("ns08", "fig02")[0].run(setting) == rows[:100]


def test_rare_items_and_known_channels_give_more_away(setting: RecipeInputs):
    rows = recipes("ns08", "fig07")[0].run(setting)
    bits = {(r["known"], r["rank"]): r["bits"] for r in rows}
    assert bits["the item alone", 1] < bits["with its value ±1", 1] < bits["with its day ±14", 1]
    alone = [r["bits"] for r in rows if r["known"] == "the item alone"]
    assert (np.diff(alone) >= -1e-9).all()
