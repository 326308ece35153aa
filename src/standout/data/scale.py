"""`ValueScale`: the value levels of a dataset, and tolerances on them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.values import ROUNDING, grid_step, percent
from standout.kernels.levels import ErrorKernel, Exact, Relative, Steps, Uniform


class ValueScale:
    """What a `Dataset` knows of its values; the levels are fields of the dataset."""

    levels: Array

    @property
    def n_levels(self) -> int:
        """Number of value levels."""
        return int(self.levels.size)

    @property
    def value_range(self) -> float:
        """Range of the value scale: DSS12's p."""
        low, high = self.scale_ends
        return high - low

    @property
    def scale_ends(self) -> tuple[float, float]:
        """Smallest and largest value of the data."""
        if not self.n_levels:
            return 0.0, 0.0
        return float(self.levels[0]), float(self.levels[-1])

    @cached_property
    def value_grid(self) -> float | None:
        """Step of the value scale if it is a regular grid with at most 64 steps, else None."""
        return grid_step(self.levels)

    def reach(self, tolerance: Any) -> Array:
        """(levels,): the tolerance plus the largest error by rounding of a difference of values: 3.4 - 2.4 is not 1 in binary.

        The error is relative to the values: a fixed one would make all values of a small unit
        equal.
        """
        error = ROUNDING * (np.abs(self.levels) + tolerance)
        return np.asarray(tolerance + np.minimum(error, self._nearest / 4))

    @cached_property
    def _nearest(self) -> Array:
        """(levels,): distance to the nearest other level; 0.3 is none of 0.1 + 0.2."""
        apart = np.diff(self.levels)
        apart[apart <= np.finfo(np.float64).eps * np.abs(self.levels[1:])] = np.inf
        return (
            np.minimum(np.append(apart, np.inf), np.append(np.inf, apart))
            if self.n_levels
            else apart
        )

    def near_levels(self, within: float) -> tuple[Array, Array]:
        """(levels,), (levels,): first level, and one past the last, that may hold a value within the tolerance of the level's."""
        levels, reach = self.levels, self.reach(within)
        return np.searchsorted(levels, levels - reach), np.searchsorted(
            levels, levels + reach, side="right"
        )

    def tolerance(self, within: float | str) -> Array:
        """(levels,): largest error of a known value if the true value is that of the level; "10%" is relative to it."""
        share = percent(within)
        if share is None:
            return np.full(self.n_levels, float(within))
        return np.asarray(share * np.abs(self.levels))

    def error_kernel(self, within: float | str) -> ErrorKernel:
        """Kernel of a value that is known to within a tolerance: whole steps on a regular grid, else real numbers."""
        share, low_high = percent(within), self.scale_ends
        if share is not None:
            return Relative(share, *low_high)
        if self.value_grid is not None:
            return Steps(float(within), self.value_grid)
        return Uniform(float(within), *low_high) if float(within) else Exact()
