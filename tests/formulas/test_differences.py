"""Differences of two rates at their ends: empty samples, single people, equal counts."""

from __future__ import annotations

import math

import pytest

from standout.formulas.differences import newcombe, p_larger
from standout.formulas.rates import wilson


@pytest.mark.parametrize(("n", "other_n"), [(0, 5), (5, 0), (0, 0)])
def test_an_empty_sample_says_nothing(n, other_n):
    assert newcombe(0, n, 0, other_n) == (0.0, -1.0, 1.0)
    assert p_larger(0, n, 0, other_n) == 1.0


def test_one_person_is_a_sample():
    difference, low, high = newcombe(1, 1, 0, 1)
    (l1, u1), (l2, u2) = wilson(1, 1), wilson(0, 1)
    assert difference == 1.0
    assert low == pytest.approx(1 - math.hypot(1 - l1, u2)) and high == pytest.approx(
        1 + math.hypot(u1 - 1, l2)
    )
    # pooled rate 1/2, variance 1/4·2: z = √2
    assert p_larger(1, 1, 0, 1) == pytest.approx(0.5 * math.erfc(1.0))


def test_the_interval_and_the_test_turn_with_the_order_of_the_samples():
    difference, low, high = newcombe(30, 100, 45, 90)
    other = newcombe(45, 90, 30, 100)
    assert (difference, low, high) == pytest.approx((-other[0], -other[2], -other[1]))
    assert p_larger(30, 100, 45, 90) == pytest.approx(1 - p_larger(45, 90, 30, 100))
    assert p_larger(20, 100, 20, 100) == 0.5
    assert p_larger(5, 5, 7, 7) == p_larger(0, 5, 0, 7) == 1.0
