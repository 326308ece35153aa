"""The work folder of a long command, beside its output: finished parts, and a lock against a second run in the same place."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from standout.audit.journal import Journal
from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

LOCK = "audit.lock"
PARTS = "part-*.json"
DATA = "chunked"
_held: list[WorkFolder] = []


@contextmanager
def journaled(out: Path) -> Iterator[Journal]:
    """Lock the output folder against a second run and keep finished parts beside it, until the block succeeds.

    A run that is stopped or killed leaves its parts, and the same command continues from there.
    """
    work = WorkFolder(out)
    try:
        taken = work.take()
    except OSError as error:
        raise ParameterError(f"--out {str(out)!r} cannot be written to: {error.strerror}") from None
    if not taken:
        raise ParameterError(f"another run is writing to {str(out)!r}: wait for it, or name another folder with --out")
    journal = Journal(work.path)
    try:
        with journal.active():
            yield journal
    except BaseException as error:
        work.end(error)
        raise
    work.end(None)


def say_reused(journal: Journal, log: Console) -> None:
    """Print how many parts an earlier run had finished."""
    if journal.n_reused:
        noun = "part" if journal.n_reused == 1 else "parts"
        log.print(f"{journal.n_reused} {noun} kept from an earlier run that was stopped")


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

    def end(self, error: BaseException | None) -> None:
        """Release the folder; after an error its finished parts are kept, and after Ctrl-C the user is told so."""
        n_kept = 0 if error is None else len(Journal(self.path))
        stopped = isinstance(error, KeyboardInterrupt) and self.has_data
        self.give_back(keep=n_kept > 0 or stopped)
        if isinstance(error, KeyboardInterrupt):
            error.add_note("nothing was written")
            if n_kept or stopped:
                error.add_note(f"{n_kept} finished parts are kept: the same command continues from there")

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
