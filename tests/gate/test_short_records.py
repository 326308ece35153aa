"""People who hold fewer items than an adversary knows are attacked with what they hold, and do not pass untested."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import standout as so
from standout.gate.groups import too_short

KNOWS = 8


def mixed(n_short, n=1000, length=KNOWS - 1, equal=False):
    """Crowds of 50 equal records of 20 items, and people with short records: of items of their own, or all equal."""
    n_long = n - n_short
    lengths = np.concatenate([np.full(n_long, 20), np.full(n_short, length)])
    own = np.zeros(n_short, int) if equal else np.arange(n_short) * 100
    first = np.concatenate([np.arange(n_long) // 50 * 100, 10**6 + own])
    record = np.repeat(np.arange(n), lengths)
    within = np.arange(record.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return so.Dataset.from_arrays(record, first[record] + within)


def policy(**limit):
    return {
        "limit": [{"name": "everybody", "max": 0.09, "adversaries": ["a"], **limit}],
        "adversary": {"a": {"knows": KNOWS}},
        "attacks": ["likelihood"],
        "self_test": False,
        "sequential": False,
    }


@pytest.mark.parametrize("measure", ["found", "unique", "sure", "matched-right"])
@pytest.mark.parametrize("length", [7, 3, 1])
def test_people_with_fewer_items_than_are_known_are_attacked_too(measure, length):
    seen = so.check(mixed(700, length=length), policy(measure=measure))
    assert seen.verdict == "fail"
    assert seen.table[0]["group"] == {
        7: "records of 4 to 7 items",
        3: "records of 2 to 3 items",
    }.get(length, "records of 1 to 1 items")


def test_short_records_that_are_all_equal_pass():
    assert so.check(mixed(300, equal=True), policy()).verdict == "pass"


def test_a_rate_of_all_people_counts_short_records_by_their_share():
    seen = so.check(mixed(300), policy(of="all"))
    assert seen.verdict == "fail"
    assert seen.table[0]["rate"] == pytest.approx(0.3)
    assert so.check(mixed(80), policy(of="all")).verdict == "pass"
    assert so.check(mixed(80), policy()).verdict == "fail"


def test_fewer_than_two_percent_and_harm_to_others_are_not_tested_alone():
    data = mixed(19)
    assert list(too_short(so.Adversary(KNOWS), data)) == []
    assert len(so.check(mixed(300), policy(measure="false-match")).tests) == 1


def test_data_of_long_records_has_the_same_questions_as_before():
    seen = so.check(mixed(0), policy())
    assert [row["group"] for row in seen.tests] == [None]


def test_wrong_facts_become_fewer_with_the_known_items():
    data = mixed(500, length=1)
    steps = list(too_short(so.Adversary(KNOWS, wrong=2, wrong_kind="item"), data))
    assert [(who.knows, who.wrong, group.low, group.high) for who, group in steps] == [(1, 0, 1, 1)]
    data = mixed(500, length=5)
    steps = list(too_short(so.Adversary(KNOWS, wrong=2, wrong_kind="item"), data))
    assert [(who.knows, who.wrong, group.low, group.high) for who, group in steps] == [(4, 1, 3, 5)]


def test_verify_derives_the_groups_of_short_records_again(tmp_path):
    data = mixed(300, equal=True)
    seen = so.check(data, policy())
    path = so.save_evidence(seen, tmp_path / "evidence.json")
    assert so.verify(path, data).verdict == "pass"
    without = replace(seen, cells=tuple(cell for cell in seen.cells if cell["group"] is None))
    assert len(without.cells) < len(seen.cells)
    assert so.verify(so.save_evidence(without, path), data).verdict == "fail"
