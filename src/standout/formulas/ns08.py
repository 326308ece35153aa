"""Narayanan and Shmatikov 2008: the terms of Scoreboard and Scoreboard-RH."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array

RHO_0 = 1.5
D_0 = 30.0
PHI = 1.5


def wt(support: Any) -> Array:
    """wt(i) = 1 / ln |supp(i)|, with a support below 2 counted as 2.

    >>> wt([1, 2, 100]).round(4).tolist()
    [1.4427, 1.4427, 0.2171]
    """
    return np.asarray(1.0 / np.log(np.maximum(np.asarray(support, dtype=np.float64), 2.0)))


def closeness(gap: Any, width: float) -> Array:
    """e^(-|gap| / width): the exponential similarity of section 5 (the text lost the minus and the bars).

    >>> closeness([0, 1.5, -1.5], RHO_0).round(4).tolist()
    [1.0, 0.3679, 0.3679]
    """
    return np.asarray(np.exp(-np.abs(np.asarray(gap, dtype=np.float64)) / width))


def within(gap: Any, tolerance: Any) -> Array:
    """Sim = 1 if |gap| ≤ tolerance else 0: the threshold similarity.

    >>> within([0, 1, 2], 1).tolist()
    [1.0, 1.0, 0.0]
    """
    return np.asarray(np.abs(np.asarray(gap, dtype=np.float64)) <= tolerance, np.float64)


def eccentricity(best: Any, second: Any, sigma: Any) -> Array:
    """(max - max2) / σ, and 0 where σ is 0.

    >>> eccentricity([3.0, 1.0], [1.0, 1.0], [0.5, 0.0]).tolist()
    [4.0, 0.0]
    """
    sd = np.asarray(sigma, dtype=np.float64)
    gap = np.asarray(best, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    return np.where(sd > 0, gap / np.where(sd > 0, sd, 1.0), 0.0)


def bits_left(share: Any, n_records: Any) -> Array:
    """-log2 Π(target), at most log2 N: a lineup without the target carries no information about it.

    >>> bits_left([1.0, 0.25, 0.0], 16).tolist()
    [0.0, 2.0, 4.0]
    """
    p = np.asarray(share, dtype=np.float64)
    most = np.log2(np.maximum(n_records, 1))
    return np.asarray(
        np.minimum(-np.log2(np.where(p > 0, np.minimum(p, 1.0), 2.0**-most)), most) + 0.0
    )


def sim(agreeing: Any, first_length: Any, second_length: Any, shared: Any) -> Array:
    """Sim(r1, r2) = Σ_i Sim(r1_i, r2_i) / |supp(r1) ∪ supp(r2)|, with |r1 ∪ r2| = L_1 + L_2 - shared items.

    >>> sim([2, 0], [4, 1], [3, 1], [3, 0]).tolist()
    [0.5, 0.0]
    """
    union = np.asarray(first_length) + np.asarray(second_length) - np.asarray(shared)
    return np.asarray(np.asarray(agreeing, dtype=np.float64) / union)


def information(chance: Any) -> Array:
    """-log2 p: bits of information in a known entry that a random record agrees with with probability p (Fig. 7).

    >>> information([1.0, 0.5, 0.125]).tolist()
    [0.0, 1.0, 3.0]
    """
    return np.asarray(-np.log2(np.asarray(chance, dtype=np.float64)) + 0.0)


def theorem_1_m(n_records: int, epsilon: float, delta: float) -> float:
    """(ln N - ln ε) / (-ln(1-δ)) ≤ m: items that Theorems 1, 2 and 4 require.

    >>> import math
    >>> math.ceil(theorem_1_m(480_189, 0.05, 0.2)), math.ceil(theorem_1_m(480_189, 0.05, 0.5))
    (73, 24)
    """
    return float((np.log(n_records) - np.log(epsilon)) / -np.log1p(-delta))


def theorem_2_found(agree: Any, length: Any, m: int, n_records: int) -> Array:
    """max(0, 1 - (N-1) Π_{j<m} (a-j)/(L-j)): lower bound of the probability that m items of L single out a record.

    The argument of Theorems 1 and 2 for one record: each of the other N-1 agrees on at most `agree`
    = a of its L items, so it fits m items drawn without replacement with probability at most
    C(a,m)/C(L,m), and a union bound gives the rest. The theorem as printed assumes a ≤ (1-δ)L and
    bounds the product by (1-δ)^m. NaN where L < m.

    >>> theorem_2_found([2, 9], 10, 4, 1000).round(3).tolist(), theorem_2_found(5, 20, 8, 1000).tolist()
    ([1.0, 0.0], 1.0)
    """
    a, size = np.broadcast_arrays(np.asarray(agree, np.float64), np.asarray(length, np.float64))
    fits = np.ones(a.shape)
    for j in range(m):
        fits = fits * np.maximum(a - j, 0.0) / np.maximum(size - j, 1.0)
    return np.where(size >= m, np.maximum(0.0, 1.0 - (n_records - 1) * fits), np.nan)


def theorem_3_m(n_records: int, k: int, delta: float) -> float:
    """ln(N/(k-1)) / ln(1/(1-δ)) = m, k ≥ 2: items that leave a lineup of k (entropically log2 k).

    >>> round(theorem_3_m(480_189, 11, 0.2), 1)
    48.3
    """
    return max(0.0, float(np.log(n_records / (k - 1)) / -np.log1p(-delta)))


def theorem_5_population(delta: float, factor: float, gamma: float) -> float:
    """min(1, δλ/γ): the δ of a population λ times as large as a (ε,δ)-sparse sample of it; 1 says nothing.

    Theorem 5 reversed: the population is that sparse, or an event of probability ≤ γ has happened.

    >>> round(theorem_5_population(0.001, 10, 0.05), 4), theorem_5_population(0.2, 10, 0.05)
    (0.2, 1.0)
    """
    return min(1.0, delta * factor / gamma)


def smallest_match_sim(epsilon: float, delta: float) -> float:
    """(1-ε)(1-δ)/(1+δ): the similarity that Theorem 1's argument gives when the smallest matching record is the answer.

    Lemma 1 of the paper divides by |supp(r)| where Sim divides by the union, so that a heavy record
    may agree with all of r and still not be similar (Merener 2012). A smallest match holds at most
    as many items as the target and agrees on (1-δ) of them, so the union has at most (1+δ)|supp(r)|
    items.

    >>> round(smallest_match_sim(0.05, 0.2), 4)
    0.6333
    """
    return (1 - epsilon) * (1 - delta) / (1 + delta)
