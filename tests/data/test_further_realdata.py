"""Online Retail with prices, quantities and countries: pandas reads the same, and what was not measured is said."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.errors import InputError

FILE = Path(os.environ.get("STANDOUT_DATA", ""), "online-retail", "online_retail.csv.gz")

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not FILE.is_file(), reason="online-retail is not in STANDOUT_DATA"),
]

CHANNELS = {"price": "UnitPrice", "quantity": "Quantity"}


def test_a_country_that_differs_within_customers_is_refused_and_can_be_made_one(tmp_path):
    rows = pd.read_csv(FILE, dtype={"StockCode": str}).dropna(subset=["CustomerID"])
    countries = rows.groupby("CustomerID")["Country"].nunique()
    moved = int((countries > 1).sum())
    assert moved > 0
    with pytest.raises(InputError, match=rf"differs within {moved} of {countries.size:,} records"):
        so.Dataset.read(FILE, value=None, channels=CHANNELS, attributes={"country": "Country"})

    # what the message asks for: one country per customer
    last = rows.groupby("CustomerID")["Country"].last()
    rows = rows.assign(Country=rows["CustomerID"].map(last))
    given = {"value": None, "channels": CHANNELS, "attributes": {"country": "Country"}}
    roles = {"record": "CustomerID", "item": "StockCode", "time": "InvoiceDate"}
    ds = so.Dataset.from_frame(rows, **roles, **given)
    who = so.Adversary(knows=0, within={"country": 0}, value_within=None, time_within=None)
    unique = so.risk(ds, who, draws=1).to_frame()["unique"].sum()
    assert unique == (last.value_counts() == 1).sum() > 0

    prices = {c.name: c for c in ds.channels}["price"]
    assert np.array_equal(prices.levels, np.unique(rows["UnitPrice"]))


def test_knowing_the_price_finds_more_people_and_the_rest_is_not_measured():
    ds = so.Dataset.read(FILE, value=None, channels=CHANNELS)
    who = [
        so.Adversary(knows=2, value_within=None, time_within=14, within=within)
        for within in (None, {"price": "10%", "quantity": 0})
    ]
    audit = so.Audit(ds, who[1], ["scoreboard-rh"], 100, seed=1).run()
    plain = so.Audit(ds, who[0], ["scoreboard-rh"], 100, seed=1).run()
    assert list(audit.data["not_measured"]) == []
    assert list(plain.data["not_measured"]) == ["the channel price", "the channel quantity"]
    with_price, without = (x.results[0]["unique"]["rate"] for x in (audit, plain))
    assert with_price > without
