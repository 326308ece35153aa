"""What build servers read: JUnit XML, SARIF 2.1.0, GitHub annotations, and the page that a person signs."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import jsonschema
import pytest

from standout.gate.formats import github_annotations, junit, sarif
from standout.gate.verdict import GateVerdict, overall
from standout.report.gate import fragment, page

EMPTY = dict.fromkeys(
    ("measure", "of", "max", "by", "adversary", "attack", "group", "n", "rate", "lower", "upper")
)
ODD = 'a "limit" <b>&, 100%: \x07 next\nline'

# the required parts of the schema of SARIF 2.1.0, and the rules that its text adds
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "properties": {
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "properties": {
                    "tool": {
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "required": ["name", "rules"],
                                "properties": {
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {"required": ["id", "shortDescription"]},
                                    }
                                },
                            }
                        },
                    },
                    "invocations": {"items": {"required": ["executionSuccessful"]}},
                    "results": {
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "ruleIndex", "kind", "level"],
                            "properties": {
                                "message": {"required": ["text"]},
                                "kind": {
                                    "enum": [
                                        "notApplicable",
                                        "pass",
                                        "fail",
                                        "review",
                                        "open",
                                        "informational",
                                    ]
                                },
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                            },
                            "if": {"properties": {"kind": {"not": {"const": "fail"}}}},
                            "then": {"properties": {"level": {"const": "none"}}},
                        }
                    },
                },
            },
        },
    },
}


def made(*verdicts):
    rows = [
        {
            **EMPTY,
            "limit": f"{ODD} {k}",
            "kind": "limit",
            "verdict": word,
            "why": f"why {ODD}",
            "source": "s",
            "n_tests": 1,
            "max": 0.09,
            "measure": "hit",
            "of": "eligible",
            "n": 100,
            "rate": 0.05,
            "lower": 0.01,
            "upper": 0.2,
        }
        for k, word in enumerate(verdicts)
    ]
    provenance = {
        "wall_seconds": 1.5,
        "created": "2026-01-01T00:00:00+00:00",
        "versions": {"standout": "0.1.0"},
        "seed": 1,
        "policy_sha256": "p" * 64,
        "data_sha256": "d" * 64,
        "data": {"n_records": 5},
    }
    tests = [{**row, "p_met": 0.5} for row in rows]
    return GateVerdict(
        overall(list(verdicts)), tuple(rows), tuple(tests), (), {"name": "n"}, provenance
    )


def test_an_unclear_limit_counts_as_an_error_in_junit_and_not_as_success():
    suite = ElementTree.fromstring(junit(made("pass", "fail", "unclear", "unclear")))[0]
    assert {k: suite.get(k) for k in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    assert [[child.tag for child in case] for case in suite] == [
        [],
        ["failure"],
        ["error"],
        ["error"],
    ]


def test_sarif_has_the_required_parts_and_marks_only_exceeded_limits_as_errors():
    content = json.loads(sarif(made("pass", "fail", "unclear"), "my data.csv"))
    jsonschema.validate(content, SARIF)
    results = content["runs"][0]["results"]
    assert [r["kind"] for r in results] == ["pass", "fail", "open"]
    assert [r["level"] for r in results] == ["none", "error", "none"]
    assert (
        results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "my%20data.csv"
    )
    rules = content["runs"][0]["tool"]["driver"]["rules"]
    assert [rules[r["ruleIndex"]]["id"] for r in results] == [r["ruleId"] for r in results]
    assert content["runs"][0]["invocations"][0]["exitCode"] == 1


def test_the_schema_of_this_test_refuses_what_sarif_refuses():
    content = json.loads(sarif(made("fail")))
    content["runs"][0]["results"][0]["kind"] = "pass"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, SARIF)


def test_annotations_stay_on_one_line_whatever_the_name_of_a_limit():
    lines = github_annotations(made("pass", "fail", "unclear")).splitlines()
    assert [line.split(" ", 1)[0] for line in lines] == ["::error", "::warning", "::notice"]
    assert "%0A" in lines[0]
    assert "100%25%3A" in lines[0]


def test_the_page_asks_for_a_signature_and_escapes_what_the_policy_says():
    text = page(made("pass", "fail").to_dict(), title="<x>")
    for word in ("Signature", "Decision", "Verdict: fail", "d" * 64, "&lt;b&gt;"):
        assert word in text
    assert "<b>" not in text
    assert "<x>" not in text
    assert "<b>" not in fragment(made("unclear").to_dict())


def test_a_fail_beats_an_unclear_and_nothing_at_all_is_unclear():
    assert made("pass", "unclear", "fail").exit_code == 1
    assert made("pass", "unclear").exit_code == 3
    assert made("pass").exit_code == 0
    assert made().exit_code == 3
