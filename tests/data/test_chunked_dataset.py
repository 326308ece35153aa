"""A dataset on disk is the dataset in memory: same catalog, same records, same keys; damage and bad budgets are refused."""

from __future__ import annotations

import gc
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import standout as so
from standout.data import labels
from standout.data.chunked.memory import available_memory, bytes_of
from standout.data.reading import rows
from standout.errors import InputError, ParameterError, RowError

SCALARS = (
    "n_records",
    "n_items",
    "n_entries",
    "n_pairs",
    "has_value",
    "has_time",
    "has_repeats",
    "no_tick",
    "longest",
    "first_tick",
    "tick_span",
    "time_resolution",
    "fingerprint",
    "cleaning",
    "n_levels",
)
ARRAYS = (
    "item_labels",
    "supports",
    "levels",
    "length_counts",
    "popularity_rank",
    "record_labels",
    "record_keys",
)


def table(kind: str, n: int = 9_000, seed: int = 1) -> pa.Table:
    """Rows in random order: about 600 records, some with the same contents."""
    rng = np.random.default_rng(seed)
    record, item = rng.integers(0, 600, n), (rng.random(n) ** 2 * 90).astype(int)
    value, day = rng.integers(1, 11, n) / 2, rng.integers(12_000, 12_700, n).astype(float)
    # twins: five records with the same two entries
    record = np.concatenate([record, np.repeat(np.arange(700, 705), 2)])
    item = np.concatenate([item, np.tile([3, 50], 5)])
    value, day = np.concatenate([value, np.ones(10)]), np.concatenate([day, np.full(10, 12_100.0)])
    if kind == "missing":
        value[rng.random(value.size) < 0.1], day[rng.random(day.size) < 0.1] = np.nan, np.nan
    columns = {"user": record, "item": item}
    if kind in ("text", "wide text"):
        columns = {
            "user": [f"u{r}" + "x" * (200 if r == 7 else r % 5) for r in record],
            "item": [f"i{i}" for i in item],
        }
    if kind != "presence":
        columns["rating"] = rng.normal(0, 1, record.size) if kind == "continuous" else value
        columns["day"] = np.where(
            np.isnan(day), np.datetime64("NaT"), np.nan_to_num(day).astype("datetime64[D]")
        )
    order = rng.permutation(record.size)
    return pa.table(columns).take(pa.array(order))


def written(folder: Path, kind: str) -> Path:
    """A folder of three Parquet files."""
    whole, into = table(kind), folder / f"{kind}-files"
    into.mkdir()
    for k in range(3):
        pq.write_table(whole.slice(k * 3000, 3000 if k < 2 else None), into / f"part-{k}.parquet")
    return into


def assert_same_data(mine: so.ChunkedDataset, usual: so.Dataset) -> None:
    for name in SCALARS:
        assert getattr(mine, name) == getattr(usual, name), name
    for name in ARRAYS:
        a, b = getattr(mine, name), getattr(usual, name)
        assert a.dtype == b.dtype, name
        np.testing.assert_array_equal(a, b, err_msg=name)
    chosen = np.array([0, 1, 63, 64, 200, usual.n_records - 2, usual.n_records - 1])
    assert mine.record_labels[chosen].tolist() == usual.record_labels[chosen].tolist()
    for records in (chosen, chosen[:0], np.arange(usual.n_records)):
        a, b = mine.rows(records), usual.rows(records)
        for name, expected in vars(b).items():
            assert getattr(a, name).dtype == expected.dtype, name
            np.testing.assert_array_equal(getattr(a, name), expected, err_msg=name)


def assert_same_files(a: Path, b: Path) -> None:
    assert {p.name for p in a.iterdir()} == {p.name for p in b.iterdir()}
    for path in a.iterdir():
        assert path.read_bytes() == (b / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("kind", "repeats"),
    [
        ("plain", "keep"),
        ("missing", "keep"),
        ("presence", "keep"),
        ("text", "keep"),
        ("continuous", "keep"),
        ("wide text", "keep"),
        ("plain", "last"),
        ("missing", "sum"),
        ("presence", "count"),
        ("text", "first"),
        ("continuous", "max"),
    ],
)
def test_a_source_read_in_parts_is_the_dataset_of_the_whole_to_the_byte(
    small_parts, tmp_path, kind, repeats, monkeypatch
):
    if kind == "wide text":  # kept as bytes, not in a table of fixed width
        monkeypatch.setattr(labels, "WIDEST_TABLE", 10_000)
    source = written(tmp_path, kind)
    usual = so.Dataset.read(source, repeats=repeats)
    mine = so.ChunkedDataset.read(source, repeats=repeats, work=tmp_path / "work")
    assert len(mine.all_shards) > 3
    assert_same_data(mine, usual)
    usual.save(tmp_path / "saved")
    folder = next((tmp_path / "work").glob("data-*"))
    assert_same_files(folder, tmp_path / "saved")
    assert folder.stat().st_mode & 0o077 == 0  # a copy of the records is for its owner only


def test_a_saved_folder_read_in_parts_is_the_saved_dataset(small_parts, tmp_path):
    usual = so.Dataset.read(written(tmp_path, "missing"), resolution="hour")
    usual.save(tmp_path / "saved")
    assert_same_data(so.ChunkedDataset.open(tmp_path / "saved"), usual)
    assert_same_data(so.ChunkedDataset.read(tmp_path / "saved"), usual)
    with pytest.raises(ParameterError, match="whose columns are set"):
        so.ChunkedDataset.read(tmp_path / "saved", record="user")


def test_text_files_are_read_in_parts_as_in_memory(small_parts, tmp_path):
    file = tmp_path / "ratings.csv"
    file.write_text(
        "".join(f"{r},{i},{(r * i) % 9}\n" for r in range(400) for i in range(r % 7, 60, 7))
    )
    usual = so.Dataset.read(file, names="user,item,rating", header=False)
    assert_same_data(so.ChunkedDataset.read(file, names="user,item,rating", header=False), usual)


@pytest.mark.parametrize("damage", ["flip", "cut"])
@pytest.mark.parametrize(
    "name",
    [
        "record_ptr",
        "record_item",
        "record_code",
        "record_tick",
        "lengths",
        "supports",
        "levels",
        "item_labels",
        "index_ptr",
        "index_local",
        "index_code",
        "index_tick",
        "record_labels",
    ],
)
def test_a_damaged_folder_is_refused_before_its_numbers_reach_compiled_code(
    small_parts, tmp_path, name, damage
):
    so.Dataset.read(written(tmp_path, "plain")).save(tmp_path / "saved")
    path = tmp_path / "saved" / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 0xFF
    path.write_bytes(content if damage == "flip" else content[:-5])
    with pytest.raises(InputError, match="saved is a saved dataset, but damaged: save it again"):
        so.ChunkedDataset.open(tmp_path / "saved")


@pytest.mark.parametrize(
    "name", ["record_item", "index_local", "index_ptr", "record_ptr", "index_code"]
)
def test_numbers_out_of_range_are_refused_also_without_checksums(small_parts, tmp_path, name):
    so.Dataset.read(written(tmp_path, "plain")).save(tmp_path / "saved")
    path = tmp_path / "saved" / f"{name}.npy"
    array = np.load(path)
    array.reshape(-1)[array.size // 2] = np.iinfo(array.dtype).max // 2
    np.save(path, array)
    with pytest.raises(InputError, match="damaged"):
        so.ChunkedDataset.open(tmp_path / "saved", verify=False)


def test_a_folder_that_changes_while_it_is_used_is_refused(small_parts, tmp_path):
    so.Dataset.read(written(tmp_path, "plain")).save(tmp_path / "saved")
    data = so.ChunkedDataset.open(tmp_path / "saved")
    path = tmp_path / "saved" / "record_item.npy"
    path.write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="changed while it was used"):
        data.rows([3])


def test_a_partition_is_reused_until_the_source_or_the_options_change(small_parts, tmp_path):
    source, work = written(tmp_path, "plain"), tmp_path / "work"

    def read(**options):
        data = so.ChunkedDataset.read(source, work=work, **options)
        (folder,) = work.glob("data-*")
        return data, folder.name, (folder / "meta.json").stat().st_mtime_ns

    first, name, written_at = read()
    before = first.fingerprint
    said = []
    assert read(progress=lambda what, done, total: said.append(what))[1:] == (name, written_at)
    assert said == []  # neither sorted nor checked again
    assert read(value=None)[1] != name
    pq.write_table(table("plain", seed=2), source / "part-0.parquet")
    second = read()[0]
    assert second.fingerprint == so.Dataset.read(source).fingerprint != before


def test_keys_of_another_dataset_are_not_taken_from_the_work_folder(small_parts, tmp_path):
    for name, kind in (("a", "plain"), ("b", "missing")):
        (tmp_path / name).mkdir()
        so.Dataset.read(written(tmp_path / name, kind)).save(tmp_path / name / "saved")
    for name in ("a", "b", "a"):
        data = so.ChunkedDataset.open(tmp_path / name / "saved", work=tmp_path / "work")
        assert (
            data.record_keys.tolist()
            == so.Dataset.open(tmp_path / name / "saved").record_keys.tolist()
        )
    (tmp_path / "work" / "keys.npy").write_bytes(b"damaged")
    again = so.ChunkedDataset.open(tmp_path / "a" / "saved", work=tmp_path / "work")
    assert again.record_keys.tolist() == data.record_keys.tolist()


def test_rows_that_do_not_parse_give_the_error_of_the_dataset_in_memory(tmp_path):
    file = tmp_path / "bad.csv"
    file.write_text("user,item,rating\n1,2,3\n1,3,x\n2,2,4\n")
    with pytest.raises(RowError) as usual:
        so.Dataset.read(file)
    with pytest.raises(RowError) as mine:
        so.ChunkedDataset.read(file, work=tmp_path / "work")
    assert str(mine.value) == str(usual.value)
    assert [p.name for p in (tmp_path / "work").iterdir()] == []


def test_a_temporary_partition_is_removed_with_the_dataset(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    data = so.ChunkedDataset.read(written(tmp_path, "plain"))
    assert data.rows([3]).lengths[0] > 0
    assert list((tmp_path / "tmp").iterdir())
    del data
    gc.collect()
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    "memory", ["2 potatoes", "-1GB", "", "10MB", 5, True, None, "nan", float("nan")]
)
def test_a_budget_that_makes_no_sense_is_refused(memory):
    with pytest.raises(ParameterError, match="memory="):
        bytes_of(memory)
    with pytest.raises(ParameterError, match="memory="):
        so.ChunkedEngine(memory)


def test_a_budget_that_cannot_hold_one_block_is_refused_with_what_is_needed(tmp_path):
    rng = np.random.default_rng(0)
    n = 3_000_000
    columns = (rng.integers(0, most, n) for most in (20_000, 900, 5, 700))
    so.Dataset.from_arrays(*columns).save(tmp_path / "d")
    with pytest.raises(
        ParameterError, match=r"too small for this data: 1\d\d MB are needed"
    ) as refused:
        so.ChunkedDataset.open(tmp_path / "d", memory="100MB")
    needed = str(refused.value).split(": ")[1].split(" are")[0]
    so.ChunkedDataset.open(tmp_path / "d", memory=needed)


def test_an_unknown_option_of_reading_is_refused():
    with pytest.raises(ParameterError, match="unexpected keyword argument 'recrod'"):
        so.ChunkedDataset.read("x.csv", recrod="user")


def test_the_memory_of_this_machine_is_known():
    assert 10**8 < available_memory() < 2**50


@pytest.mark.parametrize("how", ["last", "first", "max", "sum", "count"])
def test_repeats_are_merged_across_the_batches_in_which_rows_arrive(tmp_path, monkeypatch, how):
    monkeypatch.setattr(rows, "BATCH", 2048)
    rng = np.random.default_rng(8)
    n = 20_000
    # one record has more rows than three batches
    record = np.where(rng.random(n) < 0.4, 7, rng.integers(0, 900, n))
    item, value = rng.integers(0, 300, n), rng.integers(1, 50, n) / 8
    day = rng.integers(10_000, 10_020, n).astype(float)
    value[rng.random(n) < 0.05], day[rng.random(n) < 0.05] = np.nan, np.nan
    expected = so.Dataset.from_arrays(record, item, value, day, repeats=how)
    columns = {"user": record, "item": item, "rating": value, "day": day}
    table = {name: pa.array(x, from_pandas=True) for name, x in columns.items()}
    pq.write_table(pa.table(table), tmp_path / "x.parquet")
    options = {"time_unit": "day", "repeats": how}
    for kind in (so.Dataset, so.ChunkedDataset):
        read = kind.read(tmp_path / "x.parquet", **options)
        assert read.fingerprint == expected.fingerprint
        assert read.cleaning.repeated_pairs == expected.cleaning.repeated_pairs
        assert read.cleaning.values_missing == expected.cleaning.values_missing
        assert read.cleaning.times_missing == expected.cleaning.times_missing
