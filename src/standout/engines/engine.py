"""The engine protocol, and engines by name."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Protocol, TypeVar

from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.errors import EngineError, ParameterError
from standout.scoring.tasks import Result, Task

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


def shards_of(dataset: Dataset) -> Sequence[Shard]:
    """Shards that together hold every record of the dataset once."""
    return [dataset.index]


def engine(which: str | Engine) -> Engine:
    """Return the engine of that name, or `which` itself. Without a GPU, "gpu" gives "memory" with a warning."""
    from standout.engines.memory import MemoryEngine

    if not isinstance(which, str):
        return which
    if which == "memory":
        return MemoryEngine()
    if which == "gpu":
        from standout.engines.gpu import GpuEngine

        try:
            return GpuEngine()
        except EngineError as error:
            warnings.warn(f"{error}: engine 'memory' runs instead, with the same answers", stacklevel=2)
            return MemoryEngine()
    raise ParameterError(f"no engine {which!r}. Engines: memory, gpu")
