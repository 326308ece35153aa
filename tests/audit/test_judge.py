"""The numbers of an attack against numbers that were worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from made_outcomes import made_outcomes

from standout.audit.judge import Quantile, judge
from standout.audit.strongest import strongest
from standout.data.dataset import Dataset
from standout.experiment.outcomes import Truth
from standout.formulas.rates import Rate

# 6 people; the last one is not in the release. The first is found alone, the second shares the top
# with another record.
TARGET = np.array([0, 1, 2, 3, 4, -1])
CREDIT = np.array([1.0, 0.5, 0.0, 1.0, 0.0, 0.0])
MATCHED = np.array([True, True, True, False, False, True])
AWAY = np.array([False, True, False, False, False, True])
RANK = np.array([1, 2, 7, 1, 9, 0])
BITS = np.array([0.5, 1.0, 3.0, 0.0, np.nan, np.nan])
LENGTHS = (4, 4, 2, 1, 3, 2, 2, 2)


def release():
    record = np.repeat(np.arange(8), LENGTHS)
    item = np.concatenate([np.arange(n) for n in LENGTHS])
    return Dataset.from_arrays(record, item)


def outcomes(lineup=True, credit=CREDIT, away=AWAY):
    share = np.array([0.9, 0.5, 0.3, 0.8, 0.1, 0.2])
    return made_outcomes(
        credit,
        target=TARGET,
        matched=MATCHED,
        statistic=np.array([5.0, 4, 3, 2, 1, 6]),
        rank=RANK,
        bits=BITS,
        n_candidates=np.array([8, 8, 8, 8, 8, 0]),
        share=share if lineup else np.full(6, np.nan),
        absent_matched=away,
        absent_statistic=np.array([1, 4.5, 0, 0, 0, 5]),
    )


FIRST_HALF = np.array([True, True, True, False, False, False])


@pytest.fixture
def judged():
    return judge(outcomes(), FIRST_HALF, release(), eligible_share=0.5)


def counts(rate):
    return rate["count"], rate["n"], rate["rate"]


def test_hits_are_credits_and_the_person_who_is_not_released_is_never_found(judged):
    assert counts(judged["hit"]) == (2.5, 6, 2.5 / 6)
    assert judged["hit_all"]["rate"] == pytest.approx(2.5 / 12)


def test_a_named_record_is_right_by_its_credit_and_wrong_by_the_rest(judged):
    assert counts(judged["matched_right"]) == (1.5, 6, 1.5 / 6)
    assert counts(judged["matched_wrong"]) == (2.5, 6, 2.5 / 6)
    assert counts(judged["false_match"]) == (2, 6, 2 / 6)


def test_ranks_count_only_targets_among_the_candidates(judged):
    assert [(row["k"], row["count"]) for row in judged["k_identified"]] == [
        (1, 2),
        (5, 3),
        (10, 4),
        (100, 4),
    ]
    assert judged["k_identified"][1]["rate_all"] == pytest.approx(0.25)
    assert judged["n_without_candidates"] == 1


def test_bits_are_those_of_targets_that_are_candidates(judged):
    assert (
        judged["lineup_bits"]["n"],
        judged["lineup_bits"]["mean"],
        judged["lineup_bits"]["prior"],
    ) == (
        4,
        1.125,
        3.0,
    )
    assert (judged["rank_bits"]["n"], judged["rank_bits"]["mean"]) == (
        4,
        pytest.approx((0 + 1 + np.log2(7) + 0) / 4),
    )
    assert judged["rank_bits"]["quantiles"][2] == Quantile(level=0.5, bits=0.5)


def test_baselines_are_any_record_and_one_of_the_longest(judged):
    assert judged["baselines"]["random"] == 1 / 8
    # two records of 4 items: whoever always names one of them finds each with probability 1/2
    assert counts(judged["baselines"]["popularity"]) == (1.0, 6, 1 / 6)


def test_the_threshold_comes_from_one_half_and_its_rates_from_the_other(judged):
    found = judged["calibrated"]
    # on the first three people: at 4.5 a third of the credit is dismissed, and one of three is a
    # false match
    assert (found["threshold"], found["n_calibration"]) == (4.5, 3)
    assert counts(found["matched_right"]) == (0.0, 3, 0.0)
    assert counts(found["matched_wrong"]) == (1.0, 3, 1 / 3)
    assert counts(found["false_match"]) == (1, 3, 1 / 3)
    assert found["matched_right_all"] == 0.0
    other = judge(outcomes(), ~FIRST_HALF, release(), eligible_share=0.5)["calibrated"]
    assert (other["threshold"], counts(other["matched_right"]), other["matched_right_all"]) == (
        2.0,
        (1.5, 3, 0.5),
        0.25,
    )


def test_without_a_second_half_nothing_is_calibrated():
    for half in ([True] * 6, [False] * 6):
        assert judge(outcomes(), np.array(half), release())["calibrated"] is None
        assert strongest({"a": outcomes()}, np.array(half)) is None


def test_the_lineup_is_judged_only_where_the_attack_has_one(judged):
    assert "lineup" not in judge(outcomes(lineup=False), FIRST_HALF, release())
    assert judged["lineup"]["mean_share"] == pytest.approx(2.8 / 6)


def test_the_strongest_is_chosen_on_one_half_and_reported_on_the_other():
    weak = outcomes(credit=np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.0]))
    row = strongest({"scoreboard-rh": weak, "other": outcomes()}, FIRST_HALF, 0.5)
    assert (row["attack"], row["n_attacks"]) == ("other", 2)
    assert counts(row["hit"]) == (1.0, 3, 1 / 3)
    assert row["hit_all"]["rate"] == pytest.approx(1 / 6)
    low, high = Rate.of(np.array([1.0, 0.0, 0.0])).low, Rate.of(np.array([1.0, 0.0, 0.0])).high
    assert (row["hit"]["low"], row["hit"]["high"]) == (low, high)
    assert (row["versus"]["attack"], row["versus"]["only_first"], row["versus"]["only_second"]) == (
        "scoreboard-rh",
        0,
        1,
    )


def test_a_tie_goes_to_fewer_false_matches_on_the_calibration_half_then_to_the_first_name():
    cautious = outcomes(away=np.array([False, False, False, True, True, True]))
    assert strongest({"a": outcomes(), "b": cautious}, FIRST_HALF)["attack"] == "b"
    assert strongest({"a": cautious, "b": outcomes()}, FIRST_HALF)["attack"] == "a"
    assert strongest({"a": outcomes(), "b": outcomes()}, FIRST_HALF)["attack"] == "a"
    assert "versus" not in strongest({"a": outcomes()}, FIRST_HALF)


def test_half_of_the_people_calibrate_and_who_does_depends_on_keys_and_seed():
    keys = np.arange(41, dtype=np.uint64) * np.uint64(977)
    one = Truth.of(np.arange(41), None, keys, 3)
    assert one.calibration.sum() == 20
    assert (Truth.of(np.arange(41), None, keys, 3).calibration == one.calibration).all()
    assert (Truth.of(np.arange(41), None, keys, 4).calibration != one.calibration).any()
    order = np.random.default_rng(0).permutation(41)
    assert (Truth.of(order, None, keys[order], 3).calibration == one.calibration[order]).all()
    place = np.full(41, -1)
    place[5] = 9
    assert Truth.of(np.array([5, 6]), place, keys[:2], 3).target.tolist() == [9, -1]
