"""EM estimate of the noise between two files, from the queries alone.

The weight of a candidate in a query is its probability by the spacing test (`linking.groups`), not
by the likelihood: an absent person's items go together like a present person's, and the likelihood
alone would match absent people to similar ones and count the differences as noise. Weak priors: e,
h ~ Beta(1, 4), one pseudo-count per channel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.events import events_of
from standout.attacks.gap_bins import decreasing
from standout.attacks.tables import Known
from standout.data.dataset import Dataset
from standout.data.times import to_ticks
from standout.kernels.bins import Bins
from standout.linking.agreement import (
    day_background,
    time_bins,
    value_background,
    value_bins,
)
from standout.linking.attack import LinkLikelihood
from standout.linking.groups import SHARP, TopScores, TwoGroups, probabilities
from standout.linking.mentions import MentionPopularity
from standout.linking.noise import CLASSES, LinkNoise, classes
from standout.linking.score import candidates

MOST_QUERIES = 1000
MOST_FACTS = 100_000
MOST_CANDIDATES = 40
ROUNDS = (8, 12, 40)
"""Steps of EM between two selections of candidates."""
TOLERANCE = 1e-4
START = 0.5
FEWEST_FACTS = 8
LEAST_E, MOST_E = 1e-3, 0.995


class CandidateCells(NamedTuple):
    """What the candidates hold of the known items: a cell is a (query, candidate, fact) whose item the candidate holds."""

    row: Array
    fact: Array
    rate: Array
    """1 / length of the candidate."""
    cell: Array
    """Per event of a cell's item: the cell."""
    share: Array
    value_bin: Array
    """Per event: bin of the gap, -1 = unknown."""
    day_bin: Array


@dataclass(frozen=True, eq=False, repr=False)
class FitFacts:
    """Facts of the queries that are fitted, and what does not change while they are."""

    dataset: Dataset
    knowledge: Knowledge
    known: Known
    mentions: MentionPopularity
    share: Array
    """q per fact."""
    group: Array
    """Class of each fact by how often it was seen."""
    value_back: Array | None
    day_back: Array | None

    @classmethod
    def of(
        cls, dataset: Dataset, knowledge: Knowledge, mentions: MentionPopularity, noise: LinkNoise
    ) -> FitFacts:
        """Bind the facts and count backgrounds."""
        facts = knowledge.bind(dataset)
        known = Known.of(dataset, facts, np.full(facts.n_queries, -1, np.int64))
        times = (
            np.ones(known.item.size, np.int64)
            if facts.times is None
            else facts.times[facts.item >= 0]
        )
        return cls(
            dataset,
            knowledge,
            known,
            mentions,
            mentions.share(known, own=True),
            classes(times, len(noise.e)),
            None if noise.value is None else value_background(known, noise.value),
            None if noise.time is None else day_background(known, noise.time),
        )

    @property
    def n_facts(self) -> Array:
        """Per query: facts about items of the release."""
        return np.diff(self.known.query_ptr)

    @property
    def weight(self) -> Array:
        """Weight of each person's facts: those with more facts than the median count like the median, not for more."""
        most = max(float(np.median(self.n_facts)), FEWEST_FACTS)
        return np.minimum(1.0, most / np.maximum(self.n_facts, 1))


def fit_noise(
    dataset: Dataset, knowledge: Knowledge, mentions: MentionPopularity, start: float = START
) -> LinkNoise:
    """Noise that explains the second file best.

    Parameters
    ----------
    dataset, knowledge, mentions
        The release, the folded second file, and the popularity of its items.
    start
        Share e to start from.
    """
    few = some_queries(knowledge)
    noise = start_noise(dataset, knowledge, start)
    case = FitFacts.of(dataset, few, mentions, noise)
    for rounds in ROUNDS:
        record = candidates(dataset, few, LinkLikelihood(noise, mentions), MOST_CANDIDATES)[0]
        cells = _cells(case, record, noise)
        noise = _em(case, record, cells, noise, rounds)
    return _with_floor(noise, case)


def start_noise(dataset: Dataset, knowledge: Knowledge, start: float = START) -> LinkNoise:
    """Channels that both files have, with shares that say little. Days count only if the two periods overlap."""
    has_value = dataset.has_value and dataset.n_levels > 1 and not np.isnan(knowledge.value).all()
    value = time = None
    if has_value:
        bins = value_bins(dataset.levels)
        value = replace(bins, share=_geometric(len(bins.share)))
    if dataset.has_time and overlaps(dataset, knowledge):
        bins = time_bins(dataset.time_resolution)
        time = replace(bins, share=_geometric(len(bins.share)))
    repeated = knowledge.times is not None and bool((knowledge.times > 1).any())
    e = (start,) * (CLASSES if repeated else 1)
    return LinkNoise(e, 0.1 if value and time else 0.0, value, time, 0.2 if time else 0.0)


def overlaps(dataset: Dataset, knowledge: Knowledge) -> bool:
    """Whether some known time lies in the period of the release."""
    known = (
        to_ticks(knowledge.time[~np.isnan(knowledge.time)], dataset.time_resolution)
        - dataset.first_tick
    )
    return bool(((known >= 0) & (known <= dataset.tick_span)).any())


def some_queries(knowledge: Knowledge) -> Knowledge:
    """At most 1,000 queries and 100,000 facts, evenly spaced."""
    n, facts = knowledge.n_queries, max(knowledge.n_facts, 1)
    most = max(1, min(MOST_QUERIES, int(n * MOST_FACTS / facts)))
    return part(knowledge, np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64)))


def part(knowledge: Knowledge, queries: Array) -> Knowledge:
    """The knowledge of some of the queries, in their order."""
    from standout.data.row_copies import rows_of

    ptr, at = rows_of(knowledge.query_ptr, queries)
    return replace(
        knowledge,
        query_ptr=ptr,
        item=knowledge.item[at],
        value=knowledge.value[at],
        time=knowledge.time[at],
        queries=knowledge.queries[queries],
        length=knowledge.length[queries],
        times=None if knowledge.times is None else knowledge.times[at],
        _index=None,
        _labels=None,
    )


def _geometric(n: int) -> tuple[float, ...]:
    """Shares that fall by a third from bin to bin."""
    x = 1.5 ** -np.arange(n)
    return tuple((x / x.sum()).tolist())


def _cells(case: FitFacts, candidate: Array, noise: LinkNoise) -> CandidateCells:
    """Look up what the candidates hold."""
    data, known = case.dataset, case.known
    row, fact, cell, at, share, record, rows = events_of(data, known, candidate)
    n = at.size
    value_bin, day_bin = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    of = fact[cell]
    if noise.value is not None:
        code = rows.code[at].astype(np.int64)
        told = known.has_value[of] & (code < data.n_levels)
        value_bin[told] = noise.value.place(known.value[of[told]], data.levels[code[told]])
    if noise.time is not None:
        day = rows.tick[at].astype(np.int64)
        told = known.has_tick[of] & (day != data.no_tick)
        day_bin[told] = noise.time.place(known.tick[of[told]], day[told])
    rate = 1.0 / np.maximum(rows.lengths[record], 1)
    return CandidateCells(row, fact, rate, cell, share, value_bin, day_bin)


class CandidateScores(NamedTuple):
    """Scores of the candidates under a noise, with and without days."""

    value_ratio: Array
    """Per event."""
    day_ratio: Array
    odds: tuple[Array, Array]
    """Per cell: odds that the fact is about the candidate's item, with days and without."""
    related: Array
    """(queries · candidates): probability that the person's days are related to the release."""
    score: Array
    """(queries, candidates)."""


def _score(
    case: FitFacts, cells: CandidateCells, noise: LinkNoise, shape: tuple[int, ...]
) -> CandidateScores:
    e = np.asarray(noise.e)[case.group]
    each = ((1 - e) / (e * case.share))[cells.fact] * cells.rate
    value = _ratio(noise.value, case.value_back, cells.fact[cells.cell], cells.value_bin)
    day = _ratio(noise.time, case.day_back, cells.fact[cells.cell], cells.day_bin)
    base = np.repeat(case.known.sum_over_facts(np.log(e) * (case.known.support > 0)), shape[1])
    odds, score = [], []
    for ratio in (value * day, value):
        held = np.bincount(cells.cell, weights=cells.share * ratio, minlength=cells.row.size)
        odds.append(each * ((1 - noise.h) * held + noise.h))
        score.append(np.bincount(cells.row, weights=np.log1p(odds[-1]), minlength=base.size) + base)
    if noise.time is None:
        return CandidateScores(
            value, day, (odds[0], odds[1]), np.ones(base.size), score[1].reshape(shape)
        )
    with_days, without = (
        np.log1p(-noise.unrelated) + score[0],
        np.log(max(noise.unrelated, 1e-9)) + score[1],
    )
    both = np.logaddexp(with_days, without)
    return CandidateScores(
        value, day, (odds[0], odds[1]), np.exp(with_days - both), both.reshape(shape)
    )


def _ratio(kernel: Bins | None, back: Array | None, fact: Array, place: Array) -> Array:
    """Likelihood ratio of each event; 1 where the channel is unknown."""
    if kernel is None or back is None:
        return np.ones(place.size)
    known = place >= 0
    at = np.where(known, place, 0)
    return np.where(known, np.asarray(kernel.share)[at] / back[fact, at], 1.0)


def _em(
    case: FitFacts, record: Array, cells: CandidateCells, noise: LinkNoise, rounds: int
) -> LinkNoise:
    """EM over fixed candidates."""
    groups: TwoGroups | None = None
    for _ in range(rounds):
        scored = _score(case, cells, noise, record.shape)
        score = np.where(record >= 0, scored.score, -np.inf)
        order = np.argsort(-score, axis=1, kind="stable")
        ranked = np.take_along_axis(score, order, axis=1)
        top = TopScores.of(record, np.where(np.isfinite(ranked), ranked, np.nan), case.n_facts)
        covariates = top.covariates(case.n_facts)
        # sharp, because absent people who count as found would count as noise. The first fit has
        # nothing to start from; each later one continues from the one before
        groups = (groups or TwoGroups.start(covariates, parts=SHARP)).improved(
            top.y(), covariates, 20 if groups is None else 4
        )
        who = np.empty(record.shape)
        np.put_along_axis(
            who, order, probabilities(top, case.n_facts, groups, case.dataset.n_records), axis=1
        )
        before, noise = noise, _maximize(case, cells, noise, scored, who.reshape(-1))
        if max(abs(a - b) for a, b in zip(before.e, noise.e, strict=True)) < TOLERANCE:
            break
    return noise


def _maximize(
    case: FitFacts, cells: CandidateCells, noise: LinkNoise, scored: CandidateScores, who: Array
) -> LinkNoise:
    """Shares and agreement that fit the weights of the candidates."""
    n_classes, each_person = len(noise.e), case.weight
    weight = (who * np.repeat(each_person, who.size // each_person.size))[cells.row]
    related = scored.related[cells.row] if noise.time is not None else np.zeros(weight.size)
    parts = [(weight * related, scored.odds[0]), (weight * (1 - related), scored.odds[1])]
    right = sum(w * x / (1 + x) for w, x in parts)
    group = case.group[cells.fact]
    n_right = np.bincount(group, weights=right, minlength=n_classes)
    present = each_person * who.reshape(case.n_facts.size, -1).sum(axis=1)
    told = case.known.support > 0
    n_all = np.bincount(case.group, weights=present[case.known.query] * told, minlength=n_classes)
    e = np.clip((n_all - n_right) / (n_all + 3.0), LEAST_E, MOST_E)
    each = ((1 - np.asarray(noise.e)[case.group]) / (np.asarray(noise.e)[case.group] * case.share))[
        cells.fact
    ] * cells.rate
    h = noise.h
    if h > 0:
        wrong = float(sum((w * each * noise.h / (1 + x)).sum() for w, x in parts))
        h = float(np.clip(wrong / (float(n_right.sum()) + 3.0), 1e-4, 0.9))
    one = [
        (w * each * (1 - noise.h) / (1 + x))[cells.cell] * cells.share * scored.value_ratio
        for w, x in parts
    ]
    one[0] = one[0] * scored.day_ratio
    value = _shares(noise.value, case.value_back, cells.value_bin, one[0] + one[1])
    time = _shares(noise.time, case.day_back, cells.day_bin, one[0])
    unrelated = noise.unrelated
    if noise.time is not None:
        unrelated = float((who * (1 - scored.related)).sum() / (who.sum() + 1.0))
    return LinkNoise(
        tuple(e.tolist()), h, value, time, float(np.clip(unrelated, 1e-4, 0.95)) if time else 0.0
    )


def _shares(kernel: Bins | None, back: Array | None, place: Array, weight: Array) -> Bins | None:
    """Shares of the bins among right facts; agreement falls with the gap, and one pseudo-count follows the background."""
    if kernel is None or back is None:
        return None
    known = place >= 0
    counts = np.bincount(place[known], weights=weight[known], minlength=len(kernel.share))
    usual = _usual(back)
    kept = decreasing(counts, usual) + usual
    return replace(kernel, share=tuple((kept / kept.sum()).tolist()))


def _usual(back: Array) -> Array:
    """Background of each bin, averaged over the facts with a known value or day."""
    known = back[np.abs(back - 1.0).max(axis=1) > 0]
    mean = known.mean(axis=0) if known.size else np.ones(back.shape[1])
    return np.asarray(mean / mean.sum())


def _with_floor(noise: LinkNoise, case: FitFacts) -> LinkNoise:
    """With one channel, state the part of its shares that follows the background as h: the scores stay the same."""
    kernel, back = (
        (noise.value, case.value_back) if noise.time is None else (noise.time, case.day_back)
    )
    if (noise.value is None) == (noise.time is None) or kernel is None or back is None:
        return noise
    usual = _usual(back)
    ratio = np.asarray(kernel.share) / usual
    h = float(np.clip(ratio[usual > 0.01].min(initial=1.0), 0.0, 0.95))
    kept = np.maximum(np.asarray(kernel.share) - h * usual, 0.0)
    if kept.sum() <= 0:
        return noise
    changed = replace(kernel, share=tuple((kept / kept.sum()).tolist()))
    return (
        replace(noise, h=h, value=changed)
        if noise.time is None
        else replace(noise, h=h, time=changed)
    )
