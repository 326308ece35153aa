"""A few damaged files of every format, and the fuzzer itself: it has to see what it looks for."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from fuzz import worker
from fuzz.corpus import formats, store, stored
from fuzz.damage import damaged
from fuzz.one_database import one_database
from fuzz.run import ENDINGS, WEIGHTS, chunks, fuzz, main

from standout.data.dataset import Dataset
from standout.errors import InputError


@pytest.mark.slow
def test_every_format_of_the_corpus_is_fuzzed_and_valid(tmp_path):
    store(tmp_path)
    made = stored(tmp_path)
    assert {*made, "saved"} == set(ENDINGS)
    for ending, content in made.items():
        path = tmp_path / (ending if "combined" in ending else f"x.{ending}")
        path.write_bytes(content)
        for seed in (0, 1):
            assert worker.read(path, ending, seed) == "read", ending
    Dataset.open(tmp_path / "saved")


def test_damage_is_a_function_of_the_seed_and_changes_something(tmp_path):
    made, other = formats(tmp_path), formats(tmp_path)
    assert {ending for ending in made if made[ending] != other[ending]} <= {
        "duckdb"
    }  # it holds a random number
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


def test_a_file_that_invalidates_the_shared_database_does_not_spoil_the_next_reads(tmp_path):
    content = formats(tmp_path)["numbers.parquet"]
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    good.write_bytes(content)
    bad.write_bytes(
        damaged(content, "numbers.parquet", 1844, b"other")
    )  # an internal error of DuckDB 2.0.0
    with one_database():
        assert [worker.read(path, "numbers.parquet") for path in (good, bad, good, good)] == [
            "read",
            "refused",
            "read",
            "read",
        ]


def test_a_fuzz_run_that_is_stopped_half_way_has_read_half_of_every_format():
    pieces = chunks(ENDINGS, 1_000_000, 7)
    read = dict.fromkeys(ENDINGS, 0)
    half = sum(last - first for _, first, last in pieces) / 2
    for ending, first, last in pieces:
        assert first == 7 + read[ending]  # no seed is left out
        read[ending] += last - first
        if half > 0 >= (half := half - (last - first)):
            stopped = dict(read)
    for ending, n in read.items():
        assert n == -(-1_000_000 * WEIGHTS[ending] // sum(WEIGHTS.values()))
        assert abs(stopped[ending] - n / 2) <= 2500


def test_a_fuzz_run_that_was_stopped_continues_and_counts_every_input_once(
    tmp_path, monkeypatch, capsys
):
    made = formats(tmp_path)

    def small(folder):
        (folder / "formats").mkdir()
        for ending in ("items.csv", "policy.toml"):
            (folder / "formats" / ending).write_bytes(made[ending])

    def run(*words):
        monkeypatch.setattr("sys.argv", ["fuzz.run", *map(str, words)])
        return main(), capsys.readouterr().out

    monkeypatch.setattr("fuzz.run.store", small)
    monkeypatch.setattr("fuzz.run.FAST", 25)
    log = tmp_path / "log.jsonl"
    words = ("--n", 60, "--seed", 7, "--only", "items.csv,policy.toml", "--log", log)
    assert "4 pieces are left" in run(*words, "--seconds", 0)[1] and not log.exists()
    assert run("--n", 50, *words[2:])[0] == 0
    log.write_text(log.read_text() + '{"format": "items.csv", "fir')  # cut off by a kill
    assert run(*words)[0] == 0
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]
    assert len(lines) == 4
    seeds = [
        (line["format"], seed) for line in lines for seed in range(line["first"], line["last"])
    ]
    assert sorted(seeds) == sorted(
        (ending, 7 + k) for ending in ("items.csv", "policy.toml") for k in range(30)
    )
    assert sum(line.get("read", 0) + line.get("refused", 0) for line in lines) == 60
    assert "| all | 60 |" in run("--log", log, "--summary")[1]


HARM = """
import os, signal, sys, time
from fuzz import worker
def sooner(it, other, limit):
    # the limit that is tested is set, and now short; on a busy machine the other one would come first
    assert 0 < signal.getitimer(it)[0] <= limit + 1 and signal.getitimer(other)[0] > 0
    signal.setitimer(it, 0.1)
    signal.setitimer(other, 0)
def harm(path, ending, seed=0):
    if seed == 3: os.abort()
    if seed == 5: raise KeyError("x")
    if seed == 7: sooner(signal.ITIMER_REAL, signal.ITIMER_PROF, 600); time.sleep(60)
    if seed == 8: sooner(signal.ITIMER_PROF, signal.ITIMER_REAL, 60)
    while seed == 8: pass
    if seed == 9: open(path.parent / "left", "w").close()
    if seed == 11: worker.held = bytearray(os.urandom(1 << 20)) * 300
    return "read"
worker.read, worker.SECONDS, worker.PROCESSOR_SECONDS, worker.GROWTH = harm, 600, 60, 1 << 17
worker.main()
"""


def test_the_fuzzer_sees_crashes_hangs_memory_and_files_left_behind(tmp_path, monkeypatch):
    script = tmp_path / "worker.py"
    script.write_text(HARM)
    corpus = tmp_path / "corpus"
    (corpus / "formats").mkdir(parents=True)
    (corpus / "formats" / "csv").write_text("user,item\n1,2\n")
    monkeypatch.setattr("fuzz.run.HERE", tmp_path)
    monkeypatch.setattr(
        "fuzz.run._environment", lambda: {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    line, failures = fuzz("csv", 0, 14, corpus)
    assert [(f["seed"], f["what"].partition(" ")[0]) for f in failures] == [
        (3, "crash"),
        (5, "bug"),
        (7, "hang"),
        (8, "hang"),
        (11, "memory"),
        (13, "bug"),
    ]
    assert "in harm" in failures[2]["error"]  # where it was
    assert (
        failures[2]["what"] == f"hang ({-signal.SIGALRM})"
        and failures[3]["what"] == f"hang ({-signal.SIGPROF})"
    )
    assert line["read"] == 9 and line["peak_mb"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_read_or_refused(ending, corpus):
    counts, failures = fuzz(ending, 0, 40, corpus)
    assert not failures
    # damage to a saved dataset is always noticed: none is read
    assert counts.get("read", 0) + counts["refused"] == 40


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    store(folder)
    return folder
