"""`bounds`: the theorems of NS08 and DSS12 as calculators, with their assumptions measured on this data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from standout.data.dataset import Dataset, in_memory
from standout.errors import EligibilityError, ParameterError
from standout.formulas import dss12, ns08
from standout.formulas.rates import Rate, at_most
from standout.theory.amplification import amplification
from standout.theory.nearest import nearest
from standout.theory.needed import Needed, certificate_needs, generic_needs, scoreboard_needs
from standout.theory.rarity import fitting_t
from standout.theory.sparsity import Curve, check_channels, check_records, fitting_records

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


@dataclass(frozen=True, eq=False, repr=False)
class Bounds:
    """All theorems on one release."""

    parameters: dict[str, Any]
    rows: tuple[Bound, ...]

    def __getitem__(self, theorem: str) -> Bound:
        for row in self.rows:
            if row.theorem == theorem:
                return row
        raise ParameterError(
            f"no theorem {theorem!r}. Theorems: {', '.join(r.theorem for r in self.rows)}"
        )

    def summary(self) -> str:
        """Conclusions, in sentences."""
        named = [r for r in self.rows if r.asks_m is not None]
        proved = [r for r in named if r.holds]
        others = [r for r in self.rows if r.holds and r.asks_m is None]
        kept = [r for r in named if r.measured_m is not None]
        if proved:
            first = min(proved, key=lambda r: r.asks_m or 0)
            text = (
                f"What follows: the assumptions of {', '.join(r.theorem for r in proved)} hold here, as far as data can show "
                f"them. With {first.asks_m} known items {first.theorem} proves its promise: {first.says}."
            )
        elif others:
            text = (
                f"What follows: the assumptions of {', '.join(r.theorem for r in others)} hold here, as far as data can show "
                "them; what they promise is in the table. No theorem that names a number of known items applies, because at "
                "least one assumption of each fails. This is no sign of safety: the measured numbers above do not need the "
                "assumptions."
            )
        else:
            text = (
                "What follows: no theorem proves anything about this data, because at least one assumption of each fails. "
                "This is no sign of safety: the measured numbers above do not need the assumptions."
            )
        if kept:
            fast = min(kept, key=lambda r: r.measured_m or 0)
            text += (
                f" In the experiment {_items(fast.measured_m or 0)} were enough for what {fast.theorem} promises, "
                f"where the theorem requires {fast.asks_m}."
            )
        elif named:
            text += " In the experiment no number of items that was tried reached what the theorems promise."
        return text

    def to_frame(self) -> Any:
        """One row per theorem."""
        import pandas as pd

        return pd.DataFrame(
            [
                {k: v for k, v in row.items() if k != "assumptions"}
                for row in self.to_dict()["theorems"]
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "summary": self.summary(),
            "parameters": self.parameters,
            "theorems": [{**asdict(r), "holds": r.holds} for r in self.rows],
        }

    def __repr__(self) -> str:
        return f"<Bounds: {len(self.rows)} theorems, assumptions of {sum(r.holds for r in self.rows)} hold>"


def _items(n: int) -> str:
    return f"{n:,} item{'' if n == 1 else 's'}"


def bounds(
    dataset: Dataset,
    *,
    epsilon: float = 0.05,
    delta: float = 0.2,
    k: int = 10,
    gamma: float = 0.1,
    knows: int = 10,
    value_within: float | None = 1,
    time_within: float | str | None = 14,
    population: float | None = None,
    t: float | None = None,
    targets: int = 300,
    records: int | None = None,
    seed: int = 0,
    progress: Callable[[str, int, int], None] | None = None,
) -> Bounds:
    """Compute for each theorem what it requires and guarantees, which assumptions hold here, and what was measured.

    Parameters
    ----------
    dataset
        The release.
    epsilon, delta
        NS08's ε and δ. For DSS12's Theorem 1, epsilon is the probability of failure and delta its
        slack.
    k
        Size of the lineup of Theorem 3.
    gamma, knows
        DSS12: noise as a share of the scale, and items known for Theorem 3.
    value_within, time_within
        Tolerances of Sim; None ignores the channel, as does data without it.
    population
        Size of the population that the release is a sample of, for Theorem 5. Default: ten times
        the records.
    t
        Rarity threshold of DSS12. Default: one that fits the data.
    targets, records
        Records attacked per measurement, and records whose nearest neighbor is searched (as in
        `describe`).
    seed
        Random seed.
    progress
        Called with (what, done, total).
    """
    in_memory(dataset, "bounds")
    value_within = value_within if dataset.has_value else None
    time_within = time_within if dataset.has_time else None
    people = 10.0 * dataset.n_records if population is None else float(population)
    check_channels(dataset, value_within, time_within)
    _check(dataset, epsilon, delta, k, people)
    say = progress or (lambda what, done, total: None)
    say("nearest neighbors", 0, 4)
    chosen = fitting_records(dataset, records, seed)
    near = nearest(dataset, chosen, value_within, time_within, cut=1 - epsilon - delta)
    curve = Curve("", value_within, time_within, near.similarity, chosen.size == dataset.n_records)
    impostors = Rate.of(near.cover >= (1 - delta) * dataset.lengths[chosen])
    say("Scoreboard", 1, 4)
    needs = scoreboard_needs(dataset, epsilon, delta, k, value_within, time_within, targets, seed)
    rows = _ns08(dataset, epsilon, delta, k, curve, impostors, needs)
    rows.append(_theorem_5(dataset, 1 - epsilon - delta, people, epsilon, curve))
    say("generic and weighted", 2, 4)
    rarity = fitting_t(dataset, knows, RARE_SHARE) if t is None else t
    rows += [
        _dss12_1(dataset, epsilon, delta, gamma, targets, seed),
        _dss12_2(dataset, epsilon, gamma, rarity, targets, seed),
    ]
    say("amplification", 3, 4)
    rows.append(_dss12_3(dataset, knows, gamma, t, seed))
    say("amplification", 4, 4)
    parameters = {
        "epsilon": epsilon,
        "delta": delta,
        "k": k,
        "gamma": gamma,
        "knows": knows,
        "value_within": value_within,
        "time_within": time_within,
        "population": people,
        "t": rarity,
        "n_records": dataset.n_records,
        "n_compared": int(chosen.size),
        "targets": targets,
        "seed": seed,
    }
    return Bounds(parameters, tuple(rows))


def _check(dataset: Dataset, epsilon: float, delta: float, k: int, people: float) -> None:
    """Refuse impossible parameters."""
    check_records(dataset, None)
    if not (0 < epsilon < 1 and 0 < delta < 1 and epsilon + delta < 1):
        raise ParameterError(f"epsilon={epsilon}, delta={delta}: both above 0, their sum below 1")
    if k < 2:
        raise ParameterError(f"k={k}: a lineup has at least two records")
    if people < dataset.n_records:
        raise ParameterError(
            f"population={people:g}: at least the {dataset.n_records} records of the release"
        )


def _long_enough(dataset: Dataset, m: float, epsilon: float) -> Assumption:
    share = float((dataset.lengths >= math.ceil(m)).mean())
    return Assumption(
        f"records hold {math.ceil(m)} items", f"{share:.1%} of them do", share >= 1 - epsilon
    )


def _ns08(
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


def _theorem_5(dataset: Dataset, theta: float, people: float, gamma: float, curve: Curve) -> Bound:
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


def _dss12_1(
    dataset: Dataset, epsilon: float, delta: float, gamma: float, targets: int, seed: int
) -> Bound:
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


def _dss12_2(
    dataset: Dataset, epsilon: float, gamma: float, t: float, targets: int, seed: int
) -> Bound:
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


def _dss12_3(dataset: Dataset, knows: int, gamma: float, t: float | None, seed: int) -> Bound:
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
