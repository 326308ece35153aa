"""Home, work and random visits on generated check-ins: the table in docs/choices.md.

    python docs/scripts/checkins.py [--people 5000]

The people are those of `tests/checkins.py`, with coordinates in place of names of places.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import standout as so

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

CELL = "grid:500m"
KNOWN = {
    "the most frequent place (home)": so.Adversary(1, choose="favorite", view=CELL),
    "the two most frequent places (home and work)": so.Adversary(2, choose="favorite", view=CELL),
    "one place, any": so.Adversary(1, view=CELL),
    "two places, any": so.Adversary(2, view=CELL),
    "the place of one random visit": so.Adversary(1, choose="event", view=CELL),
    "the places of two random visits": so.Adversary(2, choose="event", view=CELL),
    "one place, any, and the hour of a visit": so.Adversary(1, time_within=0, view=CELL),
    "one random visit, to the hour": so.Adversary(1, choose="event", time_within=0, view=CELL),
    "two random visits, to the hour": so.Adversary(2, choose="event", time_within=0, view=CELL),
}


def main() -> None:
    """Print one row per kind of knowledge."""
    import checkins

    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=5000)
    asked = parser.parse_args()
    data = checkins.made(asked.people, 400, seed=1).read(coordinates=True)
    print("| known, places as cells of 500 m | unique | found |\n|---|---|---|")
    for words, who in KNOWN.items():
        found = so.risk(data, who, targets=1000, draws=4, seed=1).to_dict()
        unique, best = (100 * found[name]["mean"] for name in ("unique", "found"))
        print(f"| {words} | {unique:.1f} % | {best:.1f} % |")


if __name__ == "__main__":
    main()
