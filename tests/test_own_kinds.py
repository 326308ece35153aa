"""Each example of an extension runs on one dataset: values, times, three further level channels and an attribute."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import numpy as np
import pytest

import standout as so
from standout.adversary import choices
from standout.attacks import attack
from standout.data import scale
from standout.data.reading import formats
from standout.defenses import defense
from standout.engines import engine
from standout.views import view

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("own_*.py"))
NAMES = (
    (attack._REGISTRY, "overlap"),
    (choices._REGISTRY, "talked-about"),
    (defense._REGISTRY, "own-recent-only"),
    (view._REGISTRY, "own-first-letters"),
    (formats.READERS, "visits"),
    (scale.OWN_KINDS, "compass"),
    (engine.OWN_ENGINES, "shard-loop"),
)
POINTS = np.array(["N", "NE", "E", "SE", "S", "SW", "W", "NW"])
WITHIN = {"price": "10%", "pieces": 0, "way": 1, "age": 5}
N = 120
"""Records; each has 10 entries, so that some stay without one after a defense."""


@pytest.fixture(scope="module", autouse=True)
def examples():
    """All of them, registered together; their names are gone afterwards."""
    yield [runpy.run_path(str(path)) for path in EXAMPLES]
    for registry, name in NAMES:
        registry.pop(name)


def columns():
    """Entries with everything that an entry can have."""
    rng = np.random.default_rng(4)
    record = np.repeat(np.arange(N), 10)
    item = np.concatenate([rng.choice(60, 10, replace=False) for _ in range(N)])
    return {
        "record": record,
        "item": np.array([f"{'abcdef'[k % 6]}{k}" for k in item]),
        "value": rng.integers(1, 6, record.size).astype(float),
        "time": rng.integers(12_000, 12_300, record.size),
        "channels": {
            "price": rng.choice([1.0, 2.5, 3.99, 12.0], record.size),
            "pieces": rng.integers(1, 4, record.size),
            "way": POINTS[rng.integers(0, 8, record.size)],
        },
        "attributes": {"age": np.repeat(rng.integers(20, 60, N), 10)},
    }


@pytest.fixture(scope="module")
def data(examples):
    return so.Dataset.from_arrays(**columns())


def who(**more):
    return so.Adversary(**{"knows": 2, "time_within": 5, "within": WITHIN, **more})


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_is_short_and_uses_public_names_only(path):
    source = path.read_text()
    assert len(source.splitlines()) <= 60
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"standout.{name.name}" for name in node.names}
            imported |= names if node.module == "standout" else {str(node.module)}
    imported = {name for name in imported if name.split(".")[0] == "standout"}
    assert imported <= {"standout", "standout.extend"}


@pytest.mark.parametrize(
    ("adversary", "options"),
    [
        ({}, {"attacks": ["overlap"]}),
        ({"choose": "talked-about"}, {}),
        ({"view": "own-first-letters:2"}, {}),
        ({}, {"defense": "own-recent-only"}),
        ({}, {"engine": "shard-loop"}),
        (
            {"choose": "talked-about", "view": "own-first-letters:2"},
            {"attacks": ["overlap"], "defense": "own-recent-only", "engine": "shard-loop"},
        ),
    ],
    ids=["attack", "choice", "view", "defense", "engine", "all of them"],
)
def test_each_extension_is_measured_on_all_channels(data, adversary, options):
    options = {"attacks": ["likelihood"], **options}
    if "defense" in options:
        options["defense"] = so.defense("own-recent-only", since=12_050)
    findings = so.Audit(data, [who(**adversary)], targets=40, seed=1, **options).run()
    frame = findings.to_frame()
    assert set(frame["n"]) == {40} and frame["hit"].between(0.05, 1).all()


def test_an_own_engine_and_the_engine_of_the_package_answer_alike(data):
    targets = np.arange(0, N, 4)
    known = who().sample(data, targets, seed=1)
    mine, usual = (so.attack("likelihood").run(data, known, e) for e in ("shard-loop", "memory"))
    np.testing.assert_array_equal(mine.best, usual.best)
    np.testing.assert_allclose(mine.posterior, usual.posterior, rtol=1e-9)


def test_a_registered_reader_gives_the_records_items_and_values(data, tmp_path):
    made = columns()
    rows = zip(made["record"], made["item"], made["value"], strict=True)
    path = tmp_path / "a.visits"
    path.write_text("VISITS 1\n" + "".join(f"p{r} | {i} | {v}\n" for r, i, v in rows))
    read = so.Dataset.read(path)
    assert (read.n_records, read.n_entries) == (data.n_records, data.n_entries)
    np.testing.assert_array_equal(read.levels, data.levels)


def test_an_own_channel_compares_around_the_circle(data):
    """Who could have produced a fact, counted by the labels alone."""
    made = columns()
    place = {point: k for k, point in enumerate(POINTS)}
    for within in (0, 1, 2):
        know = so.Adversary(knows=1, value_within=None, within={"way": within})
        known = know.sample(data, np.arange(N), seed=2)
        told = known.channels["way"]
        assert set(told) <= set(POINTS)
        for q in range(0, N, 7):
            steps = np.array([place[x] - place[told[q]] for x in made["channels"]["way"]])
            near = np.minimum(steps % 8, -steps % 8) <= within
            could = np.unique(made["record"][near & (made["item"] == known.item[q])])
            found = so.attack("likelihood").run(data, known)
            assert q in could and found.n_candidates[q] == could.size


def test_known_directions_are_wrong_by_at_most_the_tolerance_and_evenly(data):
    know = so.Adversary(knows=10, value_within=None, within={"way": 1})
    known = know.sample(data, np.arange(N), seed=3)
    made = columns()
    true = {
        (r, i): x
        for r, i, x in zip(made["record"], made["item"], made["channels"]["way"], strict=True)
    }
    place = {point: k for k, point in enumerate(POINTS)}
    gaps = [
        (place[x] - place[true[q, i]] + 4) % 8 - 4
        for q, i, x in zip(known.query, known.item, known.channels["way"], strict=True)
    ]
    counts = np.bincount(np.array(gaps) + 4, minlength=8)
    assert counts[3:6].sum() == counts.sum() == 10 * N
    assert np.abs(counts[3:6] / counts.sum() - 1 / 3).max() < 0.06


def test_an_own_channel_is_written_saved_and_read_back(data, tmp_path, monkeypatch):
    so.Dataset.save(data, tmp_path / "saved")
    again = so.Dataset.open(tmp_path / "saved")
    assert again.fingerprint == data.fingerprint
    assert [channel.kind for channel in again.channels] == ["line", "line", "compass"]
    rows = data.to_arrow().to_pandas()
    assert set(rows["way"]) == set(POINTS)
    plain = so.Dataset.from_frame(
        rows,
        record="record",
        item="item",
        value="value",
        time="time",
        channels={name: name for name in ("price", "pieces", "way")},
        attributes=["age"],
    )
    assert [channel.kind for channel in plain.channels] == ["line", "line", "compass"]
    monkeypatch.delitem(scale.OWN_KINDS, "compass")
    with pytest.raises(so.InputError, match="'compass', which is not registered here"):
        so.Dataset.open(tmp_path / "saved")
    labels = so.Dataset.from_arrays(**columns())
    assert labels.fingerprint != data.fingerprint
    with pytest.raises(so.InputError, match="levels of the kind compass in the source and labels"):
        so.Audit(data, [who()], ["likelihood"], release=labels, targets=10).run()


def test_a_known_label_that_is_no_direction_is_refused(data):
    with pytest.raises(so.ParameterError, match="way: use a number of steps, not 10%"):
        so.Adversary(knows=1, within={"way": "10%"}).sample(data, np.arange(3), seed=1)
    nothing = so.Knowledge.from_arrays([0, 0], ["a0", "b1"], channels={"way": [None, None]})
    assert so.attack("likelihood").run(data, nothing).n_candidates[0] > 0
    known = so.Knowledge.from_arrays([0, 0], ["a0", "b1"], channels={"way": ["N", "UP"]})
    with pytest.raises(so.ParameterError, match="way: 1 known labels are not of the kind compass"):
        so.attack("likelihood").run(data, known)


def test_a_bad_codec_is_refused():
    made = columns()

    @scale.register_channel("broken", lambda labels: labels[0] == "E")
    class Broken(scale.OwnChannel):
        @staticmethod
        def encode(labels):
            return np.full(labels.size, np.nan)

        def decode(self, levels):
            return levels

    scale.OWN_KINDS["compass"], kept = scale.OWN_KINDS.pop("broken"), scale.OWN_KINDS["compass"]
    try:
        with pytest.raises(so.ParameterError, match="channel way: encode of 'broken' must return"):
            so.Dataset.from_arrays(**made)
    finally:
        scale.OWN_KINDS["compass"] = kept
