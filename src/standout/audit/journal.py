"""Finished parts of long work, kept on disk: a run that was stopped continues where it was, with the same numbers."""

from __future__ import annotations

import base64
import json
import os
import pickle
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from standout.versions import version_of

T = TypeVar("T")

_VERSION = 2
_SPECIAL = ("array", "tuple", "number")
_current: ContextVar[Journal | None] = ContextVar("journal", default=None)


class Journal:
    """A folder with one file per finished part. A file that is damaged or of another run is not used.

    Parameters
    ----------
    folder
        Folder for the files; made when the first part is kept.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_reused = 0
        """Parts of an earlier run that were not computed again."""
        self._counted: set[str] = set()

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob("part-*.json"))

    def part(self, about: dict[str, Any], work: Callable[[], T]) -> tuple[T, bool]:
        """Result of `work`, and whether it was kept from an earlier run.

        Parameters
        ----------
        about
            Everything that the result depends on, as plain data: data, knowledge, attacks, targets, seed, versions.
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
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            found = json.loads(self._path(key).read_text(encoding="utf-8"))
            if found["key"] == key and found["sha256"] == _digest(found["result"].encode()):
                return (_decoded(json.loads(found["result"])),)
        return None

    def keep(self, about: dict[str, Any], result: T) -> T:
        """Write a result down; gives it as it would be found later."""
        key, text = key_of(about), json.dumps(_encoded(result), allow_nan=False)
        with suppress(OSError):  # a full disk costs the journal, not the work
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self._path(key), json.dumps({"key": key, "sha256": _digest(text.encode()), "result": text}))
        made: T = _decoded(json.loads(text))
        return made

    def _path(self, key: str) -> Path:
        return self.folder / f"part-{key[:40]}.json"

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
        Everything else that the result depends on, as plain data; called only if there is a journal.
    work
        Computes the result: plain data and arrays of numbers.
    """
    journal = _current.get()
    if journal is None:
        return work()
    return journal.part({"what": what, "about": about(), **versions()}, work)[0]


def content_digest(*parts: Any) -> str:
    """Hash of objects that hold arrays. Only equal hashes mean something: the same object may get another hash later."""
    return _digest(pickle.dumps(parts))


@lru_cache
def versions() -> dict[str, str]:
    """Versions of what computes the numbers, and the platform."""
    return {
        "platform": f"{platform.system()} {platform.machine()}",
        **{name: version_of(name) for name in ("standout", "numpy", "numba", "scipy")},
    }


def key_of(about: dict[str, Any]) -> str:
    """Key of a part: a hash of everything that it depends on."""
    return _digest(json.dumps([_VERSION, about], sort_keys=True, default=str).encode())


def _encoded(x: Any) -> Any:
    """The result as JSON; arrays of numbers and tuples become objects of one special key."""
    if isinstance(x, np.ndarray):
        if x.dtype.kind not in "biuf":
            raise TypeError(f"an array of {x.dtype} is not kept")
        return {"array": [x.dtype.str, list(x.shape), base64.b64encode(np.ascontiguousarray(x).tobytes()).decode()]}
    if isinstance(x, tuple):
        return {"tuple": [_encoded(one) for one in x]}
    if isinstance(x, list):
        return [_encoded(one) for one in x]
    if isinstance(x, dict):
        if not all(isinstance(name, str) for name in x) or (len(x) == 1 and next(iter(x)) in _SPECIAL):
            raise TypeError("keys of a kept result are names")
        return {name: _encoded(one) for name, one in x.items()}
    if isinstance(x, np.generic):
        x = x.item()
    if isinstance(x, float) and not np.isfinite(x):
        return {"number": str(x)}
    return x


def _decoded(x: Any) -> Any:
    if isinstance(x, list):
        return [_decoded(one) for one in x]
    if not isinstance(x, dict):
        return x
    if len(x) == 1:
        ((name, inside),) = x.items()
        if name == "array":
            flat = np.frombuffer(base64.b64decode(inside[2]), np.dtype(inside[0]))
            return flat.reshape(inside[1]).copy()
        if name == "tuple":
            return tuple(_decoded(one) for one in inside)
        if name == "number":
            return float(inside)
    return {name: _decoded(one) for name, one in x.items()}


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()


def _write(path: Path, text: str) -> None:
    """Write a file that is there as a whole or not at all, also after a loss of power."""
    draft = path.with_suffix(".new")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
