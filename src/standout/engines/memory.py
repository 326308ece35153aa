"""The engine for data that fits into memory: threads run a task on slices of the shards, and the results are merged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import pairwise
from threading import Lock
from typing import TypeVar

import numpy as np

from standout.data.index import Shard
from standout.data.tasks import Result, Task

R = TypeVar("R", bound=Result)


class MemoryEngine:
    """Runs tasks on the cores of this machine.

    Parameters
    ----------
    threads
        Number of threads; all cores by default.
    """

    name = "memory"
    batch_bytes = 48 * 2**20
    batch_queries = 4096

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or os.cpu_count() or 1

    def map(self, task: Task[R], shards: Sequence[Shard]) -> R:
        """Run the task on slices of the shards and merge the results."""
        # a few slices per thread, so that no thread idles
        n = 1 if self.threads == 1 else 4 * self.threads
        # ascending, also for each thread: kernels keep the earlier record if a later one has the same score
        slices = [piece for shard in sorted(shards, key=lambda s: s.first_record) for piece in shard.slices(n)]
        # with fewer slices than threads, several threads take the same slice for different queries
        queries = query_ranges(task.n_queries, -(-n // max(len(slices), 1)))
        waiting, lock = iter([(piece, some) for piece in slices for some in queries]), Lock()

        def work(_: int = 0) -> R:
            out = task.empty()
            while True:
                with lock:
                    job = next(waiting, None)
                if job is None:
                    return out
                out = task.run(job[0], out, job[1])

        n_jobs = len(slices) * len(queries)
        if min(self.threads, n_jobs) <= 1:
            return work()
        with ThreadPoolExecutor(self.threads) as pool:
            return reduce(lambda a, b: a.merge(b), pool.map(work, range(min(self.threads, n_jobs))))


def query_ranges(n: int, most: int) -> list[tuple[int, int]]:
    """Cut 0 … n-1 into at most `most` ranges of about the same size."""
    edges = np.linspace(0, n, max(min(most, n), 1) + 1).astype(int).tolist()
    return list(pairwise(edges))
