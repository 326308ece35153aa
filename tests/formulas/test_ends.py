"""Formulas at the ends of their ranges, where a clamp or a default decides."""

from __future__ import annotations

import numpy as np
import pytest

from standout.formulas.exact_tests import fewest_to_pass, p_above, p_below
from standout.formulas.ns08 import theorem_3_m


def test_a_lineup_larger_than_the_release_needs_no_item():
    assert theorem_3_m(10, 50, 0.5) == 0.0
    assert theorem_3_m(10, 8, 0.5) == pytest.approx(np.log(10 / 7) / np.log(2))


@pytest.mark.parametrize(("limit", "below", "above"), [(0.0, 1.0, 0.0), (1.0, 0.0, 1.0)])
def test_limits_of_nobody_and_of_everybody_are_decided_without_a_distribution(limit, below, above):
    assert (p_below(1, 5, limit), p_above(1, 5, limit)) == (below, above)


def test_the_fewest_targets_that_can_pass_can_and_one_fewer_cannot():
    for limit in (0.003, 0.05, 0.09, 0.5):
        n = fewest_to_pass(limit)
        assert p_below(0, n, limit) <= 0.05 < p_below(0, n - 1, limit)
