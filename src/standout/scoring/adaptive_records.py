"""What the adaptive kernel reads of a record as a whole: ρ, 1-Q_r, and whether its length agrees with a known one."""

from __future__ import annotations

from math import lgamma

import numpy as np

from standout.scoring.adaptive_scratch import AdaptiveScratch
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.postings import jit, jit_inline

LEAST_AGREEMENT = 1e-6
"""Added to the probability that a length agrees, so that the length alone excludes no record."""


@jit_inline
def set_rest(record: int, k: int, q: int, t: AdaptiveTables, scratch: AdaptiveScratch) -> None:
    """Put 1-Q_r and 1-κ·Q_r of the shard's record, which is record `k` of its block, into `scratch`."""
    for c in range(2 if t.classes else 1):
        weight = t.rare_weight[record] if c else t.weight[record]
        inside = (weight - scratch.shared[c, k]) / t.total[q, c]
        scratch.rest[c], scratch.rest_kept[c] = (
            max(1.0 - inside, 1e-9),
            max(1.0 - t.kept_pairs * inside, 1e-9),
        )


@jit_inline
def set_rho(record: int, node: int, t: AdaptiveTables, scratch: AdaptiveScratch) -> None:
    """Put ρ of the record, for a source length of capped records or for none (`node` = -1), into `scratch`."""
    for c in range(2 if t.classes else 1):
        length = np.int64(t.rare_length[record] if c else t.length[record])
        n = np.int64(1) if t.merged else scratch.n_held[c]
        if node < 0:
            scratch.rho[c] = t.rho[min(length, np.int64(t.rho.shape[0] - 1)), n]
        else:
            # the items that a rule can pick are as large a share of the source as of the release
            scratch.rho[c] = t.node_rho[node, n] * t.every_length[record] / max(float(length), 1.0)


@jit_inline
def missing(record: int, t: AdaptiveTables) -> float:
    """Probability that an item of the record's source is not in the record, which is not capped."""
    if t.strangers.size == 0:
        return float(t.miss)
    return float(
        1.0 - (1.0 - t.lost) * (1.0 - t.strangers[record] / max(t.every_length[record], 1.0))
    )


@jit_inline
def lost_facts(m: int, n_held: int, t: AdaptiveTables) -> int:
    """Number of right facts about items that the record lacks; at most 1 if the number of wrong items varies."""
    n = m - n_held
    if t.wrong_items and t.share_wrong > 0.0:
        n = min(n, 1)
    elif t.wrong_items:
        n = max(n - t.n_wrong, 0)
    return n


@jit
def log_length(
    q: int, released: int, n_held: int, n_known: int, node: int, t: AdaptiveTables
) -> float:
    """Logarithm of the density of the known length ℓ, given the record, over the same of a person outside the release.

    ℓ is uniform in L·(1±share), so that its density for a source of L items is 1/(2·share·L), if L
    is within the window of ℓ, and 0 outside; the numbers here are that density times 2·share·ℓ. The
    number of lost items is negative binomial if all source lengths are equally likely, and L is
    summed over. For a length that is known exactly the window is one length.
    """
    told, first, last = t.told[q], t.low[q], t.high[q]
    if node >= 0:
        first, last = max(first, t.node_low[node]), min(last, t.node_high[node])
        share = harmonic(first, last) * told / (t.node_high[node] - t.node_low[node] + 1.0)
    elif t.lose <= 0.0:
        share = told / max(released, 1.0) if first <= released <= last else 0.0
    else:
        gone = n_known - n_held - (t.n_wrong if t.wrong_items else 0)
        n, shortest = max(released - n_held + 1.0, 1.0), released + max(gone, 0.0)
        share = told * length_density(n, t.lose, shortest, first, last)
    return float(np.log((share + LEAST_AGREEMENT) / (t.length_back[q] + LEAST_AGREEMENT)))


@jit
def harmonic(first: float, last: float) -> float:
    """Σ 1/L over the whole numbers L ≥ 1 from `first` to `last`.

    >>> harmonic(2.0, 3.0) == 1 / 2 + 1 / 3
    True
    """
    out, length = 0.0, max(np.ceil(first), 1.0)
    while length <= last:
        out += 1.0 / length
        length += 1.0
    return out


@jit
def length_density(n: float, lose: float, shortest: float, first: float, last: float) -> float:
    """Σ_k P(k)/(shortest + k) over the source lengths shortest + k from `first` to `last`, k ~ negative binomial(n, lose).

    P(k) = Γ(n+k)/(Γ(n)·k!)·(1-lose)^n·lose^k. Terms beyond 9 standard deviations of the mean are
    left out.

    >>> round(length_density(2.0, 0.5, 2.0, 0.0, 3.0), 6) == round(0.25 / 2 + 0.25 / 3, 6)
    True
    """
    keeps = 1.0 - lose
    mean, far = n * lose / keeps, 9.0 * np.sqrt(n * lose) / keeps + 40.0 / -np.log(lose)
    k = max(np.ceil(first - shortest), np.floor(mean - far), 0.0)
    stop = min(last - shortest, mean + far)
    if k > stop:
        return 0.0
    chance = np.exp(
        lgamma(n + k) - lgamma(n) - lgamma(k + 1.0) + n * np.log(keeps) + k * np.log(lose)
    )
    out = 0.0
    while k <= stop:
        out += chance / max(shortest + k, 1.0)
        chance *= (n + k) / (k + 1.0) * lose
        k += 1.0
    return out
