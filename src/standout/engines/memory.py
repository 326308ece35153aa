"""The engine for data that fits into memory: threads run a task on slices of the shards, and the results are merged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

from standout.data.index import Shard
from standout.data.tasks import Result, Task
from standout.data.threads import run_on_threads

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
        return run_on_threads(task, shards, self.threads)
