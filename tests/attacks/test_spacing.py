"""The spacing test names few absent targets, finds present ones, and refuses scores that lie on a lattice."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import standout as so
from standout.formulas.spacing import FEWEST_DISTINCT, K, p_value, spacing


def p_values_of_strangers(draw: str) -> np.ndarray:
    rng = np.random.default_rng(4)
    strangers = getattr(rng, draw)(size=(3_000, 2_000))
    return p_value(spacing(-np.sort(-strangers, axis=1)[:, : K + 1]))


def test_p_values_of_strangers_with_exponential_tails_are_uniform():
    p = p_values_of_strangers("exponential")
    assert kstest(p, "uniform").pvalue > 1e-3
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.013)


@pytest.mark.parametrize("draw", ["normal", "gumbel", "logistic"])
def test_strangers_with_other_tails_are_named_no_more_often_than_the_level_says(draw):
    p = p_values_of_strangers(draw)
    assert np.isfinite(p).all()
    for level in (0.01, 0.05, 0.2):
        assert (p < level).mean() < level + 3 * np.sqrt(level / p.size)


def test_scores_on_a_lattice_are_refused():
    top = np.repeat(np.arange(7.0, 0.0, -1.0), 3)[None, :]
    assert np.isnan(p_value(spacing(top))).all()
    for n, applies in ((FEWEST_DISTINCT, True), (FEWEST_DISTINCT - 1, False)):
        distinct = np.maximum(np.arange(30.0, 30.0 - (K + 1), -1.0), 31.0 - n)
        assert np.unique(distinct).size == n
        assert np.isfinite(p_value(spacing(distinct[None, :])))[0] == applies


def test_fewer_candidates_than_the_test_needs_give_no_p_value():
    data = so.Dataset.from_arrays(np.arange(K), np.zeros(K), np.arange(K, dtype=float))
    aux = so.Knowledge.from_arrays([0], [0], [3.0])
    v = so.attack("scoreboard-rh", decide="spacing").run(data, aux)
    assert np.isnan(v.spacing[0])
    assert not v.matched[0]


def test_present_targets_are_named_and_removed_ones_hardly_ever():
    rng = np.random.default_rng(11)
    n, per = 1_500, 30
    record = np.repeat(np.arange(n), per)
    item = np.concatenate([rng.choice(400, per, replace=False) for _ in range(n)])
    day = rng.integers(0, 1_000, record.size).astype(float)
    data = so.Dataset.from_arrays(record, item, rng.integers(1, 6, record.size), day)
    who = so.Adversary(knows=8, wrong=2, wrong_kind="item", value_within=1, time_within=14)
    targets = np.arange(0, n, 5)
    aux = who.sample(data, targets, seed=2)
    attack = so.attack("scoreboard-rh", decide="spacing", level=0.05)
    there = attack.run(data, aux, watch=targets)
    gone = attack.run(data, aux, exclude=targets)
    assert np.isfinite(gone.spacing).mean() > 0.95
    assert gone.matched.mean() < 0.09
    assert there.matched.mean() > 0.5
    assert there.credit[there.matched].mean() > 0.95
