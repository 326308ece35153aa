"""Groups of targets by a number: sizes of about a quarter, and no small group hidden in a crowd."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array

SMALLEST = 10
"""Groups of fewer people are not shown alone: a rate among few says something about each of them."""


def cut(size: Array, fewest: int = 1) -> list[int]:
    """Largest number of each group: groups of about a quarter of the targets, and of at least a twentieth and `fewest`.

    A number that a quarter of the targets share is a group of its own, so that a few people beside
    a crowd are not counted with it.

    >>> cut(np.arange(8)), cut(np.array([1] * 9 + [50] * 91)), cut(np.array([1] * 2 + [50] * 98))
    ([1, 3, 5, 7], [1, 50], [50])
    >>> cut(np.arange(8), fewest=4), cut(np.array([1] * 9 + [50] * 91), fewest=10)
    ([3, 7], [50])
    """
    values, counts = np.unique(size, return_counts=True)
    quarter, least = max(size.size / 4, fewest), max(size.size / 20, fewest)
    ends: list[int] = []
    inside = 0
    for k, n in enumerate(counts.tolist()):
        inside += n
        is_last = k == counts.size - 1
        if not is_last and (inside >= quarter or (counts[k + 1] >= quarter and inside >= least)):
            ends.append(int(values[k]))
            inside = 0
    if ends and inside < least:
        ends.pop()
    return [*ends, int(values[-1])]
