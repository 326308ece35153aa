"""Limits on the three words of risk: unique, found and sure."""

from __future__ import annotations

import numpy as np
import pytest
from known_rate import with_rate

import standout as so
from standout.errors import ParameterError

BASE = {
    "adversary": {"a": {"knows": 2}},
    "attacks": ["scoreboard-rh", "likelihood"],
    "self_test": False,
    "sequential": False,
}


def checked(data, measure, most=0.5, **more):
    return so.check(
        data, {**BASE, "limit": [{"measure": measure, "max": most, "adversaries": ["a"]}], **more}
    )


@pytest.fixture(scope="module")
def crowds():
    """Records of 3 items; 30 % are alone, the others stand in crowds of 50."""
    return with_rate(0.314, n=1000)


def test_unique_counts_the_people_whose_items_nobody_else_holds(crowds):
    seen = checked(crowds, "unique", targets="all")
    rows = crowds.record_item.reshape(-1, 3)
    _, which, n = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    assert [(row["attack"], row["n"]) for row in seen.tests] == [("unique", 1000)]
    assert seen.tests[0]["rate"] == pytest.approx((n[which.reshape(-1)] == 1).mean())
    assert {cell["attack"]["label"] for cell in seen.cells} == {"unique"}, "no attack is needed"


def test_hit_is_another_word_for_found(crowds):
    assert checked(crowds, "hit").tests == checked(crowds, "found").tests
    assert checked(crowds, "hit").tests[0]["measure"] == "found"


def test_a_best_guess_fails_a_limit_on_found_and_not_one_on_unique_or_sure():
    """One fact of long and short records: nobody is unique, and those with short records are guessed."""
    short, long = np.repeat(np.arange(40), 2), np.repeat(np.arange(40, 80), 300)
    item = np.concatenate([np.arange(80) // 2, np.tile(np.arange(300), 40)])
    data = so.Dataset.from_arrays(np.concatenate([short, long]), item)
    asked = {"adversary": {"a": {"knows": 1}}, "targets": "all"}
    found = checked(data, "found", 0.2, **asked)
    rates = {
        m: max(r["rate"] for r in checked(data, m, 0.2, **asked).tests)
        for m in ("unique", "found", "sure")
    }
    assert found.verdict == "fail"
    assert rates["unique"] <= rates["sure"] < 0.1 < 0.3 < rates["found"]


def test_sure_asks_only_attacks_that_state_a_probability(crowds):
    seen = checked(crowds, "sure")
    assert {row["attack"] for row in seen.tests} == {"likelihood"}
    assert 0.1 < seen.tests[0]["rate"] <= seen.cells[0]["found"] / seen.cells[0]["n_targets"]
    with pytest.raises(ParameterError, match="add likelihood to attacks"):
        checked(crowds, "sure", attacks=["scoreboard-rh"])
    with pytest.raises(ParameterError, match="does not depend on an attack"):
        so.Policy.from_dict(
            {**BASE, "limit": [{"measure": "unique", "max": 0.1, "attacks": ["likelihood"]}]}
        )


def test_unique_is_unclear_where_each_fact_may_be_wrong(crowds):
    noisy = {"a": {"knows": 2, "wrong": 0.1, "wrong_kind": "item"}}
    seen = checked(crowds, "unique", adversary=noisy)
    assert seen.verdict == "unclear"
    assert "use a whole number of wrong facts" in seen.table[0]["why"]


def test_unique_is_unclear_on_a_release_whose_defense_changes_what_is_known():
    """Rounded values agree with no fact: nobody would be unique, and a limit on unique would be kept."""
    rng = np.random.default_rng(4)
    record, item = np.repeat(np.arange(400), 4), rng.integers(0, 40, 1600)
    source = so.Dataset.from_arrays(record, item, rng.integers(1, 100, 1600).astype(float))
    release = so.defense("round-values", step=7).apply(source, seed=1)
    asked = {
        "adversary": {"a": {"knows": 2, "value_within": 0}},
        "limit": [{"measure": "unique", "max": 0.2, "adversaries": ["a"]}],
    }
    seen = so.check(source, {**BASE, **asked, "targets": 300}, release=release)
    assert seen.verdict == "unclear"
    assert any("changes values" in str(row.get("why")) for row in seen.table)


def test_evidence_about_all_three_holds(crowds, tmp_path):
    limits = [
        {"name": m, "measure": m, "max": 0.6, "of": "all", "adversaries": ["a"]}
        for m in ("unique", "found", "sure")
    ]
    seen = so.check(crowds, {**BASE, "limit": limits, "sequential": True, "self_test": True})
    assert seen.verdict == "pass", seen
    done = so.verify(so.save_evidence(seen, tmp_path / "e.json"), crowds)
    assert done.verdict == "pass", done
    assert any(row["check"].startswith("unique: ") for row in done.rows)
