"""Certificates (DSS12, Theorem 2): records whose best match is provably the right one, without using the truth.

Also which items are t-rare, which t fits a release, and the adversary who knows mostly rare items.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.errors import EligibilityError, ParameterError
from standout.formulas.dss12 import is_rare, w
from standout.formulas.rates import Rate

if TYPE_CHECKING:
    import pandas as pd


GAMMAS = (0.07, 0.1, 0.15, 0.2)
"""Figs. 1 and 2."""
TABLE_1 = ((8, 10, 20), (0.07, 0.075))
TRIED = 24
"""Number of thresholds tried if t is not given."""


@dataclass(frozen=True, eq=False, repr=False)
class Certificates:
    """How many records Theorem 2 certifies, and how many certificates were wrong."""

    knows: int
    gamma: float
    t: float
    delta: float
    n_records: int
    n_eligible: int
    rate: Rate
    """Certified among the attacked eligible records, with its interval."""
    right: Rate
    """Hit rate, certified or not: ties at the top are shared."""
    violations: int
    """Certified answers that are not the target alone. The theorem allows none: anything above 0 is a bug."""
    targets: Array
    isolated: Array
    """bool per target."""
    largest_gamma: Array
    """e/M per target: the certificate holds for every γ below this."""

    @property
    def eligible(self) -> float:
        """Share of all records that can be attacked with such knowledge."""
        return self.n_eligible / self.n_records

    @property
    def filtered_out(self) -> float:
        """Share of all records that cannot (Table 1)."""
        return 1.0 - self.eligible

    @property
    def certified(self) -> float:
        """Share of the eligible records that are certified."""
        return self.rate.rate

    @property
    def of_all(self) -> float:
        """Share of all records that are certified: certified × eligible."""
        return self.certified * self.eligible

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = ("knows", "gamma", "t", "delta", "n_records", "n_eligible", "eligible")
        return {
            **{name: getattr(self, name) for name in numbers},
            "filtered_out": self.filtered_out,
            "certified": dict(self.rate),
            "of_all": self.of_all,
            "right": dict(self.right),
            "violations": self.violations,
        }

    def to_frame(self) -> pd.DataFrame:
        """One row."""
        import pandas as pd

        numbers = {
            "n": self.rate.n,
            "certified": self.rate.rate,
            "low": self.rate.low,
            "high": self.rate.high,
            "right": self.right.rate,
        }
        return pd.DataFrame([{**self.to_dict(), **numbers}])

    def __repr__(self) -> str:
        return f"<Certificates: {self.rate.count:,} of {self.rate.n:,} certified, {self.violations} violations>"


def certificates(
    dataset: Dataset,
    knows: int = 10,
    gamma: float = 0.1,
    t: float | None = None,
    delta: float = 0.75,
    targets: Any = 1000,
    seed: int = 0,
    *,
    engine: str = "memory",
    progress: Callable[[int], None] | None = None,
) -> Certificates:
    """Share of records that the weighted algorithm provably isolates: e > γM ⇒ the best record is the target.

    The truth is known here, so every certificate is also checked; one that is wrong counts as a
    violation.

    Parameters
    ----------
    dataset
        The release.
    knows
        m, the number of known items.
    gamma
        Known values are moved by up to gamma × (range of the scale).
    t
        Items with 1/log2|supp| ≥ t are rare. Default: the t that leaves most records eligible.
    delta
        Share of rare items among the known ones.
    targets
        Number of eligible records to attack (None: all), or their indices. Drawn without
        replacement, unlike in the paper.
    seed
        Random seed of targets and knowledge.
    engine, progress
        As in `Attack.run`.

    Examples
    --------
    >>> import standout as so
    >>> rng = np.random.default_rng(0)
    >>> record, item = np.repeat(np.arange(200), 12), np.floor(60 * rng.random(2400) ** 2)
    >>> ds = so.Dataset.from_arrays(record, item, rng.integers(1, 6, 2400), repeats="last")
    >>> found = so.certificates(ds, knows=4, gamma=0.05, delta=0.5, targets=50)
    >>> found.violations, 0 < found.certified <= 1
    (0, True)
    """
    from standout.attacks.datta import Weighted

    rarity = fitting_t(dataset, knows, delta) if t is None else t
    who = rare_adversary(knows, gamma, rarity, delta)
    eligible = who.eligible(dataset)
    if eligible.size == 0:
        raise no_eligible_record(dataset, knows, delta, rarity)
    chosen = _targets(dataset, targets, eligible, seed)
    aux = who.sample(dataset, chosen, seed)
    attack = Weighted()
    verdicts = attack.run(dataset, aux, engine=engine, watch=chosen, progress=progress)
    proof = attack.certificate(dataset, aux, verdicts)
    return Certificates(
        knows,
        gamma,
        rarity,
        delta,
        dataset.n_records,
        int(eligible.size),
        Rate.of(proof.isolated),
        Rate.of(verdicts.credit),
        # a certificate is for one record: an answer that ties with another is as wrong as another
        # record
        int((proof.isolated & (verdicts.credit < 1)).sum()),
        chosen,
        proof.isolated,
        proof.eccentricity / proof.mean_weight,
    )


def _targets(dataset: Dataset, targets: Any, eligible: Array, seed: int) -> Array:
    if targets is None or isinstance(targets, int | np.integer):
        if targets is not None and targets < 1:
            raise ParameterError(f"targets={targets}: attack at least one record, or None for all")
        return sample_targets(dataset, eligible, None if targets is None else int(targets), seed)
    return np.asarray(targets, np.int64).reshape(-1)


def filtered_out(
    dataset: Dataset,
    knows: Sequence[int] = TABLE_1[0],
    ts: Sequence[float] = TABLE_1[1],
    delta: float = 0.75,
) -> Any:
    """Frame: share of records without enough rare and other items (Table 1)."""
    import pandas as pd

    rows = []
    for t in ts:
        for m in knows:
            n = int(rare_adversary(m, 0.0, t, delta).eligible(dataset).size)
            rows.append({"knows": m, "t": t, "filtered_out": 1 - n / dataset.n_records})
    return pd.DataFrame(rows)


def rare_adversary(knows: int, gamma: float, t: float, delta: float) -> Adversary:
    """An adversary with (m,γ)-perturbed, (δ,t)-rare knowledge and no days."""
    if not 0 <= gamma <= 1:
        raise ParameterError(f"gamma={gamma}: use a share of the value scale between 0 and 1")
    if not 0 < delta <= 1:
        raise ParameterError(f"delta={delta}: use a share of rare items above 0 and at most 1")
    if not 0 < t <= 1:
        raise ParameterError(
            f"t={t}: items are t-rare for 0 < t ≤ 1; t=0.07 means at most 19,972 records"
        )
    share, rarity = (np.format_float_positional(x, trim="-") for x in (delta, t))
    return Adversary(knows=knows, gamma=gamma, time_within=None, choose=f"rare:{share}@{rarity}")


def fitting_t(dataset: Dataset, knows: int, delta: float) -> float:
    """The t that leaves most records eligible; it only defines which items of this release are called rare.

    >>> import standout as so
    >>> ds = so.Dataset.from_arrays([0, 0, 0, 1, 1, 1, 2, 2, 2, 3], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    >>> round(2 ** (1 / fitting_t(ds, 2, 0.5)))
    3
    """
    return _best_t(
        dataset, lambda t: int(rare_adversary(knows, 0.0, t, delta).eligible(dataset).size)
    )


def fitting_t_for_shares(dataset: Dataset, knows: int, shares: Array) -> float:
    """The t that leaves most records eligible for the least favorable of several shares of rare items."""
    return _best_t(
        dataset,
        lambda t: min(int(with_rare_share(dataset, knows, float(x), t).size) for x in shares),
    )


def _best_t(dataset: Dataset, count: Callable[[float], int]) -> float:
    """Threshold with the largest count, among weights at even steps of the pairs; the lowest t of equals."""
    support = np.sort(dataset.supports)
    share = np.cumsum(support) / max(dataset.n_pairs, 1)
    places = np.unique(
        support[np.minimum(np.searchsorted(share, np.linspace(0, 1, TRIED)), support.size - 1)]
    )
    ts = [float(w(x)) for x in places[::-1]]
    return max(ts, key=count)


def no_eligible_record(dataset: Dataset, knows: int, delta: float, t: float) -> EligibilityError:
    """Error for the case that no record has enough rare and enough other items."""
    n_rare = int(is_rare(dataset.supports, t).sum())
    return EligibilityError(
        f"no record holds enough items for knows={knows} with a share {delta:g} of them t-rare and the rest not: "
        f"at t={t:g} {n_rare:,} of {dataset.n_items:,} items are rare. Leave t out for one that fits this data, or lower knows"
    )


def with_rare_share(dataset: Dataset, knows: int, eta1: float, t: float) -> Array:
    """D_{m,η1}: records with at least m items, a share ≥ η1 of them t-rare, that can give ⌈η1·m⌉ rare items and the rest."""
    n_rare = dataset.index.count(is_rare(dataset.supports, t))
    need = int(np.ceil(eta1 * knows - 1e-9))
    lengths = dataset.lengths
    fits = (
        (lengths >= knows)
        & (n_rare >= eta1 * lengths - 1e-9)
        & (n_rare >= need)
        & (lengths - n_rare >= knows - need)
    )
    return np.flatnonzero(fits)
