"""The same answer everywhere: no cut, order, block size, number of threads or size of batch changes it."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Fact, Table
from strategies import CutEngine, cases, cuts, dataset, knowledge, queries_of, random_table

import standout as so
from standout.errors import ParameterError
from standout.scoring.partials import Partials
from standout.scoring.tasks import Score

ATTACKS = [
    ("scoreboard", {}),
    ("scoreboard-rh", {}),
    ("scoreboard-rh", {"length": "sqrt"}),
    ("scoreboard-rh", {"similarity": "threshold"}),
]
IDS = ["scoreboard", "rh", "rh-sqrt", "rh-threshold"]


def assert_same_partials(a: Partials, b: Partials) -> None:
    """Identical to the bit, but for the sum of squares: it is a float, and its order of summation is free."""
    for name, x, y in zip(Partials._fields, a, b, strict=True):
        if name == "squares":
            np.testing.assert_allclose(x, y, rtol=1e-12)
        else:
            assert x.tolist() == y.tolist(), name


def assert_same_verdicts(a: so.Verdicts, b: so.Verdicts) -> None:
    """Identical to the bit where only integers count; posteriors and σ within 1e-9."""
    for name in [
        "best",
        "runner_up",
        "score",
        "second",
        "matched",
        "n_candidates",
        "n_matching",
        "rank",
    ]:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for name in ["sigma", "eccentricity", "statistic", "share", "bits"]:
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-7, err_msg=name
        )


@pytest.fixture(scope="module")
def release() -> tuple[Table, so.Dataset, so.Knowledge, np.ndarray]:
    """A release of an odd size with everything in it, and knowledge of forty of its records."""
    table = random_table(211, 17, 4, seed=9, missing=0.1, repeats=True)
    data = dataset(table)
    who = so.Adversary(knows=3, wrong=1, value_within=1, time_within=14)
    targets = who.eligible(data)[::3][:40]
    return table, data, who.sample(data, targets, seed=4), targets


@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=IDS)
@given(case=cases(), data=st.data())
def test_any_cut_into_shards_merged_in_any_order_gives_identical_partials(
    name, options, case, data
):
    table, queries = case
    release, n = dataset(table), len(table.records)
    facts = knowledge(queries).bind(release)
    gone = np.array([data.draw(st.integers(-1, n - 1)) for _ in queries])
    watch = np.array([data.draw(st.integers(-5, 2**30)) for _ in queries])
    plan = so.attack(name, **options).compile(release, facts, gone)
    task = Score(plan, watch)
    whole = so.MemoryEngine(threads=1).map(task, [release.index])
    edges, block = data.draw(cuts(n))
    shards = release.shards_at(edges, block)
    parts = [task.run(s) for s in shards]
    assert_same_partials(reduce(Partials.merge, data.draw(st.permutations(parts))), whole)
    assert_same_partials(reduce(Partials.merge, [Partials.empty(len(queries)), *parts]), whole)


@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=IDS)
@pytest.mark.parametrize("block", [1, 2, 7, 64, 210, 211, 212, 65_536])
def test_no_block_size_and_no_number_of_threads_changes_a_verdict(release, name, options, block):
    _, data, aux, targets = release
    attack = so.attack(name, **options)
    usual = attack.run(data, aux, watch=targets)
    shards = data.shards_at([0, 211], block)
    for threads in (1, 2):
        engine = CutEngine(shards, threads)
        assert_same_verdicts(attack.run(data, aux, engine=engine, watch=targets), usual)
        assert np.array_equal(attack.scores(data, aux, engine), attack.scores(data, aux))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_shards_in_another_order_and_other_threads_give_the_same_verdicts(release, threads):
    _, data, aux, targets = release
    attack = so.attack("scoreboard-rh")
    gone = np.roll(targets, 1)
    usual = attack.run(data, aux, watch=targets, exclude=gone)
    shards = data.shards_at([0, 1, 50, 51, 160, 211], 13)
    engine = CutEngine(shards[::-1], threads)
    assert_same_verdicts(attack.run(data, aux, engine=engine, watch=targets, exclude=gone), usual)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 211, 500])
def test_a_dataset_cut_into_n_shards_holds_every_record_once(release, n):
    _, data, aux, _ = release
    shards = data.shards(n)
    assert [s.first_record for s in shards] == np.cumsum([0, *(s.n_records for s in shards)])[
        :-1
    ].tolist()
    assert sum(s.n_records for s in shards) == 211
    attack = so.attack("scoreboard-rh")
    assert_same_verdicts(attack.run(data, aux, engine=CutEngine(shards)), attack.run(data, aux))


@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=IDS)
@pytest.mark.parametrize(
    ("budget", "most"), [(1, 4096), (48 * 2**20, 1), (48 * 2**20, 7), (30_000, 4096)]
)
def test_the_size_of_a_batch_changes_nothing(release, monkeypatch, name, options, budget, most):
    _, data, aux, targets = release
    attack = so.attack(name, **options)
    gone = np.where(np.arange(targets.size) % 2, np.roll(targets, 1), -1)
    usual = (
        attack.run(data, aux, watch=targets, exclude=gone),
        attack.scores(data, aux, exclude=gone),
    )
    monkeypatch.setattr(so.MemoryEngine, "batch_bytes", budget)
    monkeypatch.setattr(so.MemoryEngine, "batch_queries", most)
    done = []
    assert_same_verdicts(
        attack.run(data, aux, watch=targets, exclude=gone, progress=done.append), usual[0]
    )
    assert np.array_equal(attack.scores(data, aux, exclude=gone), usual[1])
    assert sum(done) == targets.size
    assert len(done) > 1


@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=IDS)
def test_a_query_is_answered_alike_alone_and_among_others(name, options):
    table = random_table(60, 9, 3, seed=2, missing=0.2)
    data = dataset(table)
    items = table.items
    mixed = [
        [Fact(items[0])],
        [Fact(items[1], 3.0)],
        [Fact(items[2], day=10_500.0)],
        [Fact(items[0], 2.0, 10_100.0)],
    ]
    attack = so.attack(name, **options)
    together = attack.scores(data, knowledge(mixed))
    alone = np.concatenate([attack.scores(data, knowledge([facts])) for facts in mixed])
    assert np.array_equal(together, alone)


def test_records_that_knowledge_never_touches_count_as_zeros():
    table = random_table(50, 6, 2, seed=3)
    rows = {e.record for e in table.entries if e.item == table.items[0]}
    touched = len(rows)
    assert 1 < touched < 50
    v = so.attack("scoreboard-rh").run(
        dataset(table), knowledge([[Fact(table.items[0])]]), watch=[min(rows)]
    )
    s = 1 / np.log(touched)
    share = touched / 50
    assert v.n_candidates[0] == 50
    assert v.sigma[0] == pytest.approx(s * np.sqrt(share * (1 - share)), rel=1e-6)
    weight = np.exp(s / v.sigma[0])
    assert v.share[0] == pytest.approx(weight / (touched * weight + 50 - touched), rel=1e-6)
    assert v.bits[0] == pytest.approx(-np.log2(v.share[0]), rel=1e-6)
    assert v.rank[0] == touched


def test_the_decision_does_not_depend_on_who_is_watched(release):
    _, data, aux, targets = release
    attack = so.attack("scoreboard-rh")
    plain, watched = attack.run(data, aux), attack.run(data, aux, watch=targets)
    for name in ["best", "score", "second", "matched", "eccentricity", "statistic", "share"]:
        np.testing.assert_array_equal(getattr(plain, name), getattr(watched, name))
    assert (plain.rank == 0).all()
    assert np.isnan(plain.bits).all()
    some = attack.run(data, aux, watch=np.where(np.arange(targets.size) % 2, targets, -1))
    assert (some.rank[::2] == 0).all()
    assert (some.rank[1::2] == watched.rank[1::2]).all()


def test_sigma_of_nearly_equal_scores_is_the_spread_and_not_the_rounding():
    table = Table(
        tuple(e._replace(day=10_000.0 + e.record) for e in random_table(40, 1, 1, seed=0).entries)
    )
    attack = so.attack("scoreboard-rh", d0=1e6)
    data, aux = dataset(table), knowledge([[Fact(0, day=10_000.0)]])
    exact = attack.scores(data, aux).std(axis=1)
    assert attack.run(data, aux).sigma == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh"])
def test_where_no_candidate_is_left_she_names_nobody(name):
    data = dataset(Table(random_table(1, 3, 2, seed=0).entries))
    aux = knowledge([[Fact(int(data.item_labels[0]))]])
    options = {"phi": 0.0} if name == "scoreboard-rh" else {}
    v = so.attack(name, **options).run(data, aux, exclude=[0])
    assert v.n_candidates[0] == 0
    assert v.best[0] == -1
    assert np.isnan(v.score[0])
    assert not v.matched[0]
    assert v.share[0] == 0
    assert v.eccentricity[0] == 0


def test_an_engine_that_is_not_there_is_refused_with_the_ones_that_are():
    data = dataset(random_table(5, 3, 2, seed=0))
    with pytest.raises(ParameterError, match=r"no engine 'cloud'.*memory"):
        so.attack("scoreboard").run(
            data, knowledge([[Fact(int(data.item_labels[0]))]]), engine="cloud"
        )


@pytest.mark.parametrize("block", [0, 65_537])
def test_a_block_holds_between_1_and_65536_records(block):
    with pytest.raises(ParameterError, match="block_size"):
        dataset(random_table(5, 3, 2, seed=0)).shards_at([0, 5], block)


def test_queries_read_back_from_a_sampled_knowledge_are_the_facts_it_holds(release):
    _, _, aux, _ = release
    assert [len(q) for q in queries_of(aux)] == [3] * aux.n_queries
