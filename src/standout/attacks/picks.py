"""Effect of an adversary's choice on each record and item, for the exact likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from standout.adversary.adversary import Adversary
from standout.adversary.choice import PickRule
from standout.adversary.choosing import Condition, count_eligible
from standout.adversary.eligible import conditions, entry_test
from standout.adversary.ranked import rank_of_codes
from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.scoring.factors import ByCount, BySum, RecordFactor, SumOfCounts
from standout.scoring.pick_weights import ByPickWeight
from standout.scoring.ranked_ways import RankedWays


@dataclass(frozen=True, eq=False, repr=False)
class Picks:
    """Effect of an adversary's choice rule on each record and item."""

    conditions: tuple[Condition, ...]
    """Conditions of the records that the knowledge can be drawn from."""
    n_eligible: int
    """Number of these records."""
    log_pick: RecordFactor
    """Log of the number of ways to pick the right items in order, 0 where items have weights; inf = not eligible."""
    weight: RecordFactor | None
    """Sum of the supports of the pickable items of a record, where items can be wrong."""
    pickable: Array
    """bool (items)."""
    marked: Array
    """bool (items): rare items, under the rule `rare`."""
    n_marked: int
    """Rare items among the right ones, -1 = any number."""
    chosen: PickRule
    """The choice."""
    totals: tuple[RecordFactor, ...]
    """Where items have weights: sum of a record's weights, and of those of items that can be wrong."""


def picks(who: Adversary, dataset: Catalog) -> Picks:
    """Effect of the choice rule on the dataset; computed on first use and cached on it."""
    key = (
        who.choose,
        type(who.choice),
        who.knows,
        who.wrong,
        who.wrong_kind,
        who.value_within,
        tuple((who.within or {}).items()),
        who.gamma,
        who.time_within,
    )
    return once(dataset, "picks", key, lambda: _picks(who, dataset))


def _picks(who: Adversary, dataset: Catalog) -> Picks:
    # a relation among the items is not used: all items of a record count as equally likely
    pickable, able = who.pickable(dataset), conditions(who, dataset, related=False)
    right, n_marked = who.n_right_items, -1
    marked = np.zeros(dataset.n_items, np.bool_)
    chosen = who.pick_rule(dataset)
    if chosen.split is not None:
        marked, n_marked = chosen.split.first, min(chosen.split.n_first, right)
    weight = (
        BySum(np.where(pickable, dataset.supports, 0.0))
        if who.wrong and who.wrong_kind == "item"
        else None
    )
    return Picks(
        able,
        count_eligible(dataset, able),
        _log_pick(who, dataset),
        weight,
        pickable,
        marked,
        n_marked,
        chosen,
        _totals(who, dataset, chosen),
    )


def _totals(who: Adversary, dataset: Catalog, chosen: PickRule) -> tuple[RecordFactor, ...]:
    """Sums of the weights of a record's items: of all, and where values are wrong, of those that can be wrong."""
    if not chosen.weighted:
        return ()
    every = ByPickWeight.of(chosen)
    if not who.wrong or who.wrong_kind == "item":
        return (every,)
    return every, ByPickWeight.of(chosen, entry_test(who, dataset))


def _log_pick(who: Adversary, dataset: Catalog) -> RecordFactor:
    """Factor per record: log of the number of ways to pick its right items; inf = not eligible."""
    pickable, right, wrong = who.pickable(dataset), who.n_right_items, int(who.wrong)
    every = None if pickable.all() else pickable
    count = np.arange(dataset.longest + 1)
    able = np.ones(count.size, np.bool_)
    if wrong and who.wrong_kind == "item":
        able = pickable.sum() - count >= who.most_wrong
    test = entry_test(who, dataset)
    chosen = who.pick_rule(dataset)
    if chosen.ranked:
        return RankedWays(rank_of_codes(dataset), right, every, int(dataset.longest))
    if chosen.weighted:
        # the probability of a pick depends on the weights of the items that are known
        enough = ByCount(np.where(able & (count >= right), 0.0, np.inf), every)
        if test is None:
            return enough
        return SumOfCounts((ByCount(np.where(count >= wrong, 0.0, np.inf), every, test), enough))
    if chosen.split is None:
        if test is None:
            return ByCount(np.where(able, log_falling(count, right), np.inf), every)
        # wrong facts are picked first, among the items that can give a wrong fact
        first = ByCount(log_falling(count, wrong), every, test)
        return SumOfCounts((first, ByCount(log_falling(count - wrong, right - wrong), every)))
    rare, n_rare, (least, least_others) = chosen.split
    n_marked = min(n_rare, right)
    # rare and other items are picked separately and shuffled; records with enough items of both
    # kinds are eligible
    parts = [
        ByCount(np.where(count >= least, log_falling(count, n_marked), np.inf), rare),
        ByCount(
            np.where(count >= least_others, log_falling(count, right - n_marked), np.inf), ~rare
        ),
        ByCount(np.where(able, log_ways(right, n_marked), np.inf)),
    ]
    if test is not None:
        pools = ((rare, n_rare), (~rare, who.knows - n_rare))
        parts += [
            ByCount(np.where(count >= min(n, who.most_wrong), 0.0, np.inf), marks, test)
            for marks, n in pools
        ]
    return SumOfCounts(tuple(parts))


def log_falling(n: Array, k: int) -> Array:
    """Logarithm of n·(n-1)···(n-k+1), inf where n < k.

    >>> np.exp(log_falling(np.array([5, 1]), 2)).round(6).tolist()
    [20.0, inf]
    """
    enough = np.asarray(n) >= k
    safe = np.where(enough, n, k).astype(np.float64)
    return np.where(enough, gammaln(safe + 1) - gammaln(safe - k + 1), np.inf)


def log_ways(n: Any, k: Any) -> Any:
    """Logarithm of the number of ways to choose k of n."""
    return (
        gammaln(np.asarray(n) + 1.0)
        - gammaln(np.asarray(k) + 1.0)
        - gammaln(np.asarray(n) - np.asarray(k) + 1.0)
    )
