"""The audit on short records of few items (Anonymous Microsoft Web Data), where most people hold too few."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import standout as so

DATA = Path(os.environ.get("STANDOUT_DATA", ""), "msweb", "visits.csv.gz")

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not DATA.is_file(), reason="msweb is not in STANDOUT_DATA"),
]


def test_a_rate_of_the_few_with_many_items_is_not_told_of_all_people():
    data = so.Dataset.read(DATA)
    found = so.Audit(
        data, so.Adversary(knows=6), "scoreboard-rh", targets=400, describe=False
    ).run()
    result = found.results[0]
    holders = (data.lengths >= 6).mean()
    assert result["eligible_share"] == pytest.approx(holders) and 0.1 < holders < 0.15
    first, link, rest = str(found).splitlines()
    assert (
        "of people with at least 6 pages, which is" in first
        and "of all people" in first
        and "of all people" in link
    )
    assert result["strongest"]["hit_all"]["rate"] < 0.15 < 0.5 < result["strongest"]["hit"]["rate"]
    # the mean over everybody would be 0 more items
    assert 1 < result["more_items"] < 5 and "on average 0 more" not in rest
