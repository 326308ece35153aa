"""Time for making tables and for scoring, on 1.5 million purchases with 5,000 prices.

    python benchmarks/many_values.py [--purchases 1500000] [--prices 5000] [--targets 500]

Prints one JSON line per adversary and attack: seconds for compiling the plans, and for running them
on the records in memory, each the shortest of three. Every item has its own price, which moves by a
few percent from purchase to purchase.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import standout as so
from standout.engines.engine import Engine
from standout.engines.memory import MemoryEngine
from standout.scoring.tasks import Score

ADVERSARIES: tuple[dict[str, Any], ...] = (
    {"knows": 4},
    {"knows": 4, "value_within": "10%"},
    {"knows": 8, "value_within": "10%", "wrong": 2},
    {"knows": 8, "value_within": "10%", "wrong": 0.25},
)
ATTACKS = ("scoreboard-rh", "unicity", "likelihood")


def purchases(n: int, prices: int, items: int = 4000, people: int = 30_000) -> so.Dataset:
    """Purchases of items whose popularity follows a power law."""
    rng = np.random.default_rng(0)
    item = np.minimum((items * rng.random(n) ** 3).astype(np.int64), items - 1)
    own = np.exp(rng.normal(1.5, 1.0, items))[item]
    cents = np.clip(np.rint(100 * own * np.exp(rng.normal(0, 0.15, n))), 1, prices)
    return so.Dataset.from_arrays(
        rng.integers(0, people, n), item, cents / 100, rng.integers(0, 365, n), repeats="last"
    )


def shortest(run: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of the shortest of three runs, and the result."""
    took = []
    for _ in range(3):
        start = time.perf_counter()
        made = run()
        took.append(time.perf_counter() - start)
    return min(took), made


def main() -> None:
    """Measure."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--purchases", type=int, default=1_500_000)
    ask.add_argument("--prices", type=int, default=5000)
    ask.add_argument("--targets", type=int, default=500)
    asked = ask.parse_args()
    data = purchases(asked.purchases, asked.prices)
    print(json.dumps({"entries": data.n_entries, "items": data.n_items, "prices": data.n_levels}))
    machine: Engine = MemoryEngine()
    for options in ADVERSARIES:
        who = so.Adversary(**options)
        rng = np.random.default_rng(1)
        targets = np.sort(rng.choice(who.eligible(data), asked.targets, replace=False))
        facts = who.sample(data, targets, seed=1).bind(data)
        nobody = np.full(facts.n_queries, -1, np.int64)
        for name in ATTACKS:
            attack = so.attack(name).fit(data, facts, nobody)

            def compiled(attack: Any = attack, facts: Any = facts, nobody: Any = nobody) -> Any:
                # sums over all pairs are kept on the facts: a copy has none
                return attack.compile(data, facts.part(0, facts.n_queries), nobody)

            making, plan = shortest(compiled)
            scoring, _ = shortest(lambda plan=plan: machine.map(Score(plan), data.all_shards))
            line = {"knows": who.words(data), "attack": name, "plan": plan.combine.name}
            print(
                json.dumps({**line, "making": round(making, 4), "scoring": round(scoring, 4)}),
                flush=True,
            )


if __name__ == "__main__":
    main()
