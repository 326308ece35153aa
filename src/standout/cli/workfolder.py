"""The work folder of an audit, beside its output: finished parts, and a lock against a second audit in the same place."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

LOCK = "audit.lock"
PARTS = "part-*.json"
DATA = "chunked"
_held: list[WorkFolder] = []


def give_back_all() -> None:
    """Release all folders of this process before it exits without unwinding; keep those with finished parts."""
    for folder in list(_held):
        folder.give_back(keep=any(folder.path.glob(PARTS)) or folder.has_data)


class WorkFolder:
    """A hidden folder that one process holds at a time. The lock of a process that was killed is free at once."""

    def __init__(self, out: Path) -> None:
        self.path = out.absolute().parent / f".standout-work.{out.name[:100]}"
        self._handle: IO[bytes] | None = None

    def take(self) -> bool:
        """Make and lock the folder; False if another process holds it."""
        for _ in range(100):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # its owner removed it in the meantime
                handle = (self.path / LOCK).open("ab")
                if not _locked(handle):
                    handle.close()
                    return False
                if _is_at(handle, self.path / LOCK):
                    self._handle = handle
                    _held.append(self)
                    return True
                handle.close()
        return False

    @property
    def data(self) -> Path:
        """Folder for records on disk and partial results of the engine "chunked"."""
        return self.path / DATA

    @property
    def has_data(self) -> bool:
        """Whether records were sorted there, which takes time to do again."""
        return any(self.data.glob("data-*")) or any(self.data.glob("partials/*"))

    def give_back(self, *, keep: bool) -> None:
        """Release the folder; remove it unless its parts are to be kept."""
        if self._handle is not None:
            if not keep:
                shutil.rmtree(self.path, ignore_errors=True)
            self._handle.close()
            self._handle = None
            _held.remove(self)


def _locked(handle: IO[bytes]) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _is_at(handle: IO[bytes], path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.stat())
    except OSError:
        return False
