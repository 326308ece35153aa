"""Compiled functions that draw items which are related: of one group, of one span of time, one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.adversary.draws import Rule, SourceArrays, _pick, _tell
from standout.adversary.grouping import shuffle_ties
from standout.adversary.splitmix import below, start, step
from standout.arrays import Array
from standout.data.purposes import PURPOSE_KNOWLEDGE
from standout.jit import njit

jit = njit(nogil=True, cache=True)


class Groups(NamedTuple):
    """The relation as the draw needs it."""

    place: Array
    """int64 per entry; negative = none."""
    width: int
    per_group: bool
    """Whether every place counts once as a start; else every event."""
    in_order: bool


@jit
def _mark_starts(
    order: Array, lo: int, item: Array, groups: Groups, knows: int, count: Array, able: Array
) -> int:
    """Mark the places in `order` whose window holds enough distinct items; return their number."""
    place, n_able, n, stop = groups.place, np.int64(0), np.int64(0), np.int64(0)
    s = np.int64(0)
    able[:] = False
    while s < order.size and place[lo + order[s]] < 0:
        s += 1
    stop = s
    while s < order.size:
        here = place[lo + order[s]]
        while stop < order.size and place[lo + order[stop]] - here < groups.width:
            i = item[lo + order[stop]]
            n += count[i] == 0
            count[i] += 1
            stop += 1
        first = s
        while s < order.size and place[lo + order[s]] == here:
            able[s] = n >= knows and (s == first or not groups.per_group)
            n_able += able[s]
            s += 1
        for k in range(first, s):
            i = item[lo + order[k]]
            count[i] -= 1
            n -= count[i] == 0
    return int(n_able)


@jit
def _nth(able: Array, turn: int) -> int:
    """Position of the marked element number `turn`."""
    for s in range(able.size):
        if able[s]:
            if turn == 0:
                return s
            turn -= 1
    return -1


@jit
def _pick_in_window(
    state: Array,
    lo: int,
    hi: int,
    item: Array,
    groups: Groups,
    here: int,
    knows: int,
    pool: Array,
    chosen: Array,
) -> None:
    """Pick distinct items of the window that begins at place `here`, and a random event of the window of each."""
    place, m, last = groups.place, np.int64(0), np.int64(-1)
    for at in range(lo, hi):
        if here <= place[at] < here + groups.width and item[at] != last:
            pool[m], last = at, np.int64(item[at])
            m += 1
    _pick(state, pool, np.int64(0), m, knows, chosen, np.int64(0))
    for k in range(knows):
        n, at = np.int64(0), chosen[k]
        first = at
        while at < hi and item[at] == item[first]:
            # each event takes the place of those before it with probability 1/n
            if here <= place[at] < here + groups.width:
                n += 1
                if below(state, n) == 0:
                    chosen[k] = at
            at += 1


@jit
def _pick_in_order(
    state: Array,
    order: Array,
    lo: int,
    item: Array,
    place: Array,
    knows: int,
    count: Array,
    chosen: Array,
) -> None:
    """Pick a random event that enough distinct items follow, and the first event of each item from there on."""
    shuffle_ties(state, order, place, lo)
    n, n_able, first = np.int64(0), np.int64(0), np.int64(0)
    while first < order.size and place[lo + order[first]] < 0:
        first += 1
    for s in range(order.size - 1, first - 1, -1):
        i = item[lo + order[s]]
        n += count[i] == 0
        count[i] += 1
        n_able += n >= knows
    count[item[lo : lo + order.size]] = 0
    # the number of items that follow only falls: the events that can be first are the first ones
    s, n = first + below(state, n_able), np.int64(0)
    while n < knows:
        i = item[lo + order[s]]
        if count[i] == 0:
            count[i] = 1
            chosen[n] = lo + order[s]
            n += 1
        s += 1
    count[item[lo : lo + order.size]] = 0


@jit
def draw_grouped(
    targets: Array,
    seed: int,
    data: SourceArrays,
    groups: Groups,
    rule: Rule,
    lengths: Array,
    item: Array,
    salt: Array,
    value: Array,
    time: Array,
    length: Array,
    entry: Array,
) -> None:
    """Draw related facts of each target, all of them right; the arrays are those of `draws.draw_queries`."""
    longest = np.int64(0)
    for r in targets:
        longest = max(longest, data.ptr[r + 1] - data.ptr[r])
    n_items = np.int64(1)
    if data.item.size > 0:
        n_items += np.int64(data.item.max())
    pool, count = np.empty(longest, np.int64), np.zeros(n_items, np.int64)
    chosen, spot = np.empty(rule.knows, np.int64), np.empty(rule.knows, np.int64)
    state, right = np.empty(1, np.uint64), np.bool_(False)
    for q in range(targets.size):
        r = targets[q]
        lo, hi = np.int64(data.ptr[r]), np.int64(data.ptr[r + 1])
        state[0] = start(seed, np.int64(PURPOSE_KNOWLEDGE), data.key[r])
        order = np.argsort(groups.place[lo:hi])
        if rule.knows > 0 and groups.in_order:
            _pick_in_order(state, order, lo, data.item, groups.place, rule.knows, count, chosen)
        elif rule.knows > 0:
            able = np.zeros(order.size, np.bool_)
            n_able = _mark_starts(order, lo, data.item, groups, rule.knows, count, able)
            here = groups.place[lo + order[_nth(able, below(state, n_able))]]
            _pick_in_window(state, lo, hi, data.item, groups, here, rule.knows, pool, chosen)
        # the position of a fact in its query must not show the order of the events
        for k in range(rule.knows):
            spot[k] = k
        for k in range(rule.knows):
            j = k + below(state, rule.knows - k)
            spot[k], spot[j] = spot[j], spot[k]
        for k in range(rule.knows):
            at, f = chosen[k], q * rule.knows + spot[k]
            item[f], entry[f] = data.item[at], 2 * at
            _tell(state, at, right, data, rule, f, value, time)
        if rule.length_within >= 0.0:
            length[q] = lengths[r] * (1.0 + rule.length_within * (2.0 * step(state) - 1.0))
