"""How entries on a cluster become shards: each function runs on an executor, on the Arrow batches of one partition."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from standout.arrays import Array
from standout.data.build import rows_differ
from standout.data.index import Shard, build_shard, fitting_block
from standout.data.keys import hash_records, number_equal
from standout.data.reading.rows import Coding
from standout.data.values import codes_of
from standout.engines.spark_source import Views
from standout.engines.spark_worker import Batches, carried, one_row_batch, rows_of_batches

BATCH = 250_000
"""Entries that leave an executor at a time."""


@dataclass(frozen=True, repr=False)
class PlaceEntries:
    """Code the entries of a partition, and say which range of records each belongs to."""

    views: Views
    coding: Coding
    items: pa.Table
    """Distinct items (label) and their indices (place)."""
    cuts: list[Any]
    """Labels of the first record of each range but the first, ascending."""
    seats: list[int]
    """Number that sends a range to its partition."""

    @carried
    def __call__(self, batches: Batches) -> Batches:
        """Rows (seat, part, record, item, code, tick)."""
        with self.views.opened(batches) as con:
            con.register("items", self.items)
            columns = {"record": "rows.record", "item": "items.place", **self.coding.columns}
            selected = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
            query = f"SELECT {selected} FROM rows JOIN items ON rows.item = items.label"
            for batch in con.sql(query).to_arrow_reader(BATCH):
                yield self._coded(batch)

    def _coded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        record = batch.column("record")
        if pa.types.is_floating(record.type):
            record = pc.add(record, 0.0)  # -0.0 and 0.0 are one label
        encoded = record.dictionary_encode()
        part = np.array(
            [bisect_right(self.cuts, label) for label in encoded.dictionary.to_pylist()], np.int32
        )
        part = part[encoded.indices.to_numpy()] if part.size else part
        none = np.zeros(batch.num_rows, np.int32)
        code, tick = none, none
        if self.coding.has_value:
            code = codes_of(batch.column("value").to_numpy(), self.coding.levels).astype(np.int32)
        if self.coding.has_time:
            tick = batch.column("tick").to_numpy()
        return one_row_batch(
            seat=pa.array(np.array(self.seats, np.int32)[part]),
            part=pa.array(part),
            record=record,
            item=pa.array(batch.column("item").to_numpy().astype(np.int32)),
            code=pa.array(code),
            tick=pa.array(tick.astype(np.int32)),
        )


ENTRIES = "seat int, part int, record {}, item int, code int, tick int"
RECORDS = "seat int, part int, n_records long, n_entries long, n_pairs long, payload binary"


class Entries(NamedTuple):
    """Sorted entries of consecutive records."""

    ptr: Array
    item: Array
    code: Array
    tick: Array
    lengths: Array


@dataclass(frozen=True, repr=False)
class BuildRecords:
    """Sort the entries of a partition into records, in the order of their labels."""

    coding: Coding

    @carried
    def __call__(self, batches: Batches) -> Batches:
        """A row per range of records, with the pickled `Entries`."""
        came = list(batches)
        if not came:
            return
        table = pa.Table.from_batches(came)
        del came
        parts = table.column("part").to_numpy()
        for part in np.unique(parts).tolist():
            chosen = table if parts.min() == parts.max() else table.filter(pa.array(parts == part))
            made = self._records(chosen.combine_chunks())
            counts = {
                "n_records": made.lengths.size,
                "n_entries": made.item.size,
                "n_pairs": int(made.lengths.sum()),
            }
            yield one_row_batch(
                seat=chosen.column("seat")[:1].combine_chunks(),
                part=pa.array([part], pa.int32()),
                **{name: pa.array([n], pa.int64()) for name, n in counts.items()},
                payload=pa.array([pickle.dumps(tuple(made), 5)], pa.binary()),
            )

    def _records(self, table: pa.Table) -> Entries:
        index, n = sorted_index(table.column("record").combine_chunks())
        coding, columns = (
            self.coding,
            {name: table.column(name).to_numpy() for name in ("item", "code", "tick")},
        )
        builder = coding.builder(np.bincount(index, minlength=n))
        code = columns["code"].astype(builder.code.dtype) if coding.has_value else None
        tick = columns["tick"].astype(builder.tick.dtype) if coding.has_time else None
        builder.add(index, columns["item"].astype(np.uint32), code, tick)
        lengths, _ = builder.finish(1)
        return Entries(builder.ptr, builder.item, builder.code, builder.tick, lengths)


def sorted_index(labels: Any) -> tuple[Array, int]:
    """Index of each label among the sorted distinct labels, and their number.

    >>> sorted_index(pa.array(["b", "a", "b"]))[0].tolist()
    [1, 0, 1]
    """
    whole = labels.combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels
    encoded = whole.dictionary_encode()
    place = np.empty(len(encoded.dictionary), np.int64)
    place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(place.size)
    return place[encoded.indices.to_numpy()].astype(np.uint32), place.size


@dataclass(frozen=True)
class HashRecords:
    """Count the records of each hash, per range of records."""

    @carried
    def __call__(self, batches: Batches) -> Batches:
        """Rows (hash, part, n)."""
        for part, entries in _entries(batches):
            hashes, n = np.unique(hash_records(*entries[:4]), return_counts=True)
            yield one_row_batch(
                hash=pa.array(hashes.view(np.int64)),
                part=pa.array(np.full(hashes.size, part, np.int32)),
                n=pa.array(n),
            )


@dataclass(frozen=True)
class FinishShards:
    """Make the shards, with the keys of their records: equal records of earlier ranges come with the entries."""

    first: list[int]
    """Index of the first record of each range, and one past the last."""
    has_repeats: bool
    n_items: int

    @carried
    def __call__(self, batches: Batches) -> Batches:
        """A row (part, payload) per range of records."""
        came = list(batches)
        known: dict[int, list[tuple[Array, Array]]] = {}
        for batch in came:
            if len(twins := batch.filter(batch.column("payload").is_null())):
                at = twins.column("part").to_numpy()
                for part in np.unique(at).tolist():
                    pair = (
                        twins.column(name).to_numpy(zero_copy_only=False)[at == part]
                        for name in ("hash", "before")
                    )
                    known.setdefault(part, []).append((next(pair), next(pair)))
        whole = (batch.filter(batch.column("payload").is_valid()) for batch in came)
        for part, entries in _entries(whole):
            shard = self._shard(part, entries, known.get(part, []))
            yield one_row_batch(
                part=pa.array([part], pa.int32()),
                payload=pa.array([pickle.dumps(shard, 5)], pa.binary()),
            )

    def _shard(self, part: int, entries: Entries, known: list[tuple[Array, Array]]) -> Shard:
        n = entries.lengths.size
        if n != self.first[part + 1] - self.first[part]:
            raise rows_differ()  # computed again after a loss, from data that has changed
        size = fitting_block(n, self.n_items, entries.item.size)
        made = build_shard(*entries[:4], self.n_items, 0, n, size, self.has_repeats, threads=1)
        made = replace(made, first_record=self.first[part])
        hashes = (
            np.concatenate([h for h, _ in known]).astype(np.int64).view(np.uint64)
            if known
            else np.empty(0, np.uint64)
        )
        before = (
            np.concatenate([b for _, b in known]).astype(np.int64)
            if known
            else np.empty(0, np.int64)
        )
        order = np.argsort(hashes)
        made.__dict__["lengths"] = entries.lengths
        made.__dict__["keys"] = number_equal(
            hash_records(*entries[:4]), hashes[order], before[order]
        )
        return made


def _entries(batches: Any) -> Iterator[tuple[int, Entries]]:
    for part, payload in rows_of_batches(batches, "part", "payload"):
        yield part, Entries(*pickle.loads(payload))
