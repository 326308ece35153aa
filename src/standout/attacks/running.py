"""Run a compiled attack: score all records, then decide; with the targets in the release, without them, or both at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from standout.arrays import Array
from standout.attacks import criterion
from standout.attacks.verdicts import Outcome, Verdicts
from standout.data.catalog import Catalog
from standout.engines.engine import Engine
from standout.formulas.spacing import K
from standout.scoring.kernels import kernel_of
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan
from standout.scoring.rules import keys_of
from standout.scoring.tasks import UNWATCHED, Mass, Score, ScoreRecord

if TYPE_CHECKING:
    from standout.attacks.attack import Attack


@dataclass(frozen=True, eq=False)
class Run:
    """A fitted attack on a release."""

    attack: Attack
    dataset: Catalog
    machine: Engine
    spacing: bool = False
    """Whether to keep enough records for the spacing test."""

    def watched(self, plan: Plan, watch: Array) -> tuple[Array, Array]:
        """Integer score of one record per query, `LOWEST` = no candidate; and the scores to count against."""
        task = ScoreRecord(plan, watch)
        if not (watch >= 0).any():
            own = task.empty().score
        elif self.dataset.home_engine is None:
            own = self.machine.map(task, self.dataset.all_shards).score
        else:  # the records' rows are here, or soon will be: no need to look through all records for them
            rows = self.dataset.rows(np.unique(watch[watch >= 0]))
            place = rows.places(watch)
            alone = plan.replace_tables(
                exclude=np.where(plan.tables.query.exclude == watch, place, -1)
            )
            own = (
                ScoreRecord(alone, place)
                .run(rows.shard(self.dataset.n_items, self.dataset.has_repeats))
                .score
            )
        # queries without a watched record have no score to compare with
        return own, np.where(watch >= 0, own, UNWATCHED)

    def score(self, plan: Plan, marks: Array, lineup: bool) -> Partials:
        """Score all records; compute the mass as well if it is wanted and its sharpness is known."""
        k = K + 1 if self.spacing or self.attack.rule == "spacing" else 2
        beta = self.attack.known_beta(plan) if self.wants(lineup) else None
        return self.machine.map(Score(plan, marks, k, beta), self.dataset.all_shards)

    def wants(self, lineup: bool) -> bool:
        """Whether the distribution over the records is needed."""
        return self.attack.lineup and (lineup or self.attack.needs_lineup)

    def verdicts(self, plan: Plan, watch: Array, lineup: bool) -> Verdicts:
        """Score all records and decide."""
        own, marks = self.watched(plan, watch)
        return self.decide(plan, self.score(plan, marks, lineup), watch, own, lineup)

    def decide(
        self, plan: Plan, partials: Partials, watch: Array, own: Array, lineup: bool
    ) -> Verdicts:
        """Turn partials into verdicts; `own` holds the integer scores of the watched records."""
        attack, dataset = self.attack, self.dataset
        seen = Outcome(plan, partials, dataset.n_records - (plan.tables.query.exclude >= 0))
        if partials.beta.size:
            seen = replace(seen, beta=partials.beta, mass=rounded(partials.mass))
        elif self.wants(lineup) and (beta := attack.beta(seen)) is not None:
            mass = self.machine.map(Mass(plan, partials.best_score, beta), dataset.all_shards).total
            seen = replace(seen, beta=beta, mass=rounded(mass))
        statistic, matched = (
            attack.decide(seen)
            if attack.rule == "own"
            else criterion.unlikely_absent(seen, attack.level)
        )
        model = attack.posterior(seen), attack.absent(seen), attack.presence_error(seen)
        return Verdicts.of(
            seen,
            statistic,
            matched,
            watch,
            own,
            dataset.lengths_of(watch),
            self.wants(lineup),
            *model,
            criterion.spacing_p_values(seen),
        )


def rounded(x: Array) -> Array:
    """Round to 36 binary digits: sums of the same numbers in another order are then equal, and queries that tie still tie.

    >>> bool(rounded(np.array([0.1 + 0.2]))[0] == rounded(np.array([0.3]))[0])
    True
    """
    fraction, exponent = np.frexp(x)
    return np.asarray(np.ldexp(np.rint(np.ldexp(fraction, 36)), exponent - 36))


def run_both(
    here: Run, away: Run, with_target: Plan, without: Plan, targets: Array
) -> tuple[Verdicts, Verdicts]:
    """Verdicts with the targets in the release, and without them."""
    nobody = np.full(targets.size, -1, np.int64)
    if not kernel_of(with_target).same_scores(with_target, without):
        return here.verdicts(with_target, targets, True), away.verdicts(without, nobody, False)
    own, marks = here.watched(with_target, targets)
    others = away.score(without, marks, True)
    key = keys_of(
        targets, int(without.tie), without.tables.query.salt, here.dataset.lengths_of(targets)
    )
    whole = others.merge(
        Partials.of_records(others, targets, own, key, marks, with_target.tables.query.cut)
    )
    unwatched = others._replace(n_watch=np.zeros_like(others.n_watch))
    return (
        here.decide(with_target, whole, targets, own, True),
        away.decide(without, unwatched, nobody, np.full(nobody.size, LOWEST, np.int64), False),
    )
