"""Print the table of docs/attacks/adaptive.md: log loss of P(absent) on defended releases of MovieLens latest-small.

    python docs/scripts/defended_presence.py FOLDER

FOLDER holds ml-latest-small/ratings.csv.gz. Each target is attacked with its record in the release
and without it.
"""

import sys
from pathlib import Path

import numpy as np

import standout as so
from standout.adversary.sampling import sample_targets
from standout.experiment.subject import places

SEED, TARGETS = 20131, 300
WHO = so.Adversary(knows=4, wrong=1, value_within=1, time_within=14)
DEFENSES = (
    "drop-entries(share=0.5)",
    "drop-rare-items(min_support=20)",
    "keep-top-items(k=500)",
    "suppress-km(k=5, m=2)",
    "cap-entries(most=30)",
    "cap-entries(most=100)",
    "sample-records(share=0.5)",
    "coarsen-time(to=month)",
    "shift-time(days=365)",
    "drop-time()",
    "swap-entries(share=0.3)",
    "swap-attributes(share=0.5)",
    "group-items(groups=500)",
    "opaque-items()",
    "randomized-response(epsilon=8)",
)


def loss(release, knowledge, place, calibrate):
    attack = so.attack("likelihood", calibrate=calibrate)
    present, absent = (
        attack.run(release, knowledge, exclude=gone).absent for gone in (None, place)
    )
    return -np.log(np.clip(np.concatenate([1 - present, absent]), 1e-6, 1)).mean()


def main():
    dataset = so.Dataset.read(
        Path(sys.argv[1]) / "ml-latest-small" / "ratings.csv.gz", resolution="day"
    )
    targets = sample_targets(dataset, WHO.eligible(dataset), TARGETS, SEED)
    print("| defense | not calibrated | calibrated |\n|---|---:|---:|")
    for text in DEFENSES:
        release = so.parse_defense(text).apply(dataset, seed=SEED)
        place = places(dataset, release)[targets]
        knowledge = WHO.sample(dataset, targets[place >= 0], SEED)
        found = [
            loss(release, knowledge, place[place >= 0], calibrate) for calibrate in (False, True)
        ]
        print(f"| `{text}` | {found[0]:.2f} | {found[1]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
