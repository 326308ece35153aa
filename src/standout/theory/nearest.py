"""The kernel of sparsity: whole records against all others, overlap and agreement in one pass over the postings.

A block's accumulator holds both counts of a candidate in one integer: items in common in the high
bits, items that agree in the low bits. The best ratio is kept as two integers and compared by cross
multiplication, so no order matters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from itertools import islice
from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.times import loose_ticks
from standout.scoring.postings import Postings, jit, postings

BATCH = 512
"""Records per pass over the blocks."""

NARROW = 2**15 - 1
"""Largest number of items in common that fits into 32 bits together with the agreement."""


class Agreement(NamedTuple):
    """When an item of two records agrees, as compiled kernels take it."""

    ptr: Array
    item: Array
    code: Array
    tick: Array
    lengths: Array
    use_value: bool
    use_time: bool
    first_value: Array
    """int64 (levels + 1): first value code that agrees with each; a missing value agrees with nothing."""
    n_values: Array
    """int64 (levels + 1): number of value codes that agree, from the first one on."""
    ticks: int
    no_tick: int

    @classmethod
    def of(
        cls, dataset: Dataset, value_within: float | None, time_within: float | str | None
    ) -> Agreement:
        """Agreement within the tolerances; None leaves the channel out."""
        first, stop = dataset.near_levels(0.0 if value_within is None else value_within)
        ticks = 0
        if time_within is not None:
            ticks = int(min(loose_ticks(time_within, dataset.time_resolution), dataset.tick_span))
        return cls(
            dataset.record_ptr,
            dataset.record_item,
            dataset.record_code,
            dataset.record_tick,
            dataset.lengths,
            value_within is not None,
            time_within is not None,
            np.append(first, 0),
            np.append(stop - first, 0),
            ticks,
            dataset.no_tick,
        )


class Nearest(NamedTuple):
    """Per requested record: the best ratio, and the largest agreement with a record that is not similar."""

    agree: Array
    """int64: items that agree with the nearest record."""
    union: Array
    """int64: items that the two hold together."""
    cover: Array
    """int64: most items that agree with a record whose similarity is at most the cut."""

    @classmethod
    def empty(cls, n: int) -> Nearest:
        """Result without candidates."""
        return cls(np.zeros(n, np.int64), np.ones(n, np.int64), np.zeros(n, np.int64))

    def merge(self, other: Nearest) -> Nearest:
        """Nearest of both sets of candidates."""
        better = other.agree * self.union > self.agree * other.union
        return Nearest(
            np.where(better, other.agree, self.agree),
            np.where(better, other.union, self.union),
            np.maximum(self.cover, other.cover),
        )

    @property
    def similarity(self) -> Array:
        """Nearest-neighbor similarity."""
        return self.agree / self.union


@jit
def _window(tick: int, ticks: int, no_tick: int) -> tuple[int, int]:
    """First tick that agrees and the number of further ones; -1 if there is no tick to agree with."""
    d = np.int64(tick)
    if d == no_tick:
        return np.int64(0), np.int64(-1)
    low = max(np.int64(0), d - ticks)
    # the code of "no tick" is above every tick and must stay outside the range
    return low, min(d + ticks, np.int64(no_tick) - 1) - low


@jit
def _add_one(
    acc: Array, local: Array, code: Array, tick: Array, at: int, one: int, how: Agreement
) -> None:
    """Add one item whose candidates hold it once."""
    low, reach = np.int64(0), np.int64(0)
    if how.use_time:
        low, reach = _window(how.tick[at], how.ticks, how.no_tick)
    if how.use_value:
        first, n = how.first_value[how.code[at]], how.n_values[how.code[at]]
        if how.use_time:
            for k in range(local.size):
                gap, step = np.int64(tick[k]) - low, np.int64(code[k]) - first
                acc[np.uint64(local[k])] += one + (
                    (gap >= 0) & (gap <= reach) & (step >= 0) & (step < n)
                )
        else:
            for k in range(local.size):
                step = np.int64(code[k]) - first
                acc[np.uint64(local[k])] += one + ((step >= 0) & (step < n))
    elif how.use_time:
        for k in range(local.size):
            gap = np.int64(tick[k]) - low
            acc[np.uint64(local[k])] += one + ((gap >= 0) & (gap <= reach))
    else:
        for k in range(local.size):
            acc[np.uint64(local[k])] += one + 1


@jit
def events_agree(first: int, stop: int, code: int, tick: int, how: Agreement) -> bool:
    """Whether any of the events `first … stop-1` of a record agrees with one (code, tick)."""
    for k in range(first, stop):
        if how.use_value:
            step = code - how.first_value[how.code[k]]
            if step < 0 or step >= how.n_values[how.code[k]]:
                continue
        if how.use_time:
            low, reach = _window(how.tick[k], how.ticks, how.no_tick)
            gap = np.int64(tick) - low
            if gap < 0 or gap > reach:
                continue
        return True
    return False


@jit
def _add_events(
    acc: Array, lo: int, hi: int, first: int, stop: int, one: int, post: Postings, how: Agreement
) -> None:
    """Add one item of several events: it agrees if any pair of events does."""
    p = lo
    while p < hi:
        record = post.local[p]
        agrees = False
        while p < hi and post.local[p] == record:
            if not agrees:
                code = np.int64(post.code[p]) if how.use_value else np.int64(0)
                tick = np.int64(post.tick[p]) if how.use_time else np.int64(0)
                agrees = events_agree(first, stop, code, tick, how)
            p += 1
        acc[np.uint64(record)] += one + agrees


@jit
def _update_nearest(
    acc: Array,
    start: int,
    record: int,
    shift: int,
    cut: float,
    lengths: Array,
    best: tuple[int, int, int],
) -> tuple[int, int, int]:
    """Best ratio and largest dissimilar agreement, this block included."""
    a0, b0, cover = best
    own = record - start
    length = lengths[record]
    mask = (np.int64(1) << shift) - 1
    for k in range(acc.size):
        x = np.int64(acc[k])
        if x == 0 or k == own:
            continue
        a = x & mask
        b = length + lengths[start + k] - (x >> shift)
        if a * b0 > a0 * b:
            a0, b0 = a, b
        if a > cover and a <= cut * b:
            cover = a
    return a0, b0, cover


@jit
def nearest_block(
    b: int,
    records: Array,
    whole: Array,
    shift: int,
    cut: float,
    post: Postings,
    how: Agreement,
    out: Nearest,
) -> None:
    """Compare `records` with all records of block `b`; `whole` is scratch memory for the block's counts."""
    start = post.first_record + b * post.block_size
    size = min(post.block_size, post.n_records - b * post.block_size)
    acc = whole[:size]
    one = np.int64(1) << shift
    for q in range(records.size):
        acc[:] = 0
        r = records[q]
        k, end = how.ptr[r], how.ptr[r + 1]
        while k < end:
            i = how.item[k]
            stop = k + 1
            while stop < end and how.item[stop] == i:
                stop += 1
            lo, hi = np.int64(post.ptr[b, i]), np.int64(post.ptr[b, i + 1])
            if post.repeats:
                _add_events(acc, lo, hi, k, stop, one, post, how)
            else:
                # a channel that does not count may have no array to slice
                code = post.code[lo:hi] if how.use_value else post.code[:0]
                tick = post.tick[lo:hi] if how.use_time else post.tick[:0]
                _add_one(acc, post.local[lo:hi], code, tick, k, one, how)
            k = stop
        out.agree[q], out.union[q], out.cover[q] = _update_nearest(
            acc, start, r, shift, cut, how.lengths, (out.agree[q], out.union[q], out.cover[q])
        )


def _shares(records: Array, n_blocks: int, threads: int) -> list[Array]:
    """The records in one piece, or in several if there are fewer blocks than threads."""
    return np.array_split(records, max(1, min(-(-threads // n_blocks), records.size)))


def nearest(
    dataset: Dataset,
    records: Array,
    value_within: float | None,
    time_within: float | str | None,
    cut: float = -1.0,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Nearest:
    """Compare each of `records` with every other record, exactly."""
    how = Agreement.of(dataset, value_within, time_within)
    n_threads = threads or os.cpu_count() or 1
    shard = dataset.index
    post = postings(shard)
    parts = []
    with ThreadPoolExecutor(n_threads) as pool:
        for first in range(0, records.size, BATCH):
            some = records[first : first + BATCH].astype(np.int64)
            narrow = int(dataset.lengths[some].max()) <= NARROW
            shift, kind = (16, np.int32) if narrow else (32, np.int64)

            def work(task: tuple[Array, int], shift: int = shift, kind: type = kind) -> Nearest:
                mine, b = task
                out = Nearest.empty(mine.size)
                nearest_block(b, mine, np.zeros(shard.block_size, kind), shift, cut, post, how, out)
                return out

            shares = _shares(some, shard.n_blocks, n_threads)
            done = pool.map(work, [(mine, b) for mine in shares for b in range(shard.n_blocks)])
            parts += [
                reduce(Nearest.merge, islice(done, shard.n_blocks), Nearest.empty(mine.size))
                for mine in shares
            ]
            if progress:
                progress(int(some.size))
    return (
        Nearest(*(np.concatenate(x) for x in zip(*parts, strict=True)))
        if parts
        else Nearest.empty(0)
    )
