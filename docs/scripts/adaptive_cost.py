"""Print the CPU time of the adaptive attack: 100 queries of 8 facts on 20,000 records with 1.2 million entries.

python docs/scripts/adaptive_cost.py
"""

import time

import numpy as np

import standout as so

RECORDS, ITEMS, DRAWS = 20_000, 5_000, 70
WHO = so.Adversary(knows=8, wrong=2, value_within=1, time_within=14)


def synthetic():
    rng = np.random.default_rng(0)
    share = np.cumsum(1 / (1 + np.arange(ITEMS)) ** 0.8)
    pair = np.unique(
        np.repeat(np.arange(RECORDS), DRAWS) * ITEMS
        + np.searchsorted(share / share[-1], rng.random(RECORDS * DRAWS))
    )
    return so.Dataset.from_arrays(
        pair // ITEMS,
        pair % ITEMS,
        rng.integers(1, 6, pair.size),
        rng.integers(11_000, 13_000, pair.size),
    )


def main():
    source = synthetic()
    attack = so.attack("likelihood", calibrate=False)
    for text in ("drop-entries(share=0.05)", "swap-entries(share=0.05)", "shift-time(days=90)"):
        release = so.parse_defense(text).apply(source, seed=1)
        knowledge = WHO.sample(source, WHO.eligible(source)[:100], 1)
        attack.run(release, knowledge)
        began = time.process_time()
        attack.run(release, knowledge)
        print(f"{text}: {time.process_time() - began:.2f} s of CPU time")


if __name__ == "__main__":
    main()
