"""A default audit measures what the file holds: times to the second, and exact values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.report.sentences import statements_of
from standout.report.view import untried, view


def planted(n=400, items=6, days=2, seed=5):
    """The same items for everybody, at random seconds over two days: record, item, Unix seconds."""
    rng = np.random.default_rng(seed)
    record, item = np.divmod(np.arange(n * items), items)
    return record, item, 1_600_041_600 + rng.integers(0, days * 86_400, n * items)


def written(path, record, item, seconds):
    rows = zip(record.tolist(), item.tolist(), seconds.tolist(), strict=True)
    path.write_text("user,item,timestamp\n" + "".join(f"u{r},i{i},{s}\n" for r, i, s in rows))
    return path


def n_matching(item, what):
    """Number of records that match each (record, item) pair exactly, by brute force."""
    return np.concatenate(
        [
            (what[item == i][:, None] == what[item == i][None, :]).sum(axis=1)
            for i in np.unique(item)
        ]
    )


def unique_share(item, what):
    return float((n_matching(item, what) == 1).mean())


def found_share(item, what):
    """Expected share of right guesses: one of those that match."""
    return float((1 / n_matching(item, what)).mean())


def rates(findings, **adversary):
    """Hit rates by attack of the one kind of knowledge with these parameters."""
    entry = next(
        r for r in findings.results if all(r["adversary"][k] == x for k, x in adversary.items())
    )
    return {one["attack"]["label"]: one["hit"] for one in entry["attacks"]}


def test_people_who_differ_only_in_the_second_are_not_called_safe_by_default(tmp_path):
    record, item, seconds = planted(n=3000)
    ds = so.Dataset.read(written(tmp_path / "visits.csv", record, item, seconds))
    assert ds.time_resolution == "second" and ds.not_measured == []
    who = so.Adversary(knows=1, value_within=None, time_within=0)
    found = so.Audit(ds, who, ["unicity", "likelihood"], targets="all", describe=False).run()
    # the minute singles out 62 % of them
    one, unique = found_share(item, seconds), unique_share(item, seconds)
    assert unique > 0.98 and unique_share(item, seconds // 60) < 0.65
    for hit in rates(found, knows=1, wrong=0, time_within=0).values():
        assert hit["low"] - 0.01 < one < hit["high"] + 0.01
    assert (
        found.results[0]["unique"]["low"] - 0.01
        < unique
        < found.results[0]["unique"]["high"] + 0.01
    )
    assert "to the second" in str(found).splitlines()[0]


def test_people_who_differ_only_in_the_minute_are_not_called_safe(tmp_path):
    record, item, seconds = planted()
    path = written(tmp_path / "visits.csv", record, item, seconds)
    ds = so.Dataset.read(path, resolution="minute")
    assert ds.time_resolution == "minute" and ds.cleaning.finest_time == "second"
    found = so.Audit(ds, attacks=["unicity", "likelihood"], targets="all", describe=False).run()
    assert unique_share(item, seconds // 60) > 0.8
    one = found_share(item, seconds // 60)
    for hit in rates(found, knows=1, wrong=0, time_within=0).values():
        assert hit["low"] - 0.01 < one < hit["high"] + 0.01
    two = rates(found, knows=2, wrong=0, time_within=0)
    assert two["unicity"]["rate"] > 0.99 and two["likelihood"]["rate"] > 0.99
    first = str(found).splitlines()[0]
    assert (
        "to the minute" in first
        and "single out" in first
        and "Not measured: times to the second." in first
    )
    assert (
        "The data has seconds; times were read to the minute. Knowledge of times to the second was not measured."
        in (found.warnings)
    )
    assert found.to_dict()["data"]["not_measured"] == ["times to the second"]


@pytest.mark.parametrize(
    ("resolution", "within"),
    [
        ("second", 0),
        ("second", "30min"),
        ("minute", 0),
        ("minute", "30min"),
        ("hour", 0),
        ("day", 0),
    ],
)
def test_unique_and_found_at_each_resolution_are_those_of_a_brute_force_count(resolution, within):
    """Knowing one item and its time: unique people are counted with NumPy, from the seconds and without our code."""
    record, item, seconds = planted(n=300, days=4, seed=11)
    ds = so.Dataset.from_arrays(
        record,
        item,
        time=seconds / 86_400,
        resolution=None if resolution == "second" else resolution,
    )
    assert ds.time_resolution == resolution
    who = so.Adversary(knows=1, value_within=None, time_within=within)
    aux = who.sample(ds, seed=3)
    known = np.round(
        aux.time * {"second": 86_400, "minute": 1440, "hour": 24, "day": 1}[resolution]
    ).astype(np.int64)
    step = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}[resolution]
    reach = 1800 // step if within else 0
    at = seconds.reshape(-1, 6) // step
    fits = (
        np.abs(at[:, np.searchsorted(np.arange(6), aux.item.astype(int))].T - known[:, None])
        <= reach
    )
    assert fits[np.arange(300), np.arange(300)].all()
    n_fitting = fits.sum(axis=1)
    unicity = so.attack("unicity", time_within=within).run(ds, aux, watch=np.arange(300))
    np.testing.assert_array_equal(unicity.n_tied, n_fitting)
    np.testing.assert_allclose(unicity.credit, np.where(n_fitting == 1, 1.0, unicity.credit))
    likelihood = so.attack("likelihood").run(ds, aux, watch=np.arange(300))
    # all items are held by everybody, and times have no shape: the likelihood can do no better than
    # to choose among those
    assert abs(likelihood.credit.mean() - (1 / n_fitting).mean()) < 0.04


@pytest.mark.parametrize("resolution", ["day", "hour"])
def test_what_was_asked_to_be_coarser_than_the_file_is_named_as_not_measured(tmp_path, resolution):
    path = written(tmp_path / "visits.csv", *planted(n=60))
    ds = so.Dataset.read(path, resolution=resolution)
    assert (
        f"time: the data has seconds; times were read to the {resolution} (as asked)"
        in ds.cleaning.notes
    )
    found = so.Audit(
        ds, so.Adversary(knows=1, value_within=None), "scoreboard", targets=20, describe=False
    ).run()
    assert any(f"times were read to the {resolution}" in note for note in found.warnings)
    assert (
        "times to the second" in untried(view(found))
        and "times to the second" in statements_of(found)[0]
    )


def amounts(n=1500, seed=2):
    """One purchase of each of 4 items per person, with amounts in cents: far more than 4,095 distinct ones."""
    rng = np.random.default_rng(seed)
    record, item = np.divmod(np.arange(n * 4), 4)
    return record, item, np.round(np.exp(rng.normal(7, 1.2, n * 4)), 2)


def test_exact_amounts_are_measured_however_many_there_are():
    record, item, value = amounts()
    assert np.unique(value).size > 4095
    ds = so.Dataset.from_arrays(record, item, value)
    found = so.Audit(ds, attacks=["unicity"], targets=300, describe=False).run()
    top = rates(found, knows=1, wrong=0, value_within=0)["unicity"]
    assert top["low"] < unique_share(item, value) < top["high"]
    assert found.to_dict()["data"]["not_measured"] == []


@pytest.mark.parametrize("how", ["text", "frame", "arrays"])
def test_dates_without_a_time_of_day_are_counted_and_noted(tmp_path, how):
    record, item, seconds = planted(n=100, seed=6)
    times = np.datetime_as_string(seconds.astype("datetime64[s]"), unit="m").astype(object)
    times[::3] = [text[:10] for text in times[::3]]
    frame = pd.DataFrame({"user": record, "item": item, "when": times})
    if how == "text":
        frame.to_csv(tmp_path / "d.csv", index=False)
        ds = so.Dataset.read(tmp_path / "d.csv")
    elif how == "frame":
        ds = so.Dataset.from_frame(
            frame.assign(when=pd.to_datetime(frame["when"], format="ISO8601"))
        )
    else:
        ds = so.Dataset.from_arrays(record, item, time=times)
    assert ds.cleaning.times_midnight == 200
    assert any("200 of 600 times are exactly 0:00" in note for note in ds.cleaning.notes)
    who = so.Adversary(knows=1, time_within=0)
    found = so.Audit(ds, adversaries=[who], attacks=["unicity"], targets=20, describe=False).run()
    assert any("knowledge of their times to the minute is not real" in w for w in found.warnings)


def test_a_few_times_at_midnight_are_no_dates():
    record, item, seconds = planted(n=1000)
    ds = so.Dataset.from_arrays(record, item, time=seconds.astype("datetime64[s]"))
    assert ds.cleaning.times_midnight == 0
