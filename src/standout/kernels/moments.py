"""Kernels on moments: how a seen time differs from the true one, in ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


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
class Laplace:
    """Time moved by a two-sided geometric error with scale `scale` ticks."""

    scale: float

    @property
    def reach(self) -> int:
        """Gap at which the probability has fallen by e^-30."""
        return int(np.ceil(30 * self.scale)) + 1

    def table(self, gaps: Array) -> Array:
        """(1-a)/(1+a)·a^|gap|, a = e^(-1/scale)."""
        a = np.exp(-1.0 / self.scale)
        return np.asarray((1 - a) / (1 + a) * a ** np.abs(np.asarray(gaps, dtype=np.float64)))

    def draw(self, true: Any, uniform: Array) -> Array:
        """Return the true tick plus a whole number of ticks, by the inverse of its distribution function."""
        # P(gap ≤ -k) = a^k/(1+a)
        a = np.exp(-1.0 / self.scale)
        tail = np.minimum(uniform, 1 - uniform) * (1 + a)
        size = np.maximum(np.floor(-self.scale * np.log(np.maximum(tail, 1e-300))), 0)
        return np.asarray(true + np.where(uniform < 0.5, -size, size))
