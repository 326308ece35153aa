"""Releases that are dressed to look safe, and releases that are safe: what the gate says about each.

    python docs/scripts/gate_dressing.py [dressed|safe|groups]

prints the tables of docs/gate.md. `make gate-dressing` calls it. Each release is written to a file
and read as `standout check SOURCE --release FILE` reads it. The policy is the one that `standout
policy init --domain media` writes. Where no defense is stated, it does not require that one is
stated (adaptive = false): no release fails for that alone.
"""

from __future__ import annotations

import csv
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import standout as so
from standout.cli.reading import read_release
from standout.gate.template import template

N, ITEMS = 800, 400
CROWD = 100


class Table(NamedTuple):
    """Entries of a dataset, as arrays of one length."""

    person: np.ndarray
    item: np.ndarray
    value: np.ndarray
    day: np.ndarray

    def take(self, at: Any) -> Table:
        return Table(*(x[at] for x in self))

    def join(self, *others: Table) -> Table:
        return Table(*(np.concatenate(x) for x in zip(self, *others, strict=True)))

    def named(self, label: Callable[[np.ndarray], np.ndarray]) -> Table:
        return self._replace(person=label(self.person))


class Case(NamedTuple):
    """A release of a source; no release = the source itself is checked."""

    name: str
    source: Table
    release: Table | None
    claim: str | None = None
    header: tuple[str, ...] = ("userId", "movieId", "rating", "date")


def unsafe(n: int = N, seed: int = 0) -> Table:
    """Everybody has a record of their own: with 8 facts nearly everybody is found."""
    rng = np.random.default_rng(seed)
    popular = np.arange(1, ITEMS + 1) ** -0.7
    rows = [
        rng.choice(ITEMS, k, replace=False, p=popular / popular.sum())
        for k in rng.integers(12, 26, n)
    ]
    person, item = np.repeat(np.arange(n), [r.size for r in rows]), np.concatenate(rows)
    return Table(
        person, item, rng.integers(1, 6, item.size), 14_000 + rng.integers(0, 700, item.size)
    )


def crowds(n: int = 20 * CROWD, seed: int = 1) -> Table:
    """Groups of 100 people with equal records."""
    model = unsafe(n // CROWD, seed)
    return _several([model.named(lambda p, k=k: p * CROWD + k) for k in range(CROWD)])


def _several(parts: list[Table]) -> Table:
    return parts[0].join(*parts[1:])


def _copies(data: Table, times: int, changed: int = 0, seed: int = 3) -> Table:
    """The data and copies under new labels; in each copy some entries have another item."""
    rng = np.random.default_rng(seed)
    parts = [data]
    for k in range(1, times):
        copy = data.named(lambda p, k=k: p + 100_000 * k)
        if changed:
            order = rng.random(copy.person.size)
            rank = np.argsort(np.lexsort((order, copy.person))) - np.searchsorted(
                copy.person, copy.person
            )
            other = (copy.item + rng.integers(1, ITEMS, copy.item.size)) % ITEMS
            copy = copy._replace(item=np.where(rank < changed, other, copy.item))
        parts.append(copy)
    return _several(parts)


def _fresh(data: Table, share: float) -> Table:
    """New pseudonyms for a share of the people."""
    chosen = np.random.default_rng(4).random(int(data.person.max()) + 1) < share
    return data.named(lambda p: np.where(chosen[p], p + 500_000, p))


def _rotated(data: Table, who: np.ndarray) -> Table:
    """Labels rotated among the people in `who`."""
    to = np.arange(int(data.person.max()) + 1)
    to[who] = np.roll(who, 1)
    return data.named(lambda p: to[p])


def _split(data: Table, parts: int) -> Table:
    """Each person becomes several; the old label stays at the first, smallest part."""
    rng = np.random.default_rng(5)
    part = np.minimum(
        rng.integers(0, 2 * parts - 1, data.person.size) // 2
        + (rng.random(data.person.size) < 0.3),
        parts - 1,
    )
    return data.named(lambda p: p + 600_000 * part)


def _mixed(share: float) -> Table:
    """A minority with long records of their own behind a safe majority."""
    safe = crowds()
    n = int(share * 20 * CROWD)
    rare = unsafe(n, 6)
    extra = [rare._replace(item=rare.item + ITEMS * (1 + k), day=rare.day + k) for k in range(2)]
    return safe.join(*(x.named(lambda p: p + 50_000) for x in [rare, *extra]))


def dressed() -> Iterator[Case]:
    """Thirty-six ways to dress an unsafe release."""
    data = unsafe()
    everyone, rng = np.arange(N), np.random.default_rng(7)
    spaced = np.unique(np.linspace(0, N - 1, 200).astype(int))
    rotated = _rotated(data, everyone)
    yield Case("columns renamed", data, data, header=("a", "b", "c", "d"))
    yield Case(
        "columns called by other roles", data, data, header=("item_no", "user", "when", "score")
    )
    yield Case("rows shuffled", data, data.take(rng.permutation(data.person.size)))
    yield Case("rows sorted by item", data, data.take(np.argsort(data.item, kind="stable")))
    yield Case("labels shuffled", data, _rotated(data, rng.permutation(everyone)))
    yield Case("labels rotated by one", data, rotated)
    yield Case(
        "labels rotated, except those of 200 evenly spaced people",
        data,
        _rotated(data, np.setdiff1d(everyone, spaced)),
    )
    yield Case("labels rotated for half of the people", data, _rotated(data, everyone[::2]))
    yield Case("labels rotated within people of equal length", data, _by_length(data))
    yield Case("new pseudonyms for everybody", data, _fresh(data, 1.0))
    yield Case("new pseudonyms for 98 % of the people", data, _fresh(data, 0.98))
    yield Case(
        "new pseudonyms for 60 %, the others rotated", data, _fresh(_rotated(data, everyone), 0.6)
    )
    yield Case(
        "as many invented people as real ones",
        data,
        data.join(unsafe(seed=8).named(lambda p: p + 10_000)),
    )
    invented = [unsafe(seed=10 + k).named(lambda p, k=k: p + 10_000 * (1 + k)) for k in range(9)]
    yield Case("nine invented people for each real one", data, data.join(*invented))
    yield Case("one copy of everybody", data, _copies(data, 2))
    yield Case("19 copies of everybody", data, _copies(data, 20))
    yield Case("19 copies, one entry changed in each", data, _copies(data, 20, 1))
    yield Case("19 copies, three entries changed in each", data, _copies(data, 20, 3))
    yield Case("19 copies and new pseudonyms for 98 %", data, _fresh(_copies(data, 20), 0.98))
    yield Case("copies under the labels of people who were left out", data, _under_labels(data))
    yield Case("everybody split in two", data, _split(data, 2))
    yield Case("everybody split in five", data, _split(data, 5))
    yield Case("people merged in pairs", data, data.named(lambda p: p // 2 * 2))
    yield Case("values times ten", data, data._replace(value=10 * data.value))
    yield Case("values reversed", data, data._replace(value=6 - data.value))
    yield Case("times shifted by 400 days", data, data._replace(day=data.day + 400))
    yield Case(
        "times shifted by a year or two per person",
        data,
        data._replace(day=data.day + 365 * (1 + data.person % 2)),
    )
    yield Case("items renamed", data, data._replace(item=data.item + 7000))
    yield Case("items shuffled", data, data._replace(item=rng.permutation(ITEMS)[data.item]))
    yield Case("labels rotated, drop-entries claimed", data, rotated, "drop-entries(share=0.9)")
    yield Case("labels rotated, swap-entries claimed", data, rotated, "swap-entries(share=1)")
    yield Case(
        "new pseudonyms for 98 %, sample-records claimed",
        data,
        _fresh(data, 0.98),
        "sample-records(share=0.02)",
    )
    yield Case(
        "times shifted by 400 days, shift-time claimed",
        data,
        data._replace(day=data.day + 400),
        "shift-time(days=30)",
    )
    yield Case(
        "values reversed, noise-values claimed",
        data,
        data._replace(value=6 - data.value),
        "noise-values(within=1)",
    )
    yield Case("6 % with records of their own behind crowds of 100", _mixed(0.06), None)
    minority = _mixed(0.06)
    of_their_own = np.unique(minority.person[minority.person >= 50_000])
    yield Case(
        "the same, the labels of these 6 % rotated", minority, _rotated(minority, of_their_own)
    )


def _by_length(data: Table) -> Table:
    """Labels rotated among people with records of one length."""
    lengths = np.bincount(data.person)
    for n in np.unique(lengths):
        data = _rotated(data, np.flatnonzero(lengths == n)) if n else data
    return data


def _under_labels(data: Table) -> Table:
    """A fifth of the people is released; the labels of the others carry copies of their records."""
    kept = data.take(data.person % 5 == 0)
    return _several([kept.named(lambda p, k=k: p + k) for k in range(5)])


def safe() -> Iterator[Case]:
    """Twelve releases that are safe by their construction."""
    groups, data = crowds(), unsafe(2000)
    rng = np.random.default_rng(9)
    same = unsafe(1)
    yield Case("groups of 100 equal records", groups, None)
    yield Case(
        "everybody has the same record",
        _several([same.named(lambda p, k=k: p + k) for k in range(500)]),
        None,
    )
    yield Case("groups of 100 that differ in one popular entry", _nearly(groups), None)
    yield Case("people of a group of 100 get one record", _nearly(groups), groups)
    yield Case(
        "groups of 100, rows shuffled, as a release",
        groups,
        groups.take(rng.permutation(groups.person.size)),
    )
    bare = " | drop-values | drop-time"
    sampled = "sample-records(share=0.03) | drop-entries(share=0.5)"
    yield Case("2 % of the people", unsafe(3000), None, "sample-records(share=0.02)")
    yield Case("3 % of the people and half of their entries", unsafe(3000), None, sampled)
    yield Case(
        "one entry per person, without values and times", data, None, "cap-entries(most=1)" + bare
    )
    yield Case(
        "the five most popular items, without values and times",
        data,
        None,
        "keep-top-items(k=5)" + bare,
    )
    coarse = Table(data.person, data.item % 2, 0 * data.value, 0 * data.day)
    yield Case("two coarse items, one value and one day", data, coarse)
    yield Case(
        "95 % of the entries removed, without values and times",
        data,
        None,
        "drop-entries(share=0.95)" + bare,
    )
    yield Case("groups of 100, times shifted per person", groups, None, "shift-time(days=30)")


def _nearly(groups: Table) -> Table:
    """One entry of each person has one of three popular items."""
    first = np.flatnonzero(
        np.diff(groups.person[np.argsort(groups.person, kind="stable")], prepend=-1)
    )
    at = np.argsort(groups.person, kind="stable")[first]
    item = groups.item.copy()
    item[at] = ITEMS + groups.person[at] % 3
    return groups._replace(item=item)


def policy(case: Case) -> dict[str, Any]:
    """The shipped policy for media."""
    rules = {k: v for k, v in tomllib.loads(template("media")).items() if k != "end"}
    return rules if case.claim else {**rules, "adaptive": False}


def checked(case: Case, folder: Path, seed: int = 0, targets: int | None = None) -> tuple[str, str]:
    """Verdict, or "refused", and the row that decides it."""
    try:
        source = so.Dataset.read(
            _written(case.source, folder / "source.csv", Case.__new__.__defaults__[-1])
        )
        release: Any = None
        if case.release is not None:
            path = _written(case.release, folder / "release.csv", case.header)
            release = read_release(path, source, {}, case.claim)
        elif case.claim:
            from standout.defenses.parse import parse_defense

            release = parse_defense(case.claim).apply(source, seed=1234 + seed)
        seen = so.check(
            source, policy(case), release=release, seed=seed, targets=targets, progress=False
        )
    except so.StandoutError as error:
        return "refused", str(error)
    rows = [row for row in seen.table if row["verdict"] == seen.verdict] or list(seen.table)
    return seen.verdict, f"{rows[0]['limit']}: {rows[0]['why']}"


def _written(data: Table, path: Path, header: tuple[str, ...]) -> Path:
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(header)
        days = np.asarray(data.day, "datetime64[D]").astype(str)
        out.writerows(
            zip(
                data.person.tolist(),
                data.item.tolist(),
                data.value.tolist(),
                days.tolist(),
                strict=True,
            )
        )
    return path


def table(cases: Iterator[Case]) -> Counter[str]:
    """Print one row per case."""
    count: Counter[str] = Counter()
    print("| release | defense stated | verdict | why |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            verdict, why = checked(case, Path(folder))
            count[verdict] += 1
            cells = [
                text.replace("|", "/")
                for text in (case.name, case.claim or "–", verdict, why[:160])
            ]
            print(f"| {' | '.join(cells)} |", flush=True)
    return count


def planted(n_risky: int, n: int = 3200, seed: int = 0) -> so.Dataset:
    """Crowds of 50 people with equal records, and some people with long records of items of their own."""
    rng = np.random.default_rng(seed)
    n_crowds = (n - n_risky) // 50
    lengths = np.concatenate(
        [rng.integers(4, 9, n_crowds).repeat(50), rng.integers(15, 60, n_risky)]
    )
    first = np.concatenate([np.arange(n_crowds).repeat(50) * 10, 10**6 + np.arange(n_risky) * 100])
    record = np.repeat(np.arange(lengths.size), lengths)
    within = np.arange(record.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return so.Dataset.from_arrays(record, first[record] + within)


def trial(runs: int = 100) -> None:
    """Print how often a planted group is found, and how often safe data passes, over random seeds."""
    print("| data | mode | runs | pass | fail | unclear |\n|---|---|---:|---:|---:|---:|")
    for name, share in (
        ("200 of 3,200 people with records of their own", 0.0625),
        ("80 of 3,200", 0.025),
        ("nobody", 0.0),
    ):
        data = planted(int(share * 3200))
        for sequential in (True, False):
            rules = {
                "adversary": {"a": {"knows": 3}},
                "attacks": ["scoreboard-rh"],
                "self_test": False,
                "sequential": sequential,
                "limit": [
                    {"name": "everybody", "max": 0.09, "adversaries": ["a"]},
                    {"name": "groups", "max": 0.18, "adversaries": ["a"], "by": "risk"},
                ],
            }
            count = Counter(
                so.check(data, rules, seed=seed, progress=False).verdict for seed in range(runs)
            )
            mode = "sequential" if sequential else "fixed"
            print(
                f"| {name} | {mode} | {runs} | {count['pass']} | {count['fail']} | {count['unclear']} |",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    wanted = sys.argv[1:] or ["dressed", "safe", "groups"]
    for name, cases in (("dressed", dressed), ("safe", safe)):
        if name in wanted:
            began = time.process_time()
            count = table(cases())
            print(f"\n{dict(count)}; {time.process_time() - began:.0f} CPU seconds\n")
    if "groups" in wanted:
        began = time.process_time()
        trial()
        print(f"\n{time.process_time() - began:.0f} CPU seconds")


if __name__ == "__main__":
    main()
