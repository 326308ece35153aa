"""Mass of the lineup: Σ exp(beta · (score - top)) over the candidates of a block."""

from __future__ import annotations

from math import factorial

import numpy as np

from standout.arrays import Array
from standout.jit import njit
from standout.scoring.partials import Partials
from standout.scoring.plan import Tables
from standout.scoring.postings import Postings, jit, jit_bare
from standout.scoring.rules import CandidateRule, passes

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 1.5 * 2.0**52
_T = tuple(1.0 / factorial(k) for k in range(12))
FARTHEST = -60.0
"""A record whose exponent is below this adds nothing to a mass."""

jit_wide = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "nsz"})


# fastmath=False is needed: otherwise the caller's setting applies, and rounding by addition is
# optimized away
@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def exponential(x: float) -> float:
    """e^x for x ≤ 0 to 1e-14, 0 below `FARTHEST`: Taylor series on ±ln(2)/2, without calls or branches, so that it vectorizes."""
    safe = x if x > FARTHEST else FARTHEST
    # adding 1.5 · 2^52 rounds to a whole number and leaves it in the low bits
    shifted = safe * _LOG2_E + _ROUND
    n = shifted - _ROUND
    r = (safe - n * _LN2_HIGH) - n * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    low = (_T[0] + r * _T[1]) + r2 * (_T[2] + r * _T[3])
    middle = (_T[4] + r * _T[5]) + r2 * (_T[6] + r * _T[7])
    high = (_T[8] + r * _T[9]) + r2 * (_T[10] + r * _T[11])
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52).view(np.float64)
    y = (low + r4 * (middle + r4 * high)) * power
    return y if x > FARTHEST else 0.0


@jit_wide
def mass_over(acc: Array, top: int, beta: float) -> float:
    """Σ exp(beta · (score - top)) over the whole block."""
    mass, high = 0.0, np.float64(top)
    for k in range(np.uint64(acc.size)):
        mass += exponential(beta * (np.float64(acc[k]) - high))
    return mass


@jit
def mass_filtered(
    acc: Array, start: int, top: int, beta: float, rule: CandidateRule, lengths: Array
) -> float:
    """As `mass_over`, for queries that exclude some records."""
    mass, high = 0.0, np.float64(top)
    for k in range(acc.size):
        if passes(start + k, rule, lengths):
            mass += exponential(beta * (np.float64(acc[k]) - high))
    return mass


@jit_bare
def mass_touched(
    acc: Array, hole: int, b: int, q: int, top: int, beta: float, post: Postings, plan: Tables
) -> float:
    """As `mass_over`, from the records with a nonzero score and the number of the others; clears `acc`.

    `hole` is the offset of the excluded record; it may lie outside the block.
    """
    mass, high, n = 0.0, np.float64(top), np.int64(acc.size)
    if 0 <= hole < acc.size:
        acc[hole] = 0
        n -= 1
    for f in range(plan.query.ptr[q], plan.query.ptr[q + 1]):
        i = plan.fact.item[f]
        for p in range(np.uint64(post.ptr[b, i]), np.uint64(post.ptr[b, i + 1])):
            k = np.uint64(post.local[p])
            # a record seen before is 0 by now
            if acc[k] != 0:
                mass += exponential(beta * (np.float64(acc[k]) - high))
                acc[k] = 0
                n -= 1
    return mass + n * exponential(beta * -high) if n > 0 else mass


@jit
def rescale_mass(q: int, was: int, out: Partials) -> None:
    """Make the mass of query `q` relative to its highest score, after that may have risen from `was`."""
    top = out.top_score[q, 0]
    if top > was:
        out.mass[q] *= exponential(out.beta[q] * np.float64(was - top))
