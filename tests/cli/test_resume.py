"""`defend`, `link` and `reproduce` continue after a kill with the same numbers, and no two runs write into one folder."""

from __future__ import annotations

import errno
import os
import signal
import time

import pytest
from kills import VERBS, finish, nothing_left, numbers, parts, start, trial, write_data

from standout.cli import workfolder
from standout.cli.workfolder import WorkFolder, journaled
from standout.experiment.journal import Journal

SLOWLY = """
import time
from standout.experiment.journal import Journal
keep = Journal.keep
def slow(*args):
    made = keep(*args)
    time.sleep(1)
    return made
Journal.keep = slow
"""


def kill_at(folder, verb, n_parts):
    """Start a command and kill it when so many parts are finished."""
    process = start(folder, verb, "out", SLOWLY)
    for _ in range(6000):
        if parts(folder) >= n_parts or process.poll() is not None:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()


@pytest.mark.parametrize(
    "verb", ["link", *(pytest.param(v, marks=pytest.mark.slow) for v in ("frontier", "reproduce"))]
)
def test_a_command_that_is_killed_twice_continues_with_the_same_numbers(
    tmp_path, monkeypatch, run, verb
):
    write_data(tmp_path)
    for n_parts in (1, 2):
        kill_at(tmp_path, verb, n_parts)
        assert parts(tmp_path) == n_parts
    said = finish(start(tmp_path, verb, "out"))
    assert (
        "finished before" in said
        if verb == "frontier"
        else "parts kept from an earlier run that was stopped" in said
    )
    assert "0 of them finished" not in said
    monkeypatch.chdir(tmp_path)
    assert run(*VERBS[verb], "--out", "whole")[0] == 0
    assert numbers(tmp_path / "out") == numbers(tmp_path / "whole")
    assert nothing_left(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS)
def test_kills_at_random_moments_lose_nothing_and_change_no_number(tmp_path, verb):
    write_data(tmp_path)
    counts = trial(tmp_path, verb, 3, seed=1)
    assert (counts["kills"], counts["lost"], counts["different"], counts["left behind"]) == (
        3,
        0,
        0,
        0,
    )


@pytest.mark.parametrize("verb", ["frontier", "link", "reproduce"])
def test_two_runs_do_not_write_into_one_folder(tmp_path, monkeypatch, run, verb):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)
    held = WorkFolder(tmp_path / "out")
    assert held.take()
    code, _, said = run(*VERBS[verb], "--out", "out")
    held.give_back(keep=False)
    assert code == 2
    assert "another run is writing to 'out'" in said
    assert not (tmp_path / "out").exists()


def test_parts_are_kept_after_an_error_and_removed_after_success(tmp_path):
    for error in (KeyboardInterrupt, MemoryError, OSError):
        with pytest.raises(error), journaled(tmp_path / "out") as journal:
            journal.keep({"a": 1}, 5)
            raise error
        assert parts(tmp_path) == 1
    with journaled(tmp_path / "out") as journal:
        assert journal.part({"a": 1}, lambda: 6) == (5, True)
    assert not list(tmp_path.iterdir())


def test_an_error_before_the_first_part_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt) as stopped, journaled(tmp_path / "out"):
        raise KeyboardInterrupt
    assert stopped.value.__notes__ == ["nothing was written"]
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path, run, monkeypatch):
    write_data(tmp_path)
    monkeypatch.chdir(tmp_path)

    def refuse(self, *args, **options):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(workfolder.Path, "mkdir", refuse)
    code, _, said = run(*VERBS["reproduce"], "--out", "new/out")
    assert code == 2
    assert "cannot be written to: Read-only file system" in said and "Traceback" not in said
    assert len(Journal(tmp_path / ".standout-work.out")) == 0
