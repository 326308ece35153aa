"""Compiled functions that draw items in proportion to weights, one after the other without replacement.

The kernel of `draws.py` calls `pick_weighted` once per target, if the rule of the choice has weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.adversary.splitmix import below
from standout.arrays import Array
from standout.jit import njit

jit = njit(nogil=True, cache=True)


@jit
def _weigh(
    pool: Array,
    some: tuple[int, int],
    stop: int,
    data: Any,
    by_events: bool,
    only_fine: bool,
    weights: Array,
) -> int:
    """Put the weights of the pairs `pool[some[0]:some[1]]` into `weights`; return their sum.

    A pair is given by its first event, and its other events follow; `stop` is the end of the record.
    `data` are the `SourceArrays` of `draws.py`.
    With `by_events`, the weight of a pair counts once for each of its events; with `only_fine`, for
    each event that can give a wrong fact.
    """
    total = 0
    for k in range(some[0], some[1]):
        at, events = pool[k], np.int64(0)
        item = data.item[at]
        while by_events and at < stop and data.item[at] == item:
            events += not only_fine or data.fine[at]
            at += 1
        weights[k] = data.weight[item] * (events if by_events else np.int64(1))
        total += weights[k]
    return total


@jit
def _take(
    state: Array, pool: Array, weights: Array, first: int, stop: int, n: int, total: int, out: Array
) -> None:
    """Move `n` of `pool[first:stop]` to its front and to `out[first:]`, in proportion to their weights."""
    for k in range(first, first + n):
        turn, j = below(state, total), k
        while turn >= weights[j] and j < stop - 1:
            turn -= weights[j]
            j += 1
        total -= weights[j]
        pool[k], pool[j] = pool[j], pool[k]
        weights[k], weights[j] = weights[j], weights[k]
        out[k] = pool[k]


@jit
def pick_weighted(
    state: Array,
    data: Any,
    by_events: bool,
    stop: int,
    n_items: tuple[int, int],
    n_wrong: int,
    n_right_items: int,
    pool: Array,
    weights: Array,
    chosen: Array,
) -> None:
    """Pick `n_right_items` items of the record into `chosen`, by their weights.

    The first `n_wrong` of them get a wrong value later. They are picked before the others, among the
    items that can be wrong and by the weights of what can be wrong. `n_items` are the number of pairs
    in `pool`, and the number of those in front that can be wrong.
    """
    n_pool, n_fine = n_items
    none = np.int64(0)
    if n_wrong > 0:
        total = _weigh(pool, (none, n_fine), stop, data, by_events, np.bool_(True), weights)
        _take(state, pool, weights, none, n_fine, n_wrong, total, chosen)
    total = _weigh(pool, (n_wrong, n_pool), stop, data, by_events, np.bool_(False), weights)
    _take(state, pool, weights, n_wrong, n_pool, n_right_items - n_wrong, total, chosen)
