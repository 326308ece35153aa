"""How many known items suffice in an experiment, for comparison with what a theorem requires."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.data.dataset import Dataset
from standout.errors import EligibilityError
from standout.experiment.outcomes import attack_people
from standout.formulas import dss12
from standout.formulas.rates import Rate
from standout.theory.pairs import pair_s, pair_similarity

TRIED = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
MOST_TIED = 256
"""Tied records per query that are compared with the target."""

FEWEST = 20
"""Fewest records with m items for which a rate is reported."""


@dataclass
class Needed:
    """The smallest tried number of items at which a goal was reached, and the rate there."""

    goal: float
    m: int | None = None
    rate: Rate | None = None
    tried: list[tuple[int, Rate]] = field(default_factory=list)

    def see(self, m: int, rate: Rate) -> None:
        """Add the rate at m items."""
        self.tried.append((m, rate))
        if self.m is None and rate.rate >= self.goal:
            self.m, self.rate = m, rate

    def words(self) -> str:
        """What was measured, in words."""
        if not self.tried:
            return "not measured: too few records have enough items"
        if self.m is None or self.rate is None:
            m, rate = self.tried[-1]
            return f"not reached: {rate.rate:.1%} at {m} items"
        return f"{self.m} ({self.rate.rate:.1%}, n={self.rate.n:,})"


def _steps(dataset: Dataset, who: Callable[[int], Adversary], targets: int, seed: int) -> Any:
    """(m, chosen records, adversary) for each m that enough records hold."""
    for m in TRIED:
        adversary = who(m)
        eligible = adversary.eligible(dataset)
        if eligible.size < min(FEWEST, dataset.n_records):
            return
        yield m, sample_targets(dataset, eligible, targets, seed), adversary


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

    def who(m: int) -> Adversary:
        return Adversary(knows=m, value_within=value_within, time_within=time_within)

    for m, chosen, adversary in _steps(dataset, who, targets, seed):
        aux = adversary.sample(dataset, chosen, seed)
        seen = attack_people(board, dataset, aux, chosen, absent=True)
        tied = board.top(dataset, aux, min(int(seen.n_tied.max(initial=1)), MOST_TIED))

        def near(own: Array, other: Array) -> Array:
            alike = pair_similarity(dataset, own, other, value_within, time_within)
            return np.asarray((own == other) | (alike >= 1 - epsilon - delta - 1e-12))

        found = seen.matched * _share_of_tied(chosen, tied, seen.n_tied, near)
        silent = ~seen.absent_matched
        needs["T1"].see(m, Rate.of(found))
        needs["T2"].see(m, Rate.of(seen.matched * seen.credit))
        share = np.where(seen.matched, 1.0 / np.maximum(seen.n_matching, 1), 0.0)
        needs["T3"].see(
            m, Rate(int(share.sum()), share.size, float(share.mean()), float("nan"), float("nan"))
        )
        # the worse of the two claims: found if present, ⊥ if absent
        needs["T4"].see(m, min(Rate.of(found), Rate.of(silent), key=lambda r: r.rate))
        if all(x.m is not None for x in needs.values()):
            break
    return needs


def generic_needs(
    dataset: Dataset, epsilon: float, delta: float, gamma: float, targets: int, seed: int
) -> Needed:
    """Items that the generic algorithm needs for S(y, o) > 1-2γ-δ with probability 1-ε (DSS12, Theorem 1)."""
    need = Needed(1 - epsilon)
    bar = dss12.generic_similarity(gamma, delta)
    for m, chosen, adversary in _steps(
        dataset, lambda m: Adversary(knows=m, gamma=gamma), targets, seed
    ):
        seen = attack("generic", gamma=gamma).run(dataset, adversary.sample(dataset, chosen, seed))
        close = pair_s(dataset, chosen, np.maximum(seen.best, 0)) > bar
        need.see(m, Rate.of(seen.matched & close))
        if need.m is not None:
            break
    return need


def certificate_needs(
    dataset: Dataset,
    epsilon: float,
    gamma: float,
    rare_share: float,
    t: float,
    targets: int,
    seed: int,
) -> Needed:
    """Items after which a share 1-ε of the eligible records is certified (DSS12, Theorem 2)."""
    from standout.theory.certificates import certificates

    need = Needed(1 - epsilon)
    for m in TRIED:
        try:
            found = certificates(dataset, m, gamma, t, rare_share, targets, seed)
        except EligibilityError:
            continue
        if found.n_eligible < min(FEWEST, dataset.n_records):
            break
        need.see(m, found.rate)
        if need.m is not None:
            break
    return need
