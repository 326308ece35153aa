"""Values as codes: exact up to 4,095 distinct values, then cells with stated bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import standout as so
from standout.data.dataset import Dataset
from standout.data.values import code_values, codes_of, grid_step


def coded(values):
    distinct, counts = np.unique(np.asarray(values, float), return_counts=True)
    scale = code_values(distinct, counts)
    return distinct, scale, codes_of(distinct, scale.high)


def column(value, **options) -> Dataset:
    """One entry per record, all of one item."""
    return Dataset.from_arrays(np.arange(len(value)), np.zeros(len(value), int), value, **options)


@given(st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=400, unique=True))
def test_few_values_are_their_own_levels(values):
    distinct, scale, codes = coded(values)
    assert scale.error == 0
    assert np.array_equal(scale.levels[codes], distinct)


@pytest.mark.parametrize(("n", "kind"), [(255, np.uint8), (256, np.uint16), (4095, np.uint16)])
def test_up_to_4095_values_are_kept_exactly_in_the_narrowest_codes(n, kind):
    value = np.random.default_rng(n).permutation(
        np.sort(np.random.default_rng(0).lognormal(3, 2, n))
    )
    value = np.append(value, np.nan)
    ds = column(value)
    assert ds.record_code.dtype == kind
    assert ds.index.code.dtype == kind
    assert np.array_equal(np.append(ds.levels, np.nan)[ds.record_code], value, equal_nan=True)
    assert ds.cleaning.value_error == 0
    assert ds.level_low.size == ds.level_high.size == 0


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
def test_more_values_lie_in_the_cell_of_their_level(n, kind, seed):
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
    distinct, scale, codes = coded(values)
    assert scale.levels.size <= 4095
    assert np.all(scale.levels[1:] > scale.levels[:-1])
    assert np.all(np.diff(codes.astype(int)) >= 0)
    assert np.all((scale.low[codes] <= distinct) & (distinct <= scale.high[codes]))
    difference = np.abs(scale.levels[codes] - distinct)
    assert difference.max() == pytest.approx(scale.error, rel=1e-9, abs=1e-300)
    assert scale.levels.size > 1000, (
        "levels that are not used make the error larger than it has to be"
    )


def test_small_counts_stay_exact_beside_huge_ones():
    small = np.repeat(np.arange(1, 31), 1000)
    large = np.unique(np.random.default_rng(0).integers(1000, 10**7, 20_000))
    distinct, scale, codes = coded(np.concatenate([small, large]))
    assert scale.error > 0
    assert scale.levels[codes][distinct <= 20].tolist() == list(range(1, 21))


def test_the_error_is_not_far_from_what_even_levels_would_give():
    _, scale, _ = coded(np.linspace(0, 1, 100_000))
    assert 0 < scale.error < 3 * 1 / 4095


def test_ranges_are_never_cut_in_two():
    low = np.arange(10_000) * 1.0
    high = low + 0.4
    scale = code_values(high, np.ones(10_000, int), low)
    assert np.array_equal(codes_of(low, scale.high), codes_of(high, scale.high))
    assert np.all(scale.low[codes_of(low, scale.high)] <= low)


@given(st.lists(st.floats(-100, 100, allow_nan=False), min_size=1, max_size=400))
def test_a_value_finds_its_code_again(values):
    distinct, scale, codes = coded(values)
    assert codes_of(distinct, scale.high).tolist() == codes.tolist() == list(range(distinct.size))
    assert codes_of(np.array([np.nan]), scale.high).tolist() == [scale.levels.size]


def test_the_error_is_in_the_cleaning():
    value = np.arange(10_000.0) ** 2
    ds = column(value)
    worst = np.abs(ds.levels[ds.record_code] - value).max()
    assert worst == ds.cleaning.value_error > 0
    note = f"value: 10,000 distinct values coded as {ds.n_levels} levels, rounded to about 20000, largest error {worst:.6g}"
    assert note in ds.cleaning.notes


def test_exact_values_have_no_error_to_tell_of():
    ds = Dataset.from_arrays([1, 2, 3], [1, 1, 1], [1.0, 2.5, np.nan])
    assert ds.cleaning.value_error == 0
    assert ds.record_code.tolist() == [0, 1, 2]
    assert ds.cleaning.notes == ()


@pytest.mark.parametrize("n", [1000, 6000])
def test_exact_outside_knowledge_finds_everyone_however_many_values_there_are(n):
    # with 255 levels the unicity of such data read .1 instead of 1
    value = np.round(np.random.default_rng(3).permutation(n) * 0.37 + 1, 2)
    ds = column(value)
    asked = np.arange(0, n, max(1, n // 300))
    aux = so.Knowledge.from_arrays(asked, np.zeros(asked.size, int), value[asked])
    found = so.attack("unicity").run(ds, aux, watch=asked)
    if ds.cleaning.value_error == 0:
        assert found.matched.all()
        assert np.array_equal(found.best, asked)
    # cells hold several values: the target always agrees with what is true of it
    assert np.array_equal(found.rank, found.n_matching)
    assert so.attack("scoreboard-rh").run(ds, aux, watch=asked).rank.max() <= (
        1 if n == 1000 else 4
    )


def test_a_certificate_never_names_a_wrong_record_because_of_coding():
    # 6,000 distinct values: with midpoints for values, the neighbor of the target could score
    # higher than the target
    n = 6000
    rng = np.random.default_rng(5)
    value = np.sort(rng.lognormal(0, 2, 2 * n))
    record, item = np.tile(np.arange(n), 2), np.repeat([0, 1], n)
    value = np.concatenate([rng.permutation(value[:n]), rng.permutation(value[n:])])
    ds = Dataset.from_arrays(record, item, value)
    assert ds.cleaning.value_error > 0
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


def test_levels_whose_cells_come_near_each_other_are_near():
    value = np.arange(20_000.0)
    ds = column(value)
    first, stop = ds.near_levels(3)
    for k in range(0, 20_000, 97):
        code, other = int(ds.record_code[k]), int(ds.record_code[min(k + 3, 19_999)])
        assert first[code] <= other < stop[code]
