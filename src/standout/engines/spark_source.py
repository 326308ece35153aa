"""Rows on a cluster as a source: the queries of the reader run in DuckDB on each partition, and their counts are merged.

`spark_dataset.py` reads with it. The reader (`data/reading`) asks its queries of a DuckDB connection;
`ClusterConnection` takes the place of that connection.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.data.reading.columns import Roles
from standout.data.reading.options import ReadOptions
from standout.data.reading.read import choose_roles
from standout.data.reading.rows import index_cells
from standout.data.reading.source import FrameTable, Source
from standout.data.reading.survey import Survey, surveyed_levels
from standout.data.reading.workspace import one_row, workspace
from standout.engines.spark_worker import Batches, on_worker, pickled_batch

if TYPE_CHECKING:
    from standout.engines.spark import SparkEngine

NAME = "the frame"
"""What messages call the data."""
SHARD_ENTRIES = 4_000_000
"""Entries per shard, about."""
SAMPLED_PER_SHARD = 50
"""Sampled records per shard, from which the ranges of records are cut."""
SPARK_KINDS = {"BIGINT": "long", "DOUBLE": "double", "VARCHAR": "string"}
"""Type of a column in DuckDB → in a schema of Spark."""
_WORDS_OF_COLUMN = {
    "record": {"record"},
    "item": {"item"},
    "value": {"value", "value_bad"},
    "time": {"time", "stamp", "tick", "moment", "time_bad"},
}
"""Column of the source → names in a query that need it."""


@dataclass(frozen=True)
class ReaderViews:
    """The SQL views of the reader over the rows of a partition: the same SQL as for rows in memory."""

    columns: tuple[tuple[str, str], ...]
    """Role and SQL type of each column of `source`."""
    statements: tuple[str, ...] = ()
    """SQL that makes the views, in order."""

    def needed(self, query: str) -> list[str]:
        """Roles whose columns the query reads."""
        text = query
        if re.search(r"\b(rows|good)\b", query):
            conditions = [
                s.partition(" WHERE ")[2]
                for s in self.statements
                if s.startswith("CREATE VIEW good")
            ]
            text = " ".join([query, *conditions])
        words = set(re.findall(r"\w+", text))
        return [role for role, _ in self.columns if words & _WORDS_OF_COLUMN[role]] or [
            self.columns[0][0]
        ]

    @contextmanager
    def opened(self, batches: Batches) -> Iterator[duckdb.DuckDBPyConnection]:
        """Connection with the views over the batches; columns that did not come are NULL."""
        with workspace(NAME) as (con, _):
            con.execute("SET threads = 1")
            first = next(batches, None)
            came = [] if first is None else first.schema.names
            columns = ", ".join(
                f"{r} AS {r}" if r in came else f"NULL::{kind} AS {r}" for r, kind in self.columns
            )
            if first is None:
                con.execute(f"CREATE TABLE source AS SELECT {columns} LIMIT 0")
            else:
                con.register(
                    "arriving",
                    pa.RecordBatchReader.from_batches(first.schema, _chain(first, batches)),
                )
                con.execute(f"CREATE TABLE source AS SELECT {columns} FROM arriving")
                con.unregister("arriving")
            for statement in self.statements:
                con.execute(statement)
            yield con


def _chain(first: pa.RecordBatch, rest: Batches) -> Batches:
    yield first
    yield from rest


@on_worker
def ask_partition(views: ReaderViews, query: str, batches: Batches) -> Batches:
    """Run a query that gives one row on a partition; the row is pickled."""
    with views.opened(batches) as con:
        row = one_row(con, query)
    yield pickled_batch(row, "answer")


@on_worker
def select_rows(views: ReaderViews, query: str, batches: Batches) -> Batches:
    """Run a query on a partition and pass on its rows."""
    with views.opened(batches) as con:
        yield from con.sql(query).to_arrow_reader(100_000)


@on_worker
def guess_roles(names: tuple[str, ...], options: ReadOptions, batches: Batches) -> Batches:
    """Choose the columns by their names and by the first rows, which do not leave the executor; the roles are pickled."""
    came = list(batches)
    empty = pa.table({name: pa.array([], pa.null()) for name in names})
    with workspace(NAME) as (con, _):
        roles = choose_roles(
            con, FrameTable(pa.Table.from_batches(came) if came else empty), options
        )
    yield pickled_batch(roles, "answer")


class ClusterConnection:
    """Stands in for the DuckDB connection of the reader: views are noted, and counts over all rows run on the cluster."""

    def __init__(
        self,
        engine: SparkEngine,
        frame: Any,
        kinds: dict[str, str],
        local: duckdb.DuckDBPyConnection,
    ) -> None:
        self.engine, self.frame, self.local = engine, frame, local
        self.views = ReaderViews(tuple(kinds.items()))
        columns = ", ".join(f"NULL::{kind} AS {role}" for role, kind in kinds.items())
        local.execute(f"CREATE TABLE source AS SELECT {columns} LIMIT 0")

    def execute(self, query: str) -> Any:
        """Answer a query as a DuckDB connection does; only queries that give one row of counts and extremes."""
        verb = query.split()[0]
        if verb == "CREATE":
            self.views = ReaderViews(self.views.columns, (*self.views.statements, query))
        if verb != "SELECT":
            return self.local.execute(query)
        names = [column[0] for column in self.local.execute(query).description]
        frame = self.frame.select(*self.views.needed(query))
        answers = self.engine.fetch(
            self.engine.apply(frame, partial(ask_partition, self.views, query), "answer binary")
        )
        rows = [pickle.loads(answer.as_buffer()) for answer in answers.column("answer")]
        answer = tuple(_merged(name, [row[k] for row in rows]) for k, name in enumerate(names))
        return SimpleNamespace(fetchall=lambda: [answer])

    def select(self, query: str, schema: str) -> Any:
        """DataFrame of the rows that a query gives on each partition."""
        frame = self.frame.select(*self.views.needed(query))
        return self.engine.apply(frame, partial(select_rows, self.views, query), schema)


def _merged(name: str, cells: list[Any]) -> Any:
    """Merge the answers of the partitions; the name of the column says which function it is."""
    present = [cell for cell in cells if cell is not None]
    if not present:
        return 0 if name.startswith("count") else None
    function = re.match(r"\w+", name.lower())
    merge = {
        "count": sum,
        "count_star": sum,
        "min": min,
        "max": max,
        "bool_and": all,
    }
    if function is not None and function[0] in merge:
        return merge[function[0]](present)  # type: ignore[operator]
    if len(set(present)) == 1:
        return present[0]
    raise AssertionError(f"answers of partitions for {name!r} cannot be merged")


def roles_of(engine: SparkEngine, frame: Any, options: ReadOptions, sample: int) -> Roles:
    """Columns of the DataFrame by role, as named or guessed from the first rows."""
    chosen = engine.apply(
        frame.limit(sample).coalesce(1),
        partial(guess_roles, tuple(frame.columns), options),
        "answer binary",
    )
    answer = engine.fetch(chosen).column("answer")
    roles: Roles = pickle.loads(answer[0].as_buffer())
    return roles


class ClusterTally:
    """Items, values and some of the records with their rows, counted on each partition in one pass."""

    def __init__(
        self, con: ClusterConnection, kinds: dict[str, str], found: Survey, n_shards: int
    ) -> None:
        self.con, self.engine, self.found = con, con.engine, found
        self.most = max(1000, SAMPLED_PER_SHARD * max(n_shards, found.n_rows // SHARD_ENTRIES))
        none = {role: f"NULL::{kinds[role]} AS {role}" for role in ("item", "value", "record")}
        item, value, record = (", ".join({**none, role: role}.values()) for role in none)
        query = (
            f"(SELECT {item}, count(*) AS n, NULL::BIGINT AS place FROM rows GROUP BY item) UNION ALL "
            f"(SELECT {value}, count(*), NULL FROM rows WHERE value IS NOT NULL GROUP BY value) UNION ALL "
            f"(SELECT {record}, count(*), (hash(record) // 2)::BIGINT AS p FROM rows GROUP BY record ORDER BY p "
            f"LIMIT {self.most})"
        )
        schema = ", ".join(f"{role} {SPARK_KINDS[kinds[role]]}" for role in none)
        self.frame = self.engine.persist(con.select(query, f"{schema}, n long, place long"))

    def items(self, source: Source) -> tuple[Array, pa.Table, str | None]:
        """Sorted labels of the items, the cells with their indices, and a note if labels changed their type."""
        raw = (
            self.engine.fetch(self.engine.summed(self.frame, "item"))
            .column("item")
            .combine_chunks()
        )
        labels, index, note = index_cells(self.con.local, source, "item", raw)
        return labels, pa.table({"label": raw, "place": index.astype(np.uint32)}), note

    def values(self) -> Array:
        """Levels of the values."""
        table = self.engine.fetch(self.engine.summed(self.frame, "value")).sort_by("value")
        return surveyed_levels(table, self.found)

    def cuts(self, n_shards: int) -> list[Any]:
        """Labels at which the records are cut into ranges of about the same number of entries, from a sample of records."""
        if n_shards == 1:
            return []
        table = self.engine.fetch(self.engine.sampled(self.frame, self.most))
        return weighted_cuts(
            table.column("record").to_pylist(), table.column("n").to_pylist(), n_shards
        )


def weighted_cuts(labels: list[Any], weights: Any, n: int) -> list[Any]:
    """At most `n - 1` ascending labels that cut the sampled labels into parts of about the same weight.

    >>> weighted_cuts(["c", "a", "b", "d"], [1, 1, 1, 1], 2)
    ['c']
    """
    order = sorted(range(len(labels)), key=labels.__getitem__)
    total = np.cumsum([float(weights[k]) for k in order])
    if not total.size:
        return []
    after = np.searchsorted(total, total[-1] * np.arange(1, n) / n) + 1
    return [labels[order[k]] for k in sorted(set(after.tolist())) if k < len(order)]
