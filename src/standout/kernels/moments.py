"""Kernels on moments: how a seen time differs from the true one, in ticks.

A `Window` blurs the times that an adversary knows and those that a defense blurs; `Periods` are the
calendar periods to which a defense rounds days, and by which `audit/place_time.py` cuts time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from standout.arrays import Array


class MomentKernel(Protocol):
    """Probability of a known time, given the candidate's. Gaps are signed: known minus candidate's time, in ticks."""

    @property
    def reach(self) -> int:
        """Gaps beyond ±reach have the probability of the gap -reach or +reach."""
        ...

    def table(self, gaps: Array) -> Array:
        """K(gap), one number per signed gap; over all gaps they sum to 1."""
        ...


@dataclass(frozen=True)
class Window:
    """Time moved by a uniform whole number of ticks in ±ticks."""

    ticks: int

    @property
    def reach(self) -> int:
        """One past the window."""
        return self.ticks + 1

    def table(self, gaps: Array) -> Array:
        """1/(2·ticks + 1) inside the window, 0 outside."""
        return np.where(np.abs(gaps) <= self.ticks, 1.0 / (2 * self.ticks + 1), 0.0)

    def draw(self, true: Any, uniform: Array) -> Array:
        """Return the true tick plus a whole number of ticks."""
        return np.asarray(true + np.floor(uniform * (2 * self.ticks + 1)) - self.ticks)


@dataclass(frozen=True)
class Periods:
    """Day replaced by the first day of its calendar period: what is seen depends on the day, not on a gap alone.

    Days are counted from 1970-01-01.
    """

    to: str
    """"day", "week" (from Monday), "month", "quarter" or "year"."""

    def draw(self, true: Array) -> Array:
        """Return the first day of the period of each day.

        >>> Periods("month").draw(np.array([0, 45, 100])).tolist(), Periods("week").draw(np.array([0, 4])).tolist()
        ([0, 31, 90], [-3, 4])
        """
        if self.to == "day":
            return np.asarray(true)
        if self.to == "week":
            # 1970-01-01 was a Thursday
            return np.asarray(true - (true + 3) % 7)
        unit = "Y" if self.to == "year" else "M"
        start = true.astype("datetime64[D]").astype(f"datetime64[{unit}]")
        if self.to == "quarter":
            start = start - start.astype(np.int64) % 3
        return np.asarray(start.astype("datetime64[D]").astype(np.int64))

    def lengths(self, first: int, n: int) -> Array:
        """int64 (n): number of days that are seen as each of the days `first … first + n - 1`; 0 where no period starts.

        >>> Periods("month").lengths(30, 3).tolist(), Periods("day").lengths(23, 3).tolist()
        ([0, 28, 0], [1, 1, 1])
        """
        days = np.arange(first, first + n + 368)
        at = days[self.draw(days) == days]
        out = np.zeros(days.size, np.int64)
        out[at[:-1] - first] = np.diff(at)
        return out[:n]
