"""The GPU engine: the index stays on the device, and blocks of records are scored in shared memory."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.data.index import build_shard
from standout.engines.memory import MemoryEngine
from standout.errors import EngineError, ParameterError
from standout.scoring.gpu import Device, DeviceIndex
from standout.scoring.partials import Partials
from standout.scoring.plan import Combine, Plan

Array = npt.NDArray[Any]

THREADS, PER_SM = 512, 2
"""Threads per thread block, thread blocks per multiprocessor: the fastest on an H200 for two attacks (docs/speed.md)."""

_INDEXES: WeakKeyDictionary[Dataset, dict[int, DeviceIndex]] = WeakKeyDictionary()


class GpuEngine:
    """Runs plans on one CUDA device, through CuPy. Plans of `Combine.EXACT` run on the CPU, by the memory engine.

    Parameters
    ----------
    block_size
        Records whose scores are in shared memory at once; by default, as many as fit beside the tables.
    threads, per_sm
        Shape of the launch.
    batch_queries
        Queries per batch: larger batches share more table rows and take more memory.
    """

    name = "gpu"
    batch_bytes = 2**34
    """Limit for the tables of one batch of queries, in bytes, if no two facts share a row."""

    def __init__(
        self, block_size: int | None = None, threads: int = THREADS, per_sm: int = PER_SM, batch_queries: int = 32_768
    ) -> None:
        if block_size is not None and (block_size < 4 or block_size % 4):
            raise ParameterError(
                f"block_size={block_size}: the kernel reads four scores at a time; use a multiple of 4"
            )
        if not 32 <= threads <= 1024 or threads % 32:
            raise ParameterError(f"threads={threads}: use a multiple of 32, at most 1024")
        if batch_queries < 1:
            raise ParameterError(f"batch_queries={batch_queries}: a batch holds at least one query")
        self.batch_queries = batch_queries
        self._device = Device(threads, per_sm)
        self.block_size = block_size or self._device.largest_block

    @property
    def kernel_seconds(self) -> float:
        """Kernel time so far, in seconds."""
        return self._device.kernel_seconds

    @property
    def device_name(self) -> str:
        """Name of the device, from the driver."""
        return str(self._device.name)

    def run(self, plan: Plan, dataset: Dataset, watch: Array | None = None, k: int = 2) -> Partials:
        """Top k (at least 2), ties and sums per query. For k above 2 and for `Combine.EXACT` this call runs on the CPU."""
        if k > 2 or plan.combine == Combine.EXACT:
            return MemoryEngine().run(plan, dataset, watch, k)
        marks = np.full(plan.n_queries, 2**31, np.int64) if watch is None else watch
        return self._device.run(plan, self.index(dataset, plan), marks)

    def mass(self, plan: Plan, dataset: Dataset, top: Array, beta: Array) -> Array:
        """Σ exp(beta · (score - top)) over all candidates."""
        if plan.combine == Combine.EXACT:
            return MemoryEngine().mass(plan, dataset, top, beta)
        return self._device.mass(plan, self.index(dataset, plan), top, beta)

    def score_record(self, plan: Plan, dataset: Dataset, record: Array) -> Array:
        """Integer score of one record per query."""
        if plan.combine == Combine.EXACT:
            return MemoryEngine().score_record(plan, dataset, record)
        return self._device.score_record(plan, self.index(dataset, plan), record)

    def scores(self, plan: Plan, dataset: Dataset) -> Array:
        """All integer scores."""
        if plan.combine == Combine.EXACT:
            return MemoryEngine().scores(plan, dataset)
        return self._device.scores(plan, self.index(dataset, plan), dataset.n_records)

    def index(self, dataset: Dataset, plan: Plan | None = None) -> DeviceIndex:
        """Index of the dataset on the device, built on first use and cached as long as the dataset exists."""
        size = self.block_size
        if plan is not None and plan.combine == Combine.MIN:
            # each score needs a count of the facts held
            size = max(size // 8 * 4, 4)
        kept = _INDEXES.setdefault(dataset, {})
        if size not in kept:
            shard = build_shard(dataset.record_ptr, dataset.record_item, dataset.record_code, dataset.record_tick,
                                dataset.n_items, 0, dataset.n_records, size, dataset.has_repeats,
                                os.cpu_count() or 1)  # fmt: skip
            try:
                kept[size] = DeviceIndex(shard, dataset)
            except self._device.cp.cuda.memory.OutOfMemoryError as error:
                raise EngineError(
                    f"the index does not fit on {self.device_name} ({error}); use engine='memory'"
                ) from None
        return kept[size]
