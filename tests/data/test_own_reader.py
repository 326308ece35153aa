"""A format that an author registers is read as the formats of the package are: in memory, in parts, with the same options."""

from __future__ import annotations

import gzip
import runpy
from pathlib import Path

import pytest

import standout as so
from standout.data.reading.formats import READERS
from standout.errors import InputError, ParameterError
from standout.extend import register_reader

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_reader.py"
LINES = "VISITS 1\nann | museum | 4\nann | park | 2\nbob | park | 5\n"
EXPECTED = so.Dataset.from_arrays(["ann", "ann", "bob"], ["museum", "park", "park"], [4, 2, 5])


@pytest.fixture
def example():
    made = runpy.run_path(str(EXAMPLE))
    yield made
    READERS.clear()


def test_files_of_a_registered_format_are_read(example, tmp_path):
    path = tmp_path / "a.visits"
    path.write_text(LINES)
    (tmp_path / "b.gz").write_bytes(gzip.compress(LINES.encode()))
    readings = [
        so.Dataset.read(path),
        so.Dataset.read(tmp_path / "b.gz"),
        so.ChunkedDataset.read(path, memory="200MB"),
        so.Dataset.read(path, record="user", item="item", value="rating", repeats="max"),
    ]
    assert {ds.fingerprint for ds in readings} == {EXPECTED.fingerprint}
    with pytest.raises(ParameterError, match=r"for delimited text, and a\.visits is visits"):
        so.Dataset.read(path, delimiter=";")


def test_other_files_are_read_as_before(example, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("user,item,rating\nann,museum,4\nann,park,2\nbob,park,5\n")
    assert so.Dataset.read(path).fingerprint == EXPECTED.fingerprint


def test_an_error_of_a_registered_reader_names_the_file_and_no_cell(example, tmp_path):
    path = tmp_path / "a.visits"
    path.write_text("VISITS 1\nann | museum | secret\n")
    with pytest.raises(
        InputError, match=r"^a\.visits: the reader of 'visits' files fails"
    ) as error:
        so.Dataset.read(path)
    assert "secret" not in str(error.value)
    register_reader("visits", lambda head: head.startswith(b"VISITS"))(lambda path: 5)
    with pytest.raises(ParameterError, match="takes a pandas, polars or pyarrow frame"):
        so.Dataset.read(path)


def test_the_example_reads_its_file(example, capsys):
    example["main"]()
    assert "2 records × 2 items, 3 entries, values" in capsys.readouterr().out
