"""A work folder that somebody planted beside the output is not used, not followed and not removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from standout.cli.workfolder import LOCK, WorkFolder, journaled

NAME = ".standout-work.out"
SMALL = ("--targets", "10", "--knows", "2", "--attacks", "scoreboard-rh")


def planted(folder: Path, what: str) -> Path:
    """Put something in the place of the work folder."""
    path = folder / NAME
    if what == "link":
        (folder / "target").mkdir(mode=0o700)
        path.symlink_to(folder / "target")
    elif what == "dangling link":
        path.symlink_to(folder / "nowhere")
    elif what == "file":
        path.write_text("")
    elif what == "readable by others":
        path.mkdir(mode=0o755)
        path.chmod(0o755)
    else:
        path.mkdir(mode=0o700)
        lock = path / LOCK
        if what == "lock is a pipe":
            os.mkfifo(lock)
        elif what == "lock is a link":
            lock.symlink_to(folder / "nowhere")
        else:
            lock.mkdir()
    return path


KINDS = [
    "link",
    "dangling link",
    "file",
    "readable by others",
    "lock is a pipe",
    "lock is a link",
    "lock is a folder",
]


@pytest.mark.parametrize("what", KINDS)
def test_a_planted_folder_is_left_alone_and_the_run_gets_one_of_its_own(tmp_path, what):
    path = planted(tmp_path, what)
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    with pytest.warns(UserWarning, match="is not used"), journaled(tmp_path / "out") as journal:
        assert journal.folder != path
        assert journal.folder.parent == tmp_path  # on the disk of the output
        assert journal.part({"a": 1}, lambda: 5) == (5, False)
        assert journal.part({"a": 1}, lambda: 6) == (5, True)
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


def test_a_stopped_run_beside_a_planted_folder_leaves_nothing(tmp_path):
    planted(tmp_path, "link")
    with (
        pytest.warns(UserWarning),
        pytest.raises(KeyboardInterrupt) as stopped,
        journaled(tmp_path / "out") as journal,
    ):
        journal.keep({"a": 1}, 5)
        raise KeyboardInterrupt
    assert stopped.value.__notes__ == ["nothing was written"]
    assert sorted(p.name for p in tmp_path.iterdir()) == [NAME, "target"]


@pytest.mark.filterwarnings("ignore:.*is not used")
def test_an_audit_beside_a_planted_link_says_so_and_writes_its_findings(
    ratings, tmp_path, run, monkeypatch
):
    planted(tmp_path, "link")
    code, _, said = run("audit", ratings, "--out", tmp_path / "out", *SMALL)
    assert code == 0, said
    assert sorted(p.name for p in tmp_path.iterdir()) == [NAME, "out", "ratings.csv", "target"]
    assert not list((tmp_path / "target").iterdir())


def test_a_folder_of_another_user_is_not_used(tmp_path, monkeypatch):
    (tmp_path / NAME).mkdir(mode=0o700)
    owner = os.geteuid()
    work = WorkFolder(tmp_path / "out")
    monkeypatch.setattr("standout.data.kept.os.geteuid", lambda: owner + 1)
    with pytest.warns(UserWarning, match="belongs to another user"):
        assert work.take()
    work.give_back(keep=True)
    assert [p.name for p in tmp_path.iterdir()] == [NAME]


def test_links_in_the_work_folder_are_removed_and_not_followed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    for keep in (True, False):
        work = WorkFolder(tmp_path / "out")
        assert work.take()
        work.data.mkdir(exist_ok=True)
        (work.data / "data-x").symlink_to(precious)
        (work.data / "keys.npy").symlink_to(precious / "file")
        work.give_back(keep=keep)
        assert not (work.data / "data-x").is_symlink()
    assert (precious / "file").read_text() == "x"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_records_and_labels_never_stay_after_a_stop(tmp_path, error):
    work = WorkFolder(tmp_path / "out")
    assert work.take()
    (work.data / "data-x").mkdir(parents=True)
    (work.data / "partials").mkdir()
    for name in ("data-x/record_labels.npy", "keys.npy", "partials/partial-1"):
        (work.data / name).write_text("x")
    work.end(error)
    assert sorted(p.name for p in work.data.rglob("*")) == ["partial-1", "partials"]


def test_a_fresh_run_removes_what_an_earlier_one_left(tmp_path):
    with pytest.raises(KeyboardInterrupt), journaled(tmp_path / "out") as journal:
        journal.keep({"a": 1}, 5)
        raise KeyboardInterrupt
    with journaled(tmp_path / "out", fresh=True) as journal:
        assert journal.part({"a": 1}, lambda: 6) == (6, False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("verb", ["audit", "demo", "frontier", "link", "reproduce"])
def test_every_long_command_can_start_from_the_beginning(run, verb):
    code, shown, _ = run(verb, "--help")
    assert code == 0 and "--fresh" in shown
