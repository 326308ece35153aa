"""Unicity (de Montjoye et al. 2013): exactly one record agrees with everything that is known."""

from __future__ import annotations

import numpy as np

from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks import criterion
from standout.attacks.attack import Attack, register_attack
from standout.attacks.scoreboard import check_time_within, check_value_within, threshold_tables
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome
from standout.data.catalog import Catalog
from standout.data.times import loose_ticks
from standout.scoring.plan import Combine, Plan


@register_attack("unicity")
class Unicity(Attack):
    """Score = 1 for records that agree with every known fact, 0 for all others; match iff exactly one agrees.

    A record agrees with a fact if one event of that item lies within the tolerance of every known
    channel. The share of targets matched is the unicity of the release.

    Parameters
    ----------
    value_within, time_within
        Largest differences that still agree. Default: the adversary's; 0 for knowledge from
        outside.
    """

    all_channels = True

    def __init__(
        self, *, value_within: float | str | None = None, time_within: float | str | None = None
    ) -> None:
        self.value_within, self.time_within = (
            check_value_within(value_within),
            check_time_within(time_within),
        )

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Agreement tables; every fact must be met."""
        known = Known.of(dataset, facts, exclude)
        who, time = facts.adversary, self.time_within
        if time is None and who is not None:
            time = who.time_within
        within = loose_ticks(time or 0, dataset.time_resolution)
        ones = np.ones(known.item.size)
        made = threshold_tables(known, ones, self.value_within, within, outside=0.0)
        return known.plan(Combine.MIN, made.value, made.time, time_row=made.time_row, cut=1.0)

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff exactly one record agrees."""
        statistic, _ = criterion.matching_set(seen)
        return statistic, seen.partials.n_cut == 1
