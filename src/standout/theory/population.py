"""From sample to population: the risk in halves, quarters, … of the data, extrapolated with a band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choosing import starts
from standout.adversary.knowledge import Knowledge
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import Attack
from standout.attacks.attack import attack as find_attack
from standout.data.dataset import Dataset
from standout.data.loading import in_memory
from standout.data.purposes import PURPOSE_BOOT, PURPOSE_SUBSET
from standout.errors import EligibilityError, ParameterError
from standout.experiment.outcomes import attack_people
from standout.formulas import ns08
from standout.formulas.rates import Rate, at_most
from standout.theory.sparsity import delta_at, fitting_records, sparsity

if TYPE_CHECKING:
    import pandas as pd


DRAWS = 5
"""Subsets per size: single heavy records change a rate, and five subsets show by how much."""
FEWEST_SIZES = 3
BOOTS = 400
LOW, HIGH = 2.5, 97.5

WARNING = (
    "Beyond the {n:,} records of the release this is extrapolation, not measurement: it assumes that the release is a random "
    "sample of the population and that the trend goes on. The band covers chance and two shapes of the trend, nothing else. "
    "The attack distinguishes only people in the release; a person found there may have a double outside it."
)


@dataclass(frozen=True, eq=False, repr=False)
class Population:
    """Measured risk by number of records, and the extrapolation of the fitted trend."""

    adversary: str
    attack: str
    sizes: tuple[int, ...]
    rates: tuple[Rate, ...]
    """Hit rate of the same targets at each size, ties shared; below N the mean over several subsets."""
    populations: tuple[int, ...]
    risk: Array
    low: Array
    high: Array
    theorem_5: tuple[float, ...]
    """Upper bound of the population's δ by Theorem 5 (1 = no information), at `epsilon` and `gamma`."""
    epsilon: float
    gamma: float
    delta: float
    """95 % upper bound of the share of records with a neighbor more similar than `epsilon`, in the release."""
    warning: str

    def to_frame(self) -> pd.DataFrame:
        """One row per size: measured ones first, then predicted ones."""
        import pandas as pd

        return pd.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        columns = ("records", "measured", "n", "risk", "low", "high", "theorem_5")
        measured = [
            (n, True, r.n, r.rate, r.low, r.high, None)
            for n, r in zip(self.sizes, self.rates, strict=True)
        ]
        band = zip(self.populations, self.risk, self.low, self.high, self.theorem_5, strict=True)
        beyond = [(n, False, None, float(x), float(a), float(b), d) for n, x, a, b, d in band]
        return [dict(zip(columns, row, strict=True)) for row in (*measured, *beyond)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "adversary": self.adversary,
            "attack": self.attack,
            "rows": self._rows(),
            "epsilon": self.epsilon,
            "gamma": self.gamma,
            "delta": self.delta,
            "warning": self.warning,
        }

    def __repr__(self) -> str:
        return f"<Population: measured at {len(self.sizes)} sizes, extended to {', '.join(f'{n:,}' for n in self.populations)}>"


def population(
    dataset: Dataset,
    adversary: Adversary | None = None,
    attack: str | Attack = "likelihood",
    *,
    populations: Sequence[int] | int | None = None,
    halvings: int = 5,
    targets: int = 500,
    epsilon: float = 0.5,
    gamma: float = 0.05,
    seed: int = 0,
    engine: str = "memory",
    progress: Callable[[int, int], None] | None = None,
) -> Population:
    """Measure the risk at N, N/2, N/4, … records, the same targets in each, and extend the trend to a population.

    Parameters
    ----------
    dataset
        The release.
    adversary, attack
        The adversary and the attack. Default: four items with values ±1 and days ±14; the
        likelihood. Rates are those of the best guess (*found*).
    populations
        Sizes to extend the trend to. Default: ten times the records.
    halvings
        How often the records are halved, as long as targets and enough others remain.
    targets
        Records attacked; at most a quarter of all.
    epsilon, gamma
        For Theorem 5: similarity above which a neighbor counts, and the probability that the sample
        misleads.
    seed
        Random seed of targets, subsets and knowledge.
    engine, progress
        The engine; a function called with (sizes done, sizes in all).
    """
    in_memory(dataset, "population")
    who = adversary or Adversary(
        knows=4,
        value_within=1 if dataset.has_value else None,
        time_within=14 if dataset.has_time else None,
    )
    asked = _sizes_asked(dataset, populations)
    eligible = who.eligible(dataset)
    if eligible.size == 0:
        raise EligibilityError(
            f"no record holds enough items for an adversary who knows {who.words(dataset)}; lower knows={who.knows}"
        )
    chosen = sample_targets(dataset, eligible, max(1, min(targets, dataset.n_records // 4)), seed)
    sizes = _halved(dataset.n_records, halvings, max(chosen.size, 20))
    aux = who.sample(dataset, chosen, seed)
    # only the order of the records counts here: posteriors need no calibration
    options: dict[str, Any] = {"calibrate": False} if attack == "likelihood" else {}
    machine = find_attack(attack, **options) if isinstance(attack, str) else attack
    hits = np.empty((len(sizes), DRAWS, chosen.size))
    for j, n in enumerate(sizes):
        for draw in range(DRAWS if n < dataset.n_records else 1):
            kept = np.sort(_subset_order(dataset, chosen, seed, draw)[:n])
            part = dataset if n == dataset.n_records else dataset.take(kept)
            own = np.searchsorted(kept, chosen)
            known = aux if part is dataset else _knowledge_of(part, own, who, seed, aux)
            hits[j, draw:] = attack_people(machine, part, known, own, engine).credit
        if progress:
            progress(j + 1, len(sizes))
    risk, low, high = extend(np.array(sizes), hits, np.array(asked), seed)
    delta = _delta(dataset, who, epsilon, seed)
    return Population(
        who.words(dataset),
        machine.name,
        tuple(sizes),
        # mean over subsets, with the interval of that many targets
        tuple(Rate.of(h.mean(axis=0)) for h in hits),
        tuple(asked),
        risk,
        low,
        high,
        tuple(ns08.theorem_5_population(delta, n / dataset.n_records, gamma) for n in asked),
        epsilon,
        gamma,
        delta,
        WARNING.format(n=dataset.n_records),
    )


def _halved(n_records: int, halvings: int, least: int) -> list[int]:
    """N, N/2, N/4, … records, as long as there are at least so many."""
    sizes = [n for j in range(halvings + 1) if (n := n_records >> j) >= least]
    if len(sizes) < FEWEST_SIZES:
        raise ParameterError(
            f"{n_records} records are too few to see a trend: at least 80, and halvings ≥ {FEWEST_SIZES - 1}"
        )
    return sizes


def _knowledge_of(
    part: Dataset, own: Array, who: Adversary, seed: int, aux: Knowledge
) -> Knowledge:
    """Knowledge of the same targets drawn from the part, as if it were the release; `aux` if it cannot be drawn from it.

    Draws depend on the seed and the target, so that the facts are the same, unless the choice rule
    depends on other records.
    """
    try:
        able = bool(np.isin(own, who.eligible(part)).all())
    except ParameterError:  # all values or times of the part lie within the tolerance
        able = False
    return who.sample(part, own, seed) if able else aux


def _sizes_asked(dataset: Dataset, populations: Sequence[int] | int | None) -> list[int]:
    if populations is None:
        return [10 * dataset.n_records]
    asked = [int(n) for n in np.atleast_1d(np.asarray(populations, object))]
    if not asked or min(asked) < dataset.n_records:
        raise ParameterError(
            f"populations={asked}: give sizes of at least the {dataset.n_records} records of the release"
        )
    return asked


def _delta(dataset: Dataset, who: Adversary, epsilon: float, seed: int) -> float:
    # a tolerance like "10%": compare by items alone, where records are more alike (conservative)
    value = None if isinstance(who.value_within, str) or not dataset.has_value else who.value_within
    time = who.time_within if dataset.has_time else None
    rate = delta_at(sparsity(dataset, value, time, fitting_records(dataset, None, seed)), epsilon)
    return at_most(rate.count, rate.n)


def _subset_order(dataset: Dataset, first: Array, seed: int, draw: int) -> Array:
    """All records: the targets, then the others in an order that depends on (seed, draw, contents of the record)."""
    others = np.setdiff1d(np.arange(dataset.n_records, dtype=np.int64), first)
    key = starts(seed, PURPOSE_SUBSET + draw, dataset.record_keys[others])
    return np.concatenate([first, others[np.argsort(key, kind="stable")]])


def extend(sizes: Array, hits: Array, asked: Array, seed: int) -> tuple[Array, Array, Array]:
    """Risk at the requested sizes by logit(risk) = a + b·ln N, with a band.

    The band covers bootstrap draws of targets and subsets, and a second shape of the trend,
    ln(risk) = a + b·ln N. Half a hit and half a miss are added at each size, so that a rate of 0 or
    1 has a finite logit.

    Parameters
    ----------
    sizes
        Numbers of records.
    hits
        (sizes, subsets, targets), credits from 0 to 1.
    asked
        Sizes to extend to.
    seed
        Random seed of the bootstrap.
    """
    n_sizes, draws, n = hits.shape
    rng = np.random.default_rng([seed % 2**64, PURPOSE_BOOT])
    weights = np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), size=BOOTS)])
    again = rng.integers(0, draws, (BOOTS + 1, n_sizes, draws))
    again[0] = np.arange(draws)
    counts = np.einsum("bt,sdt->bsd", weights, hits)
    rates = (np.take_along_axis(counts, again, axis=2).mean(axis=2) + 0.5) / (n + 1)
    x, x_new = np.log(sizes), np.log(asked)
    first = 1 / (1 + np.exp(-_line(x, np.log(rates / (1 - rates)), rates * (1 - rates), x_new)))
    second = np.minimum(np.exp(_line(x, np.log(rates), rates / (1 - rates + 1 / n), x_new)), 1.0)
    band = [np.percentile(x[1:], (LOW, HIGH), axis=0) for x in (first, second)]
    low, high = np.minimum(band[0][0], band[1][0]), np.maximum(band[0][1], band[1][1])
    return first[0], np.minimum(low, first[0]), np.maximum(high, first[0])


def _line(x: Array, y: Array, weight: Array, x_new: Array) -> Array:
    """Weighted least squares line through each row of y, read at x_new."""
    total = weight.sum(axis=1, keepdims=True)
    mean_x = (weight * x).sum(axis=1, keepdims=True) / total
    mean_y = (weight * y).sum(axis=1, keepdims=True) / total
    slope = (weight * (x - mean_x) * (y - mean_y)).sum(axis=1, keepdims=True) / (
        weight * (x - mean_x) ** 2
    ).sum(axis=1, keepdims=True)
    return np.asarray(mean_y + slope * (x_new[None, :] - mean_x))
