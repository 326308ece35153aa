"""What runs on Spark's executors: callables from Arrow batches to Arrow batches, without Spark's API."""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterator
from functools import reduce, wraps
from typing import Any, NamedTuple, ParamSpec, TypeVar
from zipimport import zipimporter

import numpy as np
import pyarrow as pa

from standout.data.index import Shard
from standout.data.tasks import Task
from standout.errors import StandoutError

Batches = Iterator[pa.RecordBatch]
P = ParamSpec("P")
T = TypeVar("T")

FAILED = r"<<standout (\w+)>>(.*?)<</standout>>"
"""Pattern of an error of standout in the text of an error of Spark."""


MANY_OBJECTS = 20_000
"""Python objects that a worker may have before they are left out of garbage collections."""


class WorkerError(Exception):
    """Carries an error of standout through Spark, which passes on only its text."""


def on_worker(run: Callable[P, Iterator[T]]) -> Callable[P, Iterator[T]]:
    """Let errors of standout pass through Spark: decorator for a function that runs on an executor."""

    @wraps(run)
    def wrapped(*args: P.args, **options: P.kwargs) -> Iterator[T]:
        try:
            yield from run(*args, **options)
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


def pickled_batch(content: Any, name: str = "payload", **numbers: int) -> pa.RecordBatch:
    """Batch of one row: whole numbers, int32 if they are called part or seat, and the pickled content under this name."""
    short = ("part", "seat")
    cells = {
        key: pa.array([x], pa.int32() if key in short else pa.int64()) for key, x in numbers.items()
    }
    return pa.record_batch({**cells, name: pa.array([pickle.dumps(content, 5)], pa.binary())})


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


@on_worker
def run_kept(shared: Any, name: str, rows: Iterator[tuple[int]]) -> Iterator[WorkerResult]:
    """Run a task on those shards of a partition that this worker holds: one result per partition that has shards.

    Parameters
    ----------
    shared
        Broadcast variable with the task.
    name
        Name of the dataset.
    rows
        Numbers of the shards.
    """
    results = []
    for (part,) in rows:
        shard = KEPT.get(name, part)
        found = (None, (part,)) if shard is None else (shared.value.run(shard), ())
        results.append(WorkerResult(*found))
    if results:
        yield reduce(WorkerResult.merge, results)


@on_worker
def run_task(shared: Any, name: str, n_groups: int, batches: Batches) -> Batches:
    """Run a task on the shards of a partition; the merged result goes to one of `n_groups` groups. Other parameters as above."""
    task: Task[Any] = shared.value
    group, done = None, task.empty()
    for part, payload in rows_of_batches(batches, "part", "payload"):
        shard = pickle.loads(payload)
        KEPT.keep(name, part, shard)
        # not `run(shard, into)`: the shards of a partition may come in any order
        done, group = done.merge(task.run(shard)), part % n_groups
    if group is not None:
        yield pickled_batch(done, "result", part=group)


@on_worker
def merge_results(n_groups: int, batches: Batches) -> Batches:
    """Merge the results of a partition; the outcome goes to one of `n_groups` groups."""
    group, done = 0, None
    for part, payload in rows_of_batches(batches, "part", "result"):
        found = pickle.loads(payload)
        done, group = found if done is None else done.merge(found), part % n_groups
    if done is not None:
        yield pickled_batch(done, "result", part=group)
