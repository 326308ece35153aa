"""Datasets on disk: what is opened is what was saved, and nothing else is ever overwritten."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from standout import ChunkedDataset
from standout.data import labels as labels_module
from standout.data import store
from standout.data.dataset import Dataset
from standout.data.intact import meta_checksum
from standout.errors import InputError, ParameterError


def small(**options) -> Dataset:
    return Dataset.from_arrays(
        [3, 1, 3, 2], ["b", "a", "é", "b"], [1.0, 2.0, np.nan, 5.0], [0, 10, -3, np.nan], **options
    )


def assert_equal(a: Dataset, b: Dataset) -> None:
    for field in fields(Dataset):
        x, y = getattr(a, field.name), getattr(b, field.name)
        if isinstance(x, np.ndarray):
            assert x.dtype == y.dtype, field.name
            assert np.array_equal(x, y), field.name
        else:
            assert x == y, field.name
    for field in fields(type(a.index)):
        assert np.array_equal(getattr(a.index, field.name), getattr(b.index, field.name)), (
            field.name
        )
    assert a.fingerprint == b.fingerprint


label = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(2**63, 2**64 - 1))
text = st.text(min_size=1, max_size=8)


@given(
    st.lists(
        st.tuples(label, text, st.floats(-5, 5, width=16), st.integers(-9999, 9999)),
        min_size=1,
        max_size=30,
    ),
    st.booleans(),
    st.booleans(),
)
def test_what_is_opened_is_what_was_saved(tmp_path_factory, rows, has_value, has_time):
    record, item, value, time = (list(column) for column in zip(*rows, strict=True))
    ds = Dataset.from_arrays(record, item, value if has_value else None, time if has_time else None)
    folder = tmp_path_factory.mktemp("saved") / "data"
    ds.save(folder)
    assert_equal(Dataset.open(folder), ds)


def test_arrays_are_mapped_and_the_index_is_not_made_again(tmp_path):
    small().save(tmp_path / "d")
    ds = Dataset.open(tmp_path / "d")
    assert "index" in ds.__dict__
    for array in (ds.record_item, ds.record_ptr, ds.index.local, ds.index.ptr):
        assert isinstance(array.base, np.memmap)
        assert not array.flags.writeable


def test_an_opened_dataset_can_be_cut_into_shards(tmp_path):
    ds = small()
    ds.save(tmp_path / "d")
    for mapped, kept in zip(Dataset.open(tmp_path / "d").shards(2), ds.shards(2), strict=True):
        assert np.array_equal(mapped.local, kept.local)
        assert np.array_equal(mapped.ptr, kept.ptr)


def test_labels_too_wide_for_a_table_survive(tmp_path, monkeypatch):
    monkeypatch.setattr(labels_module, "WIDEST_TABLE", 100)
    ds = Dataset.from_arrays(["a", "b" * 50, "日本", "\ud800"], [1, 2, 3, 4])
    assert ds.record_labels.dtype == object
    ds.save(tmp_path / "d")
    assert_equal(Dataset.open(tmp_path / "d"), ds)


def test_cleaning_survives(tmp_path):
    ds = Dataset.from_arrays(
        [1, 1, None], ["x", "x", "x"], np.array([1.0, 2.0, 3.0]), repeats="sum"
    )
    ds.save(tmp_path / "d")
    assert Dataset.open(tmp_path / "d").cleaning == ds.cleaning


def test_nothing_is_pickled(tmp_path):
    small().save(tmp_path / "d")
    for path in (tmp_path / "d").glob("*.npy"):
        np.load(path, allow_pickle=False)


def test_read_opens_a_saved_folder(tmp_path):
    ds = small(repeats="last")
    ds.save(tmp_path / "d")
    assert_equal(Dataset.read(tmp_path / "d"), ds)
    assert_equal(Dataset.read(tmp_path / "d", repeats="last"), ds)
    with pytest.raises(ParameterError, match="saved with repeats='last'"):
        Dataset.read(tmp_path / "d", repeats="sum")
    with pytest.raises(ParameterError, match="leave out record='user'"):
        Dataset.read(tmp_path / "d", record="user")


def test_a_saved_dataset_is_replaced_even_by_itself(tmp_path):
    small().save(tmp_path / "d")
    other = Dataset.from_arrays([1], ["z"])
    other.save(tmp_path / "d")
    assert_equal(Dataset.open(tmp_path / "d"), other)
    Dataset.open(tmp_path / "d").save(tmp_path / "d")
    assert_equal(Dataset.open(tmp_path / "d"), other)
    assert [p.name for p in tmp_path.iterdir()] == ["d"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "d").mkdir()
    small().save(tmp_path / "d")
    assert Dataset.open(tmp_path / "d").n_records == 3


@pytest.mark.parametrize(
    "what", ["a file", "a folder of somebody else", "a folder with another meta.json"]
)
def test_what_is_not_ours_is_left_alone(tmp_path, what):
    target = tmp_path / "mine"
    if what == "a file":
        target.write_text("precious")
    else:
        target.mkdir()
        (target / ("meta.json" if "meta" in what else "thesis.txt")).write_text('{"precious": 1}')
    before = {p.name: p.read_text() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ParameterError, match="mine exists and is not a saved dataset"):
        small().save(target)
    assert {p.name: p.read_text() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_save_that_fails_leaves_nothing_and_keeps_what_was_there(tmp_path, monkeypatch, error):
    small().save(tmp_path / "d")

    def failing(folder, name, array):
        if name == "lengths":
            raise error

    monkeypatch.setattr(store, "dump_array", failing)
    raised = ParameterError if isinstance(error, OSError) else type(error)
    with pytest.raises(raised):
        Dataset.from_arrays([1], ["z"]).save(tmp_path / "d")
    with pytest.raises(raised):
        small().save(tmp_path / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["d"]
    assert_equal(Dataset.open(tmp_path / "d"), small())


def test_a_rename_that_fails_brings_the_old_dataset_back(tmp_path, monkeypatch):
    small().save(tmp_path / "d")
    rename = Path.rename

    def failing(self, target):
        if Path(target) == tmp_path / "d" and self.name != "data":
            raise OSError("no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ParameterError, match="cannot write d"):
        Dataset.from_arrays([1], ["z"]).save(tmp_path / "d")
    assert [p.name for p in tmp_path.iterdir()] == ["d"]
    assert_equal(Dataset.open(tmp_path / "d"), small())


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ParameterError, match="cannot write d"):
        small().save(tmp_path / "file" / "d")


def test_a_folder_that_is_no_dataset_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"is not a folder that Dataset\.save wrote"):
        Dataset.open(tmp_path)
    with pytest.raises(InputError, match=r"is not a folder that Dataset\.save wrote"):
        Dataset.open(tmp_path / "nowhere")


@pytest.mark.parametrize("schema", [3, 99])
def test_another_schema_is_refused_by_its_number(tmp_path, schema):
    small().save(tmp_path / "d")
    meta = json.loads((tmp_path / "d" / "meta.json").read_text())
    (tmp_path / "d" / "meta.json").write_text(json.dumps({**meta, "schema": schema}))
    for opened in (Dataset.open, ChunkedDataset.open):
        with pytest.raises(InputError, match=f"saved with schema {schema}"):
            opened(tmp_path / "d")


@pytest.mark.parametrize("harm", ["missing", "truncated", "exchanged", "meta"])
def test_a_damaged_folder_is_refused(tmp_path, harm):
    small().save(tmp_path / "d")
    path = tmp_path / "d" / "record_item.npy"
    if harm == "missing":
        path.unlink()
    elif harm == "truncated":
        path.write_bytes(path.read_bytes()[:-3])
    elif harm == "exchanged":
        np.save(path, np.zeros(99, np.uint16))
    else:
        meta = json.loads((tmp_path / "d" / "meta.json").read_text())
        del meta["cleaning"]
        (tmp_path / "d" / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(InputError, match="d is a saved dataset, but damaged"):
        Dataset.open(tmp_path / "d")


def test_a_saved_folder_can_be_read_by_others(tmp_path):
    small().save(tmp_path / "d")
    assert (tmp_path / "d").stat().st_mode & 0o077 == 0o055


def test_thousands_of_values_are_kept(tmp_path):
    ds = Dataset.from_arrays(np.arange(70_000), np.zeros(70_000, int), np.arange(70_000.0) ** 2)
    assert ds.n_levels == 70_000
    ds.save(tmp_path / "d")
    assert_equal(Dataset.open(tmp_path / "d"), ds)


@pytest.mark.parametrize("error", [0.0, 0.5])
def test_a_folder_of_an_older_version_is_read_unless_it_holds_rounded_values(tmp_path, error):
    small().save(tmp_path / "d")
    meta = json.loads((tmp_path / "d" / "meta.json").read_text())
    sums = meta.pop("checksums")
    meta["cleaning"] |= {"value_error": error, "value_width": 2 * error}
    meta["checksums"] = sums | {"meta.json": meta_checksum(meta)}
    (tmp_path / "d" / "meta.json").write_text(json.dumps(meta))
    for opened in (Dataset.open, ChunkedDataset.open):
        if error:
            with pytest.raises(InputError, match="read the source again"):
                opened(tmp_path / "d")
        else:
            assert opened(tmp_path / "d").fingerprint == small().fingerprint


ARRAYS = [
    "record_labels",
    "item_labels",
    "record_ptr",
    "record_item",
    "record_code",
    "record_tick",
    "levels",
    "lengths",
    "supports",
    "index_ptr",
    "index_local",
    "index_code",
    "index_tick",
]


def flipped(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[-1 - bit // 8 % 128] ^= 1 << bit % 8
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("name", ARRAYS)
def test_one_flipped_bit_in_any_array_is_not_opened_as_other_data(tmp_path, name):
    small().save(tmp_path / "d")
    flipped(tmp_path / "d" / f"{name}.npy", 0)
    with pytest.raises(InputError, match="d is a saved dataset, but damaged"):
        Dataset.open(tmp_path / "d")


@pytest.mark.parametrize("key", ["first_tick", "tick_span", "schema"])
def test_a_changed_number_in_meta_is_not_opened_as_other_data(tmp_path, key):
    small().save(tmp_path / "d")
    meta = json.loads((tmp_path / "d" / "meta.json").read_text())
    meta[key] -= 1
    (tmp_path / "d" / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(InputError, match=r"damaged|saved with schema"):
        Dataset.open(tmp_path / "d")


OUT_OF_RANGE = {
    "record_item": [60_000, 0, 0, 0],
    "record_ptr": [0, 3, 2, 4],
    "record_code": [0, 0, 200, 0],
    "record_tick": [5_000, 0, 0, 0],
    "lengths": [1, 1, 99],
    "supports": [-1, 2, 3],
    "levels": [1.0, np.nan, 5.0],
}
INDEX_OUT_OF_RANGE = {
    "index_local": [0, 60_000, 1, 2],
    "index_ptr": [[0, 9_999_999, 3, 4]],
    "index_code": [0, 0, 200, 0],
    "index_tick": [5_000, 0, 0, 0],
}


def put(folder: Path, name: str, numbers) -> None:
    path = folder / f"{name}.npy"
    kept = np.load(path)
    changed = np.array(numbers, kept.dtype)
    assert changed.shape == kept.shape
    np.save(path, changed)


@pytest.mark.parametrize("name", [*OUT_OF_RANGE, *INDEX_OUT_OF_RANGE])
def test_numbers_out_of_range_are_refused_even_without_checksums(tmp_path, name):
    small().save(tmp_path / "d")
    put(tmp_path / "d", name, {**OUT_OF_RANGE, **INDEX_OUT_OF_RANGE}[name])
    with pytest.raises(InputError, match="damaged"):
        Dataset.open(tmp_path / "d", verify=False)


def test_every_file_reaches_the_disk_before_the_folder_appears(tmp_path, monkeypatch):
    synced = []
    fsync = store.os.fsync

    def watched(handle):
        synced.append(Path(f"/proc/self/fd/{handle}").resolve().name)
        assert not (tmp_path / "d").exists() or synced[-1] == tmp_path.name
        fsync(handle)

    monkeypatch.setattr(store.os, "fsync", watched)
    small().save(tmp_path / "d")
    assert {p.name for p in (tmp_path / "d").iterdir()} <= set(synced)
