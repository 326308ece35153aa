"""Check that a change of the code changes no answer: record the answers of two versions, and compare them.

    python benchmarks/same_answers.py record before.json --data FOLDER      # with the old code
    python benchmarks/same_answers.py record after.json --data FOLDER       # with the new code
    python benchmarks/same_answers.py compare before.json after.json

Records, for every attack and several kinds of knowledge with a fixed seed, digests of the best record, ties, ranks and
decisions of each query, which must be equal bit for bit, and the sums of scores and of bits, which must agree within 1e-9.
FOLDER holds MovieLens latest-small and Online Retail; without it, only the twin is used.
"""

from __future__ import annotations

import argparse
import json
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import standout as so
from standout.data.synthetic import twin_dataset

ADVERSARIES: tuple[dict[str, Any], ...] = (
    {"knows": 3},
    {"knows": 2, "value_within": 0, "time_within": 3},
    {"knows": 4, "wrong": 1, "wrong_kind": "value", "value_within": 1, "time_within": 14},
    {"knows": 5, "wrong": 1, "wrong_kind": "item"},
    {"knows": 8, "wrong": 0.25, "value_within": 1, "time_within": 14},
    {"knows": 4, "choose": "outside-top:100", "value_within": 1},
)
TARGETS = 150
SEED = 7


def datasets(folder: Path | None) -> dict[str, so.Dataset]:
    """The synthetic release, and the public datasets that the folder holds."""
    made = {"twin": twin_dataset(4000, 800, seed=SEED, mean_length=40)}
    if folder:
        made["movielens"] = so.Dataset.read(folder / "ml-latest-small" / "ratings.csv.gz")
        made["retail"] = so.Dataset.read(
            folder / "online-retail" / "online_retail.csv.gz",
            record="CustomerID", item="StockCode", value="Quantity", time="InvoiceDate",
        )  # fmt: skip
    return made


def answers(dataset: so.Dataset) -> dict[str, Any]:
    """Digests and sums per attack and adversary."""
    out: dict[str, Any] = {}
    for options in ADVERSARIES:
        told = {k: v for k, v in options.items() if (k != "time_within" or dataset.has_time)}
        who = so.Adversary(**told)
        targets = np.asarray(who.eligible(dataset))[::3][:TARGETS]
        knowledge = who.sample(dataset, targets=targets, seed=SEED)
        for name in so.attack_names():
            for gone in (None, targets):
                watch = targets if gone is None else None
                seen = so.attack(name).run(dataset, knowledge, watch=watch, exclude=gone)
                exact = (seen.best, seen.n_tied, seen.rank, seen.matched, seen.n_candidates)
                digest = sha256(b"".join(np.ascontiguousarray(a, np.int64).tobytes() for a in exact)).hexdigest()
                finite = [
                    float(np.nansum(np.where(np.isfinite(a), a, 0.0))) for a in (seen.score, seen.sigma, seen.bits)
                ]
                out[f"{name}, {told}, {'present' if gone is None else 'absent'}"] = {"exact": digest, "sums": finite}
    return out


def compare(before: dict[str, Any], after: dict[str, Any]) -> int:
    """Print what differs; return the number of differences."""
    differ = 0
    for data, cells in before.items():
        for cell, old in cells.items():
            new = after.get(data, {}).get(cell)
            same = new is not None and new["exact"] == old["exact"]
            if not same or not np.allclose(new["sums"], old["sums"], rtol=1e-9, atol=1e-9):
                differ += 1
                print(f"{data}: {cell}: {'sums differ' if same else 'answers differ'}")
    print(f"{sum(len(cells) for cells in before.values())} cells, {differ} differ")
    return differ


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    if given.what == "compare":
        one, other = (json.loads(path.read_text()) for path in given.files[:2])
        return min(compare(one, other), 1)
    found = {name: answers(dataset) for name, dataset in datasets(given.data).items()}
    given.files[0].write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
