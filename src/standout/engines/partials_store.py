"""Finished partial results on disk: a run that was stopped continues at the first shard without one."""

from __future__ import annotations

import io
import pickle
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from standout.data.whole_file import whole_file
from standout.versions import version_of

LARGEST = 64 * 2**20
"""Bytes of a result that is kept; a larger one is computed again."""

_MAGIC = b"standout-partial-1\n"
_SAFE = ("standout.", "numpy.")


class PartialStore:
    """A folder with one file per task: the merged result of its first shards, with a checksum.

    Parameters
    ----------
    folder
        Folder for the files; made on first use.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.n_reused = 0
        """Shards whose results were not computed again."""

    def key(self, task: Any, shards: Sequence[str]) -> str | None:
        """Digest of the task, the shards and the versions; None if the task cannot be pickled."""
        pickled = io.BytesIO()
        try:
            _Writer(pickled, protocol=5).dump(task)
        except (pickle.PicklingError, AttributeError, TypeError):
            return None
        made = sha256(f"{version_of('standout')} {version_of('numpy')} {version_of('numba')}".encode())
        made.update(sha256("\n".join(shards).encode()).digest())
        made.update(sha256(pickled.getbuffer()).digest())
        return made.hexdigest()

    def load(self, key: str) -> tuple[int, Any]:
        """Number of shards that are done, and their result; (0, None) if nothing usable is there."""
        try:
            content = self._path(key).read_bytes()
        except OSError:
            return 0, None
        head = _MAGIC + key.encode() + b"\n"
        digest, body = content[len(head) : len(head) + 32], content[len(head) + 32 :]
        if not content.startswith(head) or sha256(head + body).digest() != digest:
            return 0, None
        try:
            done, result = _Reader(io.BytesIO(body)).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError):
            return 0, None
        self.n_reused += int(done)
        return int(done), result

    def save(self, key: str, done: int, result: Any) -> None:
        """Keep the result of the first `done` shards in the place of the result of fewer."""
        body = pickle.dumps((done, result), protocol=5)
        if len(body) > LARGEST:
            return
        head = _MAGIC + key.encode() + b"\n"
        with suppress(OSError):  # a full disk costs the file, not the run
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with whole_file(self._path(key)) as draft:
                draft.write_bytes(head + sha256(head + body).digest() + body)

    def _path(self, key: str) -> Path:
        return self.folder / f"partial-{key[:40]}"


class _Writer(pickle.Pickler):
    """Writes tasks for their digest: arrays by type, shape and content, objects by their fields.

    The usual bytes also depend on whether the dtype of an array is the very object of other arrays, and on what an object
    caches beside its fields; both differ between a first run and one that takes earlier results from files.
    """

    def reducer_override(self, obj: Any) -> Any:
        """How to write an object; it is never read back."""
        if is_dataclass(obj) and not isinstance(obj, type):
            return tuple, (
                (type(obj).__module__, type(obj).__qualname__, *(getattr(obj, f.name) for f in fields(obj))),
            )
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return np.ndarray, (obj.dtype.str, obj.shape, np.ascontiguousarray(obj).tobytes())
        return NotImplemented


class _Reader(pickle.Unpickler):
    """Reads results of tasks: classes of this package and arrays, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of that name, if results may hold it."""
        if not f"{module}.".startswith(_SAFE):
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a result")
        return super().find_class(module, name)
