"""What further level channels cost: scoring and making tables with 0 to 3 of them, against the value and time alone.

    python benchmarks/channels.py [--entries 1500000]

The times of one run are compared with each other; their absolute size depends on the machine.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import standout as so
from standout.attacks.queries import bound
from standout.engines.engine import engine
from standout.scoring.tasks import Score

NAMES = ("price", "quantity", "shop")


def made(n: int) -> so.Dataset:
    """Purchases: 20,000 people, 4,000 products, 5,000 prices that depend on the product, quantities, shops, days."""
    rng = np.random.default_rng(7)
    item = (4_000 * rng.random(n) ** 2).astype(np.int64)
    price = np.round((item % 400 + 1) * rng.choice([1.0, 0.9, 0.8, 1.1], n), 2)
    return so.Dataset.from_arrays(
        rng.integers(0, 20_000, n),
        item,
        rng.integers(1, 6, n).astype(float),
        rng.integers(0, 365, n),
        channels={
            "price": price,
            "quantity": rng.geometric(0.4, n).astype(float),
            "shop": rng.integers(0, 30, n),
        },
    )


def main() -> None:
    """Print one line per number of further channels."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--entries", type=int, default=1_500_000)
    parser.add_argument("--targets", type=int, default=300)
    asked = parser.parse_args()
    data = made(asked.entries)
    print(f"{data}; {data.further.n_codes:,} combinations of levels")
    attack, first = so.attack("scoreboard-rh"), 0.0
    for n in range(len(NAMES) + 1):
        within = {
            "value": 1,
            "time": 7,
            **{name: "10%" if name == "price" else 0 for name in NAMES[:n]},
        }
        who = so.Adversary(knows=8, within=within)
        targets = who.choose_targets(data, asked.targets, seed=1)[1]
        read, facts = bound(data, who.sample(data, targets, seed=1), all_channels=True)
        nobody = np.full(targets.size, -1)
        machine = engine("memory", read)
        machine.map(
            Score(attack.compile(read, facts, nobody)), read.all_shards
        )  # compiled, indexed
        best = {"tables": np.inf, "scoring": np.inf}
        for _ in range(5):
            began = time.perf_counter()
            plan = attack.compile(read, facts, nobody)
            tables = time.perf_counter() - began
            machine.map(Score(plan), read.all_shards)
            scoring = time.perf_counter() - began - tables
            best = {"tables": min(best["tables"], tables), "scoring": min(best["scoring"], scoring)}
        postings = int(np.bincount(read.record_item, minlength=read.n_items)[facts.item].sum())
        each = 1e9 * best["scoring"] / postings
        first = first or each
        print(
            f"value, time and {n} further channels: {each:.2f} ns per posting ({each - first:+.2f}), "
            f"tables {1e3 * best['tables']:.0f} ms, scoring {1e3 * best['scoring']:.0f} ms"
        )


if __name__ == "__main__":
    main()
