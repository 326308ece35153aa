"""Part of docs/linking.md: the posterior learned from the release's history, checked on several pairs of files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

import standout as so
from standout.linking.answer import LinkCandidates
from standout.linking.canaries import run_canaries
from standout.linking.em import score_second_file
from standout.linking.history import History, Recalibration, features, history
from standout.linking.people import people
from standout.linking.truth import (
    POINTS,
    by_chance,
    calibration,
    equal_count,
    equal_width,
    truth_of,
)

FOLDS = 10
STRAIGHT = 3
"""Number of features without the curved terms: -log p, facts, scale."""
HEADER = [
    "second file → release",
    "linked",
    "people",
    "right expected",
    "right in truth",
    "gain on history",
    "gain on the pair",
    "bins within 3 points, equal width",
    "equal count",
    "largest difference, equal count",
    "p-value, equal count",
]


class Pair(NamedTuple):
    """Scores of a pair of files, and of the release's history."""

    answer: LinkCandidates
    right: np.ndarray
    past: History


def pairs(
    first: pd.DataFrame, second: pd.DataFrame
) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Pairs of files made of the purchases of two years."""
    every = np.union1d(first["customer"], second["customer"])
    half = np.isin(every, np.random.default_rng(5).permutation(every)[: every.size // 2])
    out = {"2009–10 → 2010–11": (first, second), "2010–11 → 2009–10": (second, first)}
    for name, some in (
        ("one half of the customers", every[half]),
        ("the other half", every[~half]),
    ):
        one, two = (frame[frame["customer"].isin(some)] for frame in (first, second))
        out[f"2009–10 → 2010–11, {name}"], out[f"2010–11 → 2009–10, {name}"] = (
            (one, two),
            (two, one),
        )
    for name, frame in (("2009–10", first), ("2010–11", second)):
        early = frame["day"] < frame["day"].quantile(0.5)
        out[f"{name}, first half → second half"] = frame[early], frame[~early]
        out[f"{name}, second half → first half"] = frame[~early], frame[early]
    return out


def linked(known: so.Dataset, release: so.Dataset) -> Iterator[tuple[str, Pair]]:
    """The pair one by one and one-to-one, as `standout.link` does it before the posterior is learned."""
    second = people(known)
    _, attack, top = score_second_file(release, second, "fit", "memory")
    seen = run_canaries(release, second, attack, "memory")
    null_mean = seen.null_mean if seen else 1.0
    past = history(release, attack.noise, null_mean, True)
    if past is None:
        raise SystemExit("the release has too little history")
    right = truth_of(release, known.record_labels)
    alone = LinkCandidates.of(top, null_mean)
    yield "one by one", Pair(alone, right, past._replace(answer=past.alone))
    yield "one-to-one", Pair(alone.joint(), right, past)


def log_likelihood(p: np.ndarray, hit: np.ndarray) -> float:
    """Sum over the queries, in nats."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return float(np.log(np.where(hit, p, 1 - p)).sum())


def cross_validated(x: np.ndarray, hit: np.ndarray) -> float:
    """Log-likelihood of labeled queries, each predicted without its own tenth."""
    fold = np.random.default_rng(0).integers(0, FOLDS, hit.size)
    p = np.empty(hit.size)
    for k in range(FOLDS):
        p[fold == k] = expit(Recalibration.fit(x[fold != k], hit[fold != k]).logits(x[fold == k]))
    return log_likelihood(p, hit)


def row(name: str, way: str, it: Pair) -> list[object]:
    """One row of the table: the map with curved terms against the one without them."""
    past, answer = it.past, it.answer
    labels = past.hit[past.answer.top.applies]
    labeled, mine = features(past.answer.top), features(answer.top)
    use, gains, posterior = answer.top.applies, [], np.empty(0)
    hit = (answer.best == it.right) & (it.right >= 0)
    for n in (STRAIGHT, labeled.shape[1]):
        learned = Recalibration.fit(labeled[:, :n], labels)
        shift = learned.shift(mine[:, :n], answer.n_found)
        posterior = answer.recalibrated(
            learned.posterior(mine[:, :n], shift), shift.error
        ).posterior
        gains.append(
            (cross_validated(labeled[:, :n], labels), log_likelihood(posterior[use], hit[use]))
        )
    wide, even = (
        calibration(posterior, hit, bins(posterior)) for bins in (equal_width, equal_count)
    )
    off = [[abs(b["rate"] - b["mean"]) for b in rows] for rows in (wide, even)]
    chance = by_chance(posterior, hit, equal_count(posterior))
    gain = np.subtract(gains[1], gains[0])
    return [
        name,
        way,
        f"{hit.size:,}",
        f"{posterior.sum():,.0f}",
        f"{hit.sum():,}",
        f"{gain[0]:+.1f}",
        f"{gain[1]:+.1f}",
        *(f"{sum(x <= POINTS for x in one)} of {len(one)}" for one in off),
        f"{100 * max(off[1]):.1f} points",
        f"{chance['p_value']:.2f}" if chance["p_value"] >= 0.01 else "< 0.01",
    ]


CHOICE = """How the terms were chosen: 13 sets of terms were tried. Of the 11 that were compared on six of these histories, the
one with the largest cross-validated likelihood was taken. The truth of the pairs, that of the first one included, was seen
beside each of them. Four ways to split the history (at one day or three, forward or also backward) were compared by the truth
of the first pair, and six rules for the share of found people by the truth of nine pairs. None was better both one by one and
one-to-one than the one that was there, and it was kept. The first pair is therefore no untouched test of this calibration.
"""
"""What was tried, and what was seen while choosing."""


def pairs_section(
    first: pd.DataFrame,
    second: pd.DataFrame,
    dataset: Callable[[pd.DataFrame], so.Dataset],
    table: Callable[[list[str], list[list[object]]], str],
    step: Callable[[str], None],
) -> str:
    """The section of the page."""
    rows: list[list[object]] = []
    for name, (known, release) in pairs(first, second).items():
        step(f"pair {name}")
        rows += [row(name, way, it) for way, it in linked(dataset(known), dataset(release))]
    return section(rows, table)


def section(rows: list[list[object]], table: Callable[[list[str], list[list[object]]], str]) -> str:
    """Text and table of measured rows."""
    n = len(rows)
    better = [sum(float(str(r[k])) > 0 for r in rows) for k in (5, 6)]
    kept = [sum(str(r[k]) == "5 of 5" for r in rows) for k in (7, 8)]
    expected, right = ([float(str(r[k]).replace(",", "")) for r in rows] for k in (3, 4))
    off = max(abs(a / b - 1) for a, b in zip(expected, right, strict=True))
    return "\n".join(
        [
            "### The same calibration on other pairs\n",
            "*Gain*: log-likelihood in nats with √(-log p) and the product of -log p and log scale among the terms, minus that "
            "without them; *on history* is cross-validated, *on the pair* uses its truth. It is positive for "
            f"{better[0]} of {n} histories and {better[1]} of {n} pairs. All five bins are within "
            f"3 points in {kept[0]} of {n} rows "
            f"with bins of equal width, and in {kept[1]} with bins of equal count. *p-value*: how "
            f"often exact posteriors differ from "
            "the truth at least as much. The rows are not independent: the pairs share customers, and one-to-one uses the same "
            "scores as one by one. Overlap is not fitted here, so the first two rows differ a little from the tables above.\n",
            table(HEADER, rows),
            CHOICE,
            "What is left is the share of people who are found. The expected number of right "
            "links differs from the truth by up to "
            f"{100 * off:.0f} %, most in halves of one year, where the history is another season than the second file. All "
            "posteriors are then too high or too low together.\n",
        ]
    )
