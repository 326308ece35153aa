"""Every task: any cut into shards, merged in any order, gives the same result; empty is neutral; tasks and shards travel."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import cases, cuts, dataset, knowledge, random_table

import standout as so
from standout.attacks.noise import Noise
from standout.data.index import Rows
from standout.data.tasks import FetchRows, Sums, Task
from standout.errors import ParameterError
from standout.kernels.levels import Steps
from standout.kernels.moments import Window
from standout.scoring import tasks as tasks_module
from standout.scoring.factors import factors_of
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan, Tie
from standout.scoring.tasks import AllScores, FindAbove, Found, Mass, Score, ScoreRecord

ODDS = {"noise": Noise(0.2, 0.1, Steps(1), Window(14))}
PLANS = {
    "min": ("scoreboard", {}),
    "sum": ("scoreboard-rh", {}),
    "factor": ("scoreboard-rh", {"length": "sqrt"}),
    "odds": ("likelihood", ODDS),
    "hash": ("generic", {}),
}
FEW = settings().max_examples * 5 // 12
"""Examples of each of the 40 pairs of a plan and a task, which share most of their code."""
KINDS = ["score", "top", "lineup", "mass", "record", "all", "above", "rows"]


def task_of(kind: str, plan: Plan, release: so.Dataset, rng: np.random.Generator) -> Task:
    n, many = plan.n_queries, release.n_records
    marks = rng.choice([-5, 0, 1, 2**29, 2**31], n)
    if kind in ("score", "top"):
        return Score(plan, marks, 2 if kind == "score" else 5)
    if kind == "lineup":
        return Score(plan, marks, beta=rng.random(n) * 2**-27)
    if kind == "mass":
        return Mass(plan, rng.integers(2**28, 2**30, n), rng.random(n) * 2**-27)
    if kind == "record":
        return ScoreRecord(plan, rng.integers(-1, many, n))
    if kind == "all":
        return AllScores(plan, many)
    return FindAbove(plan, marks) if kind == "above" else FetchRows(rng.integers(0, many, 4))


def arrays_of(result) -> dict[str, np.ndarray]:
    return vars(result) if isinstance(result, Rows) else result._asdict()


def assert_same(a, b) -> None:
    """Integers to the bit; sums of floats within 1e-9."""
    assert type(a) is type(b)
    for (name, x), y in zip(arrays_of(a).items(), arrays_of(b).values(), strict=True):
        if x.dtype.kind == "f":
            np.testing.assert_allclose(x, y, rtol=1e-9, err_msg=name)
        else:
            assert x.tolist() == y.tolist(), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PLANS)
@settings(max_examples=FEW)
@given(case=cases(), data=st.data())
def test_any_cut_merged_in_any_order_gives_the_result_of_the_whole_and_empty_changes_nothing(
    kind, name, case, data
):
    table, queries = case
    release = dataset(table)
    n = release.n_records
    attack, options = PLANS[name]
    gone = np.array([data.draw(st.integers(-1, n - 1)) for _ in queries])
    plan = so.attack(attack, **options).compile(release, knowledge(queries).bind(release), gone)
    task = task_of(kind, plan, release, np.random.default_rng(data.draw(st.integers(0, 99))))
    whole = task.run(release.index)
    edges, block = data.draw(cuts(n))
    shards = release.shards_at(edges, block)
    pieces = [piece for shard in shards for piece in shard.slices(data.draw(st.integers(1, 4)))]
    parts = data.draw(st.permutations([task.run(piece) for piece in pieces]))
    assert_same(reduce(lambda a, b: a.merge(b), parts), whole)
    assert_same(reduce(lambda a, b: a.merge(b), [task.empty(), *parts, task.empty()]), whole)
    assert_same(task.empty().merge(task.empty()), task.empty())
    assert_same(reduce(lambda out, piece: task.run(piece, out), pieces, task.empty()), whole)
    n_queries = task.n_queries
    first = data.draw(st.integers(0, n_queries))
    split = [
        task.run(release.index, queries=some)
        for some in ((0, first), (first, n_queries))
        if some[1] > some[0]
    ]
    assert_same(reduce(lambda a, b: a.merge(b), split), whole)


@pytest.fixture(scope="module")
def release() -> so.Dataset:
    return dataset(random_table(150, 20, 6, seed=4, missing=0.1, repeats=True))


def plan_for(release: so.Dataset, name: str, options: dict) -> Plan:
    who = so.Adversary(knows=3, wrong=1, value_within=1, time_within=14)
    targets = who.eligible(release)[::4]
    facts = who.sample(release, targets, seed=1).bind(release)
    return (
        so.attack(name, **options).fit(release, facts).compile(release, facts, np.roll(targets, 1))
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*PLANS, "exact"])
def test_a_pickled_task_on_a_pickled_slice_gives_the_same_result(release, kind, name):
    plan = plan_for(release, *PLANS.get(name, ("likelihood", {})))
    task = task_of(kind, plan, release, np.random.default_rng(0))
    for piece in release.shards_at([0, 70, 150], 16)[1].slices(3):
        there, shard = pickle.loads(pickle.dumps((task, piece)))
        assert shard.first_record == piece.first_record and shard.parent is None
        assert_same(there.run(shard), task.run(piece))


def test_a_pickled_slice_holds_its_own_entries_only(release):
    whole = release.shards_at([0, 150], 16)[0]
    sizes = [len(pickle.dumps(piece)) for piece in whole.slices(whole.n_blocks)]
    empty = len(
        pickle.dumps(
            replace(whole, n_records=0, ptr=whole.ptr[:1] * 0, local=whole.local[:0]).with_keys(
                release.lazy_keys
            )
        )
    )
    assert sum(size - empty for size in sizes) < 2 * len(pickle.dumps(whole))
    assert max(sizes) < len(pickle.dumps(whole)) / 2


def test_the_factors_of_a_shard_are_computed_once_for_all_of_its_slices(release):
    calls = []

    class Counting:
        largest = 1.0

        def compute(self, shard):
            calls.append(shard.n_records)
            return np.arange(shard.n_records) / shard.n_records

    rule, whole = Counting(), release.shards_at([0, 150], 16)[0]
    got = np.concatenate(
        [factors_of(rule, piece) for half in whole.slices(2) for piece in half.slices(3)]
    )
    assert got.tolist() == (np.arange(150) / 150).tolist()
    assert calls == [150]
    lengths = np.concatenate([piece.lengths for piece in whole.slices(4)])
    assert lengths.tolist() == release.lengths.tolist()


@pytest.mark.parametrize(("first", "stop"), [(-1, 2), (3, 3), (0, 11)])
def test_blocks_that_a_shard_does_not_have_are_refused(release, first, stop):
    with pytest.raises(ParameterError, match="blocks 0 to 10"):
        release.shards_at([0, 150], 16)[0].slice(first, stop)


def test_fetched_rows_are_the_records_entries_in_the_order_of_the_data(release):
    wanted = np.array([140, 3, 77, 3, 0])
    rows = so.MemoryEngine(3).map(FetchRows(wanted), release.shards_at([0, 60, 150], 7))
    assert rows.record.tolist() == [0, 3, 77, 140]
    for k, r in enumerate(rows.record.tolist()):
        lo, hi = release.record_ptr[r], release.record_ptr[r + 1]
        at = slice(rows.ptr[k], rows.ptr[k + 1])
        assert rows.item[at].tolist() == release.record_item[lo:hi].tolist()
        assert rows.code[at].tolist() == release.record_code[lo:hi].tolist()
        assert rows.tick[at].tolist() == release.record_tick[lo:hi].tolist()
    assert rows.lengths.tolist() == release.lengths[rows.record].tolist()


@pytest.mark.parametrize("size", [1, 5, 64, 65_536])
def test_a_shard_in_blocks_of_another_size_is_the_one_that_the_dataset_would_make(release, size):
    made, wanted = (
        release.shards_at([20, 131], 16)[0].with_blocks(size),
        release.shards_at([20, 131], size)[0],
    )
    for name in ("first_record", "n_records", "block_size", "has_repeats"):
        assert getattr(made, name) == getattr(wanted, name), name
    for name in ("ptr", "local", "code", "tick", "lengths"):
        assert getattr(made, name).tolist() == getattr(wanted, name).tolist(), name


def test_found_records_are_all_that_score_as_high_whatever_is_held_at_once(release, monkeypatch):
    plan = plan_for(release, "scoreboard-rh", {})
    scores = AllScores(plan, release.n_records).run(release.index).score
    least = np.sort(scores, axis=1)[:, -9].astype(np.int64)
    least[0], least[1] = 2**31, LOWEST
    query, record = np.nonzero((scores >= least[:, None]) & (scores > LOWEST))
    for at_once in (1, 40, 10**6):
        monkeypatch.setattr(tasks_module, "SCORES_AT_ONCE", at_once)
        found = so.MemoryEngine(2).map(FindAbove(plan, least), release.shards_at([0, 60, 150], 16))
        assert_same(found, Found(query, record, scores[query, record].astype(np.int64)))
    assert (query == 0).sum() == 0 and (query == 1).sum() == release.n_records - (
        plan.tables.query.exclude[1] >= 0
    )


@pytest.mark.parametrize("tie", list(Tie))
@pytest.mark.parametrize("name", [*PLANS, "exact"])
@pytest.mark.parametrize(
    ("seed", "items", "repeats"), [(4, 20, True), (5, 300, True), (6, 300, False)]
)
def test_the_mass_of_the_scoring_pass_is_the_mass_of_a_pass_of_its_own(
    name, tie, seed, items, repeats
):
    """With 300 items most blocks are read by their postings alone, with 20 items as a whole."""
    data = dataset(random_table(400, items, 6, seed=seed, missing=0.1, repeats=repeats))
    plan = replace(plan_for(data, *PLANS.get(name, ("likelihood", {}))), tie=tie)
    beta = np.random.default_rng(0).choice([1e-12, 2.0**-28, 2.0**-24, 1.0], plan.n_queries)
    whole = Score(plan, beta=beta).run(data.index)
    scores = AllScores(plan, data.n_records).run(data.index).score.astype(float)
    weight = np.where(
        scores > LOWEST, np.exp(beta[:, None] * (scores - whole.best_score[:, None])), 0.0
    )
    for shards in ([data.index], data.shards_at([0, 130, 400], 64)):
        for threads in (1, 2):
            got = so.MemoryEngine(threads).map(Score(plan, beta=beta), shards)
            np.testing.assert_allclose(got.mass, weight.sum(axis=1), rtol=1e-9)
            assert got.best.tolist() == whole.best.tolist()
    np.testing.assert_allclose(
        Mass(plan, whole.best_score, beta).run(data.index).total, whole.mass, rtol=1e-9
    )


def test_a_thread_that_fails_is_an_error_and_not_a_missing_part(release):
    class Failing(Score):
        def run(self, shard, into=None, queries=None):
            if shard.first_record > 60:
                raise RuntimeError("no")
            return super().run(shard, into, queries)

    with pytest.raises(RuntimeError):
        so.MemoryEngine(2).map(
            Failing(plan_for(release, "scoreboard-rh", {})), release.shards_at([0, 60, 150], 16)
        )


def test_no_shards_give_the_empty_result(release):
    plan = plan_for(release, "scoreboard-rh", {})
    assert isinstance(so.MemoryEngine(2).map(Score(plan), []), Partials)
    assert_same(
        so.MemoryEngine(2).map(Mass(plan, np.zeros(plan.n_queries), np.ones(plan.n_queries)), []),
        Sums(np.zeros(plan.n_queries)),
    )
