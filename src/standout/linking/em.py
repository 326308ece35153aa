"""EM estimate of the noise between two files, from the queries alone, and the scores with that noise.

The weight of a candidate in a query is its probability by the spacing test (`linking.groups`), not
by the likelihood: an absent person's items go together like a present person's, and the likelihood
alone would match absent people to similar ones and count the differences as noise. Weak priors: e,
h ~ Beta(1, 4), one pseudo-count per channel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.events import events_of
from standout.attacks.gap_bins import decreasing
from standout.attacks.tables import Known
from standout.data.dataset import Dataset
from standout.data.row_copies import rows_of
from standout.data.times import to_ticks
from standout.kernels.bins import Bins
from standout.linking.attack import LinkLikelihood, MentionPopularity, candidates
from standout.linking.groups import SHARP, TopScores, TwoGroups, probabilities
from standout.linking.noise import (
    CLASSES,
    LinkNoise,
    agreement_by_chance,
    classes,
    time_bins,
    value_bins,
)

N_CANDIDATES = 100
"""Candidates that are kept per person."""
MOST_QUERIES = 1000
MOST_FACTS = 100_000
MOST_CANDIDATES = 40
ROUNDS = (8, 12, 40)
"""Steps of EM between two selections of candidates."""
TOLERANCE = 1e-4
START = 0.5
FEWEST_FACTS = 8
LEAST_E, MOST_E = 1e-3, 0.995


@dataclass(frozen=True, eq=False, repr=False)
class FitFacts:
    """Facts of the queries that are fitted, and what does not change while they are."""

    dataset: Dataset
    known: Known
    share: Array
    """q per fact."""
    group: Array
    """Class of each fact by how often it was seen."""
    by_chance: dict[str, Array]
    """Per channel, (facts, bins): share of each bin among the item's own entries."""

    @classmethod
    def of(
        cls, dataset: Dataset, knowledge: Knowledge, mentions: MentionPopularity, noise: LinkNoise
    ) -> FitFacts:
        """Bind the facts and count how often they agree by chance."""
        facts = knowledge.bind(dataset)
        known = Known.of(dataset, facts, facts.nobody)
        share, group = mentions.share(known, own=True), classes(facts, len(noise.e))
        return cls(dataset, known, share, group, agreement_by_chance(known, noise))

    @property
    def weight(self) -> Array:
        """Weight of each person's facts: those with more facts than the median count like the median, not for more."""
        n_facts = np.diff(self.known.query_ptr)
        most = max(float(np.median(n_facts)), FEWEST_FACTS)
        return np.minimum(1.0, most / np.maximum(n_facts, 1))


class CandidateCells(NamedTuple):
    """What the candidates hold of the known items: a cell is a (query, candidate, fact) whose item the candidate holds."""

    candidate: Array
    """(queries, k): record indices, -1 = none."""
    row: Array
    fact: Array
    rate: Array
    """1 / length of the candidate."""
    cell: Array
    """Per event of a cell's item: the cell."""
    share: Array
    place: dict[str, Array]
    """Per channel and event: bin of the gap, -1 = unknown."""


class CandidateScores(NamedTuple):
    """Scores of the candidates under a noise, with and without days."""

    each: Array
    """Per cell: odds that the fact is about the candidate's item, before agreement."""
    ratio: dict[str, Array]
    """Likelihood ratio of each event, per channel."""
    odds: tuple[Array, Array]
    """Per cell: odds that the fact is about the candidate's item, with days and without."""
    related: Array
    """(queries · candidates): probability that the person's days are related to the release."""
    score: Array
    """(queries, candidates)."""


def score_second_file(
    dataset: Dataset,
    second: Knowledge,
    noise: str | LinkNoise,
    engine: Any,
    progress: Callable[[int], None] | None = None,
) -> tuple[Facts, LinkLikelihood, TopScores]:
    """Fit the noise if it is "fit", and find the best candidates of each query of a folded second file.

    Returns the facts in the indices of the release, the attack with its noise, and the candidates.
    """
    facts = second.bind(dataset)
    mentions = MentionPopularity.of(dataset, facts)
    settled = fit_noise(dataset, second, mentions) if isinstance(noise, str) else noise
    attack = LinkLikelihood(settled, mentions)
    top = candidates(dataset, second, attack, N_CANDIDATES, engine, progress=progress)
    return facts, attack, top


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
        top = candidates(dataset, few, LinkLikelihood(noise, mentions), MOST_CANDIDATES)
        noise = _em(case, top, _cells(case, top.record, noise), noise, rounds)
    return _with_floor(noise, case)


def start_noise(dataset: Dataset, knowledge: Knowledge, start: float = START) -> LinkNoise:
    """Channels that both files have, with shares that say little. Days count only if the two periods overlap."""
    value = time = None
    if dataset.has_value and dataset.n_levels > 1 and not np.isnan(knowledge.value).all():
        value = _falling(value_bins(dataset.levels))
    if dataset.has_time and overlaps(dataset, knowledge):
        time = _falling(time_bins(dataset.time_resolution))
    repeated = knowledge.times is not None and bool((knowledge.times > 1).any())
    e = (start,) * (CLASSES if repeated else 1)
    return LinkNoise(e, 0.1 if value and time else 0.0, value, time, 0.2 if time else 0.0)


def overlaps(dataset: Dataset, knowledge: Knowledge) -> bool:
    """Whether some known time lies in the period of the release."""
    times = knowledge.time[~np.isnan(knowledge.time)]
    known = to_ticks(times, dataset.time_resolution) - dataset.first_tick
    return bool(((known >= 0) & (known <= dataset.tick_span)).any())


def some_queries(knowledge: Knowledge) -> Knowledge:
    """At most 1,000 queries and 100,000 facts, evenly spaced."""
    n, facts = knowledge.n_queries, max(knowledge.n_facts, 1)
    most = max(1, min(MOST_QUERIES, int(n * MOST_FACTS / facts)))
    queries = np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
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


def _falling(bins: Bins) -> Bins:
    """The bins with shares that fall by a third from bin to bin."""
    return _with_shares(bins, 1.5 ** -np.arange(len(bins.share)))


def _with_shares(bins: Bins, weight: Array) -> Bins:
    """The bins with shares in proportion to the weights."""
    return replace(bins, share=tuple((weight / weight.sum()).tolist()))


def _cells(case: FitFacts, candidate: Array, noise: LinkNoise) -> CandidateCells:
    """Look up what the candidates hold."""
    data, known = case.dataset, case.known
    row, fact, cell, at, share, record, rows = events_of(data, known, candidate)
    of = fact[cell]
    place = {}
    for channel, bins in noise.kernels.items():
        held = (rows.code if channel == "value" else rows.tick)[at].astype(np.int64)
        if channel == "value":
            both = np.flatnonzero(known.has_value[of] & (held < data.n_levels))
            inside = bins.place(known.value[of[both]], data.levels[held[both]])
        else:
            both = np.flatnonzero(known.has_tick[of] & (held != data.no_tick))
            inside = bins.place(known.tick[of[both]], held[both])
        place[channel] = np.full(at.size, -1, np.int64)
        place[channel][both] = inside
    rate = 1.0 / np.maximum(rows.lengths[record], 1)
    return CandidateCells(candidate, row, fact, rate, cell, share, place)


def _score(case: FitFacts, cells: CandidateCells, noise: LinkNoise) -> CandidateScores:
    e = np.asarray(noise.e)[case.group]
    each = ((1 - e) / (e * case.share))[cells.fact] * cells.rate
    base = case.known.sum_over_facts(np.log(e) * (case.known.support > 0))
    base = np.repeat(base, cells.candidate.shape[1])
    ratio = {name: np.ones(cells.cell.size) for name in ("value", "time")}
    for channel, bins in noise.kernels.items():
        place, fact = cells.place[channel], cells.fact[cells.cell]
        known = np.flatnonzero(place >= 0)
        chance = case.by_chance[channel][fact[known], place[known]]
        ratio[channel][known] = np.asarray(bins.share)[place[known]] / chance
    odds, score = [], []
    for one in (ratio["value"] * ratio["time"], ratio["value"]):
        held = np.bincount(cells.cell, weights=cells.share * one, minlength=cells.row.size)
        odds.append(each * ((1 - noise.h) * held + noise.h))
        score.append(np.bincount(cells.row, weights=np.log1p(odds[-1]), minlength=base.size) + base)
    related, total = np.ones(base.size), score[1]
    if noise.time is not None:
        with_days = np.log1p(-noise.unrelated) + score[0]
        total = np.logaddexp(with_days, np.log(max(noise.unrelated, 1e-9)) + score[1])
        related = np.exp(with_days - total)
    total = total.reshape(cells.candidate.shape)
    return CandidateScores(each, ratio, (odds[0], odds[1]), related, total)


def _em(
    case: FitFacts, found: TopScores, cells: CandidateCells, noise: LinkNoise, rounds: int
) -> LinkNoise:
    """EM over fixed candidates."""
    groups: TwoGroups | None = None
    for _ in range(rounds):
        scored = _score(case, cells, noise)
        score = np.where(found.record >= 0, scored.score, -np.inf)
        order = np.argsort(-score, axis=1, kind="stable")
        ranked = np.take_along_axis(score, order, axis=1)
        ranked = np.where(np.isfinite(ranked), ranked, np.nan)
        top = TopScores.of(found.record, ranked, found.n_facts, found.n_records)
        covariates = top.covariates()
        # sharp, because absent people who count as found would count as noise. The first fit has
        # nothing to start from; each later one continues from the one before
        groups = (groups or TwoGroups.start(covariates, parts=SHARP)).improved(
            top.y(), covariates, 20 if groups is None else 4
        )
        chance = np.empty(score.shape)
        np.put_along_axis(chance, order, probabilities(top, groups), axis=1)
        before, noise = noise, _maximize(case, cells, noise, scored, chance)
        if max(abs(a - b) for a, b in zip(before.e, noise.e, strict=True)) < TOLERANCE:
            break
    return noise


def _maximize(
    case: FitFacts, cells: CandidateCells, noise: LinkNoise, scored: CandidateScores, chance: Array
) -> LinkNoise:
    """Shares and agreement that fit the probabilities of the candidates."""
    n_classes, person, each = len(noise.e), case.weight, scored.each
    weight = (chance * person[:, None]).reshape(-1)[cells.row]
    related = scored.related[cells.row] if noise.time is not None else np.zeros(weight.size)
    parts = [(weight * related, scored.odds[0]), (weight * (1 - related), scored.odds[1])]
    right = sum(w * x / (1 + x) for w, x in parts)
    n_right = np.bincount(case.group[cells.fact], weights=right, minlength=n_classes)
    present = (person * chance.sum(axis=1))[case.known.query] * (case.known.support > 0)
    n_all = np.bincount(case.group, weights=present, minlength=n_classes)
    e = np.clip((n_all - n_right) / (n_all + 3.0), LEAST_E, MOST_E)
    h = noise.h
    if h > 0:
        wrong = float(sum((w * each * h / (1 + x)).sum() for w, x in parts))
        h = float(np.clip(wrong / (float(n_right.sum()) + 3.0), 1e-4, 0.9))
    agreeing = [
        (w * each * (1 - noise.h) / (1 + x))[cells.cell] * cells.share * scored.ratio["value"]
        for w, x in parts
    ]
    with_days = agreeing[0] * scored.ratio["time"]
    by_channel = {"value": with_days + agreeing[1], "time": with_days}
    kernels: dict[str, Any] = {}
    for channel, bins in noise.kernels.items():
        # agreement falls with the gap, and one pseudo-count follows the agreement by chance
        known = cells.place[channel] >= 0
        usual = _usual(case.by_chance[channel])
        counts = np.bincount(
            cells.place[channel][known], weights=by_channel[channel][known], minlength=usual.size
        )
        kernels[channel] = _with_shares(bins, decreasing(counts, usual) + usual)
    unrelated = 0.0
    if noise.time is not None:
        who = chance.reshape(-1)
        unrelated = float((who * (1 - scored.related)).sum() / (who.sum() + 1.0))
        unrelated = float(np.clip(unrelated, 1e-4, 0.95))
    return LinkNoise(tuple(e.tolist()), h, **kernels, unrelated=unrelated)


def _usual(by_chance: Array) -> Array:
    """Share of each bin by chance, averaged over the facts with a known value or day."""
    known = by_chance[np.abs(by_chance - 1.0).max(axis=1) > 0]
    mean = known.mean(axis=0) if known.size else np.ones(by_chance.shape[1])
    return np.asarray(mean / mean.sum())


def _with_floor(noise: LinkNoise, case: FitFacts) -> LinkNoise:
    """With one channel, state the part of its shares that follows chance as h: the scores stay the same."""
    if len(noise.kernels) != 1:
        return noise
    ((channel, bins),) = noise.kernels.items()
    usual, share = _usual(case.by_chance[channel]), np.asarray(bins.share)
    h = float(np.clip((share / usual)[usual > 0.01].min(initial=1.0), 0.0, 0.95))
    kept = np.maximum(share - h * usual, 0.0)
    if kept.sum() <= 0:
        return noise
    changed: dict[str, Any] = {channel: _with_shares(bins, kept)}
    return replace(noise, h=h, **changed)
