"""Unique, found and sure of an audit: the same people, numbers that verdicts and brute force confirm."""

from __future__ import annotations

import jsonschema
import numpy as np
import pytest
from made_outcomes import made_outcomes

import standout as so
from standout.attacks import presence
from standout.attacks.unique import is_unique
from standout.audit.measures import NO_POSTERIOR, REFUTED, SURE, hits_of, holds
from standout.experiment.outcomes import Truth
from standout.report.sentences import statements_of

NAMES = ("unique", "found", "sure")


def tastes(n=260, m=80, seed=4, twins=0):
    """People with 4 to 12 items of a popular head; the first `twins` records come twice."""
    rng = np.random.default_rng(seed)
    odds = 1 / np.arange(1, m + 1)
    rows = [
        rng.choice(m, int(rng.integers(4, 13)), replace=False, p=odds / odds.sum())
        for _ in range(n)
    ]
    rows += rows[:twins]
    record = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    return so.Dataset.from_arrays(record, np.concatenate(rows))


@pytest.fixture(scope="module")
def ran():
    data = tastes()
    who = [
        so.Adversary(knows=3),
        so.Adversary(knows=4, wrong=1, wrong_kind="item"),
        so.Adversary(knows=4, wrong=0.25, wrong_kind="item"),
    ]
    return data, so.Audit(data, who, targets=120, seed=2, describe=False).run(False)


def test_all_three_are_measured_on_the_people_of_the_strongest_attack(ran):
    _, found = ran
    for result in found.results:
        for name in NAMES:
            if result[name] is not None:
                assert result[name]["n"] == result["strongest"]["hit"]["n"]
                of_all = result[f"{name}_all"]["rate"]
                assert of_all == pytest.approx(result[name]["rate"] * result["eligible_share"])
        assert dict(result["found"]) == dict(result["strongest"]["hit"])
    jsonschema.validate(found.to_dict(), so.Findings.schema())
    again = so.Findings.from_dict(found.to_dict())
    assert [r["unique"] for r in again.results] == [r["unique"] for r in found.results]
    frame = found.to_frame()
    assert {
        "unique",
        "unique_low",
        "unique_high",
        "found",
        "sure",
        "unique_all",
        "found_all",
        "sure_all",
    } <= set(frame)


def test_the_unique_and_the_sure_are_those_that_the_verdicts_show(ran):
    data, found = ran
    for result in found.results[:2]:
        who = so.Adversary(**{k: v for k, v in result["adversary"].items() if k != "words"})
        _, targets = who.choose_targets(data, 120, 2)
        rows = data.rows(np.sort(targets))
        truth = Truth.of(targets, None, rows.keys[rows.places(targets)], 2)
        aux, reported = who.sample(data, targets, 2), ~truth.calibration
        assert result["unique"]["count"] == is_unique(data, aux, targets)[reported].sum()
        seen = so.attack("likelihood").run(data, aux, watch=targets)
        sure = (seen.posterior >= SURE) & (seen.best == targets)
        assert result["sure"]["count"] == sure[reported].sum()
        assert (seen.best == targets)[is_unique(data, aux, targets)].all(), (
            "a unique record is the best guess"
        )
    assert 0 < found.results[0]["unique"]["count"] < found.results[0]["found"]["count"]


def test_facts_that_may_be_wrong_by_chance_have_no_uniqueness_and_say_why(ran):
    result = ran[1].results[2]
    assert result["unique"] is None and result["unique_all"] is None and result["found"] is not None
    assert "with some probability" in result["not_measured"]["unique"]


def test_without_a_posterior_nobody_is_called_sure_and_the_reason_is_stated():
    found = so.Audit(
        tastes(), so.Adversary(knows=3), ["scoreboard-rh"], targets=60, describe=False
    ).run(False)
    result = found.results[0]
    assert result["sure"] is None and result["not_measured"] == {"sure": NO_POSTERIOR}
    assert result["unique"] is not None


def test_twins_are_found_half_the_time_and_are_never_unique():
    data = tastes(n=40, m=400, twins=40)
    found = so.Audit(data, so.Adversary(knows=4), targets=None, describe=False).run(False)
    result = found.results[0]
    assert result["unique"]["count"] == 0 and result["sure"]["count"] == 0
    assert result["found"]["rate"] == pytest.approx(0.5, abs=0.03)
    assert (
        "singled out none of 40 people tested" in statements_of(found)[0]
        and "single out" not in statements_of(found)[0]
    )


def test_unicity_alone_headlines_uniqueness():
    found = so.Audit(
        tastes(m=400), so.Adversary(knows=4), ["unicity"], targets=120, describe=False
    ).run(False)
    assert found.results[0]["unique"]["low"] > 0.5
    assert (
        "is enough to single out" in statements_of(found)[0]
        and "no other record fits" in statements_of(found)[0]
    )


def answers(posterior, credit, absent):
    return made_outcomes(credit, posterior=posterior, absent_posterior=absent)


def test_an_attacker_whose_probabilities_do_not_hold_is_sure_of_nobody():
    """Unaware attackers on a defended release state .99 and are right half of the time: that is not certainty."""
    n = 200
    right = (np.arange(n) % 2).astype(float)
    half = np.arange(n) < n // 2
    boastful = answers([0.99] * n, right, [0.0] * n)
    honest = answers([0.99] * 20 + [0.2] * (n - 20), np.ones(n), [0.0] * n)
    named_although_absent = answers([0.99] * n, np.ones(n), [0.99] * n)
    assert not holds(boastful, half) and holds(honest, half)
    assert not holds(named_although_absent, half)
    only = hits_of({"a": boastful}, half, "", None).measures(1.0)
    assert only["sure"] is None and only["not_measured"]["sure"] == REFUTED
    both = hits_of({"a": boastful, "b": honest}, half, "", None).measures(1.0)
    assert both["sure_attack"] == "b" and both["sure"]["count"] == 20


def test_a_defended_release_that_keeps_all_entries_has_all_three():
    source, defense = tastes(n=100, m=300), so.defense("sample-records", share=0.8)
    found = so.Audit(
        source, so.Adversary(knows=4), targets=40, defense=defense, describe=False
    ).run(False)
    result = found.results[0]
    assert result["unique"]["rate"] < result["found"]["rate"] <= 1
    assert result["sure"] is None or "likelihood" in result["sure_attack"]


def test_nobody_is_called_unique_where_the_right_record_may_lack_a_fact():
    """Few records hold all facts after entries were dropped: 1 % unique would look safe."""
    source, who = tastes(n=100, m=300), so.Adversary(knows=4)
    for defense in ("drop-entries(share=0.5)", "swap-entries(share=0.3)", "cap-entries(most=5)"):
        release = so.parse_defense(defense).apply(source, seed=1)
        found = so.Audit(source, who, targets=40, release=release, describe=False).run(False)
        result = found.results[0]
        assert result["unique"] is None and "entries" in result["not_measured"]["unique"]
        assert result["found"] is not None


def in_groups(n=300, seed=20):
    """People whose items mostly come from one of ten groups, each with a day: presence is hard to tell."""
    rng = np.random.default_rng(seed)
    rows = [
        np.union1d(
            rng.choice(20, rng.integers(5, 15), replace=False) + 20 * (r % 10),
            rng.choice(200, 4, replace=False),
        )
        for r in range(n)
    ]
    record = np.repeat(np.arange(n), [len(r) for r in rows])
    return record, np.concatenate(rows), rng.integers(0, 300, record.size)


def test_the_interval_of_sure_covers_what_other_canaries_would_give(monkeypatch):
    record, item, day = in_groups()
    who, got = so.Adversary(knows=2, time_within=14), []
    for seed in range(4):
        monkeypatch.setattr(presence, "canary_seed", lambda who, seed=seed: 2**41 + seed)
        data = so.Dataset.from_arrays(
            record, item, time=day
        )  # made again: the calibration is kept on the dataset
        ran = so.Audit(data, [who], ["likelihood"], targets=None, seed=2, describe=False).run(False)
        got.append(ran.results[0]["sure"])
    rates = [one["rate"] for one in got]
    assert max(rates) - min(rates) > 0.1
    assert all(one["low"] <= rate <= one["high"] for one in got for rate in rates)
