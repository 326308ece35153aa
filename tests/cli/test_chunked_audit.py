"""`standout audit --engine chunked`: same findings as in memory, also when it is killed and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from same_findings import differences

import standout as so
from standout.cli import reading
from standout.data.chunked import memory
from standout.data.synthetic import twin_dataset

TESTS = Path(__file__).parents[1]
SMALL = """
import sys
sys.path.insert(0, {tests!r})
from _pytest.monkeypatch import MonkeyPatch
from parts import cut_small
cut_small(MonkeyPatch())
sys.argv = ["standout", *{words!r}]
from standout.cli.start import main
main()
"""
KINDS = [
    "--knows",
    "2,3",
    "--wrong",
    "0,1",
    "--value-within",
    "1",
    "--time-within",
    "14",
    "--targets",
    "20",
    "--seed",
    "4",
]


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "ratings"
    folder.mkdir()
    table = twin_dataset(900, 120, seed=5, mean_length=12).to_arrow()
    for k in range(2):
        pq.write_table(table.slice(k * 5000, 5000 if k == 0 else None), folder / f"{k}.parquet")
    return folder


def start(source: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start the command in a process in which small data has many shards."""
    words = ["audit", str(source), "--out", str(out), *KINDS, *more]
    code = SMALL.format(tests=str(TESTS), words=words)
    with (out.parent / f"{out.name}.log").open("ab") as log:
        # a relative path to the package would not be found from there
        here = {**os.environ, "PYTHONPATH": str(Path(so.__file__).parents[1])}
        return subprocess.Popen(
            [sys.executable, "-c", code], stderr=log, stdout=log, cwd=out.parent, env=here
        )


def said(out: Path) -> str:
    return (out.parent / f"{out.name}.log").read_text()


def findings(out: Path) -> dict:
    return {
        k: v
        for k, v in json.loads((out / "findings.json").read_text()).items()
        if k not in ("provenance", "sha256")
    }


def finished(work: Path) -> dict[str, object]:
    """What is done: parts of the audit and partitions by their version, partial results by their shards."""
    kept: dict[str, object] = {}
    for path in [*work.glob("part-*"), *work.glob("chunked/data-*/meta.json")]:
        kept[str(path.relative_to(work))] = (path.stat().st_ino, path.stat().st_mtime_ns)
    return kept


def n_partials_in(work: Path) -> int:
    try:
        return sum(
            path.name.startswith("partial-") for path in (work / "chunked" / "partials").iterdir()
        )
    except FileNotFoundError:
        return 0


@pytest.fixture(scope="module")
def usual(source, tmp_path_factory) -> tuple[dict, int]:
    """Findings of a run that nobody stops, and the number of partial results it writes."""
    out = tmp_path_factory.mktemp("usual") / "out"
    run = start(source, out, "--engine", "chunked")
    work, most = out.parent / ".standout-work.out", 0
    while run.poll() is None:
        most = max(most, n_partials_in(work))
        time.sleep(0.02)
    assert run.returncode == 0, said(out)
    assert not work.exists()  # no copy of the records stays behind
    return findings(out), most


def run_with_kills(source: Path, out: Path, kills: int, n_partials: int, seed: int) -> int:
    """Kill the command at random moments, counted in files it wrote, and start it again; the number of kills."""
    work, chance, before = out.parent / ".standout-work.out", random.Random(seed), {}
    for done in range(kills):
        run = start(source, out, "--engine", "chunked", "--memory", "200MB")
        wait = chance.randint(0, 2 * n_partials // kills)
        had = n_partials_in(work)
        while run.poll() is None and n_partials_in(work) < had + wait:
            time.sleep(0.005)
        if wait == 0:
            time.sleep(chance.random() * 3)
        if run.poll() is not None:
            assert run.returncode == 0, said(out)
            return done
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        after = finished(work)
        assert before.items() <= after.items(), "something was done twice"
        before = after
    run = start(source, out, "--engine", "chunked", "--memory", "200MB")
    assert run.wait() == 0, said(out)
    return kills


def test_an_audit_that_is_killed_and_started_again_finds_the_same_and_does_nothing_twice(
    source, usual, tmp_path
):
    expected, n_partials = usual
    assert n_partials > 20
    assert run_with_kills(source, tmp_path / "out", 2, n_partials, seed=1) >= 1
    assert findings(tmp_path / "out") == expected
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.log"]


@pytest.mark.parametrize(
    "signum", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_stopped_audit_leaves_no_record_and_no_label_and_continues(
    source, usual, tmp_path, signum
):
    work = tmp_path / ".standout-work.out"
    run = start(source, tmp_path / "out", "--engine", "chunked")
    while run.poll() is None and n_partials_in(work) < 3:
        time.sleep(0.005)
    run.send_signal(signum)
    assert run.wait() == 128 + signum, said(tmp_path / "out")
    left = {path.relative_to(work).parts[:2] for path in work.rglob("*") if path.is_file()}
    assert ("chunked", "partials") in left
    assert not [parts for parts in left if parts[0] == "chunked" and parts[1] != "partials"]
    assert start(source, tmp_path / "out", "--engine", "chunked").wait() == 0, said(
        tmp_path / "out"
    )
    assert findings(tmp_path / "out") == usual[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "out.log"]


@pytest.mark.slow
def test_an_audit_that_is_killed_ten_times_finds_the_same_and_does_nothing_twice(
    source, usual, tmp_path
):
    expected, n_partials = usual
    assert run_with_kills(source, tmp_path / "out", 10, n_partials, seed=2) >= 8
    assert findings(tmp_path / "out") == expected


def test_the_command_finds_the_same_in_parts_as_in_memory(source, usual, tmp_path, run):
    assert run("audit", source, "--out", tmp_path / "out", *KINDS)[0] == 0
    mine, expected = findings(tmp_path / "out"), usual[0]
    assert differences(mine, expected) == []


def test_data_that_does_not_fit_is_read_in_parts_and_one_sentence_says_so(
    source, tmp_path, monkeypatch, run
):
    monkeypatch.setattr(memory, "available_memory", lambda: 200_000_000.0)
    monkeypatch.setattr(reading, "SHARE", 0.001)
    code, _, err = run("audit", source, "--out", tmp_path / "out", *KINDS)
    assert code == 0
    assert (
        "records stay on disk and are read in parts (--engine chunked --memory 100MB)"
        in " ".join(err.split())
    )
    assert so.Findings.load(tmp_path / "out" / "findings.json").provenance["engine"] == "chunked"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--engine", "chunked", "--memory", "2 potatoes"], "memory='2 potatoes'"),
        (["--engine", "chunked", "--memory", "1MB"], "at least 100 MB"),
        (["--engine", "gpu", "--memory", "2GB"], "--memory is for --engine chunked"),
        (["--memory", "2GB", "--release", "other.csv"], "--release needs the records in memory"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*engine 'memory' runs instead")
def test_a_bad_budget_is_refused_and_nothing_is_written(source, tmp_path, run, words, said):
    code, _, err = run("audit", source, "--out", tmp_path / "out", *words)
    assert code == 2
    assert said in " ".join(err.split())
    assert list(tmp_path.iterdir()) == []
