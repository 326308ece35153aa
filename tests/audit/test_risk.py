"""Risk of each person: planted people, an audit of the same draw, and an enumeration of all draws."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import standout as so
from standout.data.synthetic import twin_dataset
from standout.errors import EligibilityError, ParameterError


@pytest.fixture(scope="module")
def data():
    return twin_dataset(300, 120, seed=3, mean_length=8)


def test_the_mean_of_draw_0_is_that_of_an_audit(data):
    who = so.Adversary(knows=2, value_within=1, time_within=14)
    seen = so.Audit(data, who, ["likelihood"], targets="all", seed=5, describe=False).run(False)
    found = so.risk(data, who, draws=1, seed=5)
    assert found.found.mean() == pytest.approx(seen.results[0]["attacks"][0]["hit"]["rate"])
    assert found.n_eligible == seen.results[0]["n_eligible"] == found.record.size


def test_the_chance_of_being_unique_approaches_an_enumeration_of_all_facts():
    record = [0] * 4 + [1] * 3 + [2] * 3 + [3] * 3
    item = [0, 1, 2, 3, 0, 1, 4, 2, 3, 4, 0, 2, 5]
    data = so.Dataset.from_arrays(record, item)
    held = [{i for r, i in zip(record, item, strict=True) if r == k} for k in range(4)]
    found = so.risk(data, so.Adversary(knows=2), draws=400, seed=1)
    for k in range(4):
        pairs = [set(p) for p in combinations(sorted(held[k]), 2)]
        alone = [sum(p <= other for other in held) == 1 for p in pairs]
        assert found.unique[k] == pytest.approx(np.mean(alone), abs=0.09)


def test_a_planted_person_has_chance_1_and_a_twin_never_is_unique():
    rng = np.random.default_rng(2)
    record = np.repeat(np.arange(60), 5)
    item = np.concatenate([rng.choice(15, 5, replace=False) for _ in range(60)])
    item[:5] = [90, 91, 92, 93, 94]  # nobody else holds these
    item[10:15] = item[5:10]  # records 1 and 2 are equal
    found = so.risk(so.Dataset.from_arrays(record, item), so.Adversary(knows=3), draws=4)
    frame = found.to_frame()
    assert frame.loc[0, ["unique", "found"]].tolist() == [1, 1]
    assert frame.loc[[1, 2], "unique"].tolist() == [0, 0] and (frame.found[1:3] <= 0.5).all()


def test_people_with_too_few_items_have_no_row_instead_of_a_zero(data):
    found = so.risk(data, so.Adversary(knows=8), draws=1)
    assert found.record.size == found.n_eligible == int((data.lengths >= 8).sum()) < data.n_records
    with pytest.raises(EligibilityError, match="lower knows"):
        so.risk(data, so.Adversary(knows=100_000))


def test_what_is_not_defined_is_not_measured(data):
    found = so.risk(data, so.Adversary(knows=2, wrong=0.3, value_within=0), "scoreboard", draws=1)
    assert found.unique is None and found.sure is None
    assert list(found.to_frame()) == ["record", "draws", "found"]
    assert found.to_dict()["unique"] is None


def test_labels_are_shown_only_on_request(data):
    found = so.risk(data, so.Adversary(knows=2), draws=1, targets=20)
    assert "label" not in found.to_frame()
    with_labels = found.to_frame(labels=True)
    assert (with_labels["label"] == data.record_labels[with_labels["record"]]).all()


def test_batches_change_no_number(data, monkeypatch):
    who = so.Adversary(knows=3)
    whole = so.risk(data, who, draws=2).to_frame()
    monkeypatch.setattr("standout.audit.risk.AT_ONCE", 37)
    assert so.risk(data, who, draws=2).to_frame().equals(whole)


@pytest.mark.parametrize("draws", [0, -1, 1.5, True, "8"])
def test_a_wrong_number_of_draws_is_refused(data, draws):
    with pytest.raises(ParameterError, match="draws="):
        so.risk(data, so.Adversary(knows=2), draws=draws)


@pytest.mark.parametrize("extra", [("--out", "nowhere/x.csv"), ("--out", "."), ("--labels",)])
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_measured(
    run, ratings, monkeypatch, extra
):
    monkeypatch.chdir(ratings.parent)
    code, shown, error = run("risk", ratings, "--draws", 1, *extra)
    assert code == 2 and extra[0] in error and "unique" not in shown


def test_the_command_prints_aggregates_and_writes_one_row_per_person(run, tmp_path):
    path = tmp_path / "visits.csv"
    rng = np.random.default_rng(1)
    rows = [f"p{r},i{i}" for r in range(40) for i in rng.choice(30, 5, replace=False)]
    path.write_text("person,item\n" + "\n".join(rows) + "\n")
    out = tmp_path / "risk.csv"
    code, shown, error = run("risk", path, "--knows", 2, "--draws", 2, "--out", out)
    assert code == 0, error
    assert "40 people, 2 draws each" in shown and "p1" not in shown
    assert len(out.read_text().splitlines()) == 41 and "p1" not in out.read_text()


def test_channels_and_relations_that_were_not_used_are_named():
    rng = np.random.default_rng(4)
    record = np.repeat(np.arange(40), 6)
    item = np.concatenate([rng.choice(15, 6, replace=False) for _ in range(40)])
    data = so.Dataset.from_arrays(
        record,
        item,
        channels={"price": rng.integers(1, 9, 240), "receipt": np.tile(["a", "b"], 120)},
        attributes={"age": record % 7},
    )
    who = so.Adversary(knows=2, within={"price": 0, "age": 6}, choose="together:receipt")
    found = so.risk(data, who, draws=1)
    lost = [
        "the channel receipt",
        "the attribute age",
        "attacks that use how the items are related",
    ]
    assert found.to_dict()["not_measured"] == lost
    assert so.risk(data, so.Adversary(knows=2), draws=1).not_measured[0] == "the channel price"


@pytest.mark.parametrize(
    ("known", "lost"),
    [
        ([{}], ["the values", "the times"]),
        ([{"value_within": 0}], ["the times"]),
        ([{"time_within": 1}], ["the values"]),
        ([{"value_within": 0}, {"time_within": 1}], []),
    ],
)
def test_values_and_times_that_nobody_knows_are_named_in_the_answer(known, lost):
    """Without values and times hardly anybody is found, and the answer named no reason."""
    rng = np.random.default_rng(4)
    item = np.concatenate([rng.choice(15, 6, replace=False) for _ in range(40)])
    data = so.Dataset.from_arrays(
        np.repeat(np.arange(40), 6), item, rng.integers(1, 9, 240), rng.integers(0, 90, 240)
    )
    who = [so.Adversary(**{"knows": 2, "value_within": None} | one) for one in known]
    found = so.Audit(data, who, ["likelihood"], 40).run()
    assert list(found.data["not_measured"]) == lost
    answer = str(found).splitlines()[0]
    assert all(f" {name}" in answer for name in lost) and (lost or "Not measured" not in answer)
    if len(who) == 1:
        assert list(so.risk(data, who[0], draws=1).not_measured) == lost
