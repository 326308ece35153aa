"""A known length is a density over the candidates' lengths, not a filter: against enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import nbinom

import standout as so
from standout.scoring.adaptive_records import harmonic, length_density


@pytest.mark.parametrize("lose", [0.02, 0.3, 0.7])
@pytest.mark.parametrize(("n", "shortest"), [(1, 3), (12, 15), (400, 420)])
def test_the_density_of_a_known_length_equals_the_sum_over_all_source_lengths(lose, n, shortest):
    k = np.arange(60_000)
    weight = nbinom.pmf(k, n, 1 - lose) / (shortest + k)
    middle = shortest + n * lose / (1 - lose)
    for first, last in (
        (0, 1e9),
        (0, middle),
        (middle / 1.5, middle * 2),
        (middle + 1, middle + 4),
        (0, shortest - 1),
    ):
        inside = (shortest + k >= first) & (shortest + k <= last)
        assert length_density(
            float(n), lose, float(shortest), float(first), float(last)
        ) == pytest.approx(weight[inside].sum(), abs=1e-9)


def test_the_harmonic_sum_starts_at_one():
    assert harmonic(-3.0, 4.0) == pytest.approx(1 + 1 / 2 + 1 / 3 + 1 / 4)
    assert harmonic(5.0, 4.0) == 0.0


def lengths_apart():
    """Records of 10 to 40 items that all hold items 0 to 9."""
    record = np.repeat(np.arange(31), np.arange(10, 41))
    return so.Dataset.from_arrays(record, np.concatenate([np.arange(n) for n in range(10, 41)]))


def test_a_shorter_record_that_could_have_the_known_length_is_likelier_than_a_longer_one():
    data = lengths_apart()
    plain, told = (so.Adversary(knows=1, value_within=None, length_within=x) for x in (None, 0.5))
    without, aux = plain.sample(data, [10], 3), told.sample(data, [10], 3)
    assert without.item.tolist() == aux.item.tolist()
    attack, ell = so.attack("likelihood", calibrate=False), float(aux.length[0])
    scores, base = attack.scores(data, aux)[0], attack.scores(data, without)[0]
    held = np.isfinite(base)
    length = data.lengths.astype(float)
    inside = np.abs(ell - length) <= 0.5 * length
    assert (inside & held).sum() > 5
    back = ((ell / length)[inside].sum() + 0.5) / (data.n_records + 1)
    wanted = np.where(inside, base + np.log(ell / length) - np.log(back), -np.inf)
    np.testing.assert_allclose(scores[held], wanted[held], atol=1e-6)


def test_the_posterior_is_as_often_right_as_it_says_if_the_length_is_known():
    rng = np.random.default_rng(5)
    n = np.clip(rng.lognormal(2.5, 0.8, 600).astype(int), 3, 90)
    item = np.concatenate([rng.choice(100, k, replace=False) for k in n])
    data = so.Dataset.from_arrays(np.repeat(np.arange(600), n), item)
    who = so.Adversary(knows=2, value_within=None, length_within=0.5)
    people = np.arange(600)
    share, credit = [], []
    for seed in range(4):
        v = so.attack("likelihood", calibrate=False).run(
            data, who.sample(data, people, seed), watch=people
        )
        share.append(v.share.mean())
        credit.append(v.credit.mean())
    # given that the person is in the release, the exact likelihood needs no calibration
    assert np.mean(share) == pytest.approx(np.mean(credit), abs=0.015)
