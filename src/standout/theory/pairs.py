"""Comparison of two records: Sim of NS08, S of DSS12, and what one record reveals about another."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.formulas import dss12, ns08
from standout.jit import njit
from standout.theory.nearest import Agreement, events_agree

jit = njit(nogil=True, cache=True, error_model="numpy")


_closeness = jit(dss12.closeness)


@jit
def _t(known: int, candidate: int, levels: Array, span: float) -> float:
    """T by value codes.

    An entry without a value counts by its presence if it is the known one, and T = 0 if only the
    candidate's lacks a value.
    """
    if known == levels.size:
        return 1.0
    return _closeness(levels[known], levels[candidate], span) if candidate < levels.size else 0.0


@jit
def _next(item: Array, k: int, end: int) -> int:
    """Where the events of the item at `k` end."""
    stop = k + 1
    while stop < end and item[stop] == item[k]:
        stop += 1
    return stop


@jit
def _agreeing(first: Array, second: Array, how: Agreement, shared: Array, agree: Array) -> None:
    """Items in common and items that agree, pair by pair."""
    for p in range(first.size):
        k, k_end = how.ptr[first[p]], how.ptr[first[p] + 1]
        j, j_end = how.ptr[second[p]], how.ptr[second[p] + 1]
        while k < k_end and j < j_end:
            if how.item[k] < how.item[j]:
                k = _next(how.item, k, k_end)
            elif how.item[k] > how.item[j]:
                j = _next(how.item, j, j_end)
            else:
                k_stop, j_stop = _next(how.item, k, k_end), _next(how.item, j, j_end)
                shared[p] += 1
                for e in range(j, j_stop):
                    code = np.int64(how.code[e]) if how.use_value else np.int64(0)
                    tick = np.int64(how.tick[e]) if how.use_time else np.int64(0)
                    if events_agree(k, k_stop, code, tick, how):
                        agree[p] += 1
                        break
                k, j = k_stop, j_stop


def pair_similarity(
    dataset: Dataset,
    first: Any,
    second: Any,
    value_within: float | None = None,
    time_within: float | str | None = None,
) -> Array:
    """Sim of each pair of records."""
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    shared, agree = np.zeros(a.size, np.int64), np.zeros(a.size, np.int64)
    _agreeing(a, b, Agreement.of(dataset, value_within, time_within), shared, agree)
    return ns08.sim(agree, dataset.lengths[a], dataset.lengths[b], shared)


@jit
def _s(
    y: Array,
    r: Array,
    ptr: Array,
    item: Array,
    code: Array,
    levels: Array,
    span: float,
    out: Array,
) -> None:
    has_code = code.size > 0
    for p in range(y.size):
        k, k_end = ptr[y[p]], ptr[y[p] + 1]
        j, j_end = ptr[r[p]], ptr[r[p] + 1]
        total, n = 0.0, 0
        while k < k_end:
            k_stop = _next(item, k, k_end)
            n += 1
            while j < j_end and item[j] < item[k]:
                j += 1
            best = 0.0
            e = j
            while e < j_end and item[e] == item[k]:
                for x in range(k, k_stop):
                    # without values at all, every held item has T = 1
                    best = max(best, _t(code[x], code[e], levels, span) if has_code else 1.0)
                e += 1
            total += best
            k = k_stop
        out[p] = total / n


def pair_s(dataset: Dataset, y: Any, r: Any) -> Array:
    """S(y, r) = Σ_{i ∈ supp(y)} T(y_i, r_i) / |supp(y)| of each pair; an item of several events counts with its best."""
    first, second = np.asarray(y, np.int64), np.asarray(r, np.int64)
    out = np.zeros(first.size)
    _s(
        first,
        second,
        dataset.record_ptr,
        dataset.record_item,
        dataset.record_code,
        dataset.levels,
        dataset.value_range,
        out,
    )
    return out


@jit
def _learned(
    y: Array, r: Array, known_ptr: Array, known: Array, how: Agreement, told: Array, right: Array
) -> None:
    for p in range(y.size):
        mine = known[known_ptr[p] : known_ptr[p + 1]]
        k, k_end = how.ptr[y[p]], how.ptr[y[p] + 1]
        j, j_end = how.ptr[r[p]], how.ptr[r[p] + 1]
        while j < j_end:
            j_stop = _next(how.item, j, j_end)
            i = np.int64(how.item[j])
            at = np.searchsorted(mine, i)
            if at == mine.size or mine[at] != i:
                told[p] += 1
                while k < k_end and how.item[k] < i:
                    k += 1
                if k < k_end and how.item[k] == i:
                    k_stop = _next(how.item, k, k_end)
                    for e in range(j, j_stop):
                        if events_agree(
                            k,
                            k_stop,
                            np.int64(how.code[e]) if how.use_value else np.int64(0),
                            np.int64(0),
                            how,
                        ):
                            right[p] += 1
                            break
            j = j_stop


def learned(
    dataset: Dataset, y: Any, r: Any, known_ptr: Array, known: Array
) -> tuple[Array, Array]:
    """(told, right): number of entries of record r beyond the known items, and how many of them y has.

    Right = y holds the item, with the same value where there are values. `known` are item indices
    per pair.
    """
    first, second = np.asarray(y, np.int64), np.asarray(r, np.int64)
    told, right = np.zeros(first.size, np.int64), np.zeros(first.size, np.int64)
    order = np.lexsort((known, np.repeat(np.arange(first.size), np.diff(known_ptr))))
    how = Agreement.of(dataset, 0.0 if dataset.has_value else None, None)
    _learned(first, second, known_ptr, np.asarray(known, np.int64)[order], how, told, right)
    return told, right
