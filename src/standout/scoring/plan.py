"""`Plan`: an attack on a batch of queries, reduced to small tables that any engine can run.

The score of a record for a query is a sum (or a minimum) over the known items that the record
holds, of a contribution looked up in a table over value codes and a table over signed time gaps.
Every contribution is rounded to an integer *once*, here or by integer arithmetic in the kernel, so
sums, ranks and ties are the same on every engine.

A *gap* is the known time minus the entry's time, in ticks: it is positive where the fact is later
than the entry. Gaps are signed because a release can be off to one side: dates that were rounded
down make gaps of 0 and above. A row of a time table has 2·reach + 2 columns: column c stands for
the gap c - reach, the first and the last of these for all gaps beyond, and the last column of all
for entries without a time. With `Plan.gap_shift` s, column c stands for the 2^s gaps nearest to (c
- reach)·2^s: a smooth kernel over many ticks needs no more columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.item_codes import ItemCodes
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.factors import NO_FACTOR, RecordFactor

SCORE_LIMIT = 2**30
"""Largest absolute value of an integer score, so that 32 bits are enough."""

VETO = -2 * SCORE_LIMIT
"""In an integer table: the entry contributes nothing, whatever the other table holds (at most `SCORE_LIMIT`)."""

LOG_BITS = 24
"""Fixed-point bits of the logarithm in `Combine.ODDS`."""


class Combine(IntEnum):
    """How the contributions of a query's items become a record's score."""

    SUM = 0
    """Add `value[code] + time[gap]`, where time[gap] is the column of the signed gap."""
    MIN = 1
    """Smallest `value[code] + time[gap]` over all facts; 0 unless the record holds every one of them."""
    ODDS = 2
    """Add `log(1 + factor[record] · (value[code] · time[gap] + floor))`, and where a length is known `log(longest / length)`."""
    EXACT = 3
    """log P(knowledge | record) for exactly w wrong facts, by the tables `Plan.exact`; other records are no candidates."""
    ADAPTIVE = 4
    """LLR of a record of a defended release, by the tables `Plan.adaptive`."""


class Tie(IntEnum):
    """Order of records with the same score; the lower index is the last criterion."""

    INDEX = 0
    SHORT = 1
    """The record with fewer items (Merener 2012)."""
    HASH = 2
    """A pseudo-random one, the same on every engine."""


class QueryTables(NamedTuple):
    """Numbers per query."""

    ptr: Array
    """int64 (queries + 1): facts of each query."""
    shift: Array
    """int64: bits dropped from the fixed-point logarithm so that the sum fits, for `Combine.ODDS`."""
    n_known: Array
    """int64: number of facts known, including items that are not in the release."""
    exclude: Array
    """int64: record left out of the release, -1 = none."""
    low: Array
    """int64: fewest items a candidate may hold."""
    high: Array
    """int64: most items a candidate may hold."""
    longest: Array
    """int64, for `Combine.ODDS`: log(longest/L) is added to the score of a record of L items; 0 = nothing is added."""
    cut: Array
    """int64: records with at least this integer score are counted."""
    cap: Array
    """int64: larger integer scores are set to this."""
    salt: Array
    """uint64: seed of `Tie.HASH`."""


class FactTables(NamedTuple):
    """Numbers per fact."""

    item: Array
    """int64: item index."""
    known_tick: Array
    """int64: known time, in ticks after the dataset's first tick."""
    time_row: Array
    """int64: row of `RowTables`; facts whose tables are equal may share one."""
    value_start: Array
    """int64: first cell of the fact's row in `value` and `odds_value`."""
    value: Array
    """int32, one row after the other: contribution by value code, or by `Plan.places`; last = no value."""
    odds_value: Array
    """float64, likewise, for `Combine.ODDS`."""
    odds_floor: Array
    """float64, for `Combine.ODDS`."""


class RowTables(NamedTuple):
    """Tables over time gaps, which several facts may share."""

    time: Array
    """int32 (rows, 2·reach + 2): contribution by signed gap from -reach to reach, and without a time."""
    odds_time: Array
    """float64 (rows, 2·reach + 2), for `Combine.ODDS`; there, gaps are never grouped."""


class Tables(NamedTuple):
    """Arrays of a plan, as compiled kernels take them."""

    query: QueryTables
    fact: FactTables
    row: RowTables

    def arrays(self) -> dict[str, Array]:
        """All arrays by name."""
        return {name: array for part in self for name, array in part._asdict().items()}

    def replaced(self, **changes: Array) -> Tables:
        """Tables with some arrays replaced."""
        unknown = sorted(changes.keys() - self.arrays().keys())
        if unknown:
            raise TypeError(f"a plan has no table {', '.join(unknown)}")

        def of(names: tuple[str, ...]) -> dict[str, Any]:
            return {name: array for name, array in changes.items() if name in names}

        query, fact, row = self
        return Tables(
            query._replace(**of(query._fields)),
            fact._replace(**of(fact._fields)),
            row._replace(**of(row._fields)),
        )


class ExactTables(NamedTuple):
    """Further tables for `Combine.EXACT`, as compiled kernels take them."""

    wrong_items: bool
    """Whether wrong facts are items that the target lacks; otherwise their values and days are wrong."""
    use_value: bool
    use_time: bool
    reach: int
    """Largest error of a right time, in ticks."""
    tick_span: int
    n_marked: int
    """Marked items among those that the target holds, -1 = any number."""
    most_facts: int
    most_wrong: int
    wrong: Array
    """int64 (queries): number of wrong facts."""
    log_ways: Array
    """float64 (queries): logarithm of the number of ways to choose them."""
    total: Array
    """int64 (queries): (record, item) pairs of all pickable items, those of the excluded record not counted."""
    n_possible: Array
    """int64 (queries): records from which the knowledge could have been drawn."""
    scale: Array
    """float64 (queries): integer units per nat."""
    value_row: Array
    """int64 (facts): row of `right_value` and `wrong_value`."""
    row_start: Array
    """int64 (rows): first cell of each row."""
    right_value: Array
    """float64, one row after the other: probability of the known value by value code, or by `Plan.places` (last = no
    value), if the fact is right."""
    wrong_value: Array
    """float64, likewise: the same if the fact is wrong."""
    has_tick: Array
    """bool (facts): whether the time is known."""
    level_fine: Array
    """int8, likewise: 1 if some other level lies outside the tolerance, so that the value can be wrong; 0 if none does;
    -1 for an entry without a value."""
    marked: Array
    """int64 (facts): 1 for a marked item."""
    support: Array
    """float64 (facts): records that hold the item, the excluded one not counted."""
    mean_right: Array
    """float64 (facts): probability of the known value and day, averaged over the item's (record, item) pairs."""
    gone_ptr: Array
    """int64 (queries + 1): range of each query's excluded record in `gone_item`."""
    gone_item: Array
    """int64: distinct pickable items of the excluded records."""
    log_pick: Array
    """float64 (records of a shard; empty in a plan): logarithm of the number of ways to pick the right items, inf = the
    record cannot be the target. A shard computes it with `Plan.factor`."""
    weight: Array
    """float64 (records of a shard; empty in a plan): sum of the supports of the record's pickable items, where items can be
    wrong. A shard computes it with `Plan.weight`."""
    weighted: bool = False
    """Whether items of a record are not equally likely to be known."""
    by_events: bool = False
    """Whether an item's weight counts once for each of its events."""
    pick_weight: Array = NO_FACTOR
    """float64 (facts): weight of the item among those of a record."""
    pick_total: Array = NO_FACTOR
    """float64 (records of a shard; empty in a plan): sum of the weights of the record's items, where items have weights. A
    shard computes it with the first of `Plan.further`."""
    fine_total: Array = NO_FACTOR
    """float64, likewise, with the second of them: of what can be wrong, where values can be wrong."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Tables of a batch of queries, and the scale of the integer scores they give.

    A record's score is `base[query] + integer / scale[query]`.
    """

    combine: Combine
    tie: Tie
    use_value: bool
    use_time: bool
    filtered: bool
    """Whether `low` and `high` restrict the candidates by length."""
    tables: Tables
    scale: Array
    base: Array
    factor: RecordFactor | None = None
    """Factor per record: multiplies its sum; for `Combine.ODDS` each of its odds."""
    weight: RecordFactor | None = None
    """For `Combine.EXACT` with wrong items and for `Combine.ADAPTIVE`: computes the `weight` of their tables."""
    further: tuple[RecordFactor | None, ...] = ()
    """For `Combine.EXACT` with weights and for `Combine.ADAPTIVE`: computes the further numbers per record of their tables."""
    n_possible: Array | None = None
    """int64 (queries): records that may be the target, for attacks with a model."""
    threshold: Array | None = None
    """float64 (queries): threshold of the attack's criterion, if it differs between queries."""
    exact: ExactTables | None = None
    """For `Combine.EXACT`."""
    adaptive: AdaptiveTables | None = None
    """For `Combine.ADAPTIVE`."""
    gap_shift: int = 0
    """A column of `Tables.time` stands for 2^gap_shift gaps."""
    by_events: bool = False
    """For `Combine.ODDS`: the odds of a pair are the sum over its events, not the mean."""
    places: ItemCodes | None = None
    """On a wide scale: rows of value tables have cells only for the codes of the fact's item, in this order."""

    def __getstate__(self) -> dict[str, Any]:
        """Fields; of `places`, only what the plan's items need."""
        state = dict(self.__dict__)
        if self.places is not None:
            state["places"] = self.places.only(self.tables.fact.item)
        return state

    def __repr__(self) -> str:
        return f"<Plan of {self.n_queries:,} queries, {self.combine.name}>"

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.tables.query.ptr.size - 1)

    @cached_property
    def plain(self) -> bool:
        """Whether no table holds a veto and gaps are not grouped, so that the loops of a kernel need not test for it."""
        lowest = min(
            int(table.min(initial=0)) for table in (self.tables.fact.value, self.tables.row.time)
        )
        return lowest > VETO // 2 and self.gap_shift == 0

    def score(self, integer: Array) -> Array:
        """Scores from the integers of a kernel, one per query in the last dimension."""
        return np.asarray(self.base + integer / self.scale, dtype=np.float64)

    def integer(self, score: Array) -> Array:
        """Smallest integers whose score is at least `score`, one per query."""
        # the small term keeps a score that equals the threshold above it
        return np.ceil((score - self.base) * self.scale - 1e-6).astype(np.int64)

    def replace_tables(self, **changes: Array) -> Plan:
        """Plan with some tables replaced."""
        return replace(self, tables=self.tables.replaced(**changes))


def fixed_point(bound: Array) -> Array:
    """Power of two per query that makes scores up to `bound` fill the integers: 2^floor(log2(SCORE_LIMIT / bound)).

    >>> fixed_point(np.array([1.0, 23.0, 0.0])).tolist()
    [1073741824.0, 33554432.0, 1073741824.0]
    """
    safe = np.maximum(np.asarray(bound, dtype=np.float64), 1.0)
    return np.asarray(2.0 ** np.floor(np.log2(SCORE_LIMIT / safe)))
