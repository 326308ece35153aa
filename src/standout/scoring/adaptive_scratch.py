"""Scratch memory of the kernel for `Combine.ADAPTIVE`: what it knows of the record at hand, and the candidates of a block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.scoring.postings import jit


class AdaptiveScratch(NamedTuple):
    """Scratch memory of one thread."""

    cursor: Array
    """int64 (facts of a query): position in each item's run from which the search continues."""
    first: Array
    last: Array
    """int64 (facts of a query): the record's entries of each item."""
    n_held: Array
    """int64 (2): held facts about other and about rare items."""
    rho: Array
    rest: Array
    rest_kept: Array
    """float64 (2): ρ, 1-Q_r and 1-κ·Q_r for other and for rare items."""
    shared: Array
    """float64 (2, block): weight of the other and of the rare items that each record shares with the excluded record."""
    sums: Array
    """float64 (wrong facts + 1): coefficients of the polynomial."""
    change: Array
    """bool (shifts + 1): shifts at which some factor changes."""
    chosen: Array
    """float64 (2^facts together): sums over assignments of facts to entries."""
    other: Array
    """float64 (facts together): factors of facts about entries that are not shown."""
    local: Array
    score: Array
    """int64 (block): candidates of the block, as offsets, and their scores."""


@jit
def make_adaptive_scratch(
    block_size: int, most_facts: int, n_wrong: int, shift: int, together: int
) -> AdaptiveScratch:
    """Scratch memory for blocks of that size and queries of that many facts."""
    return AdaptiveScratch(
        np.empty(most_facts, np.int64),
        np.empty(most_facts, np.int64),
        np.empty(most_facts, np.int64),
        np.zeros(2, np.int64),
        np.ones(2),
        np.ones(2),
        np.ones(2),
        np.zeros((2, block_size)),
        np.empty(n_wrong + 1),
        np.zeros(2 * shift + 2, np.bool_),
        np.empty(1 << together),
        np.empty(together + 1),
        np.empty(block_size, np.int64),
        np.empty(block_size, np.int64),
    )
