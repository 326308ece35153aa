"""Finished partial results on disk: a run that was stopped continues at the first shard without one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from standout.data.content import content_digest
from standout.data.kept import Kept, key_of
from standout.versions import versions

LARGEST = 64 * 2**20
"""Bytes of a result that is kept; a larger one is computed again."""


class PartialStore:
    """A folder with one file per task: the merged result of its first shards, as arrays of numbers.

    Parameters
    ----------
    folder
        Folder for the files; made on first use. Only files that this user wrote are read
        (`data.kept`).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_reused = 0
        """Shards whose results were not computed again."""
        self._files = Kept(folder, "partial")

    def key(self, task: Any, shards: Sequence[str]) -> str | None:
        """Digest of the task, the shards and the versions; None if the content of the task cannot be compared."""
        try:
            content = content_digest(task)
        except (TypeError, RecursionError):
            return None
        return key_of([versions(), content, *shards])

    def load(self, key: str, empty: Any) -> tuple[int, Any]:
        """Number of shards that are done, and their result; (0, `empty`) if nothing usable is there.

        Parameters
        ----------
        key
            What `key` gave for the task.
        empty
            Result of the task for no records, with fields of the same types and dimensions.
        """
        found = self._files.find(key)
        if found is not None:
            with suppress(ValueError, TypeError):
                name, done, values = found[0]
                if (
                    name == _name(empty)
                    and type(done) is int
                    and done > 0
                    and _are_alike(values, _values(empty))
                ):
                    self.n_reused += done
                    return done, type(empty)(*values)
        return 0, empty

    def save(self, key: str, done: int, result: Any) -> None:
        """Keep the result of the first `done` shards in the place of the result of fewer."""
        values = _values(result)
        # other results, of tasks that are not ours, are computed again
        if (
            all(_is_numbers(x) for x in values)
            and 0 < sum(np.asarray(x).nbytes for x in values) <= LARGEST
        ):
            self._files.keep(key, [_name(result), done, values])


def _name(result: Any) -> str:
    return f"{type(result).__module__}.{type(result).__qualname__}"


def _values(result: Any) -> list[Any]:
    """Fields of a named tuple or a dataclass."""
    if is_dataclass(result):
        return [getattr(result, field.name) for field in fields(result)]
    return list(result) if isinstance(result, tuple) else []


def _is_numbers(x: Any) -> bool:
    return type(x) is int or (isinstance(x, np.ndarray) and x.dtype.kind in "biuf")


def _are_alike(values: Any, empty: list[Any]) -> bool:
    """Whether there is a value for each field: a whole number, or an array of as many dimensions and the same kind."""
    if not isinstance(values, list) or len(values) != len(empty):
        return False
    return all(
        type(x) is type(like) and (type(x) is int or (x.ndim, _kind(x)) == (like.ndim, _kind(like)))
        for x, like in zip(values, empty, strict=True)
    )


def _kind(x: Any) -> str:
    """Kind of the numbers; whole numbers may be stored as unsigned where they are few."""
    return str(x.dtype.kind).replace("u", "i")
