"""Which kernel runs a plan: each way to combine contributions (`Plan.combine`) has one, in a file of its own."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Protocol

import numpy.typing as npt

from standout.data.index import Shard
from standout.scoring.partials import Partials
from standout.scoring.plan import Combine, Plan

Array = npt.NDArray[Any]
Range = tuple[int, int]
"""Queries of a plan: first, and one after the last."""

_HOME = {
    Combine.SUM: "cpu", Combine.MIN: "cpu", Combine.ODDS: "cpu", Combine.EXACT: "exact", Combine.ADAPTIVE: "adaptive",
}  # fmt: skip
"""Module of `standout.scoring` whose `KERNEL` runs plans of that kind."""


class Kernel(Protocol):
    """Scores the records of one shard for some queries of a plan. Each method adds to arrays over all queries."""

    def score(self, shard: Shard, plan: Plan, queries: Range, watch: Array, out: Partials) -> None:
        """Add all records to the partials; `watch` is one integer score per query to count against."""
        ...

    def mass(self, shard: Shard, plan: Plan, queries: Range, top: Array, beta: Array, out: Array) -> None:
        """Add Σ exp(beta · (score - top)) over the candidates to `out`, in integer score units."""
        ...

    def score_record(self, shard: Shard, plan: Plan, record: Array, out: Array) -> None:
        """Put the score of one record per query into `out`, where the shard holds it and it is a candidate."""
        ...

    def all_scores(self, shard: Shard, plan: Plan, queries: Range, out: Array) -> None:
        """Put the scores (some queries, records of the shard) into `out`; `LOWEST` for records that are not candidates."""
        ...


def kernel_of(plan: Plan) -> Kernel:
    """Kernel of the plan."""
    kernel: Kernel = import_module(f"standout.scoring.{_HOME[plan.combine]}").KERNEL
    return kernel
