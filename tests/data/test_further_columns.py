"""Channels and attributes from files, frames and the command line: the same data everywhere, and what is refused."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.cli.reading import read_release
from standout.data.totals import unordered_fingerprint
from standout.errors import ColumnError, InputError, ParameterError

COLUMNS = {
    "record": "user",
    "item": "product",
    "value": None,
    "time": "when",
    "channels": {"price": "Unit Price", "qty": "qty", "country": "country"},
    "attributes": ["age", "postcode"],
}


def frame(n: int = 300) -> pd.DataFrame:
    """Purchases of 40 people; some cells are missing."""
    rng = np.random.default_rng(3)
    user = rng.integers(0, 40, n)
    days = pd.to_timedelta(rng.integers(0, 25, n), "D")
    made = pd.DataFrame(
        {
            "user": user,
            "product": rng.integers(0, 12, n),
            "when": pd.Timestamp("2020-01-01") + days,
            "Unit Price": rng.choice([1.05, 2.5, 3.75], n),
            "qty": rng.integers(1, 4, n),
            "country": rng.choice(["DE", "FR"], n),
            "age": 20.0 + user % 7,
            "postcode": [f"0{1000 + r % 9}" for r in user],
        }
    )
    made.loc[3, "Unit Price"] = np.nan
    made.loc[5, "country"] = None
    made.loc[7, "age"] = np.nan
    return made


def of_arrays(rows: pd.DataFrame, repeats: str = "keep") -> so.Dataset:
    return so.Dataset.from_arrays(
        rows["user"],
        rows["product"],
        time=rows["when"].to_numpy(),
        channels={"price": rows["Unit Price"], "qty": rows["qty"], "country": rows["country"]},
        attributes={"age": rows["age"], "postcode": rows["postcode"]},
        repeats=repeats,
    )


def written(rows: pd.DataFrame, folder):
    """The rows in several formats; text of a database has no type for dates."""
    rows.to_csv(folder / "a.csv", index=False)
    rows.to_csv(folder / "semicolon.csv", index=False, sep=";", decimal=",")
    rows.to_parquet(folder / "a.parquet")
    rows.to_feather(folder / "a.arrow")
    with sqlite3.connect(folder / "a.db") as con:
        rows.assign(when=rows["when"].astype(str)).to_sql("sales", con, index=False)
    return ["a.csv", "semicolon.csv", "a.parquet", "a.arrow", "a.db"]


@pytest.mark.parametrize("repeats", ["keep", "last", "count"])
def test_files_frames_and_arrays_give_the_same_channels_and_attributes(tmp_path, repeats):
    rows = frame()
    wanted = of_arrays(rows, repeats)
    assert [c.name for c in wanted.channels] == ["price", "qty", "country"]
    for name in written(rows, tmp_path):
        read = so.Dataset.read(tmp_path / name, **COLUMNS, repeats=repeats)
        assert read.fingerprint == wanted.fingerprint, name
    assert so.Dataset.from_frame(rows, **COLUMNS, repeats=repeats).fingerprint == wanted.fingerprint


def test_text_is_numbers_only_if_every_cell_is_one(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "user,item,dear,code,size,big\n1,a,€ 1.50,007,1,9007199254740993\n"
        "1,b,2.25,8,XL,9007199254740992\n2,a,,9,2,5\n"
    )
    ds = so.Dataset.read(path, channels="dear,code,size,big", value=None)
    scales = {c.name: c for c in ds.channels}
    assert scales["dear"].levels.tolist() == [1.5, 2.25]
    assert scales["code"].labels.tolist() == ["007", "8", "9"]
    assert scales["size"].labels.tolist() == ["1", "2", "XL"]
    # as floats, two of these three would be the same number
    assert scales["big"].n_levels == 3
    notes = " ".join(ds.cleaning.notes)
    assert "channel size: column 'size' read as labels without an order: 1 of 3 cells" in notes
    assert "XL" not in notes and "007" not in notes


def test_further_columns_are_no_ignored_columns(tmp_path):
    frame().to_csv(tmp_path / "a.csv", index=False)
    ds = so.Dataset.read(tmp_path / "a.csv", **{**COLUMNS, "attributes": "age"})
    roles = {use.name: use.role for use in ds.cleaning.columns}
    assert roles["Unit Price"] == "channel price"
    assert roles["age"] == "attribute age"
    assert roles["postcode"] == "ignored"


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"channels": "prize"}, ColumnError, r"no column 'prize' for channel prize \(--channel\)"),
        ({"attributes": "aged"}, ColumnError, r"for attribute aged \(--attributes\)"),
        ({"attributes": "country"}, InputError, "attribute country differs within .*--channel"),
        ({"channels": "qty", "attributes": "qty"}, ParameterError, "name it once"),
        ({"channels": "qty", "attributes": "q=qty"}, ColumnError, "cannot be channel qty and"),
        ({"channels": "qty", "value": "qty"}, ColumnError, "cannot be value and channel qty"),
        ({"channels": "qty,qty"}, ParameterError, "occurs more than once"),
        ({"channels": {"value": "qty"}}, ParameterError, "'value'"),
        ({"channels": "Unit Price"}, ParameterError, "give the column a name"),
        ({"channels": "empty"}, InputError, "'empty' for channel empty is empty in every row"),
        ({"wide": True, "attributes": "age"}, ParameterError, "wide matrix"),
    ],
)
def test_wrong_columns_are_refused_in_one_line(tmp_path, given, error, words):
    frame().assign(empty="").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(error, match=words) as caught:
        so.Dataset.read(tmp_path / "a.csv", record="user", **given)
    assert "\n" not in str(caught.value)


def test_reading_in_parts_is_refused(tmp_path):
    frame().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ParameterError, match="in memory alone"):
        so.ChunkedDataset.read(tmp_path / "a.csv", record="user", channels="qty")


def test_an_export_reads_back_and_keeps_channels_and_attributes(tmp_path):
    ds = of_arrays(frame())
    back = so.Dataset.from_frame(
        ds.to_frame(),
        record="record",
        item="item",
        value=None,
        time="time",
        channels=["price", "qty", "country"],
        attributes=["age", "postcode"],
    )
    # a text of digits with a leading zero is a label, as it was
    assert back.fingerprint == ds.fingerprint


def test_digests_for_spark_count_the_scales():
    rows = frame()
    one = of_arrays(rows)
    other = of_arrays(rows.assign(**{"Unit Price": 2 * rows["Unit Price"]}))
    older = of_arrays(rows.assign(age=rows["age"] + 1))
    assert len({unordered_fingerprint(x) for x in (one, other, older)}) == 3


def test_a_defended_release_keeps_them_and_its_manifest_says_how_to_read_them(tmp_path, run):
    path, out = tmp_path / "a.csv", tmp_path / "release.csv"
    frame().to_csv(path, index=False)
    options = ("--record", "user", "--channel", "price=Unit Price", "--attributes", "age,postcode")
    code, _, errors = run(
        "defend", path, *options, "--apply", "sample-records(share=0.5)", "--out", out
    )
    assert code == 0, errors
    assert set(pd.read_csv(out)) == {
        "user",
        "product",
        "when",
        "Unit Price",
        "qty",
        "age",
        "postcode",
    }
    source = so.Dataset.read(
        path, record="user", channels={"price": "Unit Price"}, attributes=["age", "postcode"]
    )
    release = read_release(out, source, {"record": "user"}, None)
    assert [c.name for c in release.channels] == ["price"]
    assert list(release.attributes) == ["age", "postcode"]


def test_a_release_without_a_column_says_that_nothing_is_compared_there(tmp_path):
    rows = frame()
    rows.to_csv(tmp_path / "a.csv", index=False)
    rows.drop(columns=["age", "Unit Price"]).to_csv(tmp_path / "b.csv", index=False)
    source = so.Dataset.read(tmp_path / "a.csv", **COLUMNS)
    release = read_release(tmp_path / "b.csv", source, COLUMNS, None)
    assert list(release.attributes) == ["postcode"]
    notes = " ".join(release.cleaning.notes)
    assert "the release has no price and no age: nothing is compared there" in notes
    plain = so.Adversary(knows=2, within={"country": 0, "postcode": 0})
    knowing = so.Adversary(knows=2, within={"price": 0, "country": 0, "age": 0, "postcode": 0})
    made = [
        so.Audit(source, [who], ["scoreboard-rh"], "all", release=release).run()
        for who in (plain, knowing)
    ]
    rates = [one.to_dict()["results"][0]["unique"]["rate"] for one in made]
    assert rates[1] == rates[0] > 0
    assert any("has no price and no age" in note for note in made[1].warnings)


def test_unique_by_attributes_alone_is_what_pandas_counts(tmp_path, run):
    rows = frame().assign(age=lambda x: 20 + x["user"] % 7, postcode=lambda x: x["user"] % 4)
    rows.to_csv(tmp_path / "a.csv", index=False)
    people = rows.groupby("user")[["age", "postcode"]].first()
    unique = (people.groupby(["age", "postcode"])["age"].transform("size") == 1).sum()
    assert 0 < unique < len(people)
    ds = so.Dataset.read(tmp_path / "a.csv", record="user", attributes="age,postcode")
    who = so.Adversary(knows=0, within={"age": 0, "postcode": 0}, value_within=None)
    assert so.risk(ds, who, draws=1).to_frame()["unique"].sum() == unique
    options = ("--record", "user", "--attributes", "age,postcode", "--within", "age=0,postcode=0")
    few = ("--knows", "0", "--value-within", "none", "--time-within", "none", "--draws", "1")
    code, _, errors = run("risk", tmp_path / "a.csv", *options, *few, "--out", tmp_path / "r.csv")
    assert code == 0, errors
    assert pd.read_csv(tmp_path / "r.csv")["unique"].sum() == unique


def test_channels_that_no_adversary_knew_are_not_measured():
    ds = of_arrays(frame())
    who = so.Adversary(knows=2, within={"price": 0})
    made = so.Audit(ds, [who], ["scoreboard-rh"], 20).run()
    assert list(made.data["not_measured"]) == [
        "the times",
        "the channel qty",
        "the channel country",
        "the attribute age",
        "the attribute postcode",
    ]


def test_columns_proposes_channels_and_attributes(tmp_path, run):
    rows = frame(500).assign(
        note=lambda x: [f"free text {k}" for k in x.index], order_id=lambda x: x.index // 3
    )
    rows.to_csv(tmp_path / "a.csv", index=False)
    code, shown, _ = run("columns", tmp_path / "a.csv", "--record", "user", "--value", "qty")
    assert code == 0
    assert "--channel 'Unit_Price=Unit Price,country' --attributes 'age,postcode'" in shown
    assert "judged by a sample" in shown


def test_columns_proposes_receipts_that_belong_to_one_person_and_have_several_rows(tmp_path, run):
    rows = frame(500).sort_values("user").reset_index(drop=True)
    number = rows.groupby("user").cumcount() // 3
    receipt = rows["user"].astype(str) + "-" + number.astype(str)
    for column, content, is_proposed in (
        ("receipt_no", receipt, True),
        ("InvoiceNo", receipt, True),
        ("order_line", receipt, False),
        ("order_id", rows.index // 3, False),  # of several people
        ("ticket", rows.index, False),  # one row each
    ):
        rows.assign(**{column: content}).to_csv(tmp_path / "a.csv", index=False)
        code, shown, _ = run("columns", tmp_path / "a.csv", "--record", "user", "--value", "qty")
        assert code == 0
        assert (f"receipt={column}" in shown) == is_proposed, column
    asked = ("--record", "user", "--value", "qty", "--channel", "receipt=receipt_no")
    rows.assign(receipt_no=receipt).to_csv(tmp_path / "b.csv", index=False)
    code, shown, _ = run("audit", tmp_path / "b.csv", *asked, "--targets", 20, "--out", tmp_path)
    assert code == 0 and "of one receipt" in " ".join(shown.split()), shown


def test_a_release_that_writes_a_channel_in_another_way_is_not_called_safe():
    rows = frame()
    source = of_arrays(rows)
    who = so.Adversary(knows=2, within={"price": "10%"})
    in_words = of_arrays(rows.assign(**{"Unit Price": rows["Unit Price"].map(str)}))
    for pair in ((source, in_words), (in_words, source)):
        with pytest.raises(InputError, match=r"price holds .* which cannot be compared") as caught:
            so.Audit(pair[0], who, release=pair[1])
        assert "3.75" not in str(caught.value)
    in_cents = of_arrays(rows.assign(**{"Unit Price": 100 * rows["Unit Price"]}))
    made = so.Audit(source, [who], ["scoreboard-rh"], 20, release=in_cents).run()
    assert any("No level of price of the source occurs" in note for note in made.warnings)
