"""Rebuild docs/linking_coverage.md: how often linking's statements hold, on pairs that nothing was chosen on.

`linking_coverage.py FOLDER` measures the held-out pairs and writes the page. `linking_coverage.py
FOLDER development` prints the same table of the development pairs, and writes nothing.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from linking_shapes import DEVELOPMENT, HELD_OUT, Pair, outcome, pairs

import standout as so
from standout.formulas.rates import Rate

PAGE = Path(__file__).resolve().parents[1] / "linking_coverage.md"
RULES = {"spacing": "spacing test", "posterior": "posterior at least 1 - rate"}
NOMINAL = (0.05, 0.01)
INTRO = Path(__file__).with_name("linking_coverage_intro.md")


class Row(NamedTuple):
    """What a run stated, and the truth."""

    name: str
    people: int
    present: int
    expected: float
    low: float
    high: float
    right: int
    named: dict[tuple[str, float], tuple[int, int]]
    """Rule and rate: names, and wrong ones."""

    @property
    def source(self) -> str:
        """The data that the pair is made of."""
        return self.name.split(",")[0]

    @property
    def covers(self) -> bool:
        """Whether the truth is in the interval."""
        return self.low <= self.right <= self.high


def measured(pair: Pair) -> Row:
    """Link a pair, and compare with the truth."""
    links = so.link(pair.release, pair.known, one_to_one=pair.one_to_one)
    hit = outcome(pair, links)
    named = {}
    for rule in RULES:
        for rate in NOMINAL:
            mask = links.accepted(rate, rule)
            named[rule, rate] = (int(mask.sum()), int((~hit[mask]).sum()))
    low, high = links.interval
    return Row(
        pair.name,
        links.n_queries,
        int((pair.right >= 0).sum()),
        links.expected_links,
        low,
        high,
        int(hit.sum()),
        named,
    )


def table(header: list[str], rows: list[list[object]]) -> str:
    """A table in Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(x) for x in row) + " |" for row in rows]) + "\n"


def wrong(rows: list[Row], rule: str, rate: float) -> str:
    """Names of all rows together, and the share of wrong ones."""
    names, bad = (sum(r.named[rule, rate][k] for r in rows) for k in (0, 1))
    if not names:
        return "no names"
    share = Rate.from_count(bad, names)
    return f"{100 * share.rate:.1f} % ({100 * share.low:.1f}–{100 * share.high:.1f}): {bad:,} of {names:,}"


def covered(rows: list[Row]) -> str:
    """Share of the rows whose interval covers the truth."""
    n = sum(r.covers for r in rows)
    return f"{n} of {len(rows)} ({100 * n / len(rows):.0f} %)"


def width(rows: list[Row]) -> str:
    """Mean width of the intervals, as a share of the people."""
    return f"{100 * np.mean([(r.high - r.low) / r.people for r in rows]):.0f} % of the people"


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """All rows, and those of each kind."""
    out = {"all": rows}
    for source in dict.fromkeys(r.source for r in rows):
        out[source] = [r for r in rows if r.source == source]
    out["3 to 10 facts per person"] = [r for r in rows if any(f", {n}–" in r.name for n in (3, 4))]
    out["nobody in the release"] = [r for r in rows if r.present == 0]
    return {name: some for name, some in out.items() if some}


def summary(rows: list[Row]) -> str:
    """Pooled figures."""
    out: list[list[object]] = []
    for name, some in groups(rows).items():
        out.append(
            [
                name,
                covered(some),
                width(some),
                *(wrong(some, rule, rate) for rule in RULES for rate in NOMINAL),
            ]
        )
    head = [f"wrong at {100 * rate:.0f} %, {words}" for words in RULES.values() for rate in NOMINAL]
    return table(["pairs", "interval of right links covers", "mean width", *head], out)


def details(rows: list[Row]) -> str:
    """One line per run."""
    out: list[list[object]] = []
    for r in rows:
        cells = [f"{a}, {b} wrong" if a else "0" for a, b in r.named.values()]
        out.append(
            [
                r.name,
                r.people,
                r.present,
                f"{r.low:,.0f}–{r.high:,.0f}",
                f"{r.expected:,.0f}",
                r.right,
                "yes" if r.covers else "**no**",
                *cells,
            ]
        )
    head = [f"names at {100 * rate:.0f} %, {words}" for words in RULES.values() for rate in NOMINAL]
    first = [
        "pair",
        "people",
        "in the release",
        "right links (95 %)",
        "sum of posteriors",
        "right in truth",
        "covers",
    ]
    return table([*first, *head], out)


def sentence(rows: list[Row]) -> str:
    """What `standout link` says about the names."""
    shares = []
    for rate in NOMINAL:
        names, bad = (sum(r.named["spacing", rate][k] for r in rows) for k in (0, 1))
        shares.append(f"{100 * bad / max(names, 1):.1f} %")
    return f"on {len(rows)} other pairs of files with known answers, {shares[0]} and {shares[1]} of such names were wrong"


def main() -> None:
    """Measure and write."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("STANDOUT_DATA", ""))
    if not (folder / "online-retail").is_dir():
        sys.exit(
            "name the folder of public datasets: docs/scripts/linking_coverage.py FOLDER, or STANDOUT_DATA"
        )
    role = DEVELOPMENT if "development" in sys.argv[2:] else HELD_OUT
    rows = []
    for pair in pairs(folder, role):
        rows.append(measured(pair))
        print(
            f"{time.strftime('%H:%M:%S')} {rows[-1].name}: {rows[-1].covers}",
            file=sys.stderr,
            flush=True,
        )
    text = "\n".join(
        [
            summary(rows),
            f"Said by `standout link`: *{sentence(rows)}*.\n",
            "## Every pair\n",
            details(rows),
        ]
    )
    if role == DEVELOPMENT:
        print(text)
    else:
        PAGE.write_text(INTRO.read_text(encoding="utf-8") + "\n" + text, encoding="utf-8")


if __name__ == "__main__":
    main()
