"""The GPU engine: the index stays on the device, and blocks of records are scored in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TypeVar
from weakref import WeakKeyDictionary

from standout.data.index import Shard
from standout.data.tasks import Result, Sums, Task
from standout.engines.memory import MemoryEngine
from standout.errors import EngineError, ParameterError
from standout.scoring.gpu import Device, DeviceIndex
from standout.scoring.plan import Combine, Plan
from standout.scoring.tasks import Mass, Score, ScoreRecord, Scores

R = TypeVar("R", bound=Result)
ON_DEVICE = (Combine.SUM, Combine.MIN, Combine.ODDS)
"""Kinds of plans that the device's kernels run."""

THREADS, PER_SM = 384, 2
"""Threads per thread block, thread blocks per multiprocessor: the fastest on an H200 for two attacks (docs/speed.md)."""

_INDEXES: WeakKeyDictionary[Shard, dict[int, DeviceIndex]] = WeakKeyDictionary()


class GpuEngine:
    """Runs tasks that score on one CUDA device, through CuPy; all other tasks on the CPU, by the memory engine.

    Parameters
    ----------
    block_size
        Records whose scores are in shared memory at once; by default, as many as fit beside the
        tables.
    threads, per_sm
        Shape of the launch.
    batch_queries
        Queries per batch: larger batches share more table rows and take more memory.
    """

    name = "gpu"
    batch_bytes = 2**34

    def __init__(
        self,
        block_size: int | None = None,
        threads: int = THREADS,
        per_sm: int = PER_SM,
        batch_queries: int = 32_768,
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

    def map(self, task: Task[R], shards: Sequence[Shard]) -> R:
        """Run the task on each shard, on the device if its kernels can, and merge the results."""
        if isinstance(task, Score | Mass | ScoreRecord) and runs_on_device(task):
            results = [self._on_device(task, shard) for shard in shards]
            return reduce(lambda a, b: a.merge(b), results, task.empty())  # type: ignore[return-value]
        return MemoryEngine().map(task, shards)

    def _on_device(self, task: Score | Mass | ScoreRecord, shard: Shard) -> Result:
        index = self.index(shard, task.plan)
        if isinstance(task, Mass):
            return Sums(self._device.mass(task.plan, index, task.top, task.beta))
        if isinstance(task, ScoreRecord):
            return Scores(self._device.score_record(task.plan, index, task.record))
        found = self._device.run(task.plan, index, task.marks)
        if task.beta is None:
            return found
        beta = task.empty().beta
        return found._replace(
            beta=beta, mass=self._device.mass(task.plan, index, found.best_score, beta)
        )

    def index(self, shard: Shard, plan: Plan | None = None) -> DeviceIndex:
        """Index of the shard on the device, built on first use and cached as long as the shard exists."""
        size = self.block_size
        if plan is not None and plan.combine == Combine.MIN:
            # each score needs a count of the facts held
            size = max(size // 8 * 4, 4)
        kept = _INDEXES.setdefault(shard, {})
        if size not in kept:
            try:
                kept[size] = DeviceIndex(shard.with_blocks(size))
            except self._device.cp.cuda.memory.OutOfMemoryError as error:
                raise EngineError(
                    f"the index does not fit on {self.device_name} ({error}); use engine='memory'"
                ) from None
        return kept[size]


def runs_on_device(task: Score | Mass | ScoreRecord) -> bool:
    """Whether the device has a kernel for the task: it keeps two records per query, and has no exact likelihood.

    It has no density of a known length either, no rows of different widths, which wide scales have, and no sums over
    events.
    """
    return (
        task.plan.combine in ON_DEVICE
        and not (isinstance(task, Score) and task.k > 2)
        and not task.plan.tables.query.longest.any()
        and task.plan.places is None
        and not task.plan.by_events
    )
