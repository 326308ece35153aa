"""Amplification: S, f_D and what is learned are those of the definitions; f_D grows and falls where it must."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest
import theory_oracle
from hypothesis import given
from hypothesis import strategies as st
from oracle import Entry, Fact, Table
from strategies import dataset, facts_about, knowledge, queries_of, random_table, tables

import standout as so
from standout.engines.memory import MemoryEngine
from standout.errors import EligibilityError, ParameterError
from standout.formulas.dss12 import kept_quantile
from standout.theory import amplification as amplification_module
from standout.theory.amplification import _draw, _k
from standout.theory.certificates import rare_adversary, with_rare_share
from standout.theory.pairs import commonest_codes, known_s, learn, pair_s, pair_similarity

FEW = {"per_run": 10, "runs": 4}


@given(tables(min_records=2), st.data())
def test_s_of_two_records_is_that_of_the_definition(table, data):
    n = len(table.records)
    y, r = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    expected = theory_oracle.s_of_records(table, table.records[y], table.records[r])
    assert pair_s(dataset(table), [y], [r])[0] == pytest.approx(expected, abs=1e-12)


@given(tables(), st.data())
def test_every_record_tells_everything_about_itself(table, data):
    y = data.draw(st.integers(0, len(table.records) - 1))
    own = pair_s(dataset(table), [y], [y])[0]
    assert own == pytest.approx(
        theory_oracle.s_of_records(table, table.records[y], table.records[y])
    )
    assert own == pytest.approx(1.0)


@given(tables(), st.data())
def test_s_of_knowledge_is_that_of_the_definition(table, data):
    facts = data.draw(facts_about(table, strangers=False))
    # one fact per item, as DSS12 has it, and no value outside the scale
    facts = [*{f.item: f for f in facts}.values()]
    scale = table.scale()
    facts = [
        f._replace(value=min(max(f.value, scale[0]), scale[-1])) if scale else f for f in facts
    ]
    ds, aux = dataset(table), knowledge([facts])
    for r, label in enumerate(table.records):
        expected = theory_oracle.s_of_facts(table, facts, label)
        assert known_s(ds, aux, np.array([r]))[0] == pytest.approx(expected, abs=1e-9)


@given(
    tables(min_records=2, values=True),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([0.3, 0.5, 0.8, 1.0]),
)
def test_k_is_the_least_similar_record_among_those_similar_to_the_knowledge(table, gamma, eta2):
    ds = dataset(table)
    who = rare_adversary(2, gamma, 0.5, 0.5)
    eligible = who.eligible(ds)
    if not eligible.size:
        return
    aux = who.sample(ds, eligible, 1)
    found = np.minimum(_k(ds, eligible, aux, np.array([eta2]), MemoryEngine())[:, 0], 1.0)
    for q, facts in enumerate(queries_of(aux)):
        expected = theory_oracle.k_of(table, table.records[int(eligible[q])], facts, eta2)
        assert found[q] == pytest.approx(expected, abs=1e-9)


def test_how_many_scores_are_held_at_once_changes_no_k(monkeypatch):
    ds = dataset(random_table(30, 12, 5, seed=2, days=False))
    who = rare_adversary(2, 0.1, 0.3, 0.5)
    y = who.eligible(ds)
    aux, held = who.sample(ds, y, 1), []

    class Counting(MemoryEngine):
        def map(self, task, shards):
            held.append(task.plan.n_queries * ds.n_records)
            return super().map(task, shards)

    usual = _k(ds, y, aux, np.array([0.3, 0.7]), Counting())
    monkeypatch.setattr(amplification_module, "MOST_SCORES", 70)
    few = _k(ds, y, aux, np.array([0.3, 0.7]), Counting())
    np.testing.assert_array_equal(usual, few)
    assert held[0] > 70 and max(held[1:]) <= 70


def test_f_d_is_algorithm_3_with_the_corrected_quantile():
    table = random_table(30, 12, 5, seed=2, days=False)
    ds = dataset(table)
    found = so.amplification(
        ds, 3, 0.1, None, 0.5, [0.4, 0.7], [0.5, 0.9], seed=6, per_run=6, runs=3
    )
    eligible = with_rare_share(ds, 3, 0.5, found.t)
    draws = _draw(ds, rare_adversary(3, 0.1, found.t, 0.5), eligible, 6, 3, 6)
    for b, eta2 in enumerate((0.4, 0.7)):
        for c, eta3 in enumerate((0.5, 0.9)):
            runs = []
            for y, aux in draws:
                k = [
                    theory_oracle.k_of(table, table.records[int(y[q])], facts, eta2)
                    for q, facts in enumerate(queries_of(aux))
                ]
                runs.append(sorted(k)[min(int((1 - eta3) * len(k) + 1e-9), len(k) - 1)])
            assert found.f[0, b, c] == pytest.approx(np.mean(runs), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.floats(0.01, 1))
def test_a_share_eta3_of_all_k_reaches_the_quantile_and_no_larger_one_would_do(k, eta3):
    f = kept_quantile(k, eta3)
    assert np.mean(np.array(k) >= f) >= eta3 - 1e-9
    larger = [x for x in k if x > f]
    if larger:
        assert np.mean(np.array(k) >= min(larger)) < eta3 + 1e-9


@given(
    st.integers(0, 20),
    st.lists(st.floats(0.05, 1), min_size=2, max_size=4).map(sorted),
    st.lists(st.floats(0.05, 1), min_size=2, max_size=4).map(sorted),
)
def test_f_d_grows_in_eta2_and_falls_in_eta3(seed, eta2, eta3):
    ds = dataset(random_table(50, 15, 6, seed=seed % 5, days=False))
    f = so.amplification(ds, 3, 0.1, None, 0.5, eta2, eta3, seed=seed, per_run=8, runs=2).f[0]
    assert (np.diff(f, axis=0) >= -1e-12).all()
    assert (np.diff(f, axis=1) <= 1e-12).all()
    assert ((f >= 0) & (f <= 1)).all()


def test_f_d_grows_in_the_share_of_rare_items():
    """Where taste goes with rare items (the paper's premise): each person belongs to a circle with items of its own."""
    rng = np.random.default_rng(4)
    entries = []
    for r in range(400):
        circle = r % 40
        for i in rng.choice(12, 8, replace=False):
            entries.append(Entry(r, int(i), float(rng.integers(1, 6))))
        for i in rng.choice(30, 26, replace=False):
            entries.append(Entry(r, 100 + 30 * circle + int(i), float(1 + (circle + i) % 5)))
    ds = dataset(Table(tuple(entries), True, False))
    t = 1 / np.log2(30)
    found = so.amplification(ds, 10, 0.05, t, [0.2, 0.4], 0.6, 0.9, seed=1, per_run=20, runs=20)
    assert found.f[1, 0, 0] > found.f[0, 0, 0] + 0.1


def test_theorem_3_holds_on_its_own_draws():
    ds = dataset(random_table(150, 25, 8, seed=8, days=False))
    for gamma in (0.0, 0.1, 0.3):
        for theorem in so.amplification(ds, 4, gamma, None, 0.5, 0.7, 0.8, seed=2, **FEW).theorem_3:
            assert theorem.violations == 0
            assert theorem.measured >= 0.8
            assert (theorem.learned.known_similarity >= theorem.l2 - 1e-6).all()


def test_what_a_match_tells_is_counted_entry_by_entry():
    rows = [
        # the target, its near twin, and a crowd that makes items 0 and 1 popular
        *(Entry(0, i, v) for i, v in ((5, 1.0), (6, 2.0), (7, 3.0), (0, 5.0), (8, 1.0))),
        *(Entry(1, i, v) for i, v in ((5, 1.0), (6, 2.0), (7, 1.0), (0, 4.0), (9, 1.0))),
        *(Entry(r, i, 4.0) for r in (2, 3, 4) for i in (0, 1)),
    ]
    table = Table(tuple(rows), True, False)
    ds = dataset(table)
    found = learn(ds, np.array([0]), knowledge([[Fact(5, 1.0), Fact(8, 1.0)]]))
    assert found.hit.tolist() == [True]
    assert found.unknown.tolist() == found.told.tolist() == found.right.tolist() == [3]
    # without the target: its twin knows item 6 right, items 0 and 7 with other values, and item 9
    # is not the target's
    assert found.neighbor.tolist() == [1]
    # three guesses: 0 (commonest value 4, hers is 5), 1 (not held), 6 (held by two, value 2 is
    # right)
    assert found.popular.tolist() == [1]
    assert found.gain.tolist() == [2]


@given(tables(values=True, missing=False))
def test_the_commonest_value_is_the_mode_and_the_lower_of_equals(table):
    for i, code in zip(table.items, commonest_codes(dataset(table)), strict=True):
        values = [e.value for e in table.entries if e.item == i]
        best = max(values.count(v) for v in values)
        assert table.scale()[code] == min(v for v in values if values.count(v) == best)


def test_another_order_of_runs_or_more_of_them_keeps_the_first_ones():
    ds = dataset(random_table(60, 15, 6, seed=2, days=False))
    t = so.amplification(ds, 3, 0.1, None, 0.5, per_run=1, runs=1).t
    eligible = with_rare_share(ds, 3, 0.5, t)
    few, more = (_draw(ds, rare_adversary(3, 0.1, t, 0.5), eligible, 5, n, 9) for n in (2, 5))
    assert all((a[0] == b[0]).all() for a, b in zip(few, more, strict=False))
    assert not (more[0][0] == more[1][0]).all()


def test_amplification_is_a_number_for_one_point_and_plain_json_always():
    ds = dataset(random_table(60, 15, 6, seed=2, days=False))
    one = so.amplification(ds, 3, 0.1, None, 0.5, 0.6, 0.9, **FEW)
    assert float(one) == one.f[0, 0, 0]
    many = so.amplification(ds, 3, 0.1, None, [0.5, 1.0], [0.6, 0.9], 0.9, **FEW)
    assert many.f.shape == (2, 2, 1) and len(many.to_frame()) == 4
    with pytest.raises(TypeError, match="several points"):
        float(many)
    for found in (one, many):
        plain = found.to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_a_share_that_no_record_has_is_missing_and_not_zero():
    # nine popular items and one rare one: nobody's known items can all be rare
    entries = [Entry(r, i, 3.0) for r in range(40) for i in range(9)] + [
        Entry(r, 100 + r // 2, 3.0) for r in range(40)
    ]
    ds = dataset(Table(tuple(entries), True, False))
    found = so.amplification(ds, 5, 0.1, 0.9, [0.1, 1.0], 0.6, 0.9, **FEW)
    assert np.isfinite(found.f[0]).all() and np.isnan(found.f[1]).all()
    assert [row["f"] is None for row in found.to_dict()["surface"]] == [False, True]
    with pytest.raises(EligibilityError, match="Leave t out"):
        so.amplification(ds, 5, 0.1, 0.9, 1.0, 0.6, 0.9)


@pytest.mark.parametrize(("name", "value"), [("eta1", 0), ("eta2", 1.2), ("eta3", []), ("runs", 0)])
def test_shares_outside_their_range_are_refused(name, value):
    with pytest.raises(ParameterError, match=name):
        so.amplification(dataset(random_table(40, 12, 6, seed=1)), 3, **{name: value})


def test_no_table_of_pairs_of_values_is_made():
    n = 4000
    ds = so.Dataset.from_arrays(np.arange(n), np.zeros(n, int), np.arange(n) / 7)
    first, second = np.arange(n - 1), np.arange(1, n)
    closeness, similarity = pair_s(ds, first, second), pair_similarity(ds, first, second, 0.1)
    tracemalloc.start()
    try:
        np.testing.assert_array_equal(pair_s(ds, first, second), closeness)
        np.testing.assert_array_equal(pair_similarity(ds, first, second, 0.1), similarity)
        assert tracemalloc.get_traced_memory()[1] < 2 * 2**20
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(closeness, 1 - 1 / (n - 1))
    assert (similarity == 0).all() and (pair_similarity(ds, first, second, 0.15) == 1).all()
