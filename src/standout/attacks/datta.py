"""The generic and the weighted algorithm (Datta, Sharma and Sinha 2012), with the isolation certificate.

These attacks do not use days. An item whose value is not known, or any item of a release without
values, has T = 1 in a record that holds it; a known value against an entry that lacks one has T =
0, as a null.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from standout.adversary.facts import Facts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.attacks import criterion
from standout.attacks.attack import Attack, register_attack
from standout.attacks.queries import bound
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome, Verdicts
from standout.data.catalog import Catalog
from standout.data.values import percent
from standout.errors import ParameterError
from standout.formulas import dss12
from standout.scoring.partials import LOWEST
from standout.scoring.plan import SCORE_LIMIT, Combine, Plan, Tie


def perturbation(known: Known, gamma: float | None) -> Array:
    """γ per query: as given, else the adversary's, else its `value_within` as a share of the scale, else 0."""
    who, n = known.facts.adversary, known.facts.n_queries
    given = gamma if gamma is not None else (who.gamma if who else None)
    if given is not None:
        return np.full(n, min(float(given), 1.0))
    if who is None or not who.value_within:
        return np.zeros(n)
    p = known.value_range
    return np.where(
        p > 0,
        np.minimum(_largest_error(known, who.value_within) / np.where(p > 0, p, 1.0), 1.0),
        0.0,
    )


def _largest_error(known: Known, within: float | str) -> Array:
    """Per query: the largest error that a known value can have."""
    most = float(known.dataset.tolerance(within).max(initial=0.0))
    share = percent(within)
    if share is None or share >= 1:
        return np.full(known.facts.n_queries, most)
    # |v - known| ≤ share·|v| holds only for |v| ≤ |known| / (1 - share)
    each = np.where(known.has_value, np.abs(np.nan_to_num(known.value)) * share / (1 - share), 0.0)
    return np.minimum(known.largest_fact(each), most)


def similarity_table(known: Known) -> Array:
    """T of each fact, one number per cell of the value tables; one per fact where no value is known."""
    if not known.has_value.any():
        return np.ones(known.item.size)
    cells = known.cells
    t = dss12.T(known.value_gaps(), 0.0, known.value_range[known.query][cells.row])
    return np.where(known.has_value[cells.row], t, 1.0)


def salts(facts: Facts) -> Array:
    """A number per query that depends only on its facts, not on their order or on other queries."""
    value = np.where(np.isnan(facts.value), -0.0, facts.value + 0.0).view(np.uint64)
    x = (facts.item.astype(np.int64).view(np.uint64) + np.uint64(2)) * np.uint64(
        0x9E3779B97F4A7C15
    ) + value
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    out = np.zeros(facts.n_queries, np.uint64)
    np.add.at(out, facts.query, x ^ (x >> np.uint64(31)))
    return out


def _share(x: float | None, name: str) -> float | None:
    if x is not None and not 0 <= x <= 1:
        raise ParameterError(f"{name}={x}: use a share of the value scale between 0 and 1, or None")
    return x


@register_attack("generic")
class Generic(Attack):
    """Score_g = min_i T(aux_i, r_i); any record with Score_g ≥ 1 - γ may be the answer (DSS12, algorithm 1).

    The answer is a pseudo-random member of the matching set, the same on every engine and in every
    repetition. Members tie: `score` and `second` of a verdict stop at 1 - γ, and a member's rank is
    the size of the set.

    Parameters
    ----------
    gamma
        Largest error of a known value as a share of the scale; the adversary's when left out.
    """

    def __init__(self, *, gamma: float | None = None) -> None:
        self.gamma = _share(gamma, "gamma")

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Similarity tables; every fact must be met."""
        known = Known.of(dataset, facts, exclude)
        # rounded like the table, so that a score equal to the threshold matches
        cut = np.rint((1.0 - perturbation(known, self.gamma)) * SCORE_LIMIT) / SCORE_LIMIT
        t = similarity_table(known)
        time = np.zeros((known.item.size, 1))
        return known.plan(Combine.MIN, t, time, tie=Tie.HASH, cut=cut, cap=cut, salt=salts(facts))

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the matching set is not empty."""
        return criterion.matching_set(seen)


class Certificate(NamedTuple):
    """Theorem 2 per query, without the truth: `isolated` says that the best record must be the target.

    It holds if the target is in the release and the knowledge is (m, γ)-perturbed: the target holds
    every known item, with a value at most γ·p off. If `consistent` is False, no record scores as
    high as such a target must: one of the two assumptions fails, and the certificate does not hold.
    """

    gamma: Array
    mean_weight: Array
    """M, the mean weight of the known items."""
    eccentricity: Array
    """e = max - max2."""
    isolated: Array
    """e > γM."""
    consistent: Array
    """max ≥ (1-γ)M."""


@register_attack("weighted")
class Weighted(Attack):
    """Score_w = Σ w_i T(aux_i, r_i) / m, w_i = 1/log2 |supp(i)| (DSS12, algorithm 2).

    The best is named iff e = max - max2 > threshold; e is not divided by σ. m counts all facts,
    also those about items that no record holds, which weigh as much as an item of support 2. The
    paper gives no lineup: it is that of NS08.

    Parameters
    ----------
    threshold
        None: γM, so that every answer is one that Theorem 2 certifies.
    gamma
        Largest error of a known value as a share of the scale; the adversary's when left out.
    """

    def __init__(self, *, threshold: float | None = None, gamma: float | None = None) -> None:
        if threshold is not None and not threshold >= 0:
            raise ParameterError(
                f"threshold={threshold}: use a number ≥ 0, or None for the certificate's γM"
            )
        self.threshold, self.gamma = threshold, _share(gamma, "gamma")

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Weighted similarity tables."""
        known = Known.of(dataset, facts, exclude)
        certified = perturbation(known, self.gamma) * _mean_weight(known)
        bar = certified if self.threshold is None else self.threshold
        t = similarity_table(known)
        value = known.by_cell(dss12.w(known.support), t) * t
        plan = known.plan(Combine.SUM, value, np.zeros((known.item.size, 1)), threshold=bar)
        # dividing by m last keeps ties exact: two items of weight 1/2 tie with one of weight 1
        return replace(plan, scale=plan.scale * known.n_known)

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff e = max - max2 (DSS12, equation 6, no σ) exceeds the threshold by more than the largest rounding error."""
        p, plan = seen.partials, seen.plan
        assert plan.threshold is not None
        second = np.where(p.second_score == LOWEST, p.best_score, p.second_score)
        e = (p.best_score - second) / plan.scale
        return e, e - _rounding(plan.tables.query.n_known) > plan.threshold

    def beta(self, seen: Outcome) -> Array:
        """Lineup Π(r) ∝ e^(Score/σ)."""
        return criterion.one_over_sigma(seen)

    def certificate(
        self, dataset: Catalog, knowledge: Knowledge, verdicts: Verdicts, exclude: Any = None
    ) -> Certificate:
        """Isolation certificate of each query, whatever threshold the verdicts were made with.

        Parameters
        ----------
        dataset, knowledge, exclude
            As in the run.
        verdicts
            What the run gave.
        """
        dataset, facts = bound(dataset, knowledge)
        gone = np.full(facts.n_queries, -1) if exclude is None else np.asarray(exclude)
        known = Known.of(dataset, facts, gone.astype(np.int64))
        gamma, mean = perturbation(known, self.gamma), _mean_weight(known)
        e, slack = verdicts.statistic, _rounding(known.n_known)
        isolated = dss12.is_isolated(e - slack, gamma, mean)
        return Certificate(gamma, mean, e, isolated, verdicts.score + slack >= (1.0 - gamma) * mean)


def _rounding(m: Array) -> Array:
    """Largest rounding error of e in fixed point: half of the last bit for each of m contributions, in two sums.

    Weights are at most 1, so a bit of their sum is at most m / (SCORE_LIMIT / 2); m of those bits
    are divided by m.
    """
    return np.asarray(m / (SCORE_LIMIT / 2))


def _mean_weight(known: Known) -> Array:
    """M of each query: mean weight of all known items, including items that no record holds."""
    unheld = known.n_known - np.diff(known.query_ptr)
    return np.asarray(
        (known.sum_over_facts(dss12.w(known.support)) + unheld * dss12.w(0)) / known.n_known
    )
