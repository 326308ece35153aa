"""Coding of values: every distinct value is a level of its own, and codes are indices of levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array
from standout.errors import InputError
from standout.jit import njit

MOST_LEVELS = 2**31 - 1
"""The code after the last level means "no value"."""

MOST_GRID_STEPS = 64
"""A regular scale with at most this many steps from end to end is a grid: errors on it are whole steps."""


ROUNDING = 2.0**-46
"""Largest relative error of values by rounding: text with 15 digits."""


def code_type(n_levels: int) -> np.dtype[Any]:
    """Type of the codes: one byte for up to 255 levels, two bytes for up to 65,535, four for more.

    >>> code_type(255), code_type(256), code_type(65_536)
    (dtype('uint8'), dtype('uint16'), dtype('uint32'))
    """
    return np.dtype(np.min_scalar_type(n_levels))


def levels_of(distinct: Array) -> Array:
    """Levels for the distinct values, which are ascending and finite.

    >>> levels_of(np.array([-0.0, 2.5, 4.0])).tolist()
    [0.0, 2.5, 4.0]
    """
    if distinct.size > MOST_LEVELS:
        raise InputError(
            f"{distinct.size:,} distinct values: at most {MOST_LEVELS:,} can be kept, so round the values"
        )
    return np.asarray(distinct, np.float64) + 0.0  # -0.0 becomes 0.0


def codes_of(values: Array, levels: Array) -> Array:
    """Code of each value: the number of levels below it; the number of all levels, "no value", for NaN.

    >>> codes_of(np.array([1.0, 7.0, np.nan]), np.array([2.0, 7.0])).tolist()
    [0, 1, 2]
    """
    code = np.empty(values.size, code_type(levels.size))
    _find_codes(values, levels, code)
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


def rounding_unit(within: Any) -> float | None:
    """Unit of a tolerance like "round:1", None if it is not of that form.

    >>> rounding_unit("round:0.5"), rounding_unit("10%"), rounding_unit(1)
    (0.5, None, None)
    """
    if not isinstance(within, str) or not within.strip().startswith("round:"):
        return None
    try:
        unit = float(within.strip().removeprefix("round:"))
    except ValueError:
        return None
    return unit if 0 < unit < np.inf else None


def is_tolerance_text(within: Any) -> bool:
    """Whether a text is a tolerance: a share, or a unit to which numbers are rounded."""
    return percent(within) is not None or rounding_unit(within) is not None


def channel_words(name: str, within: float | str | None) -> str:
    """How exactly a further channel is known.

    >>> channel_words("price", "10%"), channel_words("quantity", 0), channel_words("total", "round:5")
    ('price ±10%', 'quantity exact', 'total rounded to 5')
    """
    if (unit := rounding_unit(within)) is not None:
        return f"{name} rounded to {unit:g}"
    if isinstance(within, str):
        return f"{name} ±{within.replace(' ', '')}"
    return f"{name} ±{within:g}" if within else f"{name} exact"


def value_words(within: float | str) -> str:
    """How exactly values are known.

    >>> value_words(0), value_words(0.5), value_words("10%")
    ('values exact', 'values ±0.5', 'values ±10%')
    """
    return channel_words("values", within)
