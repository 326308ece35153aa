"""Second pass over a source: rows are streamed from DuckDB in batches and placed in a `Dataset`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np

from standout.arrays import Array
from standout.data.assemble import assemble, complete
from standout.data.build import EntryBuilder, missing_tick, rows_differ
from standout.data.dataset import Dataset
from standout.data.reading.columns import Roles
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey
from standout.data.reading.tally import (
    BATCH,
    NO_LABEL,
    Labels,
    places_of,
    tally_labels,
    tally_values,
)
from standout.data.repeats import SourceRows
from standout.data.values import codes_of
from standout.errors import InputError


def build(con: duckdb.DuckDBPyConnection, source: Source, roles: Roles, found: Survey) -> Dataset:
    """Make the dataset from the view `rows`, after `survey`."""
    records, items, found = tallied(con, source, found)
    _check_memory(found.n_rows, roles, keep=found.cleaning.repeats == "keep")
    if found.cleaning.repeats == "keep":
        return _placed(con, roles, found, records, items)
    return assemble(
        _collected(con, roles, found, records, items),
        records.labels,
        items.labels,
        found.cleaning,
        found.resolution,
    )


def tallied(
    con: duckdb.DuckDBPyConnection, source: Source, found: Survey
) -> tuple[Labels, Labels, Survey]:
    """Labels of the records and of the items, and the survey with what was noted about them."""
    con.execute("SET preserve_insertion_order = false")
    records, items = tally_labels(con, source)
    notes = tuple(note for note in (records.note, items.note) if note)
    found = replace(found, cleaning=replace(found.cleaning, notes=(*found.cleaning.notes, *notes)))
    if any(int(labels.counts.sum()) != found.n_rows for labels in (records, items)):
        raise rows_differ()
    return records, items, found


def _check_memory(n_rows: int, roles: Roles, *, keep: bool) -> None:
    """Refuse rows that cannot fit: a small Parquet file can hold billions of equal ones."""
    per_row = 4 + (2 if roles.value is not None else 0) + (4 if roles.time is not None else 0)
    needed = n_rows * (per_row if keep else 3 * per_row + 16)
    available = _physical_memory()
    if needed > available:
        raise InputError(
            f"{n_rows:,} rows need about {needed / 1e9:,.0f} GB of memory, and this machine has {available / 1e9:,.0f} GB: "
            "use --engine chunked (ChunkedDataset.read), read a part of them, or use a larger machine"
        )


def _physical_memory() -> float:
    """Bytes of memory of this machine; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def _placed(
    con: duckdb.DuckDBPyConnection, roles: Roles, found: Survey, records: Labels, items: Labels
) -> Dataset:
    """Place every row as it arrives; only the result is kept in memory."""
    cleaning = found.cleaning
    levels = np.empty(0) if roles.value is None else tally_values(con, found)
    builder = EntryBuilder(
        records.counts,
        items.labels.size,
        has_value=roles.value is not None,
        has_time=roles.time is not None,
        n_levels=levels.size,
        tick_span=found.tick_span,
    )
    # one thread converts a batch while the other places the previous one
    with ThreadPoolExecutor(1) as pool:
        placing: Future[None] | None = None
        for record, item, code, tick in coded_batches(
            con, roles, found, records, items, levels, builder.tick.dtype
        ):
            if placing is not None:
                placing.result()
            placing = pool.submit(builder.add, record, item, code, tick)
        if placing is not None:
            placing.result()
    missing = [
        int((builder.code == levels.size).sum()),
        int((builder.tick == builder.no_tick).sum()),
    ]
    if missing != [cleaning.values_missing, cleaning.times_missing]:
        raise rows_differ()
    return complete(
        builder,
        records.labels,
        items.labels,
        levels,
        found.first_tick,
        found.tick_span,
        cleaning,
        found.n_rows,
        found.resolution,
    )


def coded_batches(
    con: duckdb.DuckDBPyConnection,
    roles: Roles,
    found: Survey,
    records: Labels,
    items: Labels,
    levels: Array,
    tick_type: np.dtype[Any],
) -> Iterator[tuple[Array, Array, Array | None, Array | None]]:
    """Batches of all rows: indices of records and items, codes of values and offsets of ticks, None without the channel."""
    columns = {}
    if roles.value is not None:
        columns["value"] = "coalesce(value, 'nan'::DOUBLE)"
    if roles.time is not None:
        kind = "USMALLINT" if tick_type == np.uint16 else "UINTEGER"
        columns["tick"] = f"coalesce(tick - {found.first_tick}, {missing_tick(tick_type)})::{kind}"
    for batch in _batches(con, records, items, columns, "rows"):
        code = codes_of(batch["value"], levels) if "value" in batch else None
        yield batch["record"], batch["item"], code, batch.get("tick")


def _collected(
    con: duckdb.DuckDBPyConnection, roles: Roles, found: Survey, records: Labels, items: Labels
) -> SourceRows:
    """All rows in the order of the source: merging repeats needs them together."""
    columns = raw_columns(roles)
    whole: dict[str, Array] = {
        name: np.empty(found.n_rows, np.uint32 if name in ("record", "item") else np.float64)
        for name in ("record", "item", *columns)
    }
    n_filled = 0
    for batch in numbered_batches(con, roles, records, items):
        seat = batch.pop("seat")
        n_filled += seat.size
        if seat.size and seat.max() >= found.n_rows:
            raise rows_differ()
        for name, part in batch.items():
            whole[name][seat] = part
    if n_filled != found.n_rows:
        raise rows_differ()
    return SourceRows(
        whole["record"], whole["item"], whole.get("value"), whole.get("tick"), whole.get("moment")
    )


def raw_columns(roles: Roles) -> dict[str, str]:
    """Columns that merging repeats needs beside the labels, and their SQL; all are float64, NaN = none."""
    columns = {}
    if roles.value is not None:
        columns["value"] = "coalesce(value, 'nan'::DOUBLE)"
    if roles.time is not None:
        columns["tick"] = "coalesce(tick::DOUBLE, 'nan'::DOUBLE)"
        columns["moment"] = "coalesce(moment, 'nan'::DOUBLE)"
    return columns


def numbered_batches(
    con: duckdb.DuckDBPyConnection, roles: Roles, records: Labels, items: Labels
) -> Iterator[dict[str, Array]]:
    """Batches of all rows with their number in the source (`seat`), as merging repeats needs them."""
    # the row number is taken before any join, which may change the order
    numbered = "(SELECT *, row_number() OVER () - 1 AS seat FROM rows)"
    con.execute("SET preserve_insertion_order = true")
    return _batches(con, records, items, {"seat": "seat", **raw_columns(roles)}, numbered)


def _batches(
    con: duckdb.DuckDBPyConnection,
    records: Labels,
    items: Labels,
    columns: dict[str, str],
    rows: str,
) -> Iterator[dict[str, Array]]:
    """Batches of rows with indices for labels; `columns` names further columns and their SQL."""
    joins, selected = [], []
    for labels in (records, items):
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
    query = f"SELECT {', '.join(selected)} FROM {rows} AS rows {' '.join(joins)}"
    for batch in con.sql(query).to_arrow_reader(BATCH):
        if any(column.null_count for column in batch.columns):
            raise rows_differ()
        arrays = {
            name: batch.column(name).to_numpy(zero_copy_only=False) for name in batch.schema.names
        }
        for labels in (records, items):
            if labels.lookup is not None:
                found = labels.lookup[places_of(batch.column(labels.role), labels.lookup.size)]
                if found.size and found.max() == NO_LABEL:
                    raise rows_differ()
                arrays[labels.role] = found
        yield arrays
