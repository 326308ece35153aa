"""`grid`: places as cells, from latitude and longitude, against geometry and against enumeration in plain Python."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.audit.known import known_names, not_known
from standout.cli.reading import read_release
from standout.data.whole import whole_of
from standout.errors import ColumnError, InputError, ParameterError
from standout.formulas.grid import grid_cell, grid_center, n_grid_columns, n_grid_rows
from standout.gate.columns import column_list
from standout.views.grid import GridView
from standout.views.view import parse_view, see

RADIUS = 6_371_008.8


def distance(a, b):
    """Great-circle distance of two points in degrees, in meters (haversine)."""
    (p, q), (u, v) = ([math.radians(x) for x in one] for one in (a, b))
    h = math.sin((u - p) / 2) ** 2 + math.cos(p) * math.cos(u) * math.sin((v - q) / 2) ** 2
    return 2 * RADIUS * math.asin(math.sqrt(min(h, 1.0)))


def cell_by_hand(lat, lon, edge):
    """The cell of a point: `formulas/grid` again, in plain Python."""
    rows = max(1, round(math.pi * RADIUS / edge))
    row = min(math.floor((lat + 90) / 180 * rows), rows - 1)
    columns = max(1, round(2 * rows * math.cos(math.pi * ((row + 0.5) / rows - 0.5))))
    return row, 0 if abs(lat) == 90 else math.floor((lon + 180) / 360 * columns) % columns


def rows(seed=0, n=60, per=8):
    """Check-ins of some people, around one city; the third and the tenth lack a coordinate."""
    rng = np.random.default_rng(seed)
    n_rows = n * per
    made = pd.DataFrame(
        {
            "user": np.repeat(np.arange(n), per),
            "latitude": np.round(48.1 + rng.normal(0, 0.03, n_rows), 5),
            "lng": np.round(11.6 + rng.normal(0, 0.04, n_rows), 5),
            "time": pd.Timestamp("2024-03-01")
            + pd.to_timedelta(rng.integers(0, 24 * 20, n_rows), "h"),
        }
    )
    made.loc[2, "latitude"] = np.nan
    made.loc[9, "lng"] = np.nan
    return made


PLACE = {"lat": "latitude", "lon": "lng"}


def of_arrays(table, **more):
    place = {"lat": table["latitude"], "lon": table["lng"]}
    return so.Dataset.from_arrays(table["user"], time=table["time"].to_numpy(), **place, **more)


@pytest.mark.parametrize("edge", [500.0, 20_000.0, 3_000_000.0])
def test_the_points_of_a_cell_lie_within_its_diagonal_and_its_center_is_in_it(edge):
    rng = np.random.default_rng(1)
    n_rows = n_grid_rows(edge)
    lat = np.append(np.degrees(np.arcsin(rng.uniform(-1, 1, 300))), [0, 89.99, -89.99, 90, -90])
    lon = np.append(rng.uniform(-180, 180, 300), [180, -180, 179.999, 5, 5])
    row, column = grid_cell(lat, lon, n_rows)
    center = np.stack(grid_center(row, column, n_rows), 1)
    assert (np.stack(grid_cell(*center.T, n_rows)) == [row, column]).all()
    # half a diagonal of a square is 0.71 edges; the widest cells have one and a half edges
    for point, middle, at in zip(zip(lat, lon, strict=True), center, row, strict=True):
        n = n_grid_columns(at, n_rows)
        assert distance(point, middle) <= (0.75 if n > 20 else 1.5) * edge, (point, middle)
    assert (
        list(zip(row.tolist(), column.tolist(), strict=True))
        == [cell_by_hand(*point, edge) for point in zip(lat.tolist(), lon.tolist(), strict=True)]
    )  # fmt: skip


def test_cells_have_about_the_area_of_a_square():
    n_rows = n_grid_rows(10_000.0)
    i = np.arange(n_rows)
    edges = np.sin(np.radians(np.arange(n_rows + 1) / n_rows * 180 - 90))
    area = 2 * np.pi * RADIUS**2 * np.diff(edges) / n_grid_columns(i, n_rows)
    assert n_grid_columns(i, n_rows).sum() * 10_000.0**2 == pytest.approx(
        4 * np.pi * RADIUS**2, rel=1e-3
    )
    assert np.allclose(area[20:-20], 10_000.0**2, rtol=0.02)
    assert (area > 0.6e8).all() and (area < 1.1e8).all()


def test_the_date_line_and_the_poles_are_no_borders():
    lat, lon = [10.0, 10.0, 90.0, 90.0, -90.0, -90.0], [180.0, -180.0, 0.0, 120.0, -7.0, 99.0]
    row, column = grid_cell(lat, lon, n_grid_rows(1000.0))
    for a, b in ((0, 1), (2, 3), (4, 5)):
        assert (row[a], column[a]) == (row[b], column[b])
    assert row[2] == n_grid_rows(1000.0) - 1 and row[4] == 0


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "json", "frame"])
def test_a_file_without_items_has_places_as_items_from_every_source(tmp_path, kind):
    table = rows()
    wanted = of_arrays(table)
    path = tmp_path / f"a.{kind}"
    if kind == "csv":
        table.to_csv(path, index=False)
    elif kind == "parquet":
        table.to_parquet(path)
    elif kind == "arrow":
        table.to_feather(path)
    elif kind == "json":
        table.to_json(path, orient="records", lines=True, date_format="iso")
    if kind == "frame":
        read = so.Dataset.from_frame(table, **PLACE)
    else:
        read = so.Dataset.read(path, **PLACE)
    assert read.fingerprint == wanted.fingerprint
    assert read.cleaning.rows_without_item == wanted.cleaning.rows_without_item == 2
    assert any("the item is the place" in note for note in read.cleaning.notes)
    first = table.iloc[0]
    assert f"{first['latitude']} {first['lng']}" in read.item_labels.tolist()


def test_latitude_and_longitude_are_two_channels(tmp_path):
    table = rows().assign(venue=lambda t: t["user"] % 7)
    table.to_csv(tmp_path / "a.csv", index=False)
    short = so.Dataset.read(tmp_path / "a.csv", **PLACE)
    long = so.Dataset.read(tmp_path / "a.csv", channels="lat=latitude,lon=lng")
    assert short.fingerprint == long.fingerprint and short.n_items == 7
    # the item can be left out by hand
    assert (
        so.Dataset.read(tmp_path / "a.csv", item=None, **PLACE).fingerprint
        == of_arrays(rows()).fingerprint
    )


@pytest.mark.parametrize("edge", [300.0, 2000.0, 25_000.0])
def test_who_is_unique_among_cells_is_enumerated(edge):
    table = rows()
    data = of_arrays(table)
    held = defaultdict(set)
    for user, lat, lon in zip(table["user"], table["latitude"], table["lng"], strict=True):
        if not math.isnan(lat + lon):
            held[user].add(cell_by_hand(lat, lon, edge))
    shown = see(data, parse_view(f"grid:{edge}m"))
    assert shown.n_items == len(set().union(*held.values()))
    assert shown.lengths.tolist() == [len(held[r]) for r in range(data.n_records)]
    who = so.Adversary(knows=1, choose="event", view=f"grid:{edge}m")
    people = who.eligible(data)
    known = who.sample(data, people, seed=2)
    found = so.attack("unicity").run(data, known, watch=people)
    # centers of cells are labels; the cell of the center is the cell
    cells = [cell_by_hand(*map(float, label.split()), edge) for label in known.item]
    assert [c in held[r] for c, r in zip(cells, people.tolist(), strict=True)] == [True] * len(
        cells
    )
    alone = [sum(c in own for own in held.values()) == 1 for c in cells]
    assert found.matched.tolist() == alone and (edge > 20_000 or sum(alone) > 0)


def test_entries_without_coordinates_are_left_out_and_counted():
    table = rows()
    data = of_arrays(table.assign(place=1), item=np.arange(len(table)))
    assert data.n_entries == len(table)
    shown = see(data, GridView("1km"))
    assert shown.n_entries == len(table) - 2
    assert shown.cleaning.notes[-1] == (
        "grid:1km: 2 entries without latitude or longitude are left out"
    )
    everything = table.assign(latitude=[1.0] + [np.nan] * (len(table) - 1))
    everything.loc[0, "lng"] = np.nan
    lost = of_arrays(everything, item=np.arange(len(table)))
    with pytest.raises(ParameterError, match="no entry has both a latitude and a longitude"):
        see(lost, GridView("1km"))


def test_a_grid_can_be_followed_by_another_view():
    table = rows()
    data = of_arrays(table)
    both = see(data, parse_view("grid:2km | hour-of-day"))
    assert [c.name for c in both.channels] == ["lat", "lon", "hour"]
    who = so.Adversary(knows=1, within={"hour": 0}, choose="event", view="grid:2km | hour-of-day")
    people = who.eligible(data)
    known = who.sample(data, people, seed=5)
    found = so.attack("unicity").run(data, known, watch=people)
    held = defaultdict(set)
    for row in table.dropna().itertuples():
        held[row.user].add((cell_by_hand(row.latitude, row.lng, 2000.0), row.time.hour))
    facts = [
        (cell_by_hand(*map(float, label.split()), 2000.0), hour)
        for label, hour in zip(known.item, known.channels["hour"], strict=True)
    ]
    alone = [sum(fact in own for own in held.values()) == 1 for fact in facts]
    assert found.matched.tolist() == alone and 0 < sum(alone) < len(alone)
    assert (
        see(data, parse_view("grid:500m | grid:2km")).n_items == see(data, GridView("2km")).n_items
    )


def test_labels_of_cells_are_distinct_centers_with_few_digits():
    data = of_arrays(rows())
    for edge, digits in (("1m", 7), ("500m", 4), ("5km", 3), ("1000km", 1)):
        labels = see(data, GridView(edge)).item_labels
        assert np.unique(labels).size == labels.size
        assert {len((label.split()[0] + ".").split(".")[1]) for label in labels} == {digits}


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"lat": "latitude"}, ParameterError, r"lat='latitude' without lon: .*\(--lat, --lon\)"),
        ({"lat": "lng", "lon": "latitude"}, ColumnError, "look swapped: use lat='latitude' lon='lng'"),
        ({**PLACE, "channels": "lat=latitude"}, ParameterError, "lat is given twice"),
        ({"lat": "time", "lon": "lng", "time": None}, InputError, "channel lat holds labels .*--lat"),
        ({"lat": "lats", "lon": "lng"}, ColumnError, "no column 'lats' for channel lat"),
        ({**PLACE, "wide": True}, ParameterError, "no place in a wide matrix"),
        ({}, ColumnError, "holds positions: lat='latitude' lon='lng' makes the place the item"),
        ({"item": None}, ParameterError, r"item=None: .*--lat and --lon \(lat=, lon=\)"),
    ],
)  # fmt: skip
def test_coordinates_that_cannot_be_read_are_refused(tmp_path, more, error, words):
    rows().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(error, match=words):
        so.Dataset.read(tmp_path / "a.csv", **more)


@pytest.mark.parametrize(
    ("lat", "lon", "words"),
    [
        ([48.0, 95.0], [200.0, 11.0], "channel lat: 1 of 2 different numbers lie outside -90 to 90"),
        ([48.0, 49.0], [11.0, -181.0], "channel lon: 1 of 2 .* name columns in degrees with --lat"),
        ([148.0, 149.0], [11.0, 12.0], "they fit if --lat and --lon .* are exchanged"),
        (["a", "b"], [11.0, 12.0], "lat and lon: give degrees as numbers"),
    ],
)  # fmt: skip
def test_coordinates_out_of_range_are_refused(lat, lon, words):
    with pytest.raises(InputError, match=words):
        so.Dataset.from_arrays([1, 2], lat=lat, lon=lon)
    if lat[0] != "a":  # channels of these names are coordinates too
        with pytest.raises(InputError, match=words):
            so.Dataset.from_arrays([1, 2], ["x", "y"], channels={"lat": lat, "lon": lon})
    assert so.Dataset.from_arrays([1, 2], [1, 2], channels={"lat": [200, 300]}).n_entries == 2


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lat": [1.0]}, "lat is given alone"),
        ({"lat": [1.0], "lon": [1.0], "channels": {"lat": [1.0]}}, "lat is given twice"),
        ({}, "give item, or lat and lon for places"),
    ],
)
def test_half_a_position_is_refused(given, words):
    with pytest.raises(ParameterError, match=words):
        so.Dataset.from_arrays([1], **given)


@pytest.mark.parametrize(
    "view", ["grid:500", "grid:m", "grid:0m", "grid:9000km", "grid:-1m", "grid"]
)
def test_an_edge_without_a_unit_or_out_of_range_is_refused(view):
    with pytest.raises(ParameterError, match=r"500m|edge"):
        parse_view(view)


def test_data_without_coordinates_names_the_options():
    data = so.Dataset.from_arrays([1, 2], [1, 2])
    with pytest.raises(
        ParameterError, match=r"needs coordinates: .* lat= and lon= \(--lat, --lon\)"
    ):
        see(data, GridView("1km"))


def test_a_grid_says_what_is_known_of_places_and_which_channels_it_shows():
    data = of_arrays(rows())
    who = so.Adversary(knows=2, view="grid:1500m")
    assert "places known as cells of 1.5 km" in who.words(data)
    assert who.to_dict()["view"] == "grid:1.5km"
    lacking = ["the times", "the channel lat", "the channel lon"]
    assert not_known(data, [so.Adversary(knows=2)]) == lacking
    assert not_known(data, [who]) == lacking[:1]


def test_coordinates_that_are_the_items_are_measured_by_every_adversary():
    table = rows().assign(venue=1)
    items = [so.Adversary(knows=2)]
    assert not_known(so.Dataset.from_frame(table, item=None, **PLACE), items) == ["the times"]
    beside = so.Dataset.from_frame(table, item="venue", **PLACE)
    assert not_known(beside, items) == ["the times", "the channel lat", "the channel lon"]
    for data, who, status in (
        (so.Dataset.from_frame(table, item=None, **PLACE), items, "measured"),
        (beside, items, "not measured"),
        (beside, [so.Adversary(knows=2, view="grid:1km")], "measured"),
    ):
        known = known_names(data, who)
        listed = {c["name"]: c["status"] for c in column_list(whole_of(data), known)}
        assert listed["latitude"] == listed["lng"] == status


def test_the_sample_of_people_of_a_release_holds_after_the_grid():
    data = of_arrays(rows())
    kept = so.defense("sample-records", share=0.5).apply(data, seed=1)
    assert see(kept, GridView("1km")).mechanism is not None
    fewer = so.defense("drop-entries", share=0.5).apply(data, seed=1)
    assert see(fewer, GridView("1km")).mechanism is None


def test_visits_with_coordinates_are_tried_by_cells_and_a_release_without_them_is_no_failure():
    data = of_arrays(rows(n=120))
    cells = [a for a in so.Audit(data, domain="visits").adversaries if a.view]
    assert {a.choose for a in cells if a.to_dict()["view"] == "grid:500m"} == {"event", "favorite"}
    # the domain is found by the names of the channels
    assert so.Audit(data).domain.domain.name == "visits"
    bare = so.Dataset.from_arrays([f"{r}" for r in range(120) for _ in "ab"], list("ab") * 120)
    plain = so.Audit(so.Dataset.from_arrays(*[bare.record_labels.repeat(2), list("ab") * 120]))
    assert not [a for a in plain.adversaries if a.view]
    lost = so.Audit(
        data,
        release=so.Dataset.from_arrays(data.record_labels, data.item_labels[: data.n_records]),
        domain="visits",
    )
    assert not [a for a in lost.adversaries if a.view and "grid" in a.to_dict()["view"]]
    assert any("the release does not show it" in note for note in lost.not_tried)


def test_cells_are_left_out_with_a_note_where_a_release_lies_elsewhere():
    table = rows(n=120).assign(venue=lambda t: np.arange(len(t)) % 40).dropna()
    moved = table.assign(latitude=table["latitude"] - 60)

    def visits(one):
        place = {"lat": one["latitude"], "lon": one["lng"]}
        time = one["time"].to_numpy()
        return so.Dataset.from_arrays(one["user"], one["venue"], time=time, **place)

    audit = so.Audit(visits(table), release=visits(moved), domain="visits", targets=20)
    assert not [a for a in audit.adversaries if a.view and "grid" in a.to_dict()["view"]]
    assert any("the release has none of these items" in note for note in audit.not_tried)
    asked = so.Adversary(2, view="grid:500m")
    with pytest.raises(InputError, match="in the data as view 'grid:500m' shows it; are the item"):
        so.Audit(audit.source, [asked], release=audit.release, targets=20).run(progress=False)


def test_the_command_line_reads_places_and_asks_for_their_columns(tmp_path, run):
    path = tmp_path / "visits.csv"
    rows().to_csv(path, index=False)
    code, shown, _ = run("columns", path)
    assert code == 0 and "--lat latitude --lon lng makes the place the item" in shown
    rows().assign(venue=lambda t: t["user"] % 7).to_csv(tmp_path / "venues.csv", index=False)
    code, shown, _ = run("columns", tmp_path / "venues.csv")
    assert code == 0 and "--lat latitude --lon lng" in shown and "--channel" not in shown
    asked = ("--knows", 2, "--draws", 1, "--view", "grid:2km | hour-of-day", "--within", "hour=1")
    code, shown, _ = run("risk", path, "--lat", "latitude", "--lon", "lng", *asked)
    assert code == 0 and "places known as cells of 2 km" in shown
    code, _, said = run("risk", path, "--lat", "lng", "--lon", "latitude")
    assert code == 2 and "--lat latitude --lon lng" in said and said.count("\n") == 1
    swapped = tmp_path / "swapped.csv"
    rows().set_axis(["user", "x", "y", "time"], axis=1).assign(x=lambda t: t["x"] + 90).to_csv(
        swapped
    )
    code, _, said = run("risk", swapped, "--lat", "x", "--lon", "y")
    assert code == 2 and "are exchanged" in said and len(said.strip().splitlines()) == 1


def test_a_release_without_items_is_read_as_its_source(tmp_path):
    source = tmp_path / "a.csv"
    rows().to_csv(source, index=False)
    data = so.Dataset.read(source, **PLACE)
    release = tmp_path / "b.csv"
    # what could be an item there is none in the source
    rows().iloc[::2].assign(venue=1).to_csv(release, index=False)
    read = read_release(release, data, PLACE, None)
    assert read.fingerprint == so.Dataset.read(release, item=None, **PLACE).fingerprint
    assert read.n_items > 1
