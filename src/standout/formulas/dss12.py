"""Datta, Sharma and Sinha 2012: the terms of the generic and the weighted algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def w(support: Any) -> Array:
    """w_i = 1 / log2 |supp(i)|, with a support below 2 counted as 2.

    >>> w([1, 2, 1024]).tolist()
    [1.0, 1.0, 0.1]
    """
    return np.asarray(1.0 / np.log2(np.maximum(np.asarray(support, dtype=np.float64), 2.0)))


def is_rare(support: Any, t: float) -> npt.NDArray[np.bool_]:
    """An item is t-rare iff w_i ≥ t.

    >>> is_rare([2, 1024, 1025], 0.1).tolist()
    [True, True, False]
    """
    return np.asarray(w(support) >= t)
