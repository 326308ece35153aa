"""One theorem of NS08 or DSS12 on this data: what it requires and promises, its assumptions, and what was measured.

`bounds.py` asks for all of them, for `standout bound` and the section on theory of the report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Knowledge
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.data.dataset import Dataset
from standout.errors import EligibilityError
from standout.experiment.outcomes import attack_people
from standout.formulas import dss12, ns08
from standout.formulas.rates import Rate, at_most
from standout.theory.amplification import amplification
from standout.theory.certificates import certificates
from standout.theory.pairs import pair_s, pair_similarity
from standout.theory.sparsity import Curve

RARE_SHARE = 0.75
ETA3 = 0.9
TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_TIED = 256
"""Tied records per query that are compared with the target."""
FEWEST = 20
"""Fewest records with m items for which a rate is reported."""
DRAWN_HERE = "drawn this way here"

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


@dataclass
class Needed:
    """Rates at the numbers of items that were tried, and the smallest number at which a goal was reached."""

    goal: float
    m: int | None = None
    rate: Rate | None = None
    tried: list[tuple[int, Rate]] = field(default_factory=list)

    def see(self, m: int, rate: Rate) -> bool:
        """Add the rate at m items; whether the goal was reached, now or before."""
        self.tried.append((m, rate))
        if self.m is None and rate.rate >= self.goal:
            self.m, self.rate = m, rate
        return self.m is not None

    def words(self) -> str:
        """What was measured, in words."""
        if self.rate is not None:
            return f"{self.m} ({self.rate.rate:.1%}, n={self.rate.n:,})"
        if not self.tried:
            return "not measured: too few records have enough items"
        m, rate = self.tried[-1]
        return f"not reached: {rate.rate:.1%} at {m} items"


def _steps(
    dataset: Dataset, targets: int, seed: int, **known: Any
) -> Iterator[tuple[int, Array, Knowledge]]:
    """(m, chosen records, knowledge of m items of each) for each m that enough records hold."""
    for m in TRIED:
        who = Adversary(knows=m, **known)
        eligible = who.eligible(dataset)
        if eligible.size < min(FEWEST, dataset.n_records):
            return
        chosen = sample_targets(dataset, eligible, targets, seed)
        yield m, chosen, who.sample(dataset, chosen, seed)


def _share_of_tied(
    chosen: Array, tied: Array, n_tied: Array, near: Callable[[Array, Array], Array]
) -> Array:
    """Per query, the share of the records tied at the top that are near the target; beyond `MOST_TIED`, of the first ones."""
    query, place = np.nonzero((tied >= 0) & (np.arange(tied.shape[1]) < n_tied[:, None]))
    good = near(chosen[query], tied[query, place])
    n = np.bincount(query, minlength=chosen.size)
    return np.asarray(np.bincount(query, weights=good, minlength=chosen.size) / np.maximum(n, 1))


def scoreboard_needs(
    dataset: Dataset,
    epsilon: float,
    delta: float,
    k: int,
    value_within: float | None,
    time_within: float | str | None,
    targets: int,
    seed: int,
) -> dict[str, Needed]:
    """Items that Scoreboard needs for the guarantees of Theorems 1 to 4 of NS08; a smallest matching record is the answer."""
    needs = {name: Needed(1 - epsilon) for name in ("T1", "T2", "T4")} | {"T3": Needed(1 / k)}
    board = attack("scoreboard", value_within=value_within or 0.0, time_within=time_within or 0.0)

    within = {"value_within": value_within, "time_within": time_within}
    for m, chosen, aux in _steps(dataset, targets, seed, **within):
        seen = attack_people(board, dataset, aux, chosen, absent=True)
        tied = board.top(dataset, aux, min(int(seen.n_tied.max(initial=1)), MOST_TIED))

        def near(own: Array, other: Array) -> Array:
            alike = pair_similarity(dataset, own, other, value_within, time_within)
            return np.asarray((own == other) | (alike >= 1 - epsilon - delta - 1e-12))

        found = Rate.of(seen.matched * _share_of_tied(chosen, tied, seen.n_tied, near))
        silent = Rate.of(~seen.absent_matched)
        share = np.where(seen.matched, 1.0 / np.maximum(seen.n_matching, 1), 0.0)
        lineup = Rate(int(share.sum()), share.size, float(share.mean()), math.nan, math.nan)
        # T4: the worse of the two claims, found if present and ⊥ if absent
        rates = {
            "T1": found,
            "T2": Rate.of(seen.matched * seen.credit),
            "T3": lineup,
            "T4": min(found, silent, key=lambda r: r.rate),
        }
        reached = [needs[name].see(m, rate) for name, rate in rates.items()]
        if all(reached):
            break
    return needs


def generic_needs(
    dataset: Dataset, epsilon: float, delta: float, gamma: float, targets: int, seed: int
) -> Needed:
    """Items that the generic algorithm needs for S(y, o) > 1-2γ-δ with probability 1-ε (DSS12, Theorem 1)."""
    need = Needed(1 - epsilon)
    bar = dss12.generic_similarity(gamma, delta)
    for m, chosen, aux in _steps(dataset, targets, seed, gamma=gamma):
        seen = attack("generic", gamma=gamma).run(dataset, aux)
        close = pair_s(dataset, chosen, np.maximum(seen.best, 0)) > bar
        if need.see(m, Rate.of(seen.matched & close)):
            break
    return need


def certificate_needs(
    dataset: Dataset, epsilon: float, gamma: float, t: float, targets: int, seed: int
) -> Needed:
    """Items after which a share 1-ε of the eligible records is certified (DSS12, Theorem 2)."""
    need = Needed(1 - epsilon)
    for m in TRIED:
        try:
            found = certificates(dataset, m, gamma, t, RARE_SHARE, targets, seed)
        except EligibilityError:
            continue
        if found.n_eligible < min(FEWEST, dataset.n_records):
            break
        if need.see(m, found.rate):
            break
    return need


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
        DRAWN_HERE,
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

    often, bits = f"with probability ≥ {1 - epsilon:g}", math.log2(k)
    lineup = f"a lineup of {k} contains the record: probability ≥ 1/{k}, {bits:.1f} bits left"
    sample = "the same on any sample of the data; no answer (⊥) when the target is absent"
    return [
        row("T1", f"a record with Sim ≥ {theta:g} is found {often}", m1, lemma),
        row("T2", f"the record itself is found {often}", m1, lemma, sparse),
        row("T3", lineup, m3, lemma, sparse),
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
                DRAWN_HERE,
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
    need = certificate_needs(dataset, epsilon, gamma, t, targets, seed)
    share = Assumption(
        f"e > γM for {1 - epsilon:.0%} of eligible records",
        need.words(),
        need.m is not None if need.tried else None,
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
                DRAWN_HERE,
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
