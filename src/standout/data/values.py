"""Coding of values: up to 4,095 distinct values exactly, more of them as narrow cells with stated bounds."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from standout.jit import njit

Array = npt.NDArray[Any]

MOST_LEVELS = 4095
"""Codes have 12 bits in the sort key, and the code after the last level means "no value"."""

MOST_GRID_STEPS = 64
"""A regular scale with at most this many steps from end to end is a grid: errors on it are whole steps."""


ROUNDING = 2.0**-46
"""Largest relative error of values by rounding: text with 15 digits."""


class Scale(NamedTuple):
    """The levels that values are coded as. A level stands for the values from `low` to `high`."""

    levels: Array
    """Strictly ascending, at most 4,095 elements."""
    low: Array
    high: Array

    @property
    def error(self) -> float:
        """Largest difference between a value and its level; 0 if the coding is exact."""
        if not self.levels.size:
            return 0.0
        return float(np.maximum(self.levels - self.low, self.high - self.levels).max())

    @classmethod
    def empty(cls) -> Scale:
        """Scale of data without values."""
        return cls(np.empty(0), np.empty(0), np.empty(0))


def code_type(n_levels: int) -> np.dtype[Any]:
    """Type of the codes: one byte for up to 255 levels, two bytes for up to 65,535, four for more.

    >>> code_type(255), code_type(256), code_type(65_536)
    (dtype('uint8'), dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.min_scalar_type(n_levels))


def code_values(distinct: Array, counts: Array, lows: Array | None = None) -> Scale:
    """Levels for the distinct values.

    Up to 4,095 distinct values are their own levels. More are covered by at most 4,095 cells, as
    narrow as possible on the scale asinh((v - median) / step), which is even near the median and
    logarithmic far from it: small counts stay exact even with a few huge ones. The level is the
    middle of its cell.

    Parameters
    ----------
    distinct
        The distinct values, ascending, finite.
    counts
        How often each occurs; they give the median.
    lows
        Where `distinct` holds the upper ends of narrow ranges of values: their lower ends.

    Examples
    --------
    >>> scale = code_values(np.array([1.0, 2.5, 4.0]), np.array([3, 1, 9]))
    >>> scale.levels.tolist(), scale.error
    ([1.0, 2.5, 4.0], 0.0)
    """
    high = np.asarray(distinct, np.float64) + 0.0  # -0.0 becomes 0.0
    low = high if lows is None else np.asarray(lows, np.float64) + 0.0
    if high.size <= MOST_LEVELS and lows is None:
        return Scale(high, high, high)
    t_low, t_high = _compressed(low, high, np.asarray(counts))
    start = _narrowest_cover(t_low, t_high)
    stop = np.append(start[1:], high.size) - 1
    lo, hi = low[start], high[stop]
    return Scale(np.clip(lo / 2 + hi / 2, lo, hi), lo, hi)


def codes_of(values: Array, ends: Array) -> Array:
    """Code of each value: the number of ends (`Scale.high`) below it; the number of all ends, "no value", for NaN.

    >>> codes_of(np.array([1.0, 7.0, np.nan]), np.array([2.0, 7.0])).tolist()
    [0, 1, 2]
    """
    code = np.empty(values.size, code_type(ends.size))
    _find_codes(values, ends, code)
    return code


@njit(nogil=True, cache=True)
def _find_codes(values: Array, ends: Array, code: Array) -> None:
    few = ends.size <= 16
    for k in range(values.size):
        v = values[k]
        if few:  # rating scales: a loop without branches is several times faster than a search
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


def grid_step(levels: Array) -> float | None:
    """Step of a regular grid with at most 64 steps that holds all levels, None for any other scale.

    >>> grid_step(np.array([1.0, 2.0, 4.0, 5.0])), grid_step(np.arange(0.0, 100.0)), grid_step(np.array([1.0, 2.0, 3.7]))
    (1.0, None, None)
    """
    if levels.size < 2:
        return 1.0 if levels.size else None
    with np.errstate(over="ignore", invalid="ignore"):
        steps = (levels - levels[0]) / np.diff(levels).min()
        n = np.rint(steps[-1])
        if not (n <= MOST_GRID_STEPS and np.all(np.abs(steps - np.rint(steps)) < 1e-6)):
            return None
    return float((levels[-1] - levels[0]) / n)


def percent(within: Any) -> float | None:
    """Share of a tolerance like "10%", None if it is not of that form.

    >>> percent("10%"), percent(1)
    (0.1, None)
    """
    if not isinstance(within, str):
        return None
    try:
        share = (
            float(within.strip().removesuffix("%")) / 100 if within.strip().endswith("%") else -1.0
        )
    except ValueError:
        return None
    return share if 0 <= share < np.inf else None


def coding_note(
    n_distinct: int, n_levels: int, width: float, error: float, *, about: bool = False
) -> str:
    """One sentence about values that are not kept exactly."""
    many = f"about {n_distinct:,}" if about else f"{n_distinct:,}"
    return f"value: {many} distinct values coded as {n_levels} levels, {rounded_words(width)}, largest error {error:.6g}"


def rounded_words(width: float) -> str:
    """How values are known that are not kept exactly: they agree if they lie in the same cell.

    >>> rounded_words(0.0312)
    'rounded to about 0.03'
    """
    return f"rounded to about {float(f'{width:.1g}'):g}"


def value_words(within: float | str, rounded: float = 0.0) -> str:
    """How exactly values are known; `rounded` is the width of a typical cell of a scale that is not exact, 0 if it is.

    >>> value_words(0), value_words(0, 0.03), value_words(0.5, 0.03), value_words("10%"), value_words(0.01, 0.03)
    ('values exact', 'values rounded to about 0.03', 'values ±0.5', 'values ±10%', 'values ±0.01, rounded to about 0.03')
    """
    if isinstance(within, str):
        return f"values ±{within.replace(' ', '')}"
    if within == 0:
        return f"values {rounded_words(rounded)}" if rounded else "values exact"
    return f"values ±{within:g}" + (f", {rounded_words(rounded)}" if within < rounded else "")


def typical_width(scale: Scale, values: Array, counts: Array) -> float:
    """Median width of the cells of entries whose level stands for several values; 0 if there is none.

    Parameters
    ----------
    scale
        The levels.
    values, counts
        The values that were coded, and the entries of each.
    """
    width = scale.high - scale.low
    entries = np.bincount(codes_of(values, scale.high), weights=counts, minlength=scale.levels.size)
    wide = np.flatnonzero(width > 0)
    if not wide.size:
        return 0.0
    order = wide[np.argsort(width[wide])]
    below = np.cumsum(entries[order])
    return float(width[order[np.searchsorted(below, below[-1] / 2)]])


def _compressed(low: Array, high: Array, counts: Array) -> tuple[Array, Array]:
    """Both ends on the scale asinh((v - median) / step)."""
    size = max(abs(float(low[0])), abs(float(high[-1])))
    if size > 1e150:  # differences would overflow
        low, high = low / size, high / size
    total = np.cumsum(counts, dtype=np.float64)
    quarter = high[
        np.minimum(np.searchsorted(total, total[-1] * np.array([0.25, 0.5, 0.75])), high.size - 1)
    ]
    # if more than half of the values are equal, the quartiles carry no information about the others
    spread = (quarter[2] - quarter[0]) or float(
        np.average(np.abs(high - quarter[1]), weights=counts)
    )
    gap = float(np.diff(high).min(initial=np.inf))
    with np.errstate(over="ignore", invalid="ignore"):
        steps = (high - high[0]) / gap
        even = bool(np.all(np.abs(steps - np.rint(steps)) < 1e-6)) and steps[-1] < 2**53
    # counts and prices have a smallest step; for other numbers the smallest gap is arbitrary
    step = gap if even else max(gap, spread / 100)
    step = step if np.isfinite(step) else 1.0
    with np.errstate(over="ignore"):
        scaled = [np.clip((end - quarter[1]) / step, -1e300, 1e300) for end in (low, high)]
    return np.arcsinh(scaled[0]), np.arcsinh(scaled[1])


def _narrowest_cover(t_low: Array, t_high: Array) -> Array:
    """Starts of the narrowest cover by at most 4,095 cells of equal width, found by bisection."""
    narrow, wide = 0.0, float(t_high[-1] - t_low[0])
    best = np.zeros(1, np.int64)
    lows, highs = (
        t_low.tolist(),
        t_high.tolist(),
    )  # bisect is ten times faster than NumPy for one number at a time
    for _ in range(60):
        width = (narrow + wide) / 2
        start = _cover(lows, highs, width)
        if start is None:
            narrow = width
        else:
            wide, best = width, start
    return best


def _cover(t_low: list[float], t_high: list[float], width: float) -> Array | None:
    """Starts of the greedy cover by cells of `width`, or None when it takes more than 4,095."""
    starts: list[int] = []
    at = 0
    while at < len(t_high):
        if len(starts) == MOST_LEVELS:
            return None
        starts.append(at)
        at = max(at + 1, bisect_right(t_high, t_low[at] + width, lo=at))
    return np.array(starts, np.int64)


def cell_gaps(values: Any, low: Array, high: Array) -> Array:
    """(values, levels): signed distance from each value to the cell low … high of each level, 0 inside it; NaN stays NaN.

    >>> cell_gaps([2.0, 5.0], np.array([1.0, 4.0]), np.array([3.0, 4.0])).tolist()
    [[0.0, 2.0], [-2.0, -1.0]]
    """
    known = np.asarray(values, np.float64)[:, None]
    if low is high:
        return np.asarray(low[None, :] - known)
    gap = np.maximum(low[None, :] - known, 0.0) + np.minimum(high[None, :] - known, 0.0)
    return np.where(np.isnan(known), np.nan, gap)
