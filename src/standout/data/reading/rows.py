"""From the view `rows` to coded entries: labels and values are counted first, then rows are streamed in batches.

A dataset in memory, in a folder and on a cluster codes its rows with `Coding`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.data.assemble import check_finite, empty_channel
from standout.data.build import EntryBuilder, rows_differ
from standout.data.cleaning import Cleaning
from standout.data.labels import index_labels, integers_of
from standout.data.reading.columns import Roles
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey, surveyed_levels
from standout.data.reading.workspace import column_kinds, one_row
from standout.data.repeats import SourceRows, merge_repeats
from standout.data.times import check_span
from standout.data.values import codes_of
from standout.jit import njit

BATCH = 1_000_000
"""Rows that come from DuckDB at a time."""
_WIDEST_LOOKUP = 1 << 25
_NO_LABEL = np.iinfo(np.uint32).max
"""Stands in a lookup table where no row has the label."""

Batch = tuple[Array, Array, Array | None, Array | None]
"""Indices of records and items, codes of values and offsets of ticks; None without the channel."""


@dataclass(frozen=True, repr=False)
class Coding:
    """How entries are coded. It is small: a cluster sends it to every partition."""

    n_items: int
    has_value: bool
    has_time: bool
    levels: Array
    """Distinct values; size 0 without values."""
    first_tick: int
    tick_span: int

    def builder(self, counts: Array) -> EntryBuilder:
        """Builder for records with these numbers of entries."""
        return EntryBuilder(
            counts,
            self.n_items,
            has_value=self.has_value,
            has_time=self.has_time,
            n_levels=self.levels.size,
            tick_span=self.tick_span,
        )

    @property
    def columns(self) -> dict[str, str]:
        """Columns of a batch beside the labels, and their SQL over the view `rows`."""
        columns = {}
        if self.has_value:
            columns["value"] = "coalesce(rows.value, 'nan'::DOUBLE)"
        if self.has_time:
            like = self.builder(np.zeros(0, np.int64))
            kind = "USMALLINT" if like.tick.dtype == np.uint16 else "UINTEGER"
            columns["tick"] = f"coalesce(rows.tick - {self.first_tick}, {like.no_tick})::{kind}"
        return columns


@dataclass(frozen=True, repr=False)
class RowCatalog:
    """What is known of all rows before the first one is placed."""

    record_labels: Array
    record_counts: Array
    """int64 (records): entries of each record."""
    item_labels: Array
    coding: Coding
    resolution: str
    cleaning: Cleaning
    n_source_rows: int
    """Rows before repeats were merged."""

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return int(self.record_counts.sum())

    def check_missing(self, n_values: int, n_times: int) -> None:
        """Refuse placed rows of which not as many lack a value or a time as were counted."""
        if (n_values, n_times) != (self.cleaning.values_missing, self.cleaning.times_missing):
            raise rows_differ()


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


def catalog_rows(
    con: duckdb.DuckDBPyConnection, source: Source, roles: Roles, found: Survey
) -> tuple[RowCatalog, Iterator[Batch]]:
    """Count the view `rows`, after `survey`, and merge repeats if that is asked for; batches of all coded rows."""
    con.execute("SET preserve_insertion_order = false")
    both = tally_labels(con, source)
    if any(int(labels.counts.sum()) != found.n_rows for labels in both):
        raise rows_differ()
    notes = tuple(labels.note for labels in both if labels.note)
    cleaning = replace(found.cleaning, notes=(*found.cleaning.notes, *notes))
    n_source_rows, found = found.n_rows, replace(found, cleaning=cleaning)
    has_value, has_time = roles.value is not None, roles.time is not None
    if cleaning.repeats != "keep":
        found, both = _merged(con, found, both, has_value, has_time)
        has_value = has_value or cleaning.repeats == "count"
    records, items = both
    levels = _tally_values(con, found) if has_value else np.empty(0)
    coding = Coding(
        items.labels.size, has_value, has_time, levels, found.first_tick, found.tick_span
    )
    catalog = RowCatalog(
        records.labels,
        records.counts,
        items.labels,
        coding,
        found.resolution,
        found.cleaning,
        n_source_rows,
    )
    return catalog, _coded(_batches(con, both, coding.columns), levels)


def _coded(batches: Iterator[dict[str, Array]], levels: Array) -> Iterator[Batch]:
    for batch in batches:
        code = codes_of(batch["value"], levels) if "value" in batch else None
        yield batch["record"], batch["item"], code, batch.get("tick")


def _merged(
    con: duckdb.DuckDBPyConnection,
    found: Survey,
    both: tuple[Labels, Labels],
    has_value: bool,
    has_time: bool,
) -> tuple[Survey, tuple[Labels, Labels]]:
    """Make the view `rows` hold one row per pair, with indices in the place of labels."""
    how, n_items = found.cleaning.repeats, both[1].labels.size
    counts = np.zeros(both[0].labels.size, np.int64)
    n_rows = 0
    with closing(con.cursor()) as adding:  # the connection is streaming rows
        adding.execute(
            "CREATE TABLE merged (record BIGINT, item BIGINT, value DOUBLE, tick BIGINT)"
        )
        for first, batch in _whole_records(numbered(con, both, has_value, has_time)):
            n_rows += batch["record"].size
            n_records = int(batch["record"][-1]) + 1
            rows = SourceRows(
                batch["record"],
                batch["item"],
                batch.get("value"),
                tick=batch.get("tick"),
                moment=batch.get("moment"),
            )
            rows = merge_repeats(rows, how, n_records, n_items)
            counts[first : first + n_records] = np.bincount(rows.record, minlength=n_records)
            columns = {"record": rows.record + np.int64(first), "item": rows.item}
            columns |= {"value": rows.value} if rows.value is not None else {}
            columns |= {"tick": rows.tick} if rows.tick is not None else {}
            made = pa.table({name: pa.array(x, from_pandas=True) for name, x in columns.items()})
            adding.register("made", made)
            adding.execute(f"INSERT INTO merged ({', '.join(columns)}) SELECT * FROM made")
            adding.unregister("made")
    if n_rows != found.n_rows:
        raise rows_differ()
    con.execute("SET preserve_insertion_order = false")
    con.execute("CREATE OR REPLACE VIEW rows AS SELECT * FROM merged")
    records, items = (
        replace(labels, counts=n, low=0, lookup=np.arange(n.size, dtype=np.uint32), cells=None)
        for labels, n in zip(both, (counts, both[1].counts), strict=True)
    )
    return _merged_survey(con, found, has_value or how == "count", has_time), (records, items)


def _merged_survey(
    con: duckdb.DuckDBPyConnection, found: Survey, has_value: bool, has_time: bool
) -> Survey:
    """Counts of the merged rows; refuses a channel that is empty, and sums that are infinite."""
    n, values, infinite, times, low, high = one_row(
        con,
        "SELECT count(*), count(value), count(*) FILTER (isinf(value)), count(tick), min(tick), max(tick) FROM rows",
    )
    for there, present, channel in ((has_value, values, "value"), (has_time, times, "time")):
        if there and not present:
            raise empty_channel(channel, found.cleaning.repeats)
    check_finite(infinite)
    if has_time:
        check_span(low, high, found.resolution)
    cleaning = replace(
        found.cleaning,
        values_missing=n - values if has_value else 0,
        times_missing=n - times if has_time else 0,
    )
    return replace(
        found,
        n_rows=n,
        first_tick=low or 0,
        tick_span=(high or 0) - (low or 0),
        cleaning=cleaning,
    )


def numbered(
    con: duckdb.DuckDBPyConnection,
    both: tuple[Labels, Labels],
    has_value: bool,
    has_time: bool,
    more: Mapping[str, str] | None = None,
    ordered: bool = True,
) -> Iterator[dict[str, Array]]:
    """Batches of rows (NaN = none) by record, and in the order of the source within it; `more`: further columns, their SQL."""
    columns = {"value": "value"} if has_value else {}
    columns |= {"tick": "tick", "moment": "moment"} if has_time else {}
    columns = {name: f"coalesce({sql}::DOUBLE, 'nan'::DOUBLE)" for name, sql in columns.items()}
    columns |= more or {}
    if not ordered:
        return _batches(con, both, columns)
    # the row number is taken before any join, which may change the order
    rows = "(SELECT *, row_number() OVER () AS row_number FROM rows)"
    con.execute("SET preserve_insertion_order = true")
    return _batches(con, both, columns, rows, "ORDER BY record, rows.row_number")


def _whole_records(
    batches: Iterator[dict[str, Array]],
) -> Iterator[tuple[int, dict[str, Array]]]:
    """Batches cut between records, which count from the first one of the batch; and the index of that one."""
    rest: dict[str, Array] = {}
    for batch in batches:
        if not batch["record"].size:
            continue
        whole = {name: np.concatenate([rest[name], x]) if rest else x for name, x in batch.items()}
        cut = int(np.searchsorted(whole["record"], whole["record"][-1]))
        rest = {name: x[cut:] for name, x in whole.items()}
        if cut:
            yield _from_first({name: x[:cut] for name, x in whole.items()})
    if rest:
        yield _from_first(rest)


def _from_first(batch: dict[str, Array]) -> tuple[int, dict[str, Array]]:
    first = int(batch["record"][0])
    return first, {**batch, "record": (batch["record"] - first).astype(np.uint32)}


def tally_labels(con: duckdb.DuckDBPyConnection, source: Source) -> tuple[Labels, Labels]:
    """Labels of the records and of the items; small ranges of integers are counted in a table, which is several times faster."""
    tables: dict[str, tuple[int, Array]] = {}
    kinds = column_kinds(con, "rows")
    for role in ("record", "item"):
        if kinds[role] == "BIGINT":
            low, high = one_row(con, f"SELECT min({role}), max({role}) FROM rows")
            if high - low < _WIDEST_LOOKUP:
                tables[role] = low, np.zeros(high - low + 1, np.int64)
    if tables:
        columns = ", ".join(f"{role} - {low} AS {role}" for role, (low, _) in tables.items())
        for batch in con.sql(f"SELECT {columns} FROM rows").to_arrow_reader(BATCH):
            for role, (_, table) in tables.items():
                _add_counts(_places_of(batch.column(role), table.size), table)
    record, item = (
        _counted(role, *tables[role]) if role in tables else _grouped(con, source, role)
        for role in ("record", "item")
    )
    return record, item


@njit(nogil=True, cache=True)
def _add_counts(places: Array, table: Array) -> None:
    for k in places:
        table[k] += 1


def _counted(role: str, low: int, table: Array) -> Labels:
    present = np.flatnonzero(table)
    return Labels(role, present + low, table[present], low, _lookup(present, table.size))


def _lookup(present: Array, size: int) -> Array:
    lookup = np.full(size, _NO_LABEL, np.uint32)
    lookup[present] = np.arange(present.size, dtype=np.uint32)
    return lookup


def _grouped(con: duckdb.DuckDBPyConnection, source: Source, role: str) -> Labels:
    """Labels of any other kind; text that writes plain integers becomes integers."""
    table = con.sql(
        f"SELECT {role} AS label, count(*) AS n FROM rows GROUP BY ALL"
    ).to_arrow_table()
    raw = table.column("label").combine_chunks()
    labels, index, note = index_cells(con, source, role, raw)
    n_rows = table.column("n").to_numpy()
    counts = np.bincount(index, weights=n_rows, minlength=labels.size).astype(np.int64)
    if labels.dtype == np.int64 and int(labels[-1]) - int(labels[0]) < _WIDEST_LOOKUP:
        low = int(labels[0])
        lookup = _lookup(labels - low, int(labels[-1]) - low + 1)
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
        may_be_numbers = source.text or column_kinds(con, "source")[role].endswith(("INT", ")"))
        numbers = integers_of(cells) if may_be_numbers else None
        cells = cells if numbers is None else numbers
    else:
        cells = raw.to_numpy()
    return index_labels(cells, role)


def _tally_values(con: duckdb.DuckDBPyConnection, found: Survey) -> Array:
    """Levels of the values."""
    table = con.sql(
        "SELECT value, count(*) AS n FROM rows WHERE value IS NOT NULL GROUP BY ALL ORDER BY value"
    ).to_arrow_table()
    return surveyed_levels(table, found)


def _batches(
    con: duckdb.DuckDBPyConnection,
    both: tuple[Labels, Labels],
    columns: dict[str, str],
    rows: str = "rows",
    order: str = "",
) -> Iterator[dict[str, Array]]:
    """Batches of rows with indices for labels; `columns` names further columns and their SQL."""
    joins, selected = [], []
    for labels in both:
        role = labels.role
        if labels.lookup is not None:
            selected.append(f"rows.{role}::BIGINT - {labels.low} AS {role}")
            continue
        # a hash join in DuckDB is faster than a binary search here, for text and for sparse
        # integers
        con.register(f"{role}_cells", labels.cells)
        joins.append(f"JOIN {role}_cells ON rows.{role} = {role}_cells.label")
        selected.append(f"{role}_cells.place AS {role}")
    selected += [f"{sql} AS {name}" for name, sql in columns.items()]
    query = f"SELECT {', '.join(selected)} FROM {rows} AS rows {' '.join(joins)} {order}"
    for batch in con.sql(query).to_arrow_reader(BATCH):
        if any(column.null_count for column in batch.columns):
            raise rows_differ()
        arrays = {
            name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names
        }
        for labels in both:
            if labels.lookup is not None:
                found = labels.lookup[_places_of(batch.column(labels.role), labels.lookup.size)]
                if found.size and found.max() == _NO_LABEL:
                    raise rows_differ()
                arrays[labels.role] = found
        yield arrays


def _places_of(column: pa.Array, size: int) -> Array:
    """Places of a column in a table, checked: smallest and largest label may come from the file, which may be wrong."""
    if column.null_count:
        raise rows_differ()
    places: Array = column.to_numpy()
    if places.size and not (places.min() >= 0 and places.max() < size):
        raise rows_differ()
    return places
