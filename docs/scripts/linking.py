"""Rebuild docs/linking.md: two real pairs of files, linked with and without the truth. STANDOUT_DATA names the data."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from linking_pairs import pairs_section

import standout as so
from standout.linking.attack import MentionPopularity
from standout.linking.em import fit_noise
from standout.linking.links import time_shift_sentence
from standout.linking.people import people
from standout.linking.truth import judged

PAGE = Path(__file__).resolve().parents[1] / "linking.md"
PROFILES = PAGE.parents[1] / "benchmarks" / "results" / "linking-profiles.json"
FIGURES: list[list[object]] = []
"""Claim, figure and command of each measurement: the table at the top of the page."""

INTRO, LIMITS = (
    Path(__file__).with_name(f"linking_{part}.md").read_text(encoding="utf-8")
    for part in ("intro", "limits")
)


def percent(x: float) -> str:
    return f"{100 * x:.1f} %"


def told(r: Mapping[str, Any]) -> str:
    return f"{percent(r['rate'])} ({100 * r['low']:.0f}–{100 * r['high']:.0f})"


def table(header: list[str], rows: list[list[object]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(str(x) for x in row) + " |" for row in rows]) + "\n"


def step(what: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def k_table(runs: dict[str, object]) -> str:
    rows = []
    for name, links in runs.items():
        for one in links.findings.truth["k_identified"]:
            by_k = {r["k"]: r for r in one["rates"]}
            rows.append([name, one["attack"], *(told(by_k[k]) for k in (1, 5, 10))])
    return table(["second file", "attack", "k = 1", "k = 5", "k = 10"], rows)


def expected_table(runs: dict[str, object]) -> str:
    rows = []
    for name, links in runs.items():
        found = links.findings
        low, high = links.interval
        cuts = {(d["rule"], d["fdr"]): d for d in found.truth["discoveries"]}
        row = [name, found.data["n_queries"], found.truth["n_present"]]
        row += [
            f"{links.expected_links:,.0f} ({low:,.0f}–{high:,.0f})",
            f"{found.truth['right']:,}",
        ]
        for rule in ("spacing", "posterior"):
            for fdr in (0.05, 0.01):
                d = cuts[rule, fdr]
                row.append(
                    f"{d['accepted']:,}" + (f", {told(d['false'])} wrong" if d["false"] else "")
                )
        rows.append(row)
    return table(
        [
            "run",
            "people",
            "in the release",
            "right links, sum of posteriors (95 % interval)",
            "right in truth",
            "accepted at 5 %, spacing",
            "at 1 %, spacing",
            "with a posterior of at least 95 %",
            "of at least 99 %",
        ],
        rows,
    )


KINDS = {"equal width": ("calibration", "width"), "equal count": ("calibration_by_count", "count")}
"""Bins of the posterior: keys of their rows and of what chance alone would show."""


def calibration_table(runs: dict[str, object]) -> str:
    rows = []
    for kind, (key, _) in KINDS.items():
        for name, links in runs.items():
            for b in links.findings.truth[key]:
                rows.append(
                    [
                        kind,
                        name,
                        f"{b['from']:.2f}–{b['to']:.2f}",
                        b["n"],
                        percent(b["mean"]),
                        told(b),
                        f"{100 * (b['rate'] - b['mean']):+.1f}",
                    ]
                )
    return table(
        [
            "bins",
            "run",
            "posterior",
            "links",
            "mean posterior",
            "right in truth",
            "difference in points",
        ],
        rows,
    )


def calibration_figures(runs: dict[str, object]) -> str:
    """Figures of the posterior in both kinds of bins, and a sentence on what chance alone would show."""
    exact = []
    for name, links in runs.items():
        for kind, (key, chance) in KINDS.items():
            found, by_chance = links.findings.truth[key], links.findings.truth["by_chance"][chance]
            off = [100 * abs(b["rate"] - b["mean"]) for b in found]
            FIGURES.append(
                [
                    f"retail, {name}: posterior within 3 points in five bins of {kind}",
                    f"{sum(x <= 3 for x in off)} of {len(off)} bins; largest difference {max(off):.1f} points; p-value "
                    f"{by_chance['p_value']:.2f}",
                    "`make linking`",
                ]
            )
            exact.append(f"{percent(by_chance['within'])} ({name}, bins of {kind})")
    return (
        f"Chance alone: if every posterior were exactly right, all five bins would stay within 3 points with probability "
        f"{'; '.join(exact)}. The p-values of the figures above say how often exact posteriors differ from the truth at "
        "least as much as these do.\n"
    )


def movielens(folder: Path) -> str:
    ratings = pd.read_csv(folder / "ratings.csv.gz")
    tags = pd.read_csv(folder / "tags.csv")
    days = np.floor(tags["timestamp"] / 86_400)
    release = so.Dataset.from_arrays(
        ratings["userId"], ratings["movieId"], ratings["rating"], ratings["timestamp"] / 86_400
    )
    runs, absent_rows = {}, []
    for name, time_ in (("tags, no dates", None), ("tags with dates", days)):
        aux = so.Knowledge.from_arrays(tags["userId"], tags["movieId"], None, time_)
        for removed in (False, True):
            step(
                f"MovieLens: {name}, {'every second mentioner removed' if removed else 'all present'}"
            )
            data = (
                release.take(~np.isin(release.record_labels, aux.queries[::2]))
                if removed
                else release
            )
            right = np.searchsorted(data.record_labels, aux.queries)
            right = np.where(
                data.record_labels[np.minimum(right, data.n_records - 1)] == aux.queries, right, -1
            )
            links = judged(so.link(data, aux), data, aux, right)
            runs[f"{name}{', half removed' if removed else ''}"] = links
            if removed:
                present = right >= 0
                named = links.accepted(0.05)
                absent_rows.append(
                    [
                        name,
                        f"{links.posterior[present].mean():.2f}",
                        f"{links.posterior[~present].mean():.2f}",
                        f"{int(named[present].sum())} of {int(present.sum())}",
                        f"{int(named[~present].sum())} of {int((~present).sum())}",
                    ]
                )
    for name, links in runs.items():
        rates = {
            one["attack"]: [r["rate"] for r in one["rates"][:3]]
            for one in links.findings.truth["k_identified"]
        }
        least = min(
            a - b
            for other in ("scoring", "tf-idf")
            for a, b in zip(rates["link"], rates[other], strict=True)
        )
        (low, high), n = links.interval, links.findings.truth["right"]
        FIGURES.append(
            [
                f"{name}: link ≥ Scoring and TF-IDF at k = 1, 5, 10; expected links cover the truth",
                f"smallest lead {100 * least:+.1f} points; {low:.0f}–{high:.0f}, in truth {n}",
                "`make linking`, `tests/linking/test_link_realdata.py`",
            ]
        )
    for row in absent_rows:
        FIGURES.append(
            [
                f"{row[0]}, half of the mentioners removed: absent people are recognized",
                f"accepted at 5 %: {row[4]} absent, {row[3]} present; mean posterior {row[2]} and {row[1]}",
                "`make linking`",
            ]
        )
    return "\n".join(
        [
            "## MovieLens latest-small: tags → ratings\n",
            "58 people tag movies (1,775 distinct pairs, 2 in the median) and are all in the "
            "release of 610 people. *Half removed*: "
            "the records of every second mentioner are left out of the release, so 29 people are absent.\n",
            k_table(runs),
            "Mentioners who are not in the release:\n",
            table(
                [
                    "second file",
                    "mean posterior, present",
                    "absent",
                    "accepted at 5 %, present",
                    "absent",
                ],
                absent_rows,
            ),
            expected_table(runs),
        ]
    )


def shop(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    out = []
    for name, who in (
        ("online_retail_II_2009-2010", "Customer ID"),
        ("online_retail", "CustomerID"),
    ):
        frame = pd.read_csv(
            folder / f"{name}.csv.gz", parse_dates=["InvoiceDate"], dtype={"StockCode": str}
        )
        frame = frame.rename(columns={who: "customer"}).dropna(subset=["customer"])
        frame = frame[frame["Quantity"] > 0]
        # both files hold these days
        shared = (frame["InvoiceDate"] >= "2010-12-01") & (frame["InvoiceDate"] < "2010-12-10")
        frame = frame[~shared]
        out.append(
            frame.assign(
                customer=frame["customer"].astype(int), day=frame["InvoiceDate"].dt.floor("D")
            )
        )
    return out[0], out[1]


def dataset(frame: pd.DataFrame) -> so.Dataset:
    return so.Dataset.from_arrays(
        frame["customer"].to_numpy(),
        frame["StockCode"].to_numpy().astype(str),
        frame["Quantity"].to_numpy(),
        frame["day"].to_numpy(),
    )


def ways(first: so.Dataset, second: so.Dataset) -> np.ndarray:
    """Record of each person of the first file in the second one, -1 = absent."""
    at = np.minimum(
        np.searchsorted(second.record_labels, first.record_labels), second.n_records - 1
    )
    return np.where(second.record_labels[at] == first.record_labels, at, -1)


def retail(folder: Path) -> str:
    known, release = (dataset(frame) for frame in shop(folder))
    right, runs = ways(known, release), {}
    for name, one_to_one in (("one by one", False), ("one-to-one", True)):
        step(f"retail: {name}")
        begun = time.time()
        links = so.link(release, known, one_to_one=one_to_one, overlap="fit")
        step(f"linked in {time.time() - begun:.0f} s")
        others = ("tf-idf", "scoring", "scoreboard-rh", "likelihood") if not one_to_one else ()
        runs[name] = judged(links, release, known, right, others=others)
    exact = calibration_figures(runs)
    for name, links in runs.items():
        found = links.findings.truth
        wrong = {d["rule"]: d["false"] for d in found["discoveries"] if d["fdr"] == 0.05}
        FIGURES.append(
            [
                f"retail, {name}: at most 6 % of the names at 5 % are wrong",
                ", ".join(f"{rule} {told(x)}" for rule, x in wrong.items()),
                "`make linking`",
            ]
        )
    gain = runs["one-to-one"].findings.truth["one_to_one"]
    canaries = runs["one by one"].findings.canaries
    n_present, share = int((right >= 0).sum()), runs["one by one"].findings.links["overlap"]
    model = runs["one by one"].model_posterior > 0.95
    wrong = 1 - float(((runs["one by one"].best == right) & (right >= 0))[model].mean())
    e = ", ".join(percent(x) for x in runs["one by one"].noise.e)
    past = canaries["history"]
    return "\n".join(
        [
            "## Online Retail: 2009–10 → 2010–11\n",
            f"What {known.n_records:,} customers bought from 2009-12-01 to 2010-11-30 against the release of what "
            f"{release.n_records:,} customers bought from 2010-12-10 on; {n_present:,} are in "
            f"both, the others are absent. Lines of "
            "2010-12-01 to 09, which both files hold, and returns are dropped. The periods do not overlap, so only items and "
            "quantities are compared. **Presence is confounded with activity here**: customers who bought more in the first year "
            "are more often in the second, and are easier to find.\n",
            k_table(runs),
            expected_table(runs),
            f"One-to-one finds {told(gain['soft'])} (soft) and {told(gain['hard'])} (hard) of those in both, one by one "
            f"{told(gain['one_by_one'])}; gain of the soft assignment {100 * gain['soft']['gain']:.1f} points "
            f"({100 * gain['soft']['gain_low']:.1f} to {100 * gain['soft']['gain_high']:.1f}).\n",
            f"Overlap, estimated without the truth: {told(share)} of the customers are in the release; in truth "
            f"{percent(n_present / known.n_records)}.\n",
            f"The likelihood's own posterior is too sure: of the {int(model.sum()):,} links above "
            f"0.95, {percent(wrong)} are wrong. "
            f"Absent canaries with p ≤ 5 %: {told(canaries['absent_below_5'])}. Share of wrong "
            f"items by how often a fact was seen "
            f"(once, twice, three times, more often), as fitted: {e}.\n",
            f"The posterior is calibrated on the release's own history: what {past['n']:,} people "
            f"did before {past['day']}, linked "
            f"to what was done from then on, finds {told(past['found'])} of the {past['n_present']:,} in both parts. Copies of "
            f"records with the fitted noise are no substitute: {told(canaries['found'])} of them "
            f"are found. Their wrong items do not "
            "go together, and each of their facts counts as seen once.\n",
            calibration_table(runs),
            exact,
            pairs_section(*shop(folder), dataset, table, step),
        ]
    )


def missed(frame: pd.DataFrame, data: so.Dataset, best: np.ndarray) -> str:
    """What the record that is named instead shares with a person who is not found in the same file."""
    bought = frame.groupby("customer")[["StockCode", "Quantity", "day"]].apply(
        lambda x: set(x.itertuples(index=False, name=None))
    )
    told = []
    for record in np.flatnonzero(best != np.arange(data.n_records)):
        own, other = bought[data.record_labels[record]], bought[data.record_labels[best[record]]]
        told.append(
            f"For one person who is not found, the named record shares {len(own & other)} of {len(own)} purchases with "
            "the same item, quantity and day."
        )
    return " ".join(
        [
            *told,
            "A repeated item counts as one fact, so a further purchase of it hardly tells two records apart.\n",
        ]
    )


def checks(folder: Path) -> str:
    data = dataset(shop(folder)[1])
    step("retail linked to itself")
    same = so.link(data, data)
    step("retail linked to shuffled people")
    frame = shop(folder)[1]
    mixed = so.link(
        data,
        dataset(
            frame.assign(
                customer=np.random.default_rng(0).permutation(frame["customer"].to_numpy())
            )
        ),
    )
    right = same.best == np.arange(data.n_records)
    rows = [
        [
            "the same file",
            f"{int(right.sum()):,} of {right.size:,}",
            f"{int(same.accepted(0.05).sum()):,}",
            f"{same.expected_links:,.0f}",
            int(same.refused.sum()),
        ],
        [
            "a copy with shuffled people",
            "–",
            f"{int(mixed.accepted(0.05).sum()):,}",
            f"{mixed.expected_links:,.0f}",
            int(mixed.refused.sum()),
        ],
    ]
    FIGURES.append(
        [
            "the same file linked to itself: everyone; to shuffled people: nobody accepted",
            f"{rows[0][1]} best, {rows[0][2]} accepted; {rows[1][2]} accepted",
            "`make linking`",
        ]
    )
    return "\n".join(
        [
            "## A file linked to itself, and to shuffled people\n",
            "Online Retail 2010–11. In the copy, every line is given to a random customer; items, quantities and days stay.\n",
            table(
                [
                    "second file",
                    "best is the same person",
                    "accepted at 5 %",
                    "right links expected",
                    "test does not apply",
                ],
                rows,
            ),
            *([] if right.all() else [missed(frame, data, same.best)]),
        ]
    )


def shifted(folder: Path) -> str:
    step("time-shifted audit")
    whole = dataset(shop(folder)[1])
    links = so.time_shifted(whole, 0.5, others=("tf-idf", "scoreboard-rh"))
    return "\n".join(
        [
            "## Time-shifted audit\n",
            "`standout audit online_retail.csv --split-time 0.5`: knowledge from before a day, the release from that day on, no "
            "entry in both. For data in which people repeat items, `standout audit` proposes the day.\n",
            f"> {time_shift_sentence(links.findings)}\n",
            k_table({"first half → second half": links}),
            expected_table({"first half → second half": links}),
        ]
    )


def recovery() -> str:
    sys.path.insert(0, str(PAGE.parents[1] / "tests"))
    from people_of import knowledge, release, second_file, world

    step("recovery of planted noise")
    entries = world(seed=3)
    rows = []
    for e, moved, days in ((0.15, 0.3, 3), (0.3, 0.2, 14), (0.45, 0.4, 3)):
        aux = knowledge(
            second_file(entries, np.arange(0, 400, 2), e=e, value_moved=moved, days=days)
        )
        noise = so.link(release(entries), aux, canaries=False).noise
        rows.append(
            [
                f"{percent(e)} → {percent(noise.e[0])}",
                f"{percent(0.8 * moved)} → {percent(1 - noise.value.within(0.0))}",
                f"{days} → {percent(noise.time.within(float(days)))} within",
            ]
        )
    folded = people(aux)
    mentions = MentionPopularity.of(release(entries), folded.bind(release(entries)))
    starts = [fit_noise(release(entries), folded, mentions, start=x).e[0] for x in (0.1, 0.5, 0.9)]
    FIGURES.append(
        [
            "EM recovers planted noise within 20 % at 200 queries",
            "; ".join(str(r[0]) for r in rows) + " wrong items",
            "`make linking`, `tests/linking/test_em.py`",
        ]
    )
    FIGURES.append(
        [
            "three starting points reach the same optimum",
            f"e = {', '.join(f'{x:.4f}' for x in starts)}",
            "`make linking`, `tests/linking/test_em.py`",
        ]
    )
    return "\n".join(
        [
            "## Planted noise\n",
            "Synthetic people with tastes, 200 queries of 10 facts; planted → fitted. Moves of a "
            "value beyond the end of the scale "
            "are clipped, which leaves four fifths of them. `tests/linking/test_em.py` asserts "
            "recovery within 20 %, and that three "
            "starting points (e = 0.1, 0.5, 0.9) reach the same optimum.\n",
            table(["wrong items", "values that differ", "days"], rows),
        ]
    )


def overlaps() -> str:
    sys.path.insert(0, str(PAGE.parents[1] / "tests"))
    from people_of import knowledge, release, second_file, truth, world

    step("planted overlaps")
    entries, who, rows = world(n=600, seed=7), np.arange(0, 600, 2), []
    for planted in (0.2, 0.5, 0.9):
        gone = np.random.default_rng(2).permutation(who)[: round((1 - planted) * who.size)]
        data = release(entries, without=gone, time=False)
        aux = knowledge(second_file(entries, who, knows=12, e=0.2), time=False)
        found = so.link(data, aux, overlap="fit")
        share, right = found.findings.links["overlap"], truth(data, aux)
        hit, (low, high) = int(((found.best == right) & (right >= 0)).sum()), found.interval
        rows.append(
            [
                percent(planted),
                told(share),
                f"{found.expected_links:,.0f} ({low:,.0f}–{high:,.0f})",
                hit,
            ]
        )
    FIGURES.append(
        [
            "planted overlaps 20, 50, 90 % are recovered within the interval",
            "; ".join(str(r[1]) for r in rows),
            "`make linking`, `tests/linking/test_calibration.py`",
        ]
    )
    return "\n".join(
        [
            "## Planted overlaps\n",
            "Synthetic people with tastes, 300 queries of 12 items and values, a fifth of the items wrong, 600 people less those "
            "who are left out.\n",
            table(
                [
                    "planted overlap",
                    "estimated (95 %)",
                    "right links, sum of posteriors (95 % interval)",
                    "right in truth",
                ],
                rows,
            ),
        ]
    )


def speed() -> str:
    found = json.loads(PROFILES.read_text(encoding="utf-8"))
    rows = [
        [
            r["compared"],
            f"{r['queries']:,} × {r['items']}",
            f"{r['postings'] / 1e6:,.0f} M",
            f"{r['ns_per_posting']:.1f} ns",
            f"{r['ratio']:.2f}",
            percent(r["right_first"]),
        ]
        for r in found["rows"]
    ]
    ratios = ", ".join(
        f"{r['ratio']:.2f} × ({r['compared']})" for r in found["rows"] if r["items"] > 8
    )
    FIGURES.append(
        [
            "5,000 queries × 200 items at Netflix Prize size within 1.3 × the CPU time per posting of 8 items",
            ratios,
            "`benchmarks/linking_profiles.py`",
        ]
    )
    return "\n".join(
        [
            "## Whole profiles\n",
            f"Hundreds of items per query on the synthetic twin of the Netflix Prize data, {found['records']:,} records and "
            f"{found['entries']:,} entries; CPU time per posting on {found['cores']} cores, "
            f"scoring with the 22 best records of each "
            "query, a quarter of the facts wrong. `python benchmarks/linking_profiles.py --size 1 --out FILE` measures it.\n",
            table(
                [
                    "compared",
                    "queries × items",
                    "postings",
                    "CPU time per posting",
                    "against 8 items",
                    "right record first",
                ],
                rows,
            ),
        ]
    )


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("STANDOUT_DATA", ""))
    if not (folder / "online-retail").is_dir():
        sys.exit(
            "name the folder of public datasets: docs/scripts/linking.py FOLDER, or STANDOUT_DATA"
        )
    parts = [
        INTRO,
        movielens(folder / "ml-latest-small"),
        retail(folder / "online-retail"),
        shifted(folder / "online-retail"),
        checks(folder / "online-retail"),
        recovery(),
        overlaps(),
        speed(),
    ]
    summary = "\n".join(["## Figures\n", table(["check", "measured", "command"], FIGURES)])
    PAGE.write_text("\n".join([parts[0], summary, *parts[1:], LIMITS]), encoding="utf-8")
    step(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
