"""`standout bench` at a size that takes a moment: the peers agree, and every measurement is a JSON line."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from standout.bench import growth, measure, peers
from standout.bench.case import BenchCase
from standout.engines.memory import MemoryEngine
from standout.errors import ParameterError
from standout.scoring.tasks import Score

SIZE = 0.002


@pytest.fixture(scope="module")
def case(tmp_path_factory) -> BenchCase:
    patch = pytest.MonkeyPatch()
    patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    yield BenchCase.make(SIZE, 30)
    patch.undo()


def test_the_c_loop_gives_the_engines_partials(case):
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    plan = case.plan("scoreboard-rh")
    theirs = peers.run(peers.build(), plan, case.data.index, 2)
    assert measure._same(MemoryEngine(2).map(Score(plan), [case.data.index]), theirs)


def test_every_peer_finds_the_record_that_we_find(case):
    lines = [line for line in measure.compare_peers(case, 12) if "same" in line]
    assert [line["what"].split()[0] for line in lines] == ["sparse_dot_topn,", "SciPy", "DuckDB"]
    assert all(line["same"] for line in lines)


def test_the_exponent_of_a_power_law_is_its_power():
    lines = [{"by": "records", "x": x, "seconds": 3e-9 * x**0.97} for x in (1e3, 1e4, 1e5)]
    assert growth.exponents(lines)["records"] == pytest.approx(0.97)


def test_a_sum_of_parts_is_told_apart():
    rng = np.random.default_rng(0)
    lines = [
        dict(zip(growth.PARTS, x.tolist(), strict=True)) for x in rng.uniform(1e3, 1e6, (12, 3))
    ]
    for line in lines:
        line["seconds"] = 1e-9 * (1.2 * line["postings"] + 0.15 * line["records"])
    fit = growth.time_per_part(lines)
    assert (fit["ns_per_posting"], fit["ns_per_record"]) == pytest.approx((1.2, 0.15))
    assert fit["ns_per_run"] == pytest.approx(0, abs=1e-9)
    assert fit["largest_miss"] == pytest.approx(0, abs=1e-9)
    lines[3]["seconds"] *= 1.5
    assert growth.time_per_part(lines)["largest_miss"] > 0.2


def test_bench_writes_one_json_line_per_measurement(case, tmp_path, monkeypatch, capsys):
    from standout.cli.machine import bench

    monkeypatch.setenv("XDG_CACHE_HOME", str(case.path.parents[1]))
    bench(
        size=SIZE,
        targets=20,
        out=tmp_path / "b.jsonl",
        peers=False,
        reading=False,
        starting=False,
        audit=False,
        growth=None,
    )
    lines = [json.loads(line) for line in (tmp_path / "b.jsonl").read_text().splitlines()]
    assert {"machine", "memory", "standout: scoreboard-rh", "standout: likelihood"} <= {
        line["what"] for line in lines
    }
    ours = next(line for line in lines if line["what"] == "standout: scoreboard-rh")
    assert ours["ms_per_target"] > 0
    assert np.isfinite(ours["ns_per_posting_core"])
    assert "scoreboard" in capsys.readouterr().out


@pytest.mark.slow
def test_a_whole_audit_is_compared_with_the_c_loop_on_as_many_queries(case):
    line = measure.default_audit(case, 4)
    assert line["kinds"] > 10 and line["core_seconds"] > 0
    if "skipped" not in line:
        assert line["ours_over_theirs"] == pytest.approx(
            line["core_seconds"] / line["c_core_seconds"]
        )


@pytest.mark.parametrize("options", [{"size": 0.0}, {"size": 2.0}, {"targets": 0}])
def test_bench_refuses_sizes_that_make_no_sense(options):
    from standout.cli.machine import bench

    with pytest.raises(ParameterError):
        bench(
            **{
                "size": SIZE,
                "targets": 20,
                "out": None,
                "peers": False,
                "reading": False,
                "growth": None,
                **options,
            }
        )


def test_all_cores_are_compared_with_one(case):
    lines = {line["what"]: line for line in measure.kernels(case, 1)}
    assert (
        lines["all cores against one"]["cores"] == case.threads
        and lines["all cores against one"]["speed_up"] > 0
    )
