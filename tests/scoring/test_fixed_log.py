"""The logarithm that the likelihood kernel sums: integer, monotone, and close to the real one everywhere."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from standout.scoring.cpu import fixed_log
from standout.scoring.plan import LOG_BITS

UNIT = 2.0**-LOG_BITS
ERROR = 2e-7

odds = st.one_of(
    st.floats(1.0, 4.0),
    st.floats(1.0, 1e300),
    st.floats(0.0, 690.0).map(math.exp),
    st.floats(0.0, 1.0).map(lambda x: 1.0 + 2.0 ** (-50 * x)),
)


@given(x=odds)
@example(x=1.0)
@example(x=math.nextafter(2.0, 1.0))
@example(x=2.0)
@example(x=1e300)
def test_fixed_log_is_within_2e_7_of_the_logarithm(x):
    assert abs(fixed_log(x) * UNIT - math.log(x)) <= ERROR


@given(x=odds, y=odds)
def test_fixed_log_never_falls(x, y):
    low, high = sorted((x, y))
    assert fixed_log(low) <= fixed_log(high)
    assert fixed_log(low) <= fixed_log(math.nextafter(low, math.inf))


def test_fixed_log_never_falls_where_two_pieces_of_its_table_meet():
    knots = np.ldexp(1.0 + np.arange(1, 1025) / 1024, 5)
    before = np.array([fixed_log(math.nextafter(x, 0.0)) for x in knots])
    at = np.array([fixed_log(x) for x in knots])
    assert (before <= at).all()
    assert (np.diff(at) > 0).all()


def test_fixed_log_of_one_is_exactly_zero():
    assert fixed_log(1.0) == 0
