"""On real data: describe takes less than a minute, everybody's nearest neighbor is found, no certificate is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import standout as so

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


@pytest.fixture(scope="module", params=list(FILES))
def release(request: pytest.FixtureRequest) -> so.Dataset:
    name, columns = FILES[request.param]
    return so.Dataset.read(
        Path(os.environ["STANDOUT_DATA"]) / request.param / name, resolution="day", **columns
    )


def test_describe_compares_everybody(release):
    found = so.describe(release)
    assert len(found.sparsity) == 3
    assert all(c.whole and c.similarity.size == release.n_records for c in found.sparsity)
    # "for the vast majority no record above 0.5"
    assert all(c.delta(0.5).rate < 0.06 for c in found.sparsity)
    assert found.length_fits and found.overview["density"] < 0.02


def test_no_certificate_is_wrong_on_real_data(release):
    for gamma in (0.0, 0.1, 0.2):
        found = so.certificates(release, 8, gamma, targets=2_000)
        assert found.violations == 0 and found.certified > 0.05


def test_theorem_3_holds_on_real_data(release):
    found = so.amplification(
        release, 10, 0.07, None, [0.7, 0.8, 0.9, 1.0], [0.5, 0.7, 1.0], [0.75, 0.9], runs=20
    )
    assert [t.violations for t in found.theorem_3] == [0, 0, 0, 0]
    assert all(t.measured >= 0.75 for t in found.theorem_3)
    assert (np.diff(found.f, axis=1) >= 0).all() and (np.diff(found.f, axis=2) <= 0).all()
    # as in Figs. 3 to 6, agreement on rarer items says more
    assert found.f[3, 0, 0] > found.f[0, 0, 0]
    learned = found.theorem_3[0].learned.to_dict()
    assert learned["right"] > learned["popular"] and learned["gain_low"] > 0
