"""A few damaged files of every format, and the fuzzer itself: it has to see what it looks for."""

from __future__ import annotations

import pytest
from fuzz import worker
from fuzz.corpus import formats, saved
from fuzz.damage import damaged
from fuzz.run import ENDINGS, fuzz

from standout.data.dataset import Dataset
from standout.errors import InputError


@pytest.mark.slow
def test_every_format_of_the_corpus_is_fuzzed_and_valid(tmp_path):
    made = formats(tmp_path)
    assert {*made, "saved"} == set(ENDINGS)
    for ending, content in made.items():
        path = tmp_path / (ending if "combined" in ending else f"x.{ending}")
        path.write_bytes(content)
        assert worker.read(path, ending) == "read", ending
    Dataset.open(saved(tmp_path))


def test_damage_is_a_function_of_the_seed_and_changes_something(tmp_path):
    made, other = formats(tmp_path), formats(tmp_path)
    assert {ending for ending in made if made[ending] != other[ending]} <= {"duckdb"}  # it holds a random number
    for ending, content in made.items():
        again = [damaged(content, ending, seed, b"other") for seed in range(40)]
        assert again == [damaged(content, ending, seed, b"other") for seed in range(40)]
        assert len(set(again)) > 20


def test_the_fuzzer_sees_lost_rows_labels_in_messages_and_long_messages(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_bytes(formats(tmp_path)["csv"])
    read = Dataset.read

    def losing(path, **options):
        ds = read(path, **options)
        object.__setattr__(ds.cleaning, "rows_read", ds.cleaning.rows_read + 1)
        return ds

    def failing(text):
        def read(path, **options):
            raise InputError(text)

        return read

    for harm in (losing, failing("no Qzx007 here"), failing("two\nlines")):
        monkeypatch.setattr(Dataset, "read", harm)
        with pytest.raises(AssertionError):
            worker.read(path, "csv")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_read_or_refused(ending):
    counts, failures = fuzz(ending, 0, 40)
    assert not failures
    assert counts["read"] + counts["refused"] == 40
