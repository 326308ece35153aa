"""Rows about a release that differs from its source: whose records it holds, and the attack on it as its own source."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.audit.matching import MOST_HIDDEN, Match
from standout.data.dataset import Dataset
from standout.formulas.exact_tests import holm
from standout.gate.question import Question
from standout.gate.rows import REQUIREMENT
from standout.gate.words import percent

Row = dict[str, Any]


def of_people(release: Dataset, place: Array) -> Dataset:
    """The release without the records that belong to nobody in the source.

    Copies of a person's record and invented people must not hide anybody: finding a copy is finding
    the person.
    """
    part = release.take(np.sort(place[place >= 0]), drop_empty=False)
    return replace(part, origin=release.origin)


def within(who: Adversary, data: Dataset) -> Adversary:
    """The adversary with no more facts than half of the records of a release hold."""
    typical = max(1, int(np.median(seen_through(data, who).lengths)))
    return who if who.knows <= typical else replace(who, knows=typical, wrong=0)


def match_rows(seen: Match, own: list[Question], alpha: float) -> Iterator[Row]:
    """Rows of a release that differs from its source.

    Parameters
    ----------
    seen
        How far the release is what its labels and its defense say.
    own
        Questions about the release as its own source.
    alpha
        Error of each verdict.
    """
    base = REQUIREMENT
    alone, why = _alone(own, alpha)
    limit = percent(MOST_HIDDEN)
    if seen.n_added:
        few = seen.added_share <= MOST_HIDDEN
        why_added = f"{seen.n_added:,} records belong to nobody in the source and were left out of the attack"
        if not few:
            why_added += f": more than {limit} of the people could hide behind them; remove them, or use the source's labels"
        yield {
            **base,
            "limit": "added records",
            "verdict": "pass" if few else "unclear",
            "why": why_added,
        }
    if seen.is_shown:
        upper = percent(seen.hidden_upper, 1)
        told = f"at most {upper} of the people carry the label of somebody else ({seen.n_compared:,} compared)"
        yield {**base, "limit": "labels and defense", "verdict": "pass", "why": told}
        yield {
            **base,
            "limit": "release as its own source",
            "verdict": "pass",
            "why": f"{why}; it does not decide, because labels and defense are as stated",
        }
        return
    doubt = _doubt(seen, limit)
    if alone == "pass":
        verdict, told = "pass", f"{doubt}; the release keeps the limits as its own source"
    else:
        verdict, told = "fail" if seen.is_wrong and alone == "fail" else "unclear", doubt
    yield {**base, "limit": "labels and defense", "verdict": verdict, "why": told}
    yield {
        **base,
        "limit": "release as its own source",
        "n_tests": len(own),
        "verdict": "unclear" if alone == "fail" and not seen.is_wrong else alone,
        "why": why,
    }


def _doubt(seen: Match, limit: str) -> str:
    if seen.doubts:
        return seen.doubts[0]
    if seen.hidden_upper >= 1:
        return "records do not resemble those of the same label enough to tell whose they are"
    upper = percent(seen.hidden_upper, 1)
    compared = f"({seen.n_compared:,} compared)"
    return f"up to {upper} of the people may carry the label of somebody else, more than {limit} {compared}"


def _alone(own: list[Question], alpha: float) -> tuple[str, str]:
    """Verdict and sentence about the release as its own source."""
    measured = [q for q in own if q.is_done and q.below]
    if not measured:
        return "unclear", "not measured"
    worst = max(measured, key=lambda q: (q.lower - q.limit.max, q.upper - q.limit.max))
    found = f"with knowledge drawn from the release itself, between {percent(worst.lower, -1)} and {percent(worst.upper, 1)}"
    said = f"{found} are found (limit {percent(worst.limit.max)})"
    if min(holm([q.p_exceeded for q in own])) <= alpha:
        return "fail", said
    return ("pass" if all(q.is_met for q in own) else "unclear"), said
