"""Which kernel runs a plan: each way to combine contributions (`Plan.combine`) has one, in a file of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.data.tasks import Range
from standout.scoring.partials import Partials
from standout.scoring.plan import Combine, Plan
from standout.scoring.postings import postings, variant_of

"""Queries of a plan: first, and one after the last."""

_HOME = {
    Combine.SUM: "cpu",
    Combine.MIN: "least",
    Combine.ODDS: "cpu",
    Combine.EXACT: "exact",
    Combine.ADAPTIVE: "adaptive",
}
"""Module of `standout.scoring` whose `KERNEL` runs plans of that kind."""


def same_tables(a: Plan, b: Plan) -> bool:
    """Whether two plans agree in `tables` and in all that selects a kernel's loops, but for the excluded records."""
    options = (
        "combine",
        "tie",
        "use_value",
        "use_time",
        "filtered",
        "gap_shift",
        "by_events",
        "factor",
        "weight",
    )
    if any(
        getattr(a, name) is not getattr(b, name) and getattr(a, name) != getattr(b, name)
        for name in options
    ):
        return False
    return np.array_equal(a.scale, b.scale) and all(
        same_arrays(one, other, {"exclude"}) for one, other in zip(a.tables, b.tables, strict=True)
    )


def same_arrays(a: Any, b: Any, but: set[str]) -> bool:
    """Whether all fields of two named tuples are equal, but for some of them."""
    return all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in a._fields if name not in but
    )


Compiled = Callable[..., None]


@dataclass(frozen=True)
class Kernel:
    """Scores the records of one shard for some queries of a plan. Each method adds to arrays over all queries.

    Its compiled functions take postings, tables and variant, and what `further` makes.
    """

    run_blocks: Compiled
    mass_blocks: Compiled
    record_score: Compiled
    every_score: Compiled
    further: Callable[[Plan, Shard], Any] | None = None
    """Further tables of the plan, with the numbers per record of the shard."""
    same_scores: Callable[[Plan, Plan], bool] = same_tables
    """Whether two plans give every record the same score, but for the records that they exclude."""

    def score(self, shard: Shard, plan: Plan, queries: Range, watch: Array, out: Partials) -> None:
        """Add all records to the partials; `watch` is one integer score per query to count against."""
        self.run_blocks(queries, *self._arguments(shard, plan), watch, out)

    def mass(
        self, shard: Shard, plan: Plan, queries: Range, top: Array, beta: Array, out: Array
    ) -> None:
        """Add Σ exp(beta · (score - top)) over the candidates to `out`, in integer score units."""
        self.mass_blocks(queries, *self._arguments(shard, plan), top, beta, out)

    def score_record(self, shard: Shard, plan: Plan, record: Array, out: Array) -> None:
        """Put the score of one record per query into `out`, where the shard holds it and it is a candidate."""
        self.record_score(*self._arguments(shard, plan), record, out)

    def all_scores(self, shard: Shard, plan: Plan, queries: Range, out: Array) -> None:
        """Put the scores (some queries, records of the shard) into `out`; `LOWEST` for records that are not candidates."""
        self.every_score(queries, *self._arguments(shard, plan), out)

    def _arguments(self, shard: Shard, plan: Plan) -> tuple[Any, ...]:
        if self.further is None:
            return postings(shard, plan.factor, plan.places), plan.tables, variant_of(plan)
        # `further` has the factors of the records
        post, more = postings(shard, places=plan.places), self.further(plan, shard)
        return post, plan.tables, variant_of(plan), more


def kernel_of(plan: Plan) -> Kernel:
    """Kernel of the plan."""
    kernel: Kernel = import_module(f"standout.scoring.{_HOME[plan.combine]}").KERNEL
    return kernel
