"""Rebuild docs/linking.md: two real pairs of files, linked with and without the truth. STANDOUT_DATA names the data."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import standout as so
from standout.linking.split import said
from standout.linking.truth import judged

PAGE = Path(__file__).resolve().parents[1] / "linking.md"

INTRO = """# Linking a second file

Rebuild this page with `make linking` (needs the public datasets, see `STANDOUT_DATA`).

`standout link RELEASE KNOWLEDGE` asks how many people of a second file an attacker could link to the release, and how sure she
would be, without ground truth and without knowing who is in the release. `so.link(release, knowledge)` does the same in Python.

## How it works

1. One query per person of the second file. Repeated facts count as one fact that was seen several times.
2. The likelihood of every record (`linking/attack.py`): e = share of facts about items that the record lacks, by how often
   the fact was seen; q = popularity of *mentioning*, counted in the second file without the person's own mentions; values and
   days by their agreement, as in Fellegi–Sunter linkage. Some people's days are unrelated to the release: they are a group
   of their own.
3. The noise is fitted by EM (`linking/em.py`). A candidate counts by its probability in step 4, so that absent people do not
   count as noise. A person with many facts counts no more than one with the median number.
4. Acceptance: the spacing test (`formulas/spacing.py`) compares the gap below the best record with the gaps among the next
   twenty. It knows neither the noise nor who is present. It is refused below three facts and where scores are tied.
   Benjamini–Hochberg turns its p-values into `accepted(fdr)`.
5. Posterior: two groups of queries, found and not found (`linking/groups.py`). If the best record is not the person's, -log p is
   exponential with mean 1. If it is, -log p is larger, and how often it is depends on the number of facts. Both are fitted to
   the queries themselves. `accepted(fdr, rule="posterior")` finds more than the test alone.
6. Canaries check it: records copied with the fitted noise (recall), and whole people of the release whose record is left out
   (false matches).
7. `one_to_one=True`: a record belongs to one person at most. Records that others claim score less, the test is repeated, and
   Sinkhorn scaling makes the claims on a record sum to at most 1.
"""

LIMITS = """## Limits

- The numbers hold for this second file. A file with more facts links more people.
- The choices of this method (the groups of the posterior, the three-fact minimum, the variant of the one-to-one assignment)
  were made with a look at the truth of these two datasets. Calibration, false discovery and coverage may be worse on other data.
- Presence and activity go together in real data: the people who are found are not typical of all, and the share found among
  people with few facts is far smaller.
- With one or two facts the spacing test does not apply. Such people are never accepted, and their posterior is the likelihood's.
- Where scores of unrelated records come in clusters (a copy of the same file, whose days agree exactly), p-values are corrected
  by the gaps below the second best record.
- The test asks whether the best record stands out from the next twenty. Where many people have close relatives in the release
  (families who share items), it confirms few links although the likelihood finds many. The run then says so, and the
  likelihood's own number is the upper limit.
- Days are compared as days, also if the release holds hours or minutes.
- Two files whose periods do not overlap are linked without days.
- The posterior of a one-to-one link between 0.2 and 0.8 is less well calibrated than that of one by one, see above.
"""


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
        row += [f"{links.expected_links:,.0f} ({low:,.0f}–{high:,.0f})", f"{found.truth['right']:,}"]
        for rule in ("spacing", "posterior"):
            for fdr in (0.05, 0.01):
                d = cuts[rule, fdr]
                row.append(f"{d['accepted']:,}" + (f", {told(d['false'])} wrong" if d["false"] else ""))
        rows.append(row)
    return table(
        ["run", "people", "in the release", "right links expected (95 %)", "right in truth", "accepted at 5 %, spacing",
         "at 1 %, spacing", "at 5 %, posterior", "at 1 %, posterior"], rows,
    )  # fmt: skip


def calibration_table(runs: dict[str, object]) -> str:
    rows = []
    for name, links in runs.items():
        for b in links.findings.truth["calibration"]:
            rows.append([name, f"{b['from']:.1f}–{b['to']:.1f}", b["n"], percent(b["mean"]), told(b)])
    return table(["run", "posterior", "links", "mean posterior", "right in truth"], rows)


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
            step(f"MovieLens: {name}, {'every second mentioner removed' if removed else 'all present'}")
            data = release.take(~np.isin(release.record_labels, aux.queries[::2])) if removed else release
            right = np.searchsorted(data.record_labels, aux.queries)
            right = np.where(data.record_labels[np.minimum(right, data.n_records - 1)] == aux.queries, right, -1)
            links = judged(so.link(data, aux), data, aux, right)
            runs[f"{name}{', half removed' if removed else ''}"] = links
            if removed:
                present = right >= 0
                named = links.accepted(0.05)
                absent_rows.append([name, f"{links.posterior[present].mean():.2f}", f"{links.posterior[~present].mean():.2f}",
                                    f"{int(named[present].sum())} of {int(present.sum())}",
                                    f"{int(named[~present].sum())} of {int((~present).sum())}"])  # fmt: skip
    return "\n".join([
        "## MovieLens latest-small: tags → ratings\n",
        "58 people tag movies (1,775 distinct pairs, 2 in the median) and are all in the release of 610 people. *Half removed*: "
        "the records of every second mentioner are left out of the release, so 29 people are absent.\n",
        k_table(runs),
        "Mentioners who are not in the release:\n",
        table(["second file", "mean posterior, present", "absent", "accepted at 5 %, present", "absent"],
              absent_rows),
        expected_table(runs),
    ])  # fmt: skip


def shop(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    out = []
    for name, who in (("online_retail_II_2009-2010", "Customer ID"), ("online_retail", "CustomerID")):
        frame = pd.read_csv(folder / f"{name}.csv.gz", parse_dates=["InvoiceDate"], dtype={"StockCode": str})
        frame = frame.rename(columns={who: "customer"}).dropna(subset=["customer"])
        frame = frame[frame["Quantity"] > 0]
        # both files hold these days
        shared = (frame["InvoiceDate"] >= "2010-12-01") & (frame["InvoiceDate"] < "2010-12-10")
        frame = frame[~shared]
        out.append(frame.assign(customer=frame["customer"].astype(int), day=frame["InvoiceDate"].dt.floor("D")))
    return out[0], out[1]


def dataset(frame: pd.DataFrame) -> so.Dataset:
    return so.Dataset.from_arrays(
        frame["customer"].to_numpy(), frame["StockCode"].to_numpy().astype(str), frame["Quantity"].to_numpy(),
        frame["day"].to_numpy(),
    )  # fmt: skip


def retail(folder: Path) -> str:
    first, second = shop(folder)
    known, release = dataset(first), dataset(second)
    at = np.minimum(np.searchsorted(release.record_labels, known.record_labels), release.n_records - 1)
    right = np.where(release.record_labels[at] == known.record_labels, at, -1)
    runs = {}
    for name, one_to_one in (("one by one", False), ("one-to-one", True)):
        step(f"retail: {name}")
        begun = time.time()
        links = so.link(release, known, one_to_one=one_to_one)
        step(f"linked in {time.time() - begun:.0f} s")
        runs[name] = judged(
            links,
            release,
            known,
            right,
            others=("tf-idf", "scoring", "scoreboard-rh", "likelihood") if not one_to_one else (),
        )
    gain = runs["one-to-one"].findings.truth["one_to_one"]
    canaries = runs["one by one"].findings.canaries
    n_present = int((right >= 0).sum())
    model = runs["one by one"].model_posterior > 0.95
    wrong = 1 - float(((runs["one by one"].best == right) & (right >= 0))[model].mean())
    e = ", ".join(percent(x) for x in runs["one by one"].noise.e)
    return "\n".join([
        "## Online Retail: 2009–10 → 2010–11\n",
        f"What {known.n_records:,} customers bought from 2009-12-01 to 2010-11-30 against the release of what "
        f"{release.n_records:,} customers bought from 2010-12-10 on; {n_present:,} are in both, the others are absent. Lines of "
        "2010-12-01 to 09, which both files hold, and returns are dropped. The periods do not overlap, so only items and "
        "quantities are compared. **Presence is confounded with activity here**: customers who bought more in the first year "
        "are more often in the second, and are easier to find.\n",
        k_table(runs),
        expected_table(runs),
        f"One-to-one finds {told(gain['soft'])} (soft) and {told(gain['hard'])} (hard) of those in both, one by one "
        f"{told(gain['one_by_one'])}; gain of the soft assignment {100 * gain['soft']['gain']:.1f} points "
        f"({100 * gain['soft']['gain_low']:.1f} to {100 * gain['soft']['gain_high']:.1f}).\n",
        f"The likelihood's own posterior is too sure: of the {int(model.sum()):,} links above 0.95, {percent(wrong)} are wrong. "
        f"Absent canaries with p ≤ 5 %: {told(canaries['absent_below_5'])}. Share of wrong items by how often a fact was seen "
        f"(once, twice, three times, more often), as fitted: {e}.\n",
        calibration_table(runs),
    ])  # fmt: skip


def checks(folder: Path) -> str:
    data = dataset(shop(folder)[1])
    step("retail linked to itself")
    same = so.link(data, data)
    step("retail linked to shuffled people")
    frame = shop(folder)[1]
    mixed = so.link(
        data, dataset(frame.assign(customer=np.random.default_rng(0).permutation(frame["customer"].to_numpy())))
    )
    right = same.best == np.arange(data.n_records)
    rows = [
        ["the same file", f"{int(right.sum()):,} of {right.size:,}", f"{int(same.accepted(0.05).sum()):,}",
         f"{same.expected_links:,.0f}", int(same.refused.sum())],
        ["a copy with shuffled people", "–", f"{int(mixed.accepted(0.05).sum()):,}", f"{mixed.expected_links:,.0f}",
         int(mixed.refused.sum())],
    ]  # fmt: skip
    return "\n".join([
        "## A file linked to itself, and to shuffled people\n",
        "Online Retail 2010–11. In the copy, every line is given to a random customer; items, quantities and days stay.\n",
        table(["second file", "best is the same person", "accepted at 5 %", "right links expected", "test does not apply"], rows),
    ])  # fmt: skip


def shifted(folder: Path) -> str:
    step("time-shifted audit")
    whole = dataset(shop(folder)[1])
    links = so.time_shifted(whole, 0.5, others=("tf-idf", "scoreboard-rh"))
    return "\n".join([
        "## Time-shifted audit\n",
        "`standout audit online_retail.csv --split-time 0.5`: knowledge from before a day, the release from that day on, no "
        "entry in both. For data in which people repeat items, `standout audit` proposes the day.\n",
        f"> {said(links.findings)}\n",
        k_table({"first half → second half": links}),
        expected_table({"first half → second half": links}),
    ])  # fmt: skip


def recovery() -> str:
    sys.path.insert(0, str(PAGE.parents[1] / "tests"))
    from people_of import knowledge, release, second_file, world

    step("recovery of planted noise")
    entries = world(seed=3)
    rows = []
    for e, moved, days in ((0.15, 0.3, 3), (0.3, 0.2, 14), (0.45, 0.4, 3)):
        aux = knowledge(second_file(entries, np.arange(0, 400, 2), e=e, value_moved=moved, days=days))
        noise = so.link(release(entries), aux, canaries=False).noise
        rows.append([f"{percent(e)} → {percent(noise.e[0])}", f"{percent(0.8 * moved)} → {percent(1 - noise.value.within(0.0))}",
                     f"{days} → {percent(noise.time.within(float(days)))} within"])  # fmt: skip
    return "\n".join([
        "## Planted noise\n",
        "Synthetic people with tastes, 200 queries of 10 facts; planted → fitted. Moves of a value beyond the end of the scale "
        "are clipped, which leaves four fifths of them. `tests/linking/test_em.py` asserts recovery within 20 %, and that three "
        "starting points (e = 0.1, 0.5, 0.9) reach the same optimum.\n",
        table(["wrong items", "values that differ", "days"], rows),
    ])  # fmt: skip


def speed(size: float = 0.05, queries: int = 5000) -> str:
    from standout.bench.case import twin_file
    from standout.linking.agreement import Agreement
    from standout.linking.attack import LinkLikelihood
    from standout.linking.mentions import Mentions
    from standout.linking.people import people

    step("whole profiles")
    data = so.Dataset.read(twin_file(size))
    rows, first = [], {}
    noises = {
        "items and values": so.LinkNoise((0.2,), 0.1, Agreement((0.0, 1.0, 2.0), (0.4, 0.3, 0.2, 0.1))),
        "items, values and days": so.LinkNoise(
            (0.2,), 0.1, Agreement((0.0, 1.0, 2.0), (0.4, 0.3, 0.2, 0.1)),
            Agreement((0.0, 3.0, 14.0, 30.0, 90.0, 365.0), (0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05)), 0.1,
        ),
    }  # fmt: skip
    for knows in (8, 200):
        who = so.Adversary(knows=knows, wrong=knows // 4, wrong_kind="item", value_within=1, time_within=14)
        targets = np.sort(np.random.default_rng(0).choice(who.eligible(data), queries))
        drawn = who.sample(data, targets, seed=1)
        aux = people(so.Knowledge.from_arrays(drawn.query, drawn.item, drawn.value, drawn.time))
        facts = aux.bind(data)
        mentions, postings = Mentions.of(data, facts), int(data.supports[facts.item].sum())
        for name, noise in noises.items():
            attack = LinkLikelihood(noise, mentions)
            attack.top_scores(data, so.Knowledge.from_arrays([0], aux.item[:1], aux.value[:1], aux.time[:1]), 22)
            begun = time.process_time()
            best = attack.top_scores(data, aux, 22)[0][:, 0]
            spent = (time.process_time() - begun) / postings * 1e9
            first.setdefault(name, spent)
            rows.append([name, f"{queries:,} × {knows}", f"{postings / 1e6:,.0f} M", f"{spent:.1f} ns",
                         f"{spent / first[name]:.2f}", percent(float((best == targets).mean()))])  # fmt: skip
    return "\n".join([
        "## Whole profiles\n",
        f"Hundreds of items per query on the synthetic twin of the Netflix Prize data, {data.n_records:,} records; CPU time per "
        "posting, scoring with the 22 best records of each query, a quarter of the facts wrong.\n",
        table(["compared", "queries × items", "postings", "CPU time per posting", "against 8 items", "right record first"], rows),
    ])  # fmt: skip


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("STANDOUT_DATA", ""))
    if not (folder / "online-retail").is_dir():
        sys.exit("name the folder of public datasets: docs/scripts/linking.py FOLDER, or STANDOUT_DATA")
    parts = [INTRO, movielens(folder / "ml-latest-small"), retail(folder / "online-retail"), shifted(folder / "online-retail"),
             checks(folder / "online-retail"), recovery(), speed()]  # fmt: skip
    PAGE.write_text("\n".join([*parts, LIMITS]), encoding="utf-8")
    step(f"wrote {PAGE.name}")


if __name__ == "__main__":
    main()
