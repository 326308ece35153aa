"""`SparkDataset`: a dataset whose records stay on a Spark cluster, with its catalog on the driver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.build import missing_tick, rows_differ, smallest_unsigned
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.cleaning import Cleaning
from standout.data.index import Rows
from standout.data.mechanism import Origin
from standout.data.reading.columns import Roles
from standout.data.reading.options import GUESS, Column, ReadOptions
from standout.data.reading.profile import SAMPLE
from standout.data.reading.rows import Coding
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey, survey
from standout.data.reading.workspace import column_kinds, workspace
from standout.data.tasks import FetchRows, Result, Task
from standout.data.totals import Counted, CountPairs, unordered_fingerprint
from standout.engines.spark import ClusterShards, SparkEngine
from standout.engines.spark_shards import (
    ENTRY_ROWS,
    RECORD_ROWS,
    build_records,
    count_hashes,
    finish_shards,
    place_entries,
)
from standout.engines.spark_source import (
    NAME,
    SHARD_ENTRIES,
    SPARK_KINDS,
    ClusterConnection,
    ClusterTally,
    roles_of,
)
from standout.errors import InputError, ParameterError

R = TypeVar("R", bound=Result)

MOST_FETCHED = 4
"""Sets of fetched records that stay on the driver: an audit asks for the rows of its targets again and again."""


@dataclass(frozen=True, eq=False, repr=False)
class SparkDataset(Catalog):
    """A dataset whose records stay on a Spark cluster. Make one with `SparkDataset.read`.

    Everything that an audit needs of the records is computed by tasks on the cluster. The driver
    holds what is known of the items, and the rows of the targets.
    """

    engine: SparkEngine
    shards: ClusterShards
    item_labels: Array
    supports: Array
    levels: Array
    first_tick: int
    tick_span: int
    time_resolution: str
    cleaning: Cleaning
    counted: Counted
    n_records: int = 0
    n_entries: int = 0
    """Number of entries; every event counts."""
    has_value: bool = False
    has_time: bool = False
    origin: Origin | None = None

    @classmethod
    def read(
        cls,
        source: Any,
        *,
        record: Column = GUESS,
        item: Column = GUESS,
        value: Column = GUESS,
        time: Column = GUESS,
        time_unit: str | None = None,
        date_format: str | None = None,
        decimal: str | None = None,
        skip_bad: bool = False,
        max_bad: float | None = None,
        ignore: Sequence[str] | str | None = None,
        resolution: str | None = None,
        repeats: str = "keep",
        engine: SparkEngine | None = None,
        shards: int | None = None,
    ) -> SparkDataset:
        """Read a Spark DataFrame, a table or a path into shards on the cluster.

        Parameters
        ----------
        source
            A DataFrame, the name of a table, or a path that Spark can read, such as
            `s3a://bucket/folder`.
        record, item, value, time, time_unit, date_format, decimal, skip_bad, max_bad, ignore,
        resolution
            As in `Dataset.read`.
        repeats
            "keep": repeated (record, item) pairs stay.
        engine
            Default: an engine on the active Spark session.
        shards
            Number of shards. Default: from the number of entries and of cores.
        """
        options = ReadOptions(
            record,
            item,
            value,
            time,
            repeats,
            skip_bad,
            max_bad,
            time_unit,
            date_format,
            decimal=decimal,
            ignore=ignore,
            resolution=resolution,
        )
        if repeats != "keep":
            raise ParameterError(
                f"repeats={repeats!r}: on Spark, repeated pairs stay; use 'keep', or merge them before"
            )
        if shards is not None and shards < 1:
            raise ParameterError(f"shards={shards}: use at least one shard")
        machine = engine or SparkEngine(getattr(source, "sparkSession", None))
        return _read(cls, machine, machine.frame_of(source), options, shards)

    @property
    def length_counts(self) -> Array:
        """int64 (longest + 1): number of records with 0, 1, … distinct items."""
        return self.counted.length_counts

    @property
    def no_tick(self) -> int:
        """Tick offset that means "no time"."""
        return missing_tick(smallest_unsigned(self.tick_span + 1))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the catalog and of hashes of the records, without their labels; it begins with "spark:".

        It is the same however the rows lie on the cluster, but not the fingerprint of the same data
        in memory, which goes through all entries in order.
        """
        return unordered_fingerprint(self, self.counted.content)

    @property
    def all_shards(self) -> ClusterShards:
        """The shards, where they lie."""
        return self.shards

    @property
    def home_engine(self) -> SparkEngine:
        """The engine that has the shards."""
        return self.engine

    def map(self, task: Task[R]) -> R:
        """Run the task on all records and merge the results."""
        return self.engine.map(task, self.shards)

    def rows(self, records: Any) -> Rows:
        """Entries and keys of some records, given by distinct ascending indices; the last few results are kept."""
        wanted = np.asarray(records, np.int64)
        return once(
            self, "rows", wanted.tobytes(), lambda: self.map(FetchRows(wanted)), MOST_FETCHED
        )

    def __repr__(self) -> str:
        return f"<SparkDataset {self.shape_text}, {self.shards.n_shards:,} shards>"


def _read(
    cls: type[SparkDataset],
    engine: SparkEngine,
    frame: Any,
    options: ReadOptions,
    shards: int | None,
) -> SparkDataset:
    roles = roles_of(engine, frame, options, SAMPLE)
    columns = (frame[f"`{name}`"].alias(role) for role, name in roles.chosen().items())
    chosen = engine.persist(frame.select(*columns))
    try:
        with workspace(NAME) as (local, _):
            local.register("empty", engine.fetch(chosen.limit(0)))
            con = ClusterConnection(engine, chosen, column_kinds(local, "empty"), local)
            source = Source(NAME, text=False, place=lambda n: f"row {n:,} of its partition")
            found = survey(con, source, roles, options)
            return _built(cls, con, source, roles, found, shards)
    finally:
        chosen.unpersist()


def _built(
    cls: type[SparkDataset],
    con: ClusterConnection,
    source: Source,
    roles: Roles,
    found: Survey,
    shards: int | None,
) -> SparkDataset:
    """Catalog and shards of the view `rows`."""
    engine, kinds = con.engine, column_kinds(con, "rows")
    if kinds["record"] == "VARCHAR" and dict(con.views.columns)["record"].startswith("DECIMAL"):
        raise InputError(
            f"column {roles.record!r} holds decimal numbers of many digits as labels of records, which cannot be ordered "
            "on Spark: cast it to bigint or to string"
        )
    has_value, has_time = roles.value is not None, roles.time is not None
    tally = ClusterTally(con, kinds, found, 3 * engine.cores if shards is None else shards)
    try:
        labels, cells, note = tally.items(source)
        levels = tally.values() if has_value else np.empty(0)
        cuts = tally.cuts(shards or _fitting_shards(engine, found.n_rows, labels.size))
    finally:
        tally.frame.unpersist()
    coding = Coding(labels.size, has_value, has_time, levels, found.first_tick, found.tick_span)
    n_shards = len(cuts) + 1
    place = partial(place_entries, con.views, coding, cells, cuts)
    entries = engine.apply(con.frame, place, ENTRY_ROWS.format(SPARK_KINDS[kinds["record"]]))
    entries = entries.repartition(n_shards, "seat")
    records = engine.persist(engine.apply(entries, partial(build_records, coding), RECORD_ROWS))
    try:
        made, (n_records, n_entries, n_pairs) = _finished(engine, records, n_shards, labels.size)
        if n_entries != found.n_rows:
            raise rows_differ()
        counted = engine.map(CountPairs(labels.size), made)
    finally:
        records.unpersist()
    notes = (*found.cleaning.notes, note) if note else found.cleaning.notes
    return cls(
        engine=engine,
        shards=made,
        item_labels=labels,
        supports=counted.supports,
        levels=levels,
        first_tick=found.first_tick,
        tick_span=found.tick_span,
        time_resolution=found.resolution if has_time else "day",
        cleaning=replace(found.cleaning, notes=notes, repeated_pairs=n_entries - n_pairs),
        counted=counted,
        n_records=n_records,
        n_entries=n_entries,
        has_value=has_value,
        has_time=has_time,
    )


def _finished(
    engine: SparkEngine, records: Any, n_shards: int, n_items: int
) -> tuple[ClusterShards, list[int]]:
    """Shards with keys, and numbers of records, entries and pairs: equal records are numbered over the whole cluster."""
    sizes = engine.fetch(records.select("part", "n_records", "n_entries", "n_pairs"))
    counts = np.zeros((n_shards, 3), np.int64)
    part, *columns = (column.to_numpy() for column in sizes.columns)
    counts[part] = np.stack(columns, 1)
    n_records, n_entries, n_pairs = counts.sum(0).tolist()
    first = np.append(0, np.cumsum(counts[:, 0])).tolist()
    hashes = engine.apply(
        records.select("part", "payload"), count_hashes, "hash long, part int, n long"
    )
    twins = (
        engine.earlier_equals(hashes)
        .join(records.select("part", "seat"), "part")
        .selectExpr("seat", "part", "hash", "before", "cast(NULL AS binary) AS payload")
    )
    whole = records.selectExpr(
        "seat", "part", "cast(NULL AS long) AS hash", "cast(NULL AS long) AS before", "payload"
    )
    frame = engine.apply(
        whole.unionByName(twins).repartition(n_shards, "seat"),
        partial(finish_shards, first, n_pairs < n_entries, n_items),
        "part int, payload binary",
    )
    return ClusterShards(engine.persist(frame), n_shards), [n_records, n_entries, n_pairs]


def _fitting_shards(engine: SparkEngine, n_entries: int, n_items: int) -> int:
    """Number of shards: a few per core, none too large, and none smaller than its table of items."""
    wanted = max(3 * engine.cores, -(-n_entries // SHARD_ENTRIES))
    return max(1, min(wanted, 2 * n_entries // max(n_items, 1)))
