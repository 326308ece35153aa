"""Groups of people by risk: a small group of people who are easy to find does not pass behind a safe majority."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.gate.groups import SMALLEST_SHARE, Group, cut_counts, groups

CROWD = 50


def planted(n_risky, n=3200, seed=0):
    """People in crowds of 50 equal records of 4 to 8 items, and some with long records of items of their own."""
    rng = np.random.default_rng(seed)
    lengths = np.concatenate(
        [rng.integers(4, 9, (n - n_risky) // CROWD).repeat(CROWD), rng.integers(15, 60, n_risky)]
    )
    first = np.concatenate(
        [np.arange((n - n_risky) // CROWD).repeat(CROWD) * 10, 10**6 + np.arange(n_risky) * 100]
    )
    record = np.repeat(np.arange(lengths.size), lengths)
    within = np.arange(record.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return so.Dataset.from_arrays(record, first[record] + within)


def policy(by="length", **more):
    limits = [
        {"name": "everybody", "max": 0.09, "adversaries": ["a"]},
        {"name": "groups", "max": 0.18, "adversaries": ["a"], "by": by},
    ]
    return {
        "limit": limits,
        "adversary": {"a": {"knows": 3}},
        "attacks": ["scoreboard-rh"],
        "self_test": False,
        **more,
    }


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.parametrize("share", [0.062, 0.03])
def test_a_small_group_with_unique_records_fails_behind_a_safe_majority(sequential, share):
    data = planted(int(share * 3200))
    for seed in range(4):
        seen = so.check(data, policy(sequential=sequential), seed=seed)
        assert seen.table[1]["verdict"] == "fail"
        assert seen.table[0]["verdict"] != "fail"


@pytest.mark.parametrize("sequential", [True, False])
def test_safe_data_passes_in_all_groups(sequential):
    data = planted(0)
    for seed in range(4):
        assert so.check(data, policy("risk", sequential=sequential), seed=seed).verdict == "pass"


def test_people_with_rare_items_are_a_group_although_their_records_are_as_long_as_others():
    data = planted(0)
    own = np.arange(80)[:, None] * 5 + np.arange(5) + 10**6
    record = np.concatenate(
        [data.to_frame()["record"].astype(int), np.repeat(10**4 + np.arange(80), 5)]
    )
    data = so.Dataset.from_arrays(
        record, np.concatenate([data.to_frame()["item"].astype(int), own.reshape(-1)])
    )
    assert so.check(data, policy("length", sequential=False)).verdict != "fail"
    seen = so.check(data, policy("risk", sequential=False))
    assert seen.verdict == "fail"
    assert "held by at most" in seen.table[1]["group"]


def test_groups_of_all_sizes_cover_everybody_once():
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts = rng.integers(0, 50, rng.integers(1, 80)) * (rng.random() < 0.9)
        counts[rng.integers(counts.size)] += 1 + rng.integers(500)
        ends = cut_counts(counts)
        inside = np.diff([0, *np.cumsum(counts)[ends]])
        assert inside.sum() == counts.sum()
        assert len(ends) == 1 or (inside >= SMALLEST_SHARE * counts.sum()).all()


def test_the_targets_of_a_group_are_members_of_the_group():
    data = planted(200)
    who = so.Adversary(knows=3, value_within=None)
    seen = np.zeros(data.n_records, int)
    for group in groups("length", who, data):
        inside = np.ones(data.n_records, bool)
        for condition in group.conditions(data):
            inside &= condition.holds(data.index)
        seen += inside
    assert (seen == 1).all()


def test_the_smallest_group_that_the_verdict_speaks_about_is_stated():
    seen = so.check(planted(0), policy(sequential=False))
    assert "fewer than 2%" in seen.table[1]["why"]


def test_a_group_is_made_again_from_its_plain_data():
    made = Group("rarity", 2, 50, 3)
    assert Group(**{k: v for k, v in made.to_dict().items() if k != "words"}) == made
