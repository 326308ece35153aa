"""Draws of targets are made once per dataset, whoever asks, and a caller cannot change them for others."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so
from standout.data.dataset import Dataset


@pytest.fixture
def data():
    rng = np.random.default_rng(5)
    return so.Dataset.from_arrays(rng.integers(0, 200, 3000), rng.integers(0, 40, 3000))


@pytest.fixture
def n_tasks(monkeypatch):
    """Names of the tasks that ran."""
    ran, usual = [], Dataset.map
    monkeypatch.setattr(
        Dataset, "map", lambda self, task: (ran.append(type(task).__name__), usual(self, task))[1]
    )
    return ran


def test_adversaries_with_the_same_conditions_share_one_pass_over_the_records(data, n_tasks):
    first = so.Adversary(knows=4).choose_targets(data, 20, seed=1)
    again = so.Adversary(knows=4, choose="uniform").choose_targets(data, 20, seed=1)
    assert n_tasks == ["ChooseRecords"]
    assert first[0] == again[0] == so.Adversary(knows=4).n_eligible(data)
    assert first[1].tolist() == again[1].tolist()
    assert n_tasks == ["ChooseRecords"]


@pytest.mark.parametrize("other", [{"seed": 2}, {"n": 21}, {"knows": 14}])
def test_another_seed_number_or_condition_gives_another_draw(data, n_tasks, other):
    asked = {"knows": 4, "n": 20, "seed": 1}
    draws = []
    for ask in (asked, {**asked, **other}):
        draws.append(
            so.Adversary(knows=ask["knows"]).choose_targets(data, ask["n"], ask["seed"])[1].tolist()
        )
    assert len(n_tasks) == 2
    assert draws[0] != draws[1]


def test_a_caller_who_sorts_its_targets_does_not_change_those_of_the_next(data):
    who = so.Adversary(knows=4)
    first = who.choose_targets(data, 20, seed=1)[1]
    kept = first.tolist()
    first.sort()
    assert who.choose_targets(data, 20, seed=1)[1].tolist() == kept != first.tolist()
