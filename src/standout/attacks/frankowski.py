"""Set Intersection, TF-IDF and Scoring with its variants (Frankowski et al. 2006).

A fact is a *mention* of an item. These attacks do not use days, and values only where stated. The
paper ranks all records and never answers ⊥, so the criterion of the ranking attacks is the
eccentricity of NS08.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.adversary.facts import Facts
from standout.arrays import Array
from standout.attacks import criterion
from standout.attacks.attack import Attack, register_attack
from standout.attacks.tables import Known
from standout.attacks.verdicts import Outcome, Verdicts
from standout.data.catalog import Catalog
from standout.data.values import percent
from standout.errors import ParameterError
from standout.formulas import f06, ns08
from standout.scoring.factors import ByNorm
from standout.scoring.plan import Combine, Plan

IDENTIFIED, NOT_NARROW = "identified", "not narrow"
NO_ONE_POSSIBLE, MISDIRECTED = "no one possible", "misdirected"


@register_attack("set-intersection")
class SetIntersection(Attack):
    """Score = 1 for records that hold every mention, 0 for all others (F06, section 4.1).

    All records that hold every mention are equally likely. It answers if there is at least one; the
    lower index is named, and a rank counts them all. `reasons` says why it failed.
    """

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Ones; every mention must be held."""
        known = Known.of(dataset, facts, exclude)
        n = known.item.size
        return known.plan(Combine.MIN, np.ones((n, 1)), np.zeros((n, 1)), cut=1.0)

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff some record holds every mention."""
        return criterion.matching_set(seen)


def reasons(verdicts: Verdicts, targets: Any, k: int = 1) -> Array:
    """Why Set Intersection did not k-identify each target (F06, Fig. 3): an array of words.

    "identified": the target is among at most k candidates. "no one possible": no record holds every
    mention. "misdirected": some do, the target does not. "not narrow": more than k do, the target
    among them. The paper's words overlap where more than k candidates do not include the target;
    that is *misdirected* here, whatever k: no narrowing would help.

    Parameters
    ----------
    verdicts
        Of `set-intersection`, run with `watch=targets`.
    targets
        The record behind each query.
    k
        How many candidates still count as identified.
    """
    target = np.asarray(targets, dtype=np.int64).reshape(-1)
    n, rank = verdicts.n_matching, verdicts.rank
    if target.size != n.size or (rank == 0).any():
        raise ParameterError("reasons: run the attack with watch=targets, one target per query")
    found = (n > 0) & (rank == n)
    if (found & (n == 1) & (verdicts.best != target)).any():
        raise ParameterError("reasons: the records watched in the run are not these targets")
    return np.select(
        [n == 0, ~found, f06.k_identified(rank, k)],
        [NO_ONE_POSSIBLE, MISDIRECTED, IDENTIFIED],
        NOT_NARROW,
    )


def _again(known: Known) -> Array:
    """Facts about an item that the same query has mentioned before."""
    order = np.lexsort((known.item, known.query))
    same = np.zeros(order.size, np.bool_)
    same[1:] = (np.diff(known.item[order]) == 0) & (np.diff(known.query[order]) == 0)
    again = np.empty_like(same)
    again[order] = same
    return again


@register_attack("tf-idf")
class TfIdf(Attack):
    """Score = cos(w_t, w_u), w = ln(|U| / |supp(m)|): mentions against all items of the record (F06, 4.2).

    An item mentioned twice counts once; an item that no record holds weighs 0. The paper gives no ⊥
    rule and no lineup: both are those of NS08.

    Parameters
    ----------
    phi
        Match iff (max - max2)/σ ≥ phi.
    """

    alone = True

    def __init__(self, *, phi: float = ns08.PHI) -> None:
        self.phi = _at_least_0(phi)

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Squared weights of the mentions; records are divided by their norms, without the excluded record."""
        gone = np.unique(exclude)
        if gone.size > 1:
            raise ParameterError(
                "tf-idf: queries that exclude different records cannot share a plan"
            )
        known = Known.of(dataset, facts, exclude)
        weight = np.where(_again(known), 0.0, f06.w(known.support, known.n_records[known.query]))
        norm = np.sqrt(known.sum_over_facts(weight**2))[known.query]
        value = np.where(norm > 0, weight**2 / np.where(norm > 0, norm, 1.0), 0.0)
        factor = self._factor(dataset, int(gone[0]) if gone.size else -1)
        return known.plan(Combine.SUM, value[:, None], np.zeros((value.size, 1)), factor=factor)

    @staticmethod
    def _factor(dataset: Catalog, gone: int) -> ByNorm:
        supports = dataset.supports.copy()
        if gone >= 0:
            supports[np.unique(dataset.rows(np.array([gone])).item)] -= 1
        return ByNorm(np.asarray(f06.w(supports, dataset.n_records - (gone >= 0))))

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the eccentricity reaches phi."""
        return criterion.stands_out(seen, self.phi)

    def beta(self, seen: Outcome) -> Array:
        """Lineup Π(r) ∝ e^(Score/σ)."""
        return criterion.one_over_sigma(seen)


@register_attack("scoring")
class Scoring(Attack):
    """Score = Σ_m ln ss(u, m), ss = (|U| - (|supp(m)| - 1))/|U| if u holds m, else the floor (F06, 4.3).

    The logarithm of the paper's product. Every fact multiplies, also one about an item that no
    record holds: by the floor, for all records. The paper gives no ⊥ rule. It reads the product as
    "times less likely", and so does the lineup.

    Parameters
    ----------
    floor
        Sub-score of a mention that the record does not hold.
    heavy
        Records that hold more than this share of all items are left out; None keeps them.
    flat
        Give every held mention a sub-score of 1 (the paper's ablation).
    phi
        Match iff (max - max2)/σ ≥ phi, on the logarithm.
    """

    def __init__(
        self,
        *,
        floor: float = f06.FLOOR,
        heavy: float | None = f06.HEAVY,
        flat: bool = False,
        phi: float = ns08.PHI,
    ) -> None:
        if not 0 < floor < 1:
            raise ParameterError(f"floor={floor}: use 0 < floor < 1")
        if heavy is not None and not 0 < heavy <= 1:
            raise ParameterError(f"heavy={heavy}: a share of all items, 0 < heavy ≤ 1, or None")
        self.floor, self.heavy, self.flat, self.phi = floor, heavy, flat, _at_least_0(phi)

    def compile(self, dataset: Catalog, facts: Facts, exclude: Array) -> Plan:
        """Logarithms of sub-scores, counted from the floor."""
        known = Known.of(dataset, facts, exclude)
        ss = (
            np.ones(known.item.size)
            if self.flat
            else f06.ss(known.support, known.n_records[known.query])
        )
        # without the excluded record, possibly no record holds it
        held = known.support > 0
        gain = np.where(held, np.log(np.where(held, ss, 1.0)) - np.log(self.floor), 0.0)
        longest = None if self.heavy is None else f06.longest(known.n_items, self.heavy)
        base = known.n_known * np.log(self.floor)
        value, time = self._held(known, gain), np.zeros((gain.size, 1))
        return known.plan(Combine.SUM, value, time, base=base, longest=longest)

    def _held(self, known: Known, gain: Array) -> Array:
        """Gain by value code: the same for all."""
        return gain

    def decide(self, seen: Outcome) -> tuple[Array, Array]:
        """Match iff the eccentricity reaches phi."""
        return criterion.stands_out(seen, self.phi)

    def known_beta(self, plan: Plan) -> Array:
        """Lineup Π(r) ∝ the product of the sub-scores."""
        return 1.0 / plan.scale


def _held_within(known: Known, gain: Array, delta: float | str) -> Array:
    """Gain if the value is within `delta` of the known one, else as if not held (F06, equation 3)."""
    if not known.has_value.any():
        return gain
    inside = known.agreeing(delta)[0]
    return np.where(inside, gain[known.cells.row], -np.inf)


@register_attack("exact-rating")
class ExactRating(Scoring):
    """Scoring, where a held mention with a different value counts as not held (F06, section 4.4, δ = 0).

    A mention without a known value counts as in `scoring`. Of several events of one item, any may
    agree. Options are those of `scoring`.
    """

    def _held(self, known: Known, gain: Array) -> Array:
        """Gain if the value is the known one."""
        return _held_within(known, gain, 0.0)


@register_attack("fuzzy-rating")
class FuzzyRating(Scoring):
    """Scoring, where a held mention whose value is more than δ off counts as not held (F06, 4.4, δ = 1).

    Parameters
    ----------
    delta
        Largest difference of values that still agrees; "10%" is relative to the record's value.
    options
        Those of `scoring`.
    """

    def __init__(self, *, delta: float | str = f06.FUZZY, **options: Any) -> None:
        super().__init__(**options)
        self.delta = delta if percent(delta) is not None else _at_least_0(delta, "delta")

    def _held(self, known: Known, gain: Array) -> Array:
        """Gain if the value is within delta of the known one."""
        return _held_within(known, gain, self.delta)


def _at_least_0(x: float | str, name: str = "phi") -> float:
    if isinstance(x, str) or not x >= 0:
        raise ParameterError(f"{name}={x!r}: use a number ≥ 0")
    return float(x)
