"""The Netflix twin: a function of its seed, valid as data, and like the real data in its marginals."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standout.data.synthetic import EPOCH_DAY, twin, twin_arrays, twin_dataset, write_twin
from standout.data.twin import items as twin_items
from standout.data.twin.model import N_DAYS, N_RECORDS, real_marginals, twin_model
from standout.errors import ParameterError

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "docs" / "scripts"))

from marginals import compare, filtered_out, marginals, pair_lifts

N = 20_000


@pytest.fixture(scope="module")
def demo():
    """The demo's data: 20,000 records."""
    return twin_arrays(N)


@pytest.fixture(scope="module")
def measured(demo):
    return marginals(*demo)


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def test_a_seed_names_one_twin():
    assert same(twin_arrays(300, seed=5), twin_arrays(300, seed=5))
    assert not same([twin_arrays(300, seed=5)[0]], [twin_arrays(300, seed=6)[0]])


@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (17, 3), (1000, 2)])
def test_batches_and_threads_change_nothing(batch, threads):
    assert same(twin_arrays(150, batch_records=batch, threads=threads), twin_arrays(150))


def test_fewer_records_are_the_first_of_more():
    few, more = twin_arrays(120), twin_arrays(200)
    assert same(few, [column[more[0] < 120] for column in more])


def test_every_record_is_there_and_holds_an_item_once(demo):
    record, item, value, day = demo
    assert np.array_equal(np.unique(record), np.arange(N))
    pair = record.astype(np.int64) * 17_770 + item
    assert np.unique(pair).size == pair.size
    assert item.min() >= 0
    assert item.max() < 17_770
    assert set(np.unique(value)) == {1, 2, 3, 4, 5}
    assert day.min() >= EPOCH_DAY
    assert day.max() < EPOCH_DAY + N_DAYS
    assert str(np.datetime64(EPOCH_DAY, "D")) == "1999-11-11"


def test_nobody_rates_an_item_before_it_enters(demo):
    _, item, _, day = demo
    catalog = twin_model(17_770, real_marginals()["mean_entries_per_record"], 0)[1]
    entry_of_label = np.empty(17_770, np.int64)
    entry_of_label[catalog.label] = catalog.entry_day
    assert (day - EPOCH_DAY >= entry_of_label[item]).all()


def test_a_small_catalog_is_used_up_without_repeats():
    record, item, _, _ = twin_arrays(400, n_items=150, mean_length=60)
    pair = record.astype(np.int64) * 150 + item
    assert np.unique(pair).size == pair.size
    lengths = np.bincount(record)
    assert lengths.max() > 120
    assert 40 < lengths.mean() < 75


def test_fewer_items_thin_the_records():
    record, item, _, _ = twin_arrays(4_000, n_items=3_000)
    support = np.sort(np.bincount(item, minlength=3_000))[::-1]
    real = real_marginals()
    assert record.size / 4_000 == pytest.approx(
        real["mean_entries_per_record"] * 3_000 / 17_770, rel=0.1
    )
    assert support[: 3_000 // 178].sum() / record.size == pytest.approx(
        real["share_of_entries_in_top"]["100"], abs=0.03
    )


# What 20,000 records cannot show: extremes, and items with a handful of entries.
SMALL_TWIN_CANNOT = (
    "entries_per_item q0",
    "entries_per_item q0.01",
    "entries_per_item q0.05",
    "item_mean_rating q0",
    "item_mean_rating q0.01",
    "item_mean_rating q1",
    "days_since_items_first_entry q0.01",
    "days_since_items_first_entry q0.05",
    "pair_lift_top_2000_items q0",
    "pair_lift_top_2000_items q1",
    "support_by_rank 12000",
    "support_by_rank 15000",
    "support_by_rank 17000",
    "support_by_rank 17768",
)


def test_marginals_of_the_demo_are_the_real_ones(measured):
    rows = [
        row
        for row in compare(measured, record_share=N / N_RECORDS)
        if row.name not in SMALL_TWIN_CANNOT
    ]
    rows = [row for row in rows if not row.name.endswith((" q1", " q0.999"))]
    assert len(rows) > 220
    shares = ("share", "outside", "rating_shares", "entries_by", "records_by", "filtered")
    off = [
        row
        for row in rows
        if abs(row.difference) > (0.03 if row.name.startswith(shares) else 0.15) and not row.within
    ]
    assert off == []
    assert np.mean([row.within for row in rows]) > 0.95


def test_a_month_of_wrong_days_would_be_seen(demo):
    record, item, value, day = demo
    spread = day + np.random.default_rng(0).integers(-2, 3, day.size).astype(np.int32)
    off = {
        row.name.split(" ")[0]
        for row in compare(marginals(record, item, value, spread))
        if not row.within
    }
    assert "share_of_entries_with_at_least_k_on_their_day" in off
    assert "distinct_days_per_record" in off


def test_marginals_by_hand():
    record = np.array([7, 7, 7, 7, 2, 2, 9])
    item = np.array([0, 1, 2, 3, 0, 1, 0])
    value = np.array([5, 4, 3, 1, 4, 2, 3])
    day = EPOCH_DAY + np.array([60, 60, 60, 70, 500, 430, 60])
    order = np.random.default_rng(1).permutation(7)
    got = marginals(record[order], item[order], value[order], day[order])
    assert got["mean_entries_per_record"] == pytest.approx(7 / 3)
    assert got["entries_per_record"][-1] == 4
    assert got["support_by_rank"] == {"1": 3, "2": 2}
    assert got["share_of_entries_with_at_least_k_on_their_day"]["3"] == pytest.approx(3 / 7)
    assert got["share_of_entries_with_at_least_k_on_their_day"]["2"] == pytest.approx(3 / 7)
    assert got["span_days_per_record"][5] == 10
    assert got["distinct_days_per_record"][5] == 2
    assert got["share_of_a_record_on_its_first_day"][5] == pytest.approx(0.75)
    assert got["rating_shares"] == pytest.approx([1 / 7, 1 / 7, 2 / 7, 2 / 7, 1 / 7])
    assert got["records_by_first_year"] == pytest.approx({"2000": 2 / 3, "2001": 1 / 3})
    assert got["mean_log10_item_rank_by_record_length"]["<20"] == pytest.approx(
        np.log10([1, 1, 1, 2, 2, 3, 4]).mean()
    )
    residual = value - np.array([4, 3, 3, 1, 4, 3, 4.0])
    assert got["std_rating_within_item"] == pytest.approx(np.sqrt(np.mean(residual**2)))
    for r in np.unique(record):
        residual[record == r] -= residual[record == r].mean()
    assert got["std_rating_after_item_and_record_means"] == pytest.approx(
        np.sqrt(np.mean(residual**2))
    )
    assert got["days_since_items_first_entry"][-1] == 440


def test_pair_lifts_are_those_of_sets():
    rng = np.random.default_rng(3)
    sets = [np.sort(rng.choice(12, rng.integers(1, 12), replace=False)) for _ in range(130)]
    ptr = np.concatenate([[0], np.cumsum([s.size for s in sets])])
    item = np.concatenate(sets).astype(np.int32)
    support = np.bincount(item)
    order = np.argsort(-support, kind="stable")
    rank = np.empty(12, np.int64)
    rank[order] = np.arange(12)
    pairs = combinations(order[:6].tolist(), 2)
    expected = [
        sum(i in s and j in s for s in sets) * 130 / (support[i] * support[j]) for i, j in pairs
    ]
    assert np.sort(pair_lifts(ptr, item, rank, support, n_top=6)) == pytest.approx(
        np.sort(expected)
    )


def test_records_need_rare_items_and_others():
    # items 0-2 are common; 3-62 are held by few of the 400 records
    rng = np.random.default_rng(3)
    sets = [[0, 1, 2]] * 300 + [
        [*range(int(k)), *rng.choice(np.arange(3, 63), 8, replace=False)]
        for k in rng.integers(0, 4, 100)
    ]
    ptr = np.concatenate([[0], np.cumsum([len(s) for s in sets])])
    item = np.concatenate(sets).astype(np.int32)
    support = np.bincount(item)
    rare = 1 / np.log2(support * N_RECORDS / 400) >= 0.07
    kept = [rare[s].sum() > 6 and (~rare[s]).sum() >= 2 for s in sets]
    assert 10 < sum(kept) < 90
    assert filtered_out(ptr, item, support)["m=8, t=0.07"] == pytest.approx(1 - np.mean(kept))


def test_alias_tables_hold_their_weights():
    rng = np.random.default_rng(2)
    weight, affinity = rng.random((2, 50)), rng.random((3, 50))
    table, total, accept, alias = twin_items.alias_tables(weight, affinity, np.ones(50))
    for c in range(2):
        for g in range(3):
            chance = accept[c, g].astype(float)
            np.add.at(chance, alias[c, g], 1.0 - accept[c, g].astype(float))
            assert chance / 50 == pytest.approx(table[c, g] / total[c, g], abs=1e-6)


def test_batches_are_arrow_with_dates():
    batch = next(twin(40))
    assert batch.schema == pa.schema(
        {"record": pa.int32(), "item": pa.int32(), "value": pa.uint8(), "day": pa.date32()}
    )
    assert batch["day"][0].as_py().year in range(1999, 2006)


def test_the_file_holds_the_same_twin_in_row_groups(tmp_path):
    path = tmp_path / "twin.parquet"
    n = write_twin(path, 6_000, 2_000, seed=4, row_group=50_000)
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups >= 2
    table = file.read()
    expected = twin_arrays(6_000, 2_000, seed=4)
    assert n == table.num_rows == expected[0].size
    got = [table[name].to_numpy() for name in ("record", "item", "value")] + [
        table["day"].cast(pa.int32()).to_numpy()
    ]
    assert same(got, expected)
    assert [p.name for p in tmp_path.iterdir()] == ["twin.parquet"]


def test_a_twin_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(ParameterError, match="mean_length"):
        write_twin(tmp_path / "twin.parquet", 100, 10, mean_length=50)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ParameterError, match="no folder"):
        write_twin(tmp_path / "missing" / "twin.parquet", 10)


@pytest.mark.parametrize(
    "wrong", [{"n_records": 0}, {"n_items": 0}, {"seed": -1}, {"threads": 0}, {"mean_length": 0}]
)
def test_a_twin_refuses_nonsense(wrong):
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        twin_arrays(**{"n_records": 10, **wrong})


def test_the_twin_is_a_dataset():
    dataset = twin_dataset(200, seed=3)
    record, item, _, _ = twin_arrays(200, seed=3)
    assert dataset.n_records == 200
    assert dataset.n_entries == record.size
    assert dataset.n_items == np.unique(item).size
    assert not dataset.has_repeats
    assert dataset.levels.tolist() == [1, 2, 3, 4, 5]
