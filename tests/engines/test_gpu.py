"""The GPU engine gives the CPU engine's integers to the bit, and says clearly when there is no GPU."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from plans import IDS, KINDS, SHAPES, assert_same_partials, case

import standout as so
from standout.errors import EngineError, ParameterError
from standout.scoring.plan import Tie
from standout.scoring.tasks import AllScores, Mass, Score, ScoreRecord


def gpu(**options):
    """The engine, or a word why this test is skipped."""
    from standout.engines.gpu import GpuEngine

    try:
        return GpuEngine(**options)
    except EngineError as error:
        pytest.skip(str(error))


def compare(engine, c) -> None:
    usual, shards = so.MemoryEngine(threads=1), [c.data.index]
    # two shards: results of the device merge as well
    for cut in (shards, c.data.shards(2)):
        mine, theirs = (
            engine.map(Score(c.plan, c.watch), cut),
            usual.map(Score(c.plan, c.watch), shards),
        )
        assert_same_partials(mine, theirs)
        for task in (ScoreRecord(c.plan, c.record), AllScores(c.plan, c.data.n_records)):
            assert np.array_equal(engine.map(task, cut).score, usual.map(task, shards).score)
        mass = Mass(c.plan, theirs.best_score, 1.0 / np.maximum(theirs.sigma(), 1.0))
        np.testing.assert_allclose(
            engine.map(mass, cut).total, usual.map(mass, shards).total, rtol=1e-9
        )


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "options"), KINDS, ids=IDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("block", [64, None])
def test_every_kind_of_plan_gives_the_same_integers_on_gpu_and_cpu(shape, name, options, block):
    # the engine first: without a GPU, the test is skipped before its case is made
    compare(gpu(block_size=block, threads=64) if block else gpu(), case(shape, name, options))


@pytest.mark.gpu
@pytest.mark.parametrize(("name", "options"), KINDS, ids=IDS)
def test_filters_bar_the_same_records_on_gpu_and_cpu(name, options):
    compare(gpu(block_size=256, threads=96), case("repeats", name, options, filtered=True))


@pytest.mark.gpu
@pytest.mark.parametrize("tie", list(Tie))
@pytest.mark.parametrize(("name", "options"), KINDS[:3], ids=IDS[:3])
def test_ties_break_alike_on_gpu_and_cpu(name, options, tie):
    compare(gpu(block_size=128, threads=64), case("presence", name, options, tie=tie))


@pytest.mark.gpu
@pytest.mark.parametrize("shared", [8_000, 11_000, 20_000])
@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh", "likelihood"])
def test_tables_that_do_not_fit_at_once_give_the_same_integers_on_gpu_and_cpu(name, shared):
    engine = gpu(block_size=64, threads=64, per_sm=1)
    engine._device.shared_per_sm = shared
    compare(engine, case("missing", name, {"noise": "fit"} if name == "likelihood" else {}))


@pytest.mark.gpu
def test_verdicts_of_a_whole_attack_are_the_same_on_gpu_and_cpu():
    c = case("missing", "likelihood", {})
    who = so.Adversary(knows=4, wrong=1, value_within=1, time_within=14)
    aux = who.sample(c.data, who.eligible(c.data)[:90], seed=2)
    attack = so.attack("scoreboard-rh")
    mine = attack.run(c.data, aux, gpu(batch_queries=32), watch=who.eligible(c.data)[:90])
    usual = attack.run(c.data, aux, watch=who.eligible(c.data)[:90])
    for field in ("best", "runner_up", "score", "second", "rank", "matched"):
        np.testing.assert_array_equal(getattr(mine, field), getattr(usual, field))
    np.testing.assert_allclose(mine.bits, usual.bits, rtol=1e-9, atol=1e-9)


@pytest.fixture
def no_gpu(monkeypatch) -> None:
    """A machine without CuPy."""
    monkeypatch.setitem(sys.modules, "cupy", None)


def test_without_a_gpu_the_cpu_runs_instead_and_one_clear_sentence_says_so(no_gpu):
    c = case("missing", "scoreboard-rh", {})
    who = so.Adversary(knows=4, value_within=1, time_within=14)
    targets = who.eligible(c.data)[:9]
    aux, attack = who.sample(c.data, targets, seed=2), so.attack("scoreboard-rh")
    with pytest.warns(
        UserWarning, match="engine 'memory' runs instead, with the same answers"
    ) as said:
        verdicts = attack.run(c.data, aux, engine="gpu")
    assert len(said) == 1
    assert "pip install 'standout[gpu]'" in str(said[0].message)
    assert "\n" not in str(said[0].message)
    assert np.array_equal(verdicts.score, attack.run(c.data, aux).score)
    with pytest.warns(UserWarning, match="runs instead") as said:
        findings = so.Audit(c.data, [who], ["scoreboard-rh"], targets=9, engine="gpu").run()
    assert len(said) == 1
    assert findings.provenance["engine"] == "memory"


def test_an_engine_that_is_asked_for_itself_is_an_error_where_it_cannot_run(no_gpu):
    from standout.engines.gpu import GpuEngine

    with pytest.raises(EngineError, match="needs CuPy"):
        GpuEngine()


@pytest.mark.parametrize(
    "options", [{"block_size": 30}, {"threads": 100}, {"threads": 2048}, {"batch_queries": 0}]
)
def test_options_that_make_no_sense_are_refused_before_a_gpu_is_asked_for(options):
    from standout.engines.gpu import GpuEngine

    with pytest.raises(ParameterError):
        GpuEngine(**options)
