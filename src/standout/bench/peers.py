"""Alternative tools: sparse_dot_topn and SciPy (presence only), DuckDB SQL (the full score)."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.arrays import Array
from standout.bench.case import BenchCase
from standout.bench.clock import Took, shortest
from standout.errors import EngineError


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
    best = np.array(
        [
            out.data[lo:hi].max(initial=0)
            for lo, hi in zip(out.indptr[:-1], out.indptr[1:], strict=True)
        ]
    )
    second = np.array(
        [
            out.data[lo:hi].min(initial=99)
            for lo, hi in zip(out.indptr[:-1], out.indptr[1:], strict=True)
        ]
    )
    return took, best, second


def scipy_product(case: BenchCase, matrix: Any, n: int) -> tuple[Took, Array]:
    """SciPy's sparse product, one core: time, best record (the lower index of equals)."""
    q = queries(case, n)

    def work() -> Array:
        out = q @ matrix
        rows = zip(out.indptr[:-1], out.indptr[1:], strict=True)
        return np.array([_first_best(out.indices[lo:hi], out.data[lo:hi]) for lo, hi in rows])

    return shortest(work)


def _first_best(record: Array, score: Array) -> int:
    return int(record[score == score.max()].min())


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
