"""From the rows of a source to a saved folder, without holding all rows in memory: rows are cut by record, once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from standout.arrays import Array
from standout.data import index
from standout.data.assemble import check_finite, empty_channel
from standout.data.build import missing_tick, rows_differ, smallest_unsigned
from standout.data.chunked.buckets import Buckets, bucket_edges
from standout.data.chunked.memory import Budget
from standout.data.cleaning import Cleaning
from standout.data.reading.columns import Roles
from standout.data.reading.source import Source
from standout.data.reading.stream import coded_batches, numbered_batches, raw_columns, tallied
from standout.data.reading.survey import Survey
from standout.data.reading.tally import Labels, tally_values
from standout.data.repeats import SourceRows, merge_repeats
from standout.data.times import check_span
from standout.data.values import code_type, codes_of, levels_of

_IN_MEMORY = 24
"""Bytes of a row while its bucket is built: as it was written, sorted by record, and as posting lists."""
_MERGED = 120
"""The same where repeats are merged."""


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Rows of a source in buckets, and what is known of all of them."""

    buckets: Buckets
    """Rows with the fields record, item, and code and tick if there are values and times."""
    record_labels: Array
    record_counts: Array
    """int64 (records): entries of each record."""
    item_labels: Array
    levels: Array
    first_tick: int
    tick_span: int
    resolution: str
    cleaning: Cleaning
    n_source_rows: int
    """Rows before repeats were merged."""
    has_value: bool
    has_time: bool


def partition(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    roles: Roles,
    found: Survey,
    folder: Path,
    budget: Budget,
    progress: Callable[[int, int], None],
) -> Partition:
    """Cut the view `rows` by record, after `survey`."""
    records, items, found = tallied(con, source, found)
    if found.cleaning.repeats == "keep":
        return _kept(con, roles, found, records, items, folder, budget, progress)
    return _merged(con, roles, found, records, items, folder, budget, progress)


def _row_type(
    n_items: int, code: np.dtype[Any] | None, tick: np.dtype[Any] | None
) -> np.dtype[Any]:
    fields = [("record", np.dtype(np.uint32)), ("item", smallest_unsigned(n_items))]
    fields += [(name, kind) for name, kind in (("code", code), ("tick", tick)) if kind is not None]
    return np.dtype(fields)


def _kept(
    con: duckdb.DuckDBPyConnection,
    roles: Roles,
    found: Survey,
    records: Labels,
    items: Labels,
    folder: Path,
    budget: Budget,
    progress: Callable[[int, int], None],
) -> Partition:
    """Every row is an entry: values are coded as rows arrive."""
    levels = np.empty(0) if roles.value is None else tally_values(con, found)
    n_items, span, tick_type = (
        items.labels.size,
        found.tick_span,
        smallest_unsigned(found.tick_span + 1),
    )
    row = _row_type(
        n_items,
        code_type(levels.size) if roles.value is not None else None,
        tick_type if roles.time is not None else None,
    )
    step = index.fitting_block(records.labels.size, n_items, found.n_rows)
    edges = bucket_edges(records.counts, step, _IN_MEMORY, budget.bucket)
    with Buckets(folder, edges, row) as buckets:
        for record, item, code, tick in coded_batches(
            con, roles, found, records, items, levels, tick_type
        ):
            buckets.add(record, item=item, code=code, tick=tick)
            progress(int(buckets.n_rows.sum()), found.n_rows)
    if int(buckets.n_rows.sum()) != found.n_rows:
        raise rows_differ()
    return Partition(
        buckets,
        records.labels,
        records.counts,
        items.labels,
        levels,
        found.first_tick,
        span,
        found.resolution,
        found.cleaning,
        found.n_rows,
        roles.value is not None,
        roles.time is not None,
    )


def _merged(
    con: duckdb.DuckDBPyConnection,
    roles: Roles,
    found: Survey,
    records: Labels,
    items: Labels,
    folder: Path,
    budget: Budget,
    progress: Callable[[int, int], None],
) -> Partition:
    """Repeats are merged bucket by bucket; values and ticks are coded when all merged rows are known."""
    names = tuple(raw_columns(roles))
    row = np.dtype(
        [
            ("record", np.uint32),
            ("item", np.uint32),
            ("seat", np.int64),
            *((name, np.float64) for name in names),
        ]
    )
    # the block size depends on the number of merged rows: buckets fit all block sizes
    edges = bucket_edges(records.counts, index.LARGEST_BLOCK, _MERGED, budget.bucket)
    with Buckets(folder, edges, row) as raw:
        for batch in numbered_batches(con, roles, records, items):
            raw.add(batch.pop("record"), **batch)
            progress(int(raw.n_rows.sum()), found.n_rows)
    if int(raw.n_rows.sum()) != found.n_rows:
        raise rows_differ()
    seen = _Seen(
        roles.value is not None or found.cleaning.repeats == "count", roles.time is not None
    )
    (folder / "merged").mkdir()
    kept_row = np.dtype([("record", np.uint32), ("item", np.uint32), *seen.fields])
    counts = np.zeros(records.labels.size, np.int64)
    with Buckets(folder / "merged", edges, kept_row) as merged:
        for k, rows in enumerate(_merged_rows(raw, found.cleaning.repeats, items.labels.size)):
            lo = int(edges[k])
            seen.add(rows)
            counts[lo : int(edges[k + 1])] = np.bincount(
                rows.record, minlength=int(edges[k + 1]) - lo
            )
            merged.add(
                rows.record + np.uint32(lo), item=rows.item, value=rows.value, tick=rows.tick
            )
    return seen.coded(
        merged,
        Partition(
            merged,
            records.labels,
            counts,
            items.labels,
            np.empty(0),
            0,
            0,
            found.resolution,
            found.cleaning,
            found.n_rows,
            seen.has_value,
            seen.has_time,
        ),
        folder,
    )


def _merged_rows(raw: Buckets, how: str, n_items: int) -> Iterator[SourceRows]:
    """Merged rows of each bucket, with records counted from the first of the bucket."""
    for k in range(len(raw)):
        columns = raw.read(k)
        raw.drop(k)
        order = np.argsort(columns.pop("seat"))
        columns = {name: column[order] for name, column in columns.items()}
        n_records = int(raw.edges[k + 1] - raw.edges[k])
        rows = SourceRows(
            columns["record"],
            columns["item"],
            columns.get("value"),
            columns.get("tick"),
            columns.get("moment"),
        )
        yield merge_repeats(rows, how, n_records, n_items)


class _Seen:
    """Distinct values and the range of times of merged rows."""

    def __init__(self, has_value: bool, has_time: bool) -> None:
        self.has_value, self.has_time = has_value, has_time
        self.fields = [
            (name, np.float64)
            for name, there in (("value", has_value), ("tick", has_time))
            if there
        ]
        self._values = np.empty(0)
        self._low, self._high = np.inf, -np.inf
        self._values_missing = self._times_missing = self._infinite = 0

    def add(self, rows: SourceRows) -> None:
        """Count the values and ticks of some rows."""
        if rows.value is not None:
            self._values = np.union1d(self._values, rows.value[~np.isnan(rows.value)])
            self._values_missing += int(np.isnan(rows.value).sum())
            self._infinite += int(np.isinf(rows.value).sum())
        if rows.tick is not None:
            known = rows.tick[~np.isnan(rows.tick)]
            self._low, self._high = (
                min(self._low, np.min(known, initial=np.inf)),
                max(self._high, np.max(known, initial=-np.inf)),
            )
            self._times_missing += rows.tick.size - known.size

    def coded(self, merged: Buckets, made: Partition, folder: Path) -> Partition:
        """The partition with codes and tick offsets in the place of values and ticks."""
        cleaning, levels, low, high = made.cleaning, made.levels, 0, 0
        for there, empty, channel in (
            (self.has_value, self._values.size == 0, "value"),
            (self.has_time, self._low > self._high, "time"),
        ):
            if there and empty:
                raise empty_channel(channel, cleaning.repeats)
        if self.has_value:
            check_finite(self._infinite)
            cleaning = replace(cleaning, values_missing=self._values_missing)
            levels = levels_of(self._values)
        if self.has_time:
            check_span(self._low, self._high, made.resolution)
            low, high = int(self._low), int(self._high)
            cleaning = replace(cleaning, times_missing=self._times_missing)
        tick_type = smallest_unsigned(high - low + 1)
        row = _row_type(
            made.item_labels.size,
            code_type(levels.size) if self.has_value else None,
            tick_type if self.has_time else None,
        )
        (folder / "coded").mkdir()
        with Buckets(folder / "coded", merged.edges, row) as coded:
            for k in range(len(merged)):
                rows = merged.read(k)
                merged.drop(k)
                code = codes_of(rows["value"], levels) if self.has_value else None
                tick = None
                if self.has_time:
                    tick = np.where(
                        np.isnan(rows["tick"]), missing_tick(tick_type), rows["tick"] - low
                    ).astype(tick_type)
                coded.add(
                    rows["record"] + np.uint32(merged.edges[k]),
                    item=rows["item"],
                    code=code,
                    tick=tick,
                )
        return replace(
            made,
            buckets=coded,
            levels=levels,
            first_tick=low,
            tick_span=high - low,
            cleaning=cleaning,
        )
