"""Runs in a process of its own: a cluster of several processes, an executor that is killed, and the answers as JSON.

usage: python spark_cluster.py MASTER FOLDER kill|stay
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = sys.executable

import numpy as np
import psutil
from pyspark.sql import SparkSession

import standout as so


class Slow(so.Task):
    """A task that leaves a file for each shard, and takes its time, so that it can be interrupted."""

    def __init__(self, task: so.Task, folder: str, seconds: float) -> None:
        self.task, self.folder, self.seconds = task, folder, seconds

    def empty(self):
        return self.task.empty()

    def run(self, shard, into=None, queries=None):
        Path(self.folder, f"{shard.first_record}-{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(self.seconds)
        return self.task.run(shard, into, queries)


class SlowEngine:
    """Runs every task as a slow one."""

    name = "spark"

    def __init__(self, inner: so.SparkEngine, folder: str, seconds: float) -> None:
        self.inner, self.folder, self.seconds = inner, folder, seconds
        self.batch_bytes, self.batch_queries, self.n_maps = (
            inner.batch_bytes,
            inner.batch_queries,
            0,
        )

    def map(self, task, shards):
        self.n_maps += 1
        return self.inner.map(Slow(task, self.folder, self.seconds), shards)


def executors() -> list[int]:
    """Process ids of the executors that this process's cluster runs."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it ended in the meantime
            if any("CoarseGrainedExecutorBackend" in word for word in process.cmdline()):
                found.append(process.pid)
    return found


def main(master: str, folder: str, what: str) -> None:
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "spark.executorEnv.NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", ""),
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        if value:
            builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    started = time.perf_counter()
    frame = spark.read.parquet(f"{folder}/release.parquet").repartition(6)
    far = so.SparkDataset.read(frame, shards=8)
    read = time.perf_counter() - started
    data = so.Dataset.read(f"{folder}/release.parquet")
    who = so.Adversary(knows=3, value_within=1, time_within=14)
    aux = who.sample(data, who.eligible(data)[:30], seed=1)
    marks = Path(folder, "marks")
    marks.mkdir(exist_ok=True)
    killed = []

    def kill() -> None:
        while not any(marks.iterdir()) or not executors():
            time.sleep(0.01)
        killed.append(executors()[0])
        os.kill(killed[0], signal.SIGKILL)

    if what == "kill":
        threading.Thread(target=kill, daemon=True).start()
    far.__dict__["engine"] = SlowEngine(far.engine, str(marks), 0.5 if what == "kill" else 0.0)
    mine, usual = (so.attack("scoreboard-rh").run(place, aux) for place in (far, data))
    again = time.perf_counter()
    so.attack("scoreboard-rh").run(far, aux)
    print(
        json.dumps(
            {
                "same": all(
                    np.array_equal(getattr(mine, n), getattr(usual, n), equal_nan=True)
                    for n in ("best", "score", "second")
                ),
                "killed": killed,
                "runs": len(list(marks.iterdir())),
                "shards": far.shards.n_shards * far.engine.n_maps,
                "read_seconds": round(read, 2),
                "again_seconds": round(time.perf_counter() - again, 2),
            }
        )
    )
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
