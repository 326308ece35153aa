"""The texts that leave a check: JUnit XML, SARIF 2.1.0, GitHub annotations, and a search of all texts for labels."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from standout.data.dataset import Dataset
from standout.gate.columns import column_lines
from standout.gate.measure import percent
from standout.gate.verdict import GateVerdict

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {"fail": "error", "unclear": "warning", "pass": "none"}
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SHORTEST = 4
"""Labels with fewer characters are not searched for: they occur by chance."""
MOST_WORDS = 8
_WORD = re.compile(r"\w+")


def junit(verdict: GateVerdict) -> str:
    """JUnit XML: one test case per limit and requirement; fail = failure, unclear = error.

    Build servers treat an error like a failure, so that a verdict that is not known does not count
    as success.
    """
    n = {word: sum(row["verdict"] == word for row in verdict.table) for word in ("fail", "unclear")}
    root = ElementTree.Element("testsuites", name="standout")
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        name="standout check",
        tests=str(len(verdict.table)),
        failures=str(n["fail"]),
        errors=str(n["unclear"]),
        skipped="0",
        time=str(verdict.provenance["wall_seconds"]),
        timestamp=str(verdict.provenance["created"]),
    )
    for row in verdict.table:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"standout.{row['kind']}", name=_xml(row["limit"])
        )
        if row["verdict"] != "pass":
            kind = "failure" if row["verdict"] == "fail" else "error"
            said = ElementTree.SubElement(case, kind, message=_xml(row["why"]), type=row["verdict"])
            said.text = _xml(details(row))
    if notes := _notes(verdict):
        ElementTree.SubElement(suite, "system-out").text = _xml(
            "\n".join(line for note in notes for line in note)
        )
    ElementTree.indent(root, " ")
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def sarif(verdict: GateVerdict, data: str = "data") -> str:
    """SARIF 2.1.0: one rule and one result per limit and requirement.

    Parameters
    ----------
    verdict
        The verdict.
    data
        Name of the data file, which the results point to.
    """
    rules = [
        {
            "id": f"standout/{_slug(row['limit'])}",
            "name": _slug(row["limit"]),
            "shortDescription": {"text": row["limit"]},
            "fullDescription": {"text": _rule(row)},
            "defaultConfiguration": {"level": "error"},
        }
        for row in verdict.table
    ]
    results = [
        {
            "ruleId": rule["id"],
            "ruleIndex": k,
            "kind": {"pass": "pass", "fail": "fail", "unclear": "open"}[row["verdict"]],
            # SARIF: a level other than "none" is only for results of kind "fail"
            "level": "error" if row["verdict"] == "fail" else "none",
            "message": {"text": f"{row['limit']}: {row['why']}"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(data)}}}],
            "properties": {"verdict": row["verdict"], "details": details(row)},
        }
        for k, (rule, row) in enumerate(zip(rules, verdict.table, strict=True))
    ]
    tool = {
        "driver": {
            "name": "standout",
            "version": verdict.provenance["versions"]["standout"],
            "rules": rules,
        }
    }
    run = {
        "tool": tool,
        "invocations": [{"executionSuccessful": True, "exitCode": verdict.exit_code}],
        "results": results,
        "properties": {
            "verdict": verdict.verdict,
            "columns": list(verdict.provenance.get("columns", ())),
            "not_measured": verdict.not_measured,
        },
    }
    return (
        json.dumps(
            {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]},
            indent=1,
            ensure_ascii=False,
        )
        + "\n"
    )


def github_annotations(verdict: GateVerdict) -> str:
    """GitHub workflow commands: an error per exceeded limit, a warning per unclear one, a notice with the verdict."""
    lines = [
        f"::{LEVELS[row['verdict']]} title={_property('standout: ' + row['limit'])}::{_data(row['why'])}"
        for row in verdict.table
        if row["verdict"] != "pass"
    ]
    for title, *rest in _notes(verdict):
        lines.append(
            f"::notice title={_property(f'standout: {title}')}::{_data(chr(10).join(rest))}"
        )
    return "\n".join([*lines, f"::notice title=standout::verdict: {verdict.verdict}"]) + "\n"


def _notes(verdict: GateVerdict) -> list[list[str]]:
    """What no row says: columns of the release, and knowledge that was not measured; each with a title."""
    columns = column_lines(verdict.provenance.get("columns", ()))
    made = [
        ["columns of the release:", *columns],
        ["knowledge that was not measured:", *verdict.not_measured],
    ]
    return [note for note in made if len(note) > 1]


def details(row: Any) -> str:
    """The deciding test of a row, as text."""
    parts = [str(row[key]) for key in ("adversary", "attack", "group") if row[key]]
    if row["n"]:
        parts.append(f"n = {row['n']:,}")
    if row["rate"] is not None:
        parts.append(f"rate {percent(row['rate'])}")
    if row["upper"] is not None:
        parts.append(f"bounds {percent(row['lower'], -1)} and {percent(row['upper'], 1)}")
    if row["max"] is not None:
        parts.append(f"limit {percent(row['max'])}")
    return "; ".join(parts) or row["why"]


def _rule(row: Any) -> str:
    if row["max"] is None:
        return f"Requirement: {row['limit']}"
    source = f" Source of the limit: {row['source']}" if row["source"] else ""
    return (
        f"{row['measure']}, of {row['of']} records, must stay below {percent(row['max'])}.{source}"
    )


def _slug(text: str) -> str:
    """Identifier of a rule.

    >>> _slug("Public release, worst group")
    'public-release-worst-group'
    """
    return re.sub(r"\W+", "-", text.lower()).strip("-") or "limit"


def _xml(text: str) -> str:
    """Text without the characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def find_labels_in(outputs: Mapping[str, str], *datasets: Dataset) -> tuple[bool, str]:
    """Whether no label of a record or item occurs in the texts, and a sentence about it that holds no label.

    Plain numbers and labels of fewer than 4 characters are left out: they occur in any table. So
    are items whose label is one plain word in lower case, which a sentence may use.

    Parameters
    ----------
    outputs
        Texts by name.
    datasets
        The data whose labels must not occur.
    """
    searched: set[tuple[str, ...]] = set()
    n_labels = 0
    for dataset in datasets:
        for labels, is_person in ((dataset.record_labels, True), (dataset.item_labels, False)):
            n_labels += labels.size
            searched.update(_searchable(labels.tolist(), is_person))
    found = {name: _count(text, searched) for name, text in outputs.items()}
    if any(found.values()):
        where = ", ".join(f"{name} ({n})" for name, n in found.items() if n)
        return False, f"labels of the data were found in {where}"
    of = f"{len(searched):,} of {n_labels:,} labels were searched for"
    return True, (
        f"no label of the data in {len(found)} outputs ({of}; the others are short or plain numbers)"
    )


def _searchable(labels: list[object], is_person: bool) -> Iterator[tuple[str, ...]]:
    """Words of each label that does not occur by chance."""
    for text in map(str, labels):
        words = tuple(_WORD.findall(text))
        plain = text.isalpha() and text.islower() and not is_person
        number = all(word.isdecimal() for word in words)
        if len(text) >= SHORTEST and 0 < len(words) <= MOST_WORDS and not number and not plain:
            yield words


def _count(text: str, searched: set[tuple[str, ...]]) -> int:
    """Number of different labels in a text."""
    words = _WORD.findall(text)
    found: set[tuple[str, ...]] = set()
    for n in range(1, MOST_WORDS + 1):
        found |= searched.intersection(zip(*(words[k:] for k in range(n)), strict=False))
    return len(found)
