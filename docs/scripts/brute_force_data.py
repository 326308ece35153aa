"""The data and the kinds of knowledge that `brute_force.py` compares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import standout as so

Array = npt.NDArray[Any]

MINUTES_PER_DAY = 1440


@dataclass(frozen=True, eq=False)
class Events:
    """A dataset as plain arrays, one element per event; times in ticks of the resolution."""

    name: str
    record: Array
    item: Array
    value: Array | None = None
    time: Array | None = None
    resolution: str = "day"

    def dataset(self) -> so.Dataset:
        """The same events as a dataset of the package, read from a table like any other."""
        import pandas as pd

        columns: dict[str, Any] = {"person": self.record, "item": self.item}
        if self.value is not None:
            columns["value"] = self.value
        if self.time is not None:
            unit = {"day": "D", "minute": "m"}[self.resolution]
            columns["time"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(self.time, unit=unit)
        roles = {
            "value": "value" if self.value is not None else None,
            "time": "time" if self.time is not None else None,
        }
        return so.Dataset.from_frame(pd.DataFrame(columns), record="person", item="item", **roles)


def ratings(rng: np.random.Generator, n: int = 500, items: int = 150) -> Events:
    """Ratings of one to five, a day each; popular items are held more often."""
    return _long("ratings", rng, n, items, (4, 30), scale=5, days=700)


def tastes(rng: np.random.Generator, n: int = 500) -> Events:
    """Ratings of people whose items mostly come from one of ten groups."""
    record, item = [], []
    for r in range(n):
        own = rng.choice(20, rng.integers(5, 15), replace=False) + 20 * (r % 10)
        mine = np.union1d(own, rng.choice(200, rng.integers(1, 8), replace=False))
        record.append(np.full(mine.size, r))
        item.append(mine)
    record, item = np.concatenate(record), np.concatenate(item)
    return Events(
        "tastes",
        record,
        item,
        rng.integers(1, 6, item.size).astype(float),
        rng.integers(0, 300, item.size),
    )


def baskets(rng: np.random.Generator, n: int = 800, items: int = 90) -> Events:
    """Items only, short records, many equal ones."""
    return _long("baskets", rng, n, items, (1, 9))


def amounts(rng: np.random.Generator, n: int = 400, items: int = 60) -> Events:
    """Purchases with an amount in cents and a day."""
    made = _long("amounts", rng, n, items, (3, 20), days=120)
    cents = np.round(np.exp(rng.normal(2.5, 0.8, made.item.size)), 2)
    return Events(made.name, made.record, made.item, cents, made.time)


def visits(rng: np.random.Generator, n: int = 300, places: int = 25) -> Events:
    """Visits to the minute within three days; places are visited again."""
    record = np.repeat(np.arange(n), rng.integers(3, 15, n))
    place = np.minimum((places * rng.random(record.size) ** 2).astype(np.int64), places - 1)
    minute = rng.integers(0, 3 * MINUTES_PER_DAY, record.size)
    return Events("visits", record, place, None, minute, "minute")


def twins(rng: np.random.Generator, n: int = 200) -> Events:
    """Ratings of which half occur twice, under two people."""
    one = _long("twins", rng, n, 120, (4, 20), scale=5, days=400)
    again = one.record < n // 2
    both = [
        np.concatenate([a, a[again] + (n if k == 0 else 0)])
        for k, a in enumerate((one.record, one.item, one.value, one.time))
    ]
    return Events("twins", *both)


def movielens(folder: Path) -> Events:
    """MovieLens latest-small: half stars and seconds, cut to the minute."""
    import pandas as pd

    rows = pd.read_csv(folder / "ml-latest-small" / "ratings.csv.gz")
    return _coded(
        "MovieLens", rows["userId"], rows["movieId"], rows["rating"], rows["timestamp"] // 60
    )


def retail(folder: Path, people: int = 600) -> Events:
    """Online Retail: purchases of some customers with quantities, to the minute; returns are left out."""
    import pandas as pd

    rows = pd.read_csv(
        folder / "online-retail" / "online_retail.csv.gz",
        dtype={"StockCode": str, "InvoiceNo": str},
    )
    rows = rows[rows["CustomerID"].notna() & (rows["Quantity"] > 0)]
    rows = rows[rows["CustomerID"].isin(np.sort(rows["CustomerID"].unique())[::7][:people])]
    rows = rows.drop_duplicates(["CustomerID", "StockCode", "InvoiceDate"])
    when = pd.to_datetime(rows["InvoiceDate"]).astype("datetime64[s]").astype(np.int64) // 60
    return _coded(
        "retail", rows["CustomerID"], rows["StockCode"], rows["Quantity"].astype(float), when
    )


def _coded(name: str, record: Any, item: Any, value: Any, minute: Any) -> Events:
    """Labels as whole numbers from 0, and minutes from the start of the first day."""
    minute = np.asarray(minute)
    start = minute.min() // MINUTES_PER_DAY * MINUTES_PER_DAY
    codes = [np.unique(np.asarray(labels), return_inverse=True)[1] for labels in (record, item)]
    return Events(name, *codes, np.asarray(value), minute - start, "minute")


def _long(
    name: str,
    rng: np.random.Generator,
    n: int,
    items: int,
    length: tuple[int, int],
    scale: int = 0,
    days: int = 0,
) -> Events:
    weight = 1.0 / np.arange(3, items + 3) ** 0.8
    weight /= weight.sum()
    lengths = rng.integers(*length, n, endpoint=True)
    record = np.repeat(np.arange(n), lengths)
    item = np.concatenate([rng.choice(items, k, replace=False, p=weight) for k in lengths])
    value = rng.choice(np.arange(1.0, scale + 1), item.size, p=_stars(scale)) if scale else None
    return Events(name, record, item, value, rng.integers(0, days, item.size) if days else None)


def _stars(scale: int) -> Array:
    rising = np.arange(1.0, scale + 1)
    return rising / rising.sum()


Kind = tuple[Callable[..., Events], tuple[dict[str, Any], ...]]

ITEMS_ONLY: dict[str, Any] = {"value_within": None}
WRONG_ITEM: dict[str, Any] = {"wrong": 1, "wrong_kind": "item"}

GENERATED: tuple[Kind, ...] = (
    (
        ratings,
        (
            {"knows": 1, **ITEMS_ONLY},
            {"knows": 2, **ITEMS_ONLY},
            {"knows": 4, **ITEMS_ONLY},
            {"knows": 2, "value_within": 0},
            {"knows": 3, "value_within": 1},
            {"knows": 2, **ITEMS_ONLY, "time_within": 14},
            {"knows": 2, "value_within": 1, "time_within": 30},
            {"knows": 4, "value_within": 1, "wrong": 1},
            {"knows": 3, "value_within": 0, "time_within": 14, "wrong": 1},
            {"knows": 4, **ITEMS_ONLY, **WRONG_ITEM},
        ),
    ),
    (
        tastes,
        (
            {"knows": 2, **ITEMS_ONLY},
            {"knows": 3, **ITEMS_ONLY},
            {"knows": 5, **ITEMS_ONLY},
            {"knows": 2, "value_within": 0},
            {"knows": 4, "value_within": 1},
            {"knows": 1, **ITEMS_ONLY, "time_within": 7},
            {"knows": 2, **ITEMS_ONLY, "time_within": 14},
            {"knows": 4, "value_within": 1, "wrong": 2},
            {"knows": 4, **ITEMS_ONLY, "wrong": 2, "wrong_kind": "item"},
            {"knows": 3, "value_within": 1, **WRONG_ITEM},
        ),
    ),
    (
        baskets,
        (
            {"knows": 1},
            {"knows": 2},
            {"knows": 3},
            {"knows": 4},
            {"knows": 6},
            {"knows": 2, **WRONG_ITEM},
            {"knows": 3, **WRONG_ITEM},
            {"knows": 4, **WRONG_ITEM},
            {"knows": 4, "wrong": 2, "wrong_kind": "item"},
            {"knows": 6, **WRONG_ITEM},
        ),
    ),
    (
        amounts,
        (
            {"knows": 1, **ITEMS_ONLY},
            {"knows": 2, **ITEMS_ONLY},
            {"knows": 4, **ITEMS_ONLY},
            {"knows": 1, "value_within": "10%"},
            {"knows": 2, "value_within": "10%"},
            {"knows": 3, "value_within": "25%"},
            {"knows": 1, **ITEMS_ONLY, "time_within": 1},
            {"knows": 2, **ITEMS_ONLY, "time_within": 7},
            {"knows": 1, "value_within": "10%", "time_within": 7},
            {"knows": 2, "value_within": "25%", "time_within": 14},
        ),
    ),
    (
        visits,
        (
            {"knows": 1},
            {"knows": 2},
            {"knows": 4},
            {"knows": 1, "time_within": 0},
            {"knows": 1, "time_within": "30min"},
            {"knows": 2, "time_within": "30min"},
            {"knows": 2, "time_within": "120min"},
            {"knows": 3, "time_within": "240min"},
            {"knows": 2, "time_within": 1},
            {"knows": 2, "time_within": "60min", **WRONG_ITEM},
        ),
    ),
    (
        twins,
        (
            {"knows": 2, **ITEMS_ONLY},
            {"knows": 4, **ITEMS_ONLY},
            {"knows": 2, "value_within": 0},
            {"knows": 3, "value_within": 1},
            {"knows": 2, **ITEMS_ONLY, "time_within": 3},
            {"knows": 4, "value_within": 0, "time_within": 0},
            {"knows": 2, "value_within": 1, "time_within": 30},
            {"knows": 3, "value_within": 1, "wrong": 1},
            {"knows": 4, "value_within": 0, "wrong": 2},
            {"knows": 3, **ITEMS_ONLY, **WRONG_ITEM},
        ),
    ),
)
PUBLIC: tuple[Kind, ...] = (
    (
        movielens,
        (
            {"knows": 2, **ITEMS_ONLY},
            {"knows": 4, **ITEMS_ONLY},
            {"knows": 2, "value_within": 1},
            {"knows": 3, "value_within": 0},
            {"knows": 1, **ITEMS_ONLY, "time_within": "60min"},
            {"knows": 2, **ITEMS_ONLY, "time_within": 14},
            {"knows": 4, **ITEMS_ONLY, **WRONG_ITEM},
        ),
    ),
    (
        retail,
        (
            {"knows": 1, **ITEMS_ONLY},
            {"knows": 2, **ITEMS_ONLY},
            {"knows": 4, **ITEMS_ONLY},
            {"knows": 2, "value_within": "10%"},
            {"knows": 1, **ITEMS_ONLY, "time_within": "60min"},
            {"knows": 1, **ITEMS_ONLY, "time_within": 3},
            {"knows": 2, **ITEMS_ONLY, "time_within": 14},
        ),
    ),
)
