"""What Spark's Python workers keep from one task to the next, tested without Spark where that is possible."""

from __future__ import annotations

import gc
import pickle
import sys
import zipfile
from dataclasses import replace
from types import SimpleNamespace
from zipimport import zipimporter

import numpy as np
import pyarrow as pa
import pytest
from plans import release
from spark_here import on_spark

from standout.data.tasks import FetchRows
from standout.engines.spark import MOST_MISSED, ClusterShards
from standout.engines.spark_worker import (
    KeptShards,
    Sent,
    WorkerResult,
    on_worker,
    run_kept,
    run_task,
)


@pytest.fixture(scope="module")
def data():
    return release("plain", n_records=300)


@pytest.fixture(scope="module")
def far(data):
    return on_spark(data.to_arrow(), 2, shards=5)


@pytest.fixture
def kept(monkeypatch):
    """An empty store in the place of the one of this process."""
    made = KeptShards(2**20)
    monkeypatch.setattr("standout.engines.spark_worker.KEPT", made)
    return made


def size_of(shard) -> int:
    return shard.nbytes + shard.lengths.nbytes + shard.keys.nbytes


def test_a_worker_keeps_no_more_bytes_of_shards_than_its_limit(data):
    shards = data.shards(4)
    store = KeptShards(sum(map(size_of, shards[:2])))
    for part, shard in enumerate(shards):
        store.keep("mine", part, shard)
    assert [store.get("mine", part) for part in range(4)] == [shards[0], shards[1], None, None]


def test_shards_of_other_data_give_way_and_are_never_taken_for_those_asked_for(data):
    shards = data.shards(3)
    store = KeptShards(sum(map(size_of, shards[:2])))
    for part, shard in enumerate(shards[:2]):
        store.keep("first", part, shard)
    store.keep("second", 0, shards[2])
    assert store.get("second", 0) is shards[2]
    assert store.get("first", 0) is None
    assert store.get("second", 1) is None


def test_a_worker_answers_for_the_shards_that_it_was_sent_and_names_those_that_it_lacks(data, kept):
    shards, task = data.shards(3), FetchRows(np.arange(data.n_records))
    shared = SimpleNamespace(value=pickle.loads(pickle.dumps(Sent(pickle.dumps(task)))))
    sent = pa.record_batch(
        {"part": pa.array([0, 2], pa.int32()), "payload": [pickle.dumps(shards[k]) for k in (0, 2)]}
    )
    list(run_task(shared, "mine", 1, iter([sent])))
    (found,) = run_kept(shared, "mine", iter([(0,), (1,), (2,)]))
    assert found.missing == (1,)
    expected = task.run(shards[0]).merge(task.run(shards[2]))
    assert found.result.record.tolist() == expected.record.tolist()
    assert found.result.item.tolist() == expected.item.tolist()


def test_a_partition_without_shards_gives_no_answer():
    assert list(run_kept(None, "mine", iter([]))) == []
    assert WorkerResult(None, ()).merge(WorkerResult(None, (3,))) == WorkerResult(None, (3,))


@on_worker
def pass_on(batches):
    yield from batches


def test_a_worker_spends_no_time_on_collecting_modules_and_reading_zip_files_between_tasks(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("standout.engines.spark_worker.MANY_OBJECTS", 10)
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("packed_one.py", "x = 1")
        out.writestr("packed_two.py", "x = 2")
    monkeypatch.syspath_prepend(str(archive))
    import packed_one

    assert isinstance(sys.path_importer_cache[str(archive)], zipimporter)
    gc.unfreeze()  # what conftest.py froze
    assert gc.get_freeze_count() < 1000
    try:
        assert list(pass_on(iter([1, 2]))) == [1, 2]
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
    assert not any(isinstance(finder, zipimporter) for finder in sys.path_importer_cache.values())
    import packed_two  # readers of zip files are made again

    assert packed_one.x + packed_two.x == 3


def rows_on(far, shards=None):
    """Entries of all records, by the engine."""
    return far.engine.map(FetchRows(np.arange(far.n_records)), shards or far.shards).item.tolist()


def test_shards_that_a_worker_holds_are_not_sent_again(far, data, monkeypatch):
    first = rows_on(far)
    monkeypatch.setattr(far.engine, "_sent", None)
    assert rows_on(far) == first == data.rows(np.arange(data.n_records)).item.tolist()
    assert far.shards.n_missed == 0


def test_only_the_shards_that_a_worker_lacks_are_sent_and_none_is_counted_twice(far, data):
    some = ClusterShards(far.shards.frame.where("part < 2"), far.shards.n_shards)
    n_some = len(rows_on(far, some))
    whole = replace(far.shards, name=some.name, n_missed=0)
    assert 0 < n_some < len(rows_on(far, whole)) == data.n_entries
    assert whole.n_missed == 1  # three of five were missing


def test_where_workers_cannot_keep_the_shards_these_are_sent_at_once(far, data, monkeypatch):
    shards = replace(far.shards, n_missed=0)
    for k in range(MOST_MISSED):
        shards.name = f"lost {k}"  # no worker has shards of this name
        assert len(rows_on(far, shards)) == data.n_entries
    monkeypatch.setattr(far.engine, "_kept", None)
    assert len(rows_on(far, shards)) == data.n_entries
