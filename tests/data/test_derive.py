"""Datasets made from a dataset are what reading only those entries gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Table
from strategies import dataset, tables

import standout as so
from standout.errors import ParameterError


def entries(ds: so.Dataset) -> list[tuple[object, object, float, float]]:
    """(record label, item label, value, day) of every entry, in order."""
    record = np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr))
    value = (
        np.append(ds.levels, np.nan)[ds.record_code]
        if ds.has_value
        else np.full(ds.n_entries, np.nan)
    )
    day = ds.record_tick.astype(float) if ds.has_time else np.full(ds.n_entries, np.nan)
    day = np.where(day == ds.no_tick, np.nan, day + ds.first_tick) if ds.has_time else day
    rows = zip(ds.record_labels[record], ds.item_labels[ds.record_item], value, day, strict=True)
    return [tuple(None if x != x else x for x in row) for row in rows]


def check(ds: so.Dataset, source: so.Dataset, wanted: list) -> None:
    """The entries wanted, in a dataset whose every count and invariant is right."""
    assert entries(ds) == wanted
    rows = np.split(ds.record_item, ds.record_ptr[1:-1]) if ds.n_records else []
    assert ds.lengths.tolist() == [np.unique(row).size for row in rows]
    record = np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr))
    pairs = np.unique(np.column_stack([record, ds.record_item.astype(np.int64)]), axis=0)
    assert ds.supports.tolist() == np.bincount(pairs[:, 1], minlength=ds.n_items).tolist()
    assert (ds.levels.tolist(), ds.first_tick) == (source.levels.tolist(), source.first_tick)
    assert (ds.record_ptr.dtype, ds.lengths.dtype) == (
        source.record_ptr.dtype,
        source.lengths.dtype,
    )
    assert ds.record_labels.tolist() == sorted(ds.record_labels.tolist())


def some(n: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, n - 1), unique=True)


@given(table=tables())
def test_taking_or_selecting_everything_changes_nothing(table: Table):
    ds = dataset(table)
    for same in (
        ds.take(np.arange(ds.n_records)),
        ds.select(np.arange(ds.n_items)),
        ds.with_entries(),
    ):
        assert same.fingerprint == ds.fingerprint
        assert same.lengths.tolist() == ds.lengths.tolist()
        assert same.supports.tolist() == ds.supports.tolist()


@given(table=tables(), data=st.data())
def test_chosen_records_are_what_reading_only_them_gives(table: Table, data: st.DataObject):
    ds = dataset(table)
    records = data.draw(some(ds.n_records))
    labels = set(ds.record_labels[records].tolist())
    wanted = [e for e in entries(ds) if e[0] in labels]
    part = ds.take(records)
    check(part, ds, wanted)
    assert set(part.item_labels.tolist()) == {e[1] for e in wanted}
    whole = ds.take(records, drop_empty=False)
    check(whole, ds, wanted)
    assert whole.item_labels.tolist() == ds.item_labels.tolist()


@given(table=tables(), data=st.data())
def test_chosen_items_are_what_reading_only_them_gives(table: Table, data: st.DataObject):
    ds = dataset(table)
    items = data.draw(some(ds.n_items))
    labels = set(ds.item_labels[items].tolist())
    wanted = [e for e in entries(ds) if e[1] in labels]
    part = ds.select(items)
    check(part, ds, wanted)
    assert set(part.record_labels.tolist()) == {e[0] for e in wanted}
    whole = ds.select(items, drop_empty=False)
    check(whole, ds, wanted)
    assert whole.record_labels.tolist() == ds.record_labels.tolist()
    assert set(whole.item_labels.tolist()) == labels


@given(table=tables(), data=st.data())
def test_taking_records_and_selecting_items_commute(table: Table, data: st.DataObject):
    ds = dataset(table)
    records, items = np.zeros(ds.n_records, bool), np.zeros(ds.n_items, bool)
    records[data.draw(some(ds.n_records))] = True
    items[data.draw(some(ds.n_items))] = True
    one = ds.take(records, drop_empty=False).select(items)
    other = ds.select(items, drop_empty=False).take(records)
    other = other.take(other.lengths > 0)
    one = one.select(one.supports > 0)
    assert entries(one) == entries(other)
    assert one.fingerprint == other.fingerprint


@given(table=tables(values=True, days=True), data=st.data())
def test_changed_entries_stand_sorted_and_keep_scale_and_time_origin(
    table: Table, data: st.DataObject
):
    ds = dataset(table)
    keep = np.array(
        data.draw(st.lists(st.booleans(), min_size=ds.n_entries, max_size=ds.n_entries))
    )
    n = int(keep.sum())
    value = np.array(
        data.draw(st.lists(st.sampled_from([*ds.levels.tolist(), np.nan]), min_size=n, max_size=n)),
        float,
    )
    shift = st.one_of(st.integers(0, 70_000), st.just(np.nan))
    day = ds.first_tick + np.array(data.draw(st.lists(shift, min_size=n, max_size=n)), float)
    old = [e for e, k in zip(entries(ds), keep, strict=True) if k]
    new = [
        (r, i, None if v != v else v, None if d != d else d)
        for (r, i, _, _), v, d in zip(old, value, day, strict=True)
    ]
    last = lambda x: (x is None, x or 0)  # noqa: E731
    wanted = sorted(new, key=lambda e: (e[0], e[1], last(e[3]), last(e[2])))
    check(ds.with_entries(keep, value=value, day=day), ds, wanted)
    check(ds.with_entries(keep), ds, old)


def test_what_cannot_be_derived_is_refused():
    ds = so.Dataset.from_arrays([0, 0, 1], [5, 6, 5], [1.0, 2.0, 3.0])
    for wrong in ([0, 0], [2], [-1], [0.5], [True]):
        with pytest.raises(ParameterError, match="records"):
            ds.take(wrong)
    with pytest.raises(ParameterError, match="items"):
        ds.select([7])
    with pytest.raises(ParameterError, match="keep"):
        ds.with_entries([True])
    with pytest.raises(ParameterError, match="not on the dataset's scale"):
        ds.with_entries(value=[1.0, 2.5, 3.0])
    with pytest.raises(ParameterError, match="with times"):
        ds.with_entries(day=[1.0, 2.0, 3.0])


def test_a_derived_dataset_is_attacked_as_if_it_had_been_read():
    rng = np.random.default_rng(3)
    record, item = (
        np.repeat(np.arange(60), 12),
        np.concatenate([rng.choice(40, 12, replace=False) for _ in range(60)]),
    )
    value = rng.integers(1, 6, record.size).astype(float)
    value[0], value[1] = 1.0, 5.0
    keep = record % 3 == 0
    part = so.Dataset.from_arrays(record, item, value).take(np.arange(0, 60, 3))
    read = so.Dataset.from_arrays(record[keep], item[keep], value[keep])
    assert part.fingerprint == read.fingerprint
    aux = so.Adversary(knows=3, value_within=1).sample(part, np.arange(20), seed=1)
    np.testing.assert_array_equal(
        so.attack("likelihood").scores(part, aux), so.attack("likelihood").scores(read, aux)
    )


@given(table=tables(values=True, days=True, repeats=True), data=st.data())
def test_other_items_levels_and_early_days_are_what_reading_them_gives(
    table: Table, data: st.DataObject
):
    ds = dataset(table)
    n = ds.n_entries
    labels, levels = ["m", "n", "o"], [-1.0, 0.5, 7.0]
    item = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    value = np.array(
        data.draw(st.lists(st.sampled_from([*levels, np.nan]), min_size=n, max_size=n))
    )
    day = np.array(
        data.draw(
            st.lists(st.sampled_from([-400.0, 3.0, 99_999.0, np.nan]), min_size=n, max_size=n)
        )
    )
    changed = ds.with_entries(item=item, item_labels=labels, value=value, levels=levels, day=day)
    assert changed.levels.tolist() == levels and changed.item_labels.tolist() == labels
    record = ds.record_labels[np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr))]
    if np.isnan(value).all() or np.isnan(day).all():
        return
    read = so.Dataset.from_arrays(record, np.array(labels)[item], value, day)
    assert entries(changed) == entries(read)
    assert changed.lengths.tolist() == read.lengths.tolist()
    assert changed.supports[np.isin(labels, read.item_labels)].tolist() == read.supports.tolist()


@given(table=tables(values=True, days=True, repeats=True))
def test_dropped_channels_are_gone_and_the_entries_stay_sorted(table: Table):
    ds = dataset(table)
    old = entries(ds)
    bare = ds.with_entries(drop=("value", "time"))
    assert entries(bare) == [(r, i, None, None) for r, i, _, _ in old]
    assert (bare.has_value, bare.has_time, bare.n_levels, bare.tick_span) == (False, False, 0, 0)
    last = lambda x: (x is None, x or 0)  # noqa: E731
    dateless = ds.with_entries(drop=("time",))
    assert entries(dateless) == sorted(
        ((r, i, v, None) for r, i, v, _ in old), key=lambda e: (e[0], e[1], last(e[2]))
    )


def test_changes_that_do_not_fit_the_entries_are_refused():
    ds = so.Dataset.from_arrays([0, 0, 1], [5, 6, 5], [1.0, 2.0, 3.0], [1, 2, 3])
    for changes, says in (
        ({"item": [0, 1]}, "one index per kept entry"),
        ({"item": [0, 1, 2]}, "from 0 to 1"),
        ({"item": [0, 1, -1]}, "from 0"),
        ({"item": [0.0, 1.0, 1.0]}, "one index"),
        ({"item": [0, 0, 0], "item_labels": [7, 3]}, "ascending"),
        ({"item": [0, 0, 0], "item_labels": [3, 3]}, "ascending"),
        ({"levels": [1.0, 2.0]}, "one number per kept entry"),
        ({"value": [1, 1, 1], "levels": [2, 1]}, "ascending order"),
        ({"value": [1, 1, 1], "levels": []}, "1 to 2,147,483,647"),
        ({"value": [1, 1, 1], "levels": [np.nan]}, "finite"),
        ({"day": [0.5, 1, 1]}, "whole days"),
        ({"day": [0, 1, 1e9]}, "span"),
        ({"drop": ("day",)}, "use time, value"),
    ):
        with pytest.raises(ParameterError, match=says):
            ds.with_entries(**changes)


def test_an_entry_can_be_kept_more_than_once():
    ds = so.Dataset.from_arrays([1, 1, 2], [10, 11, 10])
    more = ds.with_entries(np.array([2, 0, 1]), item=[0, 1, 1])
    assert more.record_ptr.tolist() == [0, 2, 3]
    assert more.record_item.tolist() == [0, 1, 1]
    assert more.lengths.tolist() == [2, 1] and more.supports.tolist() == [1, 2]
    with pytest.raises(ParameterError, match="keep"):
        ds.with_entries(np.array([-1, 1, 1]))
