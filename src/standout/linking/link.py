"""`link`: a second file against a release, without ground truth; `time_shifted`: two periods of one dataset, with it.

They are `so.link` and `so.time_shifted` in Python, `standout link` and `standout audit --split-time`
on the command line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.catalog import check_dataset
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.engines.engine import Engine
from standout.errors import ParameterError
from standout.experiment.progress import Progress, reporting
from standout.linking.answer import LinkCandidates
from standout.linking.canaries import Canaries, run_canaries
from standout.linking.em import score_second_file
from standout.linking.groups import TopScores
from standout.linking.history import (
    MOST_ERROR,
    History,
    Shift,
    features,
    first_tick_of,
    history,
    span,
    split_day,
    split_time,
)
from standout.linking.links import Links
from standout.linking.noise import LinkNoise
from standout.linking.people import comparable, people
from standout.linking.totals import Estimate, check_overlap, fit_overlap, if_noisier
from standout.linking.truth import judged

FEWEST_PEOPLE = 20
"""Fewest people in both periods for a split that is proposed."""
FAR_ABOVE = 1.5
"""The two estimates disagree if the likelihood expects more than this many times the upper end of the gaps."""
DISAGREE = (
    "Two estimates of the number of right links disagree: {few:,.0f} to {many:,.0f} people by the gaps below the best records, "
    "{n:,.0f} by the likelihood. The first misses right records that do not stand out, the second is too high where people "
    "resemble each other. {used}"
)
BOTH = "The interval holds both: take its upper end as the upper limit of the risk."
HISTORY = (
    "The interval is that of the first, because the release's own history confirmed it. If the second file is unlike that "
    "history, take the second as the upper limit of the risk."
)
COARSE = (
    "The release holds times by the {0}; they were compared by the {1}. A second file that agrees to the {0} would link "
    "more people."
)
CLUSTERED = (
    "The scores of unrelated records come in clusters, so the spacing test alone would accept too many links; it was corrected "
    "by the second best records."
)
NOBODY_TESTED = (
    "The spacing test applies to nobody: it needs 21 candidates with mostly different scores. The posteriors are the "
    "likelihood's own and are too sure."
)
TOO_QUICK = (
    "The test accepts {share:.0f} % of the absent canaries at p ≤ 5 %: it is too quick to accept on this data, and p-values and "
    "posteriors were corrected for it."
)


def link(
    dataset: Dataset,
    knowledge: Knowledge | Dataset,
    noise: str | LinkNoise = "fit",
    one_to_one: bool = False,
    *,
    items: dict[Any, Any] | None = None,
    overlap: str | float | None = None,
    engine: str | Engine = "memory",
    canaries: bool = True,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> Links:
    """Link the people of a second file to the records of a release.

    Parameters
    ----------
    dataset
        The release.
    knowledge
        The second file: a `Knowledge` with one query per person, or a `Dataset` with one record per
        person.
    noise
        "fit": estimated by EM from the two files. A `LinkNoise`: as given.
    one_to_one
        Whether a record can belong to one person only: posteriors are then those of a soft
        assignment.
    items
        Label in the release of each item label of the second file, where the two differ.
    overlap
        Share of the people of the second file who are in the release: None = not asked for; "fit" =
        estimated, which needs canaries; a share = as given. It is the prior of presence where the
        spacing test does not apply.
    engine
        Name of an engine, or an engine.
    canaries
        Whether to run canaries: they check the test, state the recall and, where people repeat
        items, calibrate the posterior.
    seed
        Random seed of the canaries and of the bootstrap.
    progress
        A function (what, done, total), True for a bar, False for nothing, None for a bar if
        standard error is a terminal.
    """
    _check(dataset, noise, overlap, canaries)
    second = people(knowledge, items)
    data = comparable(dataset, second)
    most, past = 0.0, None
    with reporting(progress) as move:
        move("fitting the noise", 0, second.n_queries)
        step = _counter(move, "linking", second.n_queries)
        facts, attack, top = score_second_file(data, second, noise, engine, step)
        move("canaries", 0, 1)
        seen = run_canaries(data, second, attack, engine, seed) if canaries else None
        null_mean = seen.null_mean if seen else 1.0
        if canaries:
            past = history(data, attack.noise, null_mean, one_to_one, engine, seed)
        if isinstance(noise, str):
            most = if_noisier(data, second, attack, engine, _given_presence(overlap))
    alone, present, presence = _one_by_one(top, null_mean, overlap, seen, past, seed)
    answer, shift = _recalibrated(alone.joint() if one_to_one else alone, past)
    interval, gaps, likelihood = answer.right_links(seed, presence, most)
    assigned = answer.assigned() if one_to_one else np.empty(0, np.int64)
    warnings = _warnings(alone.top, top, seen) + _disagreement(interval, gaps, likelihood)
    if data is not dataset and attack.noise.time is not None:
        warnings.append(COARSE.format(dataset.time_resolution, data.time_resolution))
    details = {
        "data": _counts(data, second, facts, top),
        "overlap": present,
        "estimates": {"gaps": gaps._asdict(), "likelihood": likelihood._asdict()},
        "warnings": warnings,
        **_compared(alone, answer, assigned, seen, past.report() if past else {}, shift),
    }
    return Links(
        best=answer.best,
        posterior=answer.posterior,
        p=np.where(top.n_facts > 0, answer.p, np.nan),
        model_posterior=top.model_posterior(alone.prior),
        n_facts=top.n_facts,
        candidates=answer.top.record,
        chances=answer.chance,
        one_to_one=one_to_one,
        noise=attack.noise,
        expected_links=float(answer.posterior.sum()),
        interval=interval,
        details=details,
        queries=second.queries,
        record_labels=data.record_labels,
        assigned=assigned,
    )


def _check(dataset: Any, noise: Any, overlap: Any, canaries: bool) -> None:
    """Refuse options that make no sense."""
    if not (noise == "fit" or isinstance(noise, LinkNoise)):
        raise ParameterError(f"noise={noise!r}: use 'fit' or a LinkNoise")
    check_dataset(dataset)
    check_overlap(overlap)
    if overlap == "fit" and not canaries:
        raise ParameterError(
            "overlap='fit' needs canaries: how many people are found is compared with them"
        )


def _counter(move: Progress, what: str, total: int) -> Callable[[int], None]:
    done = 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        move(what, done, total)

    return step


def _recalibrated(
    answer: LinkCandidates, past: History | None
) -> tuple[LinkCandidates, Shift | None]:
    """The answer with posteriors learned from the release's history, where that is possible."""
    learned = past.recalibration() if past else None
    if learned is None or not answer.top.applies.any():
        return answer, None
    mine = features(answer.top)
    shift = learned.shift(mine, answer.n_found)
    if shift.error > MOST_ERROR:
        return answer, None
    return answer.recalibrated(learned.posterior(mine, shift), shift.error), shift


def _given_presence(overlap: str | float | None) -> tuple[float, float] | None:
    """Smallest and largest share of people in the release, if a share was given."""
    return (float(overlap), float(overlap)) if isinstance(overlap, int | float) else None


def _one_by_one(
    top: TopScores,
    null_mean: float,
    overlap: str | float | None,
    seen: Canaries | None,
    past: History | None,
    seed: int,
) -> tuple[LinkCandidates, dict[str, float] | None, tuple[float, float] | None]:
    """The answers one by one, the share of people in the release if it is fitted, and the smallest and largest share if known."""
    given = _given_presence(overlap)
    alone = LinkCandidates.of(top, null_mean, given[0] if given else 0.5)
    if overlap != "fit":
        return alone, None, given
    present = _overlap(alone, seen, past, seed)
    presence = (max(present["low"], 0.01), min(present["high"], 0.99))
    return LinkCandidates.of(top, null_mean, present["rate"]), present, presence


def _overlap(
    alone: LinkCandidates, seen: Canaries | None, past: History | None, seed: int
) -> dict[str, float]:
    """Share of people in the release, by the canaries that are most like them."""
    if seen is None:
        raise ParameterError(
            "overlap='fit': the release has too few records for canaries; give a share instead"
        )
    if past is None:
        present, n_facts, hit = ~seen.is_absent, seen.top.n_facts, seen.right
    else:
        one = past._replace(answer=past.alone)
        alone, _ = _recalibrated(alone, one)
        present, n_facts, hit = past.right >= 0, past.answer.top.n_facts, one.hit
    interval = alone.right_links(seed)[0]
    expected = float(alone.posterior.sum())
    return fit_overlap(expected, interval, alone.top.n_facts, n_facts[present], hit[present])


def _compared(
    alone: LinkCandidates,
    answer: LinkCandidates,
    assigned: Array,
    seen: Canaries | None,
    past: dict[str, Any],
    shift: Shift | None,
) -> dict[str, Any]:
    """What the canaries showed, and what one-to-one changes."""
    canaries = one_to_one = None
    if seen:
        canaries = seen.report(alone.p, alone.groups.null_mean)
        canaries["history"] = {**past, **shift._asdict()} if shift else None
    if answer.before:
        one_to_one = {
            "expected_one_by_one": float(alone.posterior.sum()),
            "expected": float(answer.posterior.sum()),
            "changed": int((alone.best != answer.best).sum()),
            "hard_changed": int((alone.best != assigned).sum()),
        }
    return {"alone": alone.best, "canaries": canaries, "one_to_one": one_to_one}


def _counts(dataset: Dataset, second: Knowledge, facts: Facts, top: TopScores) -> dict[str, Any]:
    unknown = facts.item < 0
    return {
        "n_queries": second.n_queries,
        "n_facts": second.n_facts,
        "n_facts_known": int((~unknown).sum()),
        "n_items_unknown": len({str(x) for x in second.item[unknown].tolist()}),
        "n_facts_unknown": int(unknown.sum()),
        "n_without_known_items": int((top.n_facts == 0).sum()),
        "median_facts": float(np.median(top.n_facts)),
        "n_records": dataset.n_records,
        "n_items": dataset.n_items,
        "n_entries": dataset.n_entries,
        "has_value": bool(dataset.has_value and not np.isnan(second.value).all()),
        "has_time": bool(dataset.has_time and not np.isnan(second.time).all()),
    }


def _warnings(used: TopScores, plain: TopScores, seen: Canaries | None) -> list[str]:
    """Notes on the candidates that are used, those with p-values as they were, and the canaries."""
    out, n_unknown = [], int((used.n_facts == 0).sum())
    if not used.applies.any():
        out.append(NOBODY_TESTED)
    if n_unknown:
        out.append(
            f"{n_unknown:,} people have no item that the release holds: nobody is named for them."
        )
    if seen is not None and seen.false_share.low > 0.05:
        out.append(TOO_QUICK.format(share=100 * seen.false_share.rate))
    if not np.array_equal(used.p, plain.p, True):
        out.append(CLUSTERED)
    return out


def _disagreement(interval: tuple[float, float], gaps: Estimate, likelihood: Estimate) -> list[str]:
    """A note if the likelihood expects far more right links than the gaps allow for."""
    n = likelihood.expected
    if n <= FAR_ABOVE * gaps.high or n < gaps.high + 1:
        return []
    used = BOTH if interval[1] >= n else HISTORY
    return [DISAGREE.format(few=gaps.low, many=gaps.high, n=n, used=used)]


def proposed_split(dataset: Dataset) -> date | None:
    """Day that cuts data with repeated items into two halves; None for data without repeats, times, or people in both."""
    if not (dataset.has_time and dataset.has_repeats):
        return None
    day = split_day(dataset, 0.5)
    first = first_tick_of(dataset, day)
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

    Habits alone link the two (Tournier and de Montjoye 2022): no entry is in both. Self-sampled
    knowledge overstates what an attacker has; knowledge from another period understates it, because
    nothing of the release itself is known.

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
    links = judged(found, after, before, right, others=others)
    data = {**links.details["data"], "split": day.isoformat()}
    return replace(links, details={**links.details, "data": data})
