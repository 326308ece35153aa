"""The error of the verdict: looks are paid for, several limits are corrected, and unsafe data rarely passes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from known_rate import rate_of, with_rate
from made_outcomes import made_outcomes
from scipy.stats import binom

import standout as so
from standout.audit.groups import cut
from standout.formulas.exact_tests import (
    holm,
    look_shares,
    look_sizes,
    over_looks,
    p_above,
    p_below,
)
from standout.gate.measure import Measurement, Question
from standout.gate.policy import Limit

LIMIT = 0.09


def question(n_looks, found):
    measured = Measurement(
        so.Adversary(knows=3),
        "3 items",
        10_000,
        1.0,
        np.arange(found.size),
        done={"x": made_outcomes(found, matched=found, absent_matched=np.empty(0, bool))},
    )
    return Question(Limit("x", LIMIT), measured, "x", 0.05, n_looks, 1)


def look(question, n):
    question.measured.sizes["x"] = [n]
    question.look()


def test_a_look_in_between_must_reach_a_stricter_level():
    found = np.zeros(1000, bool)
    found[:4] = True
    # 4 of 100 are below 9 % with p = 0.047: enough for one look, too little for the first of three
    assert binom.cdf(4, 100, LIMIT) == pytest.approx(0.0474, abs=1e-3)
    one, three = question(1, found[:100]), question(3, found)
    look(one, 100)
    look(three, 100)
    assert one.is_met
    assert not three.is_met
    assert three.upper > LIMIT > one.upper
    look(three, 1000)
    assert three.is_met


def test_the_levels_of_all_looks_add_up_to_the_stated_error():
    for n in range(1, 8):
        assert sum(look_shares(n)) == pytest.approx(1)
        assert min(look_shares(n)) > 0
    assert over_looks([0.01, 0.9], look_shares(2)) == pytest.approx(0.02)


def test_looks_grow_and_end_with_the_last_target():
    for most in (1, 5, 124, 125, 126, 188, 250, 999, 1000, 10**6):
        sizes = look_sizes(most, 125)
        assert sizes[-1] == most
        assert sizes == sorted(set(sizes))


def test_many_limits_are_corrected_before_a_release_fails():
    """100 rates exactly at their limit: without the correction, chance alone would make most checks fail."""
    rng = np.random.default_rng(5)
    false_alarms = 0
    for _ in range(200):
        counts = rng.binomial(500, LIMIT, 100)
        false_alarms += min(holm([p_above(int(k), 500, LIMIT) for k in counts])) <= 0.05
    assert false_alarms <= binom.ppf(0.999, 200, 0.05)


def test_a_check_with_one_chance_finding_among_many_tests_does_not_fail():
    """The rate is a little above the limit: for some seeds a single test rejects, and all tests together do not."""
    data = with_rate(0.12)
    most = rate_of(data) - 0.01
    asked = {
        "limit": [{"max": most, "adversaries": ["a", "b"]}],
        "self_test": False,
        "sequential": False,
        "targets": 150,
        "attacks": ["scoreboard-rh", "set-intersection"],
        "adversary": {"a": {"knows": 3}, "b": {"knows": 2}},
    }
    corrected = 0
    for seed in range(40):
        seen = so.check(data, asked, seed=seed)
        raw, adjusted = (
            min(row[key] for row in seen.tests) for key in ("p_exceeded", "p_exceeded_holm")
        )
        assert (seen.verdict == "fail") == (adjusted <= 0.05)
        corrected += raw <= 0.05 < adjusted
    assert corrected > 0, "no seed shows the difference: the test proves nothing"


@pytest.mark.parametrize("sequential", [True, False])
def test_unsafe_data_rarely_passes_and_safe_data_mostly_does(sequential):
    asked = {
        "limit": [{"max": LIMIT, "adversaries": ["a"]}],
        "self_test": False,
        "sequential": sequential,
        "targets": 400,
        "attacks": ["unicity"],
        "adversary": {"a": {"knows": 3}},
    }
    at_limit, half = with_rate(LIMIT + 0.001), with_rate(LIMIT / 2)
    assert rate_of(at_limit) >= LIMIT
    runs = 50
    wrong = Counter(so.check(at_limit, asked, seed=s).verdict for s in range(runs))
    right = Counter(so.check(half, asked, seed=s).verdict for s in range(runs))
    assert wrong["pass"] <= binom.ppf(0.999, runs, 0.05)
    assert right["pass"] >= 0.8 * runs
    assert right["fail"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("sequential", [True, False])
def test_in_1000_runs_unsafe_data_passes_in_at_most_5_percent_and_safe_data_in_at_least_80_percent(
    sequential,
):
    asked = {
        "limit": [{"max": LIMIT, "adversaries": ["a"]}],
        "self_test": False,
        "sequential": sequential,
        "attacks": ["scoreboard-rh"],
        "adversary": {"a": {"knows": 3}},
    }
    unsafe, half = with_rate(LIMIT + 0.02, 20_000), with_rate(LIMIT / 2, 20_000)
    assert rate_of(unsafe) == pytest.approx(0.11, abs=0.002)
    assert sum(so.check(unsafe, asked, seed=s).verdict == "pass" for s in range(1000)) <= 50
    assert sum(so.check(half, asked, seed=s).verdict == "pass" for s in range(1000)) >= 800
    few = {**asked, "targets": 20}
    assert {so.check(half, few, seed=s).exit_code for s in range(1000)} <= {1, 3}


def test_the_tests_equal_sums_of_binomial_probabilities():
    for n, k, limit in ((10, 0, 0.3), (10, 3, 0.3), (50, 50, 0.9), (400, 20, 0.09)):
        mass = binom.pmf(np.arange(n + 1), n, limit)
        assert p_below(k, n, limit) == pytest.approx(mass[: k + 1].sum())
        assert p_above(k, n, limit) == pytest.approx(mass[k:].sum())


def test_groups_cover_every_target_once_and_are_not_too_many():
    rng = np.random.default_rng(0)
    for _ in range(300):
        size = rng.choice(rng.integers(1, 60, rng.integers(1, 12)), rng.integers(1, 200))
        ends = cut(size)
        assert ends == sorted(set(ends))
        assert ends[-1] == size.max()
        counts = np.diff([0, *np.searchsorted(np.sort(size), ends, side="right")])
        assert counts.sum() == size.size
        assert (counts >= size.size / 20).all()
