"""The engine protocol, and engines by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from standout.data.catalog import Catalog
from standout.data.index import Shard
from standout.data.tasks import Result, Task
from standout.errors import EngineError, ParameterError

R = TypeVar("R", bound=Result)


class Engine(Protocol):
    """Runs tasks on shards of records. An engine knows no attack, and no attack knows which engine runs it."""

    name: str
    batch_bytes: int
    """Limit for the tables of one batch of queries, in bytes, if no two facts share a row."""
    batch_queries: int
    """Limit for the number of queries in a batch."""

    def map(self, task: Task[R], shards: Sequence[Shard]) -> R:
        """Run the task on each shard and merge the results; together, the shards hold every record once."""
        ...


OWN_ENGINES: dict[str, Callable[[], Engine]] = {}

E = TypeVar("E", bound=Callable[[], Engine])


def register_engine(name: str) -> Callable[[E], E]:
    """Class decorator that registers an engine under `name`: `engine="name"` makes it without arguments."""

    def add(make: E) -> E:
        OWN_ENGINES[name] = make
        return make

    return add


def engine(which: str | Engine, data: Catalog | None = None) -> Engine:
    """Return the engine of that name, or `which` itself. Without a GPU, "gpu" gives "memory" with a warning.

    Data whose records are not in memory brings its own engine, which is used instead of "memory".
    """
    from standout.engines.memory import MemoryEngine

    home: Engine | None = None if data is None else data.home_engine
    if home is not None:
        name = which if isinstance(which, str) else which.name
        if name not in ("memory", home.name):
            raise ParameterError(
                f"engine={name!r}: the records of this dataset are not in memory; use {home.name!r}"
            )
        return home
    if not isinstance(which, str):
        if not callable(getattr(which, "map", None)):
            raise ParameterError(
                f"engine is a {type(which).__name__}: use the name of an engine, or an engine"
            )
        return which
    if which in OWN_ENGINES:
        return OWN_ENGINES[which]()
    if which == "memory":
        return MemoryEngine()
    if which == "gpu":
        from standout.engines.gpu import GpuEngine

        try:
            return GpuEngine()
        except EngineError as error:
            warnings.warn(
                f"{error}: engine 'memory' runs instead, with the same answers", stacklevel=2
            )
            return MemoryEngine()
    if which == "chunked":
        from standout.engines.chunked import ChunkedEngine

        return ChunkedEngine()
    if which == "spark":
        from standout.engines.spark import SparkEngine

        return SparkEngine()
    there = ", ".join(["memory", "gpu", "chunked", "spark", *OWN_ENGINES])
    raise ParameterError(f"no engine {which!r}. Engines: {there}")
