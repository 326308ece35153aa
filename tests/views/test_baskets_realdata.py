"""One random receipt of a shop, known by total and day: who is unique is what DuckDB counts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import standout as so
from standout.attacks.unique import is_unique

FILE = Path(os.environ.get("STANDOUT_DATA", ""), "online-retail", "online_retail.csv.gz")

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not FILE.is_file(), reason="online-retail is not in STANDOUT_DATA"),
]

BASKETS = """
    select CustomerID as customer, InvoiceNo as receipt, min(InvoiceDate)::date - date '1970-01-01' as day,
           count(distinct StockCode) as size, sum(Quantity * UnitPrice) as total
    from read_csv(?, types = {'CustomerID': 'varchar', 'InvoiceNo': 'varchar', 'StockCode': 'varchar'})
    where CustomerID is not null group by all
"""


def test_a_random_receipt_is_unique_where_duckdb_counts_one_customer():
    data = so.Dataset.read(
        FILE,
        record="CustomerID",
        item="StockCode",
        time="InvoiceDate",
        value="",
        channels={"receipt": "InvoiceNo", "price": "UnitPrice", "quantity": "Quantity"},
        resolution="day",
    )
    counts = pytest.importorskip("duckdb").connect()
    counts.execute(f"create table baskets as {BASKETS}", [str(FILE)])
    view = "baskets:receipt?total=price*quantity"
    targets = np.arange(0, data.n_records, 20)
    shares = []
    for within, same in (
        ({"total": 0, "time": 0}, "day = $day and abs(total - $total) < 1e-6"),
        (
            {"total": "round:10", "time": 1},
            "abs(day - $day) <= 1 and abs(total - $total) <= 5 + 1e-6",
        ),
        ({"size": 0, "time": 0}, "day = $day and size = $size"),
    ):
        who = so.Adversary(knows=1, within=within, view=view, choose="event")
        aux = who.sample(data, targets, seed=1)
        told = {name: aux.channels[name] for name in within if name != "time"} | {"day": aux.time}
        expected = []
        for q in range(targets.size):
            known = {name: float(column[q]) for name, column in told.items()}
            query = f"select list(distinct customer) from baskets where {same}"
            fits = counts.execute(query, known).fetchone()[0]
            assert str(data.record_labels[targets[q]]) in fits
            expected.append(len(fits) == 1)
        np.testing.assert_array_equal(is_unique(data, aux, targets), expected)
        shares.append(np.mean(expected))
    assert shares[0] > shares[1] > 0 and shares[0] > shares[2] > 0
