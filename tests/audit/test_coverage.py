"""Stated uncertainty against repeated audits: slow, over 200 seeds."""

from __future__ import annotations

import numpy as np
import pytest

import standout as so

pytestmark = pytest.mark.slow

SEEDS = 200
WHO = so.Adversary(knows=2, value_within=None, time_within=None)
ATTACKS = ["scoreboard-rh", "likelihood"]


@pytest.fixture(scope="module")
def release() -> so.Dataset:
    """Records that two items find about half of the time."""
    rng = np.random.default_rng(5)
    n, n_items = 1500, 150
    p = 1.0 / np.arange(1, n_items + 1) ** 0.5
    rows = [
        rng.choice(n_items, rng.integers(4, 30), replace=False, p=p / p.sum()) for _ in range(n)
    ]
    return so.Dataset.from_arrays(
        np.repeat(np.arange(n), [r.size for r in rows]), np.concatenate(rows)
    )


@pytest.fixture(scope="module")
def audits(release):
    return [
        so.Audit(release, [WHO], ATTACKS, targets=120, seed=s, describe=False).run()
        for s in range(SEEDS)
    ]


@pytest.fixture(scope="module")
def frames(audits):
    return [findings.to_frame().set_index("attack") for findings in audits]


@pytest.fixture(scope="module")
def truth(release):
    """Rates over every record and many draws of what is known."""
    runs = [
        so.Audit(release, [WHO], ATTACKS, targets="all", seed=10_000 + s).run() for s in range(10)
    ]
    return sum(run.to_frame().set_index("attack")[["hit", "false_match"]] for run in runs) / len(
        runs
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_interval_of_a_hit_rate_covers_the_true_rate_in_95_of_100_audits(frames, truth, attack):
    true = truth.loc[attack, "hit"]
    covered = np.mean(
        [f.loc[attack, "hit_low"] <= true <= f.loc[attack, "hit_high"] for f in frames]
    )
    # 200 audits whose intervals cover in 95 of 100 show fewer than 91 once in a hundred times
    assert covered >= 0.91


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_interval_of_a_calibrated_false_match_rate_covers_the_true_rate_in_95_of_100_audits(
    audits, release, attack
):
    """The threshold is set on one half of the targets; the rate at that threshold is measured on the other half."""
    everyone = WHO.eligible(release)
    knowledge = WHO.sample(release, everyone, seed=77)
    statistic = so.attack(attack).run(release, knowledge, exclude=everyone).statistic
    covered = []
    for findings in audits:
        tuned = next(
            a["calibrated"]
            for a in findings.results[0]["attacks"]
            if a["attack"]["label"] == attack
        )
        true = (statistic >= tuned["threshold"]).mean()
        covered.append(tuned["false_match"]["low"] <= true <= tuned["false_match"]["high"])
    assert np.mean(covered) >= 0.91


def test_the_posterior_is_as_often_right_as_it_says_on_average(release):
    """Present and removed targets in equal number: the prior that the attack assumes."""
    gaps = []
    for seed in range(20):
        targets = np.random.default_rng(seed).permutation(WHO.eligible(release))[:200]
        knowledge = WHO.sample(release, targets, seed=seed)
        one = so.attack("likelihood").fit(release, knowledge)
        here = one.run(release, knowledge, watch=targets)
        gone = one.run(release, knowledge, exclude=targets)
        gaps.append(
            [
                np.concatenate([here.posterior, gone.posterior]).mean()
                - here.credit.sum() / (2 * targets.size),
                np.concatenate([here.absent, gone.absent]).mean() - 0.5,
            ]
        )
    assert np.abs(np.mean(gaps, axis=0)).max() < 0.03
