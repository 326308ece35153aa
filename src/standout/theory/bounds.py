"""`bounds`: the theorems of NS08 and DSS12 as calculators, with their assumptions measured on this data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.errors import ParameterError
from standout.formulas.rates import Rate
from standout.theory.certificates import fitting_t
from standout.theory.nearest import nearest
from standout.theory.sparsity import Curve, check_channels, check_records, fitting_records
from standout.theory.theorems import (
    RARE_SHARE,
    Bound,
    dss12_theorem_1,
    dss12_theorem_2,
    dss12_theorem_3,
    ns08_theorem_5,
    ns08_theorems,
    scoreboard_needs,
)

if TYPE_CHECKING:
    import pandas as pd


HOLD = "the assumptions of {names} hold here, as far as data can show them"
NO_NUMBER = (
    "what they promise is in the table. No theorem that names a number of known items applies, because at least one assumption "
    "of each fails."
)
NOTHING = (
    "no theorem proves anything about this data, because at least one assumption of each fails."
)
NO_SAFETY = "This is no sign of safety: the measured numbers above do not need the assumptions."


@dataclass(frozen=True, eq=False, repr=False)
class Bounds:
    """All theorems on one release."""

    parameters: dict[str, Any]
    rows: tuple[Bound, ...]

    def __getitem__(self, theorem: str) -> Bound:
        for row in self.rows:
            if row.theorem == theorem:
                return row
        names = ", ".join(r.theorem for r in self.rows)
        raise ParameterError(f"no theorem {theorem!r}. Theorems: {names}")

    def summary(self) -> str:
        """Conclusions, in sentences."""
        named = [r for r in self.rows if r.asks_m is not None]
        held = [r for r in self.rows if r.holds]
        proved = [r for r in held if r.asks_m is not None]
        kept = [r for r in named if r.measured_m is not None]
        names = ", ".join(r.theorem for r in proved or held)
        if proved:
            first = min(proved, key=lambda r: r.asks_m or 0)
            promise = f"{first.theorem} proves its promise: {first.says}."
            text = f"{HOLD.format(names=names)}. With {first.asks_m} known items {promise}"
        elif held:
            text = f"{HOLD.format(names=names)}; {NO_NUMBER} {NO_SAFETY}"
        else:
            text = f"{NOTHING} {NO_SAFETY}"
        if kept:
            fast = min(kept, key=lambda r: r.measured_m or 0)
            n = fast.measured_m or 0
            text += (
                f" In the experiment {n:,} item{'' if n == 1 else 's'} were enough for what {fast.theorem} promises, "
                f"where the theorem requires {fast.asks_m}."
            )
        elif named:
            text += " In the experiment no number of items that was tried reached what the theorems promise."
        return f"What follows: {text}"

    def to_frame(self) -> pd.DataFrame:
        """One row per theorem."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["theorems"]).drop(columns="assumptions")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "summary": self.summary(),
            "parameters": self.parameters,
            "theorems": [{**asdict(r), "holds": r.holds} for r in self.rows],
        }

    def __repr__(self) -> str:
        return f"<Bounds: {len(self.rows)} theorems, assumptions of {sum(r.holds for r in self.rows)} hold>"


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
    rows = ns08_theorems(dataset, epsilon, delta, k, curve, impostors, needs)
    rows.append(ns08_theorem_5(dataset, 1 - epsilon - delta, people, epsilon, curve))
    say("generic and weighted", 2, 4)
    rarity = fitting_t(dataset, knows, RARE_SHARE) if t is None else t
    rows += [
        dss12_theorem_1(dataset, epsilon, delta, gamma, targets, seed),
        dss12_theorem_2(dataset, epsilon, gamma, rarity, targets, seed),
    ]
    say("amplification", 3, 4)
    rows.append(dss12_theorem_3(dataset, knows, gamma, t, seed))
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
