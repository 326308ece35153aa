"""Values become codes of one byte: up to 255 levels exactly, more of them with a stated largest error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

MOST_LEVELS = 255
"""Code 255 has to stay free: the code after the last level means "no value"."""


def code_values(distinct: Array, counts: Array, lows: Array | None = None) -> tuple[Array, Array, float]:
    """Levels for the distinct values, the level of each, and the largest difference between the two.

    Up to 255 distinct values are their own levels. More are covered by at most 255 intervals, as narrow as can
    be on the scale asinh((v - median) / step), which is even near the median and logarithmic far from it: small
    counts stay exact where a few huge ones would otherwise eat the levels. The level is the middle of its
    interval.

    Parameters
    ----------
    distinct
        The distinct values, rising, finite.
    counts
        How often each occurs; they say where the median lies.
    lows
        Where `distinct` holds the upper ends of narrow ranges of values: their lower ends.

    Returns
    -------
    levels, code_of_distinct, max_error
        `levels` rises strictly and has at most 255 elements.

    Examples
    --------
    >>> levels, codes, error = code_values(np.array([1.0, 2.5, 4.0]), np.array([3, 1, 9]))
    >>> levels.tolist(), codes.tolist(), error
    ([1.0, 2.5, 4.0], [0, 1, 2], 0.0)
    """
    high = np.asarray(distinct, np.float64) + 0.0  # -0.0 becomes 0.0, whichever of the two stood first in the file
    low = high if lows is None else np.asarray(lows, np.float64) + 0.0
    if high.size <= MOST_LEVELS and lows is None:
        return high, np.arange(high.size, dtype=np.uint8), 0.0
    t_low, t_high = _compressed(low, high, np.asarray(counts))
    start = _narrowest_cover(t_low, t_high)
    stop = np.append(start[1:], high.size) - 1
    lo, hi = low[start], high[stop]
    levels = np.clip(lo / 2 + hi / 2, lo, hi)
    error = float(np.maximum(levels - lo, hi - levels).max())
    codes = np.repeat(np.arange(start.size), stop - start + 1).astype(np.uint8)
    return levels, codes, error


def upper_ends(distinct: Array, codes: Array) -> Array:
    """Largest value of each code, from which `codes_of` finds the code of any value.

    >>> upper_ends(np.array([1.0, 2.0, 7.0]), np.array([0, 0, 1], np.uint8)).tolist()
    [2.0, 7.0]
    """
    last = np.append(np.flatnonzero(np.diff(codes.astype(np.int64))), codes.size - 1)
    ends: Array = np.asarray(distinct, np.float64)[last] + 0.0
    return ends


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def codes_of(values: Array, ends: Array) -> Array:
    """Code of each value: the number of ends below it; of NaN, the number of all ends, means "no value"."""
    code = np.empty(values.size, np.uint8)
    few = ends.size <= 16
    for k in range(values.size):
        v = values[k]
        if few:  # rating scales: no branch to guess, which is several times faster than a search
            c = 0
            for e in ends:
                c += not v <= e
            code[k] = c
        else:
            lo, hi = 0, ends.size
            while lo < hi:
                mid = (lo + hi) // 2
                if v <= ends[mid]:
                    hi = mid
                else:
                    lo = mid + 1
            code[k] = lo
    return code


def coding_note(n_distinct: int, n_levels: int, error: float, *, about: bool = False) -> str:
    """One sentence about values that are not kept exactly."""
    many = f"about {n_distinct:,}" if about else f"{n_distinct:,}"
    return f"value: {many} distinct values coded as {n_levels} levels, largest error {error:.6g}"


def _compressed(low: Array, high: Array, counts: Array) -> tuple[Array, Array]:
    """Both ends on the scale asinh((v - median) / step)."""
    size = max(abs(float(low[0])), abs(float(high[-1])))
    if size > 1e150:  # differences would overflow
        low, high = low / size, high / size
    total = np.cumsum(counts, dtype=np.float64)
    quarter = high[np.minimum(np.searchsorted(total, total[-1] * np.array([0.25, 0.5, 0.75])), high.size - 1)]
    # where more than half of the values are equal, the quartiles say nothing about the others
    spread = (quarter[2] - quarter[0]) or float(np.average(np.abs(high - quarter[1]), weights=counts))
    gap = float(np.diff(high).min(initial=np.inf))
    with np.errstate(over="ignore", invalid="ignore"):
        steps = (high - high[0]) / gap
        even = bool(np.all(np.abs(steps - np.rint(steps)) < 1e-6)) and steps[-1] < 2**53
    # counts and prices have a smallest step; the smallest gap of other numbers means nothing
    step = gap if even else max(gap, spread / 100)
    step = step if np.isfinite(step) else 1.0
    with np.errstate(over="ignore"):
        scaled = [np.clip((end - quarter[1]) / step, -1e300, 1e300) for end in (low, high)]
    return np.arcsinh(scaled[0]), np.arcsinh(scaled[1])


def _narrowest_cover(t_low: Array, t_high: Array) -> Array:
    """Where the intervals start in the cover of at most 255 whose width is smallest, found by bisection."""
    narrow, wide = 0.0, float(t_high[-1] - t_low[0])
    best = np.zeros(1, np.int64)
    for _ in range(60):
        width = (narrow + wide) / 2
        start = _cover(t_low, t_high, width)
        if start is None:
            narrow = width
        else:
            wide, best = width, start
    return best


def _cover(t_low: Array, t_high: Array, width: float) -> Array | None:
    """Starts of the greedy cover by intervals of `width`, or None when it takes more than 255."""
    starts: list[int] = []
    at = 0
    while at < t_high.size:
        if len(starts) == MOST_LEVELS:
            return None
        starts.append(at)
        at = max(at + 1, int(np.searchsorted(t_high, t_low[at] + width, side="right")))
    return np.array(starts, np.int64)
