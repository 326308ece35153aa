"""The Spark engine: tasks run where the records lie, and results merge in a tree. Only this module uses Spark's API."""

from __future__ import annotations

import os
import pickle
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from typing import Any, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary, finalize

import pyarrow as pa

from standout import errors
from standout.data.index import Shard
from standout.data.tasks import Result, Task
from standout.engines.spark_worker import (
    FAILED,
    Sent,
    WorkerResult,
    merge_results,
    merged,
    run_kept,
    run_task,
    seats_for,
)
from standout.errors import EngineError, InputError

R = TypeVar("R", bound=Result)
Batches = Iterator[pa.RecordBatch]

FAN_IN = 32
"""Results that are merged at once, on an executor or by the driver."""

MOST_MISSED = 2
"""Tasks in a row for which workers lack most shards; from then on, all shards are sent to them for each task."""

SHARD_BYTES = 64 * 2**20
"""Bytes of a slice of a shard that is sent to the cluster, at most; Spark cannot hold a row of 2 GB."""

PER_CORE = 3
"""Slices per core: cores that finish early take another one."""

_INSTALL = "pip install 'standout[spark]'"
_JAVA = "apt-get install default-jre-headless"


@dataclass(eq=False, repr=False)
class ClusterShards:
    """Shards in a persisted Spark DataFrame: one row per shard, with its number and the pickled shard.

    Python workers keep the shards that they were sent, as far as memory is left. Tasks are first run
    on those.
    """

    frame: Any
    n_shards: int
    name: str = field(default_factory=lambda: uuid4().hex)
    """Name that is used nowhere else: workers keep shards of several datasets."""
    n_missed: int | None = None
    """Tasks in a row for which workers lacked most shards; None before the first task."""

    @cached_property
    def numbers(self) -> Any:
        """RDD of the numbers of the shards, where they lie. It is planned once, not for each task as DataFrames are."""
        return self.frame.select("part").rdd

    def __repr__(self) -> str:
        return f"<{self.n_shards:,} shards on Spark>"


_DISTRIBUTED: WeakKeyDictionary[Shard, dict[str, ClusterShards]] = WeakKeyDictionary()


class SparkEngine:
    """Runs tasks on a Spark cluster.

    Parameters
    ----------
    session
        A SparkSession. Default: the active one, else a new one.
    master
        Where a new session runs, such as "local[2]" or "spark://host:7077". Default: Spark's own
        settings, else all cores of this machine.
    """

    name = "spark"
    batch_bytes = 2**28
    batch_queries = 16_384

    def __init__(self, session: Any = None, master: str | None = None) -> None:
        self.session = _session(master) if session is None else session

    @property
    def cores(self) -> int:
        """Tasks that the cluster runs at the same time."""
        return max(int(self.session.sparkContext.defaultParallelism), 1)

    def map(self, task: Task[R], shards: Sequence[Shard] | ClusterShards) -> R:
        """Run the task on each shard, where it lies, and merge the results."""
        if isinstance(shards, ClusterShards):
            return self._run(task, shards)
        done = task.empty()
        for shard in shards:
            done = done.merge(self._run(task, self._distributed(shard)))
        return done

    def _run(self, task: Task[R], shards: ClusterShards) -> R:
        from pyspark import cloudpickle

        # tasks of a notebook travel with their code
        shared = self.session.sparkContext.broadcast(Sent(cloudpickle.dumps(task)))
        try:
            if shards.n_missed is None or shards.n_missed >= MOST_MISSED:
                shards.n_missed = shards.n_missed or 0
                done: R = merged(self._sent(shared, shards, shards.frame), task.empty())
                return done
            found = self._kept(shared, shards)
            shards.n_missed = shards.n_missed + 1 if 2 * len(found.missing) > shards.n_shards else 0
            done = task.empty() if found.result is None else task.empty().merge(found.result)
            if found.missing:
                lacking = shards.frame.where(
                    f"part IN ({', '.join(str(part) for part in found.missing)})"
                )
                done = merged(self._sent(shared, shards, lacking), done)
            return done
        finally:
            shared.destroy()

    def _kept(self, shared: Any, shards: ClusterShards) -> WorkerResult:
        """Run the task on the shards that workers hold."""
        with _quiet(), _translated():
            answers = shards.numbers.mapPartitions(partial(run_kept, shared, shards.name))
            few = (
                answers.collect()
                if shards.n_shards <= FAN_IN
                else [answers.treeReduce(WorkerResult.merge)]
            )
        return reduce(WorkerResult.merge, few, WorkerResult(None, ()))

    def _sent(self, shared: Any, shards: ClusterShards, frame: Any) -> list[bytes]:
        """Send shards to workers and run the task on them: results, pickled, at most `FAN_IN` of them."""
        n = -(-shards.n_shards // FAN_IN)
        results = self.apply(
            frame, partial(run_task, shared, shards.name, n), "part int, result binary"
        )
        while n > 1:
            fewer = -(-n // FAN_IN)
            results = self.apply(
                results.repartition(n, "part"),
                partial(merge_results, fewer),
                "part int, result binary",
            )
            n = fewer
        with self._same_workers():
            found: list[bytes] = self.fetch(results).column("result").to_pylist()
        return found

    @contextmanager
    def _same_workers(self) -> Iterator[None]:
        """Let DataFrames use the workers of RDDs: Spark starts workers of their own for those with shorter error messages."""
        name, settings = (
            "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled",
            self.session.conf,
        )
        usual = settings.get(name)
        settings.set(name, "false")
        try:
            yield
        finally:
            settings.set(name, usual)

    def _distributed(self, shard: Shard) -> ClusterShards:
        """The shard in slices on the cluster, sent on first use and kept as long as the shard exists."""
        kept = _DISTRIBUTED.setdefault(shard, {})
        where = self.session.sparkContext.applicationId
        if where not in kept:
            slices = shard.slices(max(PER_CORE * self.cores, -(-shard.nbytes // SHARD_BYTES)))
            seats = seats_for(len(slices))
            table = pa.table(
                {
                    "seat": pa.array(seats, pa.int32()),
                    "part": pa.array(range(len(slices)), pa.int32()),
                    "payload": pa.array([pickle.dumps(piece, 5) for piece in slices], pa.binary()),
                }
            )
            frame = self.session.createDataFrame(table).repartition(len(slices), "seat")
            kept[where] = ClusterShards(self.persist(frame.select("part", "payload")), len(slices))
            finalize(shard, _dropped, kept[where].frame).atexit = False
        return kept[where]

    def apply(self, frame: Any, function: Callable[[Batches], Batches], schema: str) -> Any:
        """DataFrame of what the function makes of the Arrow batches of each partition."""

        def run(batches: Batches) -> Batches:
            return function(batches)

        with _quiet():
            return frame.mapInArrow(run, schema)

    def fetch(self, frame: Any) -> pa.Table:
        """Rows of a small DataFrame. Errors that standout raised on an executor are raised here."""
        with _quiet(), _translated():
            return frame.toArrow()

    def persist(self, frame: Any) -> Any:
        """The DataFrame, kept by the executors when it is first computed, in memory as far as it fits."""
        from pyspark import StorageLevel

        return frame.persist(StorageLevel.MEMORY_AND_DISK)

    def frame_of(self, source: Any) -> Any:
        """The DataFrame, the table of that name, or the files of that path as a DataFrame."""
        if is_frame(source):
            return source
        text = os.fspath(source)
        with _quiet(), _translated():
            if "/" not in text and self.session.catalog.tableExists(text):
                return self.session.table(text)
            reader, name = self.session.read, text.rstrip("/").lower()
            if name.endswith((".csv", ".csv.gz", ".tsv", ".tsv.gz")):
                mark = "\t" if ".tsv" in name else ","
                return reader.csv(text, header=True, inferSchema=True, sep=mark)
            for kind in ("json", "orc"):
                if name.endswith((f".{kind}", f".{kind}l", f".{kind}.gz")):
                    return reader.format(kind).load(text)
            return reader.parquet(text)

    def earlier_equals(self, counts: Any) -> Any:
        """Add `before` to rows (hash, part, n): the sum of `n` over the same hash in earlier parts; rows with 0 are left out."""
        from pyspark.sql import Window, functions

        earlier = (
            Window.partitionBy("hash").orderBy("part").rowsBetween(Window.unboundedPreceding, -1)
        )
        return counts.withColumn("before", functions.sum("n").over(earlier)).where("before > 0")

    def summed(self, counts: Any, label: str) -> Any:
        """Rows (label, n) with the sum of `n` per label; rows without the label are left out."""
        from pyspark.sql import functions

        return (
            counts.where(f"{label} IS NOT NULL").groupBy(label).agg(functions.sum("n").alias("n"))
        )

    def sampled(self, counts: Any, most: int) -> Any:
        """Rows (record, n) with the sum of `n` per record, for the `most` records with the lowest places."""
        from pyspark.sql import functions

        found = counts.where("record IS NOT NULL").groupBy("record")
        summed = found.agg(functions.sum("n").alias("n"), functions.first("place").alias("place"))
        return summed.orderBy("place").limit(most)


def _dropped(frame: Any) -> None:
    """Let the executors forget the rows; nothing to do if the session has ended."""
    with suppress(Exception):
        frame.unpersist()


def is_frame(source: Any) -> bool:
    """Whether the object is a Spark DataFrame, without importing Spark."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "mapInArrow")


def _session(master: str | None) -> Any:
    """The active session, or a new one whose executors use this Python."""
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise EngineError(f"engine 'spark' needs PySpark: {_INSTALL}") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        if master is not None and active.sparkContext.master != master:
            raise EngineError(
                f"master={master!r}: a Spark session already runs on {active.sparkContext.master!r}. Stop it, or leave "
                "out master"
            )
        return active
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        raise EngineError(f"engine 'spark' needs Java 17 or 21, and there is no java here: {_JAVA}")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("standout").config(
        "spark.ui.showConsoleProgress", "false"
    )
    if master is not None:
        builder = builder.master(master)
    try:
        with _quiet():
            return builder.getOrCreate()
    except Exception as error:  # Py4J and Spark raise nearly anything
        raise EngineError(
            f"Spark does not start ({type(error).__name__}). It needs Java 17 or 21: {_JAVA}"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Ignore warnings of PySpark itself: it warns about pandas, which is not used here, and leaves sockets to be closed later."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _translated() -> Iterator[None]:
    """Raise what standout raised on an executor; replace other errors of Spark, which may quote cells, by one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        text = str(error)
        if found := re.search(FAILED, text, re.DOTALL):
            kind = getattr(errors, found[1], EngineError)
            raise kind(found[2].replace("\n  ", "\n")) from None
        reason = error.getCondition() if isinstance(error, PySparkException) else None
        if reason in ("PATH_NOT_FOUND", "TABLE_OR_VIEW_NOT_FOUND", "UNABLE_TO_INFER_SCHEMA"):
            raise InputError(
                f"Spark finds no data there ({reason}): check the path or the name of the table"
            ) from None
        raise EngineError(
            f"Spark could not finish a job ({reason or type(error).__name__}): its log has the details"
        ) from None
