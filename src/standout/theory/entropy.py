"""Bits of information in one known entry, item by item (NS08, Fig. 7), exact."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.times import loose_ticks
from standout.formulas.ns08 import information
from standout.scoring.postings import Postings, jit, postings


@jit
def _gather(i: int, post: Postings, channel: Array, none: int, record: Array, key: Array) -> int:
    """Copy record and key (value code or day) of the item's events that have one; return their number."""
    n = 0
    for b in range(post.ptr.shape[0]):
        start = post.first_record + b * post.block_size
        for p in range(np.int64(post.ptr[b, i]), np.int64(post.ptr[b, i + 1])):
            if channel[p] != none:
                record[n] = start + np.int64(post.local[p])
                key[n] = channel[p]
                n += 1
    return n


@jit
def _reached(
    n: int,
    record: Array,
    key: Array,
    reach: int,
    low: Array,
    high: Array,
    first: Array,
    last: Array,
) -> int:
    """Per record, the union of the ranges around its keys, as disjoint ranges `first … last`; return their number."""
    m = 0
    k = 0
    while k < n:
        stop = k + 1
        while stop < n and record[stop] == record[k]:
            stop += 1
        if stop - k > 1:
            key[k:stop].sort()
        open_range = False
        for e in range(k, stop):
            lo, hi = key[e] - reach, key[e] + reach
            if low.size > 0:
                lo, hi = low[key[e]], high[key[e]]
            if open_range and lo <= last[m - 1]:
                last[m - 1] = max(last[m - 1], hi)
            else:
                first[m], last[m] = lo, hi
                m += 1
                open_range = True
        k = stop
    return m


@jit
def _item_chances(
    first_item: int,
    stop_item: int,
    most: int,
    n_records: int,
    post: Postings,
    channel: Array,
    none: int,
    reach: int,
    low: Array,
    high: Array,
    out: Array,
) -> None:
    """Probability that a random record agrees with a random event of each item; NaN if no event has the channel."""
    record, key = np.empty(most, np.int64), np.empty(most, np.int64)
    first, last = np.empty(most, np.int64), np.empty(most, np.int64)
    for i in range(first_item, stop_item):
        n = _gather(i, post, channel, none, record, key)
        if n == 0:
            out[i] = np.nan
            continue
        m = _reached(n, record, key, reach, low, high, first, last)
        keys, starts, ends = key[:n], first[:m], last[:m]
        keys.sort()
        starts.sort()
        ends.sort()
        agreeing, s, e = np.int64(0), 0, 0
        for x in keys:
            while s < m and starts[s] <= x:
                s += 1
            while e < m and ends[e] < x:
                e += 1
            agreeing += s - e
        out[i] = agreeing / (n * n_records)


def _chances(
    dataset: Dataset, channel: Array, none: int, reach: int, low: Array, high: Array
) -> Array:
    """Per item: `_item_chances` of the ranges low … high by key; without these, of ±reach around the key."""
    post = postings(dataset.index)
    events = np.bincount(dataset.record_item, minlength=dataset.n_items)
    out = np.empty(dataset.n_items)
    threads = os.cpu_count() or 1
    work = np.concatenate([[0], np.cumsum(events)])
    cuts = np.searchsorted(work, np.linspace(0, work[-1], 4 * threads + 1)[1:-1])
    edges = [0, *np.minimum(cuts, dataset.n_items).tolist(), dataset.n_items]
    most = int(events.max())
    with ThreadPoolExecutor(threads) as pool:
        list(
            pool.map(
                lambda s: _item_chances(
                    s[0], s[1], most, dataset.n_records, post, channel, none, reach, low, high, out
                ),
                pairwise(edges),
            )
        )
    return out


def value_chances(dataset: Dataset, value_within: float) -> Array:
    """Per item: probability that a random record holds it with a value within the tolerance of a random known entry's."""
    first, stop = dataset.near_levels(value_within)
    return _chances(dataset, dataset.index.code, dataset.n_levels, 0, first, stop - 1)


def time_chances(dataset: Dataset, time_within: float | str) -> Array:
    """Per item: probability that a random record holds it at a time within the tolerance of a random known entry's."""
    reach = int(min(loose_ticks(time_within, dataset.time_resolution), dataset.tick_span))
    none = np.empty(0, np.int64)
    return _chances(dataset, dataset.index.tick, dataset.no_tick, reach, none, none)


def item_information(
    dataset: Dataset, value_within: float = 1, time_within: float | str = 14
) -> Any:
    """One row per item by popularity rank: bits of information in a known entry, with no channel, value, or day.

    Bits are -log2 of the probability that a random record of the release agrees with a random known
    entry of the item: it holds the item, with some event within the tolerance. NaN: no entry of the
    item has that channel.
    """
    import pandas as pd

    order = np.argsort(dataset.popularity_rank, kind="stable")
    columns = {
        "rank": np.arange(1, dataset.n_items + 1),
        "support": dataset.supports[order],
        "none": information(dataset.supports[order] / dataset.n_records),
    }
    if dataset.has_value:
        columns["value"] = information(value_chances(dataset, value_within)[order])
    if dataset.has_time:
        columns["time"] = information(time_chances(dataset, time_within)[order])
    return pd.DataFrame(columns)
