"""An audit says that data names people directly, before it states any rate."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import standout as so
from standout.report.sentences import statements_of

WHO = so.Adversary(knows=1)


def frame(**columns):
    rows = [(f"u{r}", f"i{(r * 7 + k) % 11}", r) for r in range(60) for k in range(4)]
    made = pd.DataFrame(rows, columns=["user", "item", "n"])
    for name, text in columns.items():
        made[name] = [text(n) for n in made["n"]]
    return made.drop(columns="n")


@pytest.mark.parametrize(
    "columns, place",
    [
        ({"user": lambda n: f"p{n}@mail.example"}, "column user (e-mail address)"),
        ({"contact": lambda n: f"+49 170 {1000000 + n}"}, "column contact (phone number)"),
        ({"item": lambda n: f"b{n % 11}@mail.example"}, "items (e-mail address)"),
    ],
)
def test_direct_identifiers_are_said_before_any_rate(tmp_path, columns, place):
    frame(**columns).to_csv(tmp_path / "d.csv", index=False)
    ds = so.Dataset.read(tmp_path / "d.csv", record="user", item="item", value=None, time=None)
    found = so.Audit(
        ds, adversaries=[WHO], attacks=["scoreboard-rh"], targets=20, describe=False
    ).run()
    assert statements_of(found)[0].startswith(f"The data seems to name people directly: {place}.")
    assert so.Findings.from_dict(json.loads(found.to_json())).data["identifiers"]


def test_data_without_identifiers_is_not_said_to_name_people(tmp_path):
    ds = so.Dataset.from_frame(frame())
    found = so.Audit(
        ds, adversaries=[WHO], attacks=["scoreboard-rh"], targets=20, describe=False
    ).run()
    assert "name people" not in "".join(statements_of(found))
