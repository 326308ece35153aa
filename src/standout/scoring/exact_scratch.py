"""Scratch memory of the kernel for `Combine.EXACT` (`exact.py`), and the order of picks that it holds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.formulas.likelihood import MOST_ORDERED
from standout.formulas.pick_order import log_mean_order
from standout.scoring.postings import jit


class ExactScratch(NamedTuple):
    """Scratch memory of one thread."""

    n_held: Array
    """uint16 (block): known items that each record holds."""
    n_shared: Array
    """int32 (block): pickable items that each record shares with the excluded one."""
    local: Array
    """int64 (block): candidates, as offsets in the block, ascending."""
    score: Array
    """int64 (block): their scores."""
    cursor: Array
    """int64 (facts of a query): position in each item's run from which the search continues."""
    right: Array
    """float64 (facts of a query): probability of the fact as a right one, given the record."""
    wrong: Array
    """float64 (facts of a query): the same as a wrong one."""
    held: Array
    """bool (facts of a query): whether the record holds the item."""
    supports: Array
    """float64 (facts of a query): work space of a formula, for the numbers of some of the facts without gaps."""
    pick: Array
    """float64 (facts of a query): weight of each held item in the record."""
    fine: Array
    """float64 (facts of a query): the same, of what can be wrong."""
    sums: Array
    """float64: work space of a formula, for its sums over sets of facts or over numbers of wrong ones."""


@jit
def make_exact_scratch(block_size: int, most_facts: int, most_wrong: int) -> ExactScratch:
    """Scratch memory for blocks of that size and queries of that many facts."""
    n = max(1 << min(max(most_wrong, most_facts), MOST_ORDERED), most_wrong + 1)
    return ExactScratch(
        np.zeros(block_size, np.uint16),
        np.zeros(block_size, np.int32),
        np.empty(block_size, np.int64),
        np.empty(block_size, np.int64),
        np.empty(most_facts, np.int64),
        np.empty(most_facts),
        np.empty(most_facts),
        np.empty(most_facts, np.bool_),
        np.empty(most_facts),
        np.empty(most_facts),
        np.empty(most_facts),
        np.empty(n),
    )


@jit
def log_held_order(m: int, total: float, scratch: ExactScratch) -> float:
    """Log probability of the held items of the first `m` facts as picks by weight, averaged over their orders.

    Facts of weight 0 were not picked.
    """
    n = np.int64(0)
    for j in range(m):
        if scratch.held[j] and scratch.pick[j] > 0.0:
            scratch.supports[n] = scratch.pick[j]
            n += 1
    return float(log_mean_order(scratch.supports, n, total, scratch.sums))
