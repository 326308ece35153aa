"""The Spark engine beside the memory engine, and the memory of the driver as the data grows.

usage: python benchmarks/spark.py time   [--entries 20000000] [--targets 2000] [--repeat 7]
[--master local-cluster[2,1,1024]]
       python benchmarks/spark.py driver [--entries 2000000]

`time` prints wall seconds and core seconds of the same attacks on two single-core executors and on
two threads, start-up aside: the fastest of several runs, because Java compiles for a while and
other programs may run. `driver` prints the memory of the driver after an attack; run it with 10
times the entries to see what grows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

import numpy as np
import psutil
from pyspark.sql import SparkSession

import standout as so

WHO = so.Adversary(knows=8, wrong=2, value_within=1, time_within=14)
ATTACKS = ("scoreboard-rh", "likelihood")
ITEMS, PER_RECORD = 17_770, 200


def session(master: str) -> SparkSession:
    builder = SparkSession.builder.master(master).appName("standout benchmark")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(
            str(Path(path).resolve()) for path in sys.path if path
        ),
    }
    for name, value in settings.items():
        if value:
            builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


def entries(spark: SparkSession, n: int):
    """Entries made on the executors: 200 per record, items with a popular head, five values, 2,000 days."""
    uniform = "pmod(hash(id, {}), 1000003) / 1000003D"
    return spark.range(n, numPartitions=8).selectExpr(
        f"id div {PER_RECORD} AS record",
        f"cast(pow({uniform.format(1)}, 3) * {ITEMS} AS int) AS item",
        f"cast(1 + {uniform.format(2)} * 5 AS int) AS value",
        f"date_add(date'2000-01-01', cast({uniform.format(3)} * 2000 AS int)) AS time",
    )


def core_seconds() -> dict[int, float]:
    """Core seconds of this process and all that it started, by process: the driver, the executors and their workers."""
    used = {}
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        with suppress(psutil.Error):  # it ended in the meantime
            times = process.cpu_times()
            used[process.pid] = times.user + times.system
    return used


def attacked(
    name: str, data, aux: so.Knowledge, targets: np.ndarray
) -> tuple[float, float, so.Verdicts]:
    """Wall seconds, core seconds and answers of an attack."""
    cores, began = core_seconds(), time.perf_counter()
    answers = so.attack(name).run(data, aux, watch=targets)
    wall, after = time.perf_counter() - began, core_seconds()
    return wall, sum(used - cores.get(process, 0.0) for process, used in after.items()), answers


def side_by_side(name: str, far, data, targets: np.ndarray, repeat: int) -> dict[str, object]:
    """The attack on Spark and in memory, in turns, so that other programs slow both down alike; the fastest run of each."""
    for place in (far, data):
        so.attack(name).run(place, WHO.sample(place, targets[:50], seed=7))
    both = [(place, WHO.sample(place, targets, seed=7)) for place in (far, data)]
    runs = [[attacked(name, place, aux, targets) for place, aux in both] for _ in range(repeat)]
    (wall, cores), (usual_wall, usual_cores) = (
        [min(run[k][what] for run in runs) for what in (0, 1)] for k in (0, 1)
    )
    mine, usual = (answers for *_, answers in runs[-1])
    exact = ("best", "runner_up", "score", "n_tied", "rank")
    return {
        "same": all(
            np.array_equal(getattr(mine, x), getattr(usual, x), equal_nan=True) for x in exact
        ),
        "spark_wall": round(wall, 2),
        "memory_wall": round(usual_wall, 2),
        "wall_ratio": round(wall / usual_wall, 2),
        "spark_cores": round(cores, 2),
        "memory_cores": round(usual_cores, 2),
        "core_ratio": round(cores / usual_cores, 2),
    }


def compare(n: int, n_targets: int, master: str, repeat: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "entries.parquet"))
        spark = session(master)
        entries(spark, n).write.parquet(path)
        began = time.perf_counter()
        far = so.SparkDataset.read(path)
        read = time.perf_counter() - began
        data = so.Dataset.read(path)
        data.index  # noqa: B018
        _, targets = WHO.choose_targets(data, n_targets, 7)
        found = {name: side_by_side(name, far, data, targets, repeat) for name in ATTACKS}
        spark.stop()
    return {
        "entries": n,
        "targets": int(targets.size),
        "master": master,
        "shards": far.shards.n_shards,
        "read_seconds": round(read, 1),
        "load": [round(x, 1) for x in os.getloadavg()],
        "repeat": repeat,
        **found,
    }


def driver(n: int, master: str) -> dict[str, object]:
    spark = session(master)
    far = so.SparkDataset.read(entries(spark, n))
    _, targets = WHO.choose_targets(far, 200, 7)
    so.attack(ATTACKS[0]).run(far, WHO.sample(far, targets, seed=7))
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    spark._jvm.java.lang.System.gc()
    found = {
        "entries": n,
        "records": far.n_records,
        "items": far.n_items,
        "shards": far.shards.n_shards,
        "python_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "java_heap_after_gc_mb": round((runtime.totalMemory() - runtime.freeMemory()) / 2**20),
    }
    spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["time", "driver"])
    parser.add_argument("--entries", type=int, default=None)
    parser.add_argument("--targets", type=int, default=2000)
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    given = parser.parse_args()
    if given.what == "time":
        print(
            json.dumps(
                compare(given.entries or 20_000_000, given.targets, given.master, given.repeat)
            )
        )
    else:
        print(json.dumps(driver(given.entries or 2_000_000, given.master)))


if __name__ == "__main__":
    main()
