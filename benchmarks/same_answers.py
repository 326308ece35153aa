"""Check that a change of the code changes no answer: record the answers of two versions, and compare them.

    python benchmarks/same_answers.py record before.json --data FOLDER      # with the old code
    python benchmarks/same_answers.py record after.json --data FOLDER       # with the new code
    python benchmarks/same_answers.py compare before.json after.json

Every cell holds digests, which must be equal bit for bit, and sums of floating-point numbers, which
must agree within 1e-9. The cells cover record keys, fingerprints and drawn knowledge; every attack
on every kind of knowledge, target present and removed; each engine that this machine has; every
defense with its naive, fitted and adaptive attackers; linking; the gate; further channels,
attributes, choices and views; theory and the frontier. FOLDER holds MovieLens
latest-small and Online Retail; without it, only synthetic data is used.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import standout as so
from standout.data.synthetic import twin_dataset

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from defenses.settings import WEAK

Array = npt.NDArray[Any]
Cell = dict[str, Any]

ADVERSARIES: tuple[dict[str, Any], ...] = (
    {"knows": 3},
    {"knows": 2, "value_within": 0, "time_within": 3},
    {"knows": 4, "wrong": 1, "wrong_kind": "value", "value_within": 1, "time_within": 14},
    {"knows": 5, "wrong": 1, "wrong_kind": "item"},
    {"knows": 8, "wrong": 0.25, "value_within": 1, "time_within": 14},
    {"knows": 4, "choose": "outside-top:100", "value_within": 1},
    {"knows": 4, "choose": "rare:0.5@0.2", "value_within": 1},
    {"knows": 3, "gamma": 0.1},
    {"knows": 3, "value_within": "10%", "time_within": 3},
    {"knows": 3, "value_within": 1, "length_within": 0.5},
)
HOURLY: tuple[dict[str, Any], ...] = (
    {"knows": 2, "value_within": None, "time_within": 0},
    {"knows": 2, "value_within": None, "time_within": "2h"},
    {"knows": 4, "wrong": 1, "value_within": None, "time_within": "3h"},
)
SHOP: tuple[dict[str, Any], ...] = (
    {"knows": 2, "within": {"price": "10%"}},
    {"knows": 2, "within": {"price": "10%", "quantity": 0, "branch": 0, "time": 1}},
    {"knows": 3, "wrong": 1, "within": {"quantity": 1, "time": 2}},
    {"knows": 0, "within": {"age": 2, "postcode": 0}},
    {"knows": 2, "within": {"age": 2, "postcode": 0, "time": 7}},
    {"knows": 3, "choose": "event"},
    {"knows": 3, "choose": "popular"},
    {"knows": 3, "wrong": 1, "choose": "event", "wrong_kind": "item"},
    {"knows": 2, "choose": "favorite"},
    {"knows": 2, "choose": "recent", "time_within": 3},
    {"knows": 2, "choose": "rarest"},
    {"knows": 2, "choose": "together:receipt"},
    {"knows": 2, "choose": "window:7d", "time_within": 3},
    {"knows": 2, "choose": "consecutive"},
    {"knows": 2, "view": "counts", "within": {"count": 1}},
    {"knows": 2, "view": "totals:price", "within": {"total": "10%"}},
    {"knows": 2, "view": "sequence", "time_within": 1},
    {"knows": 2, "view": "weekday", "within": {"weekday": 0}},
)
POLICY: dict[str, Any] = {
    "version": 1,
    "confidence": 0.95,
    "targets": 300,
    "adversary": {
        "casual": {"knows": 2, "value_within": "none", "time_within": "none"},
        "fan": {"knows": 4, "wrong": 1},
    },
    "limit": [{"measure": "hit", "max": 0.2, "adversaries": ["casual", "fan"]}],
}
TARGETS = 150
SEED = 7


def digest(*arrays: Any) -> str:
    """One digest for arrays of any type."""
    parts = [
        f"{a.dtype}{a.shape}".encode() + a.tobytes() for a in map(np.ascontiguousarray, arrays)
    ]
    return sha256(b"".join(parts)).hexdigest()


def plain(content: Any) -> Cell:
    """Plain data as a cell: a digest of everything but floating-point numbers, and these numbers."""
    numbers: list[float] = []

    def without_floats(x: Any) -> Any:
        if isinstance(x, dict):
            return {
                str(k): without_floats(v)
                for k, v in sorted(x.items(), key=lambda pair: str(pair[0]))
            }
        if isinstance(x, list | tuple):
            return [without_floats(v) for v in x]
        if isinstance(x, float):
            numbers.append(x if math.isfinite(x) else -1.0)
            return "number"
        return x

    text = json.dumps(without_floats(content), sort_keys=True, default=str)
    return {"exact": sha256(text.encode()).hexdigest(), "sums": numbers}


def datasets(folder: Path | None) -> dict[str, so.Dataset]:
    """Synthetic data, and the public datasets that the folder holds; times in days."""
    made = {
        "twin": twin_dataset(4000, 800, seed=SEED, mean_length=40),
        "visits": visits(),
        "shop": shop(),
    }
    if folder:
        made["movielens"] = so.Dataset.read(
            folder / "ml-latest-small" / "ratings.csv.gz", resolution="day"
        )
        made["retail"] = so.Dataset.read(
            folder / "online-retail" / "online_retail.csv.gz",
            resolution="day",
            record="CustomerID",
            item="StockCode",
            value="Quantity",
            time="InvoiceDate",
        )
    return made


def visits() -> so.Dataset:
    """Visits with repeats, to the hour, without values."""
    rng = np.random.default_rng(SEED)
    record = np.repeat(np.arange(600), rng.integers(4, 20, 600))
    place = np.minimum((60 * rng.random(record.size) ** 2).astype(np.int64), 59)
    hour = np.datetime64("2024-03-01T00") + rng.integers(0, 24 * 60, record.size)
    columns = {"person": record, "place": place, "when": hour.astype("datetime64[s]")}
    import pandas as pd

    return so.Dataset.from_frame(
        pd.DataFrame(columns), record="person", item="place", time="when", resolution="hour"
    )


def shop() -> so.Dataset:
    """Purchases with repeats, three further channels and two attributes of the person."""
    rng = np.random.default_rng(SEED + 1)
    record = np.repeat(np.arange(500), rng.integers(3, 25, 500))
    n = record.size
    age, postcode = rng.integers(18, 80, 500), rng.integers(0, 60, 500)
    return so.Dataset.from_arrays(
        record,
        np.minimum(rng.zipf(1.3, n), 120),
        time=20_000 + rng.integers(0, 300, n),
        channels={
            "price": np.round(rng.lognormal(2, 1, n), 2),
            "quantity": rng.integers(1, 6, n),
            "branch": np.array(list("abcdefg"))[rng.integers(0, 7, n)],
            "receipt": record * 10 + rng.integers(0, 4, n),
        },
        attributes={"age": age[record], "postcode": np.char.add("P", postcode.astype(str))[record]},
    )


def fitting(dataset: so.Dataset) -> Iterator[so.Adversary]:
    """The adversaries that fit the channels of a dataset."""
    hourly = HOURLY if dataset.time_resolution == "hour" else ADVERSARIES
    for options in SHOP if dataset.channels else hourly:
        if dataset.has_time or options.get("time_within") is None:
            yield so.Adversary(**options)


def targets_of(who: so.Adversary, dataset: so.Dataset) -> Array:
    """The records that are attacked."""
    return np.asarray(who.eligible(dataset))[::3][:TARGETS]


def identity(dataset: so.Dataset) -> Iterator[tuple[str, Cell]]:
    """Record keys, fingerprint, and the knowledge of each adversary."""
    yield "keys", {"exact": digest(dataset.rows(np.arange(dataset.n_records)).keys), "sums": []}
    yield "fingerprint", {"exact": dataset.fingerprint, "sums": []}
    for who in fitting(dataset):
        targets = targets_of(who, dataset)
        drawn = who.sample(dataset, targets=targets, seed=SEED)
        exact = digest(drawn.query_ptr, drawn.item.astype(str))
        numbers = [float(np.nansum(a)) for a in (drawn.value, drawn.time, drawn.length)]
        yield f"knowledge, {who.to_dict()}", {"exact": exact, "sums": numbers}


def cell_of(seen: so.Verdicts) -> Cell:
    """One run of an attack."""
    exact = (seen.best, seen.n_tied, seen.rank, seen.matched, seen.n_candidates)
    sums = [
        float(np.nansum(np.where(np.isfinite(a), a, 0.0)))
        for a in (seen.score, seen.sigma, seen.bits)
    ]
    return {"exact": digest(*(np.ascontiguousarray(a, np.int64) for a in exact)), "sums": sums}


def attacks(
    dataset: so.Dataset, engine: Any = "memory", names: tuple[str, ...] = ()
) -> Iterator[tuple[str, Cell]]:
    """Every attack with every adversary, target present and removed."""
    for who in fitting(dataset):
        targets = targets_of(who, dataset)
        if not targets.size:
            continue
        knowledge = who.sample(dataset, targets=targets, seed=SEED)
        for name in names or so.attack_names():
            for gone in (None, targets):
                watch = targets if gone is None else None
                seen = so.attack(name).run(dataset, knowledge, engine, watch=watch, exclude=gone)
                yield (
                    f"{name}, {who.to_dict()}, {'present' if gone is None else 'absent'}",
                    cell_of(seen),
                )


def engines(dataset: so.Dataset) -> Iterator[tuple[str, Cell]]:
    """Three attacks on each engine that this machine has."""
    names = ("scoreboard-rh", "likelihood", "unicity")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "entries.parquet"
        dataset.to_frame().to_parquet(file)
        made = so.ChunkedDataset.read(file, memory="300MB")
        for cell, answer in attacks(made, made.home_engine, names):
            yield f"chunked, {cell}", answer
    for name in ("spark", "gpu"):
        try:
            engine = so.SparkEngine() if name == "spark" else _gpu()
        except (so.StandoutError, ImportError):
            print(f"no {name} here: its cells are left out", file=sys.stderr)
            continue
        for cell, answer in attacks(dataset, engine, names):
            yield f"{name}, {cell}", answer


def _gpu() -> Any:
    from standout.engines.gpu import GpuEngine

    return GpuEngine()


def defended(dataset: so.Dataset) -> Iterator[tuple[str, Cell]]:
    """Every defense, and the findings of an audit of its release."""
    who = [
        so.Adversary(knows=4, value_within=1, time_within=14),
        so.Adversary(knows=4, wrong=1, wrong_kind="item"),
    ]
    for name in so.defense_names():
        release = so.defense(name, **WEAK[name]).apply(dataset, seed=SEED)
        yield f"{name}: release", {"exact": release.fingerprint, "sums": []}
        audit = so.Audit(
            dataset,
            who,
            ["scoreboard-rh", "likelihood"],
            100,
            SEED,
            release=release,
            describe=False,
        )
        yield f"{name}: audit", plain(audit.run(progress=False).to_dict()["results"])


def linked(dataset: so.Dataset) -> Iterator[tuple[str, Cell]]:
    """Linking noisy facts of half of the people."""
    who = so.Adversary(knows=6, wrong=0.2, value_within=1, time_within=7)
    people = np.asarray(who.eligible(dataset))[::2][:200]
    links = so.link(dataset, who.sample(dataset, targets=people, seed=SEED), seed=SEED)
    yield "link", plain(links.to_frame().to_dict("list"))


def gated(dataset: so.Dataset) -> Iterator[tuple[str, Cell]]:
    """Verdict, table and counts of the gate."""
    made = so.check(dataset, POLICY, seed=SEED, progress=False).to_dict()
    yield "check", plain({key: made[key] for key in ("verdict", "table", "tests", "cells")})


def results(dataset: so.Dataset) -> Iterator[tuple[str, Cell]]:
    """What the other functions return: theory, risk per person, all combinations, one frontier."""
    who = so.Adversary(knows=3, value_within=1, time_within=14)
    made = {
        "describe": so.describe(dataset, seed=SEED).to_dict(),
        "bounds": so.bounds(dataset, seed=SEED).to_dict(),
        "risk": so.risk(dataset, who, targets=100, seed=SEED).to_frame().to_dict("list"),
        "worst case": so.worst_case(dataset, knows=1, targets=100).to_frame().to_dict("list"),
        "frontier": [
            {name: x for name, x in cell.items() if "seconds" not in name}
            for cell in so.frontier(
                dataset,
                defenses=["drop-entries(share=0.5)", "coarsen-time(to=month)"],
                targets=100,
                seed=SEED,
                progress=False,
            ).to_dict()["cells"]
        ],
    }
    for name, content in made.items():
        yield name, plain(content)


def record(folder: Path | None) -> dict[str, dict[str, Cell]]:
    """All cells of all datasets."""
    out: dict[str, dict[str, Cell]] = {}
    for name, dataset in datasets(folder).items():
        parts = [identity(dataset), attacks(dataset)]
        if name == "twin":
            small = dataset.take(np.arange(1000))
            parts += [engines(small), defended(small), linked(small), gated(small), results(small)]
        out[name] = {cell: answer for part in parts for cell, answer in part}
        print(f"{name}: {len(out[name])} cells", file=sys.stderr)
    return out


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; return the number of differences."""
    differ = 0
    for data, cells in before.items():
        for cell, old in cells.items():
            new = after.get(data, {}).get(cell)
            same = (
                new is not None
                and new["exact"] == old["exact"]
                and len(new["sums"]) == len(old["sums"])
            )
            if not same or not np.allclose(new["sums"], old["sums"], rtol=1e-9, atol=1e-9):
                differ += 1
                print(f"{data}: {cell}: {'numbers differ' if same else 'answers differ'}")
    print(f"{sum(len(cells) for cells in before.values())} cells, {differ} differ")
    return differ


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.what == "compare":
        one, other = (json.loads(path.read_text()) for path in given.files[:2])
        return min(compare(one, other), 1)
    given.files[0].write_text(json.dumps(record(given.data), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
