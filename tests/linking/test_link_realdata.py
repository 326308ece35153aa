"""Two real pairs of files: what docs/linking.md states, asserted."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import standout as so
from standout.linking.truth import judged

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not os.environ.get("STANDOUT_DATA"), reason="STANDOUT_DATA is not set"),
]


def folder():
    return Path(os.environ["STANDOUT_DATA"])


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("removed", [False, True])
def test_tags_link_to_ratings_at_least_as_well_as_the_published_attacks(dated, removed):
    ratings = pd.read_csv(folder() / "ml-latest-small" / "ratings.csv.gz")
    tags = pd.read_csv(folder() / "ml-latest-small" / "tags.csv")
    data = so.Dataset.from_arrays(
        ratings["userId"], ratings["movieId"], ratings["rating"], ratings["timestamp"] / 86_400
    )
    aux = so.Knowledge.from_arrays(
        tags["userId"],
        tags["movieId"],
        None,
        np.floor(tags["timestamp"] / 86_400) if dated else None,
    )
    if removed:
        data = data.take(~np.isin(data.record_labels, aux.queries[::2]))
    at = np.minimum(np.searchsorted(data.record_labels, aux.queries), data.n_records - 1)
    right = np.where(data.record_labels[at] == aux.queries, at, -1)
    found = judged(so.link(data, aux), data, aux, right, others=("scoring", "tf-idf"))
    rates = {
        one["attack"]: [r["rate"] for r in one["rates"]]
        for one in found.findings.truth["k_identified"]
    }
    for name in ("scoring", "tf-idf"):
        assert all(
            mine >= other for mine, other in zip(rates["link"][:3], rates[name][:3], strict=True)
        )
    assert found.interval[0] <= found.findings.truth["right"] <= found.interval[1]
    assert not found.accepted(0.05)[right < 0].any()
    if removed:
        assert found.posterior[right >= 0].mean() > found.posterior[right < 0].mean() + 0.1


def purchases(name, who):
    frame = pd.read_csv(
        folder() / "online-retail" / f"{name}.csv.gz",
        parse_dates=["InvoiceDate"],
        dtype={"StockCode": str},
    )
    frame = frame.dropna(subset=[who])
    shared = (frame["InvoiceDate"] >= "2010-12-01") & (frame["InvoiceDate"] < "2010-12-10")
    frame = frame[(frame["Quantity"] > 0) & ~shared]
    return so.Dataset.from_arrays(
        frame[who].astype(int).to_numpy(),
        frame["StockCode"].to_numpy().astype(str),
        frame["Quantity"].to_numpy(),
        frame["InvoiceDate"].dt.floor("D").to_numpy(),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("one_to_one", "least"), [(False, 0.38), (True, 0.45)])
def test_customers_of_two_years_are_linked_with_the_stated_false_discovery_rate(one_to_one, least):
    known, data = (
        purchases("online_retail_II_2009-2010", "Customer ID"),
        purchases("online_retail", "CustomerID"),
    )
    at = np.minimum(np.searchsorted(data.record_labels, known.record_labels), data.n_records - 1)
    right = np.where(data.record_labels[at] == known.record_labels, at, -1)
    found = judged(so.link(data, known, one_to_one=one_to_one), data, known, right, others=())
    truth = found.findings.truth
    assert truth["k_identified"][0]["rates"][0]["rate"] > least
    assert found.interval[0] <= truth["right"] <= found.interval[1]
    for cut in truth["discoveries"]:
        if cut["fdr"] == 0.05:
            assert cut["accepted"] > 200
            assert cut["false"]["rate"] <= 0.06
    for row in truth["calibration"]:
        # a bin of 220 people has a standard error of 3 points; 2.58 of them cover five bins
        # together with 95 %
        error = np.sqrt(row["mean"] * (1 - row["mean"]) / row["n"])
        assert row["mean"] == pytest.approx(row["rate"], abs=max(0.03, 2.58 * error))
    assert truth["by_chance"]["width"]["p_value"] > 0.05
    for row in truth["calibration_by_count"]:
        assert row["mean"] == pytest.approx(row["rate"], abs=0.03)
