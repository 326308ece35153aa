"""Bins of posteriors against the truth: every person once, and a wrong posterior is noticed."""

import numpy as np
import pytest

from standout.linking.truth import MANY, by_chance, calibration, equal_count, equal_width

BINNED = {"width": equal_width, "count": equal_count}


def drawn(n, seed=0, wrong=0.0):
    """Posteriors, and truth drawn from posteriors that are higher by `wrong`."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.6, 1.2, n)
    return p, rng.random(n) < np.clip(p + wrong, 0, 1)


@pytest.mark.parametrize("kind", BINNED)
def test_every_person_is_in_one_bin(kind):
    p = np.concatenate([drawn(997)[0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 0.6000000000000001]])
    bins = BINNED[kind](p)
    assert np.sort(np.concatenate([b.inside for b in bins])).tolist() == list(range(p.size))
    for b in bins:
        assert b.low <= p[b.inside].min()
        assert p[b.inside].max() <= b.high


def test_bins_of_equal_count_hold_equal_numbers_and_bins_of_equal_width_are_as_wide():
    p, _ = drawn(1003)
    sizes = [b.inside.size for b in equal_count(p)]
    assert max(sizes) - min(sizes) <= 1
    assert [b.low for b in equal_width(p)] == [0.0, 0.2, 0.4, 0.6, 0.8]


@pytest.mark.parametrize("kind", BINNED)
def test_right_posteriors_are_not_suspected_and_wrong_ones_are(kind):
    values = [
        by_chance(*x, BINNED[kind](x[0]))["p_value"]
        for x in (drawn(800, seed) for seed in range(40))
    ]
    # uniform if the posteriors are right
    assert np.mean(np.asarray(values) < 0.1) < 0.25
    assert 0.3 < np.mean(values) < 0.7
    p, hit = drawn(4000, wrong=0.06)
    assert by_chance(p, hit, BINNED[kind](p))["p_value"] < 0.001


def test_few_people_cannot_show_three_points():
    few, many = (drawn(n)[0] for n in (300, 60_000))
    assert by_chance(few, few > 0.5, equal_width(few))["within"] < 0.1
    assert by_chance(many, many > 0.5, equal_width(many))["within"] > 0.99


def test_many_people_are_drawn_like_few():
    p, hit = drawn(5 * MANY - 5, 3)
    again, more = np.concatenate([p, p[:10]]), np.concatenate([hit, hit[:10]])
    exact, normal = (by_chance(a, b, equal_count(a)) for a, b in ((p, hit), (again, more)))
    assert exact["p_value"] == pytest.approx(normal["p_value"], abs=0.06)


def test_the_rows_give_mean_posterior_and_share_of_right_links():
    p, hit = np.array([0.1, 0.1, 0.9, 0.7, 0.9]), np.array([False, True, True, True, True])
    rows = calibration(p, hit, equal_width(p))
    assert [(r["from"], r["n"], r["count"]) for r in rows] == [
        (0.0, 2, 1),
        (0.6, 1, 1),
        (0.8, 2, 2),
    ]
    assert [r["mean"] for r in rows] == pytest.approx([0.1, 0.7, 0.9])
