"""The Spark engine beside the memory engine, and the memory of the driver as the data grows.

usage: python benchmarks/spark.py time   [--entries 20000000] [--targets 2000] [--master local-cluster[2,1,1024]]
       python benchmarks/spark.py driver [--entries 2000000]

`time` prints wall seconds of the same attacks on two single-core executors and on two threads, start-up aside. `driver`
prints the memory of the driver after an attack; run it with 10 times the entries to see what grows.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

import numpy as np
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
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path),
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


def attacked(data, targets: np.ndarray, engine: str) -> tuple[dict[str, float], dict[str, so.Verdicts]]:
    """Seconds and answers of each attack; each runs once before, so that kernels are compiled and shards are in place."""
    aux, warm = (WHO.sample(data, some, seed=7) for some in (targets, targets[:50]))
    seconds, answers = {}, {}
    for name in ATTACKS:
        so.attack(name).run(data, warm, engine=engine)
        began = time.perf_counter()
        answers[name] = so.attack(name).run(data, aux, engine=engine, watch=targets)
        seconds[name] = round(time.perf_counter() - began, 2)
    return seconds, answers


def compare(n: int, n_targets: int, master: str) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "entries.parquet"))
        spark = session(master)
        entries(spark, n).write.parquet(path)
        began = time.perf_counter()
        far = so.SparkDataset.read(path)
        read = time.perf_counter() - began
        _, targets = WHO.choose_targets(far, n_targets, 7)
        first = time.perf_counter()
        so.attack(ATTACKS[0]).run(far, WHO.sample(far, targets[:2], seed=1))
        first = time.perf_counter() - first
        on_spark, mine = attacked(far, targets, "spark")
        spark.stop()
        data = so.Dataset.read(path)
        data.index  # noqa: B018
        in_memory, usual = attacked(data, targets, "memory")
    same = all(
        np.array_equal(getattr(mine[a], x), getattr(usual[a], x), equal_nan=True)
        for a in ATTACKS for x in ("best", "runner_up", "score", "n_tied", "rank")
    )  # fmt: skip
    return {
        "entries": n, "targets": int(targets.size), "master": master, "shards": far.shards.n_shards, "same": same,
        "read_seconds": round(read, 1), "first_attack_seconds": round(first, 1), "spark_seconds": on_spark,
        "memory_seconds": in_memory, "ratio": {a: round(on_spark[a] / in_memory[a], 2) for a in ATTACKS},
    }  # fmt: skip


def driver(n: int, master: str) -> dict[str, object]:
    spark = session(master)
    far = so.SparkDataset.read(entries(spark, n))
    _, targets = WHO.choose_targets(far, 200, 7)
    so.attack(ATTACKS[0]).run(far, WHO.sample(far, targets, seed=7))
    runtime = spark._jvm.java.lang.Runtime.getRuntime()
    spark._jvm.java.lang.System.gc()
    found = {
        "entries": n, "records": far.n_records, "items": far.n_items, "shards": far.shards.n_shards,
        "python_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "java_heap_after_gc_mb": round((runtime.totalMemory() - runtime.freeMemory()) / 2**20),
    }  # fmt: skip
    spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["time", "driver"])
    parser.add_argument("--entries", type=int, default=None)
    parser.add_argument("--targets", type=int, default=2000)
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    given = parser.parse_args()
    if given.what == "time":
        print(json.dumps(compare(given.entries or 20_000_000, given.targets, given.master)))
    else:
        print(json.dumps(driver(given.entries or 2_000_000, given.master)))


if __name__ == "__main__":
    main()
