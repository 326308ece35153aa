"""CPU time per posting of linking with whole profiles, at Netflix Prize size: 5,000 queries of 8 and of 200 items.

Example: python benchmarks/linking_profiles.py --size 1 --out
benchmarks/results/linking-profiles.json The synthetic release (100 million entries at size 1) is
made on first use, which takes some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import standout as so
from standout.bench.case import twin_file
from standout.kernels.bins import Bins
from standout.linking.attack import LinkLikelihood, MentionPopularity
from standout.linking.people import people

N_BEST = 22
"""Best records of each query: those that the spacing test needs."""
SHORT, LONG = 8, 200
VALUES = Bins((0.0, 1.0, 2.0), (0.4, 0.3, 0.2, 0.1))
DAYS = Bins((0.0, 3.0, 14.0, 30.0, 90.0, 365.0), (0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05))
NOISES = {
    "items and values": so.LinkNoise((0.2,), 0.1, VALUES),
    "items, values and days": so.LinkNoise((0.2,), 0.1, VALUES, DAYS, 0.1),
}


def measure(data: so.Dataset, queries: int, knows: int) -> list[dict[str, Any]]:
    """CPU seconds per posting of both kinds of comparison; a quarter of the facts is wrong."""
    who = so.Adversary(
        knows=knows, wrong=knows // 4, wrong_kind="item", value_within=1, time_within=14
    )
    targets = np.sort(np.random.default_rng(0).choice(who.eligible(data), queries))
    drawn = who.sample(data, targets, seed=1)
    aux = people(so.Knowledge.from_arrays(drawn.query, drawn.item, drawn.value, drawn.time))
    facts = aux.bind(data)
    mentions, postings = MentionPopularity.of(data, facts), int(data.supports[facts.item].sum())
    rows = []
    for name, noise in NOISES.items():
        attack = LinkLikelihood(noise, mentions)
        # compiles the kernels
        attack.top_scores(
            data, so.Knowledge.from_arrays([0], aux.item[:1], aux.value[:1], aux.time[:1]), N_BEST
        )
        begun, wall = time.process_time(), time.perf_counter()
        best = attack.top_scores(data, aux, N_BEST)[0][:, 0]
        spent, wall = time.process_time() - begun, time.perf_counter() - wall
        rows.append(
            {
                "compared": name,
                "queries": queries,
                "items": knows,
                "postings": postings,
                "cpu_s": spent,
                "wall_s": wall,
                "ns_per_posting": 1e9 * spent / postings,
                "right_first": float((best == targets).mean()),
            }
        )
        print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--size", type=float, default=1.0, help="share of the Netflix Prize's records"
    )
    parser.add_argument("--queries", type=int, default=5000)
    parser.add_argument("--out", type=Path, required=True, help="JSON file to write")
    asked = parser.parse_args()
    data = so.Dataset.read(twin_file(asked.size))
    rows = [row for knows in (SHORT, LONG) for row in measure(data, asked.queries, knows)]
    first = {row["compared"]: row["ns_per_posting"] for row in rows if row["items"] == SHORT}
    found = {
        "records": data.n_records,
        "entries": data.n_entries,
        "cores": os.cpu_count(),
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "rows": [{**row, "ratio": row["ns_per_posting"] / first[row["compared"]]} for row in rows],
    }
    asked.out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
