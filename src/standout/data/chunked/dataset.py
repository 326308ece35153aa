"""`ChunkedDataset`: a dataset on disk, larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.build import missing_tick
from standout.data.catalog import Catalog
from standout.data.chunked.memory import MEMORY, PER_ENTRY, Budget, bytes_of
from standout.data.chunked.saved import SavedFiles, StoredShard
from standout.data.dataset import Dataset
from standout.data.index import Rows
from standout.data.kept import Kept, stamp, work_folder
from standout.data.reading.options import ReadOptions
from standout.data.scratch import remove_any
from standout.data.store import load_array
from standout.data.tasks import Result, Task
from standout.data.whole_file import whole_file
from standout.errors import ParameterError

R = TypeVar("R", bound=Result)
Progress = Callable[[str, int, int], None]


class ChunkedDataset(Catalog):
    """Records × items on disk. Make one with `ChunkedDataset.read` or `ChunkedDataset.open`.

    The catalog and 8 bytes per record are in memory; posting lists are read shard by shard, by the
    engine "chunked". Indices, labels, counts and answers are those of `Dataset.read` of the same
    source.

    Parameters
    ----------
    folder
        Folder that `Dataset.save` or `ChunkedDataset.read` wrote.
    memory
        Budget for resident memory beyond the interpreter and its libraries, e.g. "2GB".
    work
        Folder for finished partial results, private to this user: a run that was stopped continues
        from there. Default: none are kept.
    threads
        Number of threads; all cores by default.
    verify
        Whether to compare the checksums of all files.
    progress
        Called with (what, done, total).
    """

    origin = None
    n_records: int = 0
    n_entries: int = 0
    """Number of entries; with `repeats="keep"` every event counts."""
    has_value: bool = False
    has_time: bool = False
    no_tick: int = 0

    def __init__(
        self,
        folder: str | Path,
        memory: str | float = MEMORY,
        work: str | Path | None = None,
        threads: int | None = None,
        *,
        verify: bool = True,
        progress: Progress | None = None,
    ) -> None:
        self.memory, self.threads = bytes_of(memory), threads
        self.work = work_folder(work)
        self._notes = None if self.work is None else Kept(self.work, "checked")
        self._files = files = SavedFiles(Path(folder))
        self._ranges = files.plan(Budget(self.memory))
        for name in ("n_records", "n_entries", "item_labels", "supports", "levels"):
            setattr(self, name, getattr(files, name))
        self.has_value, self.has_time = files.record_code.size > 0, files.record_tick.size > 0
        self.no_tick = missing_tick(files.record_tick.dtype)
        self.first_tick = int(files.meta["first_tick"])
        self.tick_span = int(files.meta["tick_span"])
        self.time_resolution, self.cleaning = str(files.meta["time_resolution"]), files.cleaning
        self._keep: Any = None
        """Keeps a temporary folder as long as the dataset exists."""
        self.record_keys = self._checked(verify, progress)

    @classmethod
    def open(
        cls,
        folder: str | Path,
        memory: str | float = MEMORY,
        work: str | Path | None = None,
        threads: int | None = None,
        *,
        verify: bool = True,
        progress: Progress | None = None,
    ) -> ChunkedDataset:
        """Open a folder that `Dataset.save` wrote, without loading it; damage is refused."""
        return cls(folder, memory, work, threads, verify=verify, progress=progress)

    @classmethod
    def read(
        cls,
        path: str | Path | Sequence[str | Path],
        *,
        memory: str | float = MEMORY,
        work: str | Path | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
        **reading: Any,
    ) -> ChunkedDataset:
        """Read what `Dataset.read` reads, without holding it in memory.

        Parameters
        ----------
        path, reading
            As in `Dataset.read`.
        memory
            Budget for resident memory beyond the interpreter and its libraries, e.g. "2GB".
        work
            Folder for the records in binary form and for partial results, private to this user;
            reused if the source has not changed. Default: a temporary folder that is removed at the
            end.
        threads
            Number of threads; all cores by default.
        progress
            Called with (what, done, total).
        """
        from standout.data.chunked.partition import read_chunked

        try:
            options = ReadOptions(**reading)
        except TypeError as error:
            raise ParameterError(f"ChunkedDataset.read: {str(error).partition('() ')[2]}") from None
        return read_chunked(cls, path, options, memory, work, threads, progress)

    @property
    def length_counts(self) -> Array:
        """int64 (longest + 1): number of records with 0, 1, … distinct items."""
        return self._files.length_counts

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content, the same as that of the dataset in memory."""
        kept = self._noted()
        if "fingerprint" not in kept:
            kept["fingerprint"] = self._files.fingerprint()
            self._note(kept)
        return str(kept["fingerprint"])

    @cached_property
    def record_labels(self) -> Array:
        """Label of each record, mapped from disk."""
        return load_array(self._files.folder, "record_labels")

    @cached_property
    def all_shards(self) -> list[StoredShard]:
        """Shards on disk that together hold every record once."""
        keys: Any = SimpleNamespace(values=self.record_keys)  # in the place of `LazyKeys`
        return [StoredShard(self._files, first, stop, keys) for first, stop in self._ranges]

    @cached_property
    def home_engine(self) -> Any:
        """The engine "chunked", with the budget of this dataset."""
        from standout.engines.chunked import ChunkedEngine

        return ChunkedEngine(
            self.memory, self.threads, None if self.work is None else self.work / "partials"
        )

    def loaded(self) -> Dataset | None:
        """The dataset in memory, if half of the budget holds it; else None."""
        if self.n_entries * PER_ENTRY > self.memory // 2:
            return None
        return Dataset.open(self._files.folder, verify=False)

    def map(self, task: Task[R]) -> R:
        """Run the task on all records."""
        done: R = self.home_engine.map(task, self.all_shards)
        return done

    def rows(self, records: Any) -> Rows:
        """Entries and keys of some records, given by distinct ascending indices."""
        return self._files.rows(np.asarray(records, np.int64).reshape(-1), self.record_keys)

    def __repr__(self) -> str:
        return f"<ChunkedDataset {self.shape_text}, {len(self._ranges):,} shards on disk>"

    def _checked(self, verify: bool, progress: Progress | None) -> Array:
        """Check all files, and return the keys of all records; both are done once per work folder."""
        kept = self._noted()
        path = None if self.work is None else self.work / "keys.npy"
        with suppress(OSError, ValueError):
            if path is not None and kept.get("keys") == stamp(path):
                return np.asarray(np.load(path, allow_pickle=False))

        def advance(done: int, total: int) -> None:
            if progress is not None:
                progress("checking the records", done, total)

        keys = self._files.examine(Budget(self.memory), verify=verify, progress=advance)
        if path is not None:
            remove_any(path)  # whatever has this name is not ours
            with whole_file(path) as draft, draft.open("wb") as file:
                np.save(file, keys, allow_pickle=False)
            self._note({**kept, "keys": stamp(path)})
        return keys

    def _noted(self) -> dict[str, Any]:
        """What this user's work folder knows of these files; nothing if one of them changed."""
        fresh = {"versions": self._files.versions}
        found = None if self._notes is None else self._notes.find(self._files.identity)
        kept = {} if found is None else found[0]
        return kept if kept.get("versions") == fresh["versions"] else fresh

    def _note(self, known: dict[str, Any]) -> None:
        if self._notes is not None:
            self._notes.keep(self._files.identity, known)
