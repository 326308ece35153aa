"""One random purchase known to the day, on a year of a shop: who is unique is what DuckDB counts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.attacks.unique import is_unique

FILE = Path(os.environ.get("STANDOUT_DATA", ""), "online-retail", "online_retail.csv.gz")

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not FILE.is_file(), reason="online-retail is not in STANDOUT_DATA"),
]


@pytest.fixture(scope="module")
def data():
    columns = {"record": "CustomerID", "item": "StockCode", "time": "InvoiceDate"}
    return so.Dataset.read(FILE, **columns, value="", resolution="day")


@pytest.fixture(scope="module")
def counts(data):
    """DuckDB with the entries: who bought what on which day."""
    rows = data.rows(np.arange(data.n_records))
    entries = pd.DataFrame(
        {
            "record": np.repeat(np.arange(data.n_records), np.diff(rows.ptr)),
            "item": data.item_labels[rows.item],
            "day": (rows.tick.astype(np.int64) + data.first_tick).astype(float),
        }
    )
    made = pytest.importorskip("duckdb").connect()
    made.register("entries", entries)
    return made


def random_purchase(**more):
    return so.Adversary(knows=1, value_within=None, time_within=0, **more)


def test_a_random_purchase_known_to_the_day_is_unique_as_often_as_a_count_says(data, counts):
    counted = counts.execute(
        """
        with held as (select item, day, count(distinct record) as n from entries group by item, day)
        select record, avg(case when n = 1 then 1.0 else 0.0 end) as alone
        from entries join held using (item, day) group by record order by record
        """
    ).df()
    expected = counted["alone"].to_numpy()
    targets, who = np.arange(data.n_records), random_purchase(choose="event")
    shares = [is_unique(data, who.sample(data, targets, seed), targets).mean() for seed in range(3)]
    error = np.sqrt((expected * (1 - expected)).sum() / len(shares)) / expected.size
    assert 0 < error < 0.01 and abs(np.mean(shares) - expected.mean()) < 4 * error


def test_a_fact_is_unique_if_nobody_else_bought_the_product_on_that_day(data, counts):
    targets = np.arange(0, data.n_records, 5)
    aux = random_purchase(choose="event").sample(data, targets, seed=1)
    known = pd.DataFrame({"query": np.arange(targets.size), "item": aux.item, "day": aux.time})
    counts.register("known", known)
    counted = counts.execute(
        "select query, count(distinct record) as n from known join entries using (item, day) group by query order by query"
    ).df()
    assert counted["query"].tolist() == list(range(targets.size))
    alone = counted["n"].to_numpy() == 1
    assert 0 < alone.mean() < 1
    np.testing.assert_array_equal(is_unique(data, aux, targets), alone)


def test_the_shop_is_detected_as_one():
    shop = so.Dataset.read(FILE)
    audit = so.Audit(shop, targets=10)
    assert audit.domain.domain.name == "purchases" and audit.domain.clear
    assert {(a.knows, a.time_within) for a in audit.adversaries if a.choose == "event"} >= {
        (1, 0),
        (1, "12h"),
        (2, "12h"),
    }
