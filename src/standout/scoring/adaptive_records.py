"""What the adaptive kernel reads of a record as a whole: ρ, 1-Q_r, and whether its length agrees with a known one."""

from __future__ import annotations

from math import erf
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.scoring.adaptive_factors import AdaptiveScratch
from standout.scoring.adaptive_tables import AdaptiveTables
from standout.scoring.fill import jit, jit_inline

Array = npt.NDArray[Any]

LEAST_AGREEMENT = 1e-6
"""Added to the probability that a length agrees, so that the length alone excludes no record."""


@jit_inline
def set_rest(record: int, k: int, q: int, t: AdaptiveTables, scratch: AdaptiveScratch) -> None:
    """Put 1-Q_r and 1-κ·Q_r of the shard's record, which is record `k` of its block, into `scratch`."""
    for c in range(2 if t.classes else 1):
        weight = t.rare_weight[record] if c else t.weight[record]
        inside = (weight - scratch.shared[c, k]) / t.total[q, c]
        scratch.rest[c], scratch.rest_kept[c] = max(1.0 - inside, 1e-9), max(1.0 - t.kept_pairs * inside, 1e-9)


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
    return float(1.0 - (1.0 - t.lost) * (1.0 - t.strangers[record] / max(t.every_length[record], 1.0)))


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
def log_length(q: int, released: int, n_held: int, n_known: int, node: int, t: AdaptiveTables) -> float:
    """Logarithm of P(source length agrees with the known one | record) over the same of a person outside the release.

    The number of lost items is negative binomial if all source lengths are equally likely; it is treated as normal.
    """
    if node >= 0:
        inside = min(t.high[q], t.node_high[node]) - max(t.low[q], t.node_low[node]) + 1.0
        share = max(inside, 0.0) / (t.node_high[node] - t.node_low[node] + 1.0)
    elif t.lose <= 0.0:
        share = 1.0 if t.low[q] <= released <= t.high[q] else 0.0
    else:
        gone = n_known - n_held - (t.n_wrong if t.wrong_items else 0)
        n, keeps = max(released - n_held + 1.0, 1.0), 1.0 - t.lose
        middle = released + max(gone, 0) + n * t.lose / keeps
        width = np.sqrt(2.0 * n * t.lose) / keeps
        share = 0.5 * (erf((t.high[q] + 0.5 - middle) / width) - erf((t.low[q] - 0.5 - middle) / width))
    return float(np.log((share + LEAST_AGREEMENT) / (t.length_back[q] + LEAST_AGREEMENT)))
