"""A dataset whose records are not in memory: only its catalog is at hand, and tasks and shards travel as bytes."""

import pickle
from functools import reduce

import numpy as np

from standout.data.catalog import Catalog
from standout.data.dataset import Dataset
from standout.data.tasks import FetchRows


class Elsewhere(Catalog):
    """The catalog of a dataset, and its records as pickled shards."""

    def __init__(self, data: Dataset, edges: list[int], block_size: int = 16) -> None:
        self.shards = [pickle.dumps(shard) for shard in data.shards_at(edges, block_size)]
        for name in (
            "item_labels",
            "supports",
            "levels",
            "first_tick",
            "tick_span",
        ):
            setattr(self, name, getattr(data, name))
        self.time_resolution, self.cleaning, self.origin = (
            data.time_resolution,
            data.cleaning,
            data.origin,
        )
        self._counts = data.n_records, data.n_entries, data.has_value, data.has_time, data.no_tick
        self._length_counts, self._fingerprint = data.length_counts, data.fingerprint
        self.n_tasks = 0

    n_records = property(lambda self: self._counts[0])
    n_entries = property(lambda self: self._counts[1])
    has_value = property(lambda self: self._counts[2])
    has_time = property(lambda self: self._counts[3])
    no_tick = property(lambda self: self._counts[4])
    length_counts = property(lambda self: self._length_counts)
    fingerprint = property(lambda self: self._fingerprint)
    all_shards = property(lambda self: self.shards)
    home_engine = property(lambda self: Courier())

    def map(self, task):
        self.n_tasks += 1
        return Courier().map(task, self.shards)

    def rows(self, records):
        wanted = np.asarray(records, np.int64)
        found = self.map(FetchRows(wanted))
        assert np.array_equal(found.record, wanted), (
            "rows are asked for by distinct ascending indices"
        )
        return found


class Courier:
    """Runs each task on each shard as another process would: from bytes. Shards come in any order."""

    name = "courier"
    batch_bytes = 2**20
    batch_queries = 17

    def map(self, task, shards):
        sent = pickle.dumps(task)
        results = [pickle.loads(sent).run(pickle.loads(shard)) for shard in reversed(shards)]
        return reduce(
            lambda a, b: a.merge(b), (pickle.loads(pickle.dumps(r)) for r in results), task.empty()
        )
