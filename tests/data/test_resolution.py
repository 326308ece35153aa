"""The resolution of times: what a tick is, from reading to the tolerance of an adversary."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import standout as so
from standout.data.export import entry_days
from standout.data.time_arrays import times_of
from standout.data.times import TICKS_PER_DAY, needed_resolution, ticks_within
from standout.data.writing import layout_like, write_entries
from standout.errors import InputError, ParameterError

RESOLUTIONS = list(TICKS_PER_DAY)
MOMENTS = [
    datetime(2000, 2, 29, 23, 59, 59),
    datetime(1969, 12, 31, 23, 30),
    datetime(2000, 1, 1),
    datetime(1999, 12, 31, 12, 0, 1),
]


def expected(resolution):
    """Ticks since 1970 by integer arithmetic."""
    seconds = [(t - datetime(1970, 1, 1)) // timedelta(seconds=1) for t in MOMENTS]
    return [s // (86_400 // TICKS_PER_DAY[resolution]) for s in seconds]


def ticks(ds):
    """Tick of each record, by label."""
    return [None if t == ds.no_tick else int(t) + ds.first_tick for t in ds.record_tick]


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize(
    "form", ["iso", "seconds", "ms", "days", "us-dates", "table", "zoned", "floats"]
)
def test_a_tick_is_the_same_however_the_time_is_written(tmp_path, resolution, form):
    rows = list(range(len(MOMENTS)))
    if form in ("table", "zoned", "floats"):
        if form == "floats":
            column = pa.array([(t - datetime(1970, 1, 1)) / timedelta(days=1) for t in MOMENTS])
        else:
            column = pa.array(
                [t.replace(tzinfo=UTC) if form == "zoned" else t for t in MOMENTS],
                pa.timestamp("us", "Europe/Berlin" if form == "zoned" else None),
            )
        table = pa.table({"user": rows, "item": rows, "time": column})
        ds = so.Dataset.from_frame(table, value=None, resolution=resolution)
    else:
        epoch = [(t - datetime(1970, 1, 1)) / timedelta(seconds=1) for t in MOMENTS]
        cells = {
            "iso": [t.isoformat() for t in MOMENTS],
            "seconds": [f"{x:.0f}" for x in epoch],
            "ms": [f"{1000 * x:.0f}" for x in epoch],
            "days": [repr(x / 86_400) for x in epoch],
            "us-dates": [t.strftime("%m/%d/%Y %H:%M:%S") for t in MOMENTS],
        }[form]
        path = tmp_path / "t.csv"
        path.write_text("user,item,time\n" + "".join(f"{k},{k},{c}\n" for k, c in enumerate(cells)))
        ds = so.Dataset.read(path, resolution=resolution)
    assert ticks(ds) == expected(resolution)
    assert ds.time_resolution == resolution


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_arrays_lists_and_dates_give_the_ticks_of_a_file(resolution):
    forms = [
        np.array(MOMENTS, "datetime64[us]"),
        np.array(MOMENTS, "datetime64[s]"),
        list(MOMENTS),
        [t.isoformat() for t in MOMENTS],
        [(t - datetime(1970, 1, 1)) / timedelta(days=1) for t in MOMENTS],
        [
            t.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=5, minutes=30)))
            for t in MOMENTS
        ],
    ]
    rows = list(range(len(MOMENTS)))
    for form in forms:
        assert ticks(
            so.Dataset.from_arrays(rows, rows, time=form, resolution=resolution)
        ) == expected(resolution)


@pytest.mark.parametrize(
    ("unit", "numbers", "resolution", "found"),
    [
        ("hour", [5, -1], "minute", [300, -60]),
        ("hour", [5, -1], "day", [0, -1]),
        ("min", [119, -1], "hour", [1, -1]),
        ("week", [1, -1], "hour", [168, -168]),
        ("day", [2, -3], "minute", [2880, -4320]),
        ("min", [2, -1], "second", [120, -60]),
    ],
)
def test_units_coarser_and_finer_than_a_tick_are_converted(
    tmp_path, unit, numbers, resolution, found
):
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\n" + "".join(f"{k},{k},{n}\n" for k, n in enumerate(numbers)))
    assert ticks(so.Dataset.read(path, time_unit=unit, resolution=resolution)) == found


def test_a_file_without_a_time_of_day_is_read_to_the_hour_with_a_note(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\n1,1,2020-01-01\n2,2,2020-01-05\n")
    assert "no row has a time of day" in " ".join(
        so.Dataset.read(path, resolution="hour").cleaning.notes
    )
    assert "hour" not in " ".join(so.Dataset.read(path).cleaning.notes)


@pytest.mark.parametrize("resolution", ["minute", "second"])
def test_times_too_far_apart_for_the_resolution_are_refused_and_not_wrapped(tmp_path, resolution):
    ends = ["1000-01-01", "9999-12-31"]
    with pytest.raises(InputError, match=f"with {resolution}s at most"):
        so.Dataset.from_arrays([1, 2], [1, 2], time=ends, resolution=resolution)
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\n" + "".join(f"{k},{k},{c}\n" for k, c in enumerate(ends)))
    with pytest.raises(InputError, match=f"with {resolution}s at most"):
        so.Dataset.read(path, resolution=resolution)
    assert so.Dataset.read(path).tick_span == 3_287_181


def test_years_1_and_9999_at_minutes_neither_overflow_nor_agree_with_anything():
    ds = so.Dataset.from_arrays(
        [1, 2], [1, 1], time=["2020-01-01T08:00", "2020-01-01T09:00"], resolution="minute"
    )
    far = so.Knowledge.from_arrays(
        [0, 1, 2], [1, 1, 1], time=["0001-01-01", "9999-12-31T23:59", "2020-01-01T08:20"]
    )
    assert times_of(["0001-01-01", "9999-12-31T23:59"], "minute").tick.tolist() == [
        -1_035_593_280,
        4_223_371_679,
    ]
    near = so.attack("scoreboard", time_within="30min").scores(ds, far)
    assert near.tolist() == [[0, 0], [0, 0], [1, 0]]
    with pytest.raises(ParameterError, match="too wide"):
        so.attack("scoreboard", time_within=4_000_000).scores(ds, far)
    now = so.Knowledge.from_arrays([0], [1], time=["2020-01-01T08:20"])
    assert so.attack("scoreboard", time_within=4_000_000).scores(ds, now).tolist() == [[1, 1]]
    smooth = so.attack("scoreboard-rh").scores(ds, far)
    assert smooth[:2].tolist() == [[0, 0], [0, 0]] and smooth[2, 0] > smooth[2, 1] > 0
    for name in ("likelihood", "unicity"):
        assert np.isfinite(so.attack(name).scores(ds, far)).all()


def test_a_tolerance_of_years_of_seconds_says_how_to_read_the_data():
    ds = so.Dataset.from_arrays([1, 2], [1, 1], time=["2015-01-01T00:00:01", "2020-01-01"])
    who = so.Adversary(knows=1, value_within=None, time_within=365)
    with pytest.raises(ParameterError, match=r"more than 194 days .* to the second .* coarser"):
        so.attack("unicity").run(ds, who.sample(ds))


def test_old_knowledge_and_a_new_release_in_years_1_and_9999_are_read_to_the_minute():
    for year in ("0001", "9999"):
        ds = so.Dataset.from_arrays(
            [1, 2], [1, 2], time=[f"{year}-12-31T00:00", f"{year}-12-31T23:59"], resolution="minute"
        )
        assert ds.tick_span == 1439
        np.testing.assert_allclose(np.diff(entry_days(ds)), 1439 / 1440, atol=1e-6)


# --- the default
# ---------------------------------------------------------------------------------------------------

STAMPS = {
    "day": ["1975-03-01", "1975-03-02 00:00:00", "1969-12-31"],
    "hour": ["1975-03-01 05:00:00", "1975-03-02", "1969-12-31 23:00"],
    "minute": ["1975-03-01 05:30:00", "1975-03-02", "1969-12-31 23:59"],
    "second": ["1975-03-01 05:30:00", "1975-03-02", "1969-12-31 23:59:59"],
    "millisecond": ["1975-03-01 05:30:00.250", "1975-03-02", "1969-12-31 23:59:59"],
}


def moments_of(unit):
    return [datetime.fromisoformat(x) for x in STAMPS[unit]]


def in_form(form, unit, tmp_path):
    """The times of a unit, read in the default way from a source of this form."""
    rows, stamps = list(range(3)), moments_of(unit)
    seconds = [(t - datetime(1970, 1, 1)) / timedelta(seconds=1) for t in stamps]
    if unit != "millisecond":
        seconds = [int(s) for s in seconds]
    if form == "arrays":
        return so.Dataset.from_arrays(rows, rows, time=np.array(stamps, "datetime64[ms]"))
    if form == "days":
        return so.Dataset.from_arrays(rows, rows, time=[s / 86_400 for s in seconds])
    if form in ("timestamps", "zoned", "numbers", "floats", "parquet"):
        column = {
            "numbers": pa.array(seconds),
            "floats": pa.array([s / 86_400 for s in seconds]),
            "zoned": pa.array(
                [t.replace(tzinfo=UTC) for t in stamps], pa.timestamp("us", "Europe/Berlin")
            ),
        }.get(form, pa.array(stamps, pa.timestamp("ns")))
        table = pa.table({"user": rows, "item": rows, "time": column})
        unit_said = {"time_unit": "s"} if form == "numbers" else {}
        if form != "parquet":
            return so.Dataset.from_frame(table, value=None, **unit_said)
        pq.write_table(table, tmp_path / "t.parquet")
        return so.Dataset.read(tmp_path / "t.parquet", value=None)
    cells = [str(s) for s in seconds] if form in ("seconds", "database") else STAMPS[unit]
    if form == "database":
        with closing(sqlite3.connect(tmp_path / "t.db")) as con:
            con.execute("CREATE TABLE visits (user INTEGER, item INTEGER, time INTEGER)")
            con.executemany(
                "INSERT INTO visits VALUES (?, ?, ?)", [(k, k, s) for k, s in enumerate(seconds)]
            )
            con.commit()
        return so.Dataset.read(tmp_path / "t.db", value=None, time_unit="s")
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\n" + "".join(f"{k},{k},{c}\n" for k, c in enumerate(cells)))
    how = {"value": None, **({"time_unit": "s"} if form == "seconds" else {})}
    if form == "chunked":
        return so.ChunkedDataset.read(path, memory="500MB", **how)
    return so.Dataset.read(path, repeats="last" if form == "merged" else "keep", **how)


FORMS = [
    "csv",
    "seconds",
    "merged",
    "chunked",
    "arrays",
    "days",
    "timestamps",
    "zoned",
    "numbers",
    "floats",
    "parquet",
    "database",
]


@pytest.mark.parametrize("form", FORMS)
def test_every_reader_keeps_the_finest_times_by_default(form, tmp_path):
    """Times that are cut to the day in silence make people look alike who are not."""
    for unit in STAMPS:
        (tmp_path / unit).mkdir()
        ds = in_form(form, unit, tmp_path / unit)
        resolution = "second" if unit == "millisecond" else unit
        assert (ds.time_resolution, ds.cleaning.finest_time) == (resolution, unit)
        per_tick = timedelta(days=1) / TICKS_PER_DAY[resolution]
        expected = [(t - datetime(1970, 1, 1)) // per_tick for t in moments_of(unit)]
        assert (ds.first_tick, ds.tick_span) == (min(expected), max(expected) - min(expected))
        if form != "chunked":
            assert ticks(ds) == expected
        cut = [note for note in ds.cleaning.notes if "times were read to" in note]
        assert cut == (
            ["time: the data has milliseconds; times were read to the second"]
            if unit == "millisecond"
            else []
        )
        assert ds.not_measured == (["times to the millisecond"] if unit == "millisecond" else [])


@pytest.mark.parametrize("arrays", [True, False])
def test_seconds_of_more_years_than_fit_are_read_to_the_minute_with_a_note(arrays, tmp_path):
    stamps = ["1950-03-01T00:30:10", "2020-01-01T05:31:00"]
    if arrays:
        ds = so.Dataset.from_arrays([1, 2], [1, 2], time=stamps)
    else:
        path = tmp_path / "t.csv"
        path.write_text(
            "user,item,time\n" + "".join(f"{k},{k},{c}\n" for k, c in enumerate(stamps))
        )
        ds = so.Dataset.read(path, value=None)
    assert ds.time_resolution == "minute" and ds.first_tick == -7_246 * 1440 + 30
    assert (
        "time: the data has seconds; times were read to the minute, because they span more than 64 years"
        in (ds.cleaning.notes)
    )
    assert ds.not_measured == ["times to the second"]
    assert (
        so.Dataset.from_arrays(
            [1, 2], [1, 2], time=["1990-01-01", "2020-01-01T05:31:01"]
        ).time_resolution
        == "second"
    )


def test_fractions_of_days_are_times_of_day_and_are_not_cut():
    day = so.Dataset.from_arrays([1, 2], [1, 1], time=[18_000.0, 18_001.0])
    hour = so.Dataset.from_arrays([1, 2], [1, 1], time=[18_000.0, 18_000 + 1 / 24])
    assert (day.time_resolution, hour.time_resolution, hour.tick_span) == ("day", "hour", 1)
    assert so.Dataset.from_arrays([1, 2], [1, 1], time=[18_000.0, 18_000 + 7 / 1440]).tick_span == 7


# --- tolerances
# ----------------------------------------------------------------------------------------------------


def test_a_tolerance_is_a_whole_number_of_ticks():
    assert [ticks_within(x, "minute") for x in (0, 2, "30min", "2h", "3d", "2w")] == [
        0,
        2880,
        30,
        120,
        4320,
        20160,
    ]
    assert [ticks_within(x, "day") for x in (0, 14, "3d", "48h", "2w")] == [0, 14, 3, 2, 14]
    assert needed_resolution([None, 14]) == "day" and needed_resolution(["36h"]) == "hour"


@pytest.mark.parametrize(
    ("within", "has", "needed"),
    [
        ("2h", "day", "hour"),
        ("30min", "hour", "minute"),
        ("90min", "day", "minute"),
        ("90s", "minute", "second"),
    ],
)
def test_a_tolerance_finer_than_the_data_says_how_to_read_it(within, has, needed):
    ds = so.Dataset.from_arrays([1, 2], [1, 1], time=[0, 40], resolution=has)
    with pytest.raises(
        ParameterError,
        match=rf"time_within='{within}'.*resolution='{needed}'.*--resolution {needed}",
    ):
        so.Adversary(knows=1, time_within=within).sample(ds)
    finer = so.Dataset.from_arrays([1, 2], [1, 1], time=[0, 40], resolution=needed)
    assert so.Adversary(knows=1, time_within=within).sample(finer).n_queries == 2


@pytest.mark.parametrize(
    "within", ["2 weeks", "", "h", "1.5h", "30ms", "-2h", 2.5, -1, True, np.nan, [1]], ids=str
)
def test_a_tolerance_that_makes_no_sense_is_refused(within):
    with pytest.raises(ParameterError, match="time_within="):
        so.Adversary(time_within=within)


@pytest.mark.parametrize("resolution", ["seconds", "", "millisecond", 60])
def test_an_unknown_resolution_is_refused(tmp_path, resolution):
    path = tmp_path / "t.csv"
    path.write_text("user,item,time\n1,1,2020-01-01\n2,2,2020-01-05\n")
    with pytest.raises(ParameterError, match="resolution="):
        so.Dataset.read(path, resolution=resolution)
    with pytest.raises(ParameterError, match="resolution="):
        so.Dataset.from_arrays([1], [1], time=[1], resolution=resolution)


def shoppers(resolution, n=60):
    """People who buy the same things on the same days, each pair a few hours apart."""
    rng = np.random.default_rng(3)
    record, item = np.divmod(np.arange(n * 6), 6)
    day = 18_000 + rng.integers(0, 90, (n // 2, 6))
    hour = rng.integers(0, 9, (n // 2, 6))
    time = (
        np.repeat(day, 2, axis=0)
        + (np.repeat(hour, 2, axis=0) + 12 * (np.arange(n)[:, None] % 2)) / 24
    )
    return so.Dataset.from_arrays(record, item, time=time.reshape(-1), resolution=resolution)


@pytest.mark.parametrize("attack", ["scoreboard", "scoreboard-rh", "likelihood", "unicity"])
def test_two_people_who_differ_only_in_the_hour_are_found_at_30_minutes(attack):
    ds = shoppers("minute")
    who = so.Adversary(knows=4, value_within=None, time_within="30min")
    targets = who.eligible(ds)
    found = so.attack(attack).run(ds, who.sample(ds, targets, seed=5), watch=targets)
    assert found.credit.mean() == 1.0


@pytest.mark.parametrize("attack", ["scoreboard", "unicity"])
def test_the_same_people_are_tied_at_a_tolerance_of_a_day(attack):
    ds = shoppers("minute")
    who = so.Adversary(knows=4, value_within=None, time_within=0)
    exact = who.sample(ds, seed=5)
    assert (so.attack(attack, time_within=1).run(ds, exact).n_tied >= 2).all()
    assert (so.attack(attack, time_within="12h").run(ds, exact).n_tied >= 2).all()
    assert (so.attack(attack, time_within="11h").run(ds, exact).n_tied == 1).all()


def test_the_same_people_are_tied_when_only_days_are_read():
    ds = shoppers("day")
    who = so.Adversary(knows=4, value_within=None, time_within=0)
    targets = who.eligible(ds)
    found = so.attack("likelihood").run(ds, who.sample(ds, targets, seed=5), watch=targets)
    assert (found.n_tied == 2).all()


@pytest.mark.parametrize("attack", ["scoreboard", "scoreboard-rh", "likelihood", "unicity"])
def test_whole_days_read_as_hours_give_the_answers_of_days(attack):
    rng = np.random.default_rng(9)
    record, item = np.divmod(np.flatnonzero(rng.random(50 * 20) < 0.4), 20)
    day, value = rng.integers(17_000, 17_200, record.size), rng.integers(1, 6, record.size)
    query, known = np.repeat(np.arange(30), 3), rng.integers(0, record.size, 90)
    seen = so.Knowledge.from_arrays(
        query, item[known], value[known], day[known] + rng.integers(-9, 10, 90)
    )
    scores = [
        so.attack(attack, **({} if attack == "likelihood" else {"time_within": 7})).scores(
            so.Dataset.from_arrays(record, item, value, day, resolution=resolution), seen
        )
        for resolution in ("day", "hour")
    ]
    if attack == "likelihood":  # fitted noise has finer bins for hours
        assert (scores[0].argmax(axis=1) == scores[1].argmax(axis=1)).mean() > 0.6
    else:
        np.testing.assert_allclose(scores[1], scores[0], atol=1e-6)


def test_tables_of_minutes_stay_small():
    rng = np.random.default_rng(1)
    n = 4_000
    day = 17_000 + rng.integers(0, 20 * 365, n) + rng.random(n)
    ds = so.Dataset.from_arrays(
        rng.integers(0, 200, n),
        rng.integers(0, 300, n),
        rng.integers(1, 6, n),
        day,
        resolution="minute",
    )
    who = so.Adversary(knows=8, value_within=1, time_within=14)
    facts = who.sample(ds, who.eligible(ds)[:100], seed=1).bind(ds)
    for name in ("scoreboard", "scoreboard-rh", "unicity", "likelihood"):
        tables = so.attack(name).compile(ds, facts, np.full(100, -1, np.int64)).tables
        assert tables.row.time.nbytes + tables.row.odds_time.nbytes < 64 * 2**20, name


def test_grouped_gaps_of_minutes_differ_from_the_exact_similarity_by_less_than_the_stated_bound():
    rng = np.random.default_rng(8)
    n = 300
    day = 18_000 + rng.random(n) * 700
    ds = so.Dataset.from_arrays(np.arange(n), np.zeros(n, int), None, day, resolution="minute")
    known = 18_000 + rng.random(40) * 700
    got = so.attack("scoreboard-rh").scores(
        ds, so.Knowledge.from_arrays(np.arange(40), np.zeros(40, int), time=known)
    )
    minutes = [np.floor(x * 1440 + 1e-5) for x in (known, day)]
    exact = np.exp(-np.abs(minutes[0][:, None] - minutes[1][None, :]) / (30 * 1440)) / np.log(n)
    np.testing.assert_allclose(got, exact, rtol=1.4e-3, atol=1e-7)
    assert np.abs(got / exact - 1).max() > 1e-5  # gaps are grouped here


def test_a_saved_dataset_keeps_its_resolution_and_the_fingerprint_tells_them_apart(tmp_path):
    fine, coarse = (
        so.Dataset.from_arrays([1, 2], [1, 1], time=[0, 40], resolution=r) for r in ("hour", "day")
    )
    fine.save(tmp_path / "fine")
    again = so.Dataset.open(tmp_path / "fine")
    assert (again.time_resolution, entry_days(again).tolist()) == ("hour", [0, 40])
    assert again.fingerprint == fine.fingerprint != coarse.fingerprint
    assert so.Dataset.read(tmp_path / "fine").time_resolution == "hour"
    with pytest.raises(ParameterError, match="saved with resolution='hour'"):
        so.Dataset.read(tmp_path / "fine", resolution="minute")


def test_derived_data_keeps_the_resolution_and_takes_fractions_of_days():
    ds = so.Dataset.from_arrays([1, 2, 3], [1, 1, 2], time=[1.0, 1.5, 2.25], resolution="hour")
    assert ds.take([0, 1]).time_resolution == ds.select([0]).time_resolution == "hour"
    moved = ds.with_entries(day=entry_days(ds) + 1 / 24)
    np.testing.assert_allclose(entry_days(moved), entry_days(ds) + 1 / 24)
    with pytest.raises(ParameterError, match="whole hours"):
        ds.with_entries(day=entry_days(ds) + 1 / 48)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_written_release_reads_back_with_the_same_times(tmp_path, resolution, suffix):
    source = tmp_path / f"source.{suffix}"
    rows = list(range(len(MOMENTS)))
    table = pa.table({"user": rows, "item": rows, "time": pa.array(MOMENTS)})
    if suffix == "csv":
        source.write_text(
            "user,item,time\n"
            + "".join(f"{k},{k},{t.isoformat()}\n" for k, t in enumerate(MOMENTS))
        )
    else:
        pq.write_table(table, source)
    ds = so.Dataset.read(source, resolution=resolution)
    layout = layout_like(source, {}, ds, tmp_path / f"out.{suffix}")
    write_entries(ds, layout, tmp_path / f"out.{suffix}")
    assert ticks(
        so.Dataset.read(tmp_path / f"out.{suffix}", value=None, resolution=resolution)
    ) == expected(resolution)


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_defenses_of_times_count_in_days_at_any_resolution(resolution):
    rows = list(range(len(MOMENTS)))
    ds = so.Dataset.from_arrays(rows, rows, time=MOMENTS, resolution=resolution)
    months = so.defense("coarsen-time", to="month").apply(ds)
    starts = [
        (t.replace(day=1, hour=0, minute=0, second=0) - datetime(1970, 1, 1)).days for t in MOMENTS
    ]
    assert entry_days(months).tolist() == starts
    dates = so.defense("coarsen-time", to="day").apply(ds)
    assert entry_days(dates).tolist() == [(t - datetime(1970, 1, 1)).days for t in MOMENTS]
    shifted = entry_days(so.defense("shift-time", days=20).apply(ds, seed=1)) - entry_days(ds)
    np.testing.assert_allclose(shifted, shifted.round(), atol=1e-6)
    assert np.abs(shifted).max() > 0
