"""Thresholds: equal error, DET, precision, reliability, by hand-made cases."""

import numpy as np
import pytest
from made_outcomes import made_outcomes

from standout.audit import calibrate
from standout.audit.strongest import paired, strongest


def test_equal_error_balances_dismissed_right_answers_and_false_matches():
    rng = np.random.default_rng(0)
    present, absent = rng.normal(2, 1, 4000), rng.normal(0, 1, 4000)
    right = np.ones(4000, bool)
    threshold = calibrate.equal_error(right, present, absent)
    assert threshold == pytest.approx(1.0, abs=0.1)
    assert (present < threshold).mean() == pytest.approx((absent >= threshold).mean(), abs=0.002)


def test_an_attack_that_is_never_right_is_never_allowed_to_answer():
    threshold = calibrate.equal_error(
        np.zeros(3, bool), np.array([1.0, 2, 3]), np.array([0.0, 0, 0])
    )
    found = calibrate.at_threshold(threshold, np.zeros(3, bool), np.array([1.0, 2, 3]), np.zeros(3))
    assert found["matched_wrong"]["count"] == 0 and found["false_match"]["count"] == 0
    assert [p["precision"] for p in found["precision"]] == [None, None, None]


def test_true_rate_at_a_false_rate_is_the_best_one_that_keeps_it():
    right = np.array([True, True, False, True])
    present, absent = np.array([9.0, 5, 7, 1]), np.array([6.0, 2, 0, 0])
    assert calibrate.at_false_rate(right, present, absent, 0.25)["true_rate"] == 0.5
    assert calibrate.at_false_rate(right, present, absent, 0.01)["true_rate"] == 0.25


def test_the_det_curve_runs_from_everybody_to_nobody():
    curve = calibrate.det_curve(np.ones(50, bool), np.arange(50.0), np.arange(50.0) - 10)
    assert curve[0]["false_rate"] == 1.0 and curve[0]["true_rate"] == 1.0
    assert curve[-1]["false_rate"] == 0.0 and curve[-1]["true_rate"] == 0.0
    assert len(curve) <= calibrate.DET_POINTS


def test_reliability_of_an_honest_lineup_lies_on_the_diagonal():
    rng = np.random.default_rng(1)
    share = rng.uniform(size=20_000)
    found = calibrate.reliability(share, rng.uniform(size=20_000) < share)
    for row in found["bins"]:
        assert row["hit"]["low"] - 0.01 <= row["mean_share"] <= row["hit"]["high"] + 0.01
    assert found["log_loss_bits"] == pytest.approx(0.7213, abs=0.02)  # 1/(2 ln 2)


def test_paired_difference_counts_only_where_the_two_disagree():
    first, second = np.array([1, 1, 1, 0], bool), np.array([1, 0, 0, 1], bool)
    row = paired(first, second)
    assert (row["only_first"], row["only_second"], row["difference"]) == (2, 1, 0.25)
    assert row["low"] <= row["difference"] <= row["high"]


def test_parts_of_a_hit_count_as_parts_at_every_threshold():
    credit = np.array([0.5, 0.25, 0.0, 1.0])
    present, absent = np.array([9.0, 5, 7, 1]), np.array([6.0, 2, 0, 0])
    thresholds, true_rate, _ = calibrate.sweep(credit, present, absent)
    for t, share in zip(thresholds, true_rate, strict=True):
        assert share == pytest.approx(credit[present >= t].sum() / 4)
    found = calibrate.at_threshold(5.0, credit, present, absent)
    assert (found["matched_right"]["count"], found["matched_wrong"]["count"]) == (0.75, 2.25)


def test_paired_credits_are_compared_by_their_differences():
    row = paired(np.array([0.5, 1.0, 0.0, 1.0]), np.array([0.5, 0.5, 0.25, 0.0]))
    assert row["difference"] == 0.3125
    # of the eight ways to set the signs of .5, .25 and 1, four reach 1.25
    assert row["p_value"] == pytest.approx(0.5)


def test_a_part_of_a_hit_is_no_person_found_by_one_attack_alone():
    row = paired(np.array([0.02, 0.5, 1.0, 1.0]), np.array([0.0, 0.0, 0.5, 1.0]))
    assert (row["only_first"], row["only_second"]) == (1, 0)


def trial(best, named_when_absent=(False, False, False, False)):
    return made_outcomes(np.equal(best, 0).astype(float), absent_matched=named_when_absent)


def test_of_two_equal_winners_the_one_with_fewer_false_matches_is_named():
    half = np.array([True, True, False, False])
    rash, careful = trial([0, 0, 0, 0], [True, True, True, True]), trial([0, 0, 0, 0])
    assert strongest({"rash": rash, "careful": careful}, half)["attack"] == "careful"


def test_the_winner_is_chosen_on_one_half_and_reported_on_the_other():
    lucky = trial([0, 0, 1, 1])  # right on the calibration half alone
    steady = trial([0, 1, 0, 0])
    half = np.array([True, True, False, False])
    row = strongest({"lucky": lucky, "scoreboard-rh": steady}, half)
    assert (
        row["attack"] == "lucky"
        and row["hit"]["rate"] == 0.0
        and row["versus"]["difference"] == -1.0
    )


def credited(credit, false):
    """A trial with these credits, and false matches for the first `false` queries."""
    return made_outcomes(credit, absent_matched=np.arange(len(credit)) < false)


def test_half_a_hit_does_not_exchange_the_strongest_attack():
    n = 800
    half = np.arange(n) % 2 == 0
    everybody, careful = np.ones(n), np.ones(n)
    careful[0] = 0.5  # a tie on the calibration half
    for credits in ((everybody, careful), (careful, everybody), (everybody, everybody)):
        trials = {"rash": credited(credits[0], 160), "careful": credited(credits[1], 16)}
        assert strongest(trials, half)["attack"] == "careful"


def test_a_whole_person_more_decides_and_so_does_half_a_person_among_few():
    for n, lost in ((800, 1.0), (60, 0.5)):
        half = np.arange(n) % 2 == 0
        worse = np.ones(n)
        worse[0] -= lost
        trials = {"rash": credited(np.ones(n), n), "careful": credited(worse, 0)}
        assert strongest(trials, half)["attack"] == "rash"
