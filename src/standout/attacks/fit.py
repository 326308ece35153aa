"""EM estimate of the noise of a batch of queries, from the knowledge alone, without the true records.

Pooled over all queries: one e, one h, one value kernel, one day kernel. Weak priors (e, h ~ Beta(1,
4); one pseudo-count per kernel), kernels binned by gap and decreasing, everything in the log
domain. Every target is taken to be in the release.

A fact that the release lost (a dropped entry) is explained by e. A fact about an item that no
candidate holds has the same probability for every record: it carries no information about e and is
left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from standout.adversary.choosing import choose_records
from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks.bayes import SHRINK
from standout.attacks.events import events_of
from standout.attacks.gap_bins import averaged_bins, decreasing, without_floor
from standout.attacks.noise import Noise
from standout.attacks.odds import (
    _even_chance,
    compile_odds,
    item_share,
    pick_rates,
    time_background,
    value_backs,
    weights_known,
)
from standout.attacks.queries import query_batches
from standout.attacks.tables import Known
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.engines.engine import engine
from standout.formulas.likelihood import shrunk
from standout.kernels.bins import LevelBins, TickBins, averaged_shares
from standout.kernels.levels import nearest_level
from standout.scoring.tasks import Score

MOST_QUERIES = 400
MOST_CANDIDATES = 448
"""Records per query that score highest."""
N_SAMPLED = 64
"""Further records per query, drawn at random, that represent all records with lower scores."""
ROUNDS = (6, 12, 40)
"""Steps of EM between two selections of candidates; the last round runs until convergence."""
TOLERANCE = 1e-6
LEAST_CHANCE = 1e-12
VALUE_EDGES = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
SCALE_EDGES = (0.01, 0.03, 0.1, 0.3)
"""Further bins of value gaps, as shares of the scale's range, for scales that are wider than a handful of steps."""


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """What the candidates hold of the known items. A cell is a (query, candidate, fact) whose item the candidate holds."""

    row: Array
    """Per cell: query · candidates per query + candidate."""
    fact: Array
    """Per cell: the fact."""
    cell: Array
    """Per event of a cell's item: the cell."""
    share: Array
    """1 / number of the candidate's events for that item."""
    code: Array
    known_code: Array
    """Level nearest to the known value, -1 = value unknown on one side."""
    day_bin: Array
    """Bin of the day gap, -1 = day unknown on one side."""
    record: Array
    """Per cell: place of the candidate in `rows`."""
    rows: Rows
    """Rows of the candidates."""


def fit_noise(dataset: Catalog, facts: Facts, exclude: Array) -> Noise:
    """Noise that explains the knowledge best.

    Parameters
    ----------
    dataset, facts
        The release, and what is known.
    exclude
        One record index per query, -1 = none: that query is fitted as if the record were not in the
        data.
    """
    known = usable(dataset, facts, exclude)
    noise = start_noise(dataset, known)
    if known.item.size == 0:
        return noise
    weighing = Weighing.of(known, noise)
    for rounds in ROUNDS[:-1]:
        noise = _em(weighing, noise, rounds)
        weighing = weighing.choose_again(noise)
    return _em(weighing, noise, ROUNDS[-1])


def usable(dataset: Catalog, facts: Facts, exclude: Array) -> Known:
    """Facts about items that a candidate holds, of at most 400 queries that have such facts."""
    known = Known.of(dataset, facts, exclude)
    held = known.support > 0
    counts = np.bincount(known.query[held], minlength=facts.n_queries)
    queries = np.flatnonzero(counts)
    queries = queries[:: -(-queries.size // MOST_QUERIES) or 1]
    chosen = np.zeros(facts.n_queries, np.bool_)
    chosen[queries] = True
    here = np.flatnonzero(facts.item >= 0)[held & chosen[known.query]]
    ptr = np.concatenate([[0], np.cumsum(counts[queries])]).astype(np.int64)
    few = Facts(
        ptr,
        facts.item[here],
        facts.value[here],
        facts.day[here],
        facts.length[queries],
        facts.length_within,
        facts.adversary,
        facts.from_release,
    )
    return Known.of(dataset, few, exclude[queries])


def start_noise(dataset: Catalog, known: Known) -> Noise:
    """Broad kernels over the bins that can occur."""
    value = time = None
    if known.has_value.any() and dataset.n_levels > 1:
        extra = tuple(
            s * dataset.value_range
            for s in SCALE_EDGES
            if s * dataset.value_range > 1.5 * VALUE_EDGES[-1]
        )
        edges = np.asarray((*VALUE_EDGES, *extra))
        bins = LevelBins(tuple(edges.tolist()), (0.0,) * (edges.size + 1))
        edges = edges[bins.sizes(dataset.levels).max(axis=0)[:-1] > 0]
        value = LevelBins(tuple(edges.tolist()), averaged_shares(edges, (0.0, 1.0, 2.0)))
    inside = (known.tick >= 0) & (known.tick <= dataset.tick_span)
    # gaps between two periods that do not overlap say nothing of who is who, only which entries lie
    # near the border
    if inside.any():
        time = averaged_bins(dataset, (0, 3, 14, 30, 90))
    return Noise(e=0.2, h=0.2 if value or time else 0.0, value=value, time=time)


def _candidates(dataset: Catalog, known: Known, noise: Noise) -> tuple[Array, Array]:
    """(queries, candidates): candidate records of each query, -1 = none, and the number of records each represents.

    The records that score highest under the current noise represent themselves. A random sample
    represents all others: without it, weak knowledge would always seem to agree with some record,
    and e would be too small.
    """
    n_top = max(2, min(MOST_CANDIDATES, dataset.n_records))
    drawn = choose_records(dataset, (), N_SAMPLED if n_top < dataset.n_records else 0, seed=0)[1]
    lengths = dataset.rows(np.sort(drawn)).lengths[np.argsort(np.argsort(drawn))]
    machine = engine("memory", dataset)
    parts = []
    for facts, exclude in query_batches(dataset, known.facts, known.exclude, False, machine):
        plan = compile_odds(dataset, facts, exclude, noise)
        found = machine.map(Score(plan, k=n_top), dataset.all_shards)
        low, high = plan.tables.query.low[:, None], plan.tables.query.high[:, None]
        others = (low <= lengths) & (lengths <= high) & (drawn != exclude[:, None])
        for row, top in zip(others, found.top, strict=True):
            row &= ~np.isin(drawn, top)
        is_top = found.top >= 0
        each = (found.n - is_top.sum(axis=1)) / np.maximum(others.sum(axis=1), 1)
        parts.append(
            (
                np.concatenate([found.top, np.where(others, drawn, -1)], axis=1),
                np.concatenate([is_top, others * each[:, None]], axis=1),
            )
        )
    candidate, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return candidate, weight


def _evidence(dataset: Catalog, known: Known, candidate: Array, noise: Noise) -> Evidence:
    row, cell_fact, cell, at, share, record, rows = events_of(dataset, known, candidate)
    n, fact = at.size, cell_fact[cell]
    code = rows.code[at].astype(np.int64) if dataset.has_value else np.zeros(n, np.int64)
    known_code, day_bin = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    if isinstance(noise.value, LevelBins):
        told = known.has_value[fact] & (code < dataset.n_levels)
        known_code[told] = nearest_level(known.value[fact[told]], dataset.levels)
    if isinstance(noise.time, TickBins):
        day = rows.tick[at].astype(np.int64)
        told = known.has_tick[fact] & (day != dataset.no_tick)
        day_bin[told] = noise.time.place(known.tick[fact[told]], day[told])
    return Evidence(row, cell_fact, cell, share, code, known_code, day_bin, record, rows)


def _weighed(known: Known, noise: Noise) -> tuple[Evidence, Array]:
    """What the candidates under a noise hold, and the number of records each represents."""
    candidate, n_like = _candidates(known.dataset, known, noise)
    return _evidence(known.dataset, known, candidate, noise), n_like


class Chances(NamedTuple):
    """Probability of each fact that a candidate holds, by how it may have arisen."""

    right_events: Array
    """Per event: the fact is right and is about this event."""
    right: Array
    """Per cell: the sum over its events."""
    wrong_value: Array
    """Per cell: the item is right, the value and day are wrong."""
    wrong_item: Array
    """Per fact: the item is wrong."""
    whole: Array
    """Per cell: the sum of the three."""
    absent: Array
    """Per fact: its probability if the target is not in the release."""


@dataclass(frozen=True, eq=False, repr=False)
class Weighing:
    """The known facts and what a fixed set of candidates holds: computes posteriors under any noise."""

    known: Known
    seen: Evidence
    n_like: Array
    """(queries, candidates): number of records that each candidate represents."""
    item_share: Array
    time_background: Array
    """Counted from the release; the background of values passes through the kernel, so it depends on the noise."""
    value_parts: tuple[Array, Array, Array] | None
    """Facts with a value: the background of each bin of errors among the item's own entries, their number, and the
    background of each bin among all entries. Backgrounds are linear in the shares of the bins."""
    even_chance: Array
    """Probability of a wrong value and day that are uniform; the same for all kernels without zeros."""

    @classmethod
    def of(cls, known: Known, noise: Noise) -> Weighing:
        """Choose candidates by their scores under the noise, and look up what they hold."""
        seen, n_like = _weighed(known, noise)
        parts = _value_parts(known, noise.value) if isinstance(noise.value, LevelBins) else None
        background, even = time_background(known, noise), _even_chance(known, noise)
        return cls(known, seen, n_like, item_share(known), background, parts, even)

    def choose_again(self, noise: Noise) -> Weighing:
        """Return the same facts with candidates chosen under another noise."""
        seen, n_like = _weighed(self.known, noise)
        return replace(self, seen=seen, n_like=n_like)

    @property
    def answerable(self) -> Array:
        """Queries that have candidates."""
        return np.asarray(self.n_like.any(axis=1))

    def rates(self, noise: Noise) -> Array:
        """Per cell: probability that one right fact is about this item of the candidate."""
        known, seen = self.known, self.seen
        rate = pick_rates(known.dataset, known.facts, noise, seen.rows)[seen.record]
        chosen = weights_known(known.dataset, known.facts)
        if chosen is None:
            return rate
        events = np.bincount(seen.cell, minlength=seen.row.size) if chosen.by_events else 1.0
        return np.asarray(rate * chosen.weights_of(known.item)[seen.fact] * events)

    def chances(self, noise: Noise, rate: Array) -> Chances:
        """Probabilities under a noise."""
        seen = self.seen
        fact = seen.fact[seen.cell]
        value_background = self._value_background(noise)
        g = value_background * self.time_background
        chance = _chances(
            self.known.dataset, noise, seen, value_background[fact], self.time_background[fact]
        )
        right_events = (1 - noise.e) * (1 - noise.h) * rate[seen.cell] * seen.share * chance
        right = np.bincount(seen.cell, weights=right_events, minlength=seen.row.size)
        wrong = noise.even_wrong * self.even_chance + (1 - noise.even_wrong) * g
        wrong_value = (1 - noise.e) * noise.h * rate * wrong[seen.fact]
        wrong_item = noise.e * self.item_share * g
        whole = right + wrong_value + wrong_item[seen.fact]
        absent = self.item_share * ((1 - noise.h) * g + noise.h * wrong)
        return Chances(right_events, right, wrong_value, wrong_item, whole, absent)

    def _value_background(self, noise: Noise) -> Array:
        """Per fact: probability of the known value among the item's own entries, as in `odds.value_odds`."""
        out = np.ones(self.known.item.size)
        if self.value_parts is not None and isinstance(noise.value, LevelBins):
            own, n_own, common = self.value_parts
            share = np.asarray(noise.value.share)
            back = shrunk(own @ share / np.maximum(n_own, 1), n_own, common @ share, SHRINK)
            out[self.known.has_value] = np.maximum(back, LEAST_CHANCE)
        return out

    def posterior(self, chances: Chances) -> tuple[Array, Array]:
        """(queries · candidates): posterior given that the target is in the release; per query: log Σ_r P(A|r).

        A candidate that represents several records has the sum of their posteriors. Queries without
        candidates get zeros.
        """
        log_odds = np.log(chances.whole / chances.wrong_item[self.seen.fact])
        log_record = np.bincount(
            self.seen.row, weights=log_odds, minlength=self.n_like.size
        ).reshape(self.n_like.shape)
        top = np.where(self.n_like > 0, log_record, 0.0).max(axis=1, keepdims=True)
        p = self.n_like * np.exp(np.minimum(log_record - top, 0.0))
        total = p.sum(axis=1, keepdims=True)
        level = top[:, 0] + np.log(np.where(total > 0, total, 1.0))[:, 0]
        return (p / np.maximum(total, 1e-300)).reshape(-1), level + self.known.sum_over_facts(
            np.log(chances.wrong_item)
        )


def _value_parts(known: Known, kernel: LevelBins) -> tuple[Array, Array, Array]:
    """(facts, bins), (facts,), (facts, bins): the contents of `Weighing.value_parts`."""
    backs = [
        value_backs(known, LevelBins(kernel.edges, tuple(one.tolist())))
        for one in np.eye(len(kernel.share))
    ]
    has = known.has_value
    own, common = (np.column_stack([back[k] for back in backs])[has] for k in (1, 3))
    return own, backs[0][2][has], common


def _em(weighing: Weighing, noise: Noise, rounds: int) -> Noise:
    """Run EM over fixed candidates."""
    known, seen = weighing.known, weighing.seen
    before, rate = np.inf, np.empty(0)
    n_right: int | None = -1
    n_facts = np.diff(known.query_ptr)[weighing.answerable].sum()
    for _ in range(rounds):
        if n_right != noise.n_right:
            rate, n_right = weighing.rates(noise), noise.n_right
        chances = weighing.chances(noise, rate)
        who, levels = weighing.posterior(chances)
        weight = who[seen.row] / chances.whole
        wrong_value = float((weight * chances.wrong_value).sum())
        # a fact is right, has a wrong value, or is a wrong item
        wrong_item = n_facts - wrong_value - float((weight * chances.right).sum())
        right = weight[seen.cell] * chances.right_events
        noise = _maximize(known.dataset, known, noise, seen, right, wrong_value, wrong_item)
        level = float(levels[weighing.answerable].sum())
        if abs(level - before) < TOLERANCE * max(1.0, abs(level)):
            break
        before = level
    return noise


def _chances(
    dataset: Catalog, noise: Noise, seen: Evidence, value_back: Array, time_back: Array
) -> Array:
    """K of each event; a channel unknown on one side counts as background."""
    out = np.ones(seen.cell.size)
    if isinstance(noise.value, LevelBins):
        told = seen.known_code >= 0
        out[told] *= noise.value.chance(dataset.levels, seen.code[told], seen.known_code[told])
        out[~told] *= value_back[~told]
    if isinstance(noise.time, TickBins):
        told = seen.day_bin >= 0
        out[told] *= noise.time.each()[seen.day_bin[told]]
        out[~told] *= time_back[~told]
    return out


def _maximize(
    dataset: Catalog,
    known: Known,
    noise: Noise,
    seen: Evidence,
    weight: Array,
    wrong_value: float,
    wrong_item: float,
) -> Noise:
    """Shares and kernels that fit the responsibilities; e and h under Beta(1, 4)."""
    right = float(weight.sum())
    e = wrong_item / (right + wrong_value + wrong_item + 3.0)
    h = wrong_value / (right + wrong_value + 3.0) if noise.h > 0 else 0.0
    value, time = noise.value, noise.time
    if isinstance(value, LevelBins):
        told = seen.known_code >= 0
        counts = value.counts(dataset.levels, seen.code[told], seen.known_code[told], weight[told])
        value = LevelBins(value.edges, without_floor(counts, value.widths(dataset.levels)))
    if isinstance(time, TickBins):
        told = seen.day_bin >= 0
        counts = np.bincount(seen.day_bin[told], weights=weight[told], minlength=len(time.share))
        time = TickBins(
            time.edges, without_floor(decreasing(counts, time.widths()), time.widths()), time.span
        )
    n_right = round((1 - e) * float(np.median(np.diff(known.facts.query_ptr))))
    return Noise(
        float(np.clip(e, 1e-4, 0.95)),
        float(np.clip(h, 0.0, 0.95)),
        value,
        time,
        n_right or None,
        sure=False,
    )
