"""On real data: posterior and P(absent) are within three points of what is observed, and no simpler attack wins."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import standout as so
from standout.adversary.sampling import sample_targets
from standout.attacks.presence import canaries

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif("STANDOUT_DATA" not in os.environ, reason="STANDOUT_DATA is not set"),
]

FILES = {
    "ml-latest-small": ("ratings.csv.gz", {}),
    "online-retail": (
        "online_retail.csv.gz",
        {"record": "CustomerID", "item": "StockCode", "value": "Quantity", "time": "InvoiceDate"},
    ),
}
CELLS = [
    so.Adversary(
        knows=knows,
        wrong=wrong,
        wrong_kind=kind,
        value_within=value_within,
        time_within=time_within,
    )
    for value_within, time_within in ((None, None), (1, None), (1, 14))
    for knows, wrong, kind in (
        (2, 0, "item"),
        (2, 1, "item"),
        (4, 0, "item"),
        (4, 1, "item"),
        (4, 2, "item"),
        (8, 4, "item"),
        (2, 1, "value"),
        (4, 1, "value"),
        (4, 2, "value"),
        (8, 4, "value"),
    )
    if kind == "item" or value_within is not None
]


@pytest.fixture(scope="module")
def releases() -> list[so.Dataset]:
    folder = Path(os.environ["STANDOUT_DATA"])
    return [
        so.Dataset.read(folder / name / file, resolution="day", **columns)
        for name, (file, columns) in FILES.items()
    ]


def test_posterior_and_absence_are_within_three_points_of_what_is_observed(releases):
    off = []
    for data in releases:
        for who in CELLS:
            others = np.setdiff1d(who.eligible(data), canaries(data, who))
            targets = sample_targets(data, others, 400, 1)
            assert targets.size == 400
            knowledge = who.sample(data, targets, 1)
            attack = so.attack("likelihood")
            here, gone = (
                attack.run(data, knowledge, watch=targets),
                attack.run(data, knowledge, exclude=targets),
            )
            off.append((here.absent.mean() + gone.absent.mean()) / 2 - 0.5)
            off.append((here.posterior.mean() + gone.posterior.mean() - here.credit.mean()) / 2)
    assert np.mean(np.abs(off) <= 0.03) >= 0.95
    assert np.abs(off).max() < 0.06


def test_no_simpler_attack_beats_the_likelihood_where_some_facts_are_wrong(releases):
    for data in releases:
        for who in [who for who in CELLS if who.wrong and who.knows <= 4]:
            targets = sample_targets(data, who.eligible(data), 400, 7)
            knowledge = who.sample(data, targets, 7)
            ours = (
                so.attack("likelihood", calibrate=False).run(data, knowledge, watch=targets).credit
            )
            for name, options in (
                ("tf-idf", {}),
                ("scoreboard-rh", {}),
                ("scoreboard-rh", {"length": "sqrt"}),
            ):
                ahead = so.attack(name, **options).run(data, knowledge, watch=targets).credit - ours
                assert ahead.mean() < 2 * ahead.std() / np.sqrt(targets.size), (
                    who.describe(),
                    name,
                )
