"""Very many, very long, very large: read rightly or refused, never wrong in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standout.data.build import EntryBuilder, _sort_records, count_pairs
from standout.data.dataset import Dataset
from standout.data.reading import read
from standout.errors import InputError


def csv(folder, *lines):
    path = folder / "x.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def parquet(folder, **columns):
    pq.write_table(pa.table(columns), folder / "x.parquet")
    return folder / "x.parquet"


def test_the_largest_numbers_are_values(tmp_path):
    ds = Dataset.read(
        csv(tmp_path, "user,item,rating", "1,1,1e308", "2,1,-1.7e308", "3,2,5", "4,2,1e-320")
    )
    assert ds.levels.tolist() == [-1.7e308, 1e-320, 5.0, 1e308]


def test_the_largest_numbers_among_thousands_of_distinct_values_do_not_overflow(tmp_path):
    rng = np.random.default_rng(0)
    for value in (
        np.r_[rng.random(4998), 1.7e308, -1.7e308],
        rng.choice([-1.7, 1.7], 5000) * rng.random(5000) * 1e308,
    ):
        ds = Dataset.read(
            parquet(tmp_path, user=np.arange(5000) % 100, item=np.arange(5000), rating=value)
        )
        assert np.array_equal(ds.levels, np.unique(value))
        assert ds.n_entries == 5000


def test_the_first_and_the_last_year_are_times_of_tables(tmp_path):
    when = np.array(["0001-01-01", "9999-12-31"], "M8[s]")
    ds = Dataset.read(parquet(tmp_path, user=[1, 2], item=[1, 1], date=pa.array(when)))
    assert (
        ds.fingerprint
        == Dataset.from_arrays([1, 2], [1, 1], time=when.astype("M8[D]").astype(int)).fingerprint
    )


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(("one", "other"), [(1, 1000), (1, 10**6), (1000, 10**6)])
def test_seconds_and_milliseconds_in_one_column_are_a_question(tmp_path, kind, one, other):
    seconds = 1_500_000_000 + np.arange(200) * 10_000
    mixed = np.where(np.arange(200) < 3, seconds * one, seconds * other)
    if kind == "csv":
        path = csv(tmp_path, "user,item,timestamp", *(f"{k},1,{t}" for k, t in enumerate(mixed)))
    else:
        path = parquet(tmp_path, user=np.arange(200), item=np.ones(200), timestamp=mixed)
    with pytest.raises(
        InputError, match=r"column 'timestamp' mixes .* \(3 of the smaller numbers\)"
    ):
        Dataset.read(path)
    assert Dataset.read(path, time_unit={1000: "ms", 10**6: "us"}[other]).n_entries == 200


def test_times_of_1970_in_milliseconds_are_no_mixture(tmp_path):
    ms = np.r_[0, 1, 86_400_000, 1_500_000_000_000 + np.arange(50) * 10**9]
    path = parquet(tmp_path, user=np.arange(53), item=np.ones(53), timestamp=ms)
    assert Dataset.read(path).n_entries == 53


def test_empty_labels_are_nobody_and_counted(tmp_path):
    ds = Dataset.read(csv(tmp_path, "user,item", ",1", "a,", "b,x", '"",y', '"",'))
    assert (
        ds.record_labels.tolist(),
        ds.cleaning.rows_without_record,
        ds.cleaning.rows_without_item,
    ) == (["b"], 3, 1)


LOOKALIKES = [
    "é",
    "e\u0301",
    "a",
    "а",
    "A",
    "a\u200b",
    "１",
    "1",
    "ﬁ",
    "fi",
    "K",
    "\u212a",
    "𝐚",
    "a\u00a0",
]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrays"])
def test_people_whose_names_look_alike_stay_apart(tmp_path, kind):
    if kind == "arrays":
        ds = Dataset.from_arrays(LOOKALIKES, [1] * len(LOOKALIKES))
    elif kind == "csv":
        ds = Dataset.read(csv(tmp_path, "user,item", *(f"{name},x" for name in LOOKALIKES)))
    else:
        ds = Dataset.read(parquet(tmp_path, user=LOOKALIKES, item=[1] * len(LOOKALIKES)))
    assert sorted(ds.record_labels.tolist()) == sorted(LOOKALIKES)


def test_numbers_written_in_several_ways_stay_apart_where_a_label_is_text(tmp_path):
    ds = Dataset.read(csv(tmp_path, "user,item", "1,a", "01,a", "1.0,a", "x,a"))
    assert ds.record_labels.tolist() == ["01", "1", "1.0", "x"]


def test_types_that_differ_within_a_column_are_text_or_refused():
    frame = pd.DataFrame({"user": [1, "b", 2.5, None], "item": [1, 2, 3, 4]})
    ds = Dataset.from_frame(frame)
    assert (ds.record_labels.tolist(), ds.cleaning.rows_without_record) == (["1", "2.5", "b"], 1)
    with pytest.raises(InputError, match="column 'rating' holds objects where numbers"):
        Dataset.from_frame(pd.DataFrame({"user": [1, 2], "item": [1, 2], "rating": [1, "x"]}))


def test_a_record_of_a_hundred_thousand_entries_is_read_whole(tmp_path):
    n = 100_000
    path = parquet(
        tmp_path,
        user=np.r_[np.zeros(n, int), np.arange(1, 11)],
        item=np.r_[np.arange(n), np.arange(10)],
    )
    ds = Dataset.read(path)
    assert ds.lengths.tolist() == [n, *[1] * 10]
    assert int(ds.index.lengths[0]) == n


@pytest.mark.slow
def test_a_record_of_a_million_entries_is_attacked(tmp_path):
    from standout.adversary.adversary import Adversary
    from standout.attacks.attack import attack

    n = 1_000_000
    path = parquet(
        tmp_path,
        user=np.r_[np.zeros(n, int), np.arange(1, 11)],
        item=np.r_[np.arange(n), np.arange(10)],
    )
    ds = Dataset.read(path)
    known = Adversary(knows=3, value_within=None, time_within=None).sample(
        ds, targets=np.array([0]), seed=1
    )
    assert attack("scoreboard-rh").run(ds, known).best.tolist() == [0]


@pytest.mark.slow
def test_ten_million_distinct_items_are_read(tmp_path):
    n = 10_000_000
    ds = Dataset.read(parquet(tmp_path, user=np.arange(n) % 1000, item=np.arange(n) * 7))
    assert (ds.n_items, ds.n_entries) == (n, n)
    assert ds.supports.max() == 1


def test_entries_beyond_two_to_the_31_are_placed_where_they_belong():
    # memory that nobody touches takes no room: only the last record is filled
    many = 2**31 + 2**10
    builder = EntryBuilder(np.array([many, 3]), 100, has_value=True, has_time=False, n_levels=5)
    builder.add(np.array([1, 1, 1]), np.array([9, 8, 7]), np.array([1, 2, 3], np.uint8))
    assert builder.ptr.dtype == np.int64
    assert builder.item[many:].tolist() == [9, 8, 7]
    assert builder.code[many:].tolist() == [1, 2, 3]
    lengths, supports = np.zeros(1, np.int64), np.zeros(100, np.int64)
    count_pairs(builder.ptr[1:], builder.item, lengths, supports)
    assert lengths.tolist() == [3]
    assert np.flatnonzero(supports).tolist() == [7, 8, 9]


def test_more_rows_than_memory_are_refused_before_memory_is_taken(tmp_path, monkeypatch):
    path = parquet(tmp_path, user=np.zeros(1000, int), item=np.zeros(1000, int))
    monkeypatch.setattr(read, "_physical_memory", lambda: 2000.0)
    with pytest.raises(InputError, match="1,000 rows need about 0 GB of memory"):
        Dataset.read(path)
    monkeypatch.undo()
    assert read._physical_memory() > 1e8


@pytest.mark.parametrize(("n_levels", "tick_span"), [(3, 9), (300, 70_000), (100_000, 2**32 - 2)])
@pytest.mark.parametrize("items", [40, 2**31])
def test_entries_are_sorted_by_item_tick_and_code_of_any_width(n_levels, tick_span, items):
    rng = np.random.default_rng(1)
    n = 500
    item = rng.integers(0, items, 40)[rng.integers(0, 40, n)]
    code = rng.integers(0, n_levels + 1, n)
    tick = rng.choice([*rng.integers(0, tick_span, 5), tick_span, -1], n)
    builder = EntryBuilder(
        np.array([0, n]),
        items,
        has_value=True,
        has_time=True,
        n_levels=n_levels,
        tick_span=tick_span,
    )
    tick = np.where(tick < 0, builder.no_tick, tick)
    builder.add(
        np.ones(n, np.int64),
        item,
        code.astype(builder.code.dtype),
        tick.astype(builder.tick.dtype),
    )
    # supports of 2^31 items would need 16 GB: only the sorting is looked at
    _sort_records(0, 2, builder.ptr, builder.item, builder.code, builder.tick)
    found = list(zip(builder.item, builder.tick, builder.code, strict=True))
    assert found == sorted(zip(item, tick, code, strict=True))
    assert builder.no_tick == np.iinfo(builder.tick.dtype).max > tick_span
