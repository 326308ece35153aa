"""Drawing knowledge: randomness is a function of (seed, purpose, target), never a stream that targets share."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from standout.adversary.adversary import Adversary
from standout.adversary.knowledge import Knowledge
from standout.data.dataset import Dataset

Array = npt.NDArray[Any]

jit = njit(nogil=True, cache=True)

PURPOSE_KNOWLEDGE = 1
PURPOSE_TARGETS = 2
PURPOSE_SPLIT = 3
_TRIES = 64
_AT_ONCE = 4096
"""Targets that one thread draws for at a time; a draw depends on its target alone, so the cut changes nothing."""


@jit  # type: ignore[untyped-decorator]
def mix(x: int) -> int:
    """Scramble 64 bits (the finalizer of SplitMix64)."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@jit  # type: ignore[untyped-decorator]
def start(seed: int, purpose: int, target: int) -> int:
    """State that (seed, purpose, target) starts from."""
    x = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    x = mix(x ^ (np.uint64(purpose) * np.uint64(0xD1342543DE82EF95)))
    return mix(x ^ (np.uint64(target) * np.uint64(0xA0761D6478BD642F)))


@jit  # type: ignore[untyped-decorator]
def step(state: Array) -> float:
    """Next uniform number in [0, 1) and the state after it (SplitMix64)."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(mix(state[0]) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit  # type: ignore[untyped-decorator]
def below(state: Array, n: int) -> int:
    """Uniform whole number in 0 … n-1."""
    return np.int64(step(state) * n)


@jit  # type: ignore[untyped-decorator]
def count_marked(record_ptr: Array, record_item: Array, marked: Array) -> Array:
    """Distinct marked items of each record."""
    out = np.zeros(record_ptr.size - 1, np.int64)
    for r in range(out.size):
        last = np.int64(-1)
        for k in range(record_ptr[r], record_ptr[r + 1]):
            i = np.int64(record_item[k])
            if i != last:
                out[r] += marked[i]
                last = i
    return out


def sample_targets(eligible: Array, n: int | None, seed: int) -> Array:
    """`n` of the eligible records (all when None), each record's place in line a function of (seed, record)."""
    if n is None or n >= eligible.size:
        return eligible
    key = starts(np.uint64(seed % 2**64), PURPOSE_TARGETS, eligible)
    return eligible[np.argsort(key, kind="stable")[:n]]


@jit  # type: ignore[untyped-decorator]
def starts(seed: int, purpose: int, targets: Array) -> Array:
    """State that each target starts from."""
    out = np.empty(targets.size, np.uint64)
    for k in range(targets.size):
        out[k] = start(seed, purpose, np.uint64(targets[k]))
    return out


class _Release(NamedTuple):
    ptr: Array
    item: Array
    code: Array
    day: Array
    levels: Array
    first_day: int
    day_span: int
    no_day: int


class _Rule(NamedTuple):
    knows: int
    wrong_values: int
    wrong_items: int
    n_rare: int
    """Items taken from the marked ones; the rest from the unmarked. -1: all from the marked."""
    value_within: float
    value_step: float
    gamma: float
    time_within: float
    length_within: float


@jit  # type: ignore[untyped-decorator]
def _pick(state: Array, pool: Array, n_pool: int, n: int, out: Array, first: int) -> None:
    """Move `n` of the first `n_pool` elements of `pool` to `out[first:]`, without replacement."""
    for k in range(n):
        j = k + below(state, n_pool - k)
        pool[k], pool[j] = pool[j], pool[k]
        out[first + k] = pool[k]


@jit  # type: ignore[untyped-decorator]
def _move_value(state: Array, value: float, data: _Release, rule: _Rule) -> float:
    """Value as she remembers it: moved by the noise, clipped to the scale."""
    low, high = data.levels[0], data.levels[data.levels.size - 1]
    if rule.gamma >= 0.0:
        moved = value + rule.gamma * (high - low) * (2.0 * step(state) - 1.0)
    else:
        steps = np.int64(np.floor(rule.value_within / rule.value_step + 1e-9))
        moved = value + rule.value_step * (below(state, 2 * steps + 1) - steps)
    return min(max(moved, low), high)


@jit  # type: ignore[untyped-decorator]
def _wrong_value(state: Array, value: float, tolerance: float, data: _Release) -> float:
    """A level of the scale outside the tolerance; the farthest one where none is."""
    # 0.4 - 0.3 is a little more than 0.1 in binary, and still within it
    tolerance += 1e-9
    n_out = 0
    for x in data.levels:
        n_out += abs(x - value) > tolerance
    if n_out == 0:
        low, high = data.levels[0], data.levels[data.levels.size - 1]
        return low if value - low >= high - value else high
    turn = below(state, n_out)
    for x in data.levels:
        if abs(x - value) > tolerance:
            if turn == 0:
                return x
            turn -= 1
    return value


@jit  # type: ignore[untyped-decorator]
def _wrong_day(state: Array, day: int, tolerance: float, data: _Release) -> int:
    """A day of the release's span outside the tolerance; the farther end where none is."""
    span = data.day_span
    reach = np.int64(tolerance)
    before = max(0, day - reach)
    after = max(0, span - day - reach)
    if before + after == 0:
        return 0 if day >= span - day else span
    x = below(state, before + after)
    return x if x < before else day + reach + 1 + (x - before)


@jit  # type: ignore[untyped-decorator]
def _tell(
    state: Array, at: int, is_wrong: bool, data: _Release, rule: _Rule, f: int, value: Array, time: Array
) -> None:
    """Write what she knows of the entry at `at` into fact `f`."""
    if (rule.value_within >= 0.0 or rule.gamma >= 0.0) and data.code.size > 0:
        c = data.code[at]
        if c < data.levels.size:
            v = data.levels[c]
            if is_wrong:
                within = rule.gamma * (data.levels[-1] - data.levels[0]) if rule.gamma >= 0.0 else rule.value_within
                value[f] = _wrong_value(state, v, within, data)
            else:
                value[f] = _move_value(state, v, data, rule)
    if rule.time_within >= 0.0 and data.day.size > 0 and data.day[at] != data.no_day:
        d = np.int64(data.day[at])
        if is_wrong:
            d = _wrong_day(state, d, rule.time_within, data)
        else:
            reach = np.int64(rule.time_within)
            d += below(state, 2 * reach + 1) - reach
        time[f] = data.first_day + d


@jit  # type: ignore[untyped-decorator]
def _holds(data: _Release, r: int, i: int) -> bool:
    lo, hi = data.ptr[r], data.ptr[r + 1]
    k = lo + np.searchsorted(data.item[lo:hi], i)
    return bool(k < hi and data.item[k] == i)


@jit  # type: ignore[untyped-decorator]
def _wrong_items(state: Array, r: int, n: int, data: _Release, pickable: Array, item: Array, first: int,
                 rule: _Rule, value: Array, time: Array) -> None:  # fmt: skip
    """Add items that the target lacks, each taken with its value and day from a random entry of the release."""
    for k in range(n):
        f = first + k
        at = np.int64(-1)
        for _ in range(_TRIES):
            j = below(state, data.item.size)
            if _fresh(data, r, data.item[j], pickable, item, first, k):
                at = j
                break
        if at >= 0:
            item[f] = data.item[at]
            _tell(state, at, False, data, rule, f, value, time)
        else:
            # the target holds nearly everything: walk the catalogue from a random place; channels stay unknown
            i = below(state, pickable.size)
            for _ in range(pickable.size):
                if _fresh(data, r, i, pickable, item, first, k):
                    break
                i = (i + 1) % pickable.size
            item[f] = i


@jit  # type: ignore[untyped-decorator]
def _fresh(data: _Release, r: int, i: int, pickable: Array, item: Array, first: int, k: int) -> bool:
    """Whether item `i` may be picked, is not the target's, and is not among the k wrong items so far."""
    if not pickable[i] or _holds(data, r, i):
        return False
    for j in range(first, first + k):
        if item[j] == i:
            return False
    return True


@jit  # type: ignore[untyped-decorator]
def _draw(targets: Array, seed: int, data: _Release, marked: Array, pickable: Array, rule: _Rule, lengths: Array,
          item: Array, value: Array, time: Array, length: Array) -> None:  # fmt: skip
    longest = 0
    for r in targets:
        longest = max(longest, data.ptr[r + 1] - data.ptr[r])
    pool = np.empty(longest, np.int64)
    others = np.empty(longest, np.int64)
    chosen = np.empty(rule.knows, np.int64)
    state = np.empty(1, np.uint64)
    right = rule.knows - rule.wrong_items
    for q in range(targets.size):
        r = targets[q]
        state[0] = start(seed, PURPOSE_KNOWLEDGE, np.uint64(r))
        n_pool, n_others = 0, 0
        last = np.int64(-1)
        for k in range(data.ptr[r], data.ptr[r + 1]):
            i = np.int64(data.item[k])
            if i != last:
                last = i
                if marked[i]:
                    pool[n_pool] = k
                    n_pool += 1
                else:
                    others[n_others] = k
                    n_others += 1
        from_marked = right if rule.n_rare < 0 else min(rule.n_rare, right)
        _pick(state, pool, n_pool, from_marked, chosen, 0)
        _pick(state, others, n_others, right - from_marked, chosen, from_marked)
        # which of the right items carry wrong values is one more draw, not a matter of rank
        for k in range(right):
            j = k + below(state, right - k)
            chosen[k], chosen[j] = chosen[j], chosen[k]
        base = q * rule.knows
        for k in range(right):
            end = data.ptr[r + 1]
            at = chosen[k]
            n = 1
            while at + n < end and data.item[at + n] == data.item[at]:
                n += 1
            if n > 1:
                at += below(state, n)
            item[base + k] = data.item[at]
            _tell(state, at, k < rule.wrong_values, data, rule, base + k, value, time)
        _wrong_items(state, r, rule.wrong_items, data, pickable, item, base + right, rule, value, time)
        if rule.length_within >= 0.0:
            length[q] = lengths[r] * (1.0 + rule.length_within * (2.0 * step(state) - 1.0))


def sample(who: Adversary, dataset: Dataset, targets: Array, seed: int) -> Knowledge:
    """Draw what `who` knows of each target."""
    n = targets.size * who.knows
    item = np.empty(n, np.int64)
    value, time = np.full(n, np.nan), np.full(n, np.nan)
    length = np.full(targets.size, np.nan)
    marked = pickable = who.pickable(dataset)
    n_rare = -1
    if who.choice.kind == "rare":
        from standout.formulas.dss12 import is_rare

        marked = is_rare(dataset.supports, who.choice.rarity)
        n_rare = int(np.ceil(who.choice.share * who.knows - 1e-9))
    gaps = np.diff(dataset.levels)
    within = who.value_within
    fine = float(gaps.min()) if gaps.size else 1.0
    rule = _Rule(
        knows=who.knows,
        wrong_values=who.wrong if who.wrong_kind == "value" else 0,
        wrong_items=who.wrong if who.wrong_kind == "item" else 0,
        n_rare=n_rare,
        value_within=-1.0 if within is None else float(within),
        value_step=1.0 if within is None or within >= 1 else fine,
        gamma=-1.0 if who.gamma is None else float(who.gamma),
        time_within=-1.0 if who.time_within is None else float(who.time_within),
        length_within=-1.0 if who.length_within is None else float(who.length_within),
    )
    data = _Release(dataset.record_ptr, dataset.record_item, dataset.record_code, dataset.record_day,
                    dataset.levels, int(dataset.first_day), int(dataset.day_span), int(dataset.no_day))  # fmt: skip

    def draw(lo: int) -> None:
        part, facts = slice(lo, lo + _AT_ONCE), slice(lo * who.knows, (lo + _AT_ONCE) * who.knows)
        _draw(targets[part], np.uint64(seed % 2**64), data, marked, pickable, rule, dataset.lengths, item[facts],
              value[facts], time[facts], length[part])  # fmt: skip

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(draw, range(0, targets.size, _AT_ONCE)))
    return Knowledge(
        query_ptr=np.arange(targets.size + 1, dtype=np.int64) * who.knows,
        item=dataset.item_labels[item],
        value=value,
        time=time,
        queries=np.arange(targets.size),
        length=length,
        adversary=who,
        seed=seed,
        _index=item,
        _labels=dataset.item_labels,
        source=dataset,
    )
