"""`ListedKernel`: what kernels have in common that list the candidates of a block and score each of them once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from standout.arrays import Array
from standout.data.index import Shard
from standout.scoring.partials import Partials
from standout.scoring.plan import Plan
from standout.scoring.postings import postings, variant_of

Compiled = Callable[..., None]


@dataclass(frozen=True)
class ListedKernel:
    """A kernel of compiled functions that take postings, tables, variant and further tables of the shard."""

    run_blocks: Compiled
    mass_blocks: Compiled
    record_score: Compiled
    every_score: Compiled
    for_shard: Callable[[Plan, Shard], Any]
    """Further tables of the plan, with the numbers per record of the shard."""
    same: Callable[[Plan, Plan], bool]

    def score(
        self, shard: Shard, plan: Plan, queries: tuple[int, int], watch: Array, out: Partials
    ) -> None:
        """Add all records to the partials."""
        self.run_blocks(queries, *self._arguments(shard, plan), watch, out)

    def mass(
        self,
        shard: Shard,
        plan: Plan,
        queries: tuple[int, int],
        top: Array,
        beta: Array,
        out: Array,
    ) -> None:
        """Add Σ exp(beta · (score - top)) over the candidates to `out`."""
        self.mass_blocks(queries, *self._arguments(shard, plan), top, beta, out)

    def score_record(self, shard: Shard, plan: Plan, record: Array, out: Array) -> None:
        """Put the score of one record per query into `out`."""
        self.record_score(*self._arguments(shard, plan), record, out)

    def all_scores(self, shard: Shard, plan: Plan, queries: tuple[int, int], out: Array) -> None:
        """Put the scores (some queries, records of the shard) into `out`."""
        self.every_score(queries, *self._arguments(shard, plan), out)

    def same_scores(self, a: Plan, b: Plan) -> bool:
        """Whether two plans give every record the same score, but for the records that they exclude."""
        return self.same(a, b)

    def _arguments(self, shard: Shard, plan: Plan) -> tuple[Any, ...]:
        return (
            postings(shard, places=plan.places),
            plan.tables,
            variant_of(plan),
            self.for_shard(plan, shard),
        )
