"""The likelihood of what an adversary knows about a release that a defense changed, with the defense's published parameters.

The compiled functions are the parts that the kernel calls per record (`scoring/adaptive_factors.py`);
the others fill tables once per release (`attacks/adaptive.py`, `adaptive_sizes.py`, `adaptive_channels.py`).

The knowledge comes from the source, and the candidate r is a record of the release. Against "the
target is not in the
release", with z = what the defense drew for the person (a shift of the dates, the source length of
a capped record)::

    LLR(r) = log mean_z Π_j F_j        held: F = A + ρ·K/(q·g)        not held: F = miss/(1-Q_r)

for right facts. A wrong item has F = 1/(1-Q_r) if r lacks the item, and F = x/(1-Q_r) if r holds it
and entries were moved with probability x. If each fact is wrong with probability W, F is the
mixture. If exactly w of m are wrong, Π_j is the coefficient of x^w in Π_j (right_j + wrong_j·x),
divided by C(m, w).

Departures from the first version of this formula: it had W instead of 0 for a held item of a record
without moved entries; wrong items are drawn among those that the target lacks, so 0 is right. It
took the source length as a point estimate, and all m facts as picks of held items; `held_share`
sums over the source lengths, and counts the facts that are held.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from standout.arrays import Array
from standout.jit import njit

jit = njit(nogil=True, cache=True, error_model="numpy")

DECONVOLUTION_STEPS = 20
"""Steps of the Richardson-Lucy iteration."""


def held_share(length: Any, n_held: Any, keeps: Any = 1.0) -> Array:
    """ρ = keeps·[L(L-1)…(L-h+1)]^(-1/h): probability of one pick, if h picks without replacement are about kept items.

    A source of Λ items keeps each with the same probability, and L of them are in the release. If
    all Λ are equally likely beforehand, m picks of which h are given items of the release, and k =
    m-h given items that were lost, have the probability keeps^h·(1-keeps)^k / [L(L-1)…(L-h+1)],
    where lost items are drawn independently. Entries that are exchanged or replaced in place give
    the same. For a known source length, L is that length, and keeps = 1.

    >>> held_share([4.0, 2.0], 2, 0.5).round(6).tolist(), held_share(4.0, 0).tolist()
    ([0.144338, 0.353553], 1.0)
    """
    h = np.asarray(n_held, np.float64)
    size = np.maximum(np.asarray(length, np.float64), h)
    log = -(gammaln(size + 1) - gammaln(size - h + 1)) / np.maximum(h, 1.0)
    return np.asarray(np.where(h > 0, keeps * np.exp(log), 1.0))


def lost_share(lost: Any, length: Any, n_held: Any, n_lost: Any) -> Array:
    """M = [n(n-1)…(n-k+1) / ((z-h)(z-h-1)…(z-h-k+1))]^(1/k): probability that one of k picks is a lost item.

    n of z items are lost; h of the h + k picks without replacement are about kept items.

    >>> lost_share(2.0, 6.0, 1, [1, 2]).round(6).tolist(), lost_share(1.0, 6.0, 0, 2).tolist()
    ([0.4, 0.316228], 0.0)
    """
    n, k = np.asarray(lost, np.float64), np.asarray(n_lost, np.float64)
    rest = np.maximum(np.asarray(length, np.float64) - n_held, np.maximum(k, n))
    enough, size = n > k - 1, np.maximum(n, k - 1 + 1e-9)
    log = gammaln(size + 1) - gammaln(size - k + 1) - gammaln(rest + 1) + gammaln(rest - k + 1)
    return np.asarray(np.where(k > 0, np.where(enough, np.exp(log / np.maximum(k, 1.0)), 0.0), 1.0))


@jit
def held_factor(rho: float, kernel: float, q_g: float, by_chance: float) -> float:
    """F = A + ρ·K/(q·g): a right fact about an item that the record holds.

    >>> held_factor(0.1, 0.5, 0.01, 0.0)
    5.0
    """
    return by_chance + rho * kernel / q_g


@jit
def lost_factor(miss: float, share: float, rest: float) -> float:
    """F = miss·share/(1-Q_r): a right fact about an item that the record lacks; `rest` is 1-Q_r, `share` is 1 or gm/g.

    >>> lost_factor(0.3, 1.0, 0.75)
    0.39999999999999997
    """
    return miss * share / rest


def attribute_share(x: Any, support: Any) -> Array:
    """x_i = x - (1-(1-x)^n)/n: probability that an entry has the value and time of another holder, n holders.

    Each of the holders takes part with probability x, and those who do are permuted at random; the
    n-th part of the permutations leaves an entry where it is. K becomes (1-x_i)·K + x_i·(mean of K
    over the other holders).

    >>> attribute_share(1.0, [1, 2, 4]).tolist(), attribute_share(0.0, 5).tolist()
    ([0.0, 0.5, 0.75], 0.0)
    """
    n = np.maximum(np.asarray(support, np.float64), 1.0)
    return np.asarray(np.maximum(x - (1 - (1 - x) ** n) / n, 0.0))


def through_values(prior: Any, change: Any, kernel: Any) -> tuple[Array, Array]:
    """Kv(c) = Σ_v π(v)·D(c|v)·N(y|v) / Σ_v π(v)·D(c|v) and gv = Σ_v π(v)·N(y|v).

    Parameters
    ----------
    prior
        π (facts, levels of the source): distribution of the item's values in the source.
    change
        D (levels of the source, levels of the release).
    kernel
        N (facts, levels of the source): probability of the known value y.

    >>> k, g = through_values([[0.5, 0.5]], np.array([[1.0], [1.0]]), [[1.0, 0.0]])
    >>> k.tolist(), g.tolist()
    ([[0.5]], [0.5])
    """
    pi, n = np.asarray(prior, np.float64), np.asarray(kernel, np.float64)
    below = pi @ change
    back = (pi * n).sum(axis=1)
    return np.where(
        below > 0, ((pi * n) @ change) / np.where(below > 0, below, 1.0), back[:, None]
    ), back


def deconvolved(released: Any, change: Any, start: Any, steps: int = DECONVOLUTION_STEPS) -> Array:
    """π ← π·D(h/(πD)), repeated: distribution of the source's values behind the released histogram h (Richardson-Lucy).

    Parameters
    ----------
    released
        h (items, levels of the release): each row sums to 1.
    change
        D (levels of the source, levels of the release).
    start
        First guess (items, levels of the source), positive.
    steps
        Number of steps.

    >>> deconvolved([[0.7, 0.3]], np.eye(2), [[0.5, 0.5]], 1).round(6).tolist()
    [[0.7, 0.3]]
    """
    pi, h = np.array(start, np.float64), np.asarray(released, np.float64)
    for _ in range(steps):
        seen = pi @ change
        pi = pi * (np.where(seen > 0, h / np.where(seen > 0, seen, 1.0), 0.0) @ change.T)
        pi = pi / np.maximum(pi.sum(axis=1, keepdims=True), 1e-300)
    return np.asarray(pi)


@jit
def merged_group_factor(shown: float, others: float, k: int, mu: float) -> float:
    """F = c·Σ_j K_j/g_j·Π_{i≠j} o_i + (1/(1-e^-μ) - k·c)·Π_i o_i: k right facts about a group that shows one entry.

    The source has n items of the group, n ~ Poisson(μ) given n ≥ 1, and one of them at random is
    shown. c = E[(n-1)(n-2)…(n-k+1)]/μ^k.

    Parameters
    ----------
    shown
        Σ_j K_j/g_j·Π_{i≠j} o_i: one fact is about the shown entry; o is the factor of a fact about
        another entry.
    others
        Π_i o_i.
    k
        Number of facts; for 0 the factor is 1.
    mu
        Expected number of the record's items in the group.

    >>> mu = 0.5
    >>> bool(np.isclose(merged_group_factor(3.0, 1.0, 1, mu), 3.0 / mu + 1 / (1 - np.exp(-mu)) - 1 / mu))
    True
    >>> merged_group_factor(0.0, 1.0, 0, mu)
    1.0
    """
    if k == 0:
        return 1.0
    top = 1.0 / -np.expm1(-mu)
    moment, power = 1.0, 1.0
    for j in range(1, k):
        # n(n-1)…(n-j+1) = (n-1)…(n-j) + j·(n-1)…(n-j+1)
        power *= mu
        moment = max(power * top - j * moment, 0.0)
    c = moment / (power * mu)
    return float(c * shown + max(top - k * c, 0.0) * others)


def grouped_length(released: Any, share: Any) -> Array:
    """Λ with Σ_G (1 - e^(-Λ·q_G)) = L': believed number of items of a record that shows L' groups, at most all but half a group.

    Parameters
    ----------
    released
        L'.
    share
        q_G per group; sums to 1.

    >>> grouped_length([0, 1], np.full(1000, 0.001)).round(2).tolist()
    [0.0, 1.0]
    """
    q = np.asarray(share, np.float64)
    grid = np.concatenate([[0.0], np.geomspace(0.01, 50.0 * max(q.size, 1), 400)])
    shown = np.minimum(np.asarray(released, np.float64), q.size - 0.5)
    return np.asarray(np.interp(shown, -np.expm1(-grid[:, None] * q[None, :]).sum(axis=1), grid))


@jit
def overlap(known: int, within: int, first: int, n: int) -> int:
    """|[t-w, t+w] ∩ [b, b+n)|: days that are near the known one and in the bucket.

    >>> overlap(10, 2, 11, 7), overlap(3, 2, 11, 7), overlap(12, 0, 11, 7)
    (2, 0, 1)
    """
    return max(min(known + within, first + n - 1) - max(known - within, first) + 1, 0)


@jit
def bucket_chance(known: int, within: int, first: int, n: int) -> float:
    """Kt = |[t±w] ∩ [b, b+n)| / ((2w+1)·n): probability of the known day, if the true one is uniform in the bucket.

    >>> bucket_chance(12, 0, 11, 4), bucket_chance(10, 1, 10, 1)
    (0.25, 0.3333333333333333)
    """
    return float(overlap(known, within, first, n) / ((2 * within + 1) * n))


@jit
def wrong_day_chance(known: int, within: int, first: int, n: int, span: int) -> float:
    """(n - |[t±w] ∩ [b, b+n)|) / (n·outside): probability of a wrong day, uniform over days 0 … span outside ±w.

    `outside` counts the days outside the tolerance of the bucket's middle.

    >>> wrong_day_chance(5, 1, 0, 1, 10), wrong_day_chance(0, 1, 0, 1, 10)
    (0.1111111111111111, 0.0)
    """
    if known < 0 or known > span:
        return 0.0
    middle = min(max(first + (n - 1) // 2, 0), span)
    outside = max(0, middle - within) + max(0, span - middle - within)
    return float((n - overlap(known, within, first, n)) / (n * max(outside, 1)))
