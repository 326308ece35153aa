"""The work folder of a long command, beside its output: finished parts, and a lock against a second run in the same place."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from standout.data.kept import why_not_private
from standout.data.scratch import remove_any, scratch_folder
from standout.data.whole_file import NO_LINK, lock
from standout.errors import ParameterError
from standout.experiment.journal import Journal

if TYPE_CHECKING:
    from rich.console import Console

LOCK = "audit.lock"
DATA, PARTIALS = "chunked", "partials"
_NOT_A_LOCK = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EACCES, errno.EPERM)
_held: list[WorkFolder] = []


def take_folder(out: Path, *, fresh: bool = False) -> WorkFolder | None:
    """Lock the output folder against a second run; None if another process holds it."""
    work = WorkFolder(out)
    try:
        return work if work.take(fresh=fresh) else None
    except OSError as error:
        raise ParameterError(f"--out {str(out)!r} cannot be written to: {error.strerror}") from None


def in_use(out: Path) -> ParameterError:
    """Error for a folder that another run writes to."""
    return ParameterError(
        f"another run is writing to {str(out)!r}: wait for it, or name another folder with --out"
    )


@contextmanager
def journaled(out: Path, *, fresh: bool = False) -> Iterator[Journal]:
    """Lock the output folder against a second run and keep finished parts beside it, until the block succeeds.

    A run that is stopped or killed leaves its parts, and the same command continues from there,
    unless it is to be `fresh`.
    """
    work = take_folder(out, fresh=fresh)
    if work is None:
        raise in_use(out)
    journal = Journal(work.path)
    try:
        with journal.active():
            yield journal
    except BaseException as error:
        work.end(error)
        raise
    work.end(None)


def print_reused(journal: Journal, log: Console) -> None:
    """Print how many parts an earlier run had finished."""
    if journal.n_reused:
        noun = "part" if journal.n_reused == 1 else "parts"
        log.print(f"{journal.n_reused} {noun} kept from an earlier run that was stopped")


def give_back_all() -> None:
    """Release all folders of this process before it exits without unwinding; keep those with finished parts."""
    for folder in list(_held):
        folder.give_back(keep=folder.has_parts)


class WorkFolder:
    """A hidden folder that one process holds at a time. The lock of a process that was killed is free at once.

    A folder of that name that this user did not make, that others may read, or that is a link is
    left alone: the run gets a folder of its own, which is removed at the end.
    """

    def __init__(self, out: Path) -> None:
        self.path = out.absolute().parent / f".standout-work.{out.name[:100]}"
        self._handle: IO[bytes] | None = None
        self._own: ExitStack | None = None

    def take(self, *, fresh: bool = False) -> bool:
        """Make and lock the folder; False if another process holds it. With `fresh`, remove what an earlier run left."""
        for _ in range(100):
            with suppress(FileExistsError):  # a file or a link: looked at below
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            problem = why_not_private(self.path)
            if problem is not None:
                if not os.path.lexists(self.path):  # its owner removed it in the meantime
                    continue
                return self._take_other(problem)
            try:
                handle = _opened(self.path / LOCK)
            except FileNotFoundError:
                continue
            if handle is None:
                return self._take_other(f"{LOCK} in it is not a file of this program")
            if lock(handle) is False:
                handle.close()
                return False
            if _is_at(handle, self.path / LOCK):
                self._handle = handle
                _held.append(self)
                if fresh:
                    _empty(self.path, but=LOCK)
                return True
            handle.close()
        return False

    def _take_other(self, problem: str) -> bool:
        """Use a new folder beside the one that cannot be trusted."""
        warnings.warn(
            f"the folder {self.path.name!r} is not used: {problem}. Nothing is kept for a later run; remove that folder if "
            "it is not needed",
            stacklevel=4,
        )
        self._own = ExitStack()
        self.path = self._own.enter_context(scratch_folder(self.path.parent, f"{self.path.name}."))
        _held.append(self)
        return True

    def end(self, error: BaseException | None) -> None:
        """Release the folder; after an error its finished parts are kept, and after Ctrl-C the user is told so."""
        keep = error is not None and self._own is None and self.has_parts
        n_kept = len(Journal(self.path))
        self.give_back(keep=keep)
        if isinstance(error, KeyboardInterrupt):
            error.add_note("nothing was written")
            if keep:
                error.add_note(
                    f"{n_kept} finished parts are kept: the same command continues from there"
                )

    @property
    def data(self) -> Path:
        """Folder for records on disk and partial results of the engine "chunked"."""
        return self.path / DATA

    @property
    def has_parts(self) -> bool:
        """Whether parts are finished that a later run can use."""
        return len(Journal(self.path)) > 0 or any(self.data.glob(f"{PARTIALS}/partial-*"))

    def give_back(self, *, keep: bool) -> None:
        """Release the folder; remove it unless its parts are to be kept. Records and labels are always removed."""
        if self not in _held:
            return
        if self._own is not None:
            self._own.close()
        elif keep:
            _empty(self.data, but=PARTIALS)
        else:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._handle is not None:
            self._handle.close()
        self._handle = self._own = None
        _held.remove(self)


def _opened(path: Path) -> IO[bytes] | None:
    """The lock file, made if there is none; None if something else has its name."""
    try:
        handle = os.fdopen(
            os.open(path, os.O_RDWR | os.O_CREAT | NO_LINK, 0o600), "rb+", buffering=0
        )
    except OSError as error:
        if error.errno in _NOT_A_LOCK:
            return None
        raise
    if stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        return handle
    handle.close()
    return None


def _empty(folder: Path, but: str) -> None:
    """Remove everything in a folder except one name; links are removed and not followed."""
    with suppress(OSError):
        for path in [] if folder.is_symlink() else list(folder.iterdir()):
            if path.name != but:
                remove_any(path)


def _is_at(handle: IO[bytes], path: Path) -> bool:
    """Whether the open file is still the one of that name."""
    try:
        return os.path.samestat(os.fstat(handle.fileno()), path.lstat())
    except OSError:
        return False
