"""Which items are t-rare (DSS12), which t fits a release, and the adversary who knows mostly rare items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from standout.adversary.adversary import Adversary
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.errors import EligibilityError, ParameterError
from standout.formulas.dss12 import is_rare, w

TRIED = 24
"""Number of thresholds tried if t is not given."""


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
