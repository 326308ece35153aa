"""Intervals and tests, against SciPy and by law."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from standout.formulas.rates import Rate, at_most, mcnemar, precision, wilson

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
