"""`LinkNoise`: how what a second file says of a person differs from the person's record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.errors import ParameterError
from standout.kernels.bins import Bins

CLASSES = 4
"""Facts seen once, twice, three times, more often: an item that a person bought often is more likely bought again."""


@dataclass(frozen=True)
class LinkNoise:
    """Shares of wrong facts, and agreement of right ones.

    Parameters
    ----------
    e
        Share of facts about an item that the person's record lacks, by how often the fact was seen
        (once, twice, three times, more often). One number holds for all.
    h
        Share of right items whose value and day agree no more than by chance.
    value, time
        Agreement of right facts; None = that channel is not used.
    unrelated
        Share of people whose days in the second file are unrelated to the release.
    """

    e: tuple[float, ...]
    h: float = 0.0
    value: Bins | None = None
    time: Bins | None = None
    unrelated: float = 0.0

    def __post_init__(self) -> None:
        if not self.e or len(self.e) > CLASSES or not all(0 < x < 1 for x in self.e):
            raise ParameterError(f"e={self.e}: use one to {CLASSES} shares between 0 and 1")
        if not (0 <= self.h < 1 and 0 <= self.unrelated < 1):
            raise ParameterError(
                f"h={self.h}, unrelated={self.unrelated}: shares lie between 0 and 1"
            )

    def of_facts(self, times: Array | None, n: int) -> Array:
        """The share e that holds for each fact."""
        e = np.asarray(self.e)
        return np.full(n, e[0]) if times is None else e[classes(times, e.size)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        kernels = {
            name: None
            if x is None
            else {"edges": list(x.edges), "share": list(x.share), "wide": x.wide}
            for name, x in (("value", self.value), ("time", self.time))
        }
        return {"e": list(self.e), "h": self.h, "unrelated": self.unrelated, **kernels}


def classes(times: Array, n: int) -> Array:
    """Class of each fact by the number of times it was seen, for `n` classes.

    >>> classes(np.array([1, 2, 9]), 4).tolist(), classes(np.array([1, 2, 9]), 1).tolist()
    ([0, 1, 3], [0, 0, 0])
    """
    return np.minimum(np.maximum(times, 1), n) - 1
