"""Files and frames become datasets: one small table, written in every way, reads the same."""

from __future__ import annotations

import gzip
import random
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import standout as so
from standout.data.dataset import Dataset

ROWS = [
    (7, "tea", 4.5, "2019-12-30"),
    (7, "milk", 3.0, "2020-01-01"),
    (-2, "tea", None, "2020-01-02"),
    (900, 'crème, "fine"', 1.0, None),
    (900, "日本", 4.5, "1969-12-31"),
    (7, "tea", 2.0, "2020-03-01"),
]
EXPECTED = Counter(
    {
        (7, "tea", 4.5, 18260): 1,
        (7, "tea", 2.0, 18322): 1,
        (7, "milk", 3.0, 18262): 1,
        (-2, "tea", None, 18263): 1,
        (900, 'crème, "fine"', 1.0, None): 1,
        (900, "日本", 4.5, -1): 1,
    }
)


def entries(ds: Dataset) -> Counter[tuple[object, object, float | None, int | None]]:
    held: Counter[tuple[object, object, float | None, int | None]] = Counter()
    record = np.repeat(np.arange(ds.n_records), np.diff(ds.record_ptr))
    for k in range(ds.n_entries):
        code = ds.record_code[k] if ds.has_value else ds.n_levels
        day = ds.record_tick[k] if ds.has_time else ds.no_tick
        held[
            ds.record_labels[record[k]].item(),
            ds.item_labels[ds.record_item[k]].item(),
            float(ds.levels[code]) if code < ds.n_levels else None,
            int(day) + ds.first_tick if day != ds.no_tick else None,
        ] += 1
    return held


def text(delimiter: str = ",", end: str = "\n") -> str:
    def cell(x):
        if x is None:
            return ""
        x = str(x)
        return '"' + x.replace('"', '""') + '"' if delimiter in x or '"' in x else x

    lines = [delimiter.join(["user", "product", "stars", "date"])]
    lines += [delimiter.join(cell(x) for x in row) for row in ROWS]
    return end.join(lines) + end


def table() -> pa.Table:
    users, products, stars, dates = zip(*ROWS, strict=True)
    days = [None if d is None else date.fromisoformat(d) for d in dates]
    return pa.table(
        {
            "user": pa.array(users, pa.int64()),
            "product": pa.array(products, pa.string()),
            "stars": pa.array(stars, pa.float64()),
            "date": pa.array(days, pa.date32()),
        }
    )


def written(folder: Path, how: str) -> Path:
    path = folder / f"data.{how}"
    if how == "csv":
        path.write_text(text(), encoding="utf-8")
    elif how == "bom.csv":
        path.write_text(text(), encoding="utf-8-sig")
    elif how == "crlf.csv":
        path.write_bytes(text(end="\r\n").encode())
    elif how == "utf16.csv":
        path.write_text(text(), encoding="utf-16")
    elif how == "tsv":
        path.write_text(text("\t"), encoding="utf-8")
    elif how == "semicolon.txt":
        path.write_text(text(";"), encoding="utf-8")
    elif how == "pipe.txt":
        path.write_text(text("|"), encoding="utf-8")
    elif how == "dat":
        path.write_text(text("::").replace('"crème, ""fine"""', 'crème, "fine"'), encoding="utf-8")
    elif how in ("csv.gz", "gz.but.not.called.so"):
        path.write_bytes(gzip.compress(text().encode()))
    elif how == "csv.zst":
        path.write_bytes(pa.compress(text().encode(), codec="zstd", asbytes=True))
    elif how == "parquet" or how == "no.ending.at.all":
        pq.write_table(table(), path)
    elif how == "arrow":
        with pa.ipc.new_file(path, table().schema) as writer:
            writer.write_table(table())
    elif how == "stream.arrow":
        with pa.ipc.new_stream(path, table().schema) as writer:
            writer.write_table(table())
    elif how == "feather":
        pyarrow.feather.write_feather(table(), str(path))
    return path


WAYS = [
    "csv",
    "bom.csv",
    "crlf.csv",
    "utf16.csv",
    "tsv",
    "semicolon.txt",
    "pipe.txt",
    "dat",
    "csv.gz",
    "gz.but.not.called.so",
    "csv.zst",
    "parquet",
    "no.ending.at.all",
    "arrow",
    "stream.arrow",
    "feather",
]


@pytest.mark.parametrize("how", WAYS)
def test_one_table_reads_the_same_from_any_file(tmp_path, how):
    ds = Dataset.read(written(tmp_path, how))
    assert entries(ds) == EXPECTED
    assert ds.record_labels.tolist() == [-2, 7, 900]
    assert ds.item_labels.tolist() == sorted({row[1] for row in ROWS})
    assert ds.fingerprint == Dataset.from_frame(table()).fingerprint
    assert (ds.cleaning.rows_read, ds.cleaning.values_missing, ds.cleaning.times_missing) == (
        6,
        1,
        1,
    )
    assert ds.cleaning.repeated_pairs == 1
    assert (
        ds.cleaning.notes[0]
        == "columns: record = user, item = product, value = stars, time = date (guessed)"
    )


@pytest.mark.parametrize(
    "kind", ["pandas", "polars", "polars lazy", "pandas objects", "pandas categories"]
)
def test_one_table_reads_the_same_from_any_frame(kind):
    frame = table().to_pandas()
    if kind.startswith("polars"):
        frame = pl.from_arrow(table())
        frame = frame.lazy() if kind == "polars lazy" else frame
    elif kind == "pandas objects":
        frame = frame.astype({"product": object})
    elif kind == "pandas categories":
        frame = frame.astype({"product": "category"})
    assert Dataset.from_frame(frame).fingerprint == Dataset.from_frame(table()).fingerprint


def test_a_frame_with_labels_of_several_kinds_keeps_them_as_text():
    frame = pd.DataFrame(
        {"user": pd.Series([1, "b", None, "b"], dtype=object), "item": [1, 2, 3, 4]}
    )
    ds = Dataset.from_frame(frame)
    assert ds.record_labels.tolist() == ["1", "b"]
    assert ds.cleaning.rows_without_record == 1


def test_float_ids_with_gaps_are_integers():
    ds = Dataset.from_frame(pd.DataFrame({"user": [17850.0, np.nan, 3.0], "item": [1, 2, 3]}))
    assert ds.record_labels.tolist() == [3, 17850]
    assert ds.record_labels.dtype == np.int64


@pytest.mark.parametrize(
    ("kind", "labels", "expected"),
    [
        (pa.decimal128(38, 0), [10**25 + 1, 10**25, 5], [str(10**25), str(10**25 + 1), "5"]),
        (pa.decimal128(10, 0), [17850, 4, 3], [3, 4, 17850]),
        (pa.decimal128(38, 2), [2**53 + 1, 2**53, 7], [7, 2**53, 2**53 + 1]),
        (pa.uint64(), [2**64 - 1, 2**64 - 2, 0], [0, 2**64 - 2, 2**64 - 1]),
        (pa.int8(), [9, -3], [-3, 9]),
        (pa.bool_(), [True, False], [0, 1]),
        (pa.large_string(), ["ß", "a"], ["a", "ß"]),
        (pa.binary(), ["ß".encode(), b"\xff"], ["\\xFF", "ß"]),
        (pa.date32(), [1, 0], ["1970-01-01", "1970-01-02"]),
    ],
)
def test_typed_ids_stay_apart_whatever_their_type(kind, labels, expected):
    ds = Dataset.from_frame(pa.table({"user": pa.array(labels, kind), "item": [1] * len(labels)}))
    assert ds.record_labels.tolist() == expected


def test_columns_of_pandas_need_not_be_called_by_text():
    frame = pd.DataFrame({0: [5, 6], 1: [1, 1]})
    assert Dataset.from_frame(frame, record="0", item="1").record_labels.tolist() == [5, 6]


def test_a_folder_and_a_glob_of_parquet_files_are_one_dataset(tmp_path):
    folder = tmp_path / "parts"
    (folder / "deep").mkdir(parents=True)
    pq.write_table(table().slice(0, 2), folder / "part-0.parquet")
    pq.write_table(table().slice(2, 4), folder / "part-1.parquet")
    (folder / "_SUCCESS").touch()
    (folder / "meta.json").write_text('{"made": "by somebody else"}')
    (folder / "_metadata.parquet").write_bytes(b"PAR1 but not data")
    assert entries(Dataset.read(folder)) == EXPECTED
    assert entries(Dataset.read(str(folder / "part-*.parquet"))) == EXPECTED
    pq.write_table(table(), folder / "deep" / "more.parquet")
    assert Dataset.read(folder).n_entries == 12


def test_partition_names_are_columns(tmp_path):
    for user in (1, 2):
        (tmp_path / f"user={user}").mkdir()
        pq.write_table(pa.table({"item": [1, 2]}), tmp_path / f"user={user}" / "x.parquet")
    assert Dataset.read(tmp_path).record_labels.tolist() == [1, 2]


@pytest.mark.parametrize("name", ["a[1].csv", "star*.csv", "what?.csv", "it's.csv", "né.csv"])
def test_odd_file_names_are_only_names(tmp_path, name):
    (tmp_path / "a1.csv").write_text("user,item\n9,9\n")
    path = tmp_path / name
    path.write_text("user,item\n1,2\n")
    assert Dataset.read(path).record_labels.tolist() == [1]
    renamed = path.with_suffix(".parquet")
    pq.write_table(pa.table({"user": [5], "item": [1]}), renamed)
    assert Dataset.read(renamed).record_labels.tolist() == [5]


def test_odd_column_names_are_only_names(tmp_path):
    path = tmp_path / "odd.parquet"
    pq.write_table(pa.table({'the "user"; --': [1], "it's": [2]}), path)
    ds = Dataset.read(path, record='the "user"; --', item="it's")
    assert (ds.n_records, ds.n_items) == (1, 1)


def test_text_of_western_windows_is_read_and_that_is_printed(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes("user,item\n1,café\n2,tea\n".encode("latin-1"))
    ds = Dataset.read(path)
    assert ds.item_labels.tolist() == ["café", "tea"]
    assert "text: not UTF-8, read as cp1252" in " ".join(ds.cleaning.notes)


def test_names_of_columns_may_be_latin_1_too(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes("prénom,objet\nA,1\nB,2\n".encode("latin-1"))
    assert Dataset.read(path, record="prénom", item="objet").n_records == 2


def test_lines_that_end_in_different_ways_are_read(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_bytes(b"user,item,rating\r\n1,2,3\n4,5,6\r\n7,8,9")
    assert entries(Dataset.read(path)) == {
        (1, 2, 3.0, None): 1,
        (4, 5, 6.0, None): 1,
        (7, 8, 9.0, None): 1,
    }


def test_tab_separated_text_may_hold_quotation_marks(tmp_path):
    path = tmp_path / "q.tsv"
    path.write_text('user\tquery\n1\t"tea\n2\t6" pipe\n3\ttea\n')
    assert Dataset.read(path).item_labels.tolist() == ['"tea', '6" pipe', "tea"]


def test_line_breaks_in_quotes_belong_to_the_cell(tmp_path):
    path = tmp_path / "breaks.csv"
    path.write_text('user,item\n1,"a\nb"\n2,c\n')
    assert Dataset.read(path).item_labels.tolist() == ["a\nb", "c"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["10", "9", "-1"], [-1, 9, 10]),
        (["10", "9", "007"], ["007", "10", "9"]),
        (["17850.0", "3.0", "17850"], [3, 17850]),
        (["9223372036854775807", "-9223372036854775808"], [-(2**63), 2**63 - 1]),
        (["18446744073709551615", "1"], [1, 2**64 - 1]),
        (["100000000000000000000", "1"], ["1", "100000000000000000000"]),
        (["ß", "日本", "a"], ["a", "ß", "日本"]),
        (["x y", " x", "x"], [" x", "x", "x y"]),
    ],
)
def test_ids_in_text_are_integers_only_when_all_are_written_plainly(tmp_path, cells, expected):
    path = tmp_path / "ids.csv"
    path.write_text("user,item\n" + "".join(f"{c},1\n" for c in cells), encoding="utf-8")
    assert Dataset.read(path).record_labels.tolist() == expected


def test_rows_without_labels_are_dropped_and_counted(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("user,item,rating\n1,a,1\n,a,1\nNULL,b,1\n,,1\n2,,1\n2,a,1\n")
    ds = Dataset.read(path)
    c = ds.cleaning
    assert (c.rows_read, c.rows_without_record, c.rows_without_item, ds.n_entries) == (6, 3, 1, 2)


@pytest.mark.parametrize("how", ["last", "first", "max", "sum", "count"])
@pytest.mark.parametrize("labels", ["small integers", "text", "far integers"])
def test_repeats_in_files_merge_as_in_arrays(tmp_path, how, labels):
    rng = random.Random(f"{how} {labels}")
    name = {
        "small integers": lambda k: k,
        "text": lambda k: f"u{k}",
        "far integers": lambda k: k * 10**14,
    }[labels]
    rows = [
        (
            name(rng.randrange(4)),
            rng.randrange(3),
            rng.choice([None, 1.0, 2.5, 4.0]),
            rng.choice([None, 3, 4]),
        )
        for _ in range(60)
    ]
    user, item, rating, day = (list(column) for column in zip(*rows, strict=True))
    path = tmp_path / "r.parquet"
    pq.write_table(
        pa.table({"user": user, "item": item, "rating": pa.array(rating), "day": pa.array(day)}),
        path,
    )
    ds = Dataset.read(path, repeats=how, time_unit="day")
    nan = float("nan")
    same = Dataset.from_arrays(
        user,
        item,
        [nan if v is None else v for v in rating],
        [nan if d is None else d for d in day],
        repeats=how,
    )
    assert ds.fingerprint == same.fingerprint
    assert ds.cleaning.repeated_pairs == same.cleaning.repeated_pairs > 0


def test_last_goes_by_the_full_time_not_by_the_day(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("user,item,rating,time\n1,1,5,2020-01-01 18:00\n1,1,2,2020-01-01 09:00\n")
    assert entries(Dataset.read(path, repeats="last", resolution="day")) == {(1, 1, 5.0, 18262): 1}
    assert entries(Dataset.read(path, repeats="first", resolution="day")) == {(1, 1, 2.0, 18262): 1}


def test_row_order_is_the_order_of_the_file_however_many_threads_read_it(tmp_path):
    rng = np.random.default_rng(1)
    n = 300_000
    user, item, rating = rng.integers(0, 60, n), rng.integers(0, 9, n), np.arange(n) % 251
    path = tmp_path / "many.parquet"
    pq.write_table(
        pa.table({"user": user, "item": item, "rating": rating}), path, row_group_size=10_000
    )
    same = Dataset.from_arrays(user, item, rating, repeats="last")
    assert Dataset.read(path, repeats="last").fingerprint == same.fingerprint


@pytest.mark.parametrize("spread", [1, 10**12])
def test_files_and_arrays_agree_on_many_rows(tmp_path, spread):
    rng = np.random.default_rng(spread)
    n = 20_000
    user, item = rng.integers(0, 500, n) * spread - 77, rng.integers(0, 300, n)
    rating, day = rng.integers(1, 11, n) / 2, rng.integers(-400, 400, n)
    path = tmp_path / "many.parquet"
    pq.write_table(
        pa.table({"user": user, "item": item, "rating": rating, "day": day}),
        path,
        row_group_size=3000,
    )
    assert (
        Dataset.read(path).fingerprint == Dataset.from_arrays(user, item, rating, day).fingerprint
    )


def test_seventy_thousand_values_are_kept_exactly_by_every_reader(tmp_path):
    n = 70_000
    value = np.random.default_rng(5).lognormal(2, 2, n)
    path = tmp_path / "v.parquet"
    pq.write_table(
        pa.table({"user": np.arange(n), "item": np.zeros(n, int), "rating": value}), path
    )
    ds = Dataset.read(path)
    assert ds.record_code.dtype == np.uint32
    assert np.array_equal(ds.levels[ds.record_code], value)
    again = Dataset.read(path, repeats="max")
    there = [so.ChunkedDataset.read(path, repeats=how) for how in ("keep", "max")]
    assert {x.fingerprint for x in (again, *there)} == {ds.fingerprint}


def test_presence_only_data_has_neither_values_nor_days(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("user,url\n1,a\n2,b\n")
    ds = Dataset.read(path)
    assert not ds.has_value
    assert not ds.has_time
    assert "no value and no time column found" in ds.cleaning.notes


def test_nothing_temporary_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    Dataset.read(written(tmp_path, "csv.gz"))
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("column", ["rating", "day", "item"])
def test_nan_in_a_parquet_file_is_missing_although_its_statistics_leave_nan_out(tmp_path, column):
    numbers = {
        "user": np.arange(900) % 60,
        "item": np.arange(900) // 60,
        "rating": np.arange(900) % 5,
        "day": np.arange(900) + 13_000,
    }
    columns = {name: x.astype(float if name == column else int) for name, x in numbers.items()}
    columns[column][::10] = np.nan
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    ds = Dataset.read(
        tmp_path / "x.parquet",
        record="user",
        item="item",
        value="rating",
        time="day",
        time_unit="day",
    )
    missing = {
        "rating": ds.cleaning.values_missing,
        "day": ds.cleaning.times_missing,
        "item": ds.cleaning.rows_without_item,
    }
    assert missing[column] == 90
    assert ds.n_items == 15 and ds.tick_span < 900 and ds.levels.tolist() == [0, 1, 2, 3, 4]
