"""Files beside the data are believed only if this user wrote them: nothing planted is read, run or followed."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from standout.adversary.adversary import Adversary
from standout.audit.audit import Audit
from standout.data import kept
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.data.kept import Kept, user_key, why_not_private
from standout.data.plain import from_text, to_text
from standout.experiment.journal import Journal

KEY, OTHER = "1" * 64, "2" * 64
REFUSED = "damaged, or this user did not write it"


@pytest.fixture
def files(tmp_path) -> Kept:
    """A folder with one file of this user."""
    made = Kept(tmp_path / "work", "part")
    assert made.keep(KEY, 0.98)
    return made


def path_of(files: Kept, key: str = KEY) -> Path:
    return files.folder / f"part-{key[:40]}"


def refused(files: Kept, key: str = KEY) -> bool:
    with pytest.warns(UserWarning, match=REFUSED):
        return Kept(files.folder, files.kind).find(key) is None


def test_what_this_user_wrote_is_found_and_nobody_else_may_read_it(files):
    assert Kept(files.folder, "part").find(KEY) == (0.98,)
    assert files.folder.stat().st_mode & 0o077 == 0
    assert path_of(files).stat().st_mode & 0o077 == 0
    assert [p.name for p in files.folder.iterdir()] == [path_of(files).name]  # no draft


def test_a_part_with_a_wrong_mac_is_refused(files):
    path = path_of(files)
    path.write_bytes(path.read_bytes().replace(b"0.98", b"0.01"))
    assert refused(files)


def test_a_part_cannot_take_the_place_of_another(files):
    files.keep(OTHER, 0.01)
    shutil.copy(path_of(files, OTHER), path_of(files))
    assert refused(files)


def test_a_part_of_one_kind_cannot_take_the_place_of_another_kind(files):
    Kept(files.folder, "partial").keep(KEY, 0.01)
    shutil.copy(files.folder / f"partial-{KEY[:40]}", path_of(files))
    assert refused(files)


def test_a_part_that_another_user_signed_is_refused(files, tmp_path, monkeypatch):
    with monkeypatch.context() as attacker:
        attacker.setenv("XDG_STATE_HOME", str(tmp_path / "attacker"))
        assert Kept(files.folder, "part").keep(KEY, 0.01)
    assert refused(files)


@pytest.mark.parametrize(
    "what", ["link", "dangling link", "pipe", "folder", "huge", "empty", "device"]
)
def test_what_is_not_a_plain_file_is_refused_at_once(files, tmp_path, what):
    path = path_of(files)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    if what == "link":
        path.symlink_to(elsewhere)  # its content has a right MAC
    elif what == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    elif what == "pipe":
        os.mkfifo(path)  # opening it would wait for a writer
    elif what == "folder":
        path.mkdir()
    elif what == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes(b"")
        os.truncate(path, 2**40 if what == "huge" else 0)
    assert refused(files)
    if what != "folder":  # and it is replaced, not written through
        assert Kept(files.folder, "part").keep(KEY, 0.5)
        assert path.is_file() and not path.is_symlink()
        assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("what", ["link", "readable by others", "of another user", "file"])
def test_a_folder_that_this_user_did_not_make_for_itself_is_not_used(
    files, tmp_path, monkeypatch, what
):
    folder = files.folder
    if what == "link":
        folder.rename(tmp_path / "target")
        folder.symlink_to(tmp_path / "target")
    elif what == "readable by others":
        folder.chmod(0o755)
    elif what == "of another user":
        monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    else:
        shutil.rmtree(folder)
        folder.write_text("")
    assert why_not_private(folder) is not None
    with (
        pytest.warns(UserWarning, match="nothing is kept for a later run")
        if what != "file"
        else pytest.warns(UserWarning, match="it is not a folder")
    ):
        assert Kept(folder, "part").find(KEY) is None
        assert not Kept(folder, "part").keep(OTHER, 1)
    if what == "link":
        assert len(list((tmp_path / "target").iterdir())) == 1


@pytest.mark.parametrize(
    "harm", ["no place", "readable by others", "link", "short", "folder of others"]
)
def test_without_a_key_that_only_this_user_knows_nothing_is_kept(tmp_path, monkeypatch, harm):
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    assert len(user_key() or b"") == 32
    key = state / "standout" / "key"
    if harm == "no place":
        shutil.rmtree(state)
        state.write_text("")
    elif harm == "readable by others":
        key.chmod(0o644)
    elif harm == "link":
        key.rename(tmp_path / "moved")
        key.symlink_to(tmp_path / "moved")
    elif harm == "short":
        key.write_bytes(b"")
    else:
        key.parent.chmod(0o777)
    assert user_key() is None
    with pytest.warns(UserWarning, match="a run that is stopped starts from the beginning"):
        assert not Kept(tmp_path / "work", "part").keep(KEY, 1)


def test_the_key_is_made_once_also_by_two_processes_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    first = user_key()
    kept._make_key(tmp_path / "standout" / "key")  # the slower of two processes
    assert user_key() == first
    assert [p.name for p in (tmp_path / "standout").iterdir()] == ["key"]


def dataset() -> Dataset:
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.choice(40, 10, replace=False) for _ in range(60)])
    return Dataset.from_arrays(np.repeat(np.arange(60), 10), item, value=rng.integers(1, 6, 600))


def test_planted_parts_do_not_change_the_answer_of_an_audit(tmp_path, monkeypatch):
    who = Adversary(knows=3, value_within=0, time_within=None)

    def findings(journal):
        found = Audit(dataset(), who, "scoreboard-rh", 20, describe=False, journal=journal).run(
            False
        )
        return found.results, found

    right, _ = findings(None)
    with monkeypatch.context() as attacker:
        attacker.setenv("XDG_STATE_HOME", str(tmp_path / "attacker"))
        usual = Audit._attack
        attacker.setattr(
            Audit,
            "_attack",
            lambda self, who, n, targets, advance: usual(self, who, n, targets[:1], advance),
        )
        planted = Journal(tmp_path / "work")
        findings(planted)
        assert len(planted) == 1
    journal = Journal(tmp_path / "work")
    with pytest.warns(UserWarning, match=REFUSED):
        made, _ = findings(journal)
    assert journal.n_reused == 0
    np.testing.assert_equal(made, right)


def test_a_fresh_run_uses_only_what_it_kept_itself(tmp_path):
    Journal(tmp_path).keep({"a": 1}, 5)
    fresh = Journal(tmp_path, fresh=True)
    assert fresh.part({"a": 1}, lambda: 6) == (6, False)
    assert fresh.part({"a": 1}, lambda: 7) == (6, True)
    assert Journal(tmp_path).part({"a": 1}, lambda: 8) == (6, True)


@pytest.mark.parametrize(
    "text",
    [
        '{"array": ["|O", [1], "AAAAAAAAAAA="]}',
        '{"array": ["<f8", [2], "AAAAAAAAAAA="]}',
        '{"array": ["<f8", [-1], ""]}',
        '{"array": ["<f8", [1.0], "AAAAAAAAAAA="]}',
        '{"array": ["<U1", [1], "QQAAAA=="]}',
        '{"array": ["<f8", [1], "?"]}',
        '{"array": "<f8"}',
        '{"number": "1e5"}',
        '{"number": "__import__"}',
        "NaN",
        "[" * 100_000,
        "",
        "\x80",
    ],
)
def test_text_that_this_program_did_not_write_is_an_error(text):
    with pytest.raises(ValueError):
        from_text(text)


def test_arrays_come_back_bit_by_bit():
    made = from_text(
        to_text([np.array([np.nan, -0.0]), np.arange(6, dtype=np.uint16).reshape(2, 3), (1, None)])
    )
    assert [x.tobytes() for x in made[:2]] == [
        np.array([np.nan, -0.0]).tobytes(),
        np.arange(6, dtype="<u2").tobytes(),
    ]
    assert made[1].shape == (2, 3) and made[2] == (1, None)


def test_the_digest_of_content_tells_apart_what_differs():
    different = [
        1,
        1.0,
        True,
        "1",
        b"1",
        None,
        (1,),
        [1],
        {1: 1},
        np.array([1]),
        np.array([1.0]),
        np.array([[1]]),
        np.array([1], np.int8),
        np.array(["1"]),
        ("ab", "c"),
        ("a", "bc"),
        Adversary(knows=2),
        Adversary(knows=3),
        np.array(["a", None], object),
        {"a"},
        frozenset("a"),
        0.0,
        -0.0,
    ]
    assert len({content_digest(x) for x in different}) == len(different)
    assert content_digest(np.arange(6)[::2]) == content_digest(np.arange(0, 6, 2))
    assert content_digest({"b", "a", "c"}) == content_digest({"c", "b", "a"})
    with pytest.raises(TypeError):
        content_digest(lambda: 1)
    with pytest.raises(TypeError):
        content_digest(iter([1]))
