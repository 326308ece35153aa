"""Scoreboard and Scoreboard-RH (Narayanan and Shmatikov 2008)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.level_errors import channels_of
from standout.arrays import Array
from standout.attacks import criterion
from standout.attacks.attack import Attack, register_attack
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome
from standout.data.catalog import Catalog
from standout.data.times import loose_ticks
from standout.data.values import percent
from standout.errors import ParameterError
from standout.formulas import ns08
from standout.scoring.factors import ByCount
from standout.scoring.plan import Combine, Plan, Tie

VALUE_WITHIN, TIME_WITHIN = 1.0, 14.0
"""Tolerances of Fig. 1, for knowledge without stated tolerances."""

MOST_GAPS = 16_384
"""Columns on either side of a time table of the exponential similarity. Where the widths span more ticks, a column stands for
several of them: within a column the similarity then changes by less than 0.14 %."""


def check_value_within(within: float | str | None) -> float | str | None:
    """Refuse a tolerance that is neither a number ≥ 0 nor a share of the value like "10%"."""
    if within is None or percent(within) is not None:
        return within
    if isinstance(within, (bool, str)) or not 0 <= within < np.inf:
        raise ParameterError(
            f'value_within={within!r}: use a number ≥ 0, a share like "10%", or None'
        )
    return within


def check_time_within(within: float | str | None) -> float | str | None:
    """Refuse a tolerance that is neither a number of days ≥ 0 nor a text like "2h"."""
    if within is not None:
        loose_ticks(within, "day")
    return within


def time_tolerance(known: Known, time_within: float | str | None) -> float:
    """Tolerance of the time in ticks: as given, else the adversary's, else that of Fig. 1."""
    who = known.facts.adversary
    time = who.time_within if who and time_within is None else time_within
    return loose_ticks(TIME_WITHIN if time is None else time, known.dataset.time_resolution)


class ThresholdTables(NamedTuple):
    """Contributions by value code and by signed gap, and the row of the time table that each fact uses."""

    value: Array
    time: Array
    time_row: Array


def threshold_tables(
    known: Known,
    weight: Array,
    value_within: float | str | None,
    time_within: float,
    outside: float = VALUE_WITHIN,
) -> ThresholdTables:
    """Contribution `weight` if every known channel is within its tolerance (of times: in ticks), else a veto.

    `value_within` and `outside` are as in `Known.agreeing`.
    """
    n = known.item.size
    value, time, row = weight, np.zeros((1, 1)), np.zeros(n, np.int64)
    if known.has_value.any():
        inside = np.logical_and.reduce(known.agreeing(value_within, outside))
        value = np.where(inside, weight[known.cells.row], -np.inf)
    if known.has_tick.any():
        reach = known.useful_reach(int(time_within) + 1)
        near = np.where(np.abs(np.arange(-reach, reach + 1)) <= time_within, 0.0, -np.inf)
        # two rows: for a known time, and for an unknown one, which agrees with everything
        time = np.vstack([np.append(near, -np.inf), np.zeros(near.size + 1)])
        row = (~known.has_tick).astype(np.int64)
    return ThresholdTables(value, time, row)


@register_attack("scoreboard")
class Scoreboard(Attack):
    """Score = min over the known items of Sim(aux_i, r_i); an item that the record lacks has Sim 0.

    Parameters
    ----------
    value_within, time_within
        Tolerances of the similarity. Default: the adversary's.
    alpha
        Records with Score > alpha match; the smallest of them (fewest items) is the answer.
    """

    all_channels = True

    def __init__(
        self,
        *,
        value_within: float | str | None = None,
        time_within: float | str | None = None,
        alpha: float = 0.0,
    ) -> None:
        if not 0 <= alpha < 1:
            raise ParameterError(f"alpha={alpha}: use 0 ≤ alpha < 1")
        self.value_within, self.time_within = (
            check_value_within(value_within),
            check_time_within(time_within),
        )
        self.alpha = alpha

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Similarity tables; every fact must be met."""
        known = Known.of(dataset, facts, exclude)
        made = threshold_tables(
            known,
            np.ones(known.item.size),
            self.value_within,
            time_tolerance(known, self.time_within),
        )
        cut = np.nextafter(self.alpha, 1.0) + 1e-6
        return known.plan(
            Combine.MIN, made.value, made.time, time_row=made.time_row, tie=Tie.SHORT, cut=cut
        )

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the matching set is not empty."""
        return criterion.matching_set(seen)


@register_attack("scoreboard-rh")
class ScoreboardRH(Attack):
    """Score = Σ wt(i) · Sim(aux_i, r_i), wt(i) = 1/ln |supp(i)|.

    Of channels beside value and time, each adds 1 to Sim if it is within its tolerance.

    Parameters
    ----------
    similarity
        "exponential": Sim = e^(-|Δvalue|/rho0) + e^(-|Δdays|/d0); a channel that is not known drops
        its term, an item with no known channel counts 1. "threshold": Sim = 1 if every known
        channel is within its tolerance, else 0.
    phi
        Match iff (max - max2)/σ ≥ phi.
    length
        None, or "sqrt" to divide each record's score by √(its number of items).
    rho0, d0
        Widths of the exponential similarity; d0 in days.
    value_within, time_within
        Tolerances of the threshold similarity. Default: the adversary's.
    """

    all_channels = True

    def __init__(
        self,
        *,
        similarity: str = "exponential",
        phi: float = ns08.PHI,
        length: str | None = None,
        rho0: float = ns08.RHO_0,
        d0: float = ns08.D_0,
        value_within: float | str | None = None,
        time_within: float | str | None = None,
    ) -> None:
        if similarity not in ("exponential", "threshold"):
            raise ParameterError(f"similarity={similarity!r}: use 'exponential' or 'threshold'")
        if length not in (None, "sqrt"):
            raise ParameterError(f"length={length!r}: use None or 'sqrt'")
        if not (rho0 > 0 and d0 > 0 and phi >= 0):
            raise ParameterError(f"rho0={rho0}, d0={d0} must be above 0 and phi={phi} at least 0")
        self.similarity, self.phi, self.length, self.rho0, self.d0 = (
            similarity,
            phi,
            length,
            rho0,
            d0,
        )
        self.value_within, self.time_within = (
            check_value_within(value_within),
            check_time_within(time_within),
        )

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Weighted similarity tables."""
        known = Known.of(dataset, facts, exclude)
        weight = ns08.wt(known.sharing)
        if self.similarity == "threshold":
            within = time_tolerance(known, self.time_within)
            made = threshold_tables(known, weight, self.value_within, within)
            (value, time, time_row), shift = made, 0
        else:
            value, time, time_row, shift = self._exponential(known, weight)
        lengths = np.arange(dataset.longest + 1)
        factor = ByCount(1.0 / np.sqrt(np.maximum(lengths, 1))) if self.length == "sqrt" else None
        return known.plan(
            Combine.SUM, value, time, time_row=time_row, gap_shift=shift, factor=factor
        )

    def _exponential(self, known: Known, weight: Array) -> tuple[Array, Array, Array, int]:
        """Value table, rows of the time table (one per weight), which row each fact uses, and `Plan.gap_shift`."""
        n = known.item.size
        time_row, shift = np.arange(n), 0
        # an item without a known channel counts by its presence alone
        alone = np.where(known.has_value | known.has_tick, 0.0, weight)
        value, time = alone, np.zeros((n, 1))
        if known.has_value.any():
            near = self._closeness(known)
            own = np.column_stack([alone, np.where(known.has_value, weight, 0.0)])[known.cells.row]
            value = own[:, 0] + near * own[:, 1]
        if known.has_tick.any():
            # beyond 22 widths a contribution is below the last bit
            width = self.d0 * known.dataset.ticks_per_day
            reach = int(min(known.longest_gap(), np.ceil(22 * width))) + 1
            while reach >> shift > MOST_GAPS:
                shift += 1
            # one column more, so that the ends lie beyond the reach and hold 0
            reach = reach if shift == 0 else (reach >> shift) + 1
            near = np.append(ns08.closeness(np.arange(-reach, reach + 1) * 2.0**shift, width), 0.0)
            near[0] = near[2 * reach] = 0.0
            weights, time_row = np.unique(
                np.where(known.has_tick, weight, 0.0), return_inverse=True
            )
            time = weights[:, None] * near[None, :]
        return value, time, time_row, shift

    def _closeness(self, known: Known) -> Array:
        """(cells): e^(-|Δvalue|/rho0), plus 1 for each further channel that is known and within its tolerance."""
        out = np.zeros(known.cells.row.size)
        columns = [known.value] if known.value.ndim == 1 else known.value.T
        agree = known.agreeing(self.value_within)
        for k, (name, _, _) in enumerate(channels_of(known.dataset)):
            if name == "value":
                out += ns08.closeness(np.nan_to_num(known.value_gaps(), nan=np.inf), self.rho0)
            else:
                out += agree[k] & ~np.isnan(columns[k])[known.cells.row]
        return out

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the eccentricity reaches phi."""
        return criterion.stands_out(seen, self.phi)

    def beta(self, seen: Outcome) -> Array:
        """Lineup Π(r) ∝ e^(Score/σ)."""
        return criterion.one_over_sigma(seen)
