"""Values as codes: exact up to 255 levels, then within the error that is stated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standout.data.dataset import Dataset
from standout.data.values import code_values, codes_of, upper_ends


def coded(values):
    distinct, counts = np.unique(np.asarray(values, float), return_counts=True)
    levels, codes, error = code_values(distinct, counts)
    return distinct, levels, codes, error


@given(st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=255, unique=True))
def test_up_to_255_values_are_their_own_levels(values):
    distinct, levels, codes, error = coded(values)
    assert error == 0
    assert np.array_equal(levels[codes], distinct)


@given(
    st.integers(256, 3000),
    st.sampled_from(["uniform", "lognormal", "integers", "tiny", "huge", "spike", "both ends"]),
    st.integers(0, 10**6),
)
def test_more_values_lie_within_the_stated_error(n, kind, seed):
    rng = np.random.default_rng(seed)
    values = {
        "uniform": rng.random(n),
        "lognormal": rng.lognormal(3, 3, n),
        "integers": rng.permutation(5 * n)[:n] - n,
        "tiny": 1 + 1e-12 * rng.random(n),
        "huge": rng.normal(0, 1e300, n),
        "spike": np.concatenate([np.zeros(10 * n), rng.normal(0, 1, n)]),
        "both ends": np.concatenate([np.linspace(-1.7e308, -1e308, n), np.linspace(1e308, 1.7e308, n)]),
    }[kind]
    distinct, levels, codes, error = coded(values)
    assert levels.size <= 255
    assert np.all(levels[1:] > levels[:-1])
    assert np.all(np.diff(codes.astype(int)) >= 0)
    difference = np.abs(levels[codes] - distinct)
    assert difference.max() == pytest.approx(error, rel=1e-9, abs=1e-300)
    assert levels.size > 100, "levels that are not used make the error larger than it has to be"


def test_small_counts_stay_exact_beside_huge_ones():
    small = np.repeat(np.arange(1, 31), 100)
    large = np.unique(np.random.default_rng(0).integers(1000, 10**7, 2000))
    distinct, levels, codes, _ = coded(np.concatenate([small, large]))
    assert levels[codes][distinct <= 20].tolist() == list(range(1, 21))


def test_the_error_is_not_far_from_what_255_even_levels_would_give():
    _, _, _, error = coded(np.linspace(0, 1, 10_000))
    assert error < 3 * 1 / 255


def test_ranges_are_never_cut_in_two():
    low = np.arange(1000) * 1.0
    high = low + 0.4
    levels, codes, error = code_values(high, np.ones(1000, int), low)
    for end in (low, high):
        assert np.abs(levels[codes] - end).max() <= error + 1e-9


@given(st.lists(st.floats(-100, 100, allow_nan=False), min_size=1, max_size=400))
def test_a_value_finds_its_code_again(values):
    distinct, levels, codes, _ = coded(values)
    found = codes_of(distinct, upper_ends(distinct, codes))
    assert found.tolist() == codes.tolist()
    assert codes_of(np.array([np.nan]), upper_ends(distinct, codes)).tolist() == [levels.size]


def test_the_error_is_in_the_cleaning():
    value = np.arange(1000.0)
    ds = Dataset.from_arrays(np.arange(1000), np.zeros(1000, int), value)
    worst = np.abs(ds.levels[ds.record_code] - value).max()
    assert worst == ds.cleaning.value_error > 0
    assert f"value: 1,000 distinct values coded as {ds.n_levels} levels, largest error {worst:.6g}" in ds.cleaning.notes


def test_exact_values_have_no_error_to_tell_of():
    ds = Dataset.from_arrays([1, 2, 3], [1, 1, 1], [1.0, 2.5, np.nan])
    assert ds.cleaning.value_error == 0
    assert ds.record_code.tolist() == [0, 1, 2]
    assert ds.cleaning.notes == ()
