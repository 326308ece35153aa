"""`link`: a second file against a release, without ground truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.catalog import check_dataset
from standout.data.dataset import Dataset
from standout.engines.engine import Engine
from standout.errors import ParameterError
from standout.experiment.progress import Progress, reporting
from standout.linking.answer import Answer, RightLinks
from standout.linking.by_likelihood import if_noisier
from standout.linking.canaries import make_canaries
from standout.linking.canary_run import CanaryRun, run_canaries
from standout.linking.fitted import Scored, scored
from standout.linking.groups import TopScores
from standout.linking.history import History, history
from standout.linking.links import Links
from standout.linking.noise import LinkNoise
from standout.linking.overlap import Overlap, checked, fit_overlap
from standout.linking.people import people
from standout.linking.recalibrate import MOST_ERROR, Shift, features
from standout.linking.times import comparable

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
FAR_ABOVE = 1.5
COARSE = (
    "The release holds times by the {name}; they were compared by the {used}. A second file that agrees to the {name} would link "
    "more people."
)
CLUSTERED = (
    "The scores of unrelated records come in clusters, so the spacing test alone would accept too many links; it was corrected "
    "by the second best records."
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
    if not (noise == "fit" or isinstance(noise, LinkNoise)):
        raise ParameterError(f"noise={noise!r}: use 'fit' or a LinkNoise")
    check_dataset(dataset)
    checked(overlap)
    if overlap == "fit" and not canaries:
        raise ParameterError(
            "overlap='fit' needs canaries: how many people are found is compared with them"
        )
    second = people(knowledge, items)
    exact, dataset = dataset, comparable(dataset, second)
    with reporting(progress) as move:
        move("fitting the noise", 0, second.n_queries)
        found = scored(dataset, second, noise, engine, _counter(move, "linking", second.n_queries))
        move("canaries", 0, 1)
        planted = make_canaries(dataset, second, found.noise, seed) if canaries else None
        seen = run_canaries(dataset, found.attack, planted, engine) if planted else None
        null_mean = seen.null_mean if seen else 1.0
        past = (
            history(dataset, found.noise, null_mean, one_to_one, engine, seed) if canaries else None
        )
        given = (float(overlap),) * 2 if isinstance(overlap, int | float) else None
        noisier = (
            if_noisier(dataset, second, found, engine, given) if isinstance(noise, str) else 0.0
        )
    links = _answered(
        dataset, second, found, seen, past, _Asked(one_to_one, overlap, null_mean, seed, noisier)
    )
    if exact is not dataset and links.noise.time is not None:
        links.details["warnings"].append(
            COARSE.format(name=exact.time_resolution, used=dataset.time_resolution)
        )
    return links


class _Asked(NamedTuple):
    """What is asked of the answers."""

    one_to_one: bool
    overlap: str | float | None
    null_mean: float
    seed: int
    if_noisier: float


def _answered(
    dataset: Dataset,
    second: Knowledge,
    found: Scored,
    seen: CanaryRun | None,
    past: History | None,
    asked: _Asked,
) -> Links:
    """Probabilities of the candidates, and the numbers of the run."""
    n_facts, n_records, null_mean = found.n_facts, dataset.n_records, asked.null_mean
    overlap, presence = None, None
    prior = float(asked.overlap) if isinstance(asked.overlap, int | float) else 0.5
    alone = Answer.of(found.top, n_facts, null_mean, n_records, prior)
    if asked.overlap == "fit":
        overlap = _overlap(alone, found, n_records, seen, past, asked.seed)
        prior, presence = overlap.rate, (max(overlap.low, 0.01), min(overlap.high, 0.99))
        alone = Answer.of(found.top, n_facts, null_mean, n_records, prior)
    elif asked.overlap is not None:
        presence = (prior, prior)
    answer = alone.joint(n_facts, null_mean, n_records, prior) if asked.one_to_one else alone
    answer, shift = _recalibrated(answer, past, n_facts)
    assigned = answer.assigned() if asked.one_to_one else np.empty(0, np.int64)
    details: dict[str, Any] = {
        "data": _counts(dataset, second, found.facts.item, n_facts),
        "canaries": {
            **seen.report(alone.p, alone.groups.null_mean),
            "history": {**past.report(), **shift._asdict()} if past and shift else None,
        }
        if seen
        else None,
        "one_to_one": _gain(alone, answer, assigned) if asked.one_to_one else None,
        "overlap": overlap._asdict() if overlap else None,
        "alone": alone.best,
        "warnings": _warnings(alone.top, n_facts, seen)
        + ([] if np.array_equal(alone.top.p, found.top.p, True) else [CLUSTERED]),
    }
    model = found.top.model_posterior(n_records, prior)
    right = answer.interval(n_facts, n_records, asked.seed, prior, presence, asked.if_noisier)
    details["estimates"] = {
        "gaps": right.by_gaps._asdict(),
        "likelihood": right.by_likelihood._asdict(),
    }
    details["warnings"] += _disagreement(right)
    return Links(
        best=answer.best,
        posterior=answer.posterior,
        p=np.where(n_facts > 0, answer.p, np.nan),
        model_posterior=model,
        n_facts=n_facts,
        candidates=answer.top.record,
        chances=answer.chance,
        one_to_one=asked.one_to_one,
        noise=found.noise,
        expected_links=float(answer.posterior.sum()),
        interval=right.interval,
        details=details,
        queries=second.queries,
        record_labels=dataset.record_labels,
        assigned=assigned,
    )


def _disagreement(right: RightLinks) -> list[str]:
    """A note if the likelihood expects far more right links than the gaps allow for."""
    gaps, n = right.by_gaps, right.by_likelihood.expected
    if n <= FAR_ABOVE * gaps.high or n < gaps.high + 1:
        return []
    used = BOTH if right.interval[1] >= n else HISTORY
    return [DISAGREE.format(few=gaps.low, many=gaps.high, n=n, used=used)]


def _recalibrated(
    answer: Answer, past: History | None, n_facts: Array
) -> tuple[Answer, Shift | None]:
    """The answer with posteriors learned from the release's history, where that is possible."""
    learned = past.recalibration() if past else None
    if learned is None or not answer.top.applies.any():
        return answer, None
    mine = features(answer.top, n_facts)
    shift = learned.shift(mine, answer.n_found)
    if shift.error > MOST_ERROR:
        return answer, None
    return answer.recalibrated(learned.posterior(mine, shift), shift.error), shift


def _overlap(
    alone: Answer,
    found: Scored,
    n_records: int,
    seen: CanaryRun | None,
    past: History | None,
    seed: int,
) -> Overlap:
    """Share of people in the release, by the canaries that are most like them."""
    n_facts = found.n_facts
    if seen is None:
        raise ParameterError(
            "overlap='fit': the release has too few records for canaries; give a share instead"
        )
    if past is None:
        facts, hit = seen.present()
        right = alone.interval(n_facts, n_records, seed).interval
        return fit_overlap(float(alone.posterior.sum()), right, n_facts, facts, hit)
    one = past._replace(answer=past.alone)
    answer, _ = _recalibrated(alone, one, n_facts)
    here = past.right >= 0
    right = answer.interval(n_facts, n_records, seed).interval
    return fit_overlap(
        float(answer.posterior.sum()), right, n_facts, past.n_facts[here], one.hit[here]
    )


def _counter(move: Progress, what: str, total: int) -> Callable[[int], None]:
    done = 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        move(what, done, total)

    return step


def _gain(alone: Answer, answer: Answer, assigned: Array) -> dict[str, Any]:
    return {
        "expected_one_by_one": float(alone.posterior.sum()),
        "expected": float(answer.posterior.sum()),
        "changed": int((alone.best != answer.best).sum()),
        "hard_changed": int((alone.best != assigned).sum()),
    }


def _counts(dataset: Dataset, second: Knowledge, item: Array, n_facts: Array) -> dict[str, Any]:
    known = item >= 0
    unknown_items = len({str(x) for x in second.item[~known].tolist()})
    return {
        "n_queries": second.n_queries,
        "n_facts": second.n_facts,
        "n_facts_known": int(known.sum()),
        "n_items_unknown": unknown_items,
        "n_facts_unknown": int((~known).sum()),
        "n_without_known_items": int((n_facts == 0).sum()),
        "median_facts": float(np.median(n_facts)),
        "n_records": dataset.n_records,
        "n_items": dataset.n_items,
        "n_entries": dataset.n_entries,
        "has_value": bool(dataset.has_value and not np.isnan(second.value).all()),
        "has_time": bool(dataset.has_time and not np.isnan(second.time).all()),
    }


def _warnings(top: TopScores, n_facts: Array, seen: CanaryRun | None) -> list[str]:
    out = []
    if not top.applies.any():
        out.append(
            "The spacing test applies to nobody: it needs 21 candidates with mostly different scores. The posteriors are the "
            "likelihood's own and are too sure."
        )
    if (n_facts == 0).any():
        out.append(
            f"{int((n_facts == 0).sum()):,} people have no item that the release holds: nobody is named for them."
        )
    if seen is not None and seen.false_share.low > 0.05:
        out.append(
            f"The test accepts {100 * seen.false_share.rate:.0f} % of the absent canaries at p ≤ 5 %: it is too quick to accept "
            "on this data, and p-values and posteriors were corrected for it."
        )
    return out
