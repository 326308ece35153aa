"""The engine for data larger than memory: shards are read from disk one after the other while the one before is scored."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import TypeVar

from standout.data.chunked.files import Buffers
from standout.data.chunked.memory import MEMORY, Budget, bytes_of
from standout.data.chunked.saved import StoredShard
from standout.data.index import Shard
from standout.data.tasks import Result, Task
from standout.data.threads import query_ranges
from standout.engines.partials_store import PartialStore

R = TypeVar("R", bound=Result)

SLICES = 16
"""Slices of a shard for tasks that cannot be split by query; not a function of the threads, so that the bits are not."""


class ChunkedEngine:
    """Runs tasks on the cores of this machine, and holds two shards at a time.

    Each query visits the records in ascending order on one thread, so that results do not depend on
    the threads, and a run that was stopped ends with the same bits.

    Parameters
    ----------
    memory
        Budget for resident memory beyond the interpreter and its libraries, e.g. "2GB".
    threads
        Number of threads; all cores by default.
    work
        Folder for finished partial results, private to this user. Default: none are kept.
    progress
        Called with (shards done, shards in all) after each shard of a task.
    """

    name = "chunked"
    batch_queries = 16_384

    def __init__(
        self,
        memory: str | float = MEMORY,
        threads: int | None = None,
        work: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.budget, self.threads = Budget(bytes_of(memory)), threads or os.cpu_count() or 1
        self.batch_bytes = self.budget.tables
        self.store = None if work is None else PartialStore(Path(work))
        self.progress = progress
        self._buffers = (Buffers(), Buffers())

    def map(self, task: Task[R], shards: Sequence[Shard | StoredShard]) -> R:
        """Run the task on each shard, in ascending order, and merge the results."""
        parts = [
            part
            for shard in sorted(shards, key=lambda s: s.first_record)
            for part in self._parts(shard)
        ]
        key, done, out = None, 0, task.empty()
        if self.store is not None and all(isinstance(part, StoredShard) for part in parts):
            key = self.store.key(
                task, [part.identity for part in parts if isinstance(part, StoredShard)]
            )
            if key is not None:
                done, out = self.store.load(key, out)
        with ThreadPoolExecutor(self.threads) as pool:
            for shard in self._read_ahead(parts[done:]):
                out = out.merge(self._run(task, shard, pool))
                done += 1
                if key is not None and self.store is not None:
                    self.store.save(key, done, out)
                if self.progress:
                    self.progress(done, len(parts))
        return out

    def _parts(self, shard: Shard | StoredShard) -> Sequence[Shard | StoredShard]:
        """Shards on disk as they are; slices of those in memory, as large as a shard on disk would be."""
        if isinstance(shard, StoredShard):
            return [shard]
        return shard.slices(-(-shard.nbytes // self.budget.shard))

    def _read_ahead(self, parts: Sequence[Shard | StoredShard]) -> Iterator[Shard]:
        """The shards in order; the next one is read while the caller uses this one."""
        with ThreadPoolExecutor(1) as reader:
            coming = [
                reader.submit(_loaded, part, self._buffers[k % 2])
                for k, part in enumerate(parts[:1])
            ]
            for k in range(len(parts)):
                shard = coming.pop().result()
                if k + 1 < len(parts):
                    coming.append(reader.submit(_loaded, parts[k + 1], self._buffers[(k + 1) % 2]))
                yield shard

    def _run(self, task: Task[R], shard: Shard, pool: ThreadPoolExecutor) -> R:
        """Result of one shard, on all threads."""
        jobs: list[tuple[Shard, tuple[int, int] | None]]
        if task.n_queries > 1:
            jobs = [(shard, some) for some in query_ranges(task.n_queries, 2 * self.threads)]
        else:
            jobs = [(piece, None) for piece in shard.slices(SLICES)]
        results = pool.map(lambda job: task.run(job[0], None, job[1]), jobs)
        return reduce(lambda a, b: a.merge(b), results)


def _loaded(part: Shard | StoredShard, buffers: Buffers) -> Shard:
    """The posting lists; those on disk are read into memory that is used again two shards later."""
    return part.load(buffers) if isinstance(part, StoredShard) else part
