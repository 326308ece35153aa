"""Spark when things go wrong: killed executors, odd partitions, clusters of several processes. The answers stay the same."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from plans import release
from spark_here import session

import standout as so
from standout.data.totals import unordered_fingerprint

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).with_name("spark_cluster.py")


@pytest.fixture
def folder(tmp_path):
    session()  # skips where Spark cannot run
    pq.write_table(release("plain", n_records=2000).to_arrow(), tmp_path / "release.parquet")
    return tmp_path


def run_on(master: str, folder: Path, what: str, timeout: int = 900) -> dict:
    """What `spark_cluster.py` printed; executors share one folder of compiled kernels."""
    source = str(Path(so.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, "NUMBA_CACHE_DIR": str(folder / "kernels")}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), master, str(folder), what],
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_an_executor_that_is_killed_while_it_scores_changes_no_answer(folder):
    found = run_on("local-cluster[2,1,1024]", folder, "kill")
    assert found["killed"] and found["same"]
    assert found["runs"] > found["shards"]  # those of the lost executor ran again


@contextmanager
def standalone(log: Path):
    """Address of a standalone master with two workers of one core each, started from the package of PySpark."""
    import pyspark

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(log / "work"),
        "SPARK_NO_DAEMONIZE": "1",
        "PYTHONPATH": str(Path(so.__file__).parents[1]),
    }
    address = f"spark://127.0.0.1:{port}"
    name = "org.apache.spark.deploy"
    commands = [
        [
            start,
            f"{name}.master.Master",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
            "--webui-port",
            "0",
        ],
        *[
            [
                start,
                f"{name}.worker.Worker",
                "--host",
                "127.0.0.1",
                "--cores",
                "1",
                "--memory",
                "1g",
                "--webui-port",
                "0",
                address,
            ]
        ]
        * 2,
    ]
    running = []
    try:
        with (log / "cluster.log").open("wb") as out:
            for command in commands:
                running.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out))
                time.sleep(5)
            yield address
    finally:
        for process in reversed(running):
            process.terminate()
        for process in running:
            process.wait(30)


def test_a_standalone_master_with_two_workers_gives_the_answers_of_memory(folder):
    with standalone(folder) as address:
        found = run_on(address, folder, "stay")
    assert found["same"] and found["runs"] == found["shards"]


@pytest.mark.parametrize("partitions", [1, 200])
def test_the_number_of_partitions_changes_nothing(partitions):
    table = release("missing").to_arrow()
    usual = so.Dataset.from_frame(table)
    far = so.SparkDataset.read(session().createDataFrame(table).repartition(partitions), shards=7)
    assert_same_records(far, usual)


def test_skewed_and_empty_partitions_change_nothing():
    data = release("repeats")
    table = data.to_arrow()
    usual = so.Dataset.from_frame(table)
    frame = session().createDataFrame(table)
    # nearly all rows in one partition of ten, most of the others empty
    skewed = (
        frame.selectExpr("*", "if(record % 50 = 0, item % 3, 99) AS place")
        .repartition(10, "place")
        .drop("place")
    )
    assert_same_records(so.SparkDataset.read(skewed), usual)


def test_more_shards_than_records_leave_some_empty_and_change_nothing():
    table = release("plain", n_records=5).to_arrow()
    far = so.SparkDataset.read(session().createDataFrame(table), shards=40)
    assert far.shards.n_shards <= 5
    assert_same_records(far, so.Dataset.from_frame(table))


def assert_same_records(far: so.SparkDataset, usual: so.Dataset) -> None:
    every = np.arange(usual.n_records)
    rows = far.rows(every)
    for name, expected in vars(usual.index.rows(every)).items():
        np.testing.assert_array_equal(getattr(rows, name), expected, err_msg=name)
    assert far.supports.tolist() == usual.supports.tolist()
    assert far.length_counts.tolist() == usual.length_counts.tolist()


def test_the_fingerprint_depends_on_the_contents_and_not_on_where_the_rows_lie():
    table = release("plain", n_records=60).to_arrow()
    frame = session().createDataFrame(table)
    first, second = (
        so.SparkDataset.read(f, shards=n).fingerprint
        for f, n in ((frame, 2), (frame.repartition(5), 3))
    )
    assert first == second == unordered_fingerprint(release("plain", n_records=60))
    # two values exchanged between records: the catalog stays the same
    values = table.column("value").to_pylist()
    a, b = 0, next(k for k, v in enumerate(values) if v != values[0] and k > 20)
    values[a], values[b] = values[b], values[a]
    changed = table.set_column(table.column_names.index("value"), "value", [values])
    assert so.SparkDataset.read(session().createDataFrame(changed), shards=2).fingerprint != first
