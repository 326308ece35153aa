"""Thirteen tables of different shapes, made by code and written as their owners would keep them.

Each shape states how the file is read, which columns play which role, and what the audit must say:
how many correct facts are enough to find most people, or that they are not enough.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Lines = list[str]


@dataclass(frozen=True)
class Shape:
    """One table: how to write it, how to read it, what is true of it."""

    name: str
    lines: Callable[[np.random.Generator], Lines]
    roles: dict[str, str | None]
    """Column used for each role."""
    most_from: int | None
    """Fewest correct facts with which most people are found; None: no number of facts in the default sweep is enough."""
    options: dict[str, Any] = field(default_factory=dict)
    """Keywords of `Dataset.read` that the owner has to give."""
    encoding: str = "utf-8"
    file: str = "data.csv"

    def write(self, folder: Path) -> Path:
        """Write the file and return its path."""
        path = folder / self.file
        path.write_text(
            "\n".join(self.lines(np.random.default_rng(11))) + "\n", encoding=self.encoding
        )
        return path


def _zipf(n: int, power: float = 0.6) -> np.ndarray:
    p = 1.0 / np.arange(1, n + 1) ** power
    return p / p.sum()


def _holdings(
    rng: np.random.Generator, n_records: int, n_items: int, low: int, high: int, power: float = 0.6
):
    """(record, item) pairs: each record holds `low` to `high` items drawn without replacement by popularity."""
    p = _zipf(n_items, power)
    for r in range(n_records):
        for i in rng.choice(n_items, rng.integers(low, high + 1), replace=False, p=p):
            yield r, int(i)


def _ratings(rng: np.random.Generator) -> Lines:
    rows = ["userId,movieId,rating,timestamp"]
    for r, i in _holdings(rng, 400, 300, 15, 45):
        rows.append(
            f"{r + 1},{i + 1},{rng.integers(1, 6)},{1_100_000_000 + rng.integers(0, 400) * 86_400}"
        )
    return rows


def _fine_ratings(rng: np.random.Generator) -> Lines:
    rows = ["user,jokeId,rating"]
    for r, i in _holdings(rng, 100, 60, 40, 60, 0.0):
        rows.append(f"u{r},{i},{rng.integers(-1000, 1001) / 100:.2f}")
    return rows


def _pairs(rng: np.random.Generator) -> Lines:
    return ["user,item", *(f"{r},{i}" for r, i in _holdings(rng, 3000, 60, 20, 20, 0.0))]


def _counts(rng: np.random.Generator) -> Lines:
    rows = ["listener,artist,plays"]
    for r, i in _holdings(rng, 500, 200, 12, 30):
        rows.append(f"{r},artist {i},{int(rng.lognormal(1.5, 1.0)) + 1}")
    return rows


def _amounts(rng: np.random.Generator) -> Lines:
    rows = ["card_id;merchant;amount;date"]
    for r, i in _holdings(rng, 100, 150, 60, 100):
        day = np.datetime64("2023-01-01") + rng.integers(0, 365)
        rows.append(
            f"{r:05d};m{i};{str(round(float(rng.lognormal(3, 1)), 2)).replace('.', ',')};{day}"
        )
    return rows


def _check_ins(rng: np.random.Generator) -> Lines:
    rows = ["uid,locId,lat,lon,utcTimestamp"]
    for r, i in _holdings(rng, 300, 400, 12, 40):
        at = np.datetime64("2012-04-03T18:00:00") + rng.integers(0, 200 * 86_400)
        rows.append(f"{r},{i},{40 + i / 1000:.4f},{-74 - i / 1000:.4f},{at}Z")
    return rows


def _clicks(rng: np.random.Generator) -> Lines:
    rows = ["visitor\tpage\tevent_time"]
    for r, i in _holdings(rng, 800, 120, 8, 20):
        rows.append(f"v{r}\t/p/{i}\t{1_600_000_000_000 + int(rng.integers(0, 20 * 86_400_000))}")
    return rows


def _matrix(rng: np.random.Generator) -> Lines:
    rows = ["person," + ",".join(f"q{i}" for i in range(40))]
    for r in range(300):
        rows.append(
            f"p{r},"
            + ",".join("" if rng.random() < 0.3 else str(rng.integers(1, 6)) for _ in range(40))
        )
    return rows


def _few_long(rng: np.random.Generator) -> Lines:
    return ["user,track", *(f"{r},{i}" for r, i in _holdings(rng, 12, 2000, 900, 1100, 0.0))]


def _many_short(rng: np.random.Generator) -> Lines:
    return ["user,page", *(f"{r},{i}" for r, i in _holdings(rng, 20_000, 40, 1, 3, 0.3))]


def _purchases(rng: np.random.Generator) -> Lines:
    rows = ["CustomerID,StockCode,Quantity,InvoiceDate"]
    for r, i in _holdings(rng, 300, 150, 10, 25):
        for _ in range(rng.integers(1, 5)):
            day = np.datetime64("2011-01-01") + rng.integers(0, 365)
            rows.append(
                f"{12_000 + r},{10_000 + i}{'AB'[i % 2]},{rng.integers(1, 13)},{day} 08:26:00"
            )
    return rows


def _unicode(rng: np.random.Generator) -> Lines:
    names = ["Müller", "Łukasz", "渡辺", "Ольга", "José", "Ñandú"]
    rows = ["пользователь,товар,оценка"]
    for r, i in _holdings(rng, 300, 200, 12, 30):
        rows.append(f"{names[r % 6]} {r},Straße № {i},{rng.integers(1, 6)}")
    return rows


def _no_header(rng: np.random.Generator) -> Lines:
    return [f"{r},{i},{rng.integers(1, 6)}" for r, i in _holdings(rng, 400, 300, 15, 40)]


SHAPES = [
    Shape(
        "ratings on a grid",
        _ratings,
        {"record": "userId", "item": "movieId", "value": "rating", "time": "timestamp"},
        1,
    ),
    Shape(
        "fine-grained ratings",
        _fine_ratings,
        {"record": "user", "item": "jokeId", "value": "rating", "time": None},
        1,
    ),
    Shape(
        "implicit pairs", _pairs, {"record": "user", "item": "item", "value": None, "time": None}, 8
    ),
    Shape(
        "counts",
        _counts,
        {"record": "listener", "item": "artist", "value": "plays", "time": None},
        2,
    ),
    Shape(
        "amounts",
        _amounts,
        {"record": "card_id", "item": "merchant", "value": "amount", "time": "date"},
        1,
    ),
    Shape(
        "check-ins with seconds",
        _check_ins,
        {"record": "uid", "item": "locId", "value": None, "time": "utcTimestamp"},
        1,
        options={"value": None},
    ),
    Shape(
        "clicks",
        _clicks,
        {"record": "visitor", "item": "page", "value": None, "time": "event_time"},
        1,
        file="data.tsv",
    ),
    Shape(
        "dense matrix",
        _matrix,
        {"record": "person", "item": None, "value": None, "time": None},
        4,
        options={"wide": True},
    ),
    Shape(
        "few long records",
        _few_long,
        {"record": "user", "item": "track", "value": None, "time": None},
        8,
    ),
    Shape(
        "many short records",
        _many_short,
        {"record": "user", "item": "page", "value": None, "time": None},
        None,
    ),
    Shape(
        "repeated purchases",
        _purchases,
        {"record": "CustomerID", "item": "StockCode", "value": "Quantity", "time": "InvoiceDate"},
        1,
    ),
    Shape(
        "unicode labels",
        _unicode,
        {"record": "пользователь", "item": "товар", "value": "оценка", "time": None},
        2,
        options={"record": "пользователь", "item": "товар", "value": "оценка"},
    ),
    Shape(
        "no header",
        _no_header,
        {"record": "user", "item": "film", "value": "stars", "time": None},
        2,
        options={"names": ["user", "film", "stars"]},
    ),
]


def table(shape: Shape, path: Path) -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Record -> item -> events (value, day), by the standard library alone: independent of the package's reader."""
    with path.open(encoding=shape.encoding, newline="") as file:
        sample = file.readline()
        file.seek(0)
        rows = list(csv.reader(file, delimiter=max(",;\t", key=sample.count)))
    names = shape.options.get("names") or rows.pop(0)
    held: dict[str, dict[str, list[tuple[str, str]]]] = {}
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        record = cells[str(shape.roles["record"])]
        if shape.options.get("wide"):
            events = [
                (i, v, "") for i, v in cells.items() if i != shape.roles["record"] and v != ""
            ]
        else:
            value = cells[shape.roles["value"]] if shape.roles["value"] else ""
            day = _day(cells[shape.roles["time"]]) if shape.roles["time"] else ""
            events = [(cells[str(shape.roles["item"])], value, day)]
        for item, value, day in events:
            held.setdefault(record, {}).setdefault(item, []).append((value, day))
    return held


def _day(text: str) -> str:
    if text.isdigit():
        return str(int(text) // (86_400_000 if len(text) > 11 else 86_400))
    return text[:10]


def unique_rate(
    held: dict[str, dict[str, list[tuple[str, str]]]], knows: int, channels: bool = True
) -> float:
    """Mean of 1/(records that agree) over the records with at least `knows` items: exact facts, by set intersection."""
    who: dict[tuple[str, ...], set[str]] = {}
    for record, items in held.items():
        for item, events in items.items():
            for event in events if channels else [()]:
                who.setdefault((item, *event), set()).add(record)
    rng = np.random.default_rng(3)
    able = [r for r, items in held.items() if len(items) >= knows]
    worth = []
    for record in rng.permutation(able)[:300]:
        items = held[record]
        agree: set[str] | None = None
        for item in rng.choice(sorted(items), knows, replace=False):
            event = items[item][rng.integers(len(items[item]))] if channels else ()
            holders = who[(item, *event)]
            agree = holders if agree is None else agree & holders
        worth.append(1.0 / len(agree or {record}))
    return float(np.mean(worth)) if worth else float("nan")
