"""Runs the kernels of gpu_source through CuPy: copies index and tables to the device and partials back."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any
from weakref import ref

import numpy as np

from standout.arrays import Array
from standout.data.index import Shard
from standout.errors import EngineError
from standout.scoring.factors import factors_of
from standout.scoring.fill_odds import LOG_TABLE
from standout.scoring.gpu_layout import (
    PLAN_POINTERS,
    PostingLayout,
    Shape,
    device_tables,
    factor_type,
    macros,
    pack,
    shape_of,
    widths,
)
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Combine, Plan

PARTS = ("layout.cuh", "contribution.cuh", "staging.cuh", "order.cuh", "sums.cuh", "kernels.cuh")
"""Files of gpu_source, in the order in which they are joined: each uses what the ones before it define."""

DEVICE_PARTIALS = (
    "top_score",
    "top_key",
    "top",
    "n_top",
    "n",
    "total",
    "squares",
    "n_watch",
    "n_cut",
)
"""Fields of `Partials` that the kernel fills, in the order of the struct Out in gpu_source/layout.cuh."""

HEAD_BYTES = 32
"""Size of a Head in gpu_source/layout.cuh."""


def cupy() -> Any:
    """CuPy with a device to run on."""
    try:
        import cupy as cp

        n = int(cp.cuda.runtime.getDeviceCount())
    except ImportError:
        raise EngineError(
            "engine 'gpu' needs CuPy, which is not installed (pip install 'standout[gpu]')"
        ) from None
    except Exception as error:
        raise EngineError(f"engine 'gpu' finds no CUDA device ({error})") from None
    if n == 0:
        raise EngineError("engine 'gpu' finds no CUDA device")
    return cp


def source() -> str:
    """Text of all kernels: the parts joined in order, so that the compiler needs no include path."""
    folder = files("standout.scoring").joinpath("gpu_source")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in PARTS)


@cache
def _module(options: tuple[str, ...]) -> Any:
    return cupy().RawModule(code=source(), options=options)


class DeviceIndex:
    """Posting lists of a shard on the device."""

    def __init__(self, shard: Shard) -> None:
        cp = cupy()
        self.shard = shard
        codes = int(shard.code.max(initial=1)) if shard.code.size else 0
        self.layout = PostingLayout.of(
            shard.block_size, codes, shard.last_tick, shard.code.size > 0, shard.tick.size > 0
        )
        n = shard.local.size
        kind = np.uint32 if self.layout.word == "u32" else np.uint64
        self.words = cp.empty(n, kind)
        self.missing_ticks = False
        # in parts, so that the unpacked columns are never on the device as a whole
        for lo in range(0, n, 1 << 25):
            part = slice(lo, min(n, lo + (1 << 25)))
            local, code, tick = (
                cp.asarray(a[part]) if a.size else None
                for a in (shard.local, shard.code, shard.tick)
            )
            if tick is not None:
                self.missing_ticks |= bool((tick == shard.no_tick).any())
            self.words[part] = pack(self.layout, local, code, tick, shard.no_tick, xp=cp)
        self.ptr = cp.asarray(shard.ptr)
        self.lengths = cp.asarray(shard.lengths)
        self.log_table = cp.asarray(LOG_TABLE)
        self.struct = _struct(
            [self.words, self.ptr], [shard.first_record, shard.n_records, shard.ptr.shape[1] - 1]
        )

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return int(self.words.nbytes + self.ptr.nbytes + self.lengths.nbytes)


def _struct(arrays: list[Any], numbers: list[int]) -> Array:
    """A C struct of pointers (arrays, or addresses), then 64-bit integers, to be passed to a kernel by value."""
    addresses = [a if isinstance(a, int) else int(a.data.ptr) for a in arrays]
    fields = np.array([*addresses, *(int(x) for x in numbers)], dtype=np.int64)
    return fields.view(np.dtype([(f"f{k}", np.int64) for k in range(fields.size)]))


def _before(array: Any, n: int) -> int:
    """Address from which element `n` is the first of the array."""
    return int(array.data.ptr) - n * int(array.itemsize)


class DevicePlan:
    """A plan's tables on the device, and its kernels."""

    def __init__(self, plan: Plan, index: DeviceIndex, shape: Shape) -> None:
        cp = cupy()
        odds = plan.combine == Combine.ODDS
        tables = {
            name: cp.asarray(np.ascontiguousarray(array))
            for name, array in device_tables(plan).items()
        }
        factors = factors_of(plan.factor, index.shard)
        self.factor = cp.asarray(
            factors.astype(factor_type(factors) if odds else np.float64, copy=False)
        )
        self.posting_factor = cp.empty(index.words.size if odds else 0, self.factor.dtype)
        # kernels index these two by record of the release; the shard's own records begin at
        # `first_record`
        factor, lengths = (
            _before(a, index.shard.first_record) for a in (self.factor, index.lengths)
        )
        pointers = {
            **tables,
            "factor": factor,
            "posting_factor": self.posting_factor,
            "lengths": lengths,
            "log_table": index.log_table,
            "head": cp.empty(HEAD_BYTES * max(tables["item"].size, 1), np.uint8),
        }
        n_values, n_times = widths(plan)
        numbers = [plan.n_queries, n_values, n_times, tables["time"].shape[1], shape.facts_at_once]
        self.struct = _struct([pointers[name] for name in PLAN_POINTERS], numbers)
        self._arrays = pointers
        self.shape = shape
        self.n_queries = plan.n_queries
        options = macros(plan, index.layout, shape, index.shard, index.missing_ticks)
        self._module = _module(
            (*options, f"-DFACTOR_TYPE={'float' if self.factor.dtype == np.float32 else 'double'}")
        )

    def launch(self, name: str, n_sm: int, *args: Any) -> None:
        """Run a kernel over all queries."""
        kernel = self._module.get_function(name)
        kernel.max_dynamic_shared_size_bytes = self.shape.shared_bytes
        grid = min(self.n_queries, n_sm * self.shape.per_sm)
        kernel((grid,), (self.shape.threads,), args, shared_mem=self.shape.shared_bytes)

    def spread_factors(self, n_sm: int, index: DeviceIndex) -> None:
        """Write the factors of the records beside their postings."""
        kernel = self._module.get_function("spread_factors")
        for b in range(index.shard.n_blocks):
            kernel(
                (8 * n_sm,), (256,), (index.struct, self.factor, self.posting_factor, np.int64(b))
            )

    def find_heads(self, n_sm: int, index: DeviceIndex, block: int) -> None:
        """Find the runs of all facts in a block."""
        self._module.get_function("find_heads")(
            (8 * n_sm,), (256,), (index.struct, self.struct, np.int64(block))
        )


class Device:
    """One GPU: its size, its kernel time, and the three operations on a plan."""

    def __init__(self, threads: int, per_sm: int) -> None:
        cp = cupy()
        self.cp: Any = cp
        facts = cp.cuda.runtime.getDeviceProperties(cp.cuda.runtime.getDevice())
        self.name = str(facts["name"].decode())
        self.n_sm = int(facts["multiProcessorCount"])
        self.shared_per_sm = min(
            int(facts["sharedMemPerMultiprocessor"]), int(facts["sharedMemPerBlockOptin"]) + 1024
        )
        self.threads, self.per_sm = threads, per_sm
        self.kernel_seconds = 0.0
        self._kept: tuple[ref[Plan], ref[DeviceIndex], DevicePlan] | None = None

    @property
    def largest_block(self) -> int:
        """Records whose scores fit into shared memory, with 28 KiB left for tables."""
        return max((self.shared_per_sm // self.per_sm - 28 * 1024) // 4 // 4096 * 4096, 4096)

    def prepare(self, plan: Plan, index: DeviceIndex) -> DevicePlan:
        """Tables on the device and compiled kernels; cached until another plan is used."""
        if self._kept is not None and self._kept[0]() is plan and self._kept[1]() is index:
            return self._kept[2]
        self._kept = None
        shape = shape_of(
            plan, index.layout.block_size, self.threads, self.per_sm, self.shared_per_sm
        )
        up = DevicePlan(plan, index, shape)
        if up.posting_factor.size:
            self._timed(lambda: up.spread_factors(self.n_sm, index))
        self._kept = (ref(plan), ref(index), up)
        return up

    def run(self, plan: Plan, index: DeviceIndex, watch: Array) -> Partials:
        """Best, second and sums per query."""
        up, marks = self.prepare(plan, index), self.cp.asarray(watch.astype(np.int64))
        empty = Partials.empty(plan.n_queries)
        out = {name: self.cp.asarray(getattr(empty, name)) for name in DEVICE_PARTIALS}
        pointers = _struct(list(out.values()), [])
        self._each_block(up, index, "run_block", index.struct, up.struct, marks, pointers)
        return empty._replace(**{name: self.cp.asnumpy(array) for name, array in out.items()})

    def mass(self, plan: Plan, index: DeviceIndex, top: Array, beta: Array) -> Array:
        """Σ exp(beta · (score - top)) over all candidates."""
        up = self.prepare(plan, index)
        tops, betas = (
            self.cp.asarray(top.astype(np.int64)),
            self.cp.asarray(np.broadcast_to(beta, top.shape).astype(np.float64)),
        )
        out = self.cp.zeros(plan.n_queries)
        self._each_block(up, index, "mass_block", index.struct, up.struct, tops, betas, out)
        return np.asarray(self.cp.asnumpy(out))

    def score_record(self, plan: Plan, index: DeviceIndex, record: Array) -> Array:
        """Integer score of one record per query."""
        up, records = self.prepare(plan, index), self.cp.asarray(record.astype(np.int64))
        out = self.cp.full(plan.n_queries, LOWEST, np.int64)
        self._timed(
            lambda: up.launch("peek_record", self.n_sm, index.struct, up.struct, records, out)
        )
        return np.asarray(self.cp.asnumpy(out))

    def _each_block(self, up: DevicePlan, index: DeviceIndex, kernel: str, *args: Any) -> None:
        def launches() -> None:
            for b in range(index.shard.n_blocks):
                up.find_heads(self.n_sm, index, b)
                up.launch(kernel, self.n_sm, *args, np.int64(b))

        if up.n_queries:
            self._timed(launches)

    def _timed(self, work: Any) -> None:
        start, stop = self.cp.cuda.Event(), self.cp.cuda.Event()
        start.record()
        work()
        stop.record()
        stop.synchronize()
        self.kernel_seconds += self.cp.cuda.get_elapsed_time(start, stop) / 1000
