"""The default attack on releases of every defense, with its calibration: nothing is switched off."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so

DEFENSES = [
    "drop-entries(share=0.3)",
    "drop-rare-items(min_support=20)",
    "keep-top-items(k=60)",
    "cap-entries(most=8)",
    "sample-records(share=0.7)",
    "round-values(step=2)",
    "round-values(step=4)",
    "noise-values(within=1)",
    "geometric-values(a=0.5)",
    "drop-values()",
    "coarsen-time(to=month)",
    "shift-time(days=60)",
    "drop-time()",
    "swap-entries(share=0.3)",
    "swap-attributes(share=0.5)",
    "group-items(groups=30)",
    "opaque-items()",
    "suppress-km(k=3, m=2)",
    "randomized-response(epsilon=6)",
    "round-values(step=2) | coarsen-time(to=month) | drop-entries(share=0.3)",
]


@pytest.fixture(scope="module")
def source() -> so.Dataset:
    rng = np.random.default_rng(4)
    length = rng.integers(8, 20, 300)
    odds = 1 / np.arange(1, 121) ** 0.7
    item = np.concatenate([rng.choice(120, n, replace=False, p=odds / odds.sum()) for n in length])
    record = np.repeat(np.arange(300), length)
    return so.Dataset.from_arrays(
        record, item, rng.integers(1, 6, item.size), rng.integers(15_000, 15_400, item.size)
    )


@pytest.mark.parametrize("text", DEFENSES)
def test_the_default_attack_runs_and_states_probabilities_on_every_release(
    source: so.Dataset, text: str
) -> None:
    who = so.Adversary(knows=3, value_within=1, time_within=14)
    targets = who.eligible(source)[:30]
    release = so.parse_defense(text).apply(source, seed=5)
    seen = so.attack("likelihood").run(release, who.sample(source, targets=targets, seed=7))
    assert (
        (seen.posterior >= 0) & (seen.posterior <= 1) & (seen.absent >= 0) & (seen.absent <= 1)
    ).all()
