"""Columns by content: dates beat names, ambiguity is a question, and every column is accounted for."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from standout.data.cleaning import ColumnUse
from standout.data.dataset import Dataset
from standout.data.reading.options import GUESS, ReadOptions
from standout.data.reading.read import inspect_columns
from standout.errors import ColumnError, ParameterError, RowError

N = 300


def frame(**more):
    """Entries of 40 users and 25 items, and more columns: functions of (user, item, random generator)."""
    rng = np.random.default_rng(3)
    user, item = rng.integers(1, 41, N), rng.integers(1, 26, N)
    columns = {name: make(user, item, rng) for name, make in more.items()}
    return pd.DataFrame({"user": user, "item": item, **columns})


def ratings(user, item, rng):
    return rng.integers(1, 11, N)


def weeks(user, item, rng):
    return rng.integers(1, 53, N)


def moments(user, item, rng):
    return [datetime(2020, 1, 1) + timedelta(hours=int(h)) for h in rng.integers(0, 8000, N)]


def seconds(user, item, rng):
    return rng.integers(1_500_000_000, 1_520_000_000, N)


def read(data, tmp_path, kind="csv", **options):
    """The dataset of the frame by way of a file."""
    path = tmp_path / f"data.{kind}"
    if kind == "csv":
        data.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(data), path)
    return Dataset.read(path, **options)


def roles(ds):
    return {use.role: use.name for use in ds.cleaning.columns if use.role != "ignored"}


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_a_timestamp_is_not_lost_to_an_integer_called_week(tmp_path, kind):
    data = frame(week=weeks, bought=moments)
    ds = Dataset.from_frame(data) if kind == "frame" else read(data, tmp_path, kind)
    assert roles(ds)["time"] == "bought"
    assert ds.tick_span > 300


@pytest.mark.parametrize("column", ["week", "time", "timestamp", "t_day"])
def test_small_numbers_are_not_silently_read_as_days(tmp_path, column):
    data = frame(**{column: weeks})
    if column == "t_day":
        data = data.rename(columns={"t_day": "day"})
        data["day"] = data["day"] % 28 + 1
        column = "day"
    with pytest.raises(ColumnError, match=r"--time-unit day, week") as caught:
        read(data, tmp_path)
    assert f"column {column!r} holds small numbers" in str(caught.value)


def test_numbers_of_weeks_are_weeks_and_not_days(tmp_path):
    data = frame(week=weeks)
    ds = read(data, tmp_path, time_unit="week")
    assert ds.tick_span == 7 * (data["week"].max() - data["week"].min())
    assert read(data, tmp_path, time_unit="day").tick_span * 7 == ds.tick_span


def test_a_day_number_beyond_a_month_is_a_number_of_days(tmp_path):
    data = frame(day=lambda user, item, rng: rng.integers(1, 712, N))
    assert read(data, tmp_path).tick_span == data["day"].max() - data["day"].min()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("user", "jokeId", "Feedback", None), {"item": "jokeId", "value": "Feedback"}),
        (("user", "locId", None, "utcTimestamp"), {"item": "locId", "time": "utcTimestamp"}),
        (
            ("anonUserKey", "widget_id", "user_score", "bought_ts"),
            {
                "record": "anonUserKey",
                "item": "widget_id",
                "value": "user_score",
                "time": "bought_ts",
            },
        ),
        (
            ("Kundennummer", "Artikel", "Menge", "Datum"),
            {"record": "Kundennummer", "value": "Menge", "time": "Datum"},
        ),
        (("user", "item", "likes", "happened"), {"value": "likes", "time": "happened"}),
    ],
)
def test_columns_that_carry_the_risk_are_not_missed(tmp_path, names, expected):
    user, item, value, time = names
    data = frame(value=ratings, time=moments if time == "happened" else seconds)
    data = data[["user", "item"] + ["value"] * bool(value) + ["time"] * bool(time)]
    data = data.rename(columns={"user": user, "item": item, "value": value, "time": time})
    found = roles(read(data, tmp_path))
    assert expected.items() <= found.items()
    assert len(found) == 2 + bool(value) + bool(time)


def test_two_columns_of_numbers_without_a_telling_name_are_a_question(tmp_path):
    data = frame(alpha=ratings, beta=ratings)
    with pytest.raises(
        ColumnError, match=r"could be the value: alpha, beta\. Name one with value='NAME', or none"
    ):
        read(data, tmp_path)
    assert roles(read(data, tmp_path, ignore=["beta"]))["value"] == "alpha"


def test_numbers_that_could_be_times_are_a_question(tmp_path):
    data = frame(x0=seconds)
    with pytest.raises(ColumnError, match="Name it with time='x0', or none"):
        read(data, tmp_path)
    assert read(data, tmp_path, time="x0").has_time


def test_two_dates_without_a_telling_name_are_a_question(tmp_path):
    with pytest.raises(ColumnError, match="could be the time: paid, packed"):
        read(frame(paid=moments, packed=moments), tmp_path)


def test_what_describes_the_person_or_the_item_is_no_value_and_no_time(tmp_path):
    data = frame(
        level=lambda user, item, rng: user % 7,
        minutes=lambda user, item, rng: item * 3 % 11,
        entered=lambda user, item, rng: [f"2019-01-{u % 28 + 1:02d}" for u in user],
        birth_date=moments,
        latitude=lambda user, item, rng: rng.random(N),
        line=lambda user, item, rng: np.arange(N),
    )
    ds = read(data, tmp_path)
    assert not ds.has_value
    assert not ds.has_time
    assert "ignored columns, whose risk is not measured: level, minutes, entered" in " ".join(
        ds.cleaning.notes
    )


def test_a_clock_beside_a_date_is_not_taken_for_the_date(tmp_path):
    data = frame(date=moments)
    data["time"] = data["date"].dt.strftime("%H:%M:%S")
    data["date"] = data["date"].dt.strftime("%Y-%m-%d")
    assert roles(read(data, tmp_path))["time"] == "date"


DIRECT = {
    "contact": (lambda u: f"user{u}@example.org", "e-mail address"),
    "origin": (lambda u: f"10.0.{u}.7", "IP address"),
    "hotline": (lambda u: f"+49 170 1234{u:03d}", "phone number"),
    "account_holder": (lambda u: f"DE89 3704 0044 0532 01{u:02d} 00", "bank account"),
    "tax": (lambda u: f"123-45-6{u:03d}", "national identifier"),
    "customer_name": (lambda u: f"Anna Meier{'abcdefghij'[u % 10]}", "person name"),
    "phone": (lambda u: 5_550_000 + u, "phone number"),
    "surname": (lambda u: f"meier{u}", "person name"),
    "login": (lambda u: f"x{u}", "user name"),
    "plastic": (lambda u: luhn(f"41111111111{u:04d}"), "card number"),
}


def luhn(digits):
    total = sum(sum(divmod(int(c) * (2 - k % 2), 10)) for k, c in enumerate(reversed(digits)))
    return digits + str(-total % 10)


@pytest.mark.parametrize("column", DIRECT)
@pytest.mark.parametrize("record", [False, True])
def test_direct_identifiers_do_not_pass_without_a_warning(tmp_path, column, record):
    make, what = DIRECT[column]
    data = frame(**{column: lambda user, item, rng: [make(int(u)) for u in user]})
    ds = read(data, tmp_path, record=column if record else "user", value=None, time=None)
    use = next(use for use in ds.cleaning.columns if use.name == column)
    assert (use.identifier, use.role) == (what, "record" if record else "ignored")
    assert any(
        note.startswith(f"warning: column {column!r} looks like a direct identifier ({what})")
        for note in ds.cleaning.notes
    )


@pytest.mark.parametrize("column", ["sku", "version", "isbn_like", "path"])
def test_ordinary_labels_are_not_called_direct_identifiers(tmp_path, column):
    make = {
        "sku": lambda u: f"AB-{u:03d}-C",
        "version": lambda u: f"1.{u}.3",
        "isbn_like": lambda u: f"97831614841{u:02d}",
        "path": lambda u: f"/index/{u}",
    }[column]
    data = frame(**{column: lambda user, item, rng: [make(int(u)) for u in user]})
    ds = read(data, tmp_path, item="item", value=None, time=None)
    assert all(use.identifier is None for use in ds.cleaning.columns)


def test_the_inventory_lists_every_column_and_no_cell(tmp_path):
    data = frame(rating=ratings, note=lambda user, item, rng: [f"s3cret {u}" for u in user])
    ds = read(data, tmp_path)
    assert [(use.name, use.role) for use in ds.cleaning.columns] == [
        ("user", "record"),
        ("item", "item"),
        ("rating", "value"),
        ("note", "ignored"),
    ]
    assert "s3cret" not in str(asdict(ds.cleaning))
    assert asdict(ds.cleaning)["columns"][3]["role"] == "ignored"
    ds.save(tmp_path / "saved")
    assert Dataset.open(tmp_path / "saved").cleaning == ds.cleaning
    assert isinstance(Dataset.open(tmp_path / "saved").cleaning.columns[0], ColumnUse)


def test_the_inventory_ends_with_the_question_that_reading_would_ask(tmp_path):
    path = tmp_path / "data.csv"
    frame(week=weeks).to_csv(path, index=False)
    found = inspect_columns(path, ReadOptions())
    assert found.question is not None and "--time-unit" in found.question
    assert inspect_columns(path, ReadOptions(time_unit="week")).question is None
    frame(alpha=ratings, beta=ratings).to_csv(path, index=False)
    found = inspect_columns(path, ReadOptions())
    assert "could be the value" in str(found.question)
    assert {use.role for use in found.columns} == {"undecided"}


def test_a_value_of_none_is_not_guessed(tmp_path):
    data = frame(rating=ratings, timestamp=seconds)
    assert Dataset.from_frame(data).has_value
    for nothing in (None, ""):
        ds = Dataset.from_frame(data, value=nothing, time=nothing)
        assert not ds.has_value
        assert not ds.has_time
        assert not read(data, tmp_path, value=nothing, time=nothing).has_value
    assert Dataset.from_frame(data, value=GUESS).has_value
    with pytest.raises(ParameterError, match="record=None"):
        Dataset.from_frame(data, record=None)


@pytest.mark.parametrize(("bad", "passes"), [(2, True), (4, False)])
def test_skip_bad_does_not_drop_more_than_one_percent(tmp_path, bad, passes):
    data = frame(rating=ratings).astype({"rating": object})
    data.loc[: bad - 1, "rating"] = "broken"
    if passes:
        assert read(data, tmp_path, skip_bad=True).cleaning.rows_bad == bad
        return
    with pytest.raises(RowError, match=rf"{bad} of {N} rows do not parse.*--max-bad SHARE"):
        read(data, tmp_path, skip_bad=True)
    assert read(data, tmp_path, skip_bad=True, max_bad=0.02).cleaning.rows_bad == bad
    with pytest.raises(RowError, match="--max-bad"):
        read(data, tmp_path, skip_bad=True, max_bad=0)
