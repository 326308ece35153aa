"""What hours cost: time per target with times to the hour, against times to the day, on the same events.

    python benchmarks/hours.py [--events 1000000] [--targets 1000] [--attack scoreboard-rh]

Both resolutions are attacked in turn, several times in one run; the ratio is that of the rounds that
took the least processor time, which depends less on other programs than the time on the clock. Both
are printed. Knowledge: 4 items, times known exactly to the resolution. Reading and indexing are not
part of the time per target.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import standout as so

ROUNDS = 5
DAYS = 365


def made(n: int) -> dict[str, so.Dataset]:
    """Visits by resolution: 50 per person, places with a few that most people visit, hours of a year."""
    rng = np.random.default_rng(11)
    place = (50_000 * rng.random(n) ** 3).astype(np.int64)
    person = rng.integers(0, max(n // 50, 10), n)
    hour = rng.integers(0, 24 * DAYS, n)
    made = {}
    for resolution in ("day", "hour"):
        began = time.perf_counter()
        when = hour // 24 if resolution == "day" else hour / 24
        data = so.Dataset.from_arrays(person, place, time=19_000 + when, resolution=resolution)
        assert data.all_shards
        print(f"{resolution}: {data}, made and indexed in {time.perf_counter() - began:.1f} s")
        made[resolution] = data
    return made


def main() -> None:
    """Print the time per target of both resolutions, and one line with their ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--attack", default="scoreboard-rh")
    asked = parser.parse_args()
    who = so.Adversary(4, value_within=None, time_within=0)
    attack = so.attack(asked.attack)
    data, known = made(asked.events), {}
    for resolution, one in data.items():
        targets = who.choose_targets(one, asked.targets, seed=1)[1]
        known[resolution] = who.sample(one, targets, seed=1)
        attack.run(one, known[resolution])  # compiled, indexed
    best = dict.fromkeys(data, (np.inf, np.inf))
    for _ in range(ROUNDS):
        for resolution, one in data.items():
            began = time.process_time(), time.perf_counter()
            attack.run(one, known[resolution])
            took = time.process_time() - began[0], time.perf_counter() - began[1]
            best[resolution] = min(best[resolution], took)
    each = {}
    for resolution, seconds in best.items():
        each[resolution], clock = (1e3 * x / known[resolution].n_queries for x in seconds)
        print(
            f"{resolution}: {each[resolution]:.3f} ms of processor time per target, {clock:.3f} ms on the clock ({asked.attack})"
        )
    ratio = each["hour"] / each["day"]
    print(f"{asked.events:,} events: time per target to the hour is {ratio:.2f} × that to the day")


if __name__ == "__main__":
    main()
