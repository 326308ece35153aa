"""Arrays of a shard and of a plan as compiled kernels take them, scratch memory, and columns of time tables."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.data.item_codes import ItemCodes
from standout.jit import njit
from standout.scoring.factors import RecordFactor, factors_of
from standout.scoring.plan import Combine, Plan

SUM = int(Combine.SUM)
MIN = int(Combine.MIN)
ODDS = int(Combine.ODDS)
STRIP = 256
"""Postings processed together when taking logarithms, so that the loop vectorizes."""


class Postings(NamedTuple):
    """Arrays of a shard, as compiled kernels take them."""

    first_record: int
    n_records: int
    block_size: int
    ptr: Array
    local: Array
    code: Array
    tick: Array
    repeats: bool
    no_tick: int
    all_dated: bool
    lengths: Array
    """int64 (records of the shard): distinct items."""
    factor: Array
    """float64 (records of the shard, or none): multiplies a record's sum; for `Combine.ODDS` each odds."""


class KernelVariant(NamedTuple):
    """Scalars of a plan that select the loops of the kernel."""

    combine: int
    tie: int
    use_value: bool
    use_time: bool
    filtered: bool
    plain: bool
    """Whether no table holds a veto, and a column of the time table is one gap."""
    gap_shift: int
    """A column of the time table stands for 2^gap_shift gaps."""
    by_events: bool
    """Whether the odds of a pair are the sum over its events."""


class Scratch(NamedTuple):
    """Scratch memory of one thread."""

    held: Array
    """int32 (block): facts met so far, for `Combine.MIN`."""
    odds: Array
    """float64 (strip)."""
    logs: Array
    """int32 (strip)."""


def postings(
    shard: Shard, factor: RecordFactor | None = None, places: ItemCodes | None = None
) -> Postings:
    """Arrays of `shard` for the kernel, with the factors of its records; with `places`, codes count from an item's first."""
    return Postings(
        shard.first_record,
        shard.n_records,
        shard.block_size,
        shard.ptr,
        shard.local,
        shard.code if places is None else places.places(shard),
        shard.tick,
        shard.has_repeats,
        shard.no_tick,
        shard.all_dated,
        shard.lengths,
        factors_of(factor, shard),
    )


def variant_of(plan: Plan) -> KernelVariant:
    """Kernel variant for `plan`."""
    return KernelVariant(
        int(plan.combine),
        int(plan.tie),
        plan.use_value,
        plan.use_time,
        plan.filtered,
        plan.plain,
        plan.gap_shift,
        plan.by_events,
    )


jit = njit(nogil=True, cache=True, error_model="numpy")
jit_bare = njit(nogil=True, cache=True, error_model="numpy", _nrt=False)
"""For loops over queries: no reference counting, for which threads would contend; such functions cannot create arrays."""
jit_inline = njit(nogil=True, error_model="numpy", inline="always")
"""For functions that take whole plans: a call would copy the shape and strides of every array."""


@jit
def make_scratch(block_size: int, combine: int) -> Scratch:
    """Scratch memory for blocks of that size."""
    strip = STRIP if combine == ODDS else 0
    return Scratch(
        np.zeros(block_size if combine == MIN else 0, np.int32),
        np.zeros(strip),
        np.zeros(strip, np.int32),
    )


@jit
def first_column_tick(known: int, last: int, shift: int) -> int:
    """Tick whose distance from an entry's tick, divided by 2^shift, is the column of the time table."""
    return known + ((last >> 1) << shift) + ((1 << shift) >> 1)


@jit
def gap_column(tick: int, origin: int, last: int, no_tick: int) -> int:
    """Column of a time table by the signed gap (`scoring.plan`), `last + 1` for no time.

    `origin` is `first_column_tick` for ungrouped gaps.
    """
    # 32 bits, so that the loop vectorizes; "no time" may wrap to -1 on both sides of the comparison
    d = np.int32(tick)
    column = min(max(np.int32(origin) - d, np.int32(0)), np.int32(last))
    return np.uint64(np.uint32(np.int32(last + 1) if d == np.int32(no_tick) else column))


@jit
def grouped_column(tick: int, origin: int, shift: int, last: int, no_tick: int) -> int:
    """As `gap_column`, where a column stands for 2^shift gaps."""
    d = np.int32(tick)
    column = min(
        np.uint32(max(np.int32(origin) - d, np.int32(0))) >> np.uint32(shift), np.uint32(last)
    )
    return np.uint64(np.uint32(last + 1) if d == np.int32(no_tick) else column)
