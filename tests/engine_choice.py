"""Option `--engines`, and where the conformance suite runs: each engine, with the release as it holds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from parts import cut_small

import standout as so
from standout.errors import StandoutError

DEFAULT = "memory,chunked"


class Place(NamedTuple):
    """A release, and the engine that attacks it."""

    data: Any
    engine: Any


def _in_memory(name: str) -> Callable[[Path, so.Dataset], Place]:
    def place(file: Path, data: so.Dataset) -> Place:
        from standout.engines.engine import engine

        return Place(data, engine(name))

    return place


def _gpu(file: Path, data: so.Dataset) -> Place:
    from standout.engines.gpu import GpuEngine  # by name, the memory engine would run instead

    return Place(data, GpuEngine())


def _on_disk(file: Path, data: so.Dataset) -> Place:
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch)
        made = so.ChunkedDataset.read(file, threads=2)
    return Place(made, made.home_engine)


def _by_spark(file: Path, data: so.Dataset) -> Place:
    from spark_here import session

    return Place(data, so.SparkEngine(session()))


def _on_spark(file: Path, data: so.Dataset) -> Place:
    from spark_here import session

    made = so.SparkDataset.read(str(file), engine=so.SparkEngine(session()), shards=4)
    return Place(made, made.home_engine)


PLACES: dict[str, dict[str, Callable[[Path, so.Dataset], Place]]] = {
    "memory": {"in memory": _in_memory("memory")},
    "gpu": {"in memory": _gpu},
    "chunked": {"in memory": _in_memory("chunked"), "on disk": _on_disk},
    "spark": {"in memory": _by_spark, "on Spark": _on_spark},
}
"""Per engine: ways to hold a release, each from a Parquet file and from the same release in memory."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--engines",
        default=DEFAULT,
        help=f"engines of the conformance suite, comma-separated (default: {DEFAULT})",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize tests with a `where`: (engine, how it holds the release)."""
    if "where" not in metafunc.fixturenames:
        return
    names = [name.strip() for name in metafunc.config.getoption("--engines").split(",")]
    unknown = [name for name in names if name not in PLACES]
    if unknown:
        raise pytest.UsageError(f"--engines {unknown[0]}: choose from {', '.join(PLACES)}")
    all_of = [(name, how) for name in names for how in PLACES[name]]
    metafunc.parametrize(
        "where", all_of, ids=[f"{name}, {how}" for name, how in all_of], scope="module"
    )


def place_of(where: tuple[str, str], file: Path, data: so.Dataset) -> Place:
    """The place, or a sentence why its tests are skipped."""
    name, how = where
    try:
        return PLACES[name][how](file, data)
    except (StandoutError, ImportError) as error:
        pytest.skip(f"engine {name!r} cannot run here: {error}")
