"""People with tastes: data from which a recommender can learn."""

from __future__ import annotations

import numpy as np

import standout as so


def grouped_tastes(n: int = 160, m: int = 60, seed: int = 1, values: bool = True) -> so.Dataset:
    """People of four tastes, each of which likes a quarter of the items; values depend on person and item."""
    rng = np.random.default_rng(seed)
    taste, kind = rng.integers(0, 4, n), np.arange(m) % 4
    popular = rng.uniform(0.3, 1.0, m)
    held = rng.random((n, m)) < popular * np.where(taste[:, None] == kind[None, :], 0.9, 0.04)
    held[np.arange(n), rng.integers(0, m, n)] = True
    r, i = np.nonzero(held)
    value = np.clip(
        np.rint(
            3 + rng.normal(0, 0.7, n)[r] + rng.normal(0, 0.9, m)[i] + rng.normal(0, 0.3, r.size)
        ),
        1,
        5,
    )
    day = rng.integers(12_000, 12_400, r.size)
    return so.Dataset.from_arrays(r, i, value if values else None, day if values else None)
