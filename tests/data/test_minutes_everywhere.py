"""Data with minutes or seconds, the default of files with a time of day, works wherever days are counted."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import standout as so
from standout.data.export import entry_days
from standout.data.synthetic import twin_dataset
from standout.data.times import TICKS_PER_DAY
from standout.theory.entropy import time_chances


@pytest.fixture(scope="module", params=["minute", "second"])
def visits(request):
    """People with habits: each visits own places, at random minutes or seconds of 200 days."""
    per_day = TICKS_PER_DAY[request.param]
    rng = np.random.default_rng(8)
    record = np.repeat(np.arange(80), 24)
    item = (record * 5 + rng.integers(0, 12, record.size)) % 90
    return so.Dataset.from_arrays(
        record,
        item,
        rng.integers(1, 6, record.size),
        18_000 + rng.integers(0, 200 * per_day, record.size) / per_day,
    )


@pytest.mark.parametrize("name", ["coarsen-time", "shift-time"])
def test_defenses_that_count_days_change_minutes_by_whole_days(visits, name):
    options = {"to": "week"} if name == "coarsen-time" else {"days": 30}
    release = so.defense(name, **options).apply(visits, seed=1)
    assert visits.time_resolution == release.time_resolution != "day"
    before, after = entry_days(visits), entry_days(release)
    if name == "coarsen-time":
        assert set(np.round((np.sort(after) * 1440) % 1440)) == {0.0}
    else:
        assert (
            before.size == after.size
            and np.abs(np.sort(after)[[0, -1]] - np.sort(before)[[0, -1]]).max() <= 30
        )
    who = so.Adversary(knows=3, value_within=1, time_within="30min")
    found = so.Audit(visits, who, ["likelihood"], targets=30, release=release, describe=False).run()
    assert all(0 <= one["hit"]["rate"] <= 1 for one in found.results[0]["attacks"])
    rate = max(one["hit"]["rate"] for one in found.results[0]["attacks"])
    assert rate > 0.5  # an attacker who knows the defense still finds people by their items


def test_a_release_in_days_of_a_source_in_minutes_is_compared_by_the_day(visits):
    """Read at midnight, its days would agree with no known minute, and nobody would be found."""
    labels = np.repeat(visits.record_labels, np.diff(visits.record_ptr))
    release = so.Dataset.from_arrays(
        labels,
        visits.item_labels[visits.record_item],
        visits.levels[visits.record_code],
        np.floor(entry_days(visits)),
    )
    assert release.time_resolution == "day"
    who = so.Adversary(knows=3, value_within=0, time_within=0)
    found = so.Audit(
        visits, who, ["scoreboard", "likelihood"], targets=40, release=release, describe=False
    ).run()
    assert all(one["hit"]["rate"] > 0.9 for one in found.results[0]["attacks"])


def test_two_files_with_minutes_are_linked(visits):
    rng = np.random.default_rng(3)
    kept = rng.random(visits.n_entries) < 0.4
    second = visits.with_entries(kept)
    links = so.link(visits, second.take(second.lengths > 3), seed=1)
    assert (links.best == np.flatnonzero(second.lengths > 3)).mean() > 0.8
    assert any("compared by the hour" in line for line in links.details["warnings"])


def test_a_split_by_time_and_a_description_take_minutes(visits):
    before, after = so.split_time(visits, 0.5)
    assert before.time_resolution == after.time_resolution == visits.time_resolution
    last, first = entry_days(before).max(), entry_days(after).min()
    assert last < np.ceil(last) <= first
    assert so.describe(visits).to_dict()
    assert twin_dataset(n_records=20, seed=1).time_resolution == "day"


@pytest.mark.parametrize("to", ["day", "month"])
def test_sixty_years_of_seconds_take_no_memory_per_second(to):
    rng = np.random.default_rng(4)
    record, item = np.divmod(np.arange(600), 6)
    second = rng.integers(0, 60 * 365 * 86_400, record.size)
    ds = so.Dataset.from_arrays(record, item, time=10.0 + second / 86_400)
    assert ds.time_resolution == "second" and ds.tick_span > 1.8e9
    release = so.defense("coarsen-time", to=to).apply(ds, seed=1)
    who = so.Adversary(knows=2, value_within=None, time_within="1min")
    aux = who.sample(ds, np.arange(50), seed=1)
    tracemalloc.start()
    try:
        found = so.attack("likelihood").run(ds, aux, watch=np.arange(50))
        assert time_chances(ds, "1min").max() < 0.02
        audit = so.Audit(ds, who, ["likelihood"], targets=30, release=release, describe=False)
        rates = {a["attack"]["label"]: a["hit"]["rate"] for a in audit.run().results[0]["attacks"]}
        assert tracemalloc.get_traced_memory()[1] < 500 * 2**20
    finally:
        tracemalloc.stop()
    assert (found.rank == 1).all() and max(rates.values()) > (0.9 if to == "day" else 0.2)
