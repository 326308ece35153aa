"""The likelihood of a second file: the noise of linking, the popularity of mentioning, and the best records of every query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome
from standout.data.catalog import Catalog
from standout.data.content import content_digest
from standout.data.dataset import Dataset
from standout.experiment.journal import resumable
from standout.kernels.bins import Bins
from standout.linking.groups import TopScores, best_first
from standout.linking.noise import LinkNoise, agreement_by_chance, classes
from standout.scoring.factors import ByCount
from standout.scoring.plan import Plan

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Pseudo-mentions per item of the release that are tried."""


@dataclass(frozen=True, eq=False, repr=False)
class MentionPopularity:
    """Popularity of mentioning an item, which is not that of rating it, smoothed with its popularity in the release."""

    count: Array
    """int64 (items of the release): people of the second file who mention it."""
    strength: float
    """Pseudo-mentions, distributed like the release's own (record, item) pairs."""

    @classmethod
    def of(cls, dataset: Dataset, facts: Facts) -> MentionPopularity:
        """Count mentions, and choose the strength that predicts each person's mentions best from those of all others."""
        count = np.bincount(facts.item[facts.item >= 0], minlength=dataset.n_items)
        known = Known.of(dataset, facts, facts.nobody)
        tried = [cls(count, s * dataset.n_items) for s in STRENGTHS]
        return max(tried, key=lambda one: float(np.log(one.share(known, own=True)).sum()))

    def share(self, known: Known, own: bool) -> Array:
        """q: probability that a mention is of this item, per fact.

        Parameters
        ----------
        known
            The facts.
        own
            Whether the facts are part of the count: a person's own mentions do not make an item
            popular.
        """
        pairs = np.maximum(known.dataset.n_pairs - known.gone_lengths, 1)[known.query]
        release = np.maximum(known.support, 0.5) / pairs
        mine = np.diff(known.query_ptr)[known.query] if own else 0
        total = self.count.sum() - mine + self.strength
        return np.asarray(
            (np.maximum(self.count[known.item] - own, 0) + self.strength * release) / total
        )


class LinkLikelihood(Attack):
    """Score = log P(facts | record) - log P(facts | not in the release), as in the attack `likelihood`.

    The difference is in what is compared with: q comes from the second file, e depends on how often
    a fact was seen, and values and days count by their agreement (`linking.noise`). Facts about
    items that the release lacks are left out.

    Parameters
    ----------
    noise
        Shares of wrong facts, and agreement.
    mentions
        Popularity of mentioning.
    use_time
        Whether days are compared.
    own
        Whether the queries are those that were counted in `mentions`.
    """

    name = "link"
    lineup = False

    def __init__(
        self, noise: LinkNoise, mentions: MentionPopularity, use_time: bool = True, own: bool = True
    ) -> None:
        self.noise, self.mentions, self.use_time, self.own = noise, mentions, use_time, own

    def with_options(self, **changes: Any) -> LinkLikelihood:
        """Return a copy with other options."""
        return LinkLikelihood(**{**vars(self), **changes})

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Odds tables of all queries."""
        known, noise = Known.of(dataset, facts, exclude), self.noise
        e = np.asarray(noise.e)[classes(facts, len(noise.e))]
        # of a held item, before agreement and the division by the record's length
        odds = (1 - e) / (e * self.mentions.share(known, self.own))
        has_value, has_time = known.has_value.any(), self.use_time and known.has_tick.any()
        used = replace(
            noise,
            value=noise.value if has_value else None,
            time=noise.time if has_time else None,
        )
        by_chance = agreement_by_chance(known, used)
        ratio = {k: np.asarray(x.share) / by_chance[k] for k, x in used.kernels.items()}
        value, time = np.ones(known.item.size), np.ones((1, 1))
        # facts without days share one row
        row = np.zeros(known.item.size, np.int64)
        if used.value is not None:
            value = _value_table(known, used.value, ratio["value"])
        if used.time is not None:
            time = _day_table(known, used.time, ratio["time"])
            row = np.arange(known.item.size)
        value = value * known.by_cell(odds * (1 - noise.h), value)
        base = known.sum_over_facts(np.log(e) * (known.support > 0))
        # a right fact is about any of the record's items
        length = np.arange(dataset.longest + 1)
        factor = ByCount(np.where(length > 0, 1.0 / np.maximum(length, 1), 0.0))
        most = time.max(axis=1)[row]
        plan = known.odds_plan(value, time, row, most, odds * noise.h, factor, base)
        return replace(plan, n_possible=known.n_records)

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Name the best record if it explains the facts better than no record does."""
        return seen.score, seen.score > 0


def _value_table(known: Known, bins: Bins, ratio: Array) -> Array:
    """(cells): likelihood ratio of the known value by level; 1 where one of the two is unknown."""
    cells, levels = known.cells, known.dataset.levels
    table = np.ones(cells.row.size)
    compared = known.has_value[cells.row] & (cells.code < levels.size)
    fact = cells.row[compared]
    table[compared] = ratio[fact, bins.place(known.value[fact], levels[cells.code[compared]])]
    return table


def _day_table(known: Known, bins: Bins, ratio: Array) -> Array:
    """(facts, 2·reach + 2): likelihood ratio by signed day gap, the outer gaps mean all larger ones; last column: day unknown."""
    reach = int(bins.edges[-1]) + 1
    gaps = np.arange(-reach, reach + 1, dtype=np.float64)
    table = np.ones((known.item.size, gaps.size + 1))
    has = known.has_tick
    table[has, :-1] = np.take(ratio[has], bins.place(gaps, 0.0), axis=1)
    return table


def candidates(
    dataset: Dataset,
    knowledge: Knowledge,
    attack: LinkLikelihood,
    k: int,
    engine: Any = "memory",
    exclude: Any = None,
    progress: Callable[[int], None] | None = None,
) -> TopScores:
    """The k records that score highest for each query, with days and without.

    A score is log[(1-u)·P(facts with days | record) + u·P(facts without days | record)] against an
    absent person, where u is the share of people whose days are unrelated. A record that is among
    the first k only with days (or only without) has no other term.
    """
    k = max(2, min(k, dataset.n_records))
    facts = knowledge.bind(dataset)
    n_facts = np.bincount(facts.query[facts.item >= 0], minlength=facts.n_queries)

    def best(one: LinkLikelihood, progress: Callable[[int], None] | None) -> tuple[Array, Array]:
        def about() -> list[Any]:
            digest = content_digest(vars(one), facts_digest(knowledge), exclude)
            return [dataset.fingerprint, k, digest]

        return resumable(
            "link",
            about,
            lambda: one.top_scores(dataset, knowledge, k, engine, exclude, progress),
        )

    if attack.noise.time is None or not attack.use_time:
        found = best(attack, progress)
    else:
        u = min(max(attack.noise.unrelated, 1e-9), 1 - 1e-9)
        record, score = best(attack, progress)
        other, without = best(attack.with_options(use_time=False), None)
        found = _merged(
            np.concatenate([record, other], axis=1),
            np.concatenate([score + np.log1p(-u), without + np.log(u)], axis=1),
            k,
        )
    return TopScores.of(*found, n_facts, dataset.n_records)


def facts_digest(knowledge: Knowledge) -> str:
    """Hash of what the knowledge says, and of the adversary who has it."""
    names = ("query_ptr", "item", "value", "time", "length", "times", "adversary")
    return content_digest(*(getattr(knowledge, name) for name in names))


def _merged(record: Array, score: Array, k: int) -> tuple[Array, Array]:
    """Two lists of candidates side by side, with the sum of their probabilities, cut to the best k."""
    order = np.argsort(record, axis=1, kind="stable")
    record, score = (np.take_along_axis(x, order, axis=1) for x in (record, score))
    score = np.where(record < 0, -np.inf, score)
    # at most two entries of a record, next to each other: the second one takes over the first
    twice = (record[:, 1:] == record[:, :-1]) & (record[:, 1:] >= 0)
    score[:, 1:] = np.where(twice, np.logaddexp(score[:, 1:], score[:, :-1]), score[:, 1:])
    score[:, :-1] = np.where(twice, -np.inf, score[:, :-1])
    record[:, :-1] = np.where(twice, -1, record[:, :-1])
    record, score = best_first(record, score)
    return record[:, :k], score[:, :k]
