"""Defenses that change a channel: rounding and noise of values, coarser and shifted times, removal.

Noise moves a value by whole steps of the scale. If the scale is a regular grid
(`Dataset.value_grid`), a step is a step of the grid, also over values that do not occur; otherwise
a step leads to the next value that occurs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_records
from standout.data.mechanism import Mechanism, TimeMap
from standout.data.purposes import PURPOSE_NOISE, PURPOSE_SHIFT
from standout.data.values import MOST_LEVELS
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense
from standout.errors import ParameterError
from standout.kernels.levels import Steps, Table
from standout.kernels.moments import Periods, Window

SMALLEST_CHANCE = 1e-12
"""Steps of geometric noise with a smaller probability are added to the last step that has more."""

MOST_PAIRS = 100_000_000
"""Largest number of pairs of a value and what it can become."""

PERIODS = ("day", "week", "month", "quarter", "year")
LONGEST_SHIFT = 100_000


@register_defense("drop-values")
class DropValues(Defense):
    """Remove all values."""

    changed_channel = "value"

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without the channel."""
        return source.with_entries(drop=(self.changed_channel,))

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the parameters of a release without the channel."""
        return Mechanism(dropped=frozenset({self.changed_channel}))


@register_defense("drop-time")
class DropTime(DropValues):
    """Remove all times."""

    changed_channel = "time"


class ValueDefense(Defense):
    """A defense that replaces each value by another one, independently."""

    changed_channel = "value"

    def value_map(self, source: Dataset) -> Table | None:
        """Return P(value in the release | value in the source); None where nothing changes."""
        raise NotImplementedError

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with changed values; missing values stay missing."""
        change = self.value_map(source)
        if change is None:
            return source
        known = source.record_code < source.n_levels
        code = source.record_code[known].astype(np.int64)
        uniform = draws.entry_uniforms(source, seed, PURPOSE_NOISE)[known]
        value = np.full(source.n_entries, np.nan)
        value[known] = change.draw(source.levels[code], uniform)
        return source.with_entries(value=value, levels=change.release)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probabilities of the changes."""
        return Mechanism(value=self.value_map(source))


@register_defense("round-values")
class RoundValues(ValueDefense):
    """Round values to multiples of a step, or to the nearest of given levels. Half-way values go up.

    Parameters
    ----------
    step
        Values become the nearest multiple; 0 changes nothing.
    levels
        Values become the nearest of these numbers.
    """

    def __init__(self, *, step: float | None = None, levels: Any = None) -> None:
        if (step is None) == (levels is None):
            raise ParameterError(f"{self.name}: use either step or levels")
        self.step = None if step is None else checks.number(self.name, step, "step", 0)
        self.levels = None if levels is None else _levels(self.name, levels)

    def value_map(self, source: Dataset) -> Table | None:
        """Return a map in which each value has one image."""
        old = source.levels
        if self.levels is not None:
            given = np.array(self.levels)
            image = given[np.searchsorted((given[1:] + given[:-1]) / 2, old, side="right")]
        elif self.step:
            # 15 digits: 3 · 0.1 is 0.30000000000000004
            steps = np.floor(old / self.step + 0.5 + 1e-12)
            image = np.array([float(f"{x:.15g}") for x in steps * self.step]) + 0.0
        else:
            return None
        if np.array_equal(image, old):
            return None
        new, column = np.unique(image, return_inverse=True)
        return _trimmed(source, new, np.arange(old.size), column, 1.0)


@register_defense("noise-values")
class NoiseValues(ValueDefense):
    """Move each value by a random number of steps, uniform within a tolerance, clipped to the scale.

    Parameters
    ----------
    within
        Largest change, in the unit of the values.
    """

    def __init__(self, *, within: float) -> None:
        self.within = checks.number(self.name, within, "within", 0)

    def value_map(self, source: Dataset) -> Table | None:
        """Return the probabilities: on a grid all steps alike, clipped; else all occurring values within the tolerance alike."""
        if self.within == 0:
            return None
        new = _grid(source)[0]
        n = new.size
        if source.value_grid is not None and n > 1:
            # on the grid an adversary's error and this noise are the same kernel
            chance = sparse.coo_array(
                Steps(self.within, source.value_grid).table(new, source.levels).T
            )
            return _trimmed(source, new, chance.row, chance.col, chance.data)
        reach = source.reach(self.within)
        first = np.searchsorted(new, new - reach)
        width = np.searchsorted(new, new + reach, side="right") - first
        _check_pairs(self.name, int(width.sum()))
        row = np.repeat(np.arange(n), width)
        column = np.arange(row.size) - np.repeat(np.cumsum(width) - width - first, width)
        return _trimmed(source, new, row, column, np.repeat(1 / width, width))


@register_defense("geometric-values")
class GeometricValues(ValueDefense):
    """Add two-sided geometric noise: P(k steps) ∝ a^|k|, clipped to the scale.

    Values that are one step apart give each result with probabilities that differ by the factor 1/a
    at most.

    Parameters
    ----------
    a
        Ratio of the probabilities of k + 1 and k steps, from 0 (no change) to below 1.
    """

    def __init__(self, *, a: float) -> None:
        self.a = checks.number(self.name, a, "a", 0)
        if self.a >= 1:
            raise ParameterError(f"{self.name}: a={a!r}: use a number from 0 to below 1")

    def value_map(self, source: Dataset) -> Table | None:
        """Return the probabilities; the tails end at the ends of the scale."""
        if self.a == 0:
            return None
        new, place = _grid(source)
        n = new.size
        reach = min(n, max(1, int(np.ceil(np.log(SMALLEST_CHANCE) / np.log(self.a)))))
        step = np.arange(-reach, reach + 1)
        _check_pairs(self.name, place.size * step.size)
        weight = self.a ** np.abs(step) * (1 - self.a) / (1 + self.a)
        weight[[0, -1]] += (1 - weight.sum()) / 2
        row = np.repeat(np.arange(place.size), step.size)
        column = np.clip(np.repeat(place, step.size) + np.tile(step, place.size), 0, n - 1)
        return _trimmed(source, new, row, column, np.tile(weight, place.size))


def _levels(name: str, levels: Any) -> list[float]:
    if isinstance(levels, str) or not np.iterable(levels):
        raise ParameterError(f"{name}: levels={levels!r}: use a list of numbers")
    numbers = sorted({checks.number(name, x, "levels", -np.inf) for x in levels})
    if not 0 < len(numbers) <= MOST_LEVELS:
        raise ParameterError(
            f"{name}: levels has {len(numbers):,} distinct numbers: use 1 to {MOST_LEVELS:,}"
        )
    return numbers


def _check_pairs(name: str, n: int) -> None:
    """Refuse a change with more pairs of a value and what it becomes than memory holds."""
    if n > MOST_PAIRS:
        raise ParameterError(
            f"{name}: the values have {n:,} pairs of a value and what it can become, at most {MOST_PAIRS:,} are possible: "
            "lower the noise, or round the values first (round-values)"
        )


def _grid(source: Dataset) -> tuple[Array, Array]:
    """Scale on which values move, and the place of each level on it."""
    old, step = source.levels, source.value_grid
    if step is None or old.size < 2:
        return old, np.arange(old.size)
    place = np.rint((old - old[0]) / step).astype(np.int64)
    new = np.array([float(f"{x:.12g}") for x in old[0] + step * np.arange(place[-1] + 1)])
    new[place] = old
    return new, place


def _trimmed(source: Dataset, new: Array, row: Array, column: Array, chance: Any) -> Table:
    """Map without the levels that no value can become."""
    reached, column = np.unique(column, return_inverse=True)
    weights = np.broadcast_to(chance, row.shape)
    table = sparse.csr_array((weights, (row, column)), shape=(source.n_levels, reached.size))
    table.sum_duplicates()
    return Table(source.levels, new[reached], table)


@register_defense("coarsen-time")
class CoarsenTime(Defense):
    """Replace each time by the first day of its period.

    Parameters
    ----------
    to
        "day", "week" (from Monday), "month", "quarter" or "year".
    """

    changed_channel = "time"

    def __init__(self, *, to: str) -> None:
        self.to = checks.one_of(self.name, to, "to", PERIODS)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with coarser times; missing times stay missing."""
        if self.to == "day" and source.time_resolution == "day":
            return source
        first = source.first_tick // source.ticks_per_day
        last = (source.first_tick + source.tick_span) // source.ticks_per_day
        starts = Periods(self.to).draw(np.arange(first, last + 1))
        known = source.record_tick != source.no_tick
        day = np.full(source.n_entries, np.nan)
        tick = source.first_tick + source.record_tick[known].astype(np.int64)
        day[known] = starts[tick // source.ticks_per_day - first]
        return source.with_entries(day=day)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the period."""
        changed = self.to != "day" or source.time_resolution != "day"
        return Mechanism(time=TimeMap(period=self.to)) if changed else Mechanism()


@register_defense("shift-time")
class ShiftTime(Defense):
    """Shift all times of a person by the same random number of days.

    Parameters
    ----------
    days
        Largest shift; each whole number from -days to days is equally likely.
    """

    changed_channel = "time"

    def __init__(self, *, days: int) -> None:
        self.days = checks.whole(self.name, days, "days", 0, LONGEST_SHIFT)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with shifted times; missing times stay missing."""
        if self.days == 0:
            return source
        shift = Window(self.days).draw(0, draws.record_uniforms(source, seed, PURPOSE_SHIFT))
        day = entry_days(source)
        assert day is not None
        return source.with_entries(day=day + shift[entry_records(source)])

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the largest shift."""
        return Mechanism(time=TimeMap(shift=self.days)) if self.days else Mechanism()
