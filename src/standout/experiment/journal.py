"""Finished parts of long work, kept on disk: a run that was stopped continues where it was, with the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

from standout.data.kept import Kept, key_of
from standout.data.plain import from_text, to_text
from standout.versions import versions

T = TypeVar("T")

_current: ContextVar[Journal | None] = ContextVar("journal", default=None)


class Journal:
    """A folder with one file per finished part. A file that is damaged, of another run or not of this user is not used.

    Parameters
    ----------
    folder
        Folder for the files; made when the first part is kept.
    fresh
        Whether to use only parts that this object kept itself.
    """

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        self.folder, self.fresh = folder, fresh
        self.n_reused = 0
        """Parts of an earlier run that were not computed again."""
        self._counted: set[str] = set()
        self._own: set[str] = set()
        self._files = Kept(folder, "part")

    def __len__(self) -> int:
        return len(self._files)

    def part(self, about: dict[str, Any], work: Callable[[], T]) -> tuple[T, bool]:
        """Result of `work`, and whether it was kept from an earlier run.

        Parameters
        ----------
        about
            Everything that the result depends on, as plain data: data, knowledge, attacks, targets,
            seed, versions.
        work
            Computes the result: plain data and arrays of numbers.
        """
        kept = self.find(about)
        if kept is not None:
            self.n_reused += self._is_first(about)
            return kept[0], True
        # also where nothing is kept: a number must not depend on whether it was written down
        self._is_first(about)
        return self.keep(about, work()), False

    def _is_first(self, about: dict[str, Any]) -> bool:
        """Whether this part is asked for the first time: a later time finds what this run computed, or was counted."""
        key = key_of(about)
        first = key not in self._counted
        self._counted.add(key)
        return first

    def find(self, about: dict[str, Any]) -> tuple[Any] | None:
        """The kept result in a tuple; None if there is none."""
        key = key_of(about)
        return None if self.fresh and key not in self._own else self._files.find(key)

    def keep(self, about: dict[str, Any], result: T) -> T:
        """Write a result down; gives it as it would be found later."""
        key = key_of(about)
        # a full disk costs the journal, not the work
        if self._files.keep(key, result):
            self._own.add(key)
        made: T = from_text(to_text(result))
        return made

    @contextmanager
    def active(self) -> Iterator[None]:
        """Within the block, `resumable` keeps its results here."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


def resumable(what: str, about: Callable[[], Any], work: Callable[[], T]) -> T:
    """Result of `work`, from the journal in use if an earlier run finished it; without a journal `work` just runs.

    Parameters
    ----------
    what
        Name of the work.
    about
        Everything else that the result depends on, as plain data; called only if there is a
        journal.
    work
        Computes the result: plain data and arrays of numbers.
    """
    journal = _current.get()
    if journal is None:
        return work()
    return journal.part({"what": what, "about": about(), **versions()}, work)[0]
