"""The chunked engine continues a run that was stopped with the same bits, and trusts no damaged or foreign file."""

from __future__ import annotations

import pickle
import shutil
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from plans import release
from same_findings import assert_same_findings

import standout as so
from standout.attacks.attack import attack as attack_of
from standout.data.chunked.saved import StoredShard
from standout.data.tasks import Sums, Task
from standout.engines.partials_store import PartialStore
from standout.scoring.tasks import Mass, Score, ScoreRecord

WHO = so.Adversary(knows=4, wrong=1, value_within=1, time_within=14)


@pytest.fixture
def saved(small_parts, tmp_path) -> tuple[so.Dataset, Path]:
    data = release("missing")
    data.save(tmp_path / "saved")
    return data, tmp_path / "saved"


def plan_of(data: so.Dataset, name: str = "scoreboard-rh"):
    targets = WHO.eligible(data)[::9][:40]
    facts = WHO.sample(data, targets, seed=2).bind(data)
    return attack_of(name).fit(data, facts).compile(
        data, facts, np.full(facts.n_queries, -1)
    ), targets


def bits(result) -> list[bytes]:
    return [array.tobytes() for array in result]


class Loads:
    """Counts the shards that are read, and stops the run after some of them."""

    def __init__(self, monkeypatch) -> None:
        self.shards: list[int] = []
        self.stop_after: int | None = None
        usual = StoredShard.load

        def load(shard, buffers=None):
            if self.stop_after is not None and len(self.shards) >= self.stop_after:
                raise KeyboardInterrupt
            self.shards.append(shard.first_block)
            return usual(shard, buffers)

        monkeypatch.setattr(StoredShard, "load", load)


@pytest.mark.parametrize("kind", ["score", "mass", "record", "lineup"])
def test_a_run_that_was_stopped_continues_at_the_next_shard_with_the_same_bits(
    saved, tmp_path, monkeypatch, kind
):
    data, folder = saved
    plan, targets = plan_of(data)
    beta = np.full(plan.n_queries, 2.0**-27)
    task = {
        "score": Score(plan, k=5),
        "mass": Mass(plan, np.full(plan.n_queries, 2**29), beta),
        "record": ScoreRecord(plan, targets),
        "lineup": Score(plan, beta=beta),
    }[kind]
    usual = so.ChunkedDataset.open(folder, threads=1)
    n = len(usual.all_shards)
    assert n > 5
    whole = usual.map(task)
    loads = Loads(monkeypatch)
    for done in (0, 2, 5):
        loads.stop_after = len(loads.shards) + 3
        with pytest.raises(KeyboardInterrupt):
            so.ChunkedDataset.open(folder, work=tmp_path / "work", threads=1 + done).map(task)
    # a shard that was read ahead and not finished is read again
    loads.stop_after, read_before = None, len(loads.shards)
    last = so.ChunkedDataset.open(folder, work=tmp_path / "work", threads=3)
    assert bits(last.map(task)) == bits(whole)
    assert len(loads.shards) - read_before == n - last.home_engine.store.n_reused <= n - 5
    # all of it is kept now
    again = so.ChunkedDataset.open(folder, work=tmp_path / "work")
    read_before = len(loads.shards)
    assert bits(again.map(task)) == bits(whole)
    assert len(loads.shards) == read_before


@pytest.mark.parametrize("name", ["scoreboard-rh", "likelihood", "tf-idf"])
def test_a_whole_attack_that_is_run_again_reads_no_shard_again(saved, tmp_path, monkeypatch, name):
    data, folder = saved
    targets = WHO.choose_targets(data, 12, 1)[1]
    aux = WHO.sample(data, targets, seed=2)
    loads = Loads(monkeypatch)
    for _ in range(2):
        before = len(loads.shards)
        there = so.ChunkedDataset.open(folder, work=tmp_path / "work")
        so.attack(name).run_both(there, aux, targets)
    # numbers that come from a kept result lead to the same tasks as numbers that were computed
    assert before > 0 == len(loads.shards) - before


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "foreign"])
def test_a_damaged_partial_is_computed_again(saved, tmp_path, monkeypatch, damage):
    data, folder = saved
    task = Score(plan_of(data)[0])
    first = so.ChunkedDataset.open(folder, work=tmp_path / "work").map(task)
    (path,) = (tmp_path / "work" / "partials").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    wrong = {
        "flip": content,
        "cut": content[: len(content) // 2],
        "empty": b"",
        "foreign": pickle.dumps((3, Sums(np.zeros(40)))),
    }[damage]
    path.write_bytes(wrong)
    loads = Loads(monkeypatch)
    again = so.ChunkedDataset.open(folder, work=tmp_path / "work")
    with pytest.warns(UserWarning, match="damaged, or this user did not write it"):
        assert bits(again.map(task)) == bits(first)
    assert len(loads.shards) == len(again.all_shards)


PAYLOADS = {
    "a function of NumPy that runs text": b"cnumpy.testing\nrunstring\n(Vopen('owned', 'w')\n(dtR.",
    "a dotted name": b"\x80\x04\x8c\x0dstandout.jit\x8c\x06os.system\x93\x8c\x0btouch owned\x85R.",
    "open": b"cio\nopen\n(Vowned\nVw\ntR.",
}


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_planted_pickle_does_not_run(saved, tmp_path, monkeypatch, payload):
    data, folder = saved
    monkeypatch.chdir(tmp_path)
    task = Score(plan_of(data)[0])
    there = so.ChunkedDataset.open(folder, work=tmp_path / "work")
    right = there.map(task)
    (path,) = (tmp_path / "work" / "partials").iterdir()
    key = there.home_engine.store.key(task, [shard.identity for shard in there.all_shards])
    # as version 0.3 wrote it, with a right checksum, and the bare payload
    head = b"standout-partial-1\n" + key.encode() + b"\n"
    for content in (
        head + sha256(head + PAYLOADS[payload]).digest() + PAYLOADS[payload],
        PAYLOADS[payload],
    ):
        path.write_bytes(content)
        again = so.ChunkedDataset.open(folder, work=tmp_path / "work")
        with pytest.warns(UserWarning, match="this user did not write it"):
            assert bits(again.map(task)) == bits(right)
        assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("what", ["partition", "keys", "keys as a folder", "link"])
def test_planted_records_do_not_replace_those_of_the_source(small_parts, tmp_path, what):
    data, other = release("missing"), release("plain")
    pq.write_table(data.to_arrow(), tmp_path / "x.parquet")
    work = tmp_path / "work"
    usual = so.ChunkedDataset.read(tmp_path / "x.parquet", work=work)
    right, keys = usual.fingerprint, usual.record_keys
    (part,) = work.glob("data-*")
    if what == "keys":
        np.save(work / "keys.npy", np.zeros_like(keys))
    elif what == "keys as a folder":
        (work / "keys.npy").unlink()
        (work / "keys.npy").mkdir()
    else:
        shutil.rmtree(part)
        other.save(tmp_path / "planted")
        (tmp_path / "planted").chmod(0o700)
        if what == "link":
            part.symlink_to(tmp_path / "planted")
        else:
            (tmp_path / "planted").rename(part)
    again = so.ChunkedDataset.read(tmp_path / "x.parquet", work=work)
    assert again.fingerprint == right
    assert again.record_keys.tolist() == keys.tolist()
    assert what != "link" or (tmp_path / "planted" / "meta.json").exists()


def test_records_that_were_sorted_by_a_run_that_was_killed_are_used_again(small_parts, tmp_path):
    pq.write_table(release("missing").to_arrow(), tmp_path / "x.parquet")
    so.ChunkedDataset.read(tmp_path / "x.parquet", work=tmp_path / "work")
    (before,) = (tmp_path / "work").glob("data-*/meta.json")
    version = before.stat().st_ino, before.stat().st_mtime_ns
    so.ChunkedDataset.read(tmp_path / "x.parquet", work=tmp_path / "work")
    assert (before.stat().st_ino, before.stat().st_mtime_ns) == version


@pytest.mark.parametrize("what", ["link", "readable by others"])
def test_a_work_folder_that_is_not_private_is_not_used(saved, tmp_path, what):
    data, folder = saved
    (tmp_path / "target").mkdir(mode=0o755 if what != "link" else 0o700)
    (tmp_path / "target").chmod(0o755 if what != "link" else 0o700)
    (tmp_path / "work").symlink_to(tmp_path / "target") if what == "link" else (
        tmp_path / "target"
    ).rename(tmp_path / "work")
    with pytest.warns(UserWarning, match="nothing is kept for a later run"):
        there = so.ChunkedDataset.open(folder, work=tmp_path / "work")
    there.map(Score(plan_of(data)[0]))
    assert not list((tmp_path / "work").iterdir())


def test_partials_of_other_tasks_data_and_cuts_are_not_used(small_parts, tmp_path):
    store = PartialStore(tmp_path)
    a, b = release("missing"), release("plain")
    plan, other = plan_of(a)[0], plan_of(b)[0]
    keys = [store.key(task, shards) for task in (Score(plan), Score(plan, k=3), Score(other)) for shards in (["x:0:1"], ["y:0:1"], ["x:0:2"])]  # fmt: skip  # noqa: E501
    assert len(set(keys)) == 9
    assert store.key(Score(plan), ["x:0:1"]) == store.key(Score(plan_of(a)[0]), ["x:0:1"])


def test_bits_depend_neither_on_threads_nor_on_whether_records_are_on_disk(saved):
    data, folder = saved
    plan = plan_of(data)[0]
    beta = np.full(plan.n_queries, 2.0**-27)
    on_disk = [
        so.ChunkedDataset.open(folder, threads=t).map(Score(plan, beta=beta)) for t in (1, 2, 5)
    ]
    assert bits(on_disk[0]) == bits(on_disk[1]) == bits(on_disk[2])
    inside = so.ChunkedEngine(threads=2).map(Score(plan, beta=beta), data.shards(5))
    for name, x, y in zip(inside._fields, inside, on_disk[0], strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12 if x.dtype.kind == "f" else 0, err_msg=name)


class Reading(Task):
    """Sees which shard is read while it runs."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def empty(self) -> Sums:
        return Sums(np.zeros(1, np.int64))

    def run(self, shard, into=None, queries=None) -> Sums:
        return Sums(np.array([int(shard.local.sum()) + int(shard.lengths.sum())]))


def test_memory_that_is_used_again_is_never_read_into_while_a_shard_is_scored(saved):
    data, folder = saved
    usual = Reading().run(data.index).total
    for _ in range(20):
        assert so.ChunkedDataset.open(folder, threads=4, verify=False).map(Reading()).total == usual


@pytest.mark.parametrize(
    "adversaries",
    [[WHO, so.Adversary(knows=2)], pytest.param(None, marks=pytest.mark.slow)],
    ids=["two", "default"],
)
def test_an_audit_of_data_on_disk_finds_what_the_audit_in_memory_finds(
    small_parts, tmp_path, adversaries
):
    data = release("missing")
    pq.write_table(data.to_arrow(), tmp_path / "x.parquet")
    data, there = (
        so.Dataset.read(tmp_path / "x.parquet"),
        so.ChunkedDataset.read(tmp_path / "x.parquet", work=tmp_path / "w"),
    )
    found = [
        so.Audit(d, adversaries, targets=12, seed=3).run(progress=False) for d in (data, there)
    ]
    assert_same_findings(*found)
    assert found[1].provenance["engine"] == "chunked"
    assert found[1].provenance["data_sha256"] == found[0].provenance["data_sha256"]


def test_data_on_disk_is_not_run_by_another_engine(saved):
    data, folder = saved
    there = so.ChunkedDataset.open(folder)
    aux = WHO.sample(data, [3], seed=1)
    with pytest.raises(so.StandoutError, match="not in memory; use 'chunked'"):
        so.attack("scoreboard-rh").run(there, aux, engine="gpu")
