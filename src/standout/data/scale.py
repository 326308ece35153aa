"""`ValueScale`: the levels of a channel, and tolerances on them; `Channel`: a named one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.values import ROUNDING, grid_step, percent, rounding_unit
from standout.errors import ParameterError
from standout.kernels.levels import CircleSteps, ErrorKernel, Exact, Relative, Steps, Uniform
from standout.kernels.rounded import Rounded

RESERVED = ("record", "item", "value", "time", "length")
"""Names that no further channel and no attribute can have."""


def check_name(name: Any) -> str:
    """Refuse a name of a channel or attribute that is taken or cannot be typed."""
    if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
        raise ParameterError(
            f"channel {name!r}: use a name of letters, digits and _ that is none of {', '.join(RESERVED)}"
        )
    return name


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
        """(levels,): largest error of a known value, by true level; "10%" is relative to it, "round:1" rounds it."""
        if unit := rounding_unit(within):
            return Rounded(unit).errors(self.levels).width
        share = percent(within)
        if share is None:
            return np.full(self.n_levels, float(within))
        return np.asarray(share * np.abs(self.levels))

    def error_kernel(self, within: float | str) -> ErrorKernel:
        """Kernel of a value that is known to within a tolerance: whole steps on a regular grid, else real numbers; or rounded."""
        if unit := rounding_unit(within):
            return Rounded(unit)
        share, low_high = percent(within), self.scale_ends
        if share is not None:
            return Relative(share, *low_high)
        if self.value_grid is not None:
            return Steps(float(within), self.value_grid)
        return Uniform(float(within), *low_high) if float(within) else Exact()

    def gap(self, known: Array, level: Array) -> Array:
        """Distance of each known value from a level, pair by pair."""
        return np.asarray(np.abs(known - level))

    def n_outside(self, reach: Array) -> Array:
        """Per level: number of levels farther off than its reach, from which a wrong one is drawn.

        >>> scale = Channel("stars", np.arange(1.0, 6.0))
        >>> scale.n_outside(np.full(5, 2.0)).tolist()
        [2, 1, 0, 1, 2]
        """
        first, stop = self._inside(reach)
        return np.asarray(self.n_levels - (stop - first))

    def outside(self, code: Array, reach: Array, turn: Array) -> Array:
        """Level of the given number, counted from 0, among those outside the reach of each level `code`."""
        first, stop = (x[code] for x in self._inside(reach))
        return np.asarray(self.levels[np.where(turn < first, turn, stop + turn - first)])

    def _inside(self, reach: Array) -> tuple[Array, Array]:
        """Per level: first level in its reach, and one past the last."""
        return (
            np.searchsorted(self.levels, self.levels - reach),
            np.searchsorted(self.levels, self.levels + reach, side="right"),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Attribute:
    """A column of the records: something that is known of a person beside the entries."""

    channel: Channel
    code: Array
    """int64 (records): level; the number of levels = none."""


@dataclass(frozen=True, eq=False, repr=False)
class Channel(ValueScale):
    """A level channel of the entries: its name and its scale."""

    name: str
    levels: Array
    """float64, ascending and distinct; 0, 1, … where they stand for labels."""
    labels: Array | None = None
    """Labels of the levels, where they have no order."""
    period: float = 0.0
    """Length of a scale that is a circle, such as 24 hours; 0 for a line."""

    @property
    def kind(self) -> str:
        """The shape of the scale: "line", "circle" or "nominal"."""
        if self.labels is not None:
            return "nominal"
        return "circle" if self.period else "line"

    @property
    def label_or_level(self) -> Array:
        """What the levels are: labels as text, or numbers."""
        return self.levels if self.labels is None else self.labels.astype(str)

    @property
    def label_array(self) -> Array:
        """Labels and period as arrays, for digests."""
        return np.array([self.period]) if self.labels is None else self.labels

    def gap(self, known: Array, level: Array) -> Array:
        """Distance of each known level from another, pair by pair; infinite between different labels."""
        gap = np.abs(known - level)
        if self.labels is not None:
            gap = np.where(gap == 0, 0.0, np.inf)
        elif self.period:
            gap = np.minimum(gap % self.period, self.period - gap % self.period)
        return np.asarray(gap)

    def error_kernel(self, within: float | str) -> ErrorKernel:
        """Kernel of a level that is known to within a tolerance."""
        if self.labels is not None:
            if within != 0:
                raise ParameterError(
                    f"within={{{self.name!r}: {within!r}}}: {self.name} has labels without an order, which are known "
                    "exactly (0) or not at all"
                )
            return Exact()
        if self.period:
            if isinstance(within, str):
                raise ParameterError(
                    f"within={{{self.name!r}: {within!r}}}: use a number for {self.name}, which is a circle"
                )
            return CircleSteps(float(within), 1.0, self.period)
        return super().error_kernel(within)

    def n_outside(self, reach: Array) -> Array:
        """Per level: number of levels farther off than its reach, from which a wrong one is drawn."""
        if self.kind == "line":
            return super().n_outside(reach)
        if self.labels is not None:
            return np.full(self.n_levels, self.n_levels - 1)
        gap = self.gap(self.levels[:, None], self.levels[None, :])
        return np.asarray((gap > reach[:, None]).sum(axis=1))

    def outside(self, code: Array, reach: Array, turn: Array) -> Array:
        """Level of the given number, counted from 0, among those outside the reach of each level `code`."""
        if self.labels is not None:
            return np.asarray(self.levels[turn + (turn >= code)])
        if not self.period:
            return super().outside(code, reach, turn)
        far = self.gap(self.levels[code][:, None], self.levels[None, :]) > reach[code][:, None]
        by_distance = np.argsort(~far, axis=1, kind="stable")
        return np.asarray(self.levels[by_distance[np.arange(code.size), turn]])
