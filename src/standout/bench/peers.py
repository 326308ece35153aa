"""What our engine is compared with in `measure.py`: each of these does a part of its work on the same case, and is timed.

The C loop of benchmarks/reference and DuckDB SQL compute the full score, sparse_dot_topn and SciPy
only count items in common.
"""

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

from standout.arrays import Array
from standout.bench.case import BenchCase, Took, cache_folder, shortest
from standout.data.index import Shard
from standout.errors import EngineError
from standout.scoring.partials import LOWEST, NO_RECORD, Partials
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
    lib.run_blocks.argtypes = [ctypes.c_int64] * 2 + [ctypes.c_void_p] * 3
    return lib


def run(lib: Any, plan: Plan, shard: Shard, threads: int) -> Partials:
    """Best, second, sum and sum of squares per query, by the C loop, with blocks assigned to threads as in the engine."""
    fact, time = plan.tables.fact, plan.tables.row.time
    numbers = [
        shard.n_records,
        shard.block_size,
        shard.ptr.shape[1] - 1,
        plan.n_queries,
        fact.value.size // fact.item.size,
        time.shape[1],
        shard.no_tick,
    ]
    of_shard = [shard.ptr, shard.local, shard.code, shard.tick]
    of_plan = [plan.tables.query.ptr, fact.item, fact.known_tick, fact.time_row, fact.value, time]
    # the structures of scalar.c: numbers and pointers of 8 bytes each
    task = np.array([*numbers, *(x.ctypes.data for x in of_shard + of_plan)], np.int64)

    def work(first: int, stop: int) -> Partials:
        out = Partials.empty(plan.n_queries)
        scores = np.full((2, plan.n_queries), LOWEST, np.int64)
        records = np.full((2, plan.n_queries), NO_RECORD, np.int64)
        fields = (scores[0], records[0], scores[1], records[1], out.total, out.squares)
        pointers = np.array([x.ctypes.data for x in fields], np.int64)
        sums = np.zeros(shard.block_size, np.int32)
        lib.run_blocks(first, stop, *(x.ctypes.data for x in (task, pointers, sums)))
        out.top[:], out.top_score[:], out.top_key[:] = records.T, scores.T, 0
        return out

    n_parts = min(4 * threads, shard.n_blocks)
    edges = np.linspace(0, shard.n_blocks, n_parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        parts = list(pool.map(work, edges[:-1], edges[1:]))
    return reduce(Partials.merge, parts, Partials.empty(plan.n_queries))


def item_major(case: BenchCase) -> Any:
    """(items, records) CSR of ones, int32 indices, float32 data."""
    from scipy.sparse import csr_matrix

    data = case.data
    ones = np.ones(data.n_entries, np.float32)
    ptr = data.record_ptr.astype(np.int32)
    return csr_matrix(
        (ones, data.record_item.astype(np.int32), ptr), shape=(data.n_records, data.n_items)
    ).T.tocsr()


def queries(case: BenchCase, n: int) -> Any:
    """(queries, items) CSR of ones."""
    from scipy.sparse import csr_matrix

    facts = case.facts.part(0, n)
    item, query = facts.item, facts.query
    return csr_matrix((np.ones(item.size, np.float32), (query, item)), shape=(n, case.data.n_items))


def topn(case: BenchCase, matrix: Any, n: int) -> tuple[Took, Array, Array]:
    """sparse_dot_topn: time, best and second count."""
    try:
        from sparse_dot_topn import sp_matmul_topn
    except ImportError:
        raise EngineError(
            "sparse_dot_topn is not installed (pip install 'standout[bench]'): it is left out"
        ) from None
    q = queries(case, n)
    took, out = shortest(
        lambda: sp_matmul_topn(q, matrix, top_n=2, sort=True, n_threads=case.threads)
    )
    counts = np.split(out.data, out.indptr[1:-1])
    best, second = [x.max(initial=0) for x in counts], [x.min(initial=99) for x in counts]
    return took, np.array(best), np.array(second)


def scipy_product(case: BenchCase, matrix: Any, n: int) -> tuple[Took, Array]:
    """SciPy's sparse product, one core: time, best record (the lower index of equals)."""
    q = queries(case, n)

    def work() -> Array:
        out = q @ matrix
        rows = np.split(out.indices, out.indptr[1:-1]), np.split(out.data, out.indptr[1:-1])
        return np.array([record[s == s.max()].min() for record, s in zip(*rows, strict=True)])

    return shortest(work)


SQL = """
WITH scores AS (
  SELECT f.query, e.record, sum(f.w * (exp(-abs(e.value - f.value) / 1.5) + exp(-abs(e.day - f.day) / 30.0))) AS score
  FROM facts f JOIN entries e ON e.item = f.item GROUP BY f.query, e.record)
SELECT query, arg_max(record, score) AS best, max(score, 2) AS two, sum(score) AS total, sum(score * score) AS squares
FROM scores GROUP BY query ORDER BY query
"""


def sql(case: BenchCase, n: int) -> tuple[Took, Array]:
    """DuckDB: time of the Scoreboard-RH score by join and group by, and the best records."""
    import duckdb
    import pyarrow as pa

    from standout.formulas import ns08

    db = duckdb.connect(config={"threads": case.threads})
    epoch = "DATE '1970-01-01'"
    db.execute(
        f"CREATE TABLE entries AS SELECT record, item, value, date_diff('day', {epoch}, day) AS day "
        f"FROM read_parquet('{case.path}') ORDER BY item"
    )
    facts = case.facts.part(0, n)
    labels = case.data.item_labels[facts.item]
    frame = pa.table(
        {
            "query": facts.query,
            "item": labels,
            "value": facts.value,
            "day": facts.day,
            "w": ns08.wt(case.data.supports[facts.item]),
        }
    )
    db.register("facts", frame)
    took, rows = shortest(lambda: db.execute(SQL).fetchnumpy())
    db.close()
    return took, np.searchsorted(case.data.record_labels, rows["best"])
