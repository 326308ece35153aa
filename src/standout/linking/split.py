"""Time-shifted audit: knowledge from one period, the release of another, the same people, no entry in common.

Habits alone link the two (Tournier and de Montjoye 2022). Self-sampled knowledge overstates what an
attacker has; knowledge from another period understates it, because nothing of the release itself is
known.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np

from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.engines.engine import Engine
from standout.errors import ParameterError
from standout.experiment.progress import Progress
from standout.linking.findings import LinkFindings, accepted_at
from standout.linking.link import link
from standout.linking.links import Links
from standout.linking.periods import EPOCH, span, split_day, split_time
from standout.linking.truth import judged

FEWEST_PEOPLE = 20
"""Fewest people in both periods."""


def proposed_split(dataset: Dataset) -> date | None:
    """Day that cuts data with repeated items into two halves; None for data without repeats, times, or people in both."""
    if not (dataset.has_time and dataset.has_repeats):
        return None
    day = split_day(dataset, 0.5)
    first = (day - EPOCH).days * dataset.ticks_per_day - dataset.first_tick
    tick = dataset.record_tick.astype(np.int64)
    begins = dataset.record_ptr[:-1][np.diff(dataset.record_ptr) > 0]
    lowest = np.minimum.reduceat(tick, begins)
    highest = np.maximum.reduceat(np.where(tick == dataset.no_tick, -1, tick), begins)
    return day if int(((lowest < first) & (highest >= first)).sum()) >= FEWEST_PEOPLE else None


def time_shifted(
    dataset: Dataset,
    at: date | str | float = 0.5,
    one_to_one: bool = False,
    *,
    engine: str | Engine = "memory",
    seed: int = 0,
    others: tuple[str, ...] | None = None,
    progress: Progress | bool | None = None,
) -> Links:
    """Link what people did before a day to the release of what they did from that day on, and compare with the truth.

    Parameters
    ----------
    dataset
        Records with times.
    at
        First day of the release: a date, a text like "2011-06-01", or a share of the entries that
        lie before it.
    one_to_one, engine, seed, progress
        As in `link`.
    others
        Attacks to compare with, as in `linking.truth.judged`.
    """
    day = split_day(dataset, at)
    before, after = split_time(dataset, day)
    right = find_labels(after.record_labels, before.record_labels)
    if not (right >= 0).any():
        raise ParameterError(f"split at {day}: nobody is in both periods{span(dataset)}")
    found = link(after, before, one_to_one=one_to_one, engine=engine, seed=seed, progress=progress)
    done = judged(found, after, before, right, others=others)
    data = {**done.details["data"], "split": day.isoformat()}
    return replace(done, details={**done.details, "data": data})


def said(found: LinkFindings) -> str:
    """The sentence for a data-protection officer."""
    truth, day = found.truth, found.data.get("split")
    if not truth or not day:
        raise ParameterError("these findings are not those of a time-shifted audit")
    top = next(r for r in truth["k_identified"][0]["rates"] if r["k"] == 1)
    rate = f"{100 * top['rate']:.0f} % ({100 * top['low']:.0f} to {100 * top['high']:.0f} %)"
    named = accepted_at(found, 0.05)["accepted"]
    wrong = next(
        d["false"] for d in truth["discoveries"] if d["rule"] == "spacing" and d["fdr"] == 0.05
    )
    told = f", {100 * wrong['rate']:.0f} % of them wrong" if wrong else ""
    if top["low"] <= 1 / found.data["n_records"]:
        follows = "That is not more than guessing would find: this test does not show that habits lead to people."
    else:
        follows = "Removing names and old entries therefore does not make this data anonymous: habits alone lead to people."
    return (
        f"Someone who knows only what people did before {day} finds the record of {rate} of the {top['n']:,} who are still "
        f"there, among the {found.data['n_records']:,} records of what came after, although the two periods share no entry. "
        f"Without a list of who is there she can name {named:,} people{told}. {follows}"
    )
