"""Values as codes: every distinct value is a level."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import standout as so
from standout.data import values as values_module
from standout.data.dataset import Dataset
from standout.data.values import codes_of, grid_step, levels_of
from standout.errors import InputError


def coded(values):
    distinct = np.unique(np.asarray(values, float))
    levels = levels_of(distinct)
    return distinct, levels, codes_of(distinct, levels)


def column(value, **options) -> Dataset:
    """One entry per record, all of one item."""
    return Dataset.from_arrays(np.arange(len(value)), np.zeros(len(value), int), value, **options)


@pytest.mark.parametrize(
    ("n", "kind"), [(255, np.uint8), (256, np.uint16), (65_535, np.uint16), (65_536, np.uint32)]
)
def test_values_are_kept_exactly_in_the_narrowest_codes(n, kind):
    value = np.random.default_rng(n).permutation(
        np.sort(np.random.default_rng(0).lognormal(3, 2, n))
    )
    value = np.append(value, np.nan)
    ds = column(value)
    assert ds.record_code.dtype == kind
    assert ds.index.code.dtype == kind
    assert np.array_equal(np.append(ds.levels, np.nan)[ds.record_code], value, equal_nan=True)


def test_wide_codes_do_not_run_into_the_days_of_the_sort_key():
    rng = np.random.default_rng(1)
    n, day = 5000, np.append(rng.integers(0, 60_000, 4999), 0)
    rows = {
        "record": rng.integers(0, 40, n),
        "item": rng.integers(0, 300, n),
        "value": rng.integers(0, 4000, n),
    }
    ds = Dataset.from_arrays(rows["record"], rows["item"], rows["value"], day)
    record = np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr))
    got = np.column_stack([record, ds.record_item, ds.record_tick, ds.levels[ds.record_code]])
    expected = np.column_stack([rows["record"], rows["item"], day, rows["value"]])
    assert np.array_equal(got, expected[np.lexsort(expected.T[::-1])])


def test_wide_codes_and_the_longest_spans_of_days_fit_one_sort_key():
    value = np.arange(1000.0)
    ds = Dataset.from_arrays(
        np.zeros(1000, int), np.zeros(1000, int), value, np.linspace(0, 16_000_000, 1000).round()
    )
    assert np.array_equal(ds.levels[ds.record_code], value)
    assert ds.record_tick.tolist() == np.linspace(0, 16_000_000, 1000).round().tolist()


@settings(max_examples=30)
@given(
    st.integers(4200, 9000),
    st.sampled_from(["uniform", "lognormal", "integers", "tiny", "huge", "spike", "both ends"]),
    st.integers(0, 10**6),
)
def test_values_of_any_size_and_distance_are_their_own_levels(n, kind, seed):
    rng = np.random.default_rng(seed)
    values = {
        "uniform": rng.random(n),
        "lognormal": rng.lognormal(3, 3, n),
        "integers": rng.permutation(5 * n)[:n] - n,
        "tiny": 1 + 1e-12 * rng.random(n),
        "huge": rng.normal(0, 1e300, n),
        "spike": np.concatenate([np.zeros(10 * n), rng.normal(0, 1, n)]),
        "both ends": np.concatenate(
            [np.linspace(-1.7e308, -1e308, n), np.linspace(1e308, 1.7e308, n)]
        ),
    }[kind]
    distinct, levels, codes = coded(values)
    assert np.array_equal(levels[codes], distinct)


def test_too_many_values_are_refused(monkeypatch):
    monkeypatch.setattr(values_module, "MOST_LEVELS", 10)
    with pytest.raises(InputError, match="11 distinct values: at most 10 can be kept"):
        column(np.arange(11.0))


@given(st.lists(st.floats(-100, 100, allow_nan=False), min_size=1, max_size=400))
def test_a_value_finds_its_code_again(values):
    distinct, levels, codes = coded(values)
    assert codes.tolist() == list(range(distinct.size))
    assert codes_of(np.array([np.nan]), levels).tolist() == [levels.size]


@pytest.mark.parametrize("n", [1000, 6000])
def test_exact_outside_knowledge_finds_everyone_however_many_values_there_are(n):
    # with 255 levels the unicity of such data read .1 instead of 1
    value = np.round(np.random.default_rng(3).permutation(n) * 0.37 + 1, 2)
    ds = column(value)
    asked = np.arange(0, n, max(1, n // 300))
    aux = so.Knowledge.from_arrays(asked, np.zeros(asked.size, int), value[asked])
    found = so.attack("unicity").run(ds, aux, watch=asked)
    assert found.matched.all()
    assert np.array_equal(found.best, asked)
    assert so.attack("scoreboard-rh").run(ds, aux, watch=asked).rank.max() == 1


def test_a_certificate_never_names_a_wrong_record_because_of_coding():
    n = 6000
    rng = np.random.default_rng(5)
    value = np.sort(rng.lognormal(0, 2, 2 * n))
    record, item = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    value = np.concatenate([rng.permutation(value[:n]), rng.permutation(value[n:])])
    ds = Dataset.from_arrays(record, item, value)
    assert ds.n_levels == 2 * n
    asked = np.arange(0, n, 20)
    aux = so.Knowledge.from_arrays(
        np.tile(asked, 2),
        np.repeat([0, 1], asked.size),
        np.concatenate([value[asked], value[n + asked]]),
    )
    weighted = so.attack("weighted", gamma=0.0)
    found = weighted.run(ds, aux)
    certificate = weighted.certificate(ds, aux, found)
    assert certificate.isolated.any()
    assert np.array_equal(found.best[certificate.isolated], asked[certificate.isolated])
    assert certificate.consistent.all()


@pytest.mark.parametrize(
    ("levels", "step"),
    [
        ([1, 2, 3, 4, 5], 1.0),
        ([0.5, 1, 1.5, 3, 5], 0.5),
        ([7.0], 1.0),
        ([], None),
        ([1, 2, 3.7], None),
        (np.arange(65), 1.0),
        (np.arange(66), None),
        (np.arange(-1000, 1001) / 100, None),
        ([1.7e308, -1.7e308], None),
    ],
)
def test_a_grid_is_regular_and_has_at_most_64_steps(levels, step):
    found = grid_step(np.sort(np.asarray(levels, float)))
    assert found == (None if step is None else pytest.approx(step))


@given(
    st.lists(st.floats(-50, 50, allow_nan=False), min_size=1, max_size=60),
    st.sampled_from([0.0, 0.5, 3.0]),
)
def test_near_levels_are_those_within_the_tolerance(values, within):
    ds = column(np.array(values))
    gap = np.abs(ds.levels[:, None] - ds.levels[None, :])
    surely, maybe = gap <= within, gap <= within + 1e-12
    first, stop = ds.near_levels(within)
    places = np.arange(ds.n_levels)
    near = (places >= first[:, None]) & (places < stop[:, None])
    assert (near | ~surely).all() and (maybe | ~near).all()
