"""Write docs/brute-force.md: unique, found and sure of an audit beside the same shares by brute force.

Run it with `python docs/scripts/brute_force.py`, and STANDOUT_DATA naming the folder of
`ml-latest-small` and `online-retail`. The brute force (`brute_force_attack.py`) uses plain arrays,
draws its own knowledge as the documentation describes it, evaluates every record for every query,
and calls nothing of the package. It attacks every eligible person several times; the audit attacks
its targets once.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from brute_force_attack import BruteForce
from brute_force_data import GENERATED, PUBLIC, Events
from scipy.stats import binom

import standout as so

PAGE = Path(__file__).parents[1] / "brute-force.md"
WORDS = ("unique", "found", "sure")


def row(
    data: Events, dataset: so.Dataset, options: dict[str, Any], seed: int
) -> tuple[str, list[float], tuple[float, int]]:
    """One line of the table; 1 per word whose share lies in the audit's interval, NaN = not measured; and `stated_sure`."""
    who = so.Adversary(**options)
    audit = so.Audit(dataset, [who], targets="all", seed=seed, describe=False).run(progress=False)
    entry = audit.to_dict()["results"][0]
    brute_force = BruteForce(data, who, seed + 1)
    truth = brute_force.run()
    cells, agree = [], []
    for word in WORDS:
        if entry[word] is None:
            agree.append(np.nan)
            cells.append(f"{truth[word]:.3f} | not measured")
            continue
        low, high = entry[word]["low"], entry[word]["high"]
        agree.append(float(low <= round(truth[word], 9) <= high))
        outside = "" if agree[-1] else " **outside**"
        cells.append(
            f"{truth[word]:.3f} | {entry[word]['rate']:.3f} ({low:.3f} to {high:.3f}){outside}"
        )
    line = f"| {data.name} | {entry['adversary']['words']} | {' | '.join(cells)} |"
    return line, agree, brute_force.stated_sure()


def main(seed: int = 2300) -> int:
    """Compare all cells, write the page, and return 1 if more shares lie outside than 95 % intervals explain."""
    folder = os.environ.get("STANDOUT_DATA")
    kinds = [(make(np.random.default_rng(seed)), who) for make, who in GENERATED]
    kinds += [(make(Path(folder)), who) for make, who in PUBLIC] if folder else []
    lines, agreed, stated = [], [], []
    for data, adversaries in kinds:
        dataset = data.dataset()
        for options in adversaries:
            # a seed of its own: with one seed, all cells of a dataset would report on the same half
            # of its people
            line, agree, sure = row(data, dataset, options, seed + len(lines))
            lines.append(line)
            agreed.append(agree)
            stated.append(sure)
            print(line, flush=True)
    inside, n = np.nansum(agreed, axis=0), np.isfinite(agreed).sum(axis=0)
    counts = ", ".join(
        f"{word} in {k:.0f} of {of} cells" for word, k, of in zip(WORDS, inside, n, strict=True)
    )
    right, of = np.sum(stated, axis=0)
    summary = (
        f"The share by brute force lies in the 95 % interval of the audit: {counts}. With half of the "
        f"people left out of the data, brute force stated a posterior of at least 95 % in {of:,.0f} "
        f"answers, of which {100 * right / of:.1f} % were right."
    )
    names = [f"{word}, {who}" for word in WORDS for who in ("brute force", "audit")]
    table = [f"| data | known | {' | '.join(names)} |", "|---" * 8 + "|", *lines]
    intro = Path(__file__).with_name("brute_force_intro.md").read_text()
    PAGE.write_text("\n".join([intro.rstrip(), "", summary, "", *table, ""]))
    print(summary)
    # fewer than this many of n happen in one of 100 runs if each lies inside with a probability of
    # 95 %
    return int((inside < binom.ppf(0.01, n, 0.95)).any())


if __name__ == "__main__":
    sys.exit(main())
