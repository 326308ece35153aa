"""Findings files: the version of today, and readers for older ones."""

from __future__ import annotations

import copy
import json

import jsonschema
import numpy as np
import pytest

import standout as so
from standout.errors import InputError


@pytest.fixture(scope="module")
def findings():
    rng = np.random.default_rng(0)
    # every third record is too short for four known items
    lengths = np.where(np.arange(120) % 3, 6, 3)
    record = np.repeat(np.arange(120), lengths)
    item = np.concatenate([rng.choice(25, n, replace=False) for n in lengths])
    data = so.Dataset.from_arrays(record, item, rng.integers(1, 6, record.size))
    who = [so.Adversary(knows=k) for k in (2, 4)]
    return so.Audit(data, who, ["scoreboard-rh", "likelihood"], targets=60, describe=False).run()


def version_1(found):
    """The same numbers as version 1 wrote them: one row per adversary and attack, winners apart."""
    plain = copy.deepcopy(found.to_dict())
    rows, winners = [], []
    for result in plain["results"]:
        for one in result["attacks"]:
            row = {
                k: v
                for k, v in one.items()
                if k not in ("hit_all", "n_without_candidates", "lineup_bits", "rank_bits")
            }
            row |= {
                "adversary": result["adversary"],
                "n_targets": result["n_targets"],
                "n_eligible": result["n_eligible"],
            }
            row["bits"] = {k: v for k, v in one["lineup_bits"].items() if k != "n"}
            row["k_identified"] = [
                {k: v for k, v in r.items() if k != "rate_all"} for r in row["k_identified"]
            ]
            del row["calibrated"]["matched_right_all"]
            rows.append(row)
        best = {k: v for k, v in result["strongest"].items() if k != "hit_all"}
        winners.append({"adversary": result["adversary"], **best})
    del plain["source"], plain["provenance"]["sweep"]
    return {**plain, "schema_version": 1, "results": rows, "strongest": winners}


def test_a_findings_file_that_was_changed_is_refused_by_its_checksum(findings, tmp_path):
    path = findings.save(tmp_path / "findings.json")
    assert so.Findings.load(path).warnings == findings.warnings
    content = json.loads(path.read_text())
    content["results"][0]["n_eligible"] += 1
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="checksum does not fit"):
        so.Findings.load(path)
    del content["sha256"]
    path.write_text(json.dumps({**content, "schema_version": 2}))
    assert "without a checksum" in so.Findings.load(path).warnings[-1]


def test_findings_of_version_1_are_read_as_if_they_were_new(findings, tmp_path):
    path = tmp_path / "findings.json"
    path.write_text(json.dumps(version_1(findings)))
    old = so.Findings.load(path)
    jsonschema.validate(json.loads(old.to_json()), so.Findings.schema())
    new = findings.to_dict()
    for was, now in zip(old.to_dict()["results"], new["results"], strict=True):
        assert was["strongest"] == now["strongest"]
        assert was["eligible_share"] == now["eligible_share"]
    assert [r["eligible_share"] for r in new["results"]] == pytest.approx([1.0, 2 / 3])
    for was, now in zip(old.to_dict()["results"], new["results"], strict=True):
        assert [a["hit_all"] for a in was["attacks"]] == [a["hit_all"] for a in now["attacks"]]
        assert was["uncertainty"]["mean"] == now["uncertainty"]["mean"]
        # what version 1 did not measure is missing and no zero
        assert was["more_items"] is None and was["attacks"][0]["rank_bits"] is None
        assert was["attacks"][0]["n_without_candidates"] is None
    assert (old.to_frame()["hit"] == findings.to_frame()["hit"]).all()


def version_2(found):
    """The same numbers as version 2 wrote them: nobody asked who is unique or of whom an attacker is sure."""
    plain = copy.deepcopy(found.to_dict())
    new = (
        "unique",
        "found",
        "sure",
        "unique_all",
        "found_all",
        "sure_all",
        "sure_attack",
        "not_measured",
    )
    results = [{k: v for k, v in result.items() if k not in new} for result in plain["results"]]
    return {**plain, "schema_version": 2, "results": results}


@pytest.mark.parametrize("older", [version_1, version_2])
def test_what_older_versions_did_not_measure_is_missing_with_a_reason_and_no_zero(findings, older):
    old = so.Findings.from_dict(older(findings))
    jsonschema.validate(json.loads(old.to_json()), so.Findings.schema())
    for was, now in zip(old.results, findings.results, strict=True):
        assert dict(was["found"]) == dict(now["found"]) and dict(was["found_all"]) == dict(
            now["found_all"]
        )
        assert was["unique"] is None and was["sure"] is None and now["unique"] is not None
        assert "older version" in was["not_measured"]["unique"] and not now["not_measured"]


@pytest.mark.parametrize("older", [version_1, version_2])
def test_a_report_can_be_made_of_older_versions(findings, older):
    from standout.report.page import page

    old = so.Findings.from_dict(older(findings))
    assert "singled out" not in str(old) and "single out" not in str(old)
    assert "<svg" in page(old)


def test_results_are_nested_by_adversary_and_then_attack(findings):
    plain = findings.to_dict()
    assert [r["adversary"]["knows"] for r in plain["results"]] == [2, 4]
    assert [[a["attack"]["label"] for a in r["attacks"]] for r in plain["results"]] == [
        ["scoreboard-rh", "likelihood"]
    ] * 2
    assert "strongest" not in plain and len(findings.to_frame()) == 4


@pytest.mark.parametrize("version", [0, 4, None, "2"])
def test_another_version_is_refused(findings, version):
    with pytest.raises(InputError, match="schema version"):
        so.Findings.from_dict({**findings.to_dict(), "schema_version": version})


@pytest.mark.parametrize("version", [so.Findings.to_dict, version_1, version_2])
def test_findings_that_lack_a_part_are_refused(findings, version):
    plain = version(findings)
    del plain["results"]
    with pytest.raises(InputError, match="lack 'results'"):
        so.Findings.from_dict(plain)


def test_the_frame_keeps_the_columns_of_version_1(findings):
    kept = {
        "adversary",
        "knows",
        "wrong",
        "wrong_kind",
        "value_within",
        "time_within",
        "choose",
        "gamma",
        "length_within",
        "attack",
        "n",
        "hit",
        "hit_low",
        "hit_high",
        "matched_right",
        "matched_wrong",
        "false_match",
        "k1",
        "k5",
        "k10",
        "k100",
        "bits",
        "random",
        "popularity",
        "calibrated_matched_right",
        "calibrated_matched_wrong",
        "calibrated_false_match",
        "calibrated_threshold",
    }
    assert kept <= set(findings.to_frame().columns)
