"""Distinct labels and values of a source, which must be known before the first row is placed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.data.build import rows_differ
from standout.data.labels import index_labels, integers_of
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey
from standout.data.reading.workspace import one_row
from standout.data.values import levels_of
from standout.jit import njit

BATCH = 1_000_000
"""Rows that come from DuckDB at a time."""
_WIDEST_LOOKUP = 1 << 25
NO_LABEL = np.iinfo(np.uint32).max
"""Stands in a lookup table where no row has the label."""


@dataclass(frozen=True, repr=False)
class Labels:
    """Labels of one role, sorted, and the mapping from cells to indices."""

    role: str
    labels: Array
    counts: Array
    """Rows per label."""
    low: int = 0
    lookup: Array | None = None
    """Index of the label `low + k`, if labels are integers in a range that a table can hold."""
    cells: pa.Table | None = None
    """Else: distinct cells (label) and their indices (place)."""
    note: str | None = None


def tally_labels(con: duckdb.DuckDBPyConnection, source: Source) -> tuple[Labels, Labels]:
    """Labels of the records and of the items."""
    ranges = {
        role: reach for role in ("record", "item") if (reach := _small_range(con, role)) is not None
    }
    counted = _counted(con, ranges)
    record, item = (counted.get(role) or _grouped(con, source, role) for role in ("record", "item"))
    return record, item


def tally_values(con: duckdb.DuckDBPyConnection, found: Survey) -> Array:
    """Levels of the values."""
    table = con.sql(
        "SELECT value, count(*) AS n FROM rows WHERE value IS NOT NULL GROUP BY ALL ORDER BY value"
    ).to_arrow_table()
    return surveyed_levels(table.column("value").to_numpy(), table.column("n").to_numpy(), found)


def surveyed_levels(distinct: Array, n: Array, found: Survey) -> Array:
    """`levels_of` the distinct values, ascending, if their rows `n` are as many as the survey found."""
    if not (
        np.isfinite(distinct).all() and int(n.sum()) == found.n_rows - found.cleaning.values_missing
    ):
        raise rows_differ()
    return levels_of(distinct)


def _small_range(con: duckdb.DuckDBPyConnection, role: str) -> tuple[int, int] | None:
    """Lowest and highest label where they are integers, close enough to count them in a table."""
    if _kind(con, "rows", role) != "BIGINT":
        return None
    low, high = one_row(con, f"SELECT min({role}), max({role}) FROM rows")
    return (low, high) if high - low < _WIDEST_LOOKUP else None


def _kind(con: duckdb.DuckDBPyConnection, view: str, column: str) -> str:
    kinds = {name: kind for name, kind, *_ in con.execute(f"DESCRIBE {view}").fetchall()}
    return str(kinds[column])


def _counted(
    con: duckdb.DuckDBPyConnection, ranges: dict[str, tuple[int, int]]
) -> dict[str, Labels]:
    """Labels counted in a table, which is several times faster than grouping by hash."""
    if not ranges:
        return {}
    tables = {role: np.zeros(high - low + 1, np.int64) for role, (low, high) in ranges.items()}
    columns = ", ".join(f"{role} - {low} AS {role}" for role, (low, _) in ranges.items())
    for batch in con.sql(f"SELECT {columns} FROM rows").to_arrow_reader(BATCH):
        for role, table in tables.items():
            _add_counts(places_of(batch.column(role), table.size), table)
    done = {}
    for role, (low, _) in ranges.items():
        present = np.flatnonzero(tables[role])
        lookup = np.full(tables[role].size, NO_LABEL, np.uint32)
        lookup[present] = np.arange(present.size, dtype=np.uint32)
        done[role] = Labels(role, present + low, tables[role][present], low, lookup)
    return done


@njit(nogil=True, cache=True)
def _add_counts(places: Array, table: Array) -> None:
    for k in places:
        table[k] += 1


def places_of(column: pa.Array, size: int) -> Array:
    """Places of a column in a table, checked: smallest and largest label may come from the file, which may be wrong."""
    if column.null_count:
        raise rows_differ()
    places: Array = column.to_numpy()
    if places.size and not (places.min() >= 0 and places.max() < size):
        raise rows_differ()
    return places


def _grouped(con: duckdb.DuckDBPyConnection, source: Source, role: str) -> Labels:
    """Labels of any other kind; text that writes plain integers becomes integers."""
    table = con.sql(
        f"SELECT {role} AS label, count(*) AS n FROM rows GROUP BY ALL"
    ).to_arrow_table()
    raw = table.column("label").combine_chunks()
    labels, index, note = index_cells(con, source, role, raw)
    counts = np.bincount(index, weights=table.column("n").to_numpy(), minlength=labels.size).astype(
        np.int64
    )
    if labels.dtype == np.int64 and int(labels[-1]) - int(labels[0]) < _WIDEST_LOOKUP:
        low = int(labels[0])
        lookup = np.full(int(labels[-1]) - low + 1, NO_LABEL, np.uint32)
        lookup[labels - low] = np.arange(labels.size, dtype=np.uint32)
        return Labels(role, labels, counts, low, lookup, note=note)
    places = pa.table({"label": raw, "place": index.astype(np.uint32)})
    return Labels(role, labels, counts, cells=places, note=note)


def index_cells(
    con: duckdb.DuckDBPyConnection, source: Source, role: str, raw: pa.Array
) -> tuple[Array, Array, str | None]:
    """Sorted labels of distinct cells, the index of each cell, and a note if labels changed their type."""
    cells: Any
    if str(raw.type) in ("string", "large_string"):
        cells = raw.to_pylist()
        # numbers of more than 64 bits (HUGEINT, DECIMAL(38,0)) come as text, too
        may_be_numbers = source.text or _kind(con, "source", role).endswith(("INT", ")"))
        numbers = integers_of(cells) if may_be_numbers else None
        cells = cells if numbers is None else numbers
    else:
        cells = raw.to_numpy()
    return index_labels(cells, role)
