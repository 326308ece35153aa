"""Compiled functions that draw knowledge: which items, which events, with which errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.adversary.splitmix import below, draw_bits, mix, start, step
from standout.adversary.weighted_draws import pick_weighted
from standout.arrays import Array
from standout.data.purposes import PURPOSE_KNOWLEDGE
from standout.jit import njit
from standout.kernels.levels import SLACK

jit = njit(nogil=True, cache=True)

_TRIES = 256

# Literal arguments are given a type (np.int64(0)): Numba compiles a function again for every
# literal.


class SourceArrays(NamedTuple):
    """The data that knowledge is drawn from."""

    key: Array
    """uint64 per record: what its draws start from."""
    ptr: Array
    item: Array
    code: Array
    tick: Array
    supports_before: Array
    """int64 (items + 1): (record, item) pairs of all pickable items before each item. Size 0 where no item is wrong."""
    fine: Array
    """Per entry: whether it can give a wrong fact, or under a ranked choice, whether its item is certain to be known. Size 0
    if neither plays a role."""
    weight: Array
    """int64 (items): weight of each item; size 0 where all are equally likely."""
    levels: Array
    width: Array
    """(levels,): largest error of a right value, where errors are real numbers."""
    reach: Array
    """(levels,): wrong values lie farther off than this."""
    low: float
    high: float
    first_tick: int
    tick_span: int
    no_tick: int


class Rule(NamedTuple):
    """What is drawn."""

    knows: int
    n_wrong: int
    """Exact number of wrong facts; not used where `p_wrong` is positive."""
    p_wrong: float
    wrong_items: bool
    """Whether wrong facts are wrong items; else wrong values."""
    n_rare: int
    """Items taken from the marked ones; the rest from the unmarked. -1: all from the marked."""
    by_events: bool
    """Whether the weight of an item is multiplied by the number of its events."""
    ranked: bool
    """Whether the items that are certain to be known come first, and any others after them."""
    tells_value: bool
    value_steps: int
    """Largest error of a right value in steps of the grid; -1 where errors are real numbers."""
    value_step: float
    value_unit: float
    """Right values are rounded to multiples of it; 0: they are not."""
    time_within: int
    """In ticks; -1: times are not known."""
    length_within: float


@jit
def _pick(
    state: Array, pool: Array, start_: int, stop: int, n: int, out: Array, first: int
) -> None:
    """Move `n` of `pool[start_:stop]` to its front and to `out[first:]`, without replacement."""
    for k in range(n):
        j = start_ + k + below(state, stop - start_ - k)
        pool[start_ + k], pool[j] = pool[j], pool[start_ + k]
        out[first + k] = pool[start_ + k]


@jit
def _move_value(state: Array, c: int, data: SourceArrays, rule: Rule) -> float:
    """Known value: the true value plus noise, clipped to the scale."""
    value = data.levels[c]
    if rule.value_unit > 0.0:
        slack = -SLACK if step(state) < 0.5 else SLACK
        return rule.value_unit * np.floor(value / rule.value_unit + 0.5 + slack)
    if rule.value_steps >= 0:
        moved = value + rule.value_step * (
            below(state, 2 * rule.value_steps + 1) - rule.value_steps
        )
    else:
        moved = value + data.width[c] * (2.0 * step(state) - 1.0)
    return min(max(moved, data.low), data.high)


@jit
def _wrong_value(state: Array, c: int, data: SourceArrays) -> float:
    """A level of the scale outside the tolerance, uniformly drawn."""
    reach = data.reach[c]
    n_below = np.searchsorted(data.levels, data.levels[c] - reach)
    first_above = np.searchsorted(data.levels, data.levels[c] + reach, side="right")
    turn = below(state, n_below + data.levels.size - first_above)
    return data.levels[turn if turn < n_below else first_above + turn - n_below]


@jit
def _wrong_tick(state: Array, tick: int, reach: int, data: SourceArrays) -> int:
    """A tick of the release's span outside the tolerance, uniformly drawn."""
    before = max(0, tick - reach)
    x = below(state, before + max(0, data.tick_span - tick - reach))
    return x if x < before else tick + reach + 1 + (x - before)


@jit
def _tell(
    state: Array,
    at: int,
    is_wrong: bool,
    data: SourceArrays,
    rule: Rule,
    f: int,
    value: Array,
    time: Array,
) -> None:
    """Write what is known of the value and the time of the entry at `at` into fact `f`."""
    if rule.tells_value and data.code[at] < data.levels.size:
        c = np.int64(data.code[at])
        value[f] = _wrong_value(state, c, data) if is_wrong else _move_value(state, c, data, rule)
    if rule.time_within >= 0 and data.tick[at] != data.no_tick:
        d, reach = np.int64(data.tick[at]), rule.time_within
        moved = (
            _wrong_tick(state, d, reach, data)
            if is_wrong
            else d + below(state, 2 * reach + 1) - reach
        )
        time[f] = data.first_tick + moved


@jit
def _place_of(data: SourceArrays, r: int, i: int) -> int:
    """First entry of item `i` in record `r`, -1 where the record does not hold it."""
    lo, hi = data.ptr[r], data.ptr[r + 1]
    k = lo + np.searchsorted(data.item[lo:hi], i)
    return np.int64(k) if k < hi and data.item[k] == i else np.int64(-1)


@jit
def _random_event(state: Array, at: int, stop: int, data: SourceArrays, only_fine: bool) -> int:
    """A random event of the pair that starts at `at`; with `only_fine`, one of those that can be wrong."""
    n, n_fine = 0, 0
    while at + n < stop and data.item[at + n] == data.item[at]:
        n_fine += only_fine and data.fine[at + n]
        n += 1
    if not only_fine:
        return at + below(state, n) if n > 1 else at
    turn = below(state, n_fine)
    for k in range(at, at + n):
        if data.fine[k]:
            if turn == 0:
                return k
            turn -= 1
    return at


@jit
def _may_be_wrong(data: SourceArrays, r: int, i: int, taken: Array, n_taken: int) -> bool:
    """Whether item `i` can be a wrong item: pickable, not held by the target, not taken before."""
    if data.supports_before[i] == data.supports_before[i + 1] or _place_of(data, r, i) >= 0:
        return False
    for k in range(n_taken):
        if taken[k] == i:
            return False
    return True


@jit
def _wrong_item(state: Array, r: int, data: SourceArrays, taken: Array, n_taken: int) -> int:
    """Item of a random (record, item) pair among the items that can be wrong."""
    before = data.supports_before
    for _ in range(_TRIES):
        i = np.searchsorted(before, below(state, before[-1]), side="right") - 1
        if _may_be_wrong(data, r, i, taken, n_taken):
            return np.int64(i)
    # the target holds nearly everything: count the pairs of the remaining items, and take one of
    # those
    total = np.int64(0)
    for i in range(before.size - 1):
        if _may_be_wrong(data, r, i, taken, n_taken):
            total += before[i + 1] - before[i]
    turn = below(state, total)
    for i in range(before.size - 1):
        if _may_be_wrong(data, r, i, taken, n_taken):
            if turn < before[i + 1] - before[i]:
                return np.int64(i)
            turn -= before[i + 1] - before[i]
    return np.int64(-1)


@jit
def _fill_pools(
    r: int, data: SourceArrays, marked: Array, pool: Array, others: Array
) -> tuple[int, int, int, int]:
    """Put the record's pairs into `pool` (marked items) and `others`, those that can be wrong first; count both kinds."""
    n_pool, fine_pool, n_others, fine_others = 0, 0, 0, 0
    k = data.ptr[r]
    stop = data.ptr[r + 1]
    while k < stop:
        first, fine = k, False
        while k < stop and data.item[k] == data.item[first]:
            fine = fine or (data.fine.size > 0 and data.fine[k])
            k += 1
        if marked[data.item[first]]:
            pool[n_pool] = first
            if fine:
                pool[n_pool], pool[fine_pool] = pool[fine_pool], pool[n_pool]
                fine_pool += 1
            n_pool += 1
        else:
            others[n_others] = first
            if fine:
                others[n_others], others[fine_others] = others[fine_others], others[n_others]
                fine_others += 1
            n_others += 1
    return n_pool, fine_pool, n_others, fine_others


@jit
def _choose_wrong(state: Array, rule: Rule, wrong: Array) -> int:
    """Choose at random which of the facts are wrong; return their number."""
    n = 0
    for k in range(rule.knows):
        wrong[k] = k < rule.n_wrong if rule.p_wrong <= 0.0 else step(state) < rule.p_wrong
        n += wrong[k]
    if rule.p_wrong <= 0.0 and 0 < n < rule.knows:
        for k in range(rule.knows):
            j = k + below(state, rule.knows - k)
            wrong[k], wrong[j] = wrong[j], wrong[k]
    return n


@jit
def _pick_evenly(
    state: Array,
    rule: Rule,
    n_items: tuple[int, int, int, int],
    wrong: Array,
    n_wrong: int,
    right: int,
    pool: Array,
    others: Array,
    chosen: Array,
) -> None:
    """Pick items that are equally likely into `chosen`, those with wrong values in front.

    Wrong values are drawn first, among the entries that can be wrong.
    """
    n_pool, fine_pool, n_others, fine_others = n_items
    from_marked = right if rule.n_rare < 0 else min(rule.n_rare, right)
    none = np.int64(0)
    w_marked = none
    if n_wrong > 0:
        for k in range(rule.knows):
            w_marked += wrong[k] and k < from_marked
    w_others = n_wrong - w_marked
    _pick(state, pool, none, fine_pool, w_marked, chosen, none)
    _pick(state, others, none, fine_others, w_others, chosen, w_marked)
    _pick(state, pool, w_marked, n_pool, from_marked - w_marked, chosen, n_wrong)
    n = right - from_marked - w_others
    _pick(state, others, w_others, n_others, n, chosen, from_marked + w_others)


@jit
def draw_queries(
    targets: Array,
    seed: int,
    data: SourceArrays,
    marked: Array,
    rule: Rule,
    lengths: Array,
    item: Array,
    salt: Array,
    value: Array,
    time: Array,
    length: Array,
    entry: Array,
) -> None:
    """Draw the facts of each target into `item` (indices), `value`, `time` and `length`.

    `entry` becomes twice the place of the entry behind each fact, plus 1 where the fact is wrong;
    -1 for a wrong item.
    A wrong item only gets its index and a random number, `salt`: its value and time are those of
    one of its holders.
    """
    longest = 0
    for r in targets:
        longest = max(longest, data.ptr[r + 1] - data.ptr[r])
    pool, others = np.empty(longest, np.int64), np.empty(longest, np.int64)
    weights = np.empty(longest if data.weight.size > 0 else 0, np.int64)
    chosen, taken = np.empty(rule.knows, np.int64), np.empty(rule.knows, np.int64)
    wrong, place = np.empty(rule.knows, np.bool_), np.empty(rule.knows, np.int64)
    state = np.empty(1, np.uint64)
    for q in range(targets.size):
        r = targets[q]
        state[0] = start(seed, np.int64(PURPOSE_KNOWLEDGE), data.key[r])
        n_items = _fill_pools(r, data, marked, pool, others)
        n_wrong = _choose_wrong(state, rule, wrong)
        right = rule.knows - (n_wrong if rule.wrong_items else 0)
        wrong_values = np.int64(0) if rule.wrong_items else n_wrong
        if rule.ranked:
            n_pool, n_certain, first = n_items[0], n_items[1], np.int64(0)
            _pick(state, pool, first, n_certain, n_certain, chosen, first)
            _pick(state, pool, n_certain, n_pool, right - n_certain, chosen, n_certain)
        elif data.weight.size > 0:
            sizes, stop = n_items[:2], data.ptr[r + 1]
            pick_weighted(
                state, data, rule.by_events, stop, sizes, wrong_values, right, pool, weights, chosen
            )
        else:
            _pick_evenly(state, rule, n_items, wrong, wrong_values, right, pool, others, chosen)
        # the position of a fact in its query must not show whether it is wrong
        for k in range(rule.knows):
            place[k] = k
        for k in range(rule.knows):
            j = k + below(state, rule.knows - k)
            place[k], place[j] = place[j], place[k]
        base = q * rule.knows
        for k in range(right):
            is_wrong = k < wrong_values
            at = _random_event(state, chosen[k], data.ptr[r + 1], data, is_wrong)
            item[base + place[k]] = data.item[at]
            _tell(state, at, is_wrong, data, rule, base + place[k], value, time)
            entry[base + place[k]] = 2 * at + np.int64(is_wrong)
        for k in range(right, rule.knows):
            taken[k - right] = _wrong_item(state, r, data, taken, k - right)
            item[base + place[k]] = taken[k - right]
            # 0 marks a right item
            salt[base + place[k]] = draw_bits(state) | np.uint64(1)
            entry[base + place[k]] = -1
        if rule.length_within >= 0.0:
            length[q] = lengths[r] * (1.0 + rule.length_within * (2.0 * step(state) - 1.0))


@jit
def tell_held(
    fact: Array, salt: Array, data: SourceArrays, rule: Rule, value: Array, time: Array
) -> None:
    """Write what is known of the entries `data.code`, `data.tick` into the facts, one entry per fact."""
    state = np.empty(1, np.uint64)
    for k in range(fact.size):
        state[0] = mix(salt[k])
        _tell(state, k, np.bool_(False), data, rule, fact[k], value, time)
