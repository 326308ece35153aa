"""`Rounded`: an amount known as a multiple of a unit, as in "about 12 euros": the tolerance `round:UNIT` of a channel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.arrays import Array
from standout.kernels.levels import SLACK, ErrorKernel, Errors


@dataclass(frozen=True)
class Rounded(ErrorKernel):
    """Value rounded to the nearest multiple of a unit; halfway between two, either of them, equally likely.

    The multiple may lie outside the scale: 0.42 is about 0.
    """

    unit: float

    def errors(self, levels: Array) -> Errors:
        """The distance of each level from its multiple."""
        width = np.abs(levels - self.rounded(levels, 0.0))
        return Errors(-1, 1.0, width, -np.inf, np.inf)

    def rounded(self, value: Array, uniform: Array | float) -> Array:
        """The multiple of each value; halfway between two, the lower one where the uniform number is below 1/2."""
        slack = np.where(np.asarray(uniform) < 0.5, -SLACK, SLACK)
        return np.asarray(self.unit * np.floor(value / self.unit + 0.5 + slack))

    def chances(self, known: Array, code: Array, levels: Array) -> Array:
        """Probability: 1 at the multiple nearest to the level, 1/2 at each of two."""
        near = 1e-6 * self.unit
        ends = (self.rounded(levels, uniform)[code] for uniform in (0.0, 1.0))
        hits = [(np.abs(known - end) <= near).astype(np.float64) for end in ends]
        return np.asarray((hits[0] + hits[1]) / 2)

    def draw(self, true: Array, uniform: Array, levels: Array) -> Array:
        """Return the multiple of each value."""
        return self.rounded(true, uniform)

    def _window(self, known: Array, levels: Array) -> tuple[Array, Array]:
        half = self.unit * (0.5 + 1e-6)
        first = np.searchsorted(levels, known - half)
        return first, np.searchsorted(levels, known + half, "right")
