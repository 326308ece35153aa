"""Findings that are damaged or foreign: the report either works or raises InputError."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_findings import sweep

import standout as so
from standout.errors import InputError

ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    1e300,
    10**30,
    "",
    "x",
    [],
    {},
    [1],
    {"a": 1},
    [[]],
    "2005-99-99",
    float("nan"),
]


def whole() -> dict[str, Any]:
    found = sweep({2: 0.3, 4: 0.6}).with_section(
        "describe", {"n_records": 5, "words": "few", "table": [{"a": 1}]}
    )
    return json.loads(found.to_json())


WHOLE = whole()


def places(x: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    parts = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    return [place for key, part in parts for place in ((*above, key), *places(part, (*above, key)))]


def damaged(place: tuple[Any, ...], by: Any, *, remove: bool = False) -> dict[str, Any]:
    data = copy.deepcopy(WHOLE)
    inside: Any = data
    for key in place[:-1]:
        inside = inside[key]
    if remove:
        del inside[place[-1]]
    else:
        inside[place[-1]] = by
    return data


def used(data: Any, path) -> None:
    """Everything that a user does with findings."""
    try:
        found = so.Findings.from_dict(data)
    except InputError:
        return
    str(found), repr(found), found.to_frame()
    try:
        so.render(found, path)
    except InputError:
        return


def test_undamaged_findings_are_shown(tmp_path):
    so.render(so.Findings.from_dict(WHOLE), tmp_path / "r.html")


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(places(WHOLE)), st.sampled_from(ODD), st.booleans())
def test_a_damaged_part_ends_in_an_input_error_or_in_a_report(tmp_path, place, by, remove):
    used(damaged(place, by, remove=remove), tmp_path / "r.html")


@pytest.mark.parametrize("by", ODD)
def test_each_kind_of_damage_to_each_rate_is_refused(by):
    first = ("results", 0, "attacks", 0, "hit", "rate")
    if by == 0 or by is True:
        by = 1.5
    with pytest.raises(InputError, match="damaged"):
        so.Findings.from_dict(damaged(first, by))


@pytest.mark.parametrize(
    "content",
    ["[1]", '"x"', "{}", "null", '{"schema_version": 2}', "[" * 100_000, "NaN", "\x00", "1e999"],
)
def test_a_foreign_file_is_refused(tmp_path, content):
    path = tmp_path / "findings.json"
    path.write_text(content)
    with pytest.raises(InputError):
        so.Findings.load(path)


def test_a_strongest_attack_that_did_not_run_is_refused():
    with pytest.raises(InputError, match=r"results\[0\]\.strongest\.attack"):
        so.Findings.from_dict(damaged(("results", 0, "strongest", "attack"), "another"))


def test_findings_with_an_unreachable_threshold_and_huge_values_are_not_called_damaged(tmp_path):
    """An audit writes them where no answer is right, and where the data holds such values."""
    rng = np.random.default_rng(1)
    record = np.repeat(np.arange(60), 12)
    item = np.concatenate([rng.choice(80, 12, replace=False) for _ in range(60)])
    ds = so.Dataset.from_arrays(record, item, rng.random(record.size) * 1e300)
    found = so.Audit(ds, targets=20).run(progress=False)
    tuned = [a["calibrated"]["threshold"] for r in found.results for a in r["attacks"]]
    assert max(tuned) > 1e300
    again = so.Findings.load(found.save(tmp_path / "findings.json"))
    assert again.to_dict() == found.to_dict()
    so.render(again, tmp_path / "report.html")


def test_the_schema_and_the_reader_agree_on_parts_that_commands_add():
    data = damaged(("provenance", "title"), "x")
    jsonschema.validate(data, so.Findings.schema())
    assert so.Findings.from_dict(data).provenance["title"] == "x"
    for place, by in ((("provenance", "seed"), "x"), (("results", 0, "other"), 1)):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(damaged(place, by), so.Findings.schema())
        with pytest.raises(InputError, match=f"damaged: .*{place[-1]}"):
            so.Findings.from_dict(damaged(place, by))
