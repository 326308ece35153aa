"""Files that are there as a whole or not at all, and locks of files."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from standout.errors import InputError

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags that open neither a link nor wait for a pipe."""


def check_regular(path: str | Path) -> Path:
    """Refuse a pipe or a device, which may have no end; a path that does not exist is left to the caller, who opens it."""
    file = Path(path)
    if file.exists() and not file.is_file() and not file.is_dir():
        raise InputError(f"{str(path)!r} is a pipe or a device: save its content to a file first")
    return file


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[Path]:
    """Temporary file in the same folder that gets the name `path` if the block succeeds, and is removed if not.

    A `private` file can be read by this user alone, and is whole also after a loss of power.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        if private:
            with draft.open("rb+") as file:
                os.fsync(file.fileno())
        else:
            # mkstemp makes private files; this one gets the usual permissions
            umask = os.umask(0)
            os.umask(umask)
            draft.chmod(0o666 & ~umask)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def lock(file: IO[bytes] | int) -> bool | None:
    """Lock an open file until it is closed: whether it is locked now; False = by another process, None = there are no locks."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True
