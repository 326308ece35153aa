"""The example of an own engine runs, and answers as the engine that comes with the package."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from strategies import dataset, random_table

import standout as so
from standout.scoring.tasks import AllScores, Mass, Score, ScoreRecord

SOURCE = Path(__file__).parents[2] / "examples" / "own_engine.py"
WHO = so.Adversary(knows=3, wrong=1, value_within=1, time_within=14)


@pytest.fixture(scope="module")
def own_engine():
    return runpy.run_path(str(SOURCE))


@pytest.fixture(scope="module")
def release():
    data = dataset(random_table(131, 17, 5, seed=9, missing=0.1, repeats=True))
    targets = WHO.eligible(data)[::3]
    return data, WHO.sample(data, targets, seed=4), targets


@pytest.mark.parametrize("records", [1, 40, 131, 1000])
@pytest.mark.parametrize("name", so.attack_names())
def test_an_own_engine_gives_the_partials_and_scores_of_the_memory_engine(
    name, records, own_engine, release
):
    data, aux, targets = release
    facts = aux.bind(data)
    plan = so.attack(name).fit(data, facts).compile(data, facts, np.full(facts.n_queries, -1))
    mine, usual = own_engine["ShardLoop"](records), so.MemoryEngine()
    shards = [data.index]
    own = usual.map(ScoreRecord(plan, targets), shards).score
    for task in (ScoreRecord(plan, targets), AllScores(plan, data.n_records)):
        assert mine.map(task, shards).score.tolist() == usual.map(task, shards).score.tolist()
    for k in (2, 7):
        a, b = mine.map(Score(plan, own, k), shards), usual.map(Score(plan, own, k), shards)
        for field, x, y in zip(a._fields, a, b, strict=True):
            # the sum of squares is a float, and its order of summation is free
            if field == "squares":
                np.testing.assert_allclose(x, y, rtol=1e-12)
            else:
                assert x.tolist() == y.tolist() and x.dtype == y.dtype, field
    mass = Mass(plan, b.best_score, 1.0 / np.maximum(b.sigma(), 1.0))
    np.testing.assert_allclose(
        mine.map(mass, shards).total, usual.map(mass, shards).total, rtol=1e-12
    )


def test_an_audit_runs_on_an_own_engine_and_finds_the_same(own_engine, release):
    data, *_ = release
    found = [
        so.Audit(data, [WHO], ["scoreboard-rh", "likelihood"], targets=40, seed=1, engine=engine)
        .run()
        .to_frame()
        for engine in (own_engine["ShardLoop"](50), "memory")
    ]
    np.testing.assert_allclose(
        *(f.select_dtypes("number").to_numpy(float) for f in found), rtol=1e-9
    )


def test_the_example_of_an_own_engine_says_that_it_agrees(own_engine, capsys):
    own_engine["main"]()
    assert "same records first: True" in capsys.readouterr().out


def test_the_example_of_an_own_engine_is_short_and_imports_nothing_from_inside_the_package():
    source = SOURCE.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 60
    assert "import standout as so" in source
    assert source.count("from standout import extend\n") == source.count("from standout") == 1
    assert "import standout." not in source
