"""Datta, Sharma and Sinha 2012: the terms of the generic and the weighted algorithm and of their theorems."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from standout.arrays import Array


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


def T(a: Any, b: Any, p: Any) -> Array:  # noqa: N802 - the paper's letter
    """T(a, b) = 1 - |a - b| / p, p = range of the value scale; a null (NaN) gives 0.

    Departures: a value outside the scale gives 0, never less; on a scale of one value (p = 0) equal
    values give 1.

    >>> T([5.0, 1.0, 2.5, float("nan")], [5.0, 5.0, 2.0, 3.0], 4.0).tolist()
    [1.0, 0.0, 0.875, 0.0]
    """
    gap = np.abs(np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64))
    scale = np.asarray(p, dtype=np.float64)
    share = np.where(scale > 0, gap / np.where(scale > 0, scale, 1.0), np.where(gap > 0, 1.0, gap))
    return np.where(np.isnan(share), 0.0, np.maximum(1.0 - share, 0.0))


def closeness(a: float, b: float, p: float) -> float:
    """T(a, b) of two values on the scale: 1 - |a - b| / p, and 1 if p = 0.

    >>> closeness(2.5, 2.0, 4.0), closeness(3.0, 3.0, 0.0)
    (0.875, 1.0)
    """
    return 1.0 - abs(a - b) / p if p > 0 else 1.0


def is_isolated(eccentricity: Any, gamma: Any, mean_weight: Any) -> npt.NDArray[np.bool_]:
    """If e > γ·M, the best record is the target (Theorem 2).

    It assumes that the target is in the release and that the knowledge is (m, γ)-perturbed.

    >>> is_isolated([0.2, 0.15], 0.2, 0.75).tolist()
    [True, False]
    """
    threshold = np.asarray(gamma, dtype=np.float64) * np.asarray(mean_weight, dtype=np.float64)
    return np.asarray(np.asarray(eccentricity, dtype=np.float64) > threshold)


def l2(weights: Any, gamma: float) -> float:
    """l2 = (Σw)² (1-γ)² / (m Σw²): the least S(aux, o) of the weighted algorithm's answer o (Theorem 3).

    >>> l2([1.0, 1.0], 0.0), round(l2([1.0, 0.5], 0.1), 3)
    (1.0, 0.729)
    """
    x = np.asarray(weights, dtype=np.float64)
    return float(x.sum() ** 2 * (1.0 - gamma) ** 2 / (x.size * (x**2).sum()))


def generic_similarity(gamma: float, epsilon: float) -> float:
    """S(y, o) > 1 - 2γ - ε for the generic algorithm's answer o with probability 1 - e^(-2ε²m) (Theorem 1).

    >>> generic_similarity(0.1, 0.05)
    0.75
    """
    return 1.0 - 2.0 * gamma - epsilon


def kept_quantile(k: Any, eta3: float) -> float:
    """Quantile f = the (1-η3) one: the largest k_i that a share ≥ η3 of all k reaches.

    The text's "η3 percentile" contradicts its own Property 1, which wants Pr[S(y,r) ≥ f] ≥ η3.

    >>> kept_quantile([0.1, 0.2, 0.3, 0.4], 0.75), kept_quantile([0.1, 0.2, 0.3, 0.4], 1.0)
    (0.2, 0.1)
    """
    rising = np.sort(np.asarray(k, dtype=np.float64))
    at = int(np.floor((1 - eta3) * rising.size + 1e-9))
    return float(rising[min(at, rising.size - 1)])


def generic_m(epsilon: float, failure: float, n_records: int = 1) -> float:
    """Items m ≥ ln(N/g) / (2ε²), after which Theorem 1 fails with probability at most g = N·e^(-2ε²m).

    The proof has N = 1: it bounds one fixed record. The answer is chosen among N records after the
    knowledge was drawn, so a bound for the chosen record needs the factor N.

    >>> round(generic_m(0.2, 0.05), 1), round(generic_m(0.2, 0.05, 480_189), 1)
    (37.4, 201.0)
    """
    return float(np.log(n_records / failure) / (2 * epsilon**2))
