"""Scores of some records, and the first of all records, without the scores of all others."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import dataset, random_table

import standout as so
from standout.errors import ParameterError

WHO = so.Adversary(knows=3, value_within=1, time_within=14)


@pytest.fixture(scope="module")
def data():
    return dataset(random_table(70, 20, 7, seed=3))


@pytest.fixture(scope="module")
def aux(data):
    return WHO.sample(data, WHO.eligible(data)[:12], seed=1)


@pytest.mark.parametrize("name", so.attack_names())
def test_scores_of_some_records_are_those_among_all(name, data, aux):
    attack = so.attack(name)
    some = [3, 0, data.n_records - 1]
    np.testing.assert_array_equal(
        attack.scores_of(data, aux, some), attack.scores(data, aux)[:, some]
    )


@pytest.mark.parametrize("name", ["scoreboard", "scoreboard-rh", "likelihood", "generic"])
def test_the_first_records_start_with_the_two_of_the_verdict(name, data, aux):
    attack = so.attack(name)
    seen, first = attack.run(data, aux), attack.top(data, aux, 5)
    assert first.shape == (aux.n_queries, 5)
    np.testing.assert_array_equal(first[:, :2], np.stack([seen.best, seen.runner_up], axis=1))
    np.testing.assert_array_equal(attack.top(data, aux, 1), first[:, :1])
    rows = attack.scores(data, aux)
    # no other record scores more; attacks with a matching set make its records equal by a cap
    if name not in ("scoreboard", "generic"):
        for q, row in enumerate(rows):
            assert np.sort(row)[::-1][:5].tolist() == row[first[q]].tolist()


@pytest.mark.parametrize("records", [[], [-1], [70], [0, 70], [3, -1]])
def test_records_that_are_not_there_are_refused(records, data, aux):
    with pytest.raises(ParameterError, match="from 0 to 69"):
        so.attack("scoreboard").scores_of(data, aux, records)
