"""Pruned runs: the best two are those of the full run, σ is that of the sample, and decisions do not change."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import cases, dataset, knowledge, random_table

import standout as so
from standout.data.ranked import build_ranked
from standout.engines import memory
from standout.engines.sample import sample_of, spread
from standout.errors import ParameterError
from standout.scoring import pruned
from standout.scoring.partials import Partials
from standout.scoring.plan import Plan

BEST_TWO = ("best", "best_score", "best_key", "second", "second_score", "second_key")
ATTACKS = [
    ("scoreboard-rh", {}),
    ("scoreboard-rh", {"similarity": "threshold"}),
    ("weighted", {}),
    ("scoring", {}),
]
IDS = ["rh", "rh-threshold", "weighted", "scoring"]


@pytest.fixture(scope="module", autouse=True)
def worth_it() -> Iterator[None]:
    """Small releases run pruned too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "WORTH", 4)
        yield


def with_blocks_of(data: so.Dataset, size: int) -> so.Dataset:
    """Give the dataset a ranked index with small blocks."""
    data.__dict__["ranked"] = build_ranked(
        data.record_ptr, data.record_item, data.record_code, data.record_day, data.n_items, data.n_levels, size
    )
    return data


def plan_of(data: so.Dataset, name: str, options: dict, aux: so.Knowledge, gone: np.ndarray) -> Plan:
    facts = aux.bind(data)
    attack = so.attack(name, **options)
    attack.prepare(data, facts)
    return attack.compile(data, facts, gone)


@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=IDS)
@given(case=cases(min_records=8, max_records=20, repeats=False), data=st.data())
def test_who_is_found_by_bounds_is_who_scores_best(name, options, case, data):
    table, queries = case
    release = dataset(table)
    gone = np.array([data.draw(st.integers(-1, release.n_records - 1)) for _ in queries])
    with_blocks_of(release, data.draw(st.sampled_from([1, 3, 64])))
    plan = plan_of(release, name, options, knowledge(queries), gone)
    got = so.MemoryEngine(threads=data.draw(st.sampled_from([1, 2])), n_sample=2).run_pruned(plan, release)
    assert (got is None) == (not pruned.prunable(plan))
    if got is None:
        return
    full, found = so.MemoryEngine().run(plan, release), np.isfinite(got[1])
    for field in BEST_TWO:
        assert getattr(got[0], field)[found].tolist() == getattr(full, field)[found].tolist(), field
    assert got[0].n.tolist() == full.n.tolist()


@given(case=cases(min_records=8, max_records=20, repeats=False), phi=st.sampled_from([0.0, 0.5, 1.5]))
def test_answers_do_not_change_even_where_hardly_anybody_holds_an_item(case, phi):
    table, queries = case
    release, attack, aux = dataset(table), so.attack("scoreboard-rh", phi=phi), knowledge(queries)
    full = attack.run(release, aux, lineup=False)
    quick = attack.run(release, aux, so.MemoryEngine(n_sample=2), exact_sigma=False)
    for field in ("best", "runner_up", "score", "second", "matched"):
        np.testing.assert_array_equal(getattr(quick, field), getattr(full, field), err_msg=field)


@pytest.fixture(scope="module")
def release() -> so.Dataset:
    """Records of a dozen items with a popular head: rare items are worth looking at first."""
    return with_blocks_of(dataset(random_table(6000, 60, 12, seed=11, missing=0.05)), 512)


@pytest.fixture(scope="module")
def aux(release) -> so.Knowledge:
    who = so.Adversary(knows=5, wrong=1, value_within=1, time_within=14)
    return who.sample(release, who.eligible(release)[::30], seed=2)


@pytest.mark.parametrize(("name", "options"), ATTACKS, ids=IDS)
@pytest.mark.parametrize("channels", ["both", "values", "days", "neither"])
@pytest.mark.parametrize("size", [128, 65_536])
def test_all_queries_of_a_larger_release_are_found(name, options, channels, size):
    values, days = channels in ("both", "values"), channels in ("both", "days")
    table = random_table(900, 60, 12, seed=11, values=values, days=days, missing=0.05)
    data = with_blocks_of(dataset(table), size)
    who = so.Adversary(knows=5, wrong=1, value_within=1 if values else None, time_within=14 if days else None)
    targets = who.eligible(data)[::5]
    gone = np.where(np.arange(targets.size) % 3 == 0, targets, -1)
    plan = plan_of(data, name, options, who.sample(data, targets, seed=2), gone)
    got = so.MemoryEngine(threads=2, n_sample=50).run_pruned(plan, data)
    assert (got is None) == (not pruned.prunable(plan))
    if name == "scoreboard-rh":
        assert (got is None) == (channels == "neither")
    if got is not None:
        full = so.MemoryEngine().run(plan, data)
        assert np.isfinite(got[1]).mean() > 0.7
        for field in BEST_TWO:
            np.testing.assert_array_equal(
                getattr(got[0], field)[np.isfinite(got[1])], getattr(full, field)[np.isfinite(got[1])]
            )


def test_bounds_leave_something_out(release, aux):
    """Otherwise the tests above would only test a sum of everything."""
    plan = plan_of(release, "scoreboard-rh", {}, aux, np.full(aux.n_queries, -1))
    bound = pruned.bounds(plan, release.supports, release.ranked.n_codes)
    seen = spread(plan, sample_of(release, 50))
    room = (1 - pruned.SLACK) * (np.maximum(seen.second, 1) >> pruned.UNIT_BITS)
    most_held = bound.by_support[plan.tables.query_ptr[:-1]]
    assert (bound.assumed[most_held] <= room).mean() > 0.5
    assert (bound.assumed >= 0).all()


def test_bounds_are_above_what_they_bound(release, aux):
    plan = plan_of(release, "scoreboard-rh", {}, aux, np.full(aux.n_queries, -1))
    t, bound = plan.tables, pruned.bounds(plan, release.supports, release.ranked.n_codes)
    assert ((bound.value.astype(np.int64) << pruned.UNIT_BITS) >= t.value).all()
    assert ((bound.time.astype(np.int64) << pruned.UNIT_BITS) >= t.time).all()
    assert (np.diff(bound.time.astype(int), axis=1) <= 0).all()
    for row, reach in enumerate(bound.reach):
        assert (t.time[row, reach:] <= int(bound.far[row]) << pruned.UNIT_BITS).all()


def test_the_sample_is_fixed_and_its_moments_are_those_of_its_scores(release, aux):
    sample = sample_of(release, 60)
    assert np.array_equal(sample.record, sample_of(release, 60).record)
    assert (np.diff(sample.record) > 0).all()
    gone = np.where(np.arange(aux.n_queries) % 2, sample.record[np.arange(aux.n_queries) % 60], -1)
    plan = plan_of(release, "scoreboard-rh", {}, aux, gone)
    scores, seen = so.MemoryEngine().scores(plan, release).astype(float), spread(plan, sample)
    for q in range(plan.n_queries):
        mine = scores[q, sample.record[sample.record != gone[q]]]
        m2, m4 = np.mean((mine - mine.mean()) ** 2), np.mean((mine - mine.mean()) ** 4)
        assert seen.mean[q] == pytest.approx(mine.mean(), rel=1e-12)
        assert seen.sigma[q] == pytest.approx(np.sqrt(m2), rel=1e-9)
        assert seen.error[q] == pytest.approx(np.sqrt((m4 - m2**2) / mine.size) / (2 * m2), rel=1e-6)
        assert seen.second[q] == np.sort(mine)[-2]
        facts = range(*plan.tables.query_ptr[q : q + 2])
        largest = [
            int(plan.tables.value[f].max()) + int(plan.tables.time[plan.tables.time_row[f]].max()) for f in facts
        ]
        assert seen.unseen[q] == pytest.approx(4 / mine.size * sum(x**2 for x in largest) / m2 / 2)


def test_decisions_are_those_of_the_full_run_and_doubtful_queries_run_in_full(release, aux):
    phi = float(np.median(so.attack("scoreboard-rh").run(release, aux, lineup=False).eccentricity))
    attack = so.attack("scoreboard-rh", phi=phi)
    full = attack.run(release, aux, lineup=False)
    quick = attack.run(release, aux, so.MemoryEngine(n_sample=1500), exact_sigma=False)
    for field in ("best", "runner_up", "score", "second", "matched", "n_candidates"):
        np.testing.assert_array_equal(getattr(quick, field), getattr(full, field), err_msg=field)
    exact = quick.sigma_error == 0
    assert 0 < exact.mean() < 1
    np.testing.assert_array_equal(quick.sigma[exact], full.sigma[exact])
    off = (quick.sigma - full.sigma)[~exact] / quick.sigma_error[~exact]
    assert 0.3 < np.sqrt(np.mean(off**2)) < 2
    # where the decision is near, σ is exact
    near = np.abs(full.eccentricity / phi - 1) < 0.02
    assert near.any()
    assert exact[near].all()


def test_what_bounds_cannot_do_runs_in_full(release, aux):
    engine = so.MemoryEngine(n_sample=200)
    for name in ("likelihood", "scoreboard", "generic"):
        attack = so.attack(name)
        quick, full = (attack.run(release, aux, engine, lineup=False, exact_sigma=e) for e in (False, True))
        assert (quick.sigma_error == 0).all()
        np.testing.assert_array_equal(quick.matched, full.matched)
        np.testing.assert_array_equal(quick.sigma, full.sigma)
    with pytest.raises(ParameterError, match="watch needs the scores of all records"):
        so.attack("scoreboard-rh").run(release, aux, watch=np.zeros(aux.n_queries, int), exact_sigma=False)
    with pytest.raises(ParameterError, match="n_sample=1"):
        so.MemoryEngine(n_sample=1)


def test_a_query_of_too_many_facts_is_not_pruned(release, aux, monkeypatch):
    plan = plan_of(release, "scoreboard-rh", {}, aux, np.full(aux.n_queries, -1))
    assert pruned.prunable(plan)
    monkeypatch.setattr(pruned, "MOST_FACTS", 5)
    assert not pruned.prunable(plan)


def test_a_small_release_runs_in_full(release, aux):
    assert (so.attack("scoreboard-rh").run(release, aux, exact_sigma=False).sigma_error == 0).all()


def test_some_queries_of_a_plan_get_their_partials(release, aux):
    for name in ("scoreboard-rh", "likelihood", "generic"):
        attack = so.attack(name)
        facts = aux.bind(release)
        attack.prepare(release, facts)
        plan = attack.compile(release, facts, np.arange(aux.n_queries))
        some = np.array([3, 0, 17, 18])
        whole, part = (so.MemoryEngine().run(p, release) for p in (plan, plan.take(some)))
        for field, x in zip(Partials._fields, part, strict=True):
            np.testing.assert_array_equal(x, getattr(whole, field)[some], err_msg=field)
        np.testing.assert_array_equal(plan.take(some).score(part.best_score), plan.score(whole.best_score)[some])
