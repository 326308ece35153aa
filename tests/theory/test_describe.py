"""Describe: every table is a count that can be made by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import theory_oracle
from hypothesis import given
from hypothesis import strategies as st
from strategies import dataset, random_table, tables

import standout as so
from standout.theory.describe import fits, lognormal, outside_top, power_law
from standout.theory.entropy import item_information, time_chances, value_chances


def same(found: np.ndarray, expected: list[float]) -> bool:
    return bool(np.allclose(found, expected, rtol=0, atol=1e-12, equal_nan=True))


@given(tables(values=True), st.sampled_from([0, 0.5, 1, 10]))
def test_value_information_is_the_chance_by_definition(table, value_within):
    expected = [theory_oracle.chance(table, i, value_within, None) for i in table.items]
    assert same(value_chances(dataset(table), value_within), expected)


@given(tables(days=True), st.sampled_from([0, 3, 14, 500]))
def test_time_information_is_the_chance_by_definition(table, time_within):
    expected = [theory_oracle.chance(table, i, None, time_within) for i in table.items]
    assert same(time_chances(dataset(table), time_within), expected)


def test_information_over_several_blocks_and_repeats_is_the_chance_by_definition():
    table = random_table(600, 12, 6, seed=5, missing=0.1, repeats=True)
    ds = dataset(table)
    ds.__dict__["index"] = ds.shards(1, block_size=100)[0]
    assert ds.index.n_blocks > 1
    for item in (0, 5, 11):
        at = table.items.index(item)
        by_record: dict[int, list] = {}
        for e in table.entries:
            if e.item == item:
                by_record.setdefault(e.record, []).append(e)
        known = [e for events in by_record.values() for e in events if not math.isnan(e.day)]
        agreeing = sum(
            any(abs(x.day - e.day) <= 14 for x in events)
            for e in known
            for events in by_record.values()
        )
        assert time_chances(ds, 14)[at] == pytest.approx(
            agreeing / (len(known) * ds.n_records), abs=1e-12
        )


@given(tables(missing=False))
def test_information_is_listed_by_popularity_and_more_is_known_with_a_channel(table):
    ds = dataset(table)
    frame = item_information(ds, 1, 14)
    assert frame["support"].tolist() == sorted(
        (table.support(i) for i in table.items), reverse=True
    )
    assert same(
        frame["none"].to_numpy(), [-math.log2(s / len(table.records)) for s in frame["support"]]
    )
    for channel in {"value", "time"} & set(frame):
        assert (frame[channel] >= frame["none"] - 1e-12).all()
        assert (frame[channel] <= math.log2(len(table.records)) + 1e-12).all()


@given(tables())
def test_the_outside_top_table_counts_records(table):
    ds = dataset(table)
    popular = sorted(table.items, key=lambda i: (-table.support(i), i))
    for row in outside_top(ds, tops=(0, 1, 3), at_least=(1, 2)).to_dict("records"):
        rest = set(popular[int(row["top"]) :])
        held = [len(rest & {e.item for e in table.entries if e.record == r}) for r in table.records]
        assert row["records"] == sum(n >= row["items"] for n in held)
        assert row["share"] == row["records"] / len(table.records)


@given(tables())
def test_lengths_and_supports_add_up_to_the_pairs(table):
    ds = dataset(table)
    found = so.describe(ds)
    assert int((found.lengths["items"] * found.lengths["records"]).sum()) == ds.n_pairs
    assert int(found.supports["support"].sum()) == ds.n_pairs
    assert found.lengths["at_most"].iloc[-1] == pytest.approx(1.0)
    assert found.supports["share_of_pairs"].iloc[-1] == pytest.approx(1.0)
    assert found.overview["repeated_entries"] == ds.n_entries - ds.n_pairs


@given(tables())
def test_a_description_is_plain_json(table):
    plain = so.describe(dataset(table)).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_no_label_is_in_a_description():
    people = [f"person-{k // 3}" for k in range(90)]
    things = [f"thing-{k % 17}" for k in range(90)]
    found = so.describe(so.Dataset.from_arrays(people, things, np.arange(90.0) % 5, np.arange(90)))
    text = json.dumps(found.to_dict()) + repr(found) + repr(found.sparsity)
    assert "person" not in text and "thing" not in text


def test_a_single_record_has_a_shape_but_no_neighbor():
    found = so.describe(so.Dataset.from_arrays([1, 1], [1, 2]))
    assert found.sparsity == ()
    assert found.overview["n_records"] == 1


def test_long_tables_are_thinned_in_the_plain_data_with_both_ends_kept():
    n = 3_000
    found = so.describe(so.Dataset.from_arrays(np.arange(n) % 50, np.arange(n)))
    ranks = [row["rank"] for row in found.to_dict()["information"]]
    assert len(found.information) == n and len(ranks) <= 200
    assert ranks[0] == 1 and ranks[-1] == n


def test_each_fit_finds_its_own_kind_and_its_parameters():
    rng = np.random.default_rng(2)
    bell = np.rint(np.exp(rng.normal(4, 0.6, 5_000))).astype(int)
    tail = np.floor(9.5 * rng.random(5_000) ** (-1 / 1.4) + 0.5).astype(int)
    assert lognormal(bell).mu == pytest.approx(4, abs=0.05)
    assert lognormal(bell).sigma == pytest.approx(0.6, abs=0.03)
    assert power_law(tail, 10).alpha == pytest.approx(2.4, abs=0.06)
    best = [min(fits(x)[:2], key=lambda f: f.ks).kind for x in (bell, tail)]
    assert best == ["lognormal", "power law"]
    assert all(0 <= f.ks <= 1 for x in (bell, tail) for f in fits(x))


def test_the_ks_distance_is_the_largest_gap_of_the_cumulative_shares():
    x = np.array([10] * 60 + [11] * 40)
    fit = power_law(x, 10)
    low = 9.5
    model = [1 - (b / low) ** (1 - fit.alpha) for b in (10.5, 11.5)]
    assert fit.ks == pytest.approx(max(abs(0.6 - model[0]), abs(1.0 - model[1])))
