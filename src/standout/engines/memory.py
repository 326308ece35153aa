"""The engine for data that fits into memory: blocks of records on threads, partials merged."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.scoring import cpu
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan

Array = npt.NDArray[Any]
T = TypeVar("T")


class MemoryEngine:
    """Runs plans on the cores of this machine.

    Parameters
    ----------
    threads
        Number of threads; all cores when left out.
    shards
        Posting lists to run over, in place of the dataset's own index; together they must hold every record once.
    """

    name = "memory"

    def __init__(self, threads: int | None = None, shards: Sequence[Shard] | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._shards = shards

    def run(self, plan: Plan, dataset: Dataset, watch: Array | None = None) -> Partials:
        """Best, second and sums per query."""
        marks = np.full(plan.n_queries, 2**31, np.int64) if watch is None else watch.astype(np.int64)
        how = cpu.manner(plan)

        def work(shard: Shard, first: int, stop: int) -> Partials:
            out = Partials.empty(plan.n_queries)
            cpu.run_blocks(first, stop, cpu.postings(shard, plan.no_day), plan.tables, how, marks, out)
            return out

        return reduce(Partials.merge, self._map(work, dataset), Partials.empty(plan.n_queries))

    def mass(self, plan: Plan, dataset: Dataset, top: Array, beta: Array) -> Array:
        """Σ exp(beta · (score - top)) over all candidates."""
        how = cpu.manner(plan)

        def work(shard: Shard, first: int, stop: int) -> Array:
            out = np.zeros(plan.n_queries)
            cpu.mass_blocks(
                first, stop, cpu.postings(shard, plan.no_day), plan.tables, how, top.astype(np.int64), beta, out
            )
            return out

        return np.asarray(sum(self._map(work, dataset)))

    def peek(self, plan: Plan, dataset: Dataset, record: Array) -> Array:
        """Integer score of one record per query."""
        out = np.full(plan.n_queries, LOWEST, np.int64)
        for shard in self._all(dataset):
            cpu.peek(cpu.postings(shard, plan.no_day), plan.tables, cpu.manner(plan), record.astype(np.int64), out)
        return out

    def scores(self, plan: Plan, dataset: Dataset) -> Array:
        """All integer scores."""
        out = np.zeros((plan.n_queries, dataset.n_records), np.int32)
        for shard in self._all(dataset):
            cpu.dump(cpu.postings(shard, plan.no_day), plan.tables, cpu.manner(plan), out)
        return out

    def _all(self, dataset: Dataset) -> Sequence[Shard]:
        return self._shards if self._shards is not None else [dataset.index]

    def _map(self, work: Callable[[Shard, int, int], T], dataset: Dataset) -> list[T]:
        """Run `work` over runs of blocks, a few runs per thread so that none idles."""
        tasks = []
        for shard in self._all(dataset):
            edges = np.linspace(0, shard.n_blocks, min(4 * self.threads, shard.n_blocks) + 1).astype(int).tolist()
            tasks += [(shard, lo, hi) for lo, hi in pairwise(edges)]
        if self.threads == 1 or len(tasks) == 1:
            return [work(*task) for task in tasks]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(lambda task: work(*task), tasks))
