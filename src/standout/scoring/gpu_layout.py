"""Layout of postings and tables in GPU memory; nothing in this file needs a GPU."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.scoring.fill_odds import LN2
from standout.scoring.plan import LOG_BITS, VETO, Combine, Plan

STATIC = 7 * 1024
"""Bytes of shared memory that the system (1 KiB) and the kernel's fixed variables take."""

MOST_FACTS = 32
"""Facts that the kernel stages at once (MOST_FACTS in gpu_source/layout.cuh)."""


PLAN_POINTERS = (
    "query_ptr",
    "item",
    "known_tick",
    "time_row",
    "value",
    "time",
    "floor",
    "n_known",
    "exclude",
    "low",
    "high",
    "cut",
    "cap",
    "shift",
    "salt",
    "factor",
    "posting_factor",
    "lengths",
    "log_table",
    "head",
)
"""Pointers of the struct Plan in gpu_source/layout.cuh, in its order."""


class PostingLayout(NamedTuple):
    """One posting = one word: the record's offset in the block lowest, then the value code; the tick highest."""

    block_size: int
    local_bits: int
    code_bits: int
    tick_bits: int

    @classmethod
    def of(
        cls, block_size: int, n_levels: int, tick_span: int, has_value: bool, has_time: bool
    ) -> PostingLayout:
        """Widths that hold every offset, every code (`n_levels` = no value) and every tick; all ones = no time."""
        tick_bits = (int(tick_span) + 1).bit_length() if has_time else 0
        return cls(
            block_size,
            (block_size - 1).bit_length(),
            int(n_levels).bit_length() if has_value else 0,
            tick_bits,
        )

    @property
    def word(self) -> str:
        """Type of a word in the kernel."""
        return "u32" if self.local_bits + self.code_bits + self.tick_bits <= 32 else "u64"

    @property
    def tick_shift(self) -> int:
        """Bits below the tick: at the top of the word it needs no mask."""
        return (32 if self.word == "u32" else 64) - self.tick_bits

    @property
    def missing_tick(self) -> int:
        """Number that means "no time"."""
        return (1 << self.tick_bits) - 1


def pack(
    layout: PostingLayout, local: Any, code: Any, tick: Any, no_tick: int, xp: Any = np
) -> Any:
    """Words of a range of postings; `xp` is NumPy or CuPy, whichever holds the arrays."""
    kind = np.dtype(np.uint32 if layout.word == "u32" else np.uint64)
    words = local.astype(kind)
    if layout.code_bits:
        words |= code.astype(kind) << kind.type(layout.local_bits)
    if layout.tick_bits:
        known = xp.where(tick == no_tick, kind.type(layout.missing_tick), tick.astype(kind))
        words |= known.astype(kind) << kind.type(layout.tick_shift)
    return words


class Shape(NamedTuple):
    """How a plan's kernel is launched."""

    threads: int
    per_sm: int
    facts_at_once: int
    tables_shared: bool
    shared_bytes: int


def shape_of(plan: Plan, block_size: int, threads: int, per_sm: int, shared_per_sm: int) -> Shape:
    """Fit accumulator and tables into shared memory: as many facts at once as fit."""
    size = 8 if plan.combine == Combine.ODDS else 4
    base = 4 * block_size
    base += 8 * 1024 if plan.combine == Combine.ODDS else 0
    base += -(-2 * block_size // 16) * 16 if plan.combine == Combine.MIN else 0
    while per_sm > 1 and shared_per_sm // per_sm - STATIC < base + 16 * 1024:
        per_sm -= 1
    free = shared_per_sm // per_sm - STATIC - base
    n_values, n_times = widths(plan)
    row = size * (n_values + spaced(n_times, size))
    most = int(np.diff(plan.tables.query.ptr).max(initial=1))
    at_once = min(most, MOST_FACTS, free // row)
    if at_once < 1:
        return Shape(threads, per_sm, min(most, MOST_FACTS), False, base)
    return Shape(threads, per_sm, max(at_once, 1), True, base + at_once * row)


def spaced(n: int, itemsize: int) -> int:
    """Numbers from one row of `n` numbers to the next where rows start at multiples of 16 bytes."""
    per = 16 // itemsize
    return -(-n // per) * per


def widths(plan: Plan) -> tuple[int, int]:
    """Columns of the value and of the time table on the device."""
    value = plan.tables.fact.odds_value if plan.combine == Combine.ODDS else plan.tables.fact.value
    return value.size // max(plan.tables.fact.item.size, 1), int(time_table(plan).table.shape[1])


class TimeTable(NamedTuple):
    """The time table as the device keeps it."""

    table: Array
    folded: bool
    """Whether a column stands for the size of a gap, because all rows are symmetric: half of the shared memory."""


_TIME_TABLES: WeakKeyDictionary[Plan, TimeTable] = WeakKeyDictionary()


def time_table(plan: Plan) -> TimeTable:
    """Time table of the plan, folded where that loses nothing; kept as long as the plan exists."""
    if plan not in _TIME_TABLES:
        time = plan.tables.row.odds_time if plan.combine == Combine.ODDS else plan.tables.row.time
        gaps = time[:, :-1]
        folds = (
            plan.gap_shift == 0 and gaps.shape[1] % 2 == 1 and np.array_equal(gaps, gaps[:, ::-1])
        )
        half = (
            np.concatenate([gaps[:, gaps.shape[1] // 2 :], time[:, -1:]], axis=1) if folds else time
        )
        _TIME_TABLES[plan] = TimeTable(half, bool(folds))
    return _TIME_TABLES[plan]


def device_tables(plan: Plan) -> dict[str, Array]:
    """Tables of the plan in the device's types, by their names in the struct Plan. Rows of `time` start at 16 bytes."""
    query, fact = plan.tables.query, plan.tables.fact
    odds = plan.combine == Combine.ODDS
    kind = np.dtype(np.float64 if odds else np.int32)
    small = {
        "query_ptr": query.ptr,
        "item": fact.item,
        "known_tick": fact.known_tick,
        "time_row": fact.time_row,
    }
    gaps = time_table(plan).table
    time = np.zeros((gaps.shape[0], spaced(gaps.shape[1], kind.itemsize)), kind)
    time[:, : gaps.shape[1]] = gaps
    return {
        **{
            name: np.clip(array, -(2**30), 2**31 - 1).astype(np.int32)
            for name, array in small.items()
        },
        "value": (fact.odds_value if odds else fact.value).astype(kind, copy=False),
        "time": time,
        "floor": fact.odds_floor,
        "n_known": np.clip(query.n_known, 0, 2**31 - 1).astype(np.int32),
        "salt": query.salt.astype(np.uint64),
        **{
            name: getattr(query, name) for name in ("exclude", "low", "high", "cut", "cap", "shift")
        },
    }


def factor_type(factors: Array) -> np.dtype[Any]:
    """float32 where it holds every factor exactly, which halves what a kernel reads of them; else float64.

    >>> factor_type(np.array([0.25, 1.0])), factor_type(np.array([0.1]))
    (dtype('float32'), dtype('float64'))
    """
    return np.dtype(
        np.float32 if np.array_equal(factors, factors.astype(np.float32)) else np.float64
    )


def _longest_log(plan: Plan) -> float:
    """No logarithm of odds in the plan is larger than this, in 2^-24 units."""
    t = plan.tables
    if plan.combine != Combine.ODDS:
        return 0.0
    most = t.fact.odds_value.max(initial=0.0) * t.row.odds_time.max(
        initial=0.0
    ) + t.fact.odds_floor.max(initial=0.0)
    return float(np.log1p(most * (plan.factor.largest if plan.factor else 0.0)) * 2**LOG_BITS)


def macros(
    plan: Plan, layout: PostingLayout, shape: Shape, shard: Shard, missing_ticks: bool
) -> tuple[str, ...]:
    """Compiler options that make the kernel of this plan."""
    lowest = int(plan.tables.fact.value.min(initial=0)) + int(plan.tables.row.time.min(initial=0))
    values: dict[str, Any] = {
        "COMBINE": int(plan.combine),
        "TIE": int(plan.tie),
        "USE_VALUE": int(plan.use_value),
        "USE_TIME": int(plan.use_time),
        "REPEATS": int(shard.has_repeats),
        "FILTERED": int(plan.filtered),
        "FACTOR": int(plan.factor is not None),
        "WORD": layout.word,
        "PTR": "u32" if shard.ptr.dtype == np.uint32 else "i64",
        "LOCAL_BITS": layout.local_bits,
        "CODE_BITS": layout.code_bits,
        "TICK_BITS": layout.tick_bits,
        "BLOCK": layout.block_size,
        "THREADS": shape.threads,
        "PER_SM": shape.per_sm,
        "TABLES_SHARED": int(shape.tables_shared),
        "MISSING_TICKS": int(missing_ticks),
        "GAP_SHIFT": plan.gap_shift,
        "FOLDED": int(time_table(plan).folded),
        "VETOES": int(lowest <= VETO // 2),
        "NONNEGATIVE": int(lowest >= 0),
        "LONG_LOG": int(_longest_log(plan) >= 2**31),
        "LN2": f"{LN2}LL",
    }
    return ("-std=c++17", "--fmad=false", *(f"-D{name}={value}" for name, value in values.items()))
