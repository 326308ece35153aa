"""`link`: a second file against a release, without ground truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from standout.adversary.knowledge import Knowledge
from standout.audit.progress import Progress, reporting
from standout.data.dataset import Dataset
from standout.errors import ParameterError
from standout.formulas.rates import Rate
from standout.linking.attack import LinkLikelihood, options
from standout.linking.canaries import N_CANARIES, Canaries, make_canaries
from standout.linking.em import fit_noise
from standout.linking.groups import TopScores, TwoGroups, probabilities
from standout.linking.links import Links
from standout.linking.mentions import Mentions
from standout.linking.noise import LinkNoise
from standout.linking.one_to_one import hard, log_free, soft
from standout.linking.people import people
from standout.linking.score import candidates

Array = npt.NDArray[Any]

N_CANDIDATES = 100
"""Candidates that are kept per person."""
ROUNDS = 300
"""Rounds of EM for the two groups."""
FEW_ROUNDS = 12
"""Rounds of EM from the fit, for a resample."""
PURPOSE_RESAMPLE = 43
NULL_ERROR = 1 / N_CANARIES**0.5
"""Relative standard error of the null distribution's mean, as checked by the canaries."""
RELATIVES = (
    "The likelihood by itself expects {n:,.0f} right links, far more than the test confirms: many people resemble others in the "
    "release, and the test cannot tell these apart. Take that number as the upper limit of the risk, not the interval."
)
FAR_ABOVE = 1.5
CLUSTERED = (
    "The scores of unrelated records come in clusters, so the spacing test alone would accept too many links; it was corrected "
    "by the second best records."
)
UNKNOWN_PRESENCE = (0.1, 0.95)
"""Shares of people in the release that the interval allows for where the spacing test does not apply."""
RESAMPLES = 100
"""Bootstrap resamples of the people, for the interval of the expected links."""


def link(dataset: Dataset, knowledge: Knowledge | Dataset, noise: str | LinkNoise = "fit", one_to_one: bool = False, *,
         items: dict[Any, Any] | None = None, engine: Any = "memory", canaries: bool = True, seed: int = 0,
         progress: Progress | bool | None = None) -> Links:  # fmt: skip
    """Link the people of a second file to the records of a release.

    Parameters
    ----------
    dataset
        The release.
    knowledge
        The second file: a `Knowledge` with one query per person, or a `Dataset` with one record per person.
    noise
        "fit": estimated by EM from the two files. A `LinkNoise`: as given.
    one_to_one
        Whether a record can belong to one person only: posteriors are then those of a soft assignment.
    items
        Label in the release of each item label of the second file, where the two differ.
    engine
        Name of an engine, or an engine.
    canaries
        Whether to run canaries, which check the test and state the recall.
    seed
        Random seed of the canaries and of the bootstrap.
    progress
        A function (what, done, total), True for a bar, False for nothing, None for a bar if standard error is a terminal.
    """
    if not (noise == "fit" or isinstance(noise, LinkNoise)):
        raise ParameterError(f"noise={noise!r}: use 'fit' or a LinkNoise")
    second = people(knowledge, items)
    dataset = by_day(dataset)
    facts = second.bind(dataset)
    n_facts = np.bincount(facts.query[facts.item >= 0], minlength=facts.n_queries)
    with reporting(progress) as move:
        mentions = Mentions.of(dataset, facts)
        move("fitting the noise", 0, second.n_queries)
        settled = fit_noise(dataset, second, mentions) if isinstance(noise, str) else noise
        attack = LinkLikelihood(settled, mentions)
        done = _counter(move, "linking", second.n_queries)
        top = TopScores.of(*candidates(dataset, second, attack, N_CANDIDATES, engine, progress=done), n_facts)
        move("canaries", 0, 1)
        planted = make_canaries(dataset, second, settled, seed) if canaries else None
        seen = _run_canaries(dataset, attack, planted, engine) if planted else None
    null_mean = seen.null_mean if seen else 1.0
    alone = _Answer.of(top, n_facts, null_mean, dataset.n_records)
    answer = alone.joint(n_facts, null_mean, dataset.n_records) if one_to_one else alone
    assigned = answer.assigned() if one_to_one else np.empty(0, np.int64)
    details: dict[str, Any] = {
        "data": _counts(dataset, second, facts.item, n_facts),
        "canaries": seen.report(alone.top, null_mean) if seen else None,
        "one_to_one": _gain(alone, answer, assigned) if one_to_one else None,
        "alone": alone.best,
        "warnings": _warnings(alone.top, n_facts, seen)
        + ([] if np.array_equal(alone.top.p, top.p, True) else [CLUSTERED]),
    }
    model = top.model_posterior(dataset.n_records)
    interval = answer.interval(n_facts, seed)
    if float(model.sum()) > FAR_ABOVE * interval[1]:
        details["warnings"].append(RELATIVES.format(n=float(model.sum())))
    return Links(
        best=answer.best, posterior=answer.posterior, p=np.where(n_facts > 0, answer.top.p, np.nan),
        model_posterior=model, n_facts=n_facts, candidates=answer.top.record,
        chances=answer.chance, one_to_one=one_to_one, noise=settled, expected_links=float(answer.posterior.sum()),
        interval=interval, details=details, queries=second.queries,
        record_labels=dataset.record_labels, assigned=assigned,
    )  # fmt: skip


def by_day(dataset: Dataset) -> Dataset:
    """The same records with times as whole days: two files rarely agree to the hour, and tables of minutes would be long."""
    per_day = dataset.ticks_per_day
    if per_day == 1 or not dataset.has_time:
        return dataset
    first = dataset.first_tick // per_day
    tick = dataset.record_tick.astype(np.int64)
    day = (tick + dataset.first_tick) // per_day - first
    changed = np.where(tick == dataset.no_tick, dataset.no_tick, day).astype(dataset.record_tick.dtype)
    span = (dataset.tick_span + dataset.first_tick) // per_day - first
    return replace(
        dataset, record_tick=changed, first_tick=int(first), tick_span=int(span), time_resolution="day", origin=None
    )


class _Answer(NamedTuple):
    """Candidates of each query with their probabilities, and the fit that these come from."""

    top: TopScores
    groups: TwoGroups
    chance: Array
    """(queries, k): in the order of `top`."""

    @classmethod
    def of(cls, top: TopScores, n_facts: Array, null_mean: float, n_records: int) -> _Answer:
        """One by one."""
        covariates = top.covariates(n_facts)
        groups = TwoGroups.start(covariates, null_mean).improved(top.y(), covariates, ROUNDS)
        checked = top.checked(probabilities(top, n_facts, groups, n_records)[:, 0])
        if checked is not top:
            top = checked
            # corrected p-values are uniform if nobody is found: what the canaries showed must not be counted twice
            groups = TwoGroups.start(covariates).improved(top.y(), covariates, ROUNDS)
        chance = probabilities(top, n_facts, groups, n_records)
        chance[n_facts == 0] = 0.0
        return cls(top, groups, chance)

    def joint(self, n_facts: Array, null_mean: float, n_records: int) -> _Answer:
        """One-to-one: scores without records that others claim, tested again, and a soft assignment of the result."""
        left = self.top.without_taken(log_free(self.top.record, self.chance, n_records), n_facts)
        again = _Answer.of(left, n_facts, null_mean, n_records)
        return again._replace(chance=soft(left.record, again.chance, n_records))

    @property
    def posterior(self) -> Array:
        """Probability of the most probable candidate."""
        return np.asarray(self.chance.max(axis=1))

    @property
    def best(self) -> Array:
        """The most probable candidate, -1 if all have probability 0."""
        at = self.chance.argmax(axis=1)
        return np.where(self.posterior > 0, self.top.record[np.arange(at.size), at], -1)

    def assigned(self) -> Array:
        """Hard assignment: the record of each query, each record once, -1 = none left."""
        absent = np.maximum(1 - self.chance.sum(axis=1, keepdims=True), 1e-12)
        column = hard(self.top.record, np.log(np.maximum(self.chance / absent, 1e-12)))
        return np.where(column >= 0, self.top.record[np.arange(column.size), column], -1)

    def interval(self, n_facts: Array, seed: int) -> tuple[float, float]:
        """95 % interval of the number of right links.

        It covers the fit on resampled people, the chance of each link, that the null distribution of the test is known only
        as precisely as the absent canaries can check it, and the unknown share of people who are in the release.
        """
        y, covariates, posterior = self.top.y(), self.top.covariates(n_facts), self.posterior
        rng = np.random.default_rng([seed % 2**63, PURPOSE_RESAMPLE])
        spread, expected = float(np.sqrt((posterior * (1 - posterior)).sum())), float(posterior.sum())
        # the order of the people must not change the draws
        order = np.lexsort((covariates[:, 1], covariates[:, 0], y))
        middle = float(self.groups.posterior(y, covariates).sum())
        model = logit(np.clip(posterior[~self.top.applies & (posterior > 0)], 1e-12, 1 - 1e-12))
        totals = []
        for _ in range(RESAMPLES if y.size else 0):
            weight = np.zeros(y.size)
            weight[order] = rng.multinomial(y.size, np.full(y.size, 1 / max(y.size, 1)))
            null = self.groups.null_mean * max(1.0 + NULL_ERROR * float(rng.standard_normal()), 0.5)
            again = self.groups.with_null(null).improved(y, covariates, FEW_ROUNDS, weight)
            shift = float(again.posterior(y, covariates).sum()) - middle
            totals.append(expected + shift + spread * float(rng.standard_normal()))
        low, high = np.quantile(totals, [0.025, 0.975]) if totals else (expected - 2 * spread, expected + 2 * spread)
        # where the test does not apply, the posterior depends on the share of people who are in the release
        fewest, most = (float((expit(model + logit(x)) - expit(model)).sum()) for x in UNKNOWN_PRESENCE)
        low, high = low + fewest, high + most
        return float(np.clip(low, 0, expected)), float(np.clip(high, expected, (posterior > 0).sum()))


def _counter(move: Progress, what: str, total: int) -> Callable[[int], None]:
    done = 0

    def step(n: int) -> None:
        nonlocal done
        done += n
        move(what, done, total)

    return step


def _gain(alone: _Answer, answer: _Answer, assigned: Array) -> dict[str, Any]:
    return {
        "expected_one_by_one": float(alone.posterior.sum()), "expected": float(answer.posterior.sum()),
        "changed": int((alone.best != answer.best).sum()), "hard_changed": int((alone.best != assigned).sum()),
    }  # fmt: skip


def _counts(dataset: Dataset, second: Knowledge, item: Array, n_facts: Array) -> dict[str, Any]:
    known = item >= 0
    unknown_items = len({str(x) for x in second.item[~known].tolist()})
    return {
        "n_queries": second.n_queries, "n_facts": second.n_facts, "n_facts_known": int(known.sum()),
        "n_items_unknown": unknown_items, "n_facts_unknown": int((~known).sum()),
        "n_without_known_items": int((n_facts == 0).sum()), "median_facts": float(np.median(n_facts)),
        "n_records": dataset.n_records, "n_items": dataset.n_items, "n_entries": dataset.n_entries,
        "has_value": bool(dataset.has_value and not np.isnan(second.value).all()),
        "has_time": bool(dataset.has_time and not np.isnan(second.time).all()),
    }  # fmt: skip


def _warnings(top: TopScores, n_facts: Array, seen: _CanaryRun | None) -> list[str]:
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
            "on this data, and the posteriors were widened for it."
        )
    return out


class _CanaryRun(NamedTuple):
    """Canaries, and what the attack said of them."""

    planted: Canaries
    top: TopScores

    @property
    def null_mean(self) -> float:
        """Mean of -log p of absent canaries, at least 1."""
        use = self.top.applies & self.planted.is_absent
        return max(1.0, float(-np.log(self.top.p[use]).mean())) if use.sum() >= 20 else 1.0

    @property
    def false_share(self) -> Rate:
        """Absent canaries with p ≤ 5 %."""
        return Rate.of(self.top.p[self.planted.is_absent] <= 0.05)

    def report(self, real: TopScores, null_mean: float) -> dict[str, Any]:
        """Recall and false matches at the cuts that the real queries give."""
        from scipy.stats import false_discovery_control

        p = np.nan_to_num(self.top.p, nan=1.0)
        absent, right = self.planted.is_absent, self.top.record[:, 0] == self.planted.record
        adjusted = false_discovery_control(np.nan_to_num(real.p, nan=1.0))
        rows = []
        for fdr in (0.01, 0.05):
            cut = float(np.nan_to_num(real.p, nan=1.0)[adjusted <= fdr].max(initial=0.0))
            rows.append({"fdr": fdr, "p_cut": cut, "recall": Rate.of((right & (p <= cut))[~absent])._asdict(),
                         "false": Rate.of((p <= cut)[absent])._asdict()})  # fmt: skip
        return {
            "n_present": int((~absent).sum()), "n_absent": int(absent.sum()), "found": Rate.of(right[~absent])._asdict(),
            "absent_below_5": self.false_share._asdict(), "null_mean": null_mean, "cuts": rows,
        }  # fmt: skip


def _run_canaries(dataset: Dataset, attack: LinkLikelihood, planted: Canaries, engine: Any) -> _CanaryRun:
    own = options(attack, own=False)
    found = candidates(dataset, planted.knowledge, own, N_CANDIDATES, engine, exclude=planted.exclude)
    return _CanaryRun(planted, TopScores.of(*found, np.diff(planted.knowledge.query_ptr)))
