"""The scalar C loop of benchmarks/reference, compiled when needed and run on the same shard and plan."""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from standout.bench.case import cache_folder
from standout.data.index import Shard
from standout.errors import EngineError
from standout.scoring.partials import LOWEST, Partials
from standout.scoring.plan import Plan

SOURCE = Path(__file__).parents[3] / "benchmarks" / "reference" / "scalar.c"
FLAGS = (
    "-O3",
    "-march=native",
    "-funroll-loops",
    "-fassociative-math",
    "-fno-signed-zeros",
    "-fno-trapping-math",
    "-shared",
    "-fPIC",
)
"""Sums may be reordered, as in our kernel. Not -ffast-math: a library linked with it makes the whole process flush
subnormal numbers to zero."""

_NUMBERS = ("n_records", "block_size", "n_items", "n_queries", "n_values", "n_times", "no_tick")
_ARRAYS = (
    "ptr",
    "local",
    "code",
    "tick",
    "query_ptr",
    "item",
    "known_tick",
    "time_row",
    "value",
    "time",
)


class _Task(ctypes.Structure):
    _fields_ = [(n, ctypes.c_int64) for n in _NUMBERS] + [(n, ctypes.c_void_p) for n in _ARRAYS]


class _ReferenceAnswer(ctypes.Structure):
    _fields_ = [
        (n, ctypes.c_void_p)
        for n in ("best_score", "best", "second_score", "second", "total", "squares")
    ]


def build() -> Any:
    """Compile and load the loop; EngineError if gcc or its source is missing."""
    gcc = shutil.which("gcc")
    if gcc is None or not SOURCE.exists():
        raise EngineError(
            "no gcc here, or no benchmarks/reference/scalar.c beside the package: the C loop is left out"
        )
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    library = cache_folder() / f"scalar-{digest}.so"
    if not library.exists():
        subprocess.run([gcc, *FLAGS, str(SOURCE), "-o", str(library)], check=True)
    lib = ctypes.CDLL(str(library))
    lib.run_blocks.argtypes = [
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    return lib


def run(lib: Any, plan: Plan, shard: Shard, threads: int) -> Partials:
    """Best, second, sum and sum of squares per query, by the C loop, with blocks assigned to threads as in the engine."""
    t = plan.tables
    arrays = [
        shard.ptr,
        shard.local,
        shard.code,
        shard.tick,
        t.query.ptr,
        t.fact.item,
        t.fact.known_tick,
        t.fact.time_row,
        t.fact.value,
        t.row.time,
    ]
    numbers = [
        shard.n_records,
        shard.block_size,
        shard.ptr.shape[1] - 1,
        plan.n_queries,
        t.fact.value.size // t.fact.item.size,
        t.row.time.shape[1],
        shard.no_tick,
    ]
    task = _Task(*numbers, *(a.ctypes.data for a in arrays))

    def work(first: int, stop: int) -> Partials:
        out = Partials.empty(plan.n_queries)
        best, second, best_score, second_score = (
            np.full(plan.n_queries, x, np.int64) for x in (-1, -1, LOWEST, LOWEST)
        )
        fields = (best_score, best, second_score, second, out.total, out.squares)
        answer, acc = (
            _ReferenceAnswer(*(a.ctypes.data for a in fields)),
            np.zeros(shard.block_size, np.int32),
        )
        lib.run_blocks(first, stop, ctypes.byref(task), ctypes.byref(answer), acc.ctypes.data)
        out.top[:] = np.column_stack([best, second])
        out.top_score[:] = np.column_stack([best_score, second_score])
        out.top_key[:] = 0
        return out

    edges = (
        np.linspace(0, shard.n_blocks, min(4 * threads, shard.n_blocks) + 1).astype(int).tolist()
    )
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(work, edges[:-1], edges[1:]))
    return reduce(Partials.merge, parts, Partials.empty(plan.n_queries))
