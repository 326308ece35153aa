"""The known length of a target beside a record of a defended release: the formula against the distribution that it stands for."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import nbinom

from standout.scoring.adaptive_records import LEAST_AGREEMENT, log_length

BACK, TOLD = 0.37, 12.0


def got(low, high, *, released=0, n_held=0, n_known=0, node=-1, **more):
    told = {
        "low": np.array([low]),
        "high": np.array([high]),
        "length_back": np.array([BACK]),
        "told": np.array([TOLD]),
        "lose": 0.0,
        "n_wrong": 0,
        "wrong_items": False,
        **more,
    }
    value = log_length.py_func(0, released, n_held, n_known, node, SimpleNamespace(**told))
    return np.exp(value) * (BACK + LEAST_AGREEMENT) - LEAST_AGREEMENT


@pytest.mark.parametrize("lose", [0.1, 0.3])
@pytest.mark.parametrize(
    ("n_known", "n_wrong", "gone"), [(5, 0, 0), (9, 0, 4), (9, 3, 1), (6, 3, 0)]
)
def test_the_lost_items_are_those_of_a_negative_binomial_beside_the_known_ones(
    lose, n_known, n_wrong, gone
):
    released, n_held = 600, 5
    source = released + gone + np.arange(20_000)
    weight = nbinom.pmf(source - released - gone, released - n_held + 1, 1 - lose)
    middle, width = source @ weight, np.sqrt(weight @ source**2 - (source @ weight) ** 2)
    for low, high in (
        (0, middle),
        (middle - width / 3, middle + width / 3),
        (middle + width / 2, 10**6),
    ):
        low, high = round(low), round(high)
        inside = (low <= source) & (source <= high)
        told = {"lose": lose, "n_wrong": n_wrong, "wrong_items": n_wrong > 0}
        value = got(low, high, released=released, n_held=n_held, n_known=n_known, **told)
        assert value == pytest.approx((weight[inside] * TOLD / source[inside]).sum(), abs=1e-9)


def test_without_losses_the_density_is_one_over_the_length_within_the_window():
    for released, share in ((9, 0.0), (10, TOLD / 10), (14, TOLD / 14), (15, 0.0)):
        assert got(10, 14, released=released) == pytest.approx(share, abs=1e-12)


def test_under_a_cap_every_length_between_two_published_ones_is_equally_likely():
    node = {"node_low": np.array([0, 20]), "node_high": np.array([19, 29])}
    for low, high in ((0, 100), (22, 24), (28, 90), (30, 40), (0, 20)):
        inside = np.arange(max(low, 20), min(high, 29) + 1)
        assert got(low, high, node=1, **node) == pytest.approx(
            (TOLD / inside).sum() / 10, abs=1e-12
        )
