"""Damaged and changing files: an error, never a crash of the process and never a dataset with other rows."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standout.data.build import EntryBuilder
from standout.data.dataset import Dataset
from standout.data.reading import read as read_module
from standout.defenses.manifest import read_manifest
from standout.errors import InputError
from standout.experiment.journal import Journal

READ = """
import sys
import threading
from standout.data.dataset import Dataset
from standout.errors import InputError
try:
    print(Dataset.read(sys.argv[1], repeats=sys.argv[2]).n_entries)
except InputError as error:
    print("refused:", error)
"""


def read_apart(path: Path, repeats: str = "keep") -> str:
    """What another process prints: compiled code that writes out of range may end it."""
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path), repeats],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def with_other_statistics(path: Path, old: int, new: int) -> None:
    """Write another number into the footer, where it says how large the numbers of a column are."""
    data = path.read_bytes()
    footer = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    changed = data[footer:].replace(struct.pack("<q", old), struct.pack("<q", new))
    assert changed != data[footer:]
    path.write_bytes(data[:footer] + changed)


@pytest.mark.parametrize("repeats", ["keep", "last"])
@pytest.mark.parametrize(("old", "new"), [(54_321, 77), (11, 4_000)])
def test_parquet_statistics_that_are_wrong_do_not_let_compiled_code_write_out_of_range(
    tmp_path, repeats, old, new
):
    path = tmp_path / "s.parquet"
    user = np.linspace(11, 54_321, 5000).astype(np.int64)
    table = pa.table({"user": user, "item": np.arange(5000) % 7, "rating": np.arange(5000) % 5})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    assert Dataset.read(path, repeats=repeats).n_entries == 5000
    with_other_statistics(path, old, new)
    assert "refused: two passes over the data found different rows" in read_apart(path, repeats)


def test_a_flipped_bit_in_an_arrow_offset_does_not_end_the_process(tmp_path):
    users = [f"user{k:04}" for k in range(1000)]
    table = pa.table({"user": users, "item": [f"i{k % 9}" for k in range(1000)]})
    path = tmp_path / "o.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    data = bytearray(path.read_bytes())
    at = data.index(struct.pack("<4i", 8 * 500, 8 * 501, 8 * 502, 8 * 503))
    data[at + 3] ^= 0x40
    path.write_bytes(bytes(data))
    assert "refused: o.arrow is not an Arrow IPC file that can be read" in read_apart(path)


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_an_arrow_column_whose_name_is_not_text_is_refused(tmp_path, kind):
    table = pa.table({"user": ["a", "b"], "item": ["i", "j"]})
    path = tmp_path / "o.arrow"
    with getattr(pa.ipc, f"new_{kind}")(path, table.schema) as writer:
        writer.write_table(table)
    data = path.read_bytes().replace(b"item", b"\x84tem")
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"o\.arrow is not an Arrow IPC file that can be read"):
        Dataset.read(path)


def test_a_parquet_column_whose_name_is_not_text_is_refused(tmp_path):
    path = tmp_path / "o.parquet"
    pq.write_table(pa.table({"user": ["a", "b"], "item": ["i", "j"]}), path, store_schema=False)
    path.write_bytes(path.read_bytes().replace(b"item", b"\x84tem"))
    with pytest.raises(InputError, match=r"^o\.parquet (cannot be read|is not a Parquet file)"):
        Dataset.read(path)


OUT_OF_RANGE = {
    "record": ([0, 2], [0, 0], [0, 0], [0, 0]),
    "negative record": ([0, -1], [0, 0], [0, 0], [0, 0]),
    "item": ([0, 1], [0, 5], [0, 0], [0, 0]),
    "one record twice": ([0, 0], [0, 0], [0, 0], [0, 0]),
    "code": ([0, 1], [0, 0], [0, 4], [0, 0]),
    "day": ([0, 1], [0, 0], [0, 0], [0, 31]),
    "too few items": ([0, 1], [0], [0, 0], [0, 0]),
    "too few days": ([0, 1], [0, 0], [0, 0], [0]),
}


@pytest.mark.parametrize("harm", OUT_OF_RANGE)
def test_no_entry_is_placed_out_of_range(harm):
    record, item, code, day = (np.array(x) for x in OUT_OF_RANGE[harm])
    builder = EntryBuilder(
        np.array([1, 1]), 5, has_value=True, has_time=True, n_levels=3, tick_span=30
    )
    with pytest.raises(InputError, match="found different rows"):
        builder.add(record, item, code.astype(np.uint8), day.astype(np.uint16))


def test_entries_that_do_not_come_are_an_error():
    builder = EntryBuilder(np.array([1, 1]), 5, has_value=False, has_time=False)
    builder.add(np.array([0]), np.array([4]))
    with pytest.raises(InputError, match="found different rows"):
        builder.finish()


@pytest.mark.parametrize("how", ["replaced", "longer"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path, monkeypatch, kind, how):
    path, other = tmp_path / f"c.{kind}", tmp_path / f"other.{kind}"
    for file, n in ((path, 900), (other, 300)):
        if kind == "csv":
            file.write_text("user,item\n" + "".join(f"{k},{k % 7}\n" for k in range(n)))
        else:
            pq.write_table(pa.table({"user": np.arange(n), "item": np.arange(n) % 7}), file)
    survey = read_module.survey

    def meanwhile(*args):
        found = survey(*args)
        if how == "replaced":
            other.replace(path)
        else:
            with path.open("ab") as file:
                file.write(b"1,2\n")
        return found

    monkeypatch.setattr(read_module, "survey", meanwhile)
    with pytest.raises(
        InputError, match=r"changed while it was read|cannot be read|different rows"
    ):
        Dataset.read(path)


@pytest.mark.parametrize("path", ["/dev/null", "/dev/zero"])
def test_a_device_is_refused_and_not_read_without_end(path):
    with pytest.raises(InputError, match=f"{Path(path).name} is a device or socket"):
        Dataset.read(path)
    with pytest.raises(InputError, match="is a device or socket"):
        Dataset.read([path])


def test_a_broken_link_is_refused(tmp_path):
    (tmp_path / "link.csv").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path / "link.csv", tmp_path / "*.csv"):
        with pytest.raises(InputError, match="no such file or folder"):
            Dataset.read(path)


@pytest.mark.parametrize("name", ["a\0b.csv", "x" * 5000, "**x"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    with pytest.raises(InputError):
        Dataset.read(f"{tmp_path}/{name}")


@pytest.mark.parametrize("content", ["user,item\n1,2\n3,4\n", ""])
def test_a_pipe_is_read_to_its_end(tmp_path, content):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text(content))
    writer.start()
    try:
        if content:
            assert Dataset.read(path).n_entries == 2
        else:
            with pytest.raises(InputError, match="the pipe is empty"):
                Dataset.read(path)
    finally:
        if writer.is_alive():  # nobody read: let the writer end
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        writer.join(5)


def test_json_that_is_nested_too_deep_is_refused_by_every_reader(tmp_path):
    deep = "[" * 100_000
    release, folder = tmp_path / "release.csv", tmp_path / "saved"
    release.with_name("release.csv.manifest.json").write_text(deep)
    with pytest.raises(InputError, match="is not a manifest of standout"):
        read_manifest(release)
    folder.mkdir()
    (folder / "meta.json").write_text(deep)
    with pytest.raises(InputError, match="is not a folder that"):
        Dataset.open(folder)
    journal = Journal(tmp_path)
    journal.keep({"a": 1}, 5)
    next(tmp_path.glob("part-*")).write_text(deep)
    with pytest.warns(UserWarning, match="damaged"):
        assert journal.find({"a": 1}) is None


@pytest.mark.parametrize("name", ["meta.json", "record_item.npy", "levels.npy"])
def test_a_pipe_in_a_saved_folder_is_refused_at_once(tmp_path, name):
    Dataset.from_arrays(np.repeat(np.arange(9), 3), np.arange(27) % 5).save(tmp_path / "saved")
    (tmp_path / "saved" / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / "saved" / name)
    for opened in (Dataset.open, Dataset.read):
        with pytest.raises(InputError):
            opened(tmp_path / "saved")
