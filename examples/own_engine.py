"""An engine of your own in one file: run a task on slices of the records, one after the other, and merge the results.

An engine for several machines has the same shape: each machine gets the pickled task and its
slices, and sends back a result. Run it: python examples/own_engine.py
"""

import pickle
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

import standout as so
from standout import extend


@extend.register_engine("shard-loop")
class ShardLoop:
    """Cuts each shard into slices of at most `records`, and runs the task on slice after slice."""

    name = "shard-loop"
    batch_bytes = 2**24
    batch_queries = 1000

    def __init__(self, records: int = 100) -> None:
        self.records = records

    def map(self, task: extend.Task[Any], shards: Sequence[extend.Shard]) -> Any:
        """Results of the slices merge, in any order, to the result of all records."""
        blocks = [shard.with_blocks(self.records) for shard in shards]
        slices = [shard.slice(b, b + 1) for shard in blocks for b in range(shard.n_blocks)]
        results = [run_elsewhere(pickle.dumps((task, piece))) for piece in slices]
        return reduce(lambda a, b: a.merge(b), results, task.empty())


def run_elsewhere(message: bytes) -> Any:
    """Everything that a worker needs is in the message."""
    task, shard = pickle.loads(message)
    return task.run(shard)


def main() -> None:
    """Attack a small release with it and with the engine that comes with standout."""
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.choice(200, 12, replace=False) for _ in range(450)])
    dataset = so.Dataset.from_arrays(np.repeat(np.arange(450), 12), item)
    targets = np.arange(0, 450, 5)
    known = so.Adversary(knows=3).sample(dataset, targets, seed=1)
    mine, usual = (
        so.attack("likelihood").run(dataset, known, e, watch=targets)
        for e in ("shard-loop", "memory")
    )
    print(
        f"hit rate {mine.credit.mean():.3f}, same records first: {np.array_equal(mine.best, usual.best)}"
    )


if __name__ == "__main__":
    main()
