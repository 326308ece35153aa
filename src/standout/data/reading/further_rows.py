"""Rows with further channels and attributes become a dataset: in memory, because levels of several channels are coded jointly."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import numpy as np

from standout.arrays import Array
from standout.data.assemble import assemble
from standout.data.build import rows_differ
from standout.data.channels import read_attributes
from standout.data.dataset import Dataset
from standout.data.reading.columns import Roles
from standout.data.reading.rows import Labels, numbered, tally_labels
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey
from standout.data.repeats import SourceRows


def build_with_further(
    con: duckdb.DuckDBPyConnection, source: Source, roles: Roles, found: Survey
) -> Dataset:
    """Make the dataset of the view `rows`, after `survey`."""
    rows, (records, items), own = _uncoded_rows(con, source, roles, found)
    notes = tuple(labels.note for labels in (records, items) if labels.note)
    cleaning = replace(found.cleaning, notes=(*found.cleaning.notes, *notes))
    made = assemble(rows, records.labels, items.labels, cleaning, found.resolution)
    return replace(made, attributes=read_attributes(own, rows.record, records.labels.size))


def _uncoded_rows(
    con: duckdb.DuckDBPyConnection, source: Source, roles: Roles, found: Survey
) -> tuple[SourceRows, tuple[Labels, Labels], dict[str, Array]]:
    """All rows in memory, the labels of records and items, and a column per attribute by name."""
    con.execute("SET preserve_insertion_order = false")
    both = tally_labels(con, source)
    has_value, has_time = roles.value is not None, roles.time is not None
    none = {True: "'nan'::DOUBLE", False: "''"}
    names = [(one.of.sql_name, none[one.is_number]) for one in found.further]
    more = {name: f"coalesce({name}, {missing})" for name, missing in names}
    ordered = found.cleaning.repeats != "keep"
    batches = numbered(con, both, has_value, has_time, more, ordered)
    texts: dict[str, str] = {}
    parts: dict[str, list[Array]] = {}
    for batch in batches:
        for name, column in batch.items():
            if column.dtype.kind == "O":  # each text is kept once
                column = np.array([texts.setdefault(x, x) for x in column], object)
            parts.setdefault(name, []).append(column)
    columns = {name: np.concatenate(arrays) for name, arrays in parts.items()}
    if any(int(x.counts.sum()) != found.n_rows for x in both) or (
        columns["record"].size != found.n_rows
    ):
        raise rows_differ()
    taken = {one.of: columns[one.of.sql_name] for one in found.further}
    rows = SourceRows(
        columns["record"].astype(np.int64),
        columns["item"].astype(np.int64),
        columns.get("value"),
        columns.get("tick"),
        columns.get("moment"),
        {one.name: column for one, column in taken.items() if one.kind == "channel"},
    )
    own = {one.name: column for one, column in taken.items() if one.kind == "attribute"}
    return rows, both, own
