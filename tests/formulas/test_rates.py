"""Intervals and tests, against SciPy and by law."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from standout.formulas.rates import Rate, at_least, at_most, mcnemar, precision, sign_flip, wilson

counts = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts.filter(lambda c: c[1] > 0))
def test_wilson_equals_scipy(case):
    count, n = case
    expected = stats.binomtest(count, n).proportion_ci(method="wilson")
    assert wilson(count, n) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(counts.filter(lambda c: c[1] > 0))
def test_the_safe_bound_is_clopper_pearson(case):
    count, n = case
    expected = stats.binomtest(count, n, alternative="less").proportion_ci(method="exact").high
    assert at_most(count, n) == pytest.approx(expected, abs=1e-9)


def test_zero_of_five_hundred_is_at_most_point_six_percent():
    assert round(100 * at_most(0, 500), 2) == 0.60


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_equals_the_binomial_test(b, c):
    expected = 1.0 if b + c == 0 else stats.binomtest(b, b + c, 0.5).pvalue
    assert mcnemar(b, c) == pytest.approx(expected, abs=1e-9)


def test_a_rate_of_nobody_is_not_a_zero():
    rate = Rate.of([])
    assert math.isnan(rate.rate) and (rate.low, rate.high) == (0.0, 1.0)


@given(st.floats(0.01, 1), st.floats(0.01, 1), st.floats(0.01, 0.99))
def test_precision_rises_with_the_prior(tpr, fpr, prior):
    assert precision(tpr, fpr, prior) >= precision(tpr, fpr, prior / 2) - 1e-12


@given(st.integers(0, 12), st.integers(0, 12))
def test_the_sign_flip_test_of_whole_hits_is_mcnemar(b, c):
    d = [1.0] * b + [-1.0] * c
    assert sign_flip(d) == pytest.approx(mcnemar(b, c), abs=1e-12)


def test_the_sign_flip_test_of_credits_equals_enumeration():
    d = np.array([0.5, -1.0, 1 / 3, 0.25, -0.5, 1.0, 1.0, 0.0])
    signs = np.array(list(itertools.product([-1, 1], repeat=d.size)))
    expected = (np.abs(signs @ np.abs(d)) >= abs(d.sum()) - 1e-9).mean()
    assert sign_flip(d) == pytest.approx(expected, abs=1e-12)


def test_many_credits_agree_with_the_exact_sign_flip_distribution(monkeypatch):
    from standout.formulas import rates

    d = np.random.default_rng(0).choice([0.5, -0.5, 1.0, -1.0, 1 / 3], 400)
    exact = sign_flip(d)
    monkeypatch.setattr(rates, "MOST_EXACT", 10)
    assert sign_flip(d) == pytest.approx(exact, abs=0.02)


def test_parts_of_a_hit_are_counted_and_do_not_depend_on_the_order():
    credit = np.array([1 / 3, 0.1, 1.0, 1 / 7, 0.0] * 40)
    rate = Rate.of(credit)
    assert rate == Rate.of(np.random.default_rng(1).permutation(credit))
    assert rate.n == 200 and rate.rate == pytest.approx(credit.mean())


def test_a_bound_for_parts_of_a_hit_is_never_below_the_one_for_fewer_whole_hits():
    assert at_most(2, 50) < at_most(2.25, 50) == at_most(3, 50)
    assert at_least(47.5, 50) == at_least(47, 50) < at_least(48, 50)


def test_the_share_of_all_counts_those_who_could_not_be_tested_as_not_found():
    rate = Rate.of([True] * 80 + [False] * 20).of_all(0.25)
    assert rate.rate == pytest.approx(0.2) and rate.low < 0.2 < rate.high < 0.25
