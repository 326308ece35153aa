"""An engine of your own in one file: run a plan over shards of the records, one after the other, and merge.

An engine for several machines has the same shape: each machine runs its shards and sends back its partials.
Run it: python examples/own_engine.py
"""

from functools import reduce
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

import standout as so


class ShardLoop:
    """Cuts the records into shards of at most `records`, and runs shard after shard on one thread."""

    name = "shard-loop"

    def __init__(self, records: int = 100) -> None:
        self.records = records
        self._kept: WeakKeyDictionary[so.Dataset, list[so.MemoryEngine]] = WeakKeyDictionary()

    def run(self, plan: so.Plan, dataset: so.Dataset, watch: Any = None, k: int = 2) -> so.Partials:
        """Partials of the shards merge, in any order, to those of the whole release."""
        return reduce(so.Partials.merge, [shard.run(plan, dataset, watch, k) for shard in self._shards(dataset)])

    def mass(self, plan: so.Plan, dataset: so.Dataset, top: Any, beta: Any) -> Any:
        """Masses add up, because `top` is the best score of the whole release."""
        return np.sum([shard.mass(plan, dataset, top, beta) for shard in self._shards(dataset)], axis=0)

    def score_record(self, plan: so.Plan, dataset: so.Dataset, record: Any) -> Any:
        """One shard holds the record; the others give the lowest score."""
        return np.max([shard.score_record(plan, dataset, record) for shard in self._shards(dataset)], axis=0)

    def scores(self, plan: so.Plan, dataset: so.Dataset) -> Any:
        """Each shard fills in the columns of its own records and leaves 0 in the others."""
        return np.sum([shard.scores(plan, dataset) for shard in self._shards(dataset)], axis=0)

    def _shards(self, dataset: so.Dataset) -> list[so.MemoryEngine]:
        if dataset not in self._kept:
            edges = [*range(0, dataset.n_records, self.records), dataset.n_records]
            self._kept[dataset] = [so.MemoryEngine(1, [s]) for s in dataset.shards_at(edges, self.records)]
        return self._kept[dataset]


def main() -> None:
    """Attack a small release with it and with the engine that comes with standout."""
    rng = np.random.default_rng(0)
    item = np.concatenate([rng.choice(200, 12, replace=False) for _ in range(450)])
    dataset = so.Dataset.from_arrays(np.repeat(np.arange(450), 12), item)
    targets = np.arange(0, 450, 5)
    known = so.Adversary(knows=3).sample(dataset, targets, seed=1)
    mine, usual = (so.attack("likelihood").run(dataset, known, e, watch=targets) for e in (ShardLoop(), "memory"))
    print(f"hit rate {mine.credit.mean():.3f}, same records first: {np.array_equal(mine.best, usual.best)}")


if __name__ == "__main__":
    main()
