"""One theorem of NS08 or DSS12 on this data: what it requires and promises, its assumptions, and what was measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from standout.data.dataset import Dataset
from standout.errors import EligibilityError
from standout.formulas import dss12, ns08
from standout.formulas.rates import Rate, at_most
from standout.theory.amplification import amplification
from standout.theory.needed import Needed, certificate_needs, generic_needs
from standout.theory.sparsity import Curve

RARE_SHARE = 0.75
ETA3 = 0.9

MERENER = (
    "Merener 2012: Lemma 1 divides by the target's items where Sim divides by the union, so a heavy record can agree with "
    "all of a target and still be dissimilar. With the smallest matching record as the answer (as here) the argument gives "
    "similarity {sim:.2f} in place of {claimed:.2f}"
)
HUB = (
    "weak (the paper calls it quite pessimistic), and as stated not safe: its use of Markov's inequality needs neighbors "
    "spread over many records. In a population where everybody resembles one hub record, most samples lack the hub"
)
FIXED_RECORD = (
    "the proof bounds one fixed record, but the answer is chosen among N after the knowledge was drawn; "
    "a bound for whatever is chosen asks for m ≥ {m}"
)


@dataclass(frozen=True)
class Assumption:
    """One assumption of a theorem, and what was measured about it on this data."""

    text: str
    measured: str
    holds: bool | None
    """None: it concerns the adversary or the proof, so it cannot be checked on data."""


@dataclass(frozen=True)
class Bound:
    """One theorem on this data."""

    theorem: str
    says: str
    asks_m: int | None
    """Known items that the theorem requires; None when it requires something else."""
    asks: str
    measured_m: int | None
    """Smallest tried number of items that reached the guarantee in the experiment; None if none did or none applies."""
    measured: str
    assumptions: tuple[Assumption, ...]
    caveat: str = ""

    @property
    def holds(self) -> bool:
        """Whether all assumptions hold that can be checked on data."""
        return all(a.holds is not False for a in self.assumptions)


def _long_enough(dataset: Dataset, m: float, epsilon: float) -> Assumption:
    share = float((dataset.lengths >= math.ceil(m)).mean())
    return Assumption(
        f"records hold {math.ceil(m)} items", f"{share:.1%} of them do", share >= 1 - epsilon
    )


def ns08_theorems(
    dataset: Dataset,
    epsilon: float,
    delta: float,
    k: int,
    curve: Curve,
    impostors: Rate,
    needs: dict[str, Needed],
) -> list[Bound]:
    """Theorems 1 to 4."""
    n, theta = dataset.n_records, 1 - epsilon - delta
    m1, m3 = ns08.theorem_1_m(n, epsilon, delta), ns08.theorem_3_m(n, k, delta)
    drawn = Assumption(
        "known items are drawn uniformly from the target's and agree within the tolerances",
        "drawn this way here",
        None,
    )
    lemma = Assumption(
        f"no dissimilar record (Sim ≤ {theta:g}) agrees on {1 - delta:.0%} of a target's items",
        f"{impostors.rate:.1%} of records have one",
        impostors.count == 0,
    )
    thin = curve.delta(theta)
    sparse = Assumption(
        f"({theta:g}, {epsilon:g})-sparse: at most {epsilon:.0%} of records have a neighbor above {theta:g}",
        f"{thin.rate:.1%} do [{thin.low:.1%}, {thin.high:.1%}], n={thin.n:,}",
        curve.is_sparse(theta, epsilon),
    )
    caveat = MERENER.format(sim=ns08.smallest_match_sim(epsilon, delta), claimed=theta)

    def row(name: str, says: str, m: float, *assumptions: Assumption) -> Bound:
        need = needs[name]
        return Bound(
            f"NS08 {name}",
            says,
            math.ceil(m),
            f"m ≥ {math.ceil(m)}",
            need.m,
            need.words(),
            (drawn, _long_enough(dataset, m, epsilon), *assumptions),
            caveat,
        )

    sample = "the same on any sample of the data; no answer (⊥) when the target is absent"
    return [
        row(
            "T1",
            f"a record with Sim ≥ {theta:g} is found with probability ≥ {1 - epsilon:g}",
            m1,
            lemma,
        ),
        row(
            "T2",
            f"the record itself is found with probability ≥ {1 - epsilon:g}",
            m1,
            lemma,
            sparse,
        ),
        row(
            "T3",
            f"a lineup of {k} contains the record: probability ≥ 1/{k}, {math.log2(k):.1f} bits left",
            m3,
            lemma,
            sparse,
        ),
        row("T4", sample, m1, lemma),
    ]


def ns08_theorem_5(
    dataset: Dataset, theta: float, people: float, gamma: float, curve: Curve
) -> Bound:
    """Theorem 5 reversed: what the sparsity of this sample implies for the population."""
    factor = people / dataset.n_records
    rate = curve.delta(theta)
    # the release is the sample here, even if every record of it was measured
    high = at_most(rate.count, rate.n)
    claim = ns08.theorem_5_population(high, factor, gamma)
    empty = claim >= 1
    return Bound(
        "NS08 T5",
        f"a sparse 1/{factor:g} sample is one of a sparse population, unless an event of probability ≤ {gamma:g} happened",
        None,
        f"sample ({theta:g}, δ)-sparse with δ < {gamma / factor:.2g}",
        None,
        f"δ ≤ {high:.2%} here; population δ ≤ {claim:.1%}" + (" (says nothing)" if empty else ""),
        (
            Assumption(
                "the release is a uniform random sample of the population",
                "cannot be checked on data",
                None,
            ),
            Assumption(f"δ < γ/λ = {gamma / factor:.2g}", f"δ ≤ {high:.2g} (95 %)", not empty),
        ),
        HUB,
    )


def dss12_theorem_1(
    dataset: Dataset, epsilon: float, delta: float, gamma: float, targets: int, seed: int
) -> Bound:
    """Theorem 1: the generic attack."""
    m, safe = dss12.generic_m(delta, epsilon), dss12.generic_m(delta, epsilon, dataset.n_records)
    need = generic_needs(dataset, epsilon, delta, gamma, targets, seed)
    bar = dss12.generic_similarity(gamma, delta)
    return Bound(
        "DSS12 T1",
        f"S(target, answer) > {bar:g} with probability ≥ {1 - epsilon:g}",
        math.ceil(m),
        f"m ≥ {math.ceil(m)}",
        need.m,
        need.words(),
        (
            Assumption(
                "known items are drawn uniformly, values at most γ of the scale off",
                "drawn this way here",
                None,
            ),
            _long_enough(dataset, m, epsilon),
        ),
        FIXED_RECORD.format(m=math.ceil(safe)),
    )


def dss12_theorem_2(
    dataset: Dataset, epsilon: float, gamma: float, t: float, targets: int, seed: int
) -> Bound:
    """Theorem 2: the certificate of the weighted attack."""
    need = certificate_needs(dataset, epsilon, gamma, RARE_SHARE, t, targets, seed)
    best = max((r for _, r in need.tried), key=lambda r: r.rate, default=None)
    share = Assumption(
        f"e > γM for {1 - epsilon:.0%} of eligible records",
        need.words(),
        None if best is None else need.m is not None,
    )
    return Bound(
        "DSS12 T2",
        "e > γM certifies that the best record is the target, without the truth",
        None,
        "e > γM",
        need.m,
        need.words(),
        (
            Assumption(
                "values at most γ of the scale off; the target is in the release",
                "drawn this way here",
                None,
            ),
            share,
        ),
    )


def dss12_theorem_3(
    dataset: Dataset, knows: int, gamma: float, t: float | None, seed: int
) -> Bound:
    """Theorem 3: amplification."""
    says = f"S(target, answer) ≥ f_D(l1, l2, {ETA3:g}) with probability ≥ {ETA3:g}"
    drawn = Assumption(
        "f_D has Property 1: estimated from draws on this data", "estimated this way here", None
    )
    try:
        found = amplification(
            dataset, knows, gamma, t, RARE_SHARE, 0.75, ETA3, seed, runs=10
        ).theorem_3[0]
    except EligibilityError as error:
        nobody = Assumption(
            f"records hold {knows} items, a share {RARE_SHARE:g} of them rare",
            "no record does",
            False,
        )
        return Bound(
            "DSS12 T3", says, None, "S(aux, answer) ≥ l2", None, str(error), (drawn, nobody)
        )
    return Bound(
        "DSS12 T3",
        says,
        None,
        f"S(aux, answer) ≥ l2 = {found.l2:.2f}",
        None,
        f"f_D = {found.guarantee:.2f}; reached by {found.measured:.1%}; mean S {np.mean(found.learned.similarity):.2f}",
        (
            drawn,
            Assumption(
                "S(aux, answer) ≥ l2", f"{found.violations} violations", found.violations == 0
            ),
        ),
    )
