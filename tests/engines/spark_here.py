"""One Spark session per test process, bound to the loopback address."""

from __future__ import annotations

import os
import shutil
import sys
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

import standout as so


@cache
def session() -> Any:
    """The session that all tests of this process share; tests are skipped where Spark cannot run."""
    pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'standout[spark]'")
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        pytest.skip("no java here: apt-get install openjdk-17-jre-headless")
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # STANDOUT_SPARK=local-cluster[2,1,1024] runs the same tests on a cluster of several processes
    builder = SparkSession.builder.master(os.environ.get("STANDOUT_SPARK", "local[1]")).appName(
        "standout tests"
    )
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # a test has little data: what costs time is compiling, on every level, and starting tasks
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made


@pytest.fixture
def spark() -> Any:
    return session()


def frame_of(table: pa.Table, partitions: int = 3) -> Any:
    """The rows as a Spark DataFrame, spread over some partitions."""
    return session().createDataFrame(table).repartition(partitions)


def on_spark(table: pa.Table, partitions: int = 3, **options: Any) -> so.SparkDataset:
    return so.SparkDataset.read(frame_of(table, partitions), **options)
