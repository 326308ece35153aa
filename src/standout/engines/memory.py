"""The engine for data that fits into memory: threads score blocks of records, and the partials are merged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from threading import Lock
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from standout.data.dataset import Dataset
from standout.data.index import Shard
from standout.scoring import adaptive, cpu, exact
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan

Array = npt.NDArray[Any]
R = TypeVar("R")
T = TypeVar("T")
BlockRange = tuple[Shard, int, int]
"""Range of blocks of a shard: first, and one after the last."""
Tasks = Iterator[tuple[R, tuple[int, int]]]
"""Block ranges, each with a range of queries: first, and one after the last."""


class MemoryEngine:
    """Runs plans on the cores of this machine.

    Parameters
    ----------
    threads
        Number of threads; all cores by default.
    shards
        Posting lists to use instead of the dataset's own index; together they must hold every record once.
    """

    name = "memory"

    def __init__(self, threads: int | None = None, shards: Sequence[Shard] | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1
        self._shards = shards

    def run(self, plan: Plan, dataset: Dataset, watch: Array | None = None, k: int = 2) -> Partials:
        """Top k (at least 2), ties and sums per query."""
        marks = np.full(plan.n_queries, 2**31, np.int64) if watch is None else watch.astype(np.int64)
        variant = cpu.variant_of(plan)

        def work(tasks: Tasks[BlockRange]) -> Partials:
            out = Partials.empty(plan.n_queries, k)
            for (shard, first, stop), queries in tasks:
                post = cpu.postings(shard, plan.factor)
                if plan.exact is not None:
                    exact.run_blocks(
                        first, stop, queries, post, plan.tables, variant, exact.for_shard(plan, shard), marks, out
                    )
                elif plan.adaptive is not None:
                    adaptive.run_blocks(
                        first, stop, queries, post, plan.tables, variant, adaptive.for_shard(plan, shard), marks, out
                    )
                else:
                    cpu.run_blocks(first, stop, queries, post, plan.tables, variant, marks, out)
            return out

        return reduce(Partials.merge, self._on_threads(work, self._block_ranges(dataset), plan.n_queries))

    def mass(self, plan: Plan, dataset: Dataset, top: Array, beta: Array) -> Array:
        """Σ exp(beta · (score - top)) over all candidates."""
        variant, high = cpu.variant_of(plan), top.astype(np.int64)

        def work(tasks: Tasks[BlockRange]) -> Array:
            out = np.zeros(plan.n_queries)
            for (shard, first, stop), queries in tasks:
                post = cpu.postings(shard, plan.factor)
                if plan.exact is not None:
                    exact.mass_blocks(
                        first, stop, queries, post, plan.tables, variant, exact.for_shard(plan, shard), high, beta, out
                    )
                elif plan.adaptive is not None:
                    adaptive.mass_blocks(
                        first,
                        stop,
                        queries,
                        post,
                        plan.tables,
                        variant,
                        adaptive.for_shard(plan, shard),
                        high,
                        beta,
                        out,
                    )
                else:
                    cpu.mass_blocks(first, stop, queries, post, plan.tables, variant, high, beta, out)
            return out

        return np.asarray(sum(self._on_threads(work, self._block_ranges(dataset), plan.n_queries)))

    def score_record(self, plan: Plan, dataset: Dataset, record: Array) -> Array:
        """Integer score of one record per query."""
        out = np.full(plan.n_queries, LOWEST, np.int64)
        for shard in self._shards_of(dataset):
            post, variant = cpu.postings(shard, plan.factor), cpu.variant_of(plan)
            if plan.exact is not None:
                exact.score_record(
                    post, plan.tables, variant, exact.for_shard(plan, shard), record.astype(np.int64), out
                )
            elif plan.adaptive is not None:
                adaptive.score_record(
                    post, plan.tables, variant, adaptive.for_shard(plan, shard), record.astype(np.int64), out
                )
            else:
                cpu.score_record(post, plan.tables, variant, record.astype(np.int64), out)
        return out

    def scores(self, plan: Plan, dataset: Dataset) -> Array:
        """All integer scores."""
        out = np.zeros((plan.n_queries, dataset.n_records), np.int32)
        for shard in self._shards_of(dataset):
            post, variant = cpu.postings(shard, plan.factor), cpu.variant_of(plan)
            if plan.exact is not None:
                exact.all_scores(post, plan.tables, variant, exact.for_shard(plan, shard), out)
            elif plan.adaptive is not None:
                adaptive.all_scores(post, plan.tables, variant, adaptive.for_shard(plan, shard), out)
            else:
                cpu.all_scores(post, plan.tables, variant, out)
        return out

    def _shards_of(self, dataset: Dataset) -> Sequence[Shard]:
        return self._shards if self._shards is not None else [dataset.index]

    @property
    def _n_ranges(self) -> int:
        """Number of block ranges: a few per thread, so that no thread idles."""
        return 1 if self.threads == 1 else 4 * self.threads

    def _block_ranges(self, dataset: Dataset) -> list[BlockRange]:
        # ascending, also for each thread: kernels keep the earlier record if a later one has the same score
        shards = sorted(self._shards_of(dataset), key=lambda shard: shard.first_record)
        return [(shard, lo, hi) for shard in shards for lo, hi in _ranges(shard.n_blocks, self._n_ranges)]

    def _on_threads(self, work: Callable[[Tasks[R]], T], blocks: Sequence[R], n_queries: int) -> list[T]:
        """Result of `work` per thread, over the block ranges it processed."""
        # with fewer blocks than threads, several threads score the same blocks for different queries
        queries = _ranges(n_queries, -(-self._n_ranges // max(len(blocks), 1)))
        tasks = [(block, some) for block in blocks for some in queries]
        if self.threads == 1 or len(tasks) == 1:
            return [work(iter(tasks))]
        waiting, lock = iter(tasks), Lock()

        def next_tasks() -> Tasks[R]:
            while True:
                with lock:
                    task = next(waiting, None)
                if task is None:
                    return
                yield task

        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(lambda _: work(next_tasks()), range(self.threads)))


def _ranges(n: int, most: int) -> list[tuple[int, int]]:
    """Cut 0 … n-1 into at most `most` ranges of about the same size."""
    edges = np.linspace(0, n, max(min(most, n), 1) + 1).astype(int).tolist()
    return list(pairwise(edges))
