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


def few_records():
    """Twelve records of 3 to 14 of 20 items, with ratings."""
    rng = np.random.default_rng(2)
    n = np.arange(3, 15)
    item = np.concatenate([rng.choice(20, k, replace=False) for k in n])
    return so.Dataset.from_arrays(np.repeat(n - 3, n), item, 1.0 + rng.integers(0, 3, item.size))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, 1.5])
@pytest.mark.parametrize(
    "options",
    [
        {"wrong": 0.25, "wrong_kind": "item", "value_within": None},
        {"wrong": 0.25, "wrong_kind": "item", "value_within": 0},
        {"wrong": 0.25, "wrong_kind": "value", "value_within": 0},
    ],
)
def test_a_known_length_is_a_density_where_the_number_of_wrong_facts_varies(options, share):
    """Enumerated: every record's likelihood without the length, times the density of the length, over its mean."""
    data = few_records()
    plain, told = (so.Adversary(knows=3, length_within=x, **options) for x in (None, share))
    people = np.arange(data.n_records)
    without, aux = plain.sample(data, people, 3), told.sample(data, people, 3)
    assert without.item.tolist() == aux.item.tolist()
    attack = so.attack("likelihood", calibrate=False)
    base, scores = attack.scores(data, without), attack.scores(data, aux)
    verdicts = attack.run(data, aux, watch=people)
    length = data.lengths.astype(float)
    for q, ell in enumerate(aux.length):
        inside = np.abs(ell - length) <= share * length + 1e-9
        unit = max(abs(ell), 1.0)
        back = ((unit / length)[inside].sum() + 0.5) / (data.n_records + 1)
        wanted = base[q] + np.log(unit / length) - np.log(back)
        np.testing.assert_allclose(scores[q][inside], wanted[inside], atol=1e-6)
        assert np.isneginf(scores[q][~inside]).all()
        lineup = np.exp(wanted[inside] - wanted[inside].max())
        assert verdicts.share[q] == pytest.approx(1.0 / lineup.sum(), abs=1e-6)


def test_posteriors_are_right_where_the_length_is_known_and_the_number_of_wrong_facts_varies():
    rng = np.random.default_rng(6)
    n = np.clip(rng.lognormal(2.5, 0.8, 600).astype(int), 3, 90)
    item = np.concatenate([rng.choice(100, k, replace=False) for k in n])
    data = so.Dataset.from_arrays(np.repeat(np.arange(600), n), item)
    who = so.Adversary(knows=3, wrong=0.3, wrong_kind="item", value_within=None, length_within=0.9)
    people = np.arange(600)
    runs = [
        so.attack("likelihood", calibrate=False).run(
            data, who.sample(data, people, seed), watch=people
        )
        for seed in range(4)
    ]
    share, credit = (
        np.mean([getattr(v, name).mean() for v in runs]) for name in ("share", "credit")
    )
    assert share == pytest.approx(credit, abs=0.015)
