"""Quality of ranked lists of recommendations, one list per person: the utility of a release (`defenses/utility_models.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array


def ndcg(found: Any, n_relevant: Any) -> Array:
    """DCG/IDCG per row: DCG = Σ_k found_k / log2(k + 1), k = 1, 2, …; IDCG = the same with every relevant item first.

    Parameters
    ----------
    found
        (people, k) bool: whether the item at each rank is relevant.
    n_relevant
        (people,) number of relevant items, at least 1.

    >>> ndcg([[True, False, True], [False, False, False]], [2, 1]).round(4).tolist()
    [0.9197, 0.0]
    """
    hit = np.atleast_2d(np.asarray(found, np.bool_))
    gain = 1.0 / np.log2(np.arange(2, hit.shape[1] + 2))
    ideal = np.concatenate([[0.0], np.cumsum(gain)])
    return np.asarray(
        (hit * gain).sum(axis=1) / ideal[np.minimum(np.asarray(n_relevant), hit.shape[1])]
    )


def recall(found: Any, n_relevant: Any) -> Array:
    """Relevant items in the list divided by relevant items in all, per row.

    >>> recall([[True, False, True], [False, False, False]], [4, 1]).tolist()
    [0.5, 0.0]
    """
    return np.asarray(
        np.atleast_2d(np.asarray(found, np.bool_)).sum(axis=1) / np.asarray(n_relevant)
    )
