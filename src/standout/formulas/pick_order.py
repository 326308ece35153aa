"""Probability of items that were drawn one after the other without replacement, in proportion to weights."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.formulas.likelihood import MOST_ORDERED, wrong_order
from standout.jit import njit

MOST_UNDETERMINED = 16
"""Most facts of a query for which all choices of wrong values are summed up."""

_STEP = 0.08
"""Step of the integral in log t: the error of the sum falls exponentially in 1/step, and is below 1e-12 for 40 items."""


@njit(nogil=True, cache=True, error_model="numpy")
def log_mean_order(weight: Array, n: int, total: float, scratch: Array) -> float:
    """Log of the mean over the orders of `n` items of Π_j ω_j / (total - Σ of the earlier ω).

    Up to `MOST_ORDERED` items by subsets (`wrong_order`), else as an integral: if item j waits for
    an exponential time with rate ω_j, the items are the first n of all with probability
    ∫ λ·e^(-λt)·Π_j (1 - e^(-ω_j·t)) dt, λ = total - Σ_j ω_j; each of the n! orders has its share.

    Parameters
    ----------
    weight
        ω_j > 0, of which the first `n` are used.
    n
        Number of items.
    total
        Sum of the weights of all items that could have been drawn first, these included.
    scratch
        float64 array of at least 2^min(n, `MOST_ORDERED`) elements.

    >>> two = log_mean_order(np.array([1.0, 3.0]), 2, 8.0, np.empty(4))
    >>> round(float(np.exp(two)), 9) == round((1 / 8 * 3 / 7 + 3 / 8 * 1 / 5) / 2, 9)
    True
    """
    if n <= 0:
        return 0.0
    if n <= MOST_ORDERED:
        return float(np.log(wrong_order(weight, n, total, scratch)))
    rest, largest, orders = total, 0.0, 0.0
    for j in range(n):
        rest -= weight[j]
        largest = max(largest, weight[j])
        orders += np.log(j + 1.0)
    if rest < 0.5:
        # weights are whole numbers: there are no other items
        return -orders
    # the integrand falls at least like t^n below the first limit, and like e^(-rest·t) above the second
    x, stop = np.log(0.01 / max(largest, rest)), np.log((60.0 + 3.0 * n) / rest)
    top, out = -np.inf, 0.0
    while x <= stop:
        t = np.exp(x)
        y = np.log(rest) + x - rest * t
        for j in range(n):
            y += np.log(-np.expm1(-weight[j] * t))
        if y > top:
            out, top = out * np.exp(top - y) + 1.0, y
        else:
            out += np.exp(y - top)
        x += _STEP
    return float(top + np.log(out * _STEP) - orders)


@njit(nogil=True, cache=True, error_model="numpy")
def log_weighted_wrong(
    right: Array,
    wrong: Array,
    weight: Array,
    fine: Array,
    w: int,
    total: float,
    total_fine: float,
    part: Array,
    scratch: Array,
) -> float:
    """Log Σ_W M(W; φ, Φ)·M(rest; ω, Ω - Σ_W ω)·Π_W u_i·Π_rest K_i, over all sets W of w wrong facts; M = `log_mean_order`.

    The wrong facts are drawn first, by the weights φ of what can be wrong, and then the right ones
    from the remaining items.

    Parameters
    ----------
    right, wrong
        K_i(r) and u_i(r) per fact.
    weight, fine
        ω_i(r) and φ_i(r) per fact; ω_i = 0 for a fact that was not picked.
    w
        Number of wrong facts.
    total, total_fine
        Ω and Φ: sums of ω and φ over the record.
    part, scratch
        Scratch arrays of at least m and 2^min(m, `MOST_ORDERED`) elements.

    >>> one, two = np.array([0.5, 0.2]), np.array([0.1, 0.0])
    >>> p = log_weighted_wrong(one, two, np.array([2.0, 3.0]), np.array([1.0, 3.0]), 1, 9.0, 5.0, np.empty(2), np.empty(4))
    >>> round(float(np.exp(p)), 9) == round(1 / 5 * 3 / 7 * 0.1 * 0.2, 9)
    True
    """
    m = right.size
    open_facts, forced, size = np.int64(0), np.int64(0), np.int64(0)
    for i in range(m):
        if right[i] > 0.0 and wrong[i] > 0.0:
            open_facts |= np.int64(1) << i
            size += 1
        elif wrong[i] > 0.0:
            forced |= np.int64(1) << i
            w -= 1
        elif not right[i] > 0.0:
            return -np.inf
    if w < 0 or w > size:
        return -np.inf
    top, out = -np.inf, 0.0
    more = open_facts
    while True:
        if _ones(more) == w:
            y = _log_one(
                right, wrong, weight, fine, forced | more, total, total_fine, part, scratch
            )
            if y > top:
                out, top = out * np.exp(top - y) + 1.0, y
            elif y > -np.inf:
                out += np.exp(y - top)
        if more == 0:
            break
        # the next subset of the open facts
        more = (more - 1) & open_facts
    return float(top + np.log(out)) if out > 0.0 else -np.inf


@njit(nogil=True, cache=True)
def _ones(x: int) -> int:
    """Number of bits that are set."""
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n


@njit(nogil=True, cache=True, error_model="numpy")
def _log_one(
    right: Array,
    wrong: Array,
    weight: Array,
    fine: Array,
    chosen: int,
    total: float,
    total_fine: float,
    part: Array,
    scratch: Array,
) -> float:
    """The logarithm of one term: `chosen` has a bit for each wrong fact."""
    out, n, rest = 0.0, np.int64(0), total
    for i in range(right.size):
        if chosen >> i & 1:
            part[n] = fine[i]
            n += 1
            rest -= weight[i]
            out += np.log(wrong[i])
    out += log_mean_order(part, n, total_fine, scratch)
    n = np.int64(0)
    for i in range(right.size):
        if not chosen >> i & 1:
            out += np.log(right[i])
            if weight[i] > 0.0:
                part[n] = weight[i]
                n += 1
    return float(out + log_mean_order(part, n, rest, scratch))
