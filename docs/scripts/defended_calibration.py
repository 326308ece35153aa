"""Write docs/defended-calibration.md: stated and observed posteriors of the adaptive likelihood on defended releases.

    python docs/scripts/defended_calibration.py [NAME ...]

NAME is MovieLens, Retail or generated; all three by default. STANDOUT_DATA names the folder with
`ml-latest-small` and `online-retail`. Results of each dataset are kept in .bench-cache, and the
page is written from all of them. Every draw applies the defense with another seed, calibrates, and
attacks people who are not canaries, with their records in the release and without. Of a release with
sampled records, people who were not sampled are among them. The calibration was chosen on other
data: generated data of other shapes, the shop's earlier year, and visits of pages; that of grouped
items and sampled records on these data, with other seeds.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from calibration_table import movielens, reliability, retail

import standout as so
from standout.attacks.defended_canaries import canaries_of
from standout.experiment.subject import places

Array = npt.NDArray[Any]

ROOT = Path(__file__).parents[2]
PAGE, KEPT = ROOT / "docs" / "defended-calibration.md", ROOT / ".bench-cache"
MOST = 400
"""Most people of one draw."""
CLOSE, SURE = 0.03, 0.95
CUSTOMERS = 1_000
WHO = (
    so.Adversary(knows=3, value_within=None, time_within=None),
    so.Adversary(knows=3, value_within=1, time_within=14),
    so.Adversary(knows=6, wrong=1, wrong_kind="item", value_within=1, time_within=None),
)
DEFENSES = (
    "drop-entries(share=0.2)",
    "drop-entries(share=0.5)",
    "swap-entries(share=0.1)",
    "swap-entries(share=0.4)",
    "randomized-response(epsilon=9)",
    "cap-entries(most=30)",
    "drop-entries(share=0.3) | coarsen-time(to=month)",
    "swap-attributes(share=0.5)",
    "noise-values(within=1)",
    "shift-time(days=30)",
)
FURTHER = (
    "group-items(groups=500)",
    "group-items(groups=100)",
    "opaque-items()",
    "round-values(step=2)",
    "keep-top-items(k=500)",
    "drop-rare-items(min_support=20)",
    "suppress-km(k=5, m=2)",
    "sample-records(share=0.5)",
)


class Part(NamedTuple):
    """Defenses that are measured alike."""

    title: str
    defenses: tuple[str, ...]
    enough: int
    """Least number of people per cell."""
    fewest_seeds: int
    first_seed: int
    """Seed of the first draw; no seed was used while the calibration was written."""


PARTS = (
    Part("Entries, values and times", DEFENSES, 1_000, 3, 5_000),
    Part("Names, rounded values, withheld items and samples", FURTHER, 400, 2, 7_000),
)


def generated() -> so.Dataset:
    """1,000 people with tastes: half of a record comes from one of 15 groups of 50 items, all by popularity."""
    rng = np.random.default_rng(23)
    n_items, groups = 700, [rng.choice(700, 50, replace=False) for _ in range(15)]
    weight = rng.permutation(1 / np.arange(1, n_items + 1) ** 0.8)
    columns: list[list[Array]] = [[], [], [], []]
    for r in range(1_000):
        length = int(np.clip(rng.lognormal(np.log(25), 0.7), 6, 200))
        group = groups[int(rng.integers(15))]
        own = rng.choice(
            group, min(length // 2, 50), replace=False, p=weight[group] / weight[group].sum()
        )
        rest = np.setdiff1d(np.arange(n_items), own)
        more = rng.choice(
            rest, length - own.size, replace=False, p=weight[rest] / weight[rest].sum()
        )
        value = np.clip(np.rint(3.3 + rng.normal(0, 0.7) + rng.normal(0, 1, length)), 1, 5)
        day = (
            12_000
            + rng.integers(900)
            + np.minimum(rng.exponential(60, length), 300).astype(np.int64)
        )
        for column, x in zip(
            columns, (np.full(length, r), np.concatenate([own, more]), value, day), strict=True
        ):
            column.append(x)
    record, item, value, day = (np.concatenate(column) for column in columns)
    return so.Dataset.from_arrays(record, item, value, day.astype(np.float64))


def data_of(name: str) -> so.Dataset:
    """The dataset of that name; of the shop, some of the customers."""
    folder = Path(os.environ.get("STANDOUT_DATA", "."))
    if name == "generated":
        return generated()
    if name == "MovieLens":
        return movielens(folder)
    shop = retail(folder)
    return shop.take(np.sort(np.random.default_rng(23).permutation(shop.n_records)[:CUSTOMERS]))


def draw(source: so.Dataset, text: str, who: so.Adversary, seed: int) -> tuple[Array, Array]:
    """Posterior and credit of each query: people present, then removed. No canary is among them."""
    release = so.parse_defense(text).apply(source, seed=seed)
    place = places(source, release)
    people = np.random.default_rng(seed).permutation(who.eligible(source))
    there = people[place[people] >= 0]
    there = there[~np.isin(place[there], canaries_of(release, who)[1])]
    # whoever was not sampled is absent; both kinds are as frequent as they were before canaries were left out
    sampled = release.mechanism.sampled
    n = int(min(MOST, there.size / sampled))
    present = round(n * sampled)
    people = np.concatenate([there[:present], people[place[people] < 0][: n - present]])
    here, gone = so.attack("likelihood").run_both(
        release, who.sample(source, people, seed), place[people]
    )
    return np.concatenate([here.posterior, gone.posterior]), np.concatenate(
        [np.where(place[people] >= 0, here.credit, 0.0), np.zeros(people.size)]
    )


def cell(source: so.Dataset, name: str, text: str, who: so.Adversary, part: Part) -> dict[str, Any]:
    """Several draws of one defense and one adversary."""
    said: list[Array] = []
    true: list[Array] = []
    while len(said) < part.fewest_seeds or sum(x.size for x in said) < 2 * part.enough:
        p, credit = draw(source, text, who, part.first_seed + len(said))
        said.append(p)
        true.append(credit)
    off = [float(p.mean() - c.mean()) for p, c in zip(said, true, strict=True)]
    p, credit = np.concatenate(said), np.concatenate(true)
    error = float(np.sqrt((p * (1 - p)).sum()) / p.size)
    print(
        name,
        text,
        who.describe(),
        f"{p.mean():.3f} {credit.mean():.3f} {np.round(off, 3)}",
        file=sys.stderr,
        flush=True,
    )
    return {
        "data": name,
        "defense": text,
        "who": who.describe(),
        "n": p.size // 2,
        "seeds": len(said),
        "error": error,
        "spread": float(np.std(off, ddof=1)),
        "posterior": p.round(6).tolist(),
        "credit": credit.tolist(),
    }


def row(found: dict[str, Any]) -> str:
    """A cell as a row of the table."""
    p, credit = np.asarray(found["posterior"]), np.asarray(found["credit"])
    sure, off = p >= SURE, p.mean() - credit.mean()
    columns = [
        found["data"],
        f"`{found['defense']}`".replace("|", r"\|"),
        found["who"],
        f"{found['n']:,}",
        f"{p.mean():.3f}",
        f"{credit.mean():.3f}",
        f"{100 * off:+.1f}{'' if abs(off) <= CLOSE else ' **'}",
        f"{100 * found['error']:.1f}",
        f"{100 * found['spread']:.1f}",
        f"{sure.sum():,}",
        f"{p[sure].mean():.3f}" if sure.any() else "–",
        f"{credit[sure].mean():.3f}" if sure.any() else "–",
    ]
    return f"| {' | '.join(columns)} |"


def section(part: Part, cells: list[dict[str, Any]]) -> list[str]:
    """Lines of a part of the page."""
    off = np.array([np.mean(c["posterior"]) - np.mean(c["credit"]) for c in cells])
    p, credit = (
        np.concatenate([np.asarray(c[name]) for c in cells]) for name in ("posterior", "credit")
    )
    sure, close = p >= SURE, int((np.abs(off) <= CLOSE).sum())
    return [
        f"## {part.title}",
        "",
        f"{len(cells)} cells, at least {part.enough:,} people each, seeds from {part.first_seed:,}.",
        f"**{close} of {len(cells)} cells ({100 * close / len(cells):.0f} %) are within 3 points of the observed share.**",
        f"Worst: {100 * off[np.argmax(np.abs(off))]:+.1f} points; mean difference {100 * off.mean():+.2f} points.",
        f"Posteriors of at least 95 %: stated {p[sure].mean():.4f}, right {credit[sure].mean():.4f}, n = {sure.sum():,}.",
        "",
        "| posterior | stated | observed | queries |",
        "|---|---|---|---|",
        *reliability(p, credit),
        "",
        "| data | defense | knowledge | people | stated | observed | difference | error | spread | ≥ 95 % | stated | right |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *map(row, cells),
    ]


def page(cells: list[dict[str, Any]]) -> str:
    """The page as Markdown."""
    lines = [
        "# Calibration on defended releases",
        "",
        f"Cells are defenses, adversaries and data (MovieLens latest-small, {CUSTOMERS:,} customers of Online Retail,",
        "generated people with tastes). The adaptive likelihood states the posterior of its best record, at a prior of 1/2, over",
        "several seeds of the defense, for people with their records in the release and without. No canary is a target.",
        "Records that were not sampled count as absent. Written by `make defended-calibration`.",
        "",
        "*Error* is the standard error of the observed share. *Spread* is the standard deviation of the difference between",
        "seeds; it includes the noise of calibrating on 200 or 400 canaries. Both are in points. ** marks more than 3.",
    ]
    for part in PARTS:
        lines += ["", *section(part, [c for c in cells if c["defense"] in part.defenses])]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the named datasets, and write the page from all that were measured."""
    names = ("MovieLens", "Retail", "generated")
    KEPT.mkdir(exist_ok=True)
    for name in sys.argv[1:] or names:
        source, cells = data_of(name), []
        for part in PARTS:
            for text, who in product(part.defenses, WHO):
                cells.append(cell(source, name, text, who, part))
                (KEPT / f"defended-calibration-{name}.json").write_text(json.dumps(cells))
    kept = [KEPT / f"defended-calibration-{name}.json" for name in names]
    found = [one for path in kept if path.exists() for one in json.loads(path.read_text())]
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
