"""Temporary folders that hold raw data: private, removed at the end, and swept later if a run was killed.

Each folder holds a file that its process keeps locked. A folder whose file is not locked belongs to
no process.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from standout.data.whole_file import NO_LINK, lock
from standout.errors import InputError

PREFIX = "standout-"
LOCK = ".standout-lock"
_NOT_YET = ".standout-lock.new"
_DAY = 24 * 60 * 60
_open: dict[Path, IO[bytes] | None] = {}
"""Folders of this process and their locked files."""


@contextmanager
def scratch_folder(within: Path | None = None, prefix: str = PREFIX) -> Iterator[Path]:
    """Make a private folder, which is removed at the end; first remove those of processes that were killed.

    Parameters
    ----------
    within
        Folder to make it in. Default: the system's folder for temporary files (TMPDIR).
    prefix
        Beginning of the name. Only folders with this beginning are swept.

    Raises
    ------
    InputError
        If the folder for temporary files cannot be written to.
    OSError
        If `within` cannot be written to.
    """
    try:
        parent = within or _temporary()
        sweep(parent, prefix)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        _open[folder] = None
        _open[folder] = _locked(folder)
    except OSError as error:
        if within is not None:
            raise
        raise InputError(
            f"no folder for temporary files can be made: {error.strerror or type(error).__name__}. Set TMPDIR to a "
            "folder on a disk with enough space that you may write"
        ) from None
    try:
        yield folder
    finally:
        _remove(folder)


def _temporary() -> Path:
    """The folder for temporary files. Python takes another one if TMPDIR cannot be written to; raw data must not go there."""
    wanted = os.environ.get("TMPDIR")
    if wanted and (tempfile.tempdir is None or not os.access(wanted, os.W_OK | os.X_OK)):
        return Path(wanted)
    return Path(tempfile.gettempdir())


def remove_all() -> None:
    """Remove all folders of this process, before it exits without unwinding."""
    for folder in list(_open):
        _remove(folder)


def private_file(path: Path) -> IO[bytes]:
    """Open a new file for writing that only this user may read."""
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")


def sweep(parent: Path, prefix: str = PREFIX) -> None:
    """Remove folders with this beginning whose process no longer exists."""
    with suppress(OSError):
        for entry in os.scandir(parent):
            if (
                entry.name.startswith(prefix)
                and entry.is_dir(follow_symlinks=False)
                and _is_left_behind(entry)
            ):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_left_behind(entry: os.DirEntry[str]) -> bool:
    try:
        about = entry.stat(follow_symlinks=False)
        if sys.platform == "win32" or about.st_uid != os.geteuid():
            return False
        try:
            handle = os.open(Path(entry.path, LOCK), os.O_RDWR | NO_LINK)
        except FileNotFoundError:
            return time.time() - about.st_mtime > _DAY and _is_ours(Path(entry.path))
        try:
            return stat.S_ISREG(os.fstat(handle).st_mode) and lock(handle) is True
        finally:
            os.close(handle)
    except OSError:  # removed in the meantime
        return False


def _is_ours(folder: Path) -> bool:
    """Whether a folder without a lock was made by this program: by version 0.1, or killed before it could lock it."""
    names = {path.name for path in folder.iterdir()}
    return "work.duckdb" in names or names == {_NOT_YET}


def _locked(folder: Path) -> IO[bytes] | None:
    if sys.platform == "win32":
        return None
    # the file gets its name when it is locked: whoever sees it free knows that its process is gone
    handle = private_file(folder / _NOT_YET)
    if lock(handle):  # on a file system without locks nobody else can lock it either
        with suppress(OSError):
            (folder / _NOT_YET).rename(folder / LOCK)
    return handle


def remove_any(path: Path) -> None:
    """Remove a file, or a folder with everything in it; of a link, only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    handle = _open.pop(folder, None)
    if handle is not None:
        handle.close()
