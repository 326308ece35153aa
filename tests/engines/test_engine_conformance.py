"""One suite for all engines: `pytest --engines memory,chunked,spark,gpu`. Each answers as the memory engine does.

Records, ties, ranks and counts are identical; floating-point numbers agree within 1e-9.
"""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from engine_choice import Place, place_of
from plans import SHAPES, release
from same_findings import differences

import standout as so
from standout.data.synthetic import twin_dataset
from standout.data.tasks import FetchRows
from standout.scoring.tasks import AllScores, FindAbove, Mass, Score, ScoreRecord

MOVIELENS = Path(os.environ.get("STANDOUT_DATA", ""), "ml-latest-small", "ratings.csv.gz")
EXACT = (
    "best",
    "runner_up",
    "matched",
    "n_candidates",
    "n_matching",
    "rank",
    "n_tied",
    "credit",
    "score",
    "second",
)


def write(data: so.Dataset, file: Path) -> Path:
    pq.write_table(data.to_arrow(), file, row_group_size=1000)
    return file


def adversary(data: so.Dataset) -> so.Adversary:
    return so.Adversary(
        knows=4,
        wrong=1,
        wrong_kind="value" if data.has_value or data.has_time else "item",
        value_within=1 if data.has_value else None,
        time_within=14 if data.has_time else None,
    )


def assert_same_verdicts(mine: so.Verdicts, usual: so.Verdicts) -> None:
    for field in fields(so.Verdicts):
        a, b = getattr(mine, field.name), getattr(usual, field.name)
        if field.name in EXACT:
            np.testing.assert_array_equal(a, b, err_msg=field.name)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=field.name)


def assert_same_attack(
    place: Place, data: so.Dataset, name: str, n: int, **options: object
) -> None:
    """All answers, about targets that are in the release and about targets that are not."""
    who = adversary(data)
    targets = who.eligible(data)[:: max(data.n_records // n, 1)][:n]
    # drawn where the records lie: the likelihood asks whether knowledge comes from the release that
    # it attacks
    here, aux = (who.sample(release, targets, seed=5) for release in (place.data, data))
    for channel in ("item", "value", "time"):
        np.testing.assert_array_equal(getattr(here, channel), getattr(aux, channel))
    attack = so.attack(name, **options)
    for keywords in ({"watch": targets, "spacing": True}, {"exclude": targets, "lineup": False}):
        mine = attack.run(place.data, here, engine=place.engine, **keywords)
        assert_same_verdicts(mine, attack.run(data, aux, **keywords))
    for mine, usual in zip(
        attack.run_both(place.data, here, targets, engine=place.engine),
        attack.run_both(data, aux, targets),
        strict=True,
    ):
        assert_same_verdicts(mine, usual)


@pytest.fixture(scope="module")
def places(where, tmp_path_factory):
    """Shape → the release in memory, and the place of the engine; made once per engine."""
    kept: dict[str, tuple[so.Dataset, Place]] = {}

    def get(shape: str) -> tuple[so.Dataset, Place]:
        if shape not in kept:
            file = write(release(shape), tmp_path_factory.mktemp("release") / f"{shape}.parquet")
            data = so.Dataset.read(file)
            kept[shape] = data, place_of(where, file, data)
        return kept[shape]

    return get


@pytest.mark.parametrize("name", so.attack_names())
def test_every_attack_gives_the_same_answers_on_every_engine(places, name):
    data, place = places("missing")
    assert_same_attack(place, data, name, 40)


@pytest.mark.parametrize("shape", [shape for shape in SHAPES if shape != "missing"])
@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh", "likelihood"])
def test_data_of_every_shape_gives_the_same_answers_on_every_engine(places, name, shape):
    data, place = places(shape)
    assert_same_attack(place, data, name, 12)


@pytest.mark.parametrize(
    "kind", ["score", "top", "lineup", "mass", "record", "all", "above", "rows"]
)
def test_every_task_gives_the_same_result_on_every_engine(places, kind):
    data, place = places("repeats")
    who, rng = adversary(data), np.random.default_rng(1)
    targets = who.eligible(data)[::9][:30]
    facts = who.sample(data, targets, seed=2).bind(data)
    plan = so.attack("scoreboard-rh").compile(data, facts, np.where(np.arange(30) % 3, -1, targets))
    n = plan.n_queries
    task = {
        "score": lambda: Score(plan, rng.integers(0, 2**29, n)),
        "top": lambda: Score(plan, k=7),
        "lineup": lambda: Score(plan, beta=rng.random(n) * 2**-27),
        "mass": lambda: Mass(plan, rng.integers(2**28, 2**30, n), rng.random(n) * 2**-27),
        "record": lambda: ScoreRecord(plan, np.where(np.arange(n) % 5, targets, -1)),
        "all": lambda: AllScores(plan, data.n_records),
        "above": lambda: FindAbove(plan, np.full(n, 2**28)),
        "rows": lambda: FetchRows(np.array([data.n_records - 1, 3, 77, 3, 0])),
    }[kind]()
    mine, usual = place.engine.map(task, place.data.all_shards), task.run(data.index)
    assert type(mine) is type(usual)
    arrays = vars(usual) if kind == "rows" else usual._asdict()
    for name, expected in arrays.items():
        np.testing.assert_allclose(
            getattr(mine, name),
            expected,
            rtol=1e-9 if expected.dtype.kind == "f" else 0,
            err_msg=name,
        )


@pytest.mark.slow
def test_a_million_entries_give_the_same_answers_on_every_engine(where, tmp_path):
    made = release("plain", n_records=110_000, n_items=3_000, seed=8)
    assert made.n_entries > 900_000
    file = write(made, tmp_path / "million.parquet")
    data = so.Dataset.read(file)
    place = place_of(where, file, data)
    for name in so.attack_names():
        assert_same_attack(place, data, name, 60)


def comparable(findings: so.Findings) -> dict:
    """What must be equal: all but the provenance, and the description of the data, which is left out on Spark."""
    found = findings.to_dict()
    notes = [note for note in found["warnings"] if "is not described" not in note]
    return {
        **{k: v for k, v in found.items() if k not in ("provenance", "sha256", "sections")},
        "warnings": notes,
    }


@pytest.mark.slow
def test_a_default_audit_gives_equal_findings_on_every_engine(where, tmp_path):
    file = write(twin_dataset(1200, 300, seed=4, mean_length=20), tmp_path / "twin.parquet")
    data = so.Dataset.read(file)
    place = place_of(where, file, data)
    audits = [
        so.Audit(data, targets=20, seed=5),
        so.Audit(place.data, targets=20, seed=5, engine=place.engine),
    ]
    usual, mine = (audit.run(progress=False) for audit in audits)
    assert len(usual.results) > 20  # the default sweep
    assert mine.provenance["engine"] == where[0]
    found = differences(comparable(mine), comparable(usual))
    assert not found, "\n".join(found[:20])
    if "describe" in mine.sections:
        assert not differences(mine.sections["describe"], usual.sections["describe"])
    else:
        assert where == ("spark", "on Spark")


@pytest.mark.slow
@pytest.mark.realdata
@pytest.mark.skipif(not MOVIELENS.is_file(), reason="ml-latest-small is not in STANDOUT_DATA")
def test_movielens_gives_the_same_answers_on_every_engine(where):
    data = so.Dataset.read(MOVIELENS)
    place = place_of(where, MOVIELENS, data)
    for name in so.attack_names():
        assert_same_attack(place, data, name, 200)
