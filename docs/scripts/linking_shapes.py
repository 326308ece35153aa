"""Pairs of files with known right answers, for docs/linking_coverage.md: generated, MovieLens latest-small and Online Retail.

Development pairs and held-out pairs share no person of the real files, no seed and no setting of
the generators.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import standout as so
from standout.data.labels import find_labels
from standout.linking.people import people as one_query_each

Array = np.ndarray

DEVELOPMENT, HELD_OUT = 0, 1
"""Halves of the people of a real file, and which seeds and settings are used."""
DAY = 86_400


class Pair(NamedTuple):
    """A release, a second file, and the record of each of its people, -1 = absent."""

    name: str
    release: so.Dataset
    known: so.Knowledge
    right: Array
    one_to_one: bool = False


class Facts(NamedTuple):
    """How a second file is made of a person's entries."""

    fewest: int = 3
    most: int = 10
    wrong: float = 0.25
    """Share of items that the person does not have."""
    moved: float = 0.3
    """Share of values that are one step off."""
    days: int = 7
    """Largest error of a day."""
    overlap: float = 0.5
    """Share of the people who are in the release."""
    people: int = 300
    use: str = "items, values, days"
    one_to_one: bool = False


def generated(role: int, seed: int, kind: str, facts: Facts) -> Pair:
    """People with tastes ("taste"), without ("plain"), or in families who share items ("family")."""
    rng = np.random.default_rng([role, seed, 79])
    n, n_items, power, length = ((700, 400, 0.6, 24), (900, 600, 0.9, 18))[role]
    popularity = 1 / np.arange(1, n_items + 1) ** power
    group = rng.integers(0, (6, 10)[role], n_items)
    families = rng.random((n // 4, n_items)) ** 8
    rows = []
    for person in range(n):
        weight = popularity.copy()
        if kind == "taste":
            weight = weight * np.where(group == person % (6, 10)[role], 4.0, 1.0)
        elif kind == "family":
            weight = weight * (0.2 + 4 * families[person // 4])
        size = int(rng.integers(length // 2, 2 * length))
        item = rng.choice(n_items, size, replace=False, p=weight / weight.sum())
        day = rng.integers(0, 1000) + rng.integers(0, 400, size)
        rows.append(np.column_stack([np.full(size, person), item, rng.integers(1, 6, size), day]))
    return noisy(f"generated, {kind}", np.concatenate(rows).astype(np.float64), facts, rng)


def noisy(
    name: str, entries: Array, facts: Facts, rng: np.random.Generator, kept: float = 1.0
) -> Pair:
    """Some facts about some people with wrong items, values and days; a share `kept` of the entries is released.

    Parameters
    ----------
    name
        What the entries are.
    entries
        (entries, 4): person, item, value, day.
    facts
        What is known.
    rng
        Random numbers.
    kept
        Share of the entries that the release holds.
    """
    everyone = np.unique(entries[:, 0])
    told = np.sort(rng.permutation(everyone)[: facts.people])
    gone = rng.permutation(told)[: round((1 - facts.overlap) * told.size)]
    start = np.searchsorted(entries[:, 0], everyone)
    levels, low, high = np.unique(entries[:, 2]), entries[:, 3].min(), entries[:, 3].max()
    items = entries[:, 1].astype(np.int64)
    rows = []
    for person in told:
        at = int(np.searchsorted(everyone, person))
        mine = entries[start[at] : start[at + 1] if at + 1 < start.size else len(entries)]
        some = mine[
            rng.permutation(len(mine))[: int(rng.integers(facts.fewest, facts.most + 1))]
        ].copy()
        step = np.searchsorted(levels, some[:, 2]) + np.where(
            rng.random(len(some)) < facts.moved, rng.choice([-1, 1], len(some)), 0
        )
        some[:, 2] = levels[np.clip(step, 0, levels.size - 1)]
        some[:, 3] += rng.integers(-facts.days, facts.days + 1, len(some))
        wrong = rng.random(len(some)) < facts.wrong
        # a wrong item is as popular as an entry drawn at random
        some[wrong, 1] = items[rng.integers(0, items.size, int(wrong.sum()))]
        some[wrong, 2] = rng.choice(levels, int(wrong.sum()))
        some[wrong, 3] = rng.integers(low, high + 1, int(wrong.sum()))
        rows.append(some)
    known, released = (
        np.concatenate(rows),
        entries[~np.isin(entries[:, 0], gone) & (rng.random(len(entries)) < kept)],
    )
    value, time = "values" in facts.use, "days" in facts.use
    label = (
        f"{name}, {facts.fewest}–{facts.most} facts, {100 * facts.wrong:.0f} % wrong, {facts.use}, "
        f"overlap {100 * facts.overlap:.0f} %{', one-to-one' if facts.one_to_one else ''}"
    )
    return pair(label, released, known, value, time)._replace(one_to_one=facts.one_to_one)


def pair(name: str, released: Array, known: Array, value: bool, time: bool) -> Pair:
    """Rows (person, item, value, day) of both files as a pair."""
    release = so.Dataset.from_arrays(
        released[:, 0].astype(np.int64),
        released[:, 1].astype(np.int64),
        released[:, 2] if value else None,
        released[:, 3] if time else None,
    )
    second = so.Knowledge.from_arrays(
        known[:, 0].astype(np.int64),
        known[:, 1].astype(np.int64),
        known[:, 2] if value else None,
        np.floor(known[:, 3]) if time else None,
    )
    return Pair(name, release, second, find_labels(release.record_labels, second.queries))


def half(frame: pd.DataFrame, who: str, role: int) -> pd.DataFrame:
    """One half of the people, by a hash of their numbers."""
    return frame[(frame[who].to_numpy() * 2654435761 % 2**32 >> 16) % 2 == role]


def ratings(folder: Path, role: int) -> Array:
    """MovieLens entries of one half of the users."""
    frame = half(pd.read_csv(folder / "ml-latest-small" / "ratings.csv.gz"), "userId", role)
    frame = frame.assign(day=np.floor(frame["timestamp"] / DAY))
    return frame[["userId", "movieId", "rating", "day"]].to_numpy(np.float64)


def tags(folder: Path, role: int, dated: bool, removed: bool) -> Pair:
    """Tags are mentions of movies; `removed`: every second mentioner is not in the release."""
    entries = ratings(folder, role)
    frame = half(pd.read_csv(folder / "ml-latest-small" / "tags.csv"), "userId", role)
    known = frame.assign(value=np.nan, day=np.floor(frame["timestamp"] / DAY))
    known = known[["userId", "movieId", "value", "day"]].to_numpy(np.float64)
    if removed:
        entries = entries[~np.isin(entries[:, 0], np.unique(known[:, 0])[::2])]
    name = f"MovieLens, tags{' with dates' if dated else ''}{', half removed' if removed else ''}"
    release = so.Dataset.from_arrays(
        entries[:, 0].astype(np.int64), entries[:, 1].astype(np.int64), entries[:, 2], entries[:, 3]
    )
    second = so.Knowledge.from_arrays(
        known[:, 0].astype(np.int64),
        known[:, 1].astype(np.int64),
        None,
        known[:, 3] if dated else None,
    )
    return Pair(name, release, second, find_labels(release.record_labels, second.queries))


def purchases(folder: Path, role: int) -> list[pd.DataFrame]:
    """Lines of two years, of one half of the customers."""
    out = []
    for name, who in (
        ("online_retail_II_2009-2010", "Customer ID"),
        ("online_retail", "CustomerID"),
    ):
        frame = pd.read_csv(
            folder / "online-retail" / f"{name}.csv.gz",
            parse_dates=["InvoiceDate"],
            dtype={"StockCode": str},
        )
        frame = frame.rename(columns={who: "customer"}).dropna(subset=["customer"])
        # both files hold the first days of December 2010
        shared = (frame["InvoiceDate"] >= "2010-12-01") & (frame["InvoiceDate"] < "2010-12-10")
        frame = frame[(frame["Quantity"] > 0) & ~shared]
        frame = frame.assign(
            customer=frame["customer"].astype(int), day=frame["InvoiceDate"].dt.floor("D")
        )
        out.append(half(frame, "customer", role))
    return out


def shop_pair(
    name: str, known: pd.DataFrame, released: pd.DataFrame, people: int, seed: int
) -> Pair:
    """Customers of both files, `people` of the first one at most."""
    rng = np.random.default_rng(seed)
    some = rng.permutation(np.unique(known["customer"]))[:people]
    known = known[known["customer"].isin(some)]
    release, second = (
        so.Dataset.from_arrays(
            x["customer"].to_numpy(),
            x["StockCode"].to_numpy().astype(str),
            x["Quantity"].to_numpy(),
            x["day"].to_numpy(),
        )
        for x in (released, known)
    )
    return Pair(
        f"Online Retail, {name}",
        release,
        one_query_each(second),
        find_labels(release.record_labels, second.record_labels),
    )


def shops(folder: Path, role: int) -> Iterator[Pair]:
    """Years and half-years against each other, and lines split at random."""
    first, second = purchases(folder, role)
    yield shop_pair("2009–10 → 2010–11", first, second, 600, 1)
    yield shop_pair("2010–11 → 2009–10", second, first, 600, 2)
    for name, frame in (("2009–10", first), ("2010–11", second)):
        early = frame["day"] < frame["day"].quantile(0.5)
        yield shop_pair(f"{name}, first half → second half", frame[early], frame[~early], 600, 3)
        lines = np.random.default_rng(4).random(len(frame)) < 0.5
        some = np.unique(frame["customer"])[::2]
        released = frame[~lines & ~frame["customer"].isin(some[::2])]
        yield shop_pair(
            f"{name}, half of the lines → the others, a quarter absent",
            frame[lines],
            released,
            600,
            5,
        )
    none = first[~first["customer"].isin(second["customer"])]
    yield shop_pair("2009–10 → 2010–11, nobody in both", none, second, 600, 6)


def movies(folder: Path, role: int) -> Iterator[Pair]:
    """Noisy facts of one half of the users, and tags."""
    entries = ratings(folder, role)
    everything, plain = "items, values, days", "items"
    for k, facts in enumerate(
        (
            Facts(3, 10, 0.25, overlap=0.5, use=plain),
            Facts(3, 10, 0.4, overlap=1.0, use="items, values"),
            Facts(3, 10, 0.3, 0.4, 30, 0.5, use=everything),
            Facts(3, 10, 0.3, overlap=0.0, use="items, values"),
            Facts(8, 30, 0.4, overlap=0.7, use=plain),
            Facts(3, 6, 0.3, overlap=1.0, use=plain),
            Facts(10, 40, 0.2, 0.2, overlap=0.5, use="items, values"),
            Facts(3, 10, 0.3, overlap=0.5, use="items, values", one_to_one=True),
        )
    ):
        rng = np.random.default_rng([role, k, 80])
        yield noisy("MovieLens", entries, facts._replace(people=250), rng, kept=0.8)
    for dated in (False, True):
        for removed in (False, True):
            yield tags(folder, role, dated, removed)


OVERLAPS = (0.0, 0.1, 0.5, 1.0)
FEW_FACTS: tuple[tuple[tuple[str, Facts], ...], ...] = (
    (
        ("plain", Facts(3, 10, 0.25, use="items")),
        ("taste", Facts(3, 10, 0.25, use="items, values")),
        ("taste", Facts(3, 8, 0.4, use="items")),
        ("family", Facts(3, 10, 0.2, use="items")),
        ("taste", Facts(3, 10, 0.4, use="items, values, days")),
        ("plain", Facts(3, 6, 0.15, use="items, days")),
        ("taste", Facts(3, 10, 0.6, use="items")),
    ),
    (
        ("plain", Facts(3, 10, 0.3, 0.4, 15, people=400, use="items, values")),
        ("taste", Facts(3, 10, 0.15, 0.4, 15, people=400, use="items")),
        ("taste", Facts(3, 10, 0.5, 0.4, 15, people=400, use="items, days")),
        ("family", Facts(3, 8, 0.3, 0.4, 15, people=400, use="items, values")),
        ("taste", Facts(3, 7, 0.3, 0.4, 15, people=400, use="items, values, days")),
        ("plain", Facts(3, 9, 0.45, 0.4, 15, people=400, use="items")),
        ("plain", Facts(3, 10, 0.65, 0.4, 15, people=400, use="items")),
        ("taste", Facts(3, 10, 0.55, 0.4, 15, people=400, use="items, values")),
    ),
)
"""Kinds and facts of generated pairs, each with all overlaps: development, held-out."""
OTHERS: tuple[tuple[tuple[str, Facts], ...], ...] = (
    (
        ("taste", Facts(10, 25, 0.3, overlap=0.4, use="items")),
        ("family", Facts(8, 20, 0.2, overlap=0.5, use="items")),
        ("plain", Facts(8, 16, 0.3, overlap=0.5, use="items, values")),
        ("taste", Facts(3, 10, 0.3, overlap=0.5, use="items", one_to_one=True)),
    ),
    (
        ("taste", Facts(8, 20, 0.2, people=400, overlap=0.6, use="items")),
        ("family", Facts(10, 18, 0.3, people=400, overlap=0.3, use="items, values")),
        ("plain", Facts(9, 18, 0.4, people=400, overlap=0.5, use="items")),
        ("taste", Facts(4, 9, 0.25, people=400, overlap=0.6, use="items, values", one_to_one=True)),
    ),
)
"""The same, with more facts or one-to-one."""


def pairs(folder: Path | None, role: int) -> Iterator[Pair]:
    """All pairs of a role, made one at a time; only generated ones without a folder."""
    few = [
        (kind, facts._replace(overlap=overlap))
        for kind, facts in FEW_FACTS[role]
        for overlap in OVERLAPS
    ]
    for seed, (kind, facts) in enumerate([*few, *OTHERS[role]]):
        yield generated(role, seed, kind, facts)
    if folder is not None:
        yield from movies(folder, role)
        yield from shops(folder, role)


def outcome(pair: Pair, links: Any) -> Array:
    """Whether each best record is the right one."""
    return np.asarray((links.best == pair.right) & (pair.right >= 0))
