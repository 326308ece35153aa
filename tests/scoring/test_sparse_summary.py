"""If few records have postings, the kernel reads only those; the partials are the same as from all scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from strategies import dataset, random_table

import standout as so
from standout.attacks.noise import Noise
from standout.kernels.levels import Steps
from standout.kernels.moments import Window
from standout.scoring import cpu
from standout.scoring.partials import LOWEST, NO_RECORD
from standout.scoring.plan import Plan, Tie
from standout.scoring.postings import variant_of
from standout.scoring.rules import key_of
from standout.scoring.tasks import AllScores, Mass, Score

N_RECORDS, BLOCK = 900, 128


@pytest.fixture(scope="module")
def release() -> so.Dataset:
    """Many items and short records: most blocks hold a handful of a query's postings, some none."""
    return dataset(random_table(N_RECORDS, 400, 3, seed=5, missing=0.1))


def plan_of(data: so.Dataset, name: str, tie: Tie) -> Plan:
    who = so.Adversary(knows=2, value_within=1, time_within=14)
    targets = who.eligible(data)[::7]
    facts = who.sample(data, targets, seed=3).bind(data)
    rng = np.random.default_rng(8)
    gone = np.where(
        rng.random(targets.size) < 0.5, targets, rng.integers(-1, N_RECORDS, targets.size)
    )
    options = {"noise": Noise(0.2, 0.1, Steps(1), Window(14))} if name == "odds" else {}
    attack = so.attack("likelihood" if name == "odds" else name, **options).fit(data, facts)
    plan = attack.compile(data, facts, gone)
    cut = rng.choice([-5, 0, 1, 2**20, 2**29, 2**31], targets.size)
    salt = rng.integers(0, 2**63, targets.size).astype(np.uint64)
    return replace(plan, tie=tie).replace_tables(cut=cut, salt=salt)


def from_all_scores(plan: Plan, data: so.Dataset, watch: np.ndarray, top: int) -> dict[str, list]:
    """The partials, written to be obviously right."""
    scores, t = AllScores(plan, data.n_records).run(data.index).score.astype(np.int64), plan.tables
    fields = ("top", "top_score", "n_top", "n", "total", "squares", "n_watch", "n_cut")
    out: dict[str, list] = {f: [] for f in fields}
    how = variant_of(plan)

    def padded(some: list[int], nobody: int) -> list[int]:
        return [*some, *[nobody] * (top - len(some))]

    for q, row in enumerate(scores):
        here = [r for r in range(row.size) if r != t.query.exclude[q] and row[r] != LOWEST]
        ranked = sorted(
            here,
            key=lambda r: (-row[r], int(key_of(r, 0, how.tie, t.query.salt[q], data.lengths)), r),
        )[:top]
        first = ranked[0] if ranked else NO_RECORD
        tied = [
            r
            for r in here
            if row[r] == row[first]
            and (plan.tie != Tie.SHORT or data.lengths[r] == data.lengths[first])
        ]
        s = row[here]
        for name, value in zip(
            out,
            (
                padded(ranked, NO_RECORD),
                padded(row[ranked].tolist(), LOWEST),
                len(tied),
                len(here),
                s.sum(),
                sum(int(x) ** 2 for x in s),
                (s >= watch[q]).sum(),
                (s >= t.query.cut[q]).sum(),
            ),
            strict=True,
        ):
            out[name].append(value)
    return out


@pytest.mark.parametrize("tie", list(Tie))
@pytest.mark.parametrize("name", ["scoreboard-rh", "odds", "likelihood", "weighted"])
@pytest.mark.parametrize(("threads", "top"), [(1, 2), (3, 2), (2, 21)])
def test_partials_from_the_records_met_are_those_from_all_scores(release, name, tie, threads, top):
    plan = plan_of(release, name, tie)
    watch = np.random.default_rng(1).choice([-(2**31), -1, 0, 1, 2**28, 2**31], plan.n_queries)
    shards = release.shards_at([0, 300, N_RECORDS], BLOCK)
    got = so.MemoryEngine(threads).map(Score(plan, watch, top), shards[::-1])
    for field, want in from_all_scores(plan, release, watch, top).items():
        if field == "squares":
            np.testing.assert_allclose(got.squares, np.array(want, float), rtol=1e-12)
        else:
            assert getattr(got, field).tolist() == np.array(want).tolist(), field


def test_the_short_summary_is_what_ran(release):
    """Otherwise the test above would test nothing: many blocks must be sparse."""
    plan = plan_of(release, "scoreboard-rh", Tie.INDEX)
    shard = release.shards_at([0, N_RECORDS], BLOCK)[0]
    t = plan.tables
    met = shard.ptr[:, t.fact.item + 1].astype(int) - shard.ptr[:, t.fact.item]
    per_query = np.add.reduceat(met, t.query.ptr[:-1], axis=1)
    assert (cpu.FEW * per_query < BLOCK).mean() > 0.4
    assert (Score(plan).run(shard).second != NO_RECORD).all()


@pytest.mark.parametrize("name", ["scoreboard-rh", "likelihood", "weighted"])
def test_the_mass_from_the_records_met_is_that_from_all_scores(release, name):
    plan = plan_of(release, name, Tie.INDEX)
    shards = release.shards_at([0, 300, N_RECORDS], BLOCK)
    engine = so.MemoryEngine(threads=2)
    got = engine.map(Score(plan), shards)
    beta = 1.0 / np.maximum(got.sigma(), 1.0)
    scores = engine.map(AllScores(plan, release.n_records), shards).score.astype(float)
    weight = np.exp(beta[:, None] * (scores - got.best_score[:, None]))
    weight[scores == LOWEST] = 0.0
    found = engine.map(Mass(plan, got.best_score, beta), shards).total
    np.testing.assert_allclose(found, weight.sum(axis=1), rtol=1e-9)
