"""Files that agree exactly in amounts and days: scores come in clusters, and p-values are corrected."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so


def purchases(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    length = rng.integers(6, 18, 220)
    odds = 1 / np.arange(1, 91) ** 0.7
    item = np.concatenate([rng.choice(90, n, replace=False, p=odds / odds.sum()) for n in length])
    amount = np.round(rng.lognormal(3, 1, item.size), 2)
    return np.repeat(np.arange(220), length), item, amount, rng.integers(15_000, 15_300, item.size)


@pytest.mark.parametrize("seed", [1, 3])
def test_people_whose_purchases_agree_exactly_are_expected_to_be_linked(seed: int) -> None:
    release = so.Dataset.from_arrays(*purchases(seed))
    links = so.link(release, release)
    assert links.accepted(0.05).all()
    assert links.expected_links > 210


def test_nobody_is_linked_if_the_same_purchases_belong_to_random_people() -> None:
    record, item, amount, day = purchases(1)
    shuffled = so.Dataset.from_arrays(
        np.random.default_rng(0).permutation(record), item, amount, day
    )
    links = so.link(shuffled, so.Dataset.from_arrays(record, item, amount, day))
    assert not links.accepted(0.05).any()
    assert links.expected_links < 5
