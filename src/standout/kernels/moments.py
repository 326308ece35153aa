"""Kernels on moments: how a seen time differs from the true one, in ticks."""

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
