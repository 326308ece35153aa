"""Times in files: whatever they are written as, whole days come out, and how they were read is said."""

from __future__ import annotations

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import standout as so
from standout.data.dataset import Dataset
from standout.errors import InputError, ParameterError, RowError

EPOCH = date(1970, 1, 1)


def days(path_or_frame, **options):
    """Day of each record, by label, and the notes."""
    read = Dataset.from_frame if isinstance(path_or_frame, pa.Table) else Dataset.read
    ds = read(path_or_frame, **{"resolution": "day", **options})
    found = [None if d == ds.no_tick else int(d) + ds.first_tick for d in ds.record_tick]
    return dict(zip(ds.record_labels.tolist(), found, strict=True)), " ".join(ds.cleaning.notes)


def csv(tmp_path, cells):
    path = tmp_path / "t.csv"
    path.write_text(
        "user,item,time\n" + "".join(f"{k},x,{c}\n" for k, c in enumerate(cells)), encoding="utf-8"
    )
    return path


def number(y, m, d):
    return (date(y, m, d) - EPOCH).days


@pytest.mark.parametrize(
    ("cells", "expected", "note"),
    [
        (["3652", "18262"], [3652, 18262], "day numbers"),
        (["964982703", "-1"], [11168, -1], "seconds"),
        (["964982703000", "-1"], [11168, -1], "milliseconds"),
        (["964982703000000", "-1"], [11168, -1], "microseconds"),
        (["964982703000000000", "-1"], [11168, -1], "nanoseconds"),
        (["20200229", "19000101"], [number(2020, 2, 29), number(1900, 1, 1)], "YYYYMMDD"),
        (["20200230", "20200101"], [233, 233], "seconds"),
        (["2020-02-29", "1899-12-31"], [number(2020, 2, 29), number(1899, 12, 31)], "ISO"),
        (["2020-02-29 23:59:59Z", "1969-12-31T23:59:59Z"], [number(2020, 2, 29), -1], "ISO"),
        (["2020/02/29", "2020-02-29T08:26:00.123456"], [number(2020, 2, 29)] * 2, "ISO"),
        (["12/31/2010", "1/2/2011"], [number(2010, 12, 31), number(2011, 1, 2)], "month/day/year"),
        (
            ["12/31/2010 8:26", "1/2/2011 23:59"],
            [number(2010, 12, 31), number(2011, 1, 2)],
            "month/day/year",
        ),
        (["12/31/10", "1/2/11"], [number(2010, 12, 31), number(2011, 1, 2)], "month/day/year"),
        (
            ["31/12/2010 08:26:01", "1/2/2011 1:02:03"],
            [number(2010, 12, 31), number(2011, 2, 1)],
            "day/month/year",
        ),
        (["31.12.2010", "1.2.2011"], [number(2010, 12, 31), number(2011, 2, 1)], "day/month/year"),
        (
            ["01-Dec-2010", "2-Jan-2011"],
            [number(2010, 12, 1), number(2011, 1, 2)],
            "name of the month",
        ),
        (["01-Dec-10", "2-Jan-11"], [number(2010, 12, 1), number(2011, 1, 2)], "name of the month"),
        (
            ["12/31/2010 8:26 PM", "1/2/2011 8:26 AM"],
            [number(2010, 12, 31), number(2011, 1, 2)],
            "month/day/year",
        ),
    ],
)
def test_times_in_text_become_days(tmp_path, cells, expected, note):
    found, notes = days(csv(tmp_path, cells))
    assert list(found.values()) == expected
    assert note in notes


def test_missing_times_are_unknown_not_wrong(tmp_path):
    found, _ = days(csv(tmp_path, ["2020-01-01", "", "NULL", "nan", "N/A"]))
    assert list(found.values()) == [18262, None, None, None, None]


@pytest.mark.parametrize("clock", ["", " 8:26"])
def test_dates_that_read_both_ways_are_an_error_that_names_the_options(tmp_path, clock):
    path = csv(tmp_path, [f"1/2/2010{clock}", f"3/4/2010{clock}"])
    with pytest.raises(InputError, match=r"month/day and as day/month.*time_unit='m/d' or 'd/m'"):
        days(path)
    assert list(days(path, time_unit="m/d")[0].values()) == [number(2010, 1, 2), number(2010, 3, 4)]
    assert list(days(path, time_unit="d/m")[0].values()) == [number(2010, 2, 1), number(2010, 4, 3)]


def test_years_of_two_digits_are_not_taken_for_the_first_century(tmp_path):
    with pytest.raises(InputError, match="month/day and as day/month"):
        days(csv(tmp_path, ["01-02-03", "04-05-06"]))


def test_the_unit_that_is_said_wins(tmp_path):
    path = csv(tmp_path, ["86400", "0"])
    assert list(days(path, time_unit="day")[0].values()) == [86400, 0]
    found, notes = days(path, time_unit="s")
    assert list(found.values()) == [1, 0]
    assert "seconds since 1970 (as asked)" in notes


def test_an_unknown_unit_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="time_unit='hours': choose one of day, s, ms"):
        days(csv(tmp_path, ["1"]), time_unit="hours")


def test_a_date_order_for_numbers_is_refused():
    with pytest.raises(ParameterError, match="column 'time' holds numbers"):
        days(pa.table({"user": [1], "item": [1], "time": [3]}), time_unit="d/m")


def test_text_that_is_no_time_is_refused(tmp_path):
    with pytest.raises(InputError, match="column 'time' holds text where dates belong"):
        days(csv(tmp_path, ["monday", "tuesday"]))


def test_some_cells_that_are_no_time_are_bad_rows(tmp_path):
    path = csv(tmp_path, ["2020-01-01", "2020-01-02", "soon", "2020-13-01"])
    with pytest.raises(
        RowError, match=r"2 rows do not parse: 2 without a time in column 'time' \(first: line 4\)"
    ):
        days(path)
    assert list(days(path, skip_bad=True, max_bad=0.5)[0].values()) == [18262, 18263]


def test_infinite_times_are_refused():
    with pytest.raises(InputError, match="column 'time' holds infinite times"):
        days(pa.table({"user": [1, 2], "item": [1, 1], "time": [float("inf"), 1.0]}))


def test_a_unit_that_gives_absurd_spans_is_questioned(tmp_path):
    with pytest.raises(InputError, match="is the unit right"):
        days(csv(tmp_path, ["0", "964982703"]), time_unit="day")


def test_a_list_is_no_time():
    with pytest.raises(InputError, match="which holds no dates"):
        days(pa.table({"user": [1], "item": [1], "time": [[1, 2]]}))


moments = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))


@settings(max_examples=8)
@given(st.lists(moments, min_size=1, max_size=20), st.sampled_from(["s", "ms", "us", "ns"]))
def test_typed_times_and_numbers_agree_with_the_calendar(times, unit):
    times = [t.replace(microsecond=0) for t in times]
    expected = [(t.date() - EPOCH).days for t in times]
    users = list(range(len(times)))
    typed = pa.table({"user": users, "item": users, "time": pa.array(times, pa.timestamp(unit))})
    assert list(days(typed)[0].values()) == expected
    aware = [t.replace(tzinfo=UTC) for t in times]
    zoned = pa.table(
        {"user": users, "item": users, "time": pa.array(aware, pa.timestamp(unit, "Europe/Berlin"))}
    )
    assert list(days(zoned)[0].values()) == expected
    numbers = pa.table(
        {"user": users, "item": users, "time": pa.array(times, pa.timestamp(unit)).cast(pa.int64())}
    )
    assert list(days(numbers, time_unit=unit)[0].values()) == expected
    dates = pa.table({"user": users, "item": users, "time": pa.array([t.date() for t in times])})
    assert list(days(dates)[0].values()) == expected


ZONED = [
    "2020-03-01T23:30:00-05:00",
    "2020-03-02 04:30:00+00",
    "2020-03-02T04:30Z",
    "2020-03-02 06:30:00.250 Europe/Helsinki",
]


@pytest.mark.parametrize("resolution", ["day", "minute"])
def test_one_moment_in_several_zones_is_one_time_in_a_text_file(resolution, tmp_path):
    """Otherwise the same person has other days in a text file than in a Parquet file, and is not found."""
    rows = [f"u{k},item {k},{time}" for k, time in enumerate(ZONED)]
    (tmp_path / "zoned.csv").write_text("\n".join(["user,item,time", *rows]) + "\n")
    ds = so.Dataset.read(tmp_path / "zoned.csv", resolution=resolution)
    assert ds.n_entries == 4 and ds.tick_span == 0
    assert ds.first_tick == {"day": 18323, "minute": 18323 * 1440 + 270}[resolution]


def test_texts_with_a_zone_are_moments_in_arrays_as_in_files():
    ds = so.Dataset.from_arrays(range(3), range(3), time=ZONED[:3])
    assert ds.first_tick == 18323 * 1440 + 270 and ds.tick_span == 0
    assert (
        so.Knowledge.from_arrays([0, 0, 0], range(3), time=ZONED[:3]).time.tolist()
        == [18323.1875] * 3
    )


MIXED = ["2020-03-01T23:30:00-05:00", "2020-03-02 04:30:00", "2020-03-02 05:30:00"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "list", "datetimes", "knowledge", "pandas"])
def test_times_with_and_without_a_zone_in_one_column_are_refused_and_not_read_as_one(
    form, tmp_path
):
    """A time without a zone may be local: read as UTC, it is hours off, and attacks that use times find fewer people."""
    rows = range(len(MIXED))
    with pytest.raises(
        InputError, match=r"mixes times with a time zone \(1\) and without one \(2\)"
    ):
        if form == "csv":
            so.Dataset.read(csv(tmp_path, MIXED), value=None)
        elif form == "jsonl":
            lines = [
                f'{{"user": "u{k}", "item": "i{k}", "time": "{t}"}}' for k, t in enumerate(MIXED)
            ]
            (tmp_path / "t.jsonl").write_text("\n".join(lines) + "\n")
            so.Dataset.read(tmp_path / "t.jsonl", value=None)
        elif form == "list":
            so.Dataset.from_arrays(rows, rows, time=MIXED)
        elif form == "datetimes":
            so.Dataset.from_arrays(rows, rows, time=[datetime.fromisoformat(t) for t in MIXED])
        elif form == "knowledge":
            so.Knowledge.from_arrays([0, 0, 0], rows, time=MIXED)
        else:
            frame = pd.DataFrame({"user": rows, "item": rows, "time": MIXED})
            so.Dataset.from_frame(frame, value=None)


def test_seconds_where_days_belong_are_refused_and_do_not_find_nobody():
    """All gaps would be millions of days: every attack that uses times would find nobody."""
    seconds = [1_600_000_000, 1_600_000_001]
    with pytest.raises(InputError, match="divide Unix seconds"):
        so.Knowledge.from_arrays([0, 0], [1, 2], time=seconds)
    with pytest.raises(InputError, match="all 2 times are more than"):
        so.Dataset.from_arrays([0, 1], [1, 2], time=seconds)
    frame = {"who": [0, 0], "item": [1, 2], "time": seconds}
    days = so.Knowledge.from_frame(pa.table(frame), query="who", item="item", time="time").time
    assert np.floor(days).tolist() == [18518, 18518]
