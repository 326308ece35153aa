"""The audit as a whole: rates that can be checked by hand, frozen findings, no labels."""

import dataclasses
import json

import jsonschema
import numpy as np
import pytest

import standout as so
from standout.audit.judge import Trial, Truth, judge
from standout.errors import EligibilityError, InputError, ParameterError


def release(n=200, m=60, per=12, seed=0, labels="person-{:05d}"):
    """Random records with values and days, every one different from the others."""
    rng = np.random.default_rng(seed)
    record, item = [], []
    for r in range(n):
        chosen = rng.choice(m, per, replace=False)
        record += [labels.format(r)] * per
        item += [f"thing-{i}" for i in chosen]
    size = len(record)
    return so.Dataset.from_arrays(record, item, rng.integers(1, 6, size), rng.integers(0, 900, size))


@pytest.fixture(scope="module")
def dataset():
    return release()


@pytest.fixture(scope="module")
def findings(dataset):
    who = so.Adversary(knows=4, value_within=0, time_within=3)
    return so.Audit(dataset, [who], ["scoreboard", "scoreboard-rh", "likelihood"], targets=100, seed=3).run()


def test_findings_obey_the_published_schema(findings):
    jsonschema.validate(json.loads(findings.to_json()), so.Findings.schema())


def test_findings_cannot_be_changed(findings):
    with pytest.raises(TypeError):
        findings.results[0]["hit"] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        findings.results = ()


def test_findings_survive_a_round_trip(findings, tmp_path):
    path = findings.save(tmp_path / "f.json")
    assert so.Findings.load(path).to_dict() == findings.to_dict()
    assert [p.name for p in tmp_path.iterdir()] == ["f.json"]


def test_findings_hold_no_label(findings, dataset):
    text = findings.to_json()
    assert not [label for label in [*dataset.record_labels, *dataset.item_labels] if str(label) in text]


def test_unique_records_are_all_found_by_sharp_knowledge(findings):
    for result in findings.results:
        assert result["hit"]["rate"] >= 0.99, result["attack"]["label"]


def test_false_matches_are_counted_with_the_target_removed(findings):
    sharp = findings.results[0]  # scoreboard: whoever agrees with every fact
    assert sharp["matched_right"]["rate"] > 0.95
    assert sharp["false_match"]["rate"] < 0.05


def test_hits_are_counted_on_every_target(findings):
    frame = findings.to_frame()
    assert (frame["n"] == 100).all() and len(frame) == 3
    assert all(r["hit"]["n"] == 100 for r in findings.results)


def test_calibration_and_report_halves_do_not_overlap(findings):
    tuned = findings.results[1]["calibrated"]
    assert tuned["n_calibration"] + tuned["matched_right"]["n"] == 100


def test_shuffled_truth_falls_to_the_random_baseline(dataset):
    who = so.Adversary(knows=6, value_within=0, time_within=3)
    targets = who.eligible(dataset)
    attack = so.attack("scoreboard-rh")
    knowledge = who.sample(dataset, targets, seed=1)
    present = attack.run(dataset, knowledge, watch=targets)
    absent = attack.run(dataset, knowledge, exclude=targets)
    half = np.arange(targets.size) % 2 == 0
    true = judge(Trial(attack, present, absent), Truth(targets, half), dataset)
    shuffled = judge(Trial(attack, present, absent), Truth(np.roll(targets, 1), half), dataset)
    assert true["hit"]["rate"] > 0.95
    assert shuffled["hit"]["count"] <= 3


def test_equal_records_stand_out_for_nobody():
    n, m = 50, 12
    record, item = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
    twins = so.Dataset.from_arrays(record, item, np.full(n * m, 3), np.full(n * m, 100))
    found = so.Audit(
        twins, [so.Adversary(knows=4, time_within=3)], ["scoreboard-rh", "likelihood"], targets="all"
    ).run()
    for result in found.results:
        assert result["hit"]["count"] <= 1
        assert result["matched_right"]["count"] == 0
        assert result["k_identified"][0]["count"] == 0


def test_the_same_seed_gives_the_same_findings(dataset):
    def run():
        found = so.Audit(dataset, [so.Adversary(knows=3)], ["scoreboard-rh"], targets=40, seed=9).run().to_dict()
        return found["results"], found["provenance"]["data_sha256"]

    assert run() == run()


def test_more_targets_keep_the_ones_already_drawn(dataset):
    from standout.adversary.sampling import sample_targets

    eligible = np.arange(dataset.n_records)
    few, many = sample_targets(eligible, 30, 5), sample_targets(eligible, 90, 5)
    assert set(few) <= set(many) and few.size == 30


def test_fewer_eligible_targets_than_asked_are_all_used_and_said(dataset):
    found = so.Audit(dataset, [so.Adversary(knows=3)], ["scoreboard"], targets=5000).run()
    assert found.results[0]["n_targets"] == dataset.n_records
    assert any("all of them are attacked" in w for w in found.warnings)


def test_no_eligible_target_is_an_error_that_says_what_to_do(dataset):
    with pytest.raises(EligibilityError, match="lower knows"):
        so.Audit(dataset, [so.Adversary(knows=500)], ["scoreboard"]).run()


@pytest.mark.parametrize(("record", "item", "word"), [([1, 1], [1, 2], "1 record"), ([1, 2], [1, 1], "1 item")])
def test_one_record_or_one_item_cannot_be_audited(record, item, word):
    with pytest.raises(InputError, match=word):
        so.Audit(so.Dataset.from_arrays(record, item))


@pytest.mark.parametrize("targets", [0, -1, "some"])
def test_senseless_targets_are_refused(dataset, targets):
    with pytest.raises(ParameterError, match="targets"):
        so.Audit(dataset, targets=targets)


def test_an_unknown_attack_is_refused_with_a_hint(dataset):
    with pytest.raises(ParameterError, match=r"Did you mean 'scoreboard-rh'"):
        so.Audit(dataset, attacks=["scoreboard-hr"])


def test_the_default_sweep_follows_the_channels(dataset):
    from standout.audit.sweep import default_sweep

    both = default_sweep(dataset)
    assert len(both) == 18 and {a.knows for a in both} == {2, 4, 8}
    bare = default_sweep(so.Dataset.from_arrays([1, 1, 2, 2], [1, 2, 2, 3]))
    assert len(bare) == 3 and all(a.value_within is None and a.time_within is None for a in bare)
    assert {a.wrong_kind for a in bare} == {"item"}


def test_the_strongest_attacker_is_named_and_compared_in_pairs(findings):
    row = findings.strongest[0]
    assert row["attack"] in {"scoreboard", "scoreboard-rh", "likelihood"} and row["n_attacks"] == 3
    assert row["hit"]["n"] == 50 and row["versus"]["attack"] == "scoreboard-rh"


def test_all_runs_every_attack_and_the_variant_that_divides_by_length(dataset):
    found = so.Audit(dataset, [so.Adversary(knows=3, value_within=1)], "all", targets=20).run()
    labels = [r["attack"]["label"] for r in found.results]
    assert labels == [*so.attack_names(), "scoreboard-rh length=sqrt"]
    assert found.strongest[0]["n_attacks"] == len(labels)


def test_a_lost_verdict_is_an_error_not_a_zero(dataset):
    who = so.Adversary(knows=3)
    targets = who.eligible(dataset)[:10]
    verdicts = so.attack("scoreboard").run(dataset, who.sample(dataset, targets))
    with pytest.raises(ParameterError, match="differ in length"):
        judge(Trial(so.attack("scoreboard"), verdicts, verdicts), Truth(targets[:9], np.zeros(9, bool)), dataset)


def test_hits_are_grouped_by_the_rarest_known_item(findings, dataset):
    rows = findings.results[0]["by_rarity"]
    assert sum(r["n"] for r in rows) == 100
    assert all(r["rarest_from"] <= r["rarest_to"] <= dataset.supports.max() for r in rows)
    assert [r["rarest_from"] for r in rows] == sorted(r["rarest_from"] for r in rows)
