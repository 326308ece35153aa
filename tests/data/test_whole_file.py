"""Files that appear as a whole, and locks."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from standout.data import scratch
from standout.data.whole_file import lock, whole_file

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and locks")


@posix
@pytest.mark.parametrize(("private", "mode"), [(True, 0o600), (False, 0o644)])
def test_a_file_replaces_another_with_its_own_permissions(tmp_path, private, mode):
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o666)
    before = os.umask(0o022)
    try:
        with whole_file(path, private=private) as draft:
            draft.write_text("new")
            assert path.read_text() == "old"
    finally:
        os.umask(before)
    assert path.read_text() == "new" and path.stat().st_mode & 0o777 == mode
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("private", [True, False])
def test_a_block_that_fails_leaves_what_was_there(tmp_path, private):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), whole_file(path, private=private) as draft:
        draft.write_text(str(1 / 0))
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


@posix
def test_a_lock_is_held_by_one_until_it_is_closed(tmp_path):
    path = tmp_path / "lock"
    path.touch()
    with path.open("rb") as second:
        with path.open("rb") as first:
            assert lock(first) is True
            assert lock(second) is False
        assert lock(second) is True


@posix
def test_without_locks_no_folder_of_another_process_is_swept(tmp_path, monkeypatch):
    folder = tmp_path / "standout-1"
    folder.mkdir()
    (folder / scratch.LOCK).touch()

    def none(*_):
        raise OSError(errno.ENOTSUP, "no locks")

    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("fcntl.flock", none)
        with (folder / scratch.LOCK).open("rb") as file:
            assert lock(file) is None
        scratch.sweep(tmp_path)
        assert folder.exists()
    scratch.sweep(tmp_path)
    assert not folder.exists()
