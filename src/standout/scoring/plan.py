"""`Plan`: an attack on a batch of queries, reduced to small tables that any engine can run.

The score of a record for a query is a sum (or a minimum) over the known items that the record holds, of a contribution
looked up in a table over value codes and a table over day gaps. Every contribution is rounded to an integer *once*, here
or by integer arithmetic in the kernel, so sums, ranks and ties are the same on every engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ROOM = 2**30
"""Absolute value that no score of a record may pass, so that 32 bits are enough."""

VETO = -2 * ROOM
"""In an integer table: this entry contributes nothing, whatever the other table says; that may say as much as `ROOM`."""

LOG_BITS = 24
"""Fixed-point bits of the logarithm in `Combine.ODDS`."""


class Combine(IntEnum):
    """How the contributions of a query's items become a record's score."""

    SUM = 0
    """Add `value[code] + time[gap]`."""
    MIN = 1
    """Smallest `value[code] + time[gap]` over all facts; 0 unless the record holds every one of them."""
    ODDS = 2
    """Add `log(1 + factor[record] · (value[code] · time[gap] + floor))`."""
    EXACT = 3
    """log P(knowledge | record) for exactly w wrong facts, by the tables `Plan.exact`; other records are no candidates."""


class Tie(IntEnum):
    """Which of several records with the same score comes first; the lower index decides last."""

    INDEX = 0
    SHORT = 1
    """The record with fewer items (Merener 2012)."""
    HASH = 2
    """A pseudo-random one, the same on every engine."""


class Tables(NamedTuple):
    """The arrays of a plan, in the shape that compiled kernels take."""

    query_ptr: Array
    """int64 (queries + 1): facts of each query."""
    item: Array
    """int64 (facts): item index."""
    known_day: Array
    """int64 (facts): known day, as an offset from the dataset's first day."""
    time_row: Array
    """int64 (facts): row of `time` and `odds_time`; facts whose tables are equal may share one."""
    value: Array
    """int32 (facts, levels + 1): contribution by value code, last = no value."""
    time: Array
    """int32 (rows, gaps + 1): contribution by day gap; the last gap stands for all larger ones; last column = no day."""
    odds_value: Array
    """float64 (facts, levels + 1), for `Combine.ODDS`."""
    odds_time: Array
    """float64 (rows, gaps + 1), for `Combine.ODDS`."""
    odds_floor: Array
    """float64 (facts)."""
    shift: Array
    """int64 (queries): bits dropped from the fixed-point logarithm so that the sum fits."""
    n_known: Array
    """int64 (queries): facts the adversary has, also of items that are not in the release."""
    exclude: Array
    """int64 (queries): record that is not there, -1 = none."""
    low: Array
    """int64 (queries): fewest items a candidate may hold."""
    high: Array
    """int64 (queries): most items a candidate may hold."""
    cut: Array
    """int64 (queries): records with at least this score are counted."""
    cap: Array
    """int64 (queries): scores above this count as this."""
    salt: Array
    """uint64 (queries): seed of `Tie.HASH`."""
    factor: Array
    """float64 (records, or none): multiplies a record's sum; for `Combine.ODDS` each odds."""
    lengths: Array
    """int64 (records): distinct items, for filters and `Tie.SHORT`."""


class ExactTables(NamedTuple):
    """What `Combine.EXACT` needs beside `Tables`, in the shape that compiled kernels take."""

    wrong_items: bool
    """Whether wrong facts are items that the target lacks; otherwise their values and days are wrong."""
    use_value: bool
    use_time: bool
    reach: int
    """Largest error of a right day."""
    day_span: int
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
    """int64 (queries): records that the adversary could have drawn her knowledge from."""
    scale: Array
    """float64 (queries): integer units per nat."""
    value_row: Array
    """int64 (facts): row of `right_value` and `wrong_value`."""
    right_value: Array
    """float64 (rows, levels + 1): chance of the told value by value code, last = no value, if it is right."""
    wrong_value: Array
    """float64 (rows, levels + 1): the same if it is wrong."""
    has_day: Array
    """bool (facts): whether a day is told."""
    level_fine: Array
    """bool (levels): whether another level lies outside the tolerance, so that the value can be told wrongly."""
    marked: Array
    """int64 (facts): 1 for a marked item."""
    support: Array
    """float64 (facts): records that hold the item, the excluded one not counted."""
    mean_right: Array
    """float64 (facts): chance of what is told, averaged over the item's (record, item) pairs."""
    log_pick: Array
    """float64 (records): logarithm of the number of ways to pick the right items, inf = the record cannot be the target."""
    weight: Array
    """int64 (records, or none): sum of the supports of the record's pickable items."""
    record_ptr: Array
    record_item: Array
    pickable: Array
    """bool (items): items that the adversary may come to know."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Tables of a batch of queries and how to read the integers they give.

    A record's score is `base[query] + integer / scale[query]`.
    """

    combine: Combine
    tie: Tie
    use_value: bool
    use_time: bool
    filtered: bool
    """Whether `low` and `high` (or a negative factor, which bars a record) restrict the candidates."""
    tables: Tables
    scale: Array
    base: Array
    no_day: int
    threshold: Array | None = None
    """float64 (queries): what the attack's criterion compares its statistic with, where queries differ in it."""
    exact: ExactTables | None = None
    """For `Combine.EXACT`."""

    def __repr__(self) -> str:
        return f"<Plan of {self.n_queries:,} queries, {self.combine.name}>"

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.tables.query_ptr.size - 1)

    def score(self, integer: Array) -> Array:
        """Turn the integers of a kernel, one per query, into scores."""
        return np.asarray(self.base + integer / self.scale, dtype=np.float64)

    def integer(self, score: Array) -> Array:
        """Smallest integers whose score is at least `score`, one per query."""
        # the nudge keeps a threshold that equals a score on the side of the score
        return np.ceil((score - self.base) * self.scale - 1e-6).astype(np.int64)

    def replace_tables(self, **changes: Array) -> Plan:
        """Plan with some tables replaced."""
        return replace(self, tables=self.tables._replace(**changes))


def fixed_point(bound: Array) -> Array:
    """Power of two per query that makes scores up to `bound` fill the integers: 2^floor(log2(ROOM / bound)).

    >>> fixed_point(np.array([1.0, 23.0, 0.0])).tolist()
    [1073741824.0, 33554432.0, 1073741824.0]
    """
    safe = np.maximum(np.asarray(bound, dtype=np.float64), 1.0)
    return np.asarray(2.0 ** np.floor(np.log2(ROOM / safe)))
