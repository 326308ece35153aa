"""The Spark engine and datasets on Spark: the same catalog, the same records and the same answers as in memory."""

from __future__ import annotations

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from plans import release
from same_findings import assert_same_findings, differences
from spark_here import frame_of, on_spark, spark  # noqa: F401

import standout as so
from standout.cli.reading import read_on_spark, spark_for
from standout.data.tasks import FetchRows
from standout.engines.spark import ClusterShards
from standout.errors import (
    ColumnError,
    EngineError,
    InputError,
    ParameterError,
    RowError,
    StandoutError,
)

CATALOG = (
    "item_labels",
    "supports",
    "levels",
    "first_tick",
    "tick_span",
    "time_resolution",
    "n_records",
    "n_entries",
    "n_items",
    "n_pairs",
    "has_value",
    "has_time",
    "has_repeats",
    "no_tick",
    "length_counts",
    "value_grid",
    "popularity_rank",
)

RNG = np.random.default_rng(8)
N = 3000


def words(n: int, most: int) -> pa.Array:
    return pa.array([f"{'zéa𝄞Z'[k % 5]}{k}" for k in RNG.integers(0, most, n).tolist()])


def some_missing(cells: list, share: float = 0.1) -> list:
    return [
        None if gone else cell
        for cell, gone in zip(cells, RNG.random(len(cells)) < share, strict=True)
    ]


TABLES = {
    "text labels, negative fractions, date-times, missing cells, repeats": pa.table(
        {
            "user": pa.array(some_missing(words(N, 400).to_pylist(), 0.01)),
            "item": pa.array(some_missing(words(N, 60).to_pylist(), 0.01)),
            "rating": pa.array(some_missing((RNG.integers(-9, 9, N) / 4).tolist()), pa.float64()),
            "when": pa.array(
                some_missing(
                    [datetime(2005, 1 + k % 12, 1 + k % 28, k % 24, k % 60) for k in range(N)]
                ),
                pa.timestamp("us", tz="UTC"),
            ),
        }
    ),
    "wide integers as labels, whole numbers as values, seconds since 1970": pa.table(
        {
            "userId": pa.array(RNG.integers(-(2**60), 2**60, 500)[RNG.integers(0, 500, N)]),
            "movieId": pa.array(RNG.integers(1, 90, N).astype(np.int32)),
            "rating": pa.array(RNG.integers(1, 6, N).astype(np.int16)),
            "timestamp": pa.array(RNG.integers(-5_000_000, 1_500_000_000, N)),
        }
    ),
    "fractions as labels, many levels, dates": pa.table(
        {
            "person": pa.array(
                some_missing(
                    (RNG.integers(-40, 40, N) / 2 * 0.0 + RNG.integers(-300, 300, N) / 2).tolist(),
                    0.01,
                )
            ),
            "item": pa.array(some_missing(RNG.integers(0, 50, N).astype(float).tolist(), 0.01)),
            "amount": pa.array(np.round(RNG.lognormal(3, 2, N), 3).tolist()),
            "day": pa.array([date(1960 + k % 70, 1 + k % 12, 1 + k % 28) for k in range(N)]),
        }
    ),
    "presence only, many equal records": pa.table(
        {
            "user": pa.array(RNG.integers(0, 1500, N)),
            "item": pa.array(RNG.integers(0, 6, N)),
        }
    ),
    "numbers and dates in text": pa.table(
        {
            "user": pa.array([str(k) for k in RNG.integers(5, 300, N)]),
            "item": words(N, 40),
            "price": pa.array(
                some_missing([f"{k / 100:,.2f} €" for k in RNG.integers(1, 400_000, N).tolist()])
            ),
            "date": pa.array([f"{1 + k % 28:02}.{1 + k % 12:02}.2019" for k in range(N)]),
        }
    ),
}


def assert_same_data(mine: so.SparkDataset, usual: so.Dataset) -> None:
    for name in CATALOG:
        a, b = getattr(mine, name), getattr(usual, name)
        np.testing.assert_array_equal(a, b, err_msg=name)
        assert getattr(a, "dtype", type(a)) == getattr(b, "dtype", type(b)), name
    every = np.arange(usual.n_records)
    rows = mine.rows(every)
    for name, expected in vars(usual.index.rows(every)).items():
        found = getattr(rows, name)
        np.testing.assert_array_equal(found, expected, err_msg=name)
        assert found.dtype == expected.dtype, name
    assert mine.cleaning == usual.cleaning


FIRST, *OTHERS = TABLES


@pytest.mark.parametrize(
    "kind", [FIRST, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS)]
)
def test_catalog_and_records_are_those_of_the_dataset_in_memory(kind):
    table = TABLES[kind]
    assert_same_data(on_spark(table), so.Dataset.from_frame(table))


@pytest.fixture(scope="module")
def small():
    """A release in memory and on Spark, and an attack with its answers in memory."""
    data = so.Dataset.from_frame(release("repeats", n_records=300).to_arrow())
    who = so.Adversary(knows=3, value_within=1, time_within=14)
    targets = who.eligible(data)[:20]
    return data, on_spark(data.to_arrow(), 2, shards=5), who.sample(data, targets, seed=1), targets


def assert_same_answers(mine: so.Verdicts, usual: so.Verdicts) -> None:
    for name in ("best", "runner_up", "score", "second", "rank", "n_tied", "n_candidates"):
        assert getattr(mine, name).tolist() == getattr(usual, name).tolist(), name
    for name in ("sigma", "share", "bits"):
        np.testing.assert_allclose(
            getattr(mine, name), getattr(usual, name), rtol=1e-9, err_msg=name
        )


def test_an_attack_on_data_in_memory_gives_the_same_answers_by_spark(small, spark):  # noqa: F811
    data, _, aux, targets = small
    attack = so.attack("scoreboard-rh")
    assert_same_answers(
        attack.run(data, aux, engine="spark", watch=targets), attack.run(data, aux, watch=targets)
    )


def test_an_attack_on_data_on_spark_gives_the_answers_of_memory_without_naming_the_engine(small):
    data, far, aux, targets = small
    attack = so.attack("scoreboard-rh")
    assert_same_answers(attack.run(far, aux, watch=targets), attack.run(data, aux, watch=targets))


def test_an_audit_of_a_spark_frame_finds_what_the_audit_in_memory_finds(small):
    data, far, *_ = small
    knows = [
        so.Adversary(knows=3, wrong=1, value_within=1, time_within=14),
        so.Adversary(knows=2, choose="rare:0.3@2"),
    ]
    mine, usual = (
        so.Audit(
            place, knows, ["scoreboard-rh", "likelihood"], targets=15, seed=3, describe=False
        ).run()
        for place in (far, data)
    )
    assert mine.provenance["engine"] == "spark"
    assert_same_findings(mine, usual)


def test_rows_of_the_same_records_are_fetched_once(small, monkeypatch):
    _, far, *_ = small
    far.rows([3, 5])
    monkeypatch.setattr(type(far), "map", None)
    assert far.rows([3, 5]).record.tolist() == [3, 5]


def test_results_of_many_shards_are_merged_in_a_tree(small, monkeypatch):
    data, far, *_ = small
    assert far.shards.n_shards == 5
    monkeypatch.setattr("standout.engines.spark.FAN_IN", 2)
    every = np.arange(data.n_records)
    shards = ClusterShards(far.shards.frame, 5)
    sent, kept = (far.engine.map(FetchRows(every), shards).item.tolist() for _ in range(2))
    assert sent == kept == data.rows(every).item.tolist()
    assert shards.n_missed == 0


def test_each_partition_gets_one_shard_so_that_no_core_waits_for_another(small):
    from pyspark.sql import functions

    _, far, *_ = small
    sizes = far.home_engine.fetch(far.shards.frame.groupBy(functions.spark_partition_id()).count())
    assert sizes.column("count").to_pylist() == [1] * far.shards.n_shards


def test_data_on_spark_refuses_another_engine(small):
    _, far, aux, _ = small
    with pytest.raises(ParameterError, match=r"'gpu'.*not in memory; use 'spark'"):
        so.attack("scoreboard").run(far, aux, engine="gpu")


BAD = {
    "text among the values": (
        pa.table(
            {
                "user": ["a", "b", "c"] * 30,
                "item": ["x", "y", "z"] * 30,
                "rating": [*["4"] * 89, "often"],
            }
        ),
        RowError,
    ),
    "only text in the values": (
        pa.table({"user": ["a", "b"], "item": ["x", "y"], "rating": ["good", "bad"]}),
        InputError,
    ),
    "no labels": (
        pa.table({"user": pa.array([None, None], pa.string()), "item": ["x", "y"]}),
        InputError,
    ),
    "infinite values": (
        pa.table({"user": [1, 2], "item": [1, 2], "rating": [1.0, np.inf]}),
        InputError,
    ),
    "times in two units": (
        pa.table({"user": [1, 2], "item": [1, 2], "timestamp": [1_500_000_000_000, 1_500_000_000]}),
        InputError,
    ),
    "no such columns": (pa.table({"x": [1, 2], "y": [1, 2]}), ColumnError),
    "nested values": (pa.table({"user": [1, 2], "item": [1, 2], "rating": [[1], [2]]}), InputError),
}


FIRST_BAD, *OTHERS_BAD = BAD


@pytest.mark.parametrize(
    "kind", [FIRST_BAD, *(pytest.param(kind, marks=pytest.mark.slow) for kind in OTHERS_BAD)]
)
def test_bad_rows_give_the_error_that_they_give_in_memory(kind):
    table, error = BAD[kind]
    named = (
        {}
        if "x" in table.column_names
        else {
            "record": "user",
            "item": "item",
            "value": "rating" if "rating" in table.column_names else None,
        }
    )
    with pytest.raises(error) as usual:
        so.Dataset.from_frame(table, **named)
    with pytest.raises(error) as mine:
        on_spark(table, 2, **named)
    expected = str(usual.value).split(" (first: row")
    assert str(mine.value).startswith(expected[0])
    assert type(mine.value) is type(usual.value)
    assert "often" not in str(mine.value)


def test_a_foreign_error_on_an_executor_does_not_quote_the_records(small):
    _, far, *_ = small

    def fail(batches):
        raise ValueError("4711 holds Heat")

    engine = far.home_engine
    with pytest.raises(EngineError, match="its log has the details") as error:
        engine.fetch(engine.apply(far.shards.frame, fail, "part int"))
    assert "Heat" not in str(error.value)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"repeats": "last"}, "on Spark, repeated pairs stay"),
        ({"shards": 0}, "at least one shard"),
        ({"record": "nobody"}, "no column 'nobody' for record"),
    ],
)
def test_options_that_spark_cannot_serve_are_refused_in_words(options, text):
    with pytest.raises(StandoutError, match=text):
        on_spark(pa.table({"user": [1, 2], "item": [1, 2]}), **options)


def test_without_java_the_engine_says_what_to_install(monkeypatch):
    from pyspark.sql import SparkSession

    from standout.engines.spark import SparkEngine

    monkeypatch.setattr(SparkSession, "getActiveSession", classmethod(lambda cls: None))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match=r"needs Java 17 or 21.*apt-get install"):
        SparkEngine()


def test_a_second_master_is_refused_because_a_process_has_one_session(spark):  # noqa: F811
    with pytest.raises(EngineError, match="already runs on 'local"):
        so.SparkEngine(master="spark://elsewhere:7077")


def test_a_master_without_spark_is_refused_before_anything_is_read():
    with pytest.raises(ParameterError, match="--master is for --engine spark"):
        spark_for("memory", "local[2]")


def test_options_for_text_files_are_refused_on_spark(spark):  # noqa: F811
    with pytest.raises(ParameterError, match="encoding: Spark reads the files itself"):
        read_on_spark("ratings.csv", so.SparkEngine(spark), {"encoding": "utf-8"})


def test_a_path_without_data_gives_one_sentence(spark, tmp_path):  # noqa: F811
    with pytest.raises(InputError, match="Spark finds no data there"):
        so.SparkDataset.read(str(tmp_path / "nothing.parquet"))


@pytest.mark.slow
def test_the_command_audits_a_path_on_spark_and_finds_what_it_finds_in_memory(spark, run, tmp_path):  # noqa: F811
    file = tmp_path / "ratings.parquet"
    pq.write_table(release("plain", n_records=300).to_arrow(), file)
    found = []
    for more in (["--engine", "spark", "--master", spark.sparkContext.master], []):
        out = tmp_path / f"out{len(found)}"
        given = ["--knows", 3, "--targets", 20, "--attacks", "scoreboard-rh", "--out", out, *more]
        code, _, shown = run("audit", file, *given)
        assert code == 0, shown
        found.append(json.loads((out / "findings.json").read_text()))
    assert found[0]["provenance"]["engine"] == "spark"
    assert "not described" in " ".join(found[0]["warnings"])
    assert not differences(found[0]["results"], found[1]["results"])


@pytest.mark.slow
def test_an_audit_takes_a_spark_frame_as_it_is(spark):  # noqa: F811
    table = release("plain", n_records=200).to_arrow()
    who = so.Adversary(knows=2)
    mine = so.Audit(frame_of(table), [who], ["scoreboard"], targets=10, describe=False).run()
    usual = so.Audit(table, [who], ["scoreboard"], targets=10, describe=False).run()
    assert not differences(mine.to_dict()["results"], usual.to_dict()["results"])


class Planted:
    """Runs code when it is unpickled."""

    def __init__(self, path) -> None:
        self.path = str(path)

    def __reduce__(self):
        return open, (self.path, "w")


def test_spark_unpickles_neither_a_planted_checkpoint_nor_cells_of_the_data(spark, tmp_path):  # noqa: F811
    import pickle

    owned = tmp_path / "owned"
    payload = pickle.dumps(Planted(owned))
    # the files of a checkpoint of an RDD, in the folder that the session uses for checkpoints
    place = tmp_path / "checkpoints"
    spark.sparkContext.setCheckpointDir(str(place))
    for folder in [place / "rdd-1", *(sub / "rdd-1" for sub in place.iterdir())]:
        folder.mkdir(parents=True)
        for name in ("part-00000", "_partitioner"):
            (folder / name).write_bytes(payload)
    # and columns that are called like those that travel between the driver and the workers
    n = 300
    table = pa.table(
        {
            "user": pa.array([f"u{k % 40}" for k in range(n)]),
            "item": pa.array([k % 17 for k in range(n)]),
            "part": pa.array([0] * n, pa.int32()),
            "payload": pa.array([payload] * n, pa.binary()),
            "result": pa.array([payload] * n, pa.binary()),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    there = so.SparkDataset.read(
        tmp_path / "x.parquet", engine=so.SparkEngine(spark), record="user", item="item"
    )
    assert there.n_records == 40
    assert there.map(FetchRows(np.arange(40))).record.size == 40
    assert not owned.exists()
