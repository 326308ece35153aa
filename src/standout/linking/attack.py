"""The likelihood of a second file: the noise of linking, and the popularity of mentioning instead of the release's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.knowledge import Facts
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome
from standout.data.catalog import Catalog
from standout.kernels.bins import Bins
from standout.linking.agreement import day_background, value_background
from standout.linking.mentions import MentionPopularity
from standout.linking.noise import LinkNoise
from standout.scoring.factors import ByCount
from standout.scoring.plan import Plan


class LinkLikelihood(Attack):
    """Score = log P(facts | record) - log P(facts | not in the release), as in the attack `likelihood`.

    The difference is in what is compared with: q comes from the second file, e depends on how often
    a fact was seen, and values and days count by their agreement (`linking.agreement`). Facts about
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

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Odds tables of all queries."""
        known = Known.of(dataset, facts, exclude)
        e, odds = self.odds(known)
        value = np.ones(known.item.size)
        if self.noise.value is not None and known.has_value.any():
            value = _value_table(known, self.noise.value)
        time = np.ones((1, 1))
        if self.use_time and self.noise.time is not None and known.has_tick.any():
            time = _day_table(known, self.noise.time)
        value = value * known.by_cell(odds * (1 - self.noise.h), value)
        base = known.sum_over_facts(np.log(e) * (known.support > 0))
        # facts without days share one row
        row = (
            np.arange(known.item.size) if time.shape[1] > 1 else np.zeros(known.item.size, np.int64)
        )
        plan = known.odds_plan(
            value,
            time,
            row,
            time.max(axis=1)[row],
            odds * self.noise.h,
            length_factor(dataset),
            base,
        )
        return replace(plan, n_possible=known.n_records)

    def odds(self, known: Known) -> tuple[Array, Array]:
        """Per fact: e, and (1-e)/(e·q), the odds of a held item before agreement and the division by the record's length."""
        times = known.facts.times
        if times is not None:
            times = times[known.facts.item >= 0]
        e = self.noise.of_facts(times, known.item.size)
        return e, (1 - e) / (e * self.mentions.share(known, self.own))

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Name the best record if it explains the facts better than no record does."""
        return seen.score, seen.score > 0


def length_factor(dataset: Catalog) -> ByCount:
    """1/L_r: a right fact is about any of the record's items."""
    length = np.arange(dataset.longest + 1)
    return ByCount(np.where(length > 0, 1.0 / np.maximum(length, 1), 0.0))


def _value_table(known: Known, bins: Bins) -> Array:
    """(cells): likelihood ratio of the known value by level; 1 where one of the two is unknown."""
    ratio = np.asarray(bins.share) / value_background(known, bins)
    cells, levels = known.cells, known.dataset.levels
    table = np.ones(cells.row.size)
    told = known.has_value[cells.row] & (cells.code < levels.size)
    fact = cells.row[told]
    table[told] = ratio[fact, bins.place(known.value[fact], levels[cells.code[told]])]
    return table


def _day_table(known: Known, bins: Bins) -> Array:
    """(facts, 2·reach + 2): likelihood ratio by signed day gap, the outer gaps mean all larger ones; last column: day unknown."""
    ratio = np.asarray(bins.share) / day_background(known, bins)
    reach = int(bins.edges[-1]) + 1
    gaps = np.arange(-reach, reach + 1, dtype=np.float64)
    table = np.ones((known.item.size, gaps.size + 1))
    has = known.has_tick
    table[has, :-1] = np.take(ratio[has], bins.place(gaps, 0.0), axis=1)
    return table


def options(attack: LinkLikelihood, **changes: Any) -> LinkLikelihood:
    """Copy of the attack with other options."""
    given = {
        "noise": attack.noise,
        "mentions": attack.mentions,
        "use_time": attack.use_time,
        "own": attack.own,
    }
    return LinkLikelihood(**{**given, **changes})
