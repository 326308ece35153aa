"""What runs on Spark's executors: callables from Arrow batches to Arrow batches, without Spark's API."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce, wraps
from typing import Any, NamedTuple, TypeVar
from zipimport import zipimporter

import numpy as np
import pyarrow as pa

from standout.data.index import Shard
from standout.data.tasks import Task
from standout.errors import StandoutError

Batches = Iterator[pa.RecordBatch]
T = TypeVar("T")
U = TypeVar("U")

FAILED = r"<<standout (\w+)>>(.*?)<</standout>>"
"""Pattern of an error of standout in the text of an error of Spark."""


MANY_OBJECTS = 20_000
"""Python objects that a worker may have before they are left out of garbage collections."""


class WorkerError(Exception):
    """Carries an error of standout through Spark, which passes on only its text."""


def carried(
    run: Callable[[Any, Iterator[T]], Iterator[U]],
) -> Callable[[Any, Iterator[T]], Iterator[U]]:
    """Let errors of standout pass through Spark: decorator for the method that runs on an executor."""

    @wraps(run)
    def wrapped(self: Any, batches: Iterator[T]) -> Iterator[U]:
        try:
            yield from run(self, batches)
        except StandoutError as error:
            raise WorkerError(f"<<standout {type(error).__name__}>>{error}<</standout>>") from None
        _shorten_pauses()

    return wrapped


def _shorten_pauses() -> None:
    """Shorten what a worker does between two partitions, which takes longer than most tasks: about 0.2 s.

    - Spark collects garbage: what stays, modules and compiled functions, is left out from now on.
    - Spark invalidates the caches of imports, and each cached reader of a zip file reads the directory of the file again.
      Spark itself lies in one, with a reader for each package. Readers are made again when they are
      needed.
    """
    if len(gc.get_objects()) > MANY_OBJECTS:
        gc.collect()
        gc.freeze()
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            sys.path_importer_cache.pop(path, None)


def rows_of_batches(batches: Batches, *names: str) -> Iterator[tuple[Any, ...]]:
    """Rows of the batches, one at a time: Python objects, and buffers for cells of bytes."""
    for batch in batches:
        columns = [batch.column(name) for name in names]
        for k in range(batch.num_rows):
            yield tuple(
                column[k].as_buffer() if pa.types.is_binary(column.type) else column[k].as_py()
                for column in columns
            )


def one_row_batch(**cells: pa.Array) -> pa.RecordBatch:
    """Batch of the arrays."""
    return pa.record_batch(list(cells.values()), list(cells))


def merged(results: list[bytes], into: Any) -> Any:
    """Merge pickled results with one another and with `into`."""
    for result in results:
        into = into.merge(pickle.loads(result))
    return into


def seats_for(n: int) -> list[int]:
    """A number for each of `n` partitions that Spark's `repartition(n, column)` sends there, so that none gets two shards.

    Spark takes Murmur3 of the number, modulo `n`. If that changed, shards would still be right, but
    spread unevenly.

    >>> seats_for(3)
    [0, 1, 11]
    """
    numbers = np.arange(n * (20 + 4 * n.bit_length()), dtype=np.uint32)
    with np.errstate(over="ignore"):
        k = _rotated(numbers * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
        h = _rotated(k ^ np.uint32(42), 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(4)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    place = (h ^ (h >> np.uint32(16))).view(np.int32).astype(np.int64) % n
    found, seat = np.unique(place, return_index=True)
    seats = np.arange(n)
    seats[found] = seat
    return [int(x) for x in seats]


def _rotated(x: Any, by: int) -> Any:
    return (x << np.uint32(by)) | (x >> np.uint32(32 - by))


class Sent:
    """A pickled task: unpickling it gives the task. Workers then unpickle a broadcast task once, not for each shard."""

    def __init__(self, pickled: bytes) -> None:
        self.pickled = pickled

    def __reduce__(self) -> Any:
        return pickle.loads, (self.pickled,)


class KeptShards:
    """Shards that this worker holds from one task to the next, so that they need not be sent again.

    Parameters
    ----------
    most
        Limit for their size in bytes.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._shards: dict[tuple[str, int], tuple[Shard, int]] = {}

    def get(self, name: str, part: int) -> Shard | None:
        """The shard of that number and dataset, if it is here."""
        return self._shards.get((name, part), (None, 0))[0]

    def keep(self, name: str, part: int, shard: Shard) -> None:
        """Keep the shard if memory is left; shards of other datasets are removed first."""
        size = shard.nbytes + shard.lengths.nbytes + shard.keys.nbytes
        others = [key for key in self._shards if key[0] != name]
        while others and self._used + size > self.most:
            del self._shards[others.pop(0)]
        if self._used + size <= self.most:
            self._shards[name, part] = shard, size

    @property
    def _used(self) -> int:
        return sum(size for _, size in self._shards.values())


KEPT = KeptShards(256 * 2**20)


class WorkerResult(NamedTuple):
    """Result of the shards that workers held, and the numbers of those that they did not."""

    result: Any
    """None for no shards."""
    missing: tuple[int, ...]

    def merge(self, other: WorkerResult) -> WorkerResult:
        """Answer for both sets of shards."""
        found = [answer.result for answer in (self, other) if answer.result is not None]
        return WorkerResult(
            found[0].merge(found[1]) if len(found) == 2 else next(iter(found), None),
            self.missing + other.missing,
        )


@dataclass(frozen=True)
class RunKept:
    """Run the task on those shards of a partition that this worker holds."""

    shared: Any
    """Broadcast variable with the task."""
    name: str
    """Name of the dataset."""

    @carried
    def __call__(self, rows: Iterator[tuple[int]]) -> Iterator[WorkerResult]:
        """One answer per partition that has shards; rows hold the numbers of the shards."""
        answers = [self._answer(part) for (part,) in rows]
        if answers:
            yield reduce(WorkerResult.merge, answers)

    def _answer(self, part: int) -> WorkerResult:
        shard = KEPT.get(self.name, part)
        return (
            WorkerResult(None, (part,))
            if shard is None
            else WorkerResult(self.shared.value.run(shard), ())
        )


@dataclass(frozen=True)
class RunTask:
    """Run the task on the shards of a partition; the merged result goes to one of `n_groups` groups."""

    shared: Any
    """Broadcast variable with the task."""
    name: str
    """Name of the dataset."""
    n_groups: int

    @carried
    def __call__(self, batches: Batches) -> Batches:
        """One row per partition that has shards."""
        task: Task[Any] = self.shared.value
        group, done = None, task.empty()
        for part, payload in rows_of_batches(batches, "part", "payload"):
            shard = pickle.loads(payload)
            KEPT.keep(self.name, part, shard)
            # not `run(shard, into)`: the shards of a partition may come in any order
            done, group = done.merge(task.run(shard)), part % self.n_groups
        if group is not None:
            yield _result(group, done)


@dataclass(frozen=True)
class MergeResults:
    """Merge the results of a partition; the outcome goes to one of `n_groups` groups."""

    n_groups: int

    @carried
    def __call__(self, batches: Batches) -> Batches:
        """One row per partition that has results."""
        group, done = 0, None
        for part, payload in rows_of_batches(batches, "part", "result"):
            found = pickle.loads(payload)
            done, group = found if done is None else done.merge(found), part % self.n_groups
        if done is not None:
            yield _result(group, done)


def _result(part: int, result: Any) -> pa.RecordBatch:
    return one_row_batch(
        part=pa.array([part], pa.int32()), result=pa.array([pickle.dumps(result, 5)], pa.binary())
    )
