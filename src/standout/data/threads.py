"""Run a task on the threads of this machine."""

from __future__ import annotations

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


def run_on_threads(task: Task[R], shards: Sequence[Shard], threads: int) -> R:
    """Run the task on slices of the shards and merge the results."""
    # a few slices per thread, so that no thread idles
    n = 1 if threads == 1 else 4 * threads
    # ascending, also for each thread: kernels keep the earlier record if a later one has the same
    # score
    slices = [
        piece for shard in sorted(shards, key=lambda s: s.first_record) for piece in shard.slices(n)
    ]
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
    if min(threads, n_jobs) <= 1:
        return work()
    with ThreadPoolExecutor(threads) as pool:
        return reduce(lambda a, b: a.merge(b), pool.map(work, range(min(threads, n_jobs))))


def query_ranges(n: int, most: int) -> list[tuple[int, int]]:
    """Cut 0 … n-1 into at most `most` ranges of about the same size."""
    edges = np.linspace(0, n, max(min(most, n), 1) + 1).astype(int).tolist()
    return list(pairwise(edges))
