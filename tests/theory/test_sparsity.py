"""Sparsity: the kernel is the definition, the curve is a curve, and nothing depends on order, blocks or width."""

from __future__ import annotations

import numpy as np
import pytest
import theory_oracle
from hypothesis import given
from hypothesis import strategies as st
from oracle import Entry, Table
from strategies import dataset, random_table, tables

import standout as so
from standout.errors import ParameterError
from standout.theory.nearest import _shares, nearest
from standout.theory.pairs import pair_similarity
from standout.theory.sparsity import Curve, curves, delta_at, fitting_records

TOLERANCES = [None, 0, 0.5, 1, 3]
DAYS = [None, 0, 14, 1000]


def allowed(table: Table, value_within, time_within):
    return value_within if table.values else None, time_within if table.days else None


@given(tables(min_records=2), st.sampled_from(TOLERANCES), st.sampled_from(DAYS))
def test_the_nearest_neighbor_is_that_of_the_definition(table, value_within, time_within):
    value_within, time_within = allowed(table, value_within, time_within)
    found = so.sparsity(dataset(table), value_within, time_within)
    assert found.tolist() == theory_oracle.nearest(table, value_within, time_within)


@given(tables(min_records=2), st.sampled_from(TOLERANCES), st.sampled_from(DAYS), st.data())
def test_the_similarity_of_a_pair_is_that_of_the_definition_and_symmetric(
    table, value_within, time_within, data
):
    value_within, time_within = allowed(table, value_within, time_within)
    n = len(table.records)
    a, b = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    both = pair_similarity(dataset(table), [a, b], [b, a], value_within, time_within)
    expected = theory_oracle.sim(
        table, table.records[a], table.records[b], value_within, time_within
    )
    assert both.tolist() == [expected, expected]


def test_records_are_shared_where_blocks_are_too_few_for_the_threads():
    ds = dataset(random_table(3000, 60, 4, seed=3))
    assert ds.index.n_blocks == 1
    one, three = (nearest(ds, np.arange(50), 1, 30, threads=t) for t in (1, 3))
    for mine, theirs in zip(one, three, strict=True):
        assert np.array_equal(mine, theirs)
    assert len(_shares(np.arange(50), 1, 1)) == 1
    assert len(_shares(np.arange(50), 1, 3)) >= 3


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize(
    ("value_within", "time_within"), [(None, None), (1, None), (None, 30), (1, 100)]
)
def test_several_blocks_give_what_one_dense_matrix_gives(repeats, value_within, time_within):
    ds = dataset(random_table(700, 60, 8, seed=3, missing=0.05, repeats=repeats))
    ds.__dict__["index"] = ds.shards(1, block_size=100)[0]
    assert ds.index.n_blocks > 1
    n = ds.n_records
    first, second = (x.ravel() for x in np.mgrid[:n, :n])
    dense = pair_similarity(ds, first, second, value_within, time_within).reshape(n, n)
    np.fill_diagonal(dense, -1.0)
    some = np.array([0, 255, 256, 300, 699])
    assert so.sparsity(ds, value_within, time_within).tolist() == dense.max(axis=1).tolist()
    assert (
        so.sparsity(ds, value_within, time_within, some).tolist()
        == dense.max(axis=1)[some].tolist()
    )


@given(tables(min_records=3, values=True, days=True), st.randoms(use_true_random=False))
def test_other_record_labels_permute_the_answer_and_change_nothing_else(table, random):
    labels = list(range(1000, 1000 + len(table.records)))
    random.shuffle(labels)
    new = dict(zip(table.records, labels, strict=True))
    other = Table(tuple(e._replace(record=new[e.record]) for e in table.entries), True, True)
    before = dict(zip(table.records, so.sparsity(dataset(table), 1, 14).tolist(), strict=True))
    after = dict(zip(other.records, so.sparsity(dataset(other), 1, 14).tolist(), strict=True))
    assert {new[r]: x for r, x in before.items()} == after


@given(tables(min_records=2, values=True, days=True))
def test_wider_tolerances_never_lower_a_similarity_and_channels_never_raise_it(table):
    ds = dataset(table)
    items, value, both = so.sparsity(ds), so.sparsity(ds, 1), so.sparsity(ds, 1, 14)
    assert (both <= value).all() and (value <= items).all()
    assert (so.sparsity(ds, 0, 3) <= both).all()
    assert (both >= 0).all() and (items <= 1).all()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_curve_falls_from_the_share_with_any_overlap_to_zero(similarity):
    rows = Curve("", None, None, np.array(similarity), True).to_dict()["curve"]
    delta = [row["delta"] for row in rows]
    assert delta == sorted(delta, reverse=True)
    assert delta[-1] == 0.0
    assert all(row["low"] <= row["delta"] <= row["high"] for row in rows)


def test_delta_counts_what_lies_above_epsilon_and_not_what_lies_on_it():
    assert delta_at(np.array([0.1 + 0.2, 0.31, 0.2]), 0.3).count == 1


def test_records_held_twice_are_near_duplicates():
    entries = [Entry(r, i, 3.0, 10_000.0) for r in (0, 1) for i in range(12)]
    entries += [Entry(2, i, 3.0, 10_000.0) for i in range(6)]
    found = curves(dataset(Table(tuple(entries))), np.arange(3))
    assert [c.near_duplicates.count for c in found] == [2, 2, 2]
    assert found[0].similarity.tolist() == [1.0, 1.0, 0.5]


def test_a_missing_value_or_day_agrees_with_nothing_not_even_another():
    nan = float("nan")
    table = Table(
        (Entry(0, 0, nan, 5.0), Entry(1, 0, nan, 5.0), Entry(0, 1, 2.0, nan), Entry(1, 1, 2.0, nan))
    )
    ds = dataset(table)
    assert so.sparsity(ds).tolist() == [1.0, 1.0]
    assert so.sparsity(ds, 1000).tolist() == [0.5, 0.5]
    assert so.sparsity(ds, None, 1000).tolist() == [0.5, 0.5]


def test_a_missing_day_is_no_day_even_where_the_tolerance_reaches_beyond_the_last_one():
    days = [0.0, 65_000.0, float("nan")]
    table = Table(tuple(Entry(r, 0, float("nan"), d) for r, d in enumerate(days)), False, True)
    assert so.sparsity(dataset(table), None, 1_000).tolist() == [0.0, 0.0, 0.0]


def test_records_of_more_items_than_a_narrow_counter_holds_are_counted_right():
    n = 2**15 + 3_000
    item = np.concatenate([np.arange(n), np.arange(n), [0]])
    record = np.concatenate([np.zeros(n), np.ones(n), [2]]).astype(int)
    found = so.sparsity(so.Dataset.from_arrays(record, item))
    assert found.tolist() == [1.0, 1.0, 1 / n]


def test_a_sample_is_sparse_only_when_its_upper_bound_is():
    similarity = np.zeros(50)
    assert Curve("", None, None, similarity, whole=True).is_sparse(0.5, 0.01)
    assert not Curve("", None, None, similarity, whole=False).is_sparse(0.5, 0.01)


def test_a_smaller_sample_of_records_is_part_of_a_larger_one():
    ds = dataset(random_table(90, 20, 5, seed=1))
    few, more = fitting_records(ds, 10, 4), fitting_records(ds, 40, 4)
    assert set(few) < set(more)
    assert fitting_records(ds, None, 4).size == 90


def test_theorem_5_fails_for_a_population_around_one_hub():
    """The caveat that `bounds` prints: without the hub, most samples of a population that is not sparse are sparse."""
    rng = np.random.default_rng(0)
    people = [np.flatnonzero(rng.random(2_000) < 0.4) for _ in range(60)]
    record = np.repeat(np.arange(60), [p.size for p in people])
    sample = so.Dataset.from_arrays(record, np.concatenate(people))
    hub = so.Dataset.from_arrays(
        np.append(record, np.full(2_000, 60)), np.append(np.concatenate(people), np.arange(2_000))
    )
    assert delta_at(so.sparsity(hub), 0.34).rate > 0.95
    assert delta_at(so.sparsity(sample), 0.34).rate == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"value_within": 1}, "no values"),
        ({"time_within": 1}, "no times"),
        ({"records": []}, "empty"),
        ({"records": [3]}, "from 0 to 2"),
        ({"records": [0.5]}, "whole numbers"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, words):
    ds = so.Dataset.from_arrays([1, 2, 3], [1, 1, 2])
    with pytest.raises(ParameterError, match=words):
        so.sparsity(ds, **arguments)


def test_a_negative_tolerance_and_a_lonely_record_are_refused():
    with pytest.raises(ParameterError, match="value_within=-1"):
        so.sparsity(so.Dataset.from_arrays([1, 2], [1, 1], [1.0, 2.0]), -1)
    with pytest.raises(ParameterError, match="at least two"):
        so.sparsity(so.Dataset.from_arrays([1, 1], [1, 2]))
