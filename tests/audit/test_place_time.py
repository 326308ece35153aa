"""`unicity` by the resolution of place and time, against enumeration in plain Python from the same drawn points."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.adversary.adversary import Adversary
from standout.audit import place_time
from standout.errors import EligibilityError, InputError, ParameterError
from standout.extend import GroupsView

START = datetime(2024, 2, 26, tzinfo=UTC)
"""A Monday."""
RADIUS = 6_371_008.8


def checkins(seed=0, n=50, per=9):
    """Check-ins of people who move between a few places, to the hour; some places and times repeat, some are missing."""
    rng = np.random.default_rng(seed)
    spot = rng.integers(0, 12, n * per)
    at = rng.integers(0, 24 * 16, n * per) // 5 * 5
    table = pd.DataFrame(
        {
            "user": np.repeat(np.arange(n), per),
            "venue": spot,
            "lat": 48.1 + 0.004 * (spot % 4),
            "lon": 11.5 + 0.011 * (spot // 4),
            "time": pd.to_datetime([START.replace(tzinfo=None) + timedelta(hours=int(h)) for h in at]),
        }
    )  # fmt: skip
    table.loc[rng.random(len(table)) < 0.03, "lat"] = np.nan
    table.loc[rng.random(len(table)) < 0.03, "time"] = pd.NaT
    return table


def read(table, **more):
    return so.Dataset.from_arrays(
        table["user"],
        table["venue"],
        time=table["time"].to_numpy(),
        lat=table["lat"],
        lon=table["lon"],
        resolution="hour",
        **more,
    )


def cell(lat, lon, edge):
    n = max(1, round(math.pi * RADIUS / edge))
    row = min(math.floor((lat + 90) / 180 * n), n - 1)
    columns = max(1, round(2 * n * math.cos(math.pi * ((row + 0.5) / n - 0.5))))
    return row, math.floor((lon + 180) / 360 * columns) % columns


PERIOD = {
    "hour": lambda t: (t.date(), t.hour),
    "5h": lambda t: int(t.timestamp()) // (5 * 3600),
    "day": lambda t: t.date(),
    "3d": lambda t: int(t.timestamp()) // (3 * 86_400),
    "week": lambda t: t.isocalendar()[:2],
    "2weeks": lambda t: (t.date() - datetime(1969, 12, 29).date()).days // 14,
    "month": lambda t: (t.year, t.month),
    "year": lambda t: t.year,
    "none": lambda t: 0,
}
DISTRICT = {v: f"d{v // 5}" for v in range(12)}
PLACE = {
    "200m": lambda row: cell(row.lat, row.lon, 200.0),
    "1.5km": lambda row: cell(row.lat, row.lon, 1500.0),
    "item": lambda row: row.venue,
    "groups:": lambda row: DISTRICT[row.venue],
}


@pytest.fixture
def spy(monkeypatch):
    """What `unicity` draws: the number of the point of each entry, and the known points of each person."""
    seen = {"points": [], "facts": []}
    with_points, sample = place_time._with_points, Adversary.sample

    def numbered(data, kept, point):
        seen["points"].append((kept, point))
        return with_points(data, kept, point)

    def drawn(self, dataset, targets, seed):
        facts = sample(self, dataset, targets, seed)
        seen["facts"].append((self.knows, targets, facts))
        return facts

    monkeypatch.setattr(place_time, "_with_points", numbered)
    monkeypatch.setattr(Adversary, "sample", drawn)
    return seen


def test_every_cell_is_what_is_enumerated_from_the_same_points(spy):
    data = read(checkins())
    places = ["200m", "1.5km", "item", GroupsView(DISTRICT)]
    found = so.unicity(data, [1, 2, 3], places, list(PERIOD), targets="all", seed=4)

    # one row per entry, in the order of the entries
    rows = list(data.to_frame().itertuples())
    kept, point = spy["points"][0]
    good = [k for k, row in enumerate(rows) if not (math.isnan(row.lat) or pd.isna(row.time))]
    assert np.flatnonzero(kept).tolist() == good
    assert (found.n_points, found.n_left_out) == (len(good), len(rows) - len(good))
    assert found.n_left_out > 5
    example = {f: rows[k] for k, f in zip(good, point.tolist(), strict=True)}

    def same(row):
        return (row.venue if hasattr(row, "venue") else row.item, row.lat, row.lon, row.time)

    assert len({same(row) for row in example.values()}) == len(example)
    held = {}
    for k in good:
        held.setdefault(rows[k].record, []).append(rows[k])
    assert found.n_eligible == sum(len({same(x) for x in own}) >= 3 for own in held.values())

    def shown(row, place, time):
        known = row._asdict() | {"venue": row.item}
        one = pd.Series(known)
        return PLACE[place](one), PERIOD[time](row.time.to_pydatetime().replace(tzinfo=UTC))

    cells = {(c.points, c.place, c.time): c.unique for c in found.cells}
    assert len(cells) == len(found.cells) == 3 * len(PLACE) * len(PERIOD)
    cache = {}
    for place in PLACE:
        for time in PERIOD:
            of_row = {id(row): shown(row, place, time) for own in held.values() for row in own}
            cache[place, time] = (
                {r: {of_row[id(x)] for x in own} for r, own in held.items()},
                of_row,
            )
    for knows, targets, facts in spy["facts"]:
        known = [
            [example[int(x)] for x in facts.item[facts.query_ptr[q] : facts.query_ptr[q + 1]]]
            for q in range(targets.size)
        ]
        for r, own in zip(targets.tolist(), known, strict=True):
            assert len({same(x) for x in own}) == knows
            assert {same(x) for x in own} <= {same(x) for x in held[r]}
        for (place, time), (traces, of_row) in cache.items():
            alone = sum(
                sum({of_row[id(x)] for x in own} <= trace for trace in traces.values()) == 1
                for own in known
            )
            rate = cells[knows, place, time]
            assert (rate.count, rate.n) == (alone, targets.size), (knows, place, time)
    # the cells differ, so that the comparison says something
    assert len({rate.count for rate in cells.values()}) > 10


def test_points_are_drawn_in_proportion_to_their_entries():
    n = 2000
    user = np.repeat(np.arange(n), 10)
    # nine of ten entries of everyone are the same place and time; the other place is nobody else's
    place = np.where(np.arange(10 * n) % 10 == 0, user + 1, 0)
    data = so.Dataset.from_arrays(user, place, time=np.full(10 * n, 19_000))
    found = so.unicity(data, 1, times=["day"], targets="all", seed=1)
    assert found.cells[0].unique.rate == pytest.approx(0.1, abs=0.02)
    both = so.unicity(data, 2, times=["day"], targets="all", seed=1)
    assert both.cells[0].unique.rate == 1.0


def test_two_people_with_the_same_points_are_never_unique_and_a_person_alone_always_is():
    twins = checkins(seed=2, n=1).assign(user=0)
    other = twins.assign(user=1)
    alone = twins.assign(user=2, lat=twins["lat"] + 5.0, venue=twins["venue"] + 100)
    data = read(pd.concat([twins, other, alone]))
    found = so.unicity(data, [1, 3], ["200m", "5km", "item"], ["hour", "week"])
    assert [(c.unique.count, c.unique.n) for c in found.cells] == [(1, 3)] * 12


def test_the_result_does_not_depend_on_the_order_of_rows_or_on_names_of_people():
    table = checkins(seed=3)
    found = so.unicity(read(table), 2, ["1km"], ["hour", "day"], targets=30, seed=9)
    mixed = table.sample(frac=1.0, random_state=1).assign(user=lambda t: 1000 - t["user"])
    assert so.unicity(read(mixed), 2, ["1km"], ["hour", "day"], targets=30, seed=9) == found
    assert found.n_people == 30 < found.n_eligible <= found.n_records == 50


def test_people_and_points_depend_on_the_seed_and_not_on_the_resolutions_asked_for(spy):
    data = read(checkins().dropna())
    few = so.unicity(data, 2, ["1km"], ["day"], targets=20, seed=3)
    many = so.unicity(data, 2, ["item", "1km"], ["hour", "day", "none"], targets=20, seed=3)
    assert few.cells[0] in many.cells
    so.unicity(data, 2, ["1km"], ["none"], targets=20, seed=3)
    so.unicity(data, 2, ["1km"], ["day"], targets="all", seed=3)
    so.unicity(data, 2, ["1km"], ["day"], targets="all", seed=4)
    people = [targets.tolist() for _, targets, _ in spy["facts"]]
    assert people[0] == people[1] == people[2]
    points = [facts.item.tolist() for _, _, facts in spy["facts"]]
    assert points[0] == points[1] and points[3] != points[4]


def test_defaults_are_what_the_data_has():
    table = checkins()
    cells = so.unicity(read(table), 1).to_frame()
    assert cells["place"].unique().tolist() == ["100m", "1km", "10km"]
    assert cells["time"].unique().tolist() == ["hour", "6h", "day", "week"]
    days = so.Dataset.from_arrays(table["user"], table["venue"], time=table["time"].dt.date)
    cells = so.unicity(days, 1).to_frame()
    assert cells[["place", "time"]].values.tolist() == [["item", "day"], ["item", "week"]]
    bare = so.Dataset.from_arrays(table["user"], table["venue"])
    assert so.unicity(bare, 1).to_frame()["time"].tolist() == ["none"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"points": 0}, "points=0: use a whole number"),
        ({"points": [2, True]}, "points="),
        ({"places": ["sequence"]}, "is no place: use edges of a grid such as 500m"),
        ({"places": ["500"]}, "use the edge of a cell in m or km"),
        ({"places": []}, "places is empty"),
        ({"times": []}, "times is empty"),
        ({"times": ["90s"]}, "times: '90s': use periods such as 15min"),
        ({"times": ["15min"]}, r"'15min' is shorter than a hour.*--resolution"),
        ({"times": ["2month"]}, "use periods such as"),
        ({"times": ["0h"]}, "use periods such as"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, words):
    with pytest.raises(ParameterError, match=words):
        so.unicity(read(checkins()), **asked)


def test_data_without_places_or_times_and_maps_with_several_groups_are_refused():
    table = checkins()
    bare = so.Dataset.from_arrays(table["user"], table["venue"])
    with pytest.raises(ParameterError, match=r"needs coordinates.*--lat"):
        so.unicity(bare, places=["1km"])
    with pytest.raises(ParameterError, match="has no times; name their column"):
        so.unicity(bare, times=["day"])
    several = GroupsView({**DISTRICT, 3: ["d0", "d1"]})
    with pytest.raises(ParameterError, match="1 items have several groups"):
        so.unicity(bare, places=[several])
    with pytest.raises(EligibilityError, match="no record holds enough"):
        so.unicity(bare, 400)


def test_results_are_written_and_read_back(tmp_path):
    found = so.unicity(read(checkins()), [1, 2], ["1km"], ["day"])
    path = found.save(tmp_path / "u.json")
    assert so.UnicityTable.load(path) == found
    content = json.loads(path.read_text())
    content["cells"][0]["unique"]["rates"] = 1
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="is damaged"):
        so.UnicityTable.load(path)
    path.write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        so.UnicityTable.load(path)
    frame = found.to_frame()
    assert list(frame) == ["points", "place", "time", "count", "n", "unique", "low", "high"]
    assert (frame["low"] <= frame["unique"]).all() and (frame["unique"] <= frame["high"]).all()


def test_the_chart_shows_every_cell_with_its_interval():
    found = so.unicity(read(checkins()), [1, 2], ["200m", "2km"], ["hour", "day"])
    chart = so.unicity_chart(found)
    spec = chart.spec()
    assert len(spec["data"]["values"]) == len(found.cells) == 8
    assert spec["facet"]["sort"] == ["1 point", "2 points"]
    assert [row["rate"] for row in chart.table.plain()] == [c.unique.rate for c in found.cells]
    assert "<svg" in chart.svg() and chart.to_bytes("png").startswith(b"\x89PNG")


def test_the_command_prints_tables_and_writes_numbers_and_the_chart(tmp_path, run):
    path = tmp_path / "visits.csv"
    checkins().to_csv(path, index=False)
    asked = ("--lat", "lat", "--lon", "lon", "--points", "1,2", "--places", "200m,item")
    code, shown, _ = run("unicity", path, *asked, "--times", "hour,week", "--targets", "all")
    assert code == 0 and "unique, knowing 1 point" in shown and "unique, knowing 2 points" in shown
    assert "entries without a place or a time are left out" in shown
    found = so.unicity(
        so.Dataset.read(path, lat="lat", lon="lon"), [1, 2], ["200m", "item"], ["hour", "week"]
    )
    for suffix in ("json", "csv", "svg"):
        out = tmp_path / f"u.{suffix}"
        code, _, _ = run("unicity", path, *asked, "--times", "hour,week", "--out", out)
        assert code == 0 and out.stat().st_size > 100
    assert so.UnicityTable.load(tmp_path / "u.json") == found
    assert pd.read_csv(tmp_path / "u.csv").shape == found.to_frame().shape
    code, shown, _ = run("unicity", path, *asked, "--times", "day", "--json")
    assert code == 0 and len(json.loads(shown)["cells"]) == 4
    code, _, said = run("unicity", path, *asked, "--out", tmp_path / "u.txt")
    assert code == 2 and "let the name end in .json" in said
    code, _, said = run("unicity", path, *asked, "--times", "90s")
    assert code == 2 and said.strip().splitlines()[-1].startswith("standout: times: '90s'")
