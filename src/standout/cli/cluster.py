"""Options of commands that run on Spark: where, and which of the reading options apply there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.engines.spark import SparkEngine
    from standout.engines.spark_dataset import SparkDataset

Master = Annotated[
    str | None,
    typer.Option(
        help="With --engine spark: where Spark runs, e.g. local[4], spark://host:7077, yarn. Default: all cores."
    ),
]

_NOT_ON_SPARK = ("encoding", "delimiter", "header", "names", "wide", "zeros", "table")


def spark_for(engine: str, master: str | None) -> SparkEngine | None:
    """The Spark engine, started, if that is the one; None for every other engine."""
    if engine != "spark":
        if master is not None:
            raise ParameterError(
                f"--master is for --engine spark, and the engine is {engine!r}: leave it out"
            )
        return None
    from standout.engines.spark import SparkEngine

    return SparkEngine(master=master)


def read_on_spark(path: str, engine: SparkEngine, keywords: dict[str, Any]) -> SparkDataset:
    """Read a table, or a path that Spark can read, into shards on the cluster."""
    from standout.engines.spark_dataset import SparkDataset

    given = [name for name in _NOT_ON_SPARK if name in keywords]
    if given:
        raise ParameterError(
            f"{', '.join(given)}: Spark reads the files itself; leave it out with --engine spark"
        )
    return SparkDataset.read(path, engine=engine, **keywords)
