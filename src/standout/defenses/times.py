"""Defenses that change times: coarser dates, one shift per person, removal."""

from __future__ import annotations

import numpy as np

from standout.data.dataset import Dataset
from standout.data.export import entry_days
from standout.data.mechanism import Mechanism, TimeMap
from standout.data.periods import period_starts
from standout.data.purposes import PURPOSE_SHIFT
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense
from standout.kernels.moments import Window

PERIODS = ("day", "week", "month", "quarter", "year")
LONGEST_SHIFT = 100_000


@register_defense("coarsen-time")
class CoarsenTime(Defense):
    """Replace each time by the first day of its period.

    Parameters
    ----------
    to
        "day", "week" (from Monday), "month", "quarter" or "year".
    """

    def __init__(self, *, to: str) -> None:
        self.to = checks.one_of(self.name, to, "to", PERIODS)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with coarser times; missing times stay missing."""
        checks.needs_times(self.name, source)
        if self.to == "day" and source.time_resolution == "day":
            return source
        first = source.first_tick // source.ticks_per_day
        last = (source.first_tick + source.tick_span) // source.ticks_per_day
        starts = period_starts(np.arange(first, last + 1), self.to)
        known = source.record_tick != source.no_tick
        day = np.full(source.n_entries, np.nan)
        day[known] = starts[
            (source.first_tick + source.record_tick[known].astype(np.int64)) // source.ticks_per_day
            - first
        ]
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

    def __init__(self, *, days: int) -> None:
        self.days = checks.whole(self.name, days, "days", 0, LONGEST_SHIFT)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with shifted times; missing times stay missing."""
        checks.needs_times(self.name, source)
        if self.days == 0:
            return source
        uniform = draws.record_uniforms(source, seed, PURPOSE_SHIFT)
        shift = Window(self.days).draw(0, uniform)
        day = entry_days(source)
        assert day is not None
        return source.with_entries(day=day + np.repeat(shift, np.diff(source.record_ptr)))

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the largest shift."""
        return Mechanism(time=TimeMap(shift=self.days)) if self.days else Mechanism()


@register_defense("drop-time")
class DropTime(Defense):
    """Remove all times."""

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without times."""
        checks.needs_times(self.name, source)
        return source.with_entries(drop=("time",))

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the parameters of a release without times."""
        return Mechanism(dropped=frozenset({"time"}))
