"""Make docs/defense-table.md: every defense on MovieLens latest-small against naive, unaware, fitted and adaptive attackers.

    python docs/scripts/defense_table.py FOLDER [--out docs/defense-table.md]

FOLDER holds ml-latest-small/ratings.csv.gz.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import standout as so
from standout.adversary.sampling import sample_targets
from standout.audit.strongest import paired
from standout.defenses.parse import parse_defense
from standout.experiment.subject import places
from standout.formulas.rates import Rate

SEED, TARGETS = 20131, 400
DEFENSES = (
    "drop-entries(share=0.5)",
    "drop-rare-items(min_support=20)",
    "keep-top-items(k=500)",
    "cap-entries(most=30)",
    "sample-records(share=0.5)",
    "round-values(step=2)",
    "noise-values(within=2)",
    "geometric-values(a=0.5)",
    "drop-values()",
    "coarsen-time(to=month)",
    "coarsen-time(to=year)",
    "shift-time(days=365)",
    "drop-time()",
    "swap-entries(share=0.3)",
    "swap-attributes(share=0.5)",
    "group-items(groups=500)",
    "opaque-items()",
    "suppress-km(k=5, m=2)",
    "randomized-response(epsilon=8)",
)
KINDS = {
    "values and days exact": {"value_within": 0, "time_within": 0},
    "values ±1, days ±14": {"value_within": 1, "time_within": 14},
    "values ±1, days ±14, a quarter wrong": {
        "value_within": 1,
        "time_within": 14,
        "wrong": "quarter",
    },
}
ATTACKERS = {
    "naive": {"adapt": False},
    "ignored": {"adapt": "ignore"},
    "fitted": {"noise": "fit"},
    "adaptive": {},
}
FAR = 3.3
"""Standard errors beyond which a difference is not sampling error: one false alarm in 2,000."""

HEAD = """# Defenses against attackers who know them

Made by `make defense-table`. MovieLens latest-small, {targets} targets per cell, knowledge drawn from the source, random
seed {seed}. A cell is the share of targets whose own record comes first (a tie counts as a fraction), with its 95 % Wilson
interval. A person whose record is not in the release counts as not found.

- *naive*: the adversary's own noise, as if the release were the source.
- *ignored*: naive, without the values or times that the defense changed. Equal to naive where it changed neither. Item names that
  the owner replaced secretly (`opaque-items`) are matched by popularity and values; *naive* takes the published names literally.
- *fitted*: noise estimated from the knowledge and the release.
- *adaptive*: the likelihood under the defense's published parameters (`docs/attacks/adaptive.md`).

"A quarter wrong" is one wrong value and day of 4 facts, two of 8; of 2 facts each is wrong with probability 0.25.
"""


def adversary(kind, knows):
    options = dict(KINDS[kind])
    if options.get("wrong") == "quarter":
        options["wrong"] = knows // 4 or 0.25
    return so.Adversary(knows=knows, **options)


def credits(dataset, release, who):
    """Credit of every attacker on the same targets and draws; of the undefended likelihood first."""
    targets = sample_targets(dataset, who.eligible(dataset), TARGETS, SEED)
    knowledge = who.sample(dataset, targets, SEED)
    place = places(dataset, release)[targets]
    out = {}
    for name, options in ATTACKERS.items():
        found = so.attack("likelihood", calibrate=False, **options).run(
            release, knowledge, watch=place, lineup=False
        )
        out[name] = np.where(place >= 0, found.credit, 0.0)
    return out


def undefended(dataset, who):
    targets = sample_targets(dataset, who.eligible(dataset), TARGETS, SEED)
    knowledge = who.sample(dataset, targets, SEED)
    return (
        so.attack("likelihood", calibrate=False)
        .run(dataset, knowledge, watch=targets, lineup=False)
        .credit
    )


def shown(credit):
    rate = Rate.of(credit)
    return f"{rate.rate:.2f} ({rate.low:.2f}–{rate.high:.2f})"


def beyond(first, second):
    """Difference of two rates in standard errors of the paired difference; a tie among k is a hit with probability 1/k."""
    gap = first - second
    ties = (first * (1 - first) + second * (1 - second)).mean()
    error = np.sqrt((gap.var() + ties) / gap.size)
    return 0.0 if gap.mean() == 0 else gap.mean() / max(error, 1e-9)


def tables(dataset):
    """One table per kind of knowledge and number of facts; then the laws, judged on all cells."""
    releases = {text: parse_defense(text).apply(dataset, seed=SEED) for text in DEFENSES}
    lines, broken, cells, gains = [], [], 0, []
    for kind in KINDS:
        for knows in (2, 4, 8):
            who = adversary(kind, knows)
            before = undefended(dataset, who)
            lines += ["", f"## {knows} facts, {kind}", "", f"Undefended: {shown(before)}.", ""]
            lines += [
                "| defense | " + " | ".join(ATTACKERS) + " | adaptive − best of naive and ignored |"
            ]
            lines += ["|---" * (len(ATTACKERS) + 2) + "|"]
            for text, release in releases.items():
                began = time.perf_counter()
                found = credits(dataset, release, who)
                unaware = max(found["naive"], found["ignored"], key=lambda c: c.mean())
                lead = paired(found["adaptive"], unaware)
                lines.append(
                    f"| `{text}` | "
                    + " | ".join(shown(c) for c in found.values())
                    + f" | {lead['difference']:+.3f} ({lead['low']:+.3f} to {lead['high']:+.3f}) |"
                )
                cells += 1
                gains.append(lead["difference"])
                for name in ("naive", "ignored"):
                    if beyond(found["adaptive"], found[name]) < -FAR:
                        broken.append(f"`{text}`, {who.describe()}: adaptive below {name}")
                if beyond(found["adaptive"], before) > FAR:
                    broken.append(f"`{text}`, {who.describe()}: adaptive above undefended")
                print(
                    f"{who.describe()}: {text} {time.perf_counter() - began:.1f} s",
                    file=sys.stderr,
                    flush=True,
                )
    lines += [
        "",
        "## Laws",
        "",
        f"In {cells} cells: adaptive is at least naive and at least ignored, and at most undefended, "
        f"up to {FAR:g} standard errors of the paired difference. Cells that break this: {len(broken)}.",
    ]
    lines += [f"- {one}" for one in broken]
    lines += [
        "",
        f"Mean lead of adaptive over the better of naive and ignored: {np.mean(gains):+.3f}; largest "
        f"{max(gains):+.3f}; smallest {min(gains):+.3f}.",
    ]
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "defense-table.md")
    given = parser.parse_args()
    dataset = so.Dataset.read(given.folder / "ml-latest-small" / "ratings.csv.gz", resolution="day")
    text = HEAD.format(targets=TARGETS, seed=SEED) + "\n".join(tables(dataset)) + "\n"
    temporary = given.out.with_suffix(".tmp")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(given.out)


if __name__ == "__main__":
    main()
