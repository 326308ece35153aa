"""Set Intersection, TF-IDF and Scoring equal the dense oracles, whatever the data lacks and whatever is excluded."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import oracle
import oracle_f06
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import NAN, Entry, Fact, Table
from strategies import STRANGER, cases, dataset, knowledge, queries_of, random_table

import standout as so
from standout.attacks.frankowski import reasons
from standout.errors import ParameterError
from standout.formulas import f06

CLOSE = 1e-6

Oracle = Callable[..., np.ndarray]
PANEL: list[tuple[str, dict[str, object], Oracle]] = [
    ("set-intersection", {}, oracle_f06.set_intersection),
    ("tf-idf", {}, oracle_f06.tf_idf),
    ("scoring", {}, oracle_f06.scoring),
    ("scoring", {"heavy": None}, oracle_f06.scoring),
    ("scoring", {"heavy": 0.7, "floor": 0.3}, oracle_f06.scoring),
    ("scoring", {"heavy": None, "flat": True, "floor": 0.01}, oracle_f06.scoring),
    ("exact-rating", {"heavy": None}, oracle_f06.exact_rating),
    ("exact-rating", {"heavy": 0.5, "floor": 0.4}, oracle_f06.exact_rating),
    ("fuzzy-rating", {"heavy": None}, oracle_f06.fuzzy_rating),
    ("fuzzy-rating", {"heavy": 0.5, "delta": 0.5, "flat": True}, oracle_f06.fuzzy_rating),
]
everyone = pytest.mark.parametrize(
    ("name", "options", "exact"), PANEL, ids=[f"{n}{list(o.items()) or ''}" for n, o, _ in PANEL]
)


def same(got: np.ndarray, exact: np.ndarray) -> None:
    assert got.shape == exact.shape
    assert np.array_equal(np.isfinite(got), np.isfinite(exact))
    here = np.isfinite(exact)
    np.testing.assert_allclose(got[here], exact[here], rtol=0, atol=CLOSE)


def check(
    table: Table,
    queries: list[list[Fact]],
    name: str,
    options: dict[str, object],
    exact: Oracle,
    watch: np.ndarray,
) -> None:
    """Scores, order, σ and ranks are those of the oracle."""
    data, aux, attack = dataset(table), knowledge(queries), so.attack(name, **options)
    expected = exact(table, queries, **options)
    scores = attack.scores(data, aux)
    same(scores, expected)
    v = attack.run(data, aux, watch=watch)
    for q, row in enumerate(scores):
        order = np.lexsort((np.arange(row.size), -row))
        order = order[np.isfinite(row[order])]
        assert v.n_candidates[q] == order.size
        assert v.best[q] == (order[0] if order.size else -1)
        if order.size:
            assert v.score[q] == row[order[0]]
            assert v.sigma[q] == pytest.approx(oracle.sigma(expected[q : q + 1])[0], abs=CLOSE)
        if order.size > 1:
            assert (v.runner_up[q], v.second[q]) == (order[1], row[order[1]])
        if np.isfinite(row[watch[q]]):
            assert v.rank[q] == (row >= row[watch[q]]).sum()
            gap = expected[q] - expected[q, watch[q]]
            assert (gap > CLOSE).sum() < v.rank[q] <= (gap >= -CLOSE).sum()
        else:
            assert v.rank[q] == order.size + 1


@everyone
@given(case=cases(), data=st.data())
def test_every_attack_equals_its_dense_oracle(name, options, exact, case, data):
    table, queries = case
    watch = [data.draw(st.integers(0, len(table.records) - 1)) for _ in queries]
    check(table, queries, name, options, exact, np.array(watch))


@everyone
@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("values", [False, True])
def test_every_attack_equals_its_oracle_on_a_release_of_several_blocks(
    name, options, exact, values, repeats
):
    table = random_table(301, 23, 4, seed=6, values=values, missing=0.1, repeats=repeats)
    data = dataset(table)
    who = so.Adversary(knows=3, wrong=1, value_within=1 if values else None, time_within=3)
    targets = who.eligible(data)[:10]
    check(table, queries_of(who.sample(data, targets, seed=3)), name, options, exact, targets)


@everyone
@given(case=cases(min_records=2), data=st.data())
def test_an_excluded_record_is_as_if_the_release_had_been_built_without_it(
    name, options, exact, case, data
):
    table, queries = case
    gone = [data.draw(st.integers(-1, len(table.records) - 1)) for _ in queries]
    attack = so.attack(name, **options)
    scores = attack.scores(dataset(table), knowledge(queries), exclude=gone)
    v = attack.run(dataset(table), knowledge(queries), exclude=gone)
    for q, g in enumerate(gone):
        rest = table if g < 0 else table.without(table.records[g])
        kept = [r for r in range(len(table.records)) if r != g]
        expected = exact(rest, [queries[q]], **options)
        same(scores[q : q + 1, kept], expected)
        assert g < 0 or scores[q, g] == -np.inf
        assert v.n_candidates[q] == np.isfinite(expected).sum()
        assert v.sigma[q] == pytest.approx(oracle.sigma(expected)[0], abs=CLOSE)


def one_query(*facts: Fact) -> so.Knowledge:
    return knowledge([list(facts)])


def holders(*supports: int, n: int) -> list[Entry]:
    """Item k (10 + k) is held by the first supports[k] of n records; record r also holds an item of its own."""
    entries = [Entry(r, 1000 + r, 3.0) for r in range(n)]
    return entries + [Entry(r, 10 + k, 3.0) for k, s in enumerate(supports) for r in range(s)]


# Set Intersection


@pytest.mark.parametrize("k", [1, 2, 5])
@given(case=cases(min_records=2), data=st.data())
def test_reasons_are_those_of_the_oracle(k, case, data):
    table, queries = case
    targets = [data.draw(st.integers(0, len(table.records) - 1)) for _ in queries]
    v = so.attack("set-intersection").run(dataset(table), knowledge(queries), watch=targets)
    expected = [
        oracle_f06.reason(table, f, table.records[r], k)
        for f, r in zip(queries, targets, strict=True)
    ]
    assert reasons(v, targets, k).tolist() == expected


def test_each_reason_has_its_case():
    table = Table(tuple(holders(1, 3, n=5)), days=False)
    queries = [[Fact(10)], [Fact(11)], [Fact(10)], [Fact(10), Fact(STRANGER)]]
    targets = [0, 2, 4, 0]
    v = so.attack("set-intersection").run(dataset(table), knowledge(queries), watch=targets)
    assert reasons(v, targets).tolist() == [
        "identified",
        "not narrow",
        "misdirected",
        "no one possible",
    ]
    assert reasons(v, targets, k=3).tolist() == [
        "identified",
        "identified",
        "misdirected",
        "no one possible",
    ]
    assert v.n_matching.tolist() == [1, 3, 1, 0]
    assert v.matched.tolist() == [True, True, True, False]
    assert v.statistic.tolist() == [1, pytest.approx(1 / 3), 1, 0]


def test_reasons_need_the_watch_on_the_targets():
    table = Table(tuple(holders(1, 3, n=5)), days=False)
    attack, aux = so.attack("set-intersection"), one_query(Fact(10))
    with pytest.raises(ParameterError, match="watch=targets"):
        reasons(attack.run(dataset(table), aux), [0])
    with pytest.raises(ParameterError, match="not these targets"):
        reasons(attack.run(dataset(table), aux, watch=[0]), [3])


# TF-IDF


def test_tf_idf_prefers_the_record_that_holds_little_else():
    entries = [
        Entry(0, 1),
        Entry(1, 1),
        *(Entry(1, i) for i in range(2, 9)),
        *(Entry(r, 50 + r) for r in range(2, 9)),
    ]
    v = so.attack("tf-idf").run(
        dataset(Table(tuple(entries), values=False, days=False)), one_query(Fact(1))
    )
    assert v.best[0] == 0
    assert v.score[0] == pytest.approx(1.0)


def test_tf_idf_counts_an_item_mentioned_twice_once():
    table = random_table(60, 9, 4, seed=2)
    tf = so.attack("tf-idf")
    a, b = table.items[2], table.items[4]
    once = tf.scores(dataset(table), one_query(Fact(a), Fact(b)))
    twice = tf.scores(dataset(table), one_query(Fact(a, 1.0), Fact(b), Fact(a, 5.0)))
    np.testing.assert_allclose(twice, once, atol=CLOSE)


def test_an_item_that_everybody_holds_tells_tf_idf_nothing():
    table = Table(tuple(holders(5, n=5)), days=False)
    v = so.attack("tf-idf").run(dataset(table), one_query(Fact(10)))
    assert v.score.tolist() == [0]
    assert not v.matched[0]


def test_tf_idf_answers_queries_with_and_without_exclusion_side_by_side():
    table = random_table(80, 12, 4, seed=4)
    queries = [[Fact(i), Fact(j)] for i, j in zip(table.items[:6], table.items[3:9], strict=True)]
    gone = [-1, 3, 3, -1, 7, 0]
    tf = so.attack("tf-idf")
    data = dataset(table)
    whole = tf.scores(data, knowledge(queries), exclude=gone)
    for q, g in enumerate(gone):
        alone = tf.scores(data, knowledge([queries[q]]), exclude=[g])
        assert np.array_equal(whole[q], alone[0])


# Scoring


def test_the_worked_example_by_the_production_kernel():
    n = 10_000
    entries = [Entry(0, 1)] + [Entry(1, 2), Entry(1, 3)] + [Entry(r, 1000 + r) for r in range(2, n)]
    entries += [Entry(100 + r, 1) for r in range(19)]
    entries += [Entry(200 + r, 2) for r in range(499)] + [Entry(2000 + r, 3) for r in range(999)]
    data = dataset(Table(tuple(entries), values=False, days=False))
    scores = so.attack("scoring").scores(data, one_query(Fact(1), Fact(2), Fact(3)))[0]
    assert np.exp(scores[0]) == pytest.approx(0.9981 * 0.05 * 0.05)
    assert np.exp(scores[1]) == pytest.approx(0.05 * 0.9501 * 0.9001)
    assert np.exp(scores[5]) == pytest.approx(0.05**3)


def test_holding_what_nearly_everybody_holds_counts_against_a_record():
    n = 40
    table = Table(tuple(holders(39, 40, n=n)), days=False)
    scores = so.attack("scoring", heavy=None).scores(dataset(table), one_query(Fact(10)))[0]
    np.testing.assert_allclose(scores[:39], math.log(2 / 40), atol=CLOSE)
    np.testing.assert_allclose(scores[39], math.log(0.05), atol=CLOSE)
    v = so.attack("scoring", heavy=None, floor=0.06).run(dataset(table), one_query(Fact(10)))
    assert v.best[0] == 39


@pytest.mark.parametrize("repeats", [False, True])
def test_below_the_floor_an_event_that_disagrees_does_not_speak_for_one_that_agrees(repeats):
    n = 40
    extra = [Entry(0, 10, 5.0)] if repeats else []
    table = Table((*holders(40, n=n), *extra), days=False)
    scores = so.attack("exact-rating", heavy=None).scores(dataset(table), one_query(Fact(10, 3.0)))[
        0
    ]
    np.testing.assert_allclose(scores, math.log(1 / 40), atol=CLOSE)


def test_heavy_records_are_left_out_and_none_keeps_them():
    entries = [Entry(0, i) for i in range(9)] + [Entry(r, i) for r in range(1, 9) for i in (0, r)]
    data = dataset(Table(tuple(entries), values=False, days=False))
    aux = one_query(Fact(0), Fact(1), Fact(2))
    v = so.attack("scoring").run(data, aux, watch=[0])
    assert v.n_candidates[0] == 8
    assert v.best[0] == 1
    assert v.rank[0] == 9, "a record that is left out comes after all others"
    assert so.attack("scoring", heavy=None).run(data, aux).best[0] == 0
    assert np.isneginf(so.attack("scoring").scores(data, aux)[0, 0])


def test_every_mention_of_an_unknown_item_multiplies_by_the_floor_for_everybody():
    table = random_table(40, 8, 3, seed=1)
    data, scoring = dataset(table), so.attack("scoring", heavy=None)
    alone = scoring.scores(data, one_query(Fact(table.items[0])))
    more = scoring.scores(data, one_query(Fact(table.items[0]), Fact(STRANGER), Fact(STRANGER + 1)))
    np.testing.assert_allclose(more, alone + 2 * math.log(0.05), atol=CLOSE)


def test_flat_forgets_how_rare_an_item_is():
    table = Table(tuple(holders(1, 30, n=40)), days=False)
    scores = so.attack("scoring", heavy=None, flat=True).scores(
        dataset(table), one_query(Fact(10), Fact(11))
    )[0]
    np.testing.assert_allclose(
        scores[[0, 1, 35]], [0, math.log(0.05), 2 * math.log(0.05)], atol=CLOSE
    )


def test_the_lineup_of_scoring_is_proportional_to_the_product():
    table = random_table(70, 9, 4, seed=3)
    queries = [[Fact(table.items[1]), Fact(table.items[3])], [Fact(table.items[0]), Fact(STRANGER)]]
    watch = np.array([4, 9])
    v = so.attack("scoring", heavy=None).run(dataset(table), knowledge(queries), watch=watch)
    share = oracle_f06.product_lineup(oracle_f06.scoring(table, queries, heavy=None))
    np.testing.assert_allclose(v.share, share.max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(v.bits, -np.log2(share[[0, 1], watch]), rtol=1e-6)


def test_exact_and_fuzzy_differ_in_what_still_agrees():
    entries = [Entry(r, 1, v) for r, v in enumerate([3.0, 4.0, 5.0, NAN])] + [
        Entry(4, 2, 3.0),
        Entry(5, 3, 1.0),
    ]
    data = dataset(Table(tuple(entries), days=False))

    def held(name: str, fact: Fact) -> list[bool]:
        return (
            so.attack(name, heavy=None, flat=True).scores(data, one_query(fact))[0] > -0.1
        ).tolist()

    assert held("exact-rating", Fact(1, 3.0)) == [True, False, False, False, False, False]
    assert held("fuzzy-rating", Fact(1, 3.0)) == [True, True, False, False, False, False]
    assert held("fuzzy-rating", Fact(1)) == [True, True, True, True, False, False]
    assert held("scoring", Fact(1, 3.0)) == [True, True, True, True, False, False]


def test_tied_records_all_count_against_k_identification():
    table = Table(tuple(holders(3, n=9)), days=False)
    v = so.attack("scoring", heavy=None).run(dataset(table), one_query(Fact(10)), watch=[0])
    assert v.rank[0] == 3
    assert f06.k_identified(v.rank, 1).tolist() == [False]
    assert f06.k_identified(v.rank, 5).tolist() == [True]


@pytest.mark.parametrize("name", ["tf-idf", "scoring", "exact-rating", "fuzzy-rating"])
def test_days_change_nothing(name):
    table = random_table(60, 9, 4, seed=2)
    with_days = [[Fact(table.items[1], 3.0, 10_100.0), Fact(table.items[2], NAN, 10_500.0)]]
    without = [[f._replace(day=NAN) for f in with_days[0]]]
    attack = so.attack(name)
    assert np.array_equal(
        attack.scores(dataset(table), knowledge(with_days)),
        attack.scores(dataset(table), knowledge(without)),
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("scoring", {"floor": 0}),
        ("scoring", {"floor": 1}),
        ("scoring", {"heavy": 0}),
        ("scoring", {"heavy": 1.2}),
        ("tf-idf", {"phi": -1}),
        ("exact-rating", {"phi": -1}),
        ("fuzzy-rating", {"delta": -1}),
        ("fuzzy-rating", {"colour": 1}),
    ],
    ids=str,
)
def test_an_option_that_makes_no_sense_is_refused_by_name(name, options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        so.attack(name, **options)
