"""The engine protocol, and engines by name."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.errors import EngineError, ParameterError
from standout.scoring.partials import Partials
from standout.scoring.plan import Plan

Array = npt.NDArray[Any]


class Engine(Protocol):
    """Runs a plan over all shards of a dataset."""

    name: str

    def run(self, plan: Plan, dataset: Dataset, watch: Array | None = None, k: int = 2) -> Partials:
        """Top k records (at least 2), ties and sums per query; `watch` holds one integer score per query to count against."""
        ...

    def mass(self, plan: Plan, dataset: Dataset, top: Array, beta: Array) -> Array:
        """Σ exp(beta · (score - top)) over all candidates, per query, in integer score units."""
        ...

    def score_record(self, plan: Plan, dataset: Dataset, record: Array) -> Array:
        """Integer score of one record per query; `LOWEST` where the record is -1."""
        ...

    def scores(self, plan: Plan, dataset: Dataset) -> Array:
        """All integer scores (queries, records); for small data."""
        ...


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
