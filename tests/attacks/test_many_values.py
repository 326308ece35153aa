"""Scales of thousands of values: attacks stay exact, and no table is quadratic in the levels."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import standout as so
from standout.attacks.noise import Noise
from standout.data import background as background_module
from standout.data.background import background
from standout.kernels.bins import LevelBins
from standout.kernels.levels import Steps


@pytest.fixture(scope="module")
def amounts() -> so.Dataset:
    """600 records, 6 of 30 items each, about 3,000 distinct amounts that depend on the item."""
    rng = np.random.default_rng(7)
    item = np.argsort(rng.random((600, 30)), axis=1)[:, :6]
    value = np.round(np.exp(rng.normal(1 + item / 10, 0.8)), 2)
    return so.Dataset.from_arrays(
        np.repeat(np.arange(600), 6), item.ravel(), value.ravel(), rng.integers(0, 400, 3600)
    )


def rate(
    name: str, data: so.Dataset, aux: so.Knowledge, targets: np.ndarray, **options: object
) -> float:
    return float((so.attack(name, **options).run(data, aux, watch=targets).rank == 1).mean())


def test_two_exact_amounts_find_everyone_and_two_rough_ones_do_not(amounts):
    assert amounts.n_levels > 1000
    targets = np.arange(0, 600, 6)
    exact = so.Adversary(knows=2).sample(amounts, targets, seed=1)
    rough = so.Adversary(knows=2, value_within="30%").sample(amounts, targets, seed=1)
    for name in ["unicity", "scoreboard", "likelihood"]:
        assert rate(name, amounts, exact, targets) > 0.9, name
        assert rate(name, amounts, rough, targets) < 0.8, name


def test_a_fitted_attacker_notices_that_amounts_are_exact(amounts):
    targets = np.arange(0, 600, 6)
    exact = so.Adversary(knows=2).sample(amounts, targets, seed=1)
    assert rate("likelihood", amounts, exact, targets, noise="fit") > 0.9


def test_a_thousand_queries_on_4095_levels_stay_within_memory():
    rng = np.random.default_rng(1)
    n = 20_000
    value = rng.permutation(np.resize(np.arange(4095) / 7, n))
    ds = so.Dataset.from_arrays(np.repeat(np.arange(2000), 10), np.tile(np.arange(10), 2000), value)
    assert ds.n_levels == 4095
    who = so.Adversary(knows=8, value_within=5)
    aux = who.sample(ds, np.arange(1000), seed=1)
    # compiled code and the background are not counted
    so.attack("likelihood").run(ds, who.sample(ds, np.arange(10), seed=1))
    tracemalloc.start()
    try:
        for name in ["scoreboard-rh", "likelihood"]:
            so.attack(name).run(ds, aux)
        assert tracemalloc.get_traced_memory()[1] < 700 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "levels",
    [np.array([1.0, 2.0, 3.5, 4.0, 5.0]), np.cumsum(np.arange(1, 60)) / 3.0],
    ids=["few", "many"],
)
def test_bins_by_pair_are_the_table_and_each_level_sums_to_what_its_bins_hold(levels):
    bins = LevelBins((0.0, 0.5, 1.0, 2.0, 30.0), (0.4, 0.2, 0.1, 0.1, 0.1, 0.1))
    table = bins.table(levels, levels)
    n = levels.size
    known, code = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    np.testing.assert_allclose(bins.chance(levels, code, known), table.ravel())
    gaps = np.abs(levels[:, None] - levels[None, :])
    place = np.searchsorted(np.asarray(bins.edges), gaps - 1e-9)
    there = np.stack([(place == b).sum(axis=1) for b in range(6)], axis=1)
    np.testing.assert_array_equal(bins.sizes(levels), there)
    np.testing.assert_allclose(
        table.sum(axis=0), ((there > 0) * np.asarray(bins.share)).sum(axis=1)
    )
    weight = np.arange(code.size, dtype=float)
    expected = [weight[(place[code, known] == b)].sum() for b in range(6)]
    np.testing.assert_allclose(bins.counts(levels, code, known, weight), expected)


def test_steps_beyond_both_ends_count_as_the_ends():
    levels = np.arange(1.0, 6.0)
    table = Steps(2).table(levels, levels)
    by_hand = np.zeros((5, 5))
    for c in range(5):
        for k in range(-2, 3):
            by_hand[min(max(c + k, 0), 4), c] += 1 / 5
    np.testing.assert_allclose(table, by_hand)
    assert (Steps(2).table(np.array([0.0, 2.5, 6.0]), levels) == 0).all()


def test_the_background_of_an_item_is_its_own_also_where_no_table_of_all_items_fits(
    amounts, monkeypatch
):
    whole = background(amounts).values_of(amounts, np.array([3, 5, 3]))
    again = so.Dataset.from_arrays(
        np.repeat(np.arange(600), 6),
        amounts.item_labels[amounts.record_item],
        amounts.levels[amounts.record_code],
        amounts.record_tick,
    )
    monkeypatch.setattr(background_module, "CELLS", 1000)
    assert background(again).value.shape[0] == 1
    np.testing.assert_array_equal(background(again).values_of(again, np.array([3, 5, 3])), whole)
    targets = np.arange(0, 600, 30)
    who = so.Adversary(knows=2, value_within="30%")
    scores = [
        so.attack("likelihood").scores(ds, who.sample(ds, targets, seed=1), exclude=targets)
        for ds in (amounts, again)
    ]
    np.testing.assert_allclose(scores[0], scores[1])


def test_informed_noise_of_independent_errors_does_not_fix_the_number_of_right_items(amounts):
    noise = Noise.informed(so.Adversary(knows=4, wrong=0.25, wrong_kind="item"), amounts)
    assert noise.e == 0.25
    assert noise.n_right is None
    assert Noise.informed(so.Adversary(knows=4, wrong=1, wrong_kind="item"), amounts).n_right == 3
    assert Noise.informed(so.Adversary(knows=4, wrong=0.25), amounts).h == 0.25
