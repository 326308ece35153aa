"""What the rows on a cluster hold: items, values, and the labels at which records are cut into shards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from standout.arrays import Array
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey
from standout.data.reading.tally import index_cells, surveyed_levels
from standout.engines.spark_source import ClusterConnection, weighted_cuts

SHARD_ENTRIES = 4_000_000
"""Entries per shard, about."""
SAMPLED_PER_SHARD = 50
"""Sampled records per shard, from which the ranges of records are cut."""
SPARK_KINDS = {"BIGINT": "long", "DOUBLE": "double", "VARCHAR": "string"}
"""Type of a column in DuckDB → in a schema of Spark."""


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
        value, n = (table.column(name).to_numpy() for name in ("value", "n"))
        return surveyed_levels(value, n, self.found)

    def cuts(self, n_shards: int) -> list[Any]:
        """Labels at which the records are cut into ranges of about the same number of entries, from a sample of records."""
        if n_shards == 1:
            return []
        table = self.engine.fetch(self.engine.sampled(self.frame, self.most))
        return weighted_cuts(
            table.column("record").to_pylist(), table.column("n").to_pylist(), n_shards
        )
