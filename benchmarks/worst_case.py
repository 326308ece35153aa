"""Time `so.worst_case` at scale beside scikit-mobility's privacy attacks, per person and combination.

    python benchmarks/worst_case.py ours                               # 100,000 people × 100 events
    OTHER/bin/python benchmarks/worst_case.py scikit-mobility          # 100 people × 12 events

scikit-mobility 1.3.1 needs an environment of its own (pandas 1.5, NumPy 1, Shapely 1.8). Both
commands print CPU microseconds per person and combination of k = 2 facts.
"""

from __future__ import annotations

import sys
import time
from math import comb
from typing import Any

import numpy as np


def visits(n_people: int, n_events: int, n_places: int) -> tuple[Any, Any, Any]:
    """Person, place and hour of made-up visits: half of them to five places of one's own."""
    rng = np.random.default_rng(1)
    weight = 1 / np.arange(1, n_places + 1) ** 0.8
    weight /= weight.sum()
    place = rng.choice(n_places, (n_people, n_events), p=weight)
    own = rng.choice(n_places, (n_people, 5), p=weight)
    usual = own[np.arange(n_people)[:, None], rng.integers(0, 5, place.shape)]
    place = np.where(rng.random(place.shape) < 0.5, usual, place)
    hour = rng.integers(0, 24 * 365, place.shape)
    return np.repeat(np.arange(n_people), n_events), place.ravel(), hour.ravel()


def ours() -> None:
    import standout as so

    person, place, hour = visits(100_000, 100, 20_000)
    data = so.Dataset.from_arrays(person, place, time=hour / 24)
    for known, n in (
        ("items", 500),
        ("times", 500),
        ("set", 500),
        ("counts", 500),
        ("sequence", 200),
    ):
        so.worst_case(data, 2, known, targets=1)  # compiles
        seconds = []
        for people in (1, n):
            start = time.process_time()
            found = so.worst_case(data, 2, known, targets=people)
            seconds.append(time.process_time() - start)
        each = (seconds[1] - seconds[0]) / found.combinations[1:].sum()
        print(f"{known}: {1e6 * each:,.2f} us", flush=True)


def scikit_mobility() -> None:
    import pandas as pd
    import skmob
    from skmob.privacy import attacks

    n_people, n_events = 100, 12
    person, place, hour = visits(n_people, n_events, 300)
    frame = pd.DataFrame(
        {
            "uid": person,
            "lat": 40 + place % 20 / 100,
            "lng": 10 + place // 20 / 100,
            "datetime": pd.Timestamp("2011-01-01") + pd.to_timedelta(hour, "h"),
        }
    )
    traces = skmob.TrajDataFrame(frame).sort_values(by=["uid", "datetime"])
    kinds = {
        "items": attacks.LocationAttack(2),
        "times": attacks.LocationTimeAttack(2, "Hour"),
        "set": attacks.UniqueLocationAttack(2),
        "counts": attacks.LocationFrequencyAttack(2),
        "sequence": attacks.LocationSequenceAttack(2),
    }
    some = list(range(10))
    for known, attack in kinds.items():
        start = time.process_time()
        attack.assess_risk(traces, targets=some)
        seconds = time.process_time() - start
        n = len(some) * comb(n_events, 2)
        if known in ("set", "counts"):
            sizes = (
                frame[frame.uid.isin(some)]
                .groupby("uid")[["lat", "lng"]]
                .apply(lambda own: len(own.drop_duplicates()))
            )
            n = sum(comb(size, 2) for size in sizes)
        print(f"{known}: {1e6 * seconds / n:,.0f} us", flush=True)


if __name__ == "__main__":
    {"ours": ours, "scikit-mobility": scikit_mobility}[sys.argv[1]]()
