"""An audit that is killed continues where it was, with the same numbers; two audits do not write into one folder."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from standout.adversary.adversary import Adversary
from standout.audit.audit import Audit
from standout.cli.workfolder import WorkFolder
from standout.data.dataset import Dataset
from standout.experiment.journal import Journal, resumable

OPTIONS = (
    "--targets",
    "15",
    "--knows",
    "2,3,4",
    "--value-within",
    "0,none",
    "--time-within",
    "none",
    "--attacks",
    "scoreboard-rh",
)
SLOWLY = """
import time
from standout.audit.audit import Audit
attack = Audit._attack
def slow(*args):
    made = attack(*args)
    time.sleep(0.7)
    return made
Audit._attack = slow
"""
MAIN = "from standout.cli.start import main; main()"


def start(folder: Path, code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, "audit", *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(process: subprocess.Popen[str]) -> str:
    """What the process said, when it is gone."""
    try:
        return process.communicate(timeout=600)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1]


def until_parts(folder: Path, n: int) -> None:
    for _ in range(2400):  # kernels may have to be compiled first
        if sum(1 for _ in folder.glob(".standout-work.*/part-*")) >= n:
            return
        time.sleep(0.1)
    raise AssertionError("no part was finished in time")


def numbers(out: Path) -> str:
    found = json.loads((out / "findings.json").read_text())
    for name in ("created", "wall_seconds", "command"):
        del found["provenance"][name]
    del found["sha256"]
    return json.dumps(found, sort_keys=True)


def dataset():
    rng = np.random.default_rng(0)
    record = np.repeat(np.arange(60), 10)
    item = np.concatenate([rng.choice(40, 10, replace=False) for _ in range(60)])
    return Dataset.from_arrays(record, item, value=rng.integers(1, 6, 600))


@pytest.mark.parametrize(
    "signum", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_a_killed_audit_continues_with_the_same_findings_and_does_nothing_twice(
    ratings, tmp_path, run, signum
):
    out = tmp_path / "out"
    process = start(tmp_path, SLOWLY + MAIN, str(ratings), "--out", str(out), *OPTIONS)
    try:
        until_parts(tmp_path, 2)
        process.send_signal(signum)
    finally:
        said = ended(process)
    assert not out.exists()
    if signum == signal.SIGINT:
        assert "finished parts are kept: the same command continues from there" in said
    kept = {p.name: p.stat().st_mtime_ns for p in tmp_path.glob(".standout-work.*/part-*")}
    assert 2 <= len(kept) < 6
    code, _, said = run("audit", ratings, "--out", out, *OPTIONS)
    assert code == 0, said
    assert f"{len(kept)} parts kept from an earlier run" in said
    code, _, said = run("audit", ratings, "--out", tmp_path / "whole", *OPTIONS)
    assert code == 0 and "kept" not in said
    assert numbers(out) == numbers(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "ratings.csv", "whole"]


def test_a_part_that_one_run_needs_twice_is_not_called_a_part_of_an_earlier_run(tmp_path):
    journal = Journal(tmp_path)
    assert [journal.part({"n": n}, lambda: 7)[1] for n in (1, 1, 2)] == [False, True, False]
    assert journal.n_reused == 0
    later = Journal(tmp_path)
    assert [later.part({"n": n}, lambda: 7)[1] for n in (1, 1, 3, 3)] == [True, True, False, True]
    assert later.n_reused == 1


@pytest.mark.slow
def test_ten_kills_at_random_moments_change_no_number_and_leave_no_lock(ratings, tmp_path, run):
    out, rng = tmp_path / "out", np.random.default_rng(7)
    code, _, _ = run("audit", ratings, "--out", tmp_path / "whole", *OPTIONS)
    n_killed = 0
    for wait in rng.uniform(0.5, 8.0, 10):
        process = start(tmp_path, SLOWLY + MAIN, str(ratings), "--out", str(out), *OPTIONS)
        time.sleep(wait)
        n_killed += process.poll() is None
        process.kill()
        ended(process)
        if out.exists():  # it was done, and the next one would refuse to replace it
            assert numbers(out) == numbers(tmp_path / "whole")
            for path in out.iterdir():
                path.unlink()
            out.rmdir()
    assert n_killed >= 3
    code, _, said = run("audit", ratings, "--out", out, *OPTIONS)
    assert code == 0, said
    assert numbers(out) == numbers(tmp_path / "whole")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "ratings.csv", "whole"]


def test_parts_of_other_data_knowledge_seeds_or_attacks_are_not_taken(tmp_path):
    ds = dataset()
    who = Adversary(knows=3, value_within=0, time_within=None)
    whole = Audit(ds, who, "scoreboard-rh", "all", journal=Journal(tmp_path), describe=False)
    whole.run(False)
    again = Journal(tmp_path)
    Audit(ds, who, "scoreboard-rh", "all", journal=again, describe=False).run(False)
    assert again.n_reused == 1
    for data, adversary, attacks, targets, seed in (
        (ds.take(np.arange(59)), who, "scoreboard-rh", "all", 0),
        (ds, Adversary(knows=3, value_within=1, time_within=None), "scoreboard-rh", "all", 0),
        (ds, who, "scoreboard", "all", 0),
        (ds, who, "scoreboard-rh", 11, 0),
        (ds, who, "scoreboard-rh", "all", 1),
    ):
        other = Journal(tmp_path)
        Audit(data, adversary, attacks, targets, seed, journal=other, describe=False).run(False)
        assert other.n_reused == 0


def test_a_journal_changes_no_number(tmp_path):
    who = [Adversary(knows=k, value_within=0, time_within=None) for k in (2, 4)]
    plain = Audit(dataset(), who, ["scoreboard-rh", "likelihood"], 10, describe=False).run(False)
    kept = Audit(
        dataset(),
        who,
        ["scoreboard-rh", "likelihood"],
        10,
        describe=False,
        journal=Journal(tmp_path),
    ).run(False)
    for results in (plain, kept):
        assert json.loads(results.to_json())["results"] == json.loads(plain.to_json())["results"]


@pytest.mark.parametrize("harm", ["cut", "changed", "empty", "of another part"])
def test_a_damaged_part_is_computed_again(tmp_path, harm):
    journal = Journal(tmp_path)
    assert journal.part({"a": 1}, lambda: {"hit": 0.25}) == ({"hit": 0.25}, False)
    assert journal.part({"a": 1}, lambda: {"hit": 0.5}) == ({"hit": 0.25}, True)
    (path,) = tmp_path.iterdir()
    journal.keep({"a": 2}, {"hit": 0.05})
    (other,) = set(tmp_path.iterdir()) - {path}
    text = path.read_text()
    path.write_text(
        {
            "cut": text[:-5],
            "changed": text.replace("0.25", "0.05"),
            "empty": "",
            "of another part": other.read_text(),
        }[harm]
    )
    with pytest.warns(UserWarning, match="damaged, or this user did not write it"):
        assert journal.part({"a": 1}, lambda: {"hit": 0.5}) == ({"hit": 0.5}, False)
    assert journal.part({"a": 1}, lambda: {"hit": 0.75}) == ({"hit": 0.5}, True)


def test_a_full_disk_costs_the_journal_and_not_the_audit(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    journal = Journal(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert journal.part({"a": 1}, lambda: {"hit": 0.25}) == ({"hit": 0.25}, False)
    assert not list(tmp_path.iterdir())
    assert journal.part({"a": 1}, lambda: {"hit": 0.5}) == ({"hit": 0.5}, False)


PLAIN = {
    "arrays": (
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array([np.nan, np.inf, -0.0]),
        np.array([True, False]),
    ),
    "empty": np.empty((0, 2)),
    "rows": [{"n": 3, "rate": None, "bits": float("nan")}, {"words": "tuple", "in": (1, "a")}],
}


def test_what_is_kept_comes_back_as_it_was_bit_by_bit(tmp_path):
    first, second = (Journal(tmp_path).part({"a": 1}, lambda: PLAIN) for _ in range(2))
    assert (first[1], second[1]) == (False, True)
    for made in (first[0], second[0]):
        np.testing.assert_equal(made, PLAIN)
        for x, y in zip(made["arrays"], PLAIN["arrays"], strict=True):
            assert x.dtype == y.dtype and x.tobytes() == y.tobytes() and x.flags.writeable


@pytest.mark.parametrize(
    "labels", [np.array(["ann", "bob"]), np.array(["ann", None], object), {1: 2}]
)
def test_labels_and_what_json_would_change_is_not_kept(tmp_path, labels):
    with pytest.raises(TypeError):
        Journal(tmp_path).part({"a": 1}, lambda: labels)
    assert not list(tmp_path.iterdir())


def test_work_is_kept_only_where_a_journal_is_in_use(tmp_path):
    done = []

    def work():
        done.append(1)
        return len(done)

    assert [resumable("x", lambda: 1, work) for _ in range(2)] == [1, 2]
    with Journal(tmp_path).active():
        assert [
            resumable("x", lambda: 1, work),
            resumable("x", lambda: 1, work),
            resumable("y", lambda: 1, work),
        ] == [
            3,
            3,
            4,
        ]
    assert resumable("x", lambda: 1, work) == 5


def test_two_audits_do_not_write_into_one_folder(ratings, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    held = WorkFolder(Path("out"))
    assert held.take()
    code, _, said = run("audit", ratings, "--out", "out", *OPTIONS)
    assert code == 2
    assert "another run is writing to 'out'" in said
    default = WorkFolder(Path("standout-out"))
    assert default.take()
    code, shown, said = run(
        "audit", ratings, "--targets", "5", "--knows", "2", "--attacks", "scoreboard-rh"
    )
    assert code == 0, said
    assert "standout-out-2/report.html" in shown
    held.give_back(keep=False)
    default.give_back(keep=False)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["ratings.csv", "standout-out-2"]


def test_the_lock_of_a_killed_process_is_free_at_once(tmp_path):
    code = (
        "import time\nfrom pathlib import Path\nfrom standout.cli.workfolder import WorkFolder\n"
        f"folder = WorkFolder(Path({str(tmp_path / 'out')!r}))\nassert folder.take()\nprint('held', flush=True)\ntime.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"held\n"
    mine = WorkFolder(tmp_path / "out")
    assert not mine.take()
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)
    process.stdout.close()
    assert mine.take()
    mine.give_back(keep=False)
    assert list(tmp_path.iterdir()) == []
