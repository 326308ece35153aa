"""Findings files: their schema version, checksum and parts."""

from __future__ import annotations

import json

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


def test_a_findings_file_that_was_changed_is_refused_by_its_checksum(findings, tmp_path):
    path = findings.save(tmp_path / "findings.json")
    assert so.Findings.load(path).warnings == findings.warnings
    content = json.loads(path.read_text())
    content["results"][0]["n_eligible"] += 1
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="checksum does not fit"):
        so.Findings.load(path)
    del content["sha256"]
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="it has no checksum"):
        so.Findings.load(path)


def test_results_are_nested_by_adversary_and_then_attack(findings):
    plain = findings.to_dict()
    assert [r["adversary"]["knows"] for r in plain["results"]] == [2, 4]
    assert [[a["attack"]["label"] for a in r["attacks"]] for r in plain["results"]] == [
        ["scoreboard-rh", "likelihood"]
    ] * 2
    assert "strongest" not in plain and len(findings.to_frame()) == 4


@pytest.mark.parametrize("version", [0, 1, 2, 4, None, "3"])
def test_another_version_is_refused(findings, version):
    with pytest.raises(InputError, match="schema version"):
        so.Findings.from_dict({**findings.to_dict(), "schema_version": version})


def test_findings_that_lack_a_part_are_refused(findings):
    plain = findings.to_dict()
    del plain["results"]
    with pytest.raises(InputError, match="missing required field `results`"):
        so.Findings.from_dict(plain)


def test_the_frame_has_these_columns(findings):
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
