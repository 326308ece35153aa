"""The measurer itself: what must be found is found, what cannot be told apart is not, and no truth means no hits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Entry, Fact, Table
from strategies import dataset, knowledge, random_table, tables

import standout as so


def with_record(table: Table, record: int, entries: list[tuple[int, float, float]]) -> Table:
    """The release with one more record."""
    return Table((*table.entries, *(Entry(record, *e) for e in entries)), table.values, table.days)


PLANTED = [(500, 2.0, 10_100.0), (501, 5.0, 10_900.0), (502, 1.0, 10_500.0)]


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
@pytest.mark.parametrize("knows", [1, 2, 3])
@pytest.mark.parametrize(
    "channels",
    [
        {"value_within": 0, "time_within": 0},
        {"value_within": 1, "time_within": 14},
        {"value_within": 1, "time_within": None},
        {"value_within": None, "time_within": 3},
        {"value_within": None, "time_within": None},
    ],
    ids=lambda x: f"±{x['value_within']}±{x['time_within']}",
)
def test_a_record_whose_items_nobody_else_holds_is_always_matched(name, knows, channels):
    table = with_record(random_table(200, 20, 5, seed=11), 1000, PLANTED)
    data = dataset(table)
    who = so.Adversary(knows=knows, **channels)
    for seed in range(10):
        v = so.attack(name).run(data, who.sample(data, [200], seed=seed), watch=[200])
        assert v.answer.tolist() == [200]
        assert v.rank.tolist() == [1]
        if name == "scoreboard":
            assert v.bits.tolist() == [0]
        else:
            assert v.eccentricity[0] > 10
            assert v.bits[0] < 0.01


@pytest.mark.parametrize("options", [{}, {"similarity": "threshold"}, {"length": "sqrt"}], ids=str)
@given(
    table=tables(values=True, days=True),
    seed=st.integers(0, 2**32),
    where=st.sampled_from([-1000, 1000]),
)
def test_twins_have_eccentricity_exactly_0_and_are_never_matched(options, table, seed, where):
    first = table.records[seed % len(table.records)]
    copies = [(e.item, e.value, e.day) for e in table.entries if e.record == first]
    data = dataset(with_record(table, where, copies))
    target = int(np.flatnonzero(data.record_labels == first)[0])
    twin = int(np.flatnonzero(data.record_labels == where)[0])
    who = so.Adversary(knows=1, value_within=0, time_within=0)
    v = so.attack("scoreboard-rh", **options).run(
        data, who.sample(data, [target], seed), watch=[target]
    )
    if v.best[0] in (target, twin):
        assert v.best[0] == min(target, twin)
        assert v.eccentricity[0] == 0
        assert not v.matched[0]
    assert v.rank[0] >= 2
    assert v.bits[0] >= 1 - 1e-9


def test_the_twin_of_a_planted_record_hides_it():
    table = with_record(random_table(200, 20, 5, seed=11), 1000, PLANTED)
    data = dataset(with_record(table, 1001, PLANTED))
    aux = so.Adversary(knows=3, value_within=1, time_within=14).sample(data, [200, 201], seed=1)
    rh = so.attack("scoreboard-rh").run(data, aux, watch=[200, 201])
    assert rh.best.tolist() == [200, 200]
    assert rh.eccentricity.tolist() == [0, 0]
    assert rh.answer.tolist() == [-1, -1]
    assert rh.rank.tolist() == [2, 2]
    sb = so.attack("scoreboard").run(data, aux, watch=[200, 201])
    assert sb.n_matching.tolist() == [2, 2]
    assert sb.bits.tolist() == [1, 1]


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
def test_shuffled_truth_falls_to_the_random_baseline(name):
    from scipy.stats import binomtest

    table = random_table(300, 60, 8, seed=13)
    data = dataset(table)
    who = so.Adversary(knows=4, value_within=0, time_within=3)
    targets = who.eligible(data)
    best = so.attack(name).run(data, who.sample(data, targets, seed=2)).best
    assert (best == targets).mean() > 0.9
    rng = np.random.default_rng(5)
    rounds = 40
    hits = sum(int((best == rng.permutation(targets)).sum()) for _ in range(rounds))
    assert binomtest(hits, rounds * targets.size, 1 / targets.size).pvalue > 1e-3


@pytest.mark.parametrize("n", [2, 3, 7, 300])
@pytest.mark.parametrize("options", [{}, {"similarity": "threshold"}, {"length": "sqrt"}], ids=str)
def test_where_every_record_is_equal_nobody_is_matched(n, options):
    rows = [(1, 3.0, 10_000.0), (2, 4.0, 10_007.0), (3, 1.0, 10_013.0)]
    data = dataset(Table(tuple(Entry(r, *row) for r in range(n) for row in rows)))
    who = so.Adversary(knows=2, value_within=1, time_within=3)
    targets = np.arange(n)
    v = so.attack("scoreboard-rh", **options).run(data, who.sample(data, seed=1), watch=targets)
    assert not v.matched.any()
    assert (v.eccentricity == 0).all()
    assert (v.best == 0).all()
    assert (v.rank == n).all()
    np.testing.assert_allclose(v.bits, np.log2(n), atol=1e-9)
    sb = so.attack("scoreboard").run(data, who.sample(data, seed=1), watch=targets)
    assert (sb.n_matching == n).all()
    np.testing.assert_allclose(sb.bits, np.log2(n), atol=1e-9)


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
def test_a_record_that_holds_every_item_is_attacked_like_any_other(name):
    table = random_table(60, 15, 3, seed=4)
    data = dataset(with_record(table, 1000, [(i, 3.0, 10_500.0) for i in table.items]))
    who = so.Adversary(knows=15, value_within=0, time_within=0)
    assert who.eligible(data).tolist() == [60]
    v = so.attack(name).run(data, who.sample(data, seed=1), watch=[60])
    assert v.best.tolist() == [60]
    assert v.matched.all()
    assert so.Adversary(knows=2, wrong=1, wrong_kind="item").eligible(data).tolist() == [
        r for r in range(60) if data.lengths[r] >= 1
    ]


def test_a_filter_that_bars_the_watched_record_never_reports_it_as_found():
    data = dataset(
        Table((Entry(0, 1), *(Entry(1, i) for i in range(1, 9))), values=False, days=False)
    )
    who = so.Adversary(knows=1, length_within=0.1, value_within=None)
    aux = who.sample(data, [0], seed=0)
    for name in ["scoreboard", "scoreboard-rh"]:
        v = so.attack(name).run(data, aux, watch=[1])
        assert v.n_candidates.tolist() == [1]
        assert v.best.tolist() == [0]
        assert v.rank.tolist() == [2]
        assert v.bits.tolist() == [1]


def test_a_record_that_is_watched_and_excluded_comes_after_everybody():
    table = random_table(50, 9, 4, seed=4)
    data = dataset(table)
    aux = knowledge([[Fact(table.items[0])]])
    for name in ["scoreboard", "scoreboard-rh"]:
        v = so.attack(name).run(data, aux, watch=[7], exclude=[7])
        assert v.n_candidates.tolist() == [49]
        assert v.rank.tolist() == [50]
        assert v.bits[0] == pytest.approx(np.log2(49))


def test_a_run_without_a_lineup_decides_alike_and_leaves_shares_and_bits_unknown():
    table = random_table(50, 9, 4, seed=4)
    data = dataset(table)
    aux = knowledge([[Fact(table.items[3], 2.0)], [Fact(table.items[1])]])
    for name in ["scoreboard", "scoreboard-rh"]:
        attack = so.attack(name)
        full, bare = (
            attack.run(data, aux, watch=[1, 2]),
            attack.run(data, aux, watch=[1, 2], lineup=False),
        )
        for field in ["best", "score", "second", "sigma", "matched", "rank", "statistic"]:
            np.testing.assert_array_equal(getattr(full, field), getattr(bare, field))
        assert np.isnan(bare.share).all()
        assert np.isnan(bare.bits).all()
        assert not np.isnan(full.share).any()
