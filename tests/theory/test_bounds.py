"""Bounds: the calculators print what the papers print, and assumptions are measured, not believed."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import theory_oracle
from hypothesis import given
from hypothesis import strategies as st
from oracle import Entry, Table
from strategies import dataset, random_table, tables

import standout as so
from standout.errors import ParameterError
from standout.formulas import dss12, ns08
from standout.formulas.rates import Rate
from standout.theory.nearest import nearest
from standout.theory.theorems import Needed, scoreboard_needs


def small(**changes) -> so.Dataset:
    return dataset(
        random_table(**{"n_records": 150, "n_items": 40, "per_record": 9, "seed": 6, **changes})
    )


@given(st.integers(2, 10**7), st.floats(0.01, 0.5), st.floats(0.01, 0.45))
def test_theorem_1_asks_until_false_matches_are_rarer_than_epsilon(n, epsilon, delta):
    m = ns08.theorem_1_m(n, epsilon, delta)
    assert n * (1 - delta) ** m == pytest.approx(epsilon, rel=1e-6)
    assert ns08.theorem_1_m(2 * n, epsilon, delta) > m > ns08.theorem_1_m(n, 2 * epsilon, delta)
    assert ns08.theorem_1_m(n, epsilon, delta * 1.1) < m


@given(st.integers(20, 10**7), st.integers(2, 20), st.floats(0.01, 0.9))
def test_theorem_3_asks_until_k_minus_1_false_matches_are_expected(n, k, delta):
    m = ns08.theorem_3_m(n, k, delta)
    assert n * (1 - delta) ** m == pytest.approx(k - 1, rel=1e-6)


@given(st.floats(0.0001, 1), st.floats(1, 1000), st.floats(0.01, 1))
def test_theorem_5_turned_round_undoes_theorem_5(delta, factor, gamma):
    sample = delta * gamma / factor
    assert ns08.theorem_5_population(sample, factor, gamma) == pytest.approx(delta)


@given(st.floats(0.02, 1), st.floats(0.001, 0.5), st.integers(1, 10**6))
def test_the_generic_theorem_asks_until_its_failure_is_reached(epsilon, failure, n):
    m = dss12.generic_m(epsilon, failure, n)
    assert n * math.exp(-2 * epsilon**2 * m) == pytest.approx(failure, rel=1e-6)


@given(st.floats(0.01, 0.4), st.floats(0.01, 0.4), st.integers(5, 60), st.data())
def test_a_smallest_match_that_agrees_on_the_share_is_as_similar_as_said(
    epsilon, delta, length, data
):
    """Merener's repair: |supp(o)| ≤ |supp(r)| and agreement on 1-δ of r's items give the printed similarity."""
    alike = data.draw(st.integers(math.ceil((1 - delta) * length), length))
    shared = data.draw(st.integers(alike, length))
    other = data.draw(st.integers(shared, length))
    agreeing = (1 - epsilon) * alike
    least = ns08.smallest_match_sim(epsilon, delta)
    assert ns08.sim(agreeing, length, other, shared) >= least - 1e-9


def test_the_table_holds_every_theorem_with_what_it_asks():
    ds = small()
    found = so.bounds(ds, epsilon=0.1, delta=0.3, k=5, knows=4, targets=60)
    assert [r.theorem for r in found.rows] == [
        *(f"NS08 T{n}" for n in range(1, 6)),
        *(f"DSS12 T{n}" for n in (1, 2, 3)),
    ]
    asked = math.ceil(ns08.theorem_1_m(150, 0.1, 0.3))
    assert [found[f"NS08 T{n}"].asks_m for n in (1, 2, 4)] == [asked] * 3
    assert found["NS08 T3"].asks_m == math.ceil(ns08.theorem_3_m(150, 5, 0.3))
    assert found["DSS12 T1"].asks_m == math.ceil(dss12.generic_m(0.3, 0.1))
    assert str(math.ceil(dss12.generic_m(0.3, 0.1, 150))) in found["DSS12 T1"].caveat
    assert all("Merener 2012" in found[f"NS08 T{n}"].caveat for n in range(1, 5))
    assert len(found.to_frame()) == 8
    plain = found.to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == json.loads(json.dumps(plain))


def test_measured_items_are_fewer_than_the_theorem_asks_for_on_sparse_data():
    found = so.bounds(small(), epsilon=0.1, delta=0.3, knows=4, targets=60)
    assert 1 <= found["NS08 T1"].measured_m < found["NS08 T1"].asks_m
    assert found["NS08 T1"].measured_m <= found["NS08 T2"].measured_m


@given(tables(min_records=2, values=True), st.sampled_from([0.2, 0.5, 0.75]))
def test_the_cover_is_the_most_agreement_of_a_dissimilar_record(table, cut):
    found = nearest(dataset(table), np.arange(len(table.records)), 1, None, cut=cut).cover
    for a, label in enumerate(table.records):
        best = 0
        for other in table.records:
            if other != label and theory_oracle.sim(table, label, other, 1, None) <= cut:
                agree = sum(
                    any(
                        theory_oracle.events_agree(x, y, 1, None)
                        for x in table.events(label, i)
                        for y in table.events(other, i)
                    )
                    for i in table.items
                )
                best = max(best, agree)
        assert found[a] == best


def test_a_heavy_record_that_covers_everybody_breaks_lemma_1_and_the_table_says_so():
    rng = np.random.default_rng(1)
    entries = [Entry(r, int(i), 3.0) for r in range(60) for i in rng.choice(80, 8, replace=False)]
    clean = dataset(Table(tuple(entries), True, False))
    heavy = dataset(Table((*entries, *(Entry(60, i, 3.0) for i in range(80))), True, False))
    options = {"epsilon": 0.1, "delta": 0.3, "knows": 3, "targets": 40}
    lemma = [
        next(a for a in so.bounds(ds, **options)["NS08 T1"].assumptions if "dissimilar" in a.text)
        for ds in (clean, heavy)
    ]
    assert [a.holds for a in lemma] == [True, False]
    assert lemma[0].measured.startswith("0.0%") and float(lemma[1].measured.split("%")[0]) > 95


def test_theorem_2_fails_on_data_of_twins_and_holds_on_data_of_strangers():
    items = np.arange(400).reshape(40, 10)
    strangers = so.Dataset.from_arrays(np.repeat(np.arange(40), 10), items.ravel())
    twins = so.Dataset.from_arrays(
        np.repeat(np.arange(80), 10), np.concatenate([items, items]).ravel()
    )
    sparse = [
        next(
            a
            for a in so.bounds(ds, knows=3, targets=40)["NS08 T2"].assumptions
            if "sparse" in a.text
        )
        for ds in (strangers, twins)
    ]
    assert [a.holds for a in sparse] == [True, False]
    assert so.bounds(twins, knows=3, targets=40)["NS08 T2"].measured_m is None
    assert so.bounds(strangers, knows=3, targets=40)["NS08 T2"].measured_m == 1


def test_scoreboard_finds_the_target_or_a_smaller_record_and_is_silent_without_it():
    needs = scoreboard_needs(small(), 0.1, 0.2, 5, 1, 14, 60, 0)
    for name in ("T1", "T2", "T3", "T4"):
        need = needs[name]
        assert need.m is not None and need.rate.rate >= need.goal
        assert all(rate.rate < need.goal for m, rate in need.tried if m < need.m)
    assert all(
        a.rate >= b.rate
        for (_, a), (_, b) in zip(needs["T1"].tried, needs["T2"].tried, strict=True)
    )


def test_a_goal_that_is_not_reached_or_not_measured_is_said_in_words():
    need = Needed(0.9)
    assert "not measured" in need.words()
    need.see(2, Rate.of([True, False]))
    assert need.words() == "not reached: 50.0% at 2 items"
    need.see(4, Rate.of([True, True]))
    need.see(8, Rate.of([True, True]))
    assert need.m == 4 and need.words().startswith("4 (100.0%")


@pytest.mark.parametrize(
    "channels", [{"values": False}, {"days": False}, {"values": False, "days": False}]
)
def test_data_without_a_channel_is_bounded_by_the_others(channels):
    found = so.bounds(small(**channels), epsilon=0.1, delta=0.3, knows=3, targets=30)
    assert (found.parameters["value_within"] is None) == (channels.get("values") is False)
    assert (found.parameters["time_within"] is None) == (channels.get("days") is False)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"epsilon": 0.6, "delta": 0.5}, "their sum below 1"),
        ({"k": 1}, "at least two"),
        ({"population": 10}, "at least the 150"),
        ({"value_within": -1}, "value_within=-1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(arguments, words):
    with pytest.raises(ParameterError, match=words):
        so.bounds(small(), **arguments)


def test_one_record_alone_is_refused():
    with pytest.raises(ParameterError, match="at least two"):
        so.bounds(so.Dataset.from_arrays([1, 1], [1, 2]))


def test_a_theorem_that_is_not_there_is_refused_by_name():
    with pytest.raises(ParameterError, match="Theorems: NS08 T1"):
        so.bounds(small(), knows=3, targets=30)["T9"]
