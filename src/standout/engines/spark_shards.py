"""How entries on a cluster become shards: each function runs on an executor, on the Arrow batches of one partition.

`spark_dataset.py` runs them one after the other: `place_entries` sends each entry to the partition of
its records, `build_records` sorts them, `count_hashes` finds equal records, `finish_shards` indexes.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from standout.arrays import Array
from standout.data.build import rows_differ
from standout.data.index import build_shard, fitting_block
from standout.data.keys import hash_records, number_equal
from standout.data.reading.rows import Coding
from standout.data.values import codes_of
from standout.engines.spark_source import ReaderViews
from standout.engines.spark_worker import (
    Batches,
    on_worker,
    pickled_batch,
    rows_of_batches,
    seats_for,
)

BATCH = 250_000
"""Entries that leave an executor at a time."""


@on_worker
def place_entries(
    views: ReaderViews, coding: Coding, items: pa.Table, cuts: list[Any], batches: Batches
) -> Batches:
    """Code the entries of a partition, and say which range of records each belongs to: rows of `ENTRY_ROWS`.

    Parameters
    ----------
    views, coding
        How rows become entries.
    items
        Distinct items (label) and their indices (place).
    cuts
        Labels of the first record of each range but the first, ascending.
    batches
        Rows of the partition.
    """
    seats = np.array(seats_for(len(cuts) + 1), np.int32)
    with views.opened(batches) as con:
        con.register("items", items)
        columns = {"record": "rows.record", "item": "items.place", **coding.columns}
        selected = ", ".join(f"{sql} AS {name}" for name, sql in columns.items())
        query = f"SELECT {selected} FROM rows JOIN items ON rows.item = items.label"
        for batch in con.sql(query).to_arrow_reader(BATCH):
            record = batch.column("record")
            if pa.types.is_floating(record.type):
                record = pc.add(record, 0.0)  # -0.0 and 0.0 are one label
            encoded = record.dictionary_encode()
            places = [bisect_right(cuts, label) for label in encoded.dictionary.to_pylist()]
            part = np.array(places, np.int32)[encoded.indices.to_numpy()]
            none = np.zeros(batch.num_rows, np.int32)
            numbers = {
                "item": batch.column("item").to_numpy(),
                "code": codes_of(batch.column("value").to_numpy(), coding.levels)
                if coding.has_value
                else none,
                "tick": batch.column("tick").to_numpy() if coding.has_time else none,
            }
            yield pa.record_batch(
                {
                    "seat": seats[part],
                    "part": part,
                    "record": record,
                    **{name: x.astype(np.int32) for name, x in numbers.items()},
                }
            )


ENTRY_ROWS = "seat int, part int, record {}, item int, code int, tick int"
RECORD_ROWS = "seat int, part int, n_records long, n_entries long, n_pairs long, payload binary"
"""Columns of the rows that `place_entries` and `build_records` give; `{}` is the type of the label."""


class Entries(NamedTuple):
    """Sorted entries of consecutive records."""

    ptr: Array
    item: Array
    code: Array
    tick: Array
    lengths: Array


@on_worker
def build_records(coding: Coding, batches: Batches) -> Batches:
    """Sort the entries of a partition into records, by their labels: rows of `RECORD_ROWS`, with pickled `Entries`."""
    came = list(batches)
    if not came:
        return
    table = pa.Table.from_batches(came)
    del came
    parts = table.column("part").to_numpy()
    for part in np.unique(parts).tolist():
        chosen = table if parts.min() == parts.max() else table.filter(pa.array(parts == part))
        made = _records(coding, chosen.combine_chunks())
        yield pickled_batch(
            tuple(made),
            seat=chosen.column("seat")[0].as_py(),
            part=part,
            n_records=made.lengths.size,
            n_entries=made.item.size,
            n_pairs=int(made.lengths.sum()),
        )


def _records(coding: Coding, table: pa.Table) -> Entries:
    index, n = sorted_index(table.column("record").combine_chunks())
    item, code, tick = (table.column(name).to_numpy() for name in ("item", "code", "tick"))
    builder = coding.builder(np.bincount(index, minlength=n))
    builder.add(
        index,
        item.astype(np.uint32),
        code.astype(builder.code.dtype) if coding.has_value else None,
        tick.astype(builder.tick.dtype) if coding.has_time else None,
    )
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


@on_worker
def count_hashes(batches: Batches) -> Batches:
    """Count the records of each hash, per range of records: rows (hash, part, n)."""
    for part, entries in _entries(batches):
        hashes, n = np.unique(hash_records(*entries[:4]), return_counts=True)
        parts = np.full(hashes.size, part, np.int32)
        yield pa.record_batch({"hash": hashes.view(np.int64), "part": parts, "n": n})


@on_worker
def finish_shards(first: list[int], has_repeats: bool, n_items: int, batches: Batches) -> Batches:
    """Make the shards, with the keys of their records: a row (part, payload) per range of records.

    Parameters
    ----------
    first
        Index of the first record of each range, and one past the last.
    has_repeats
        Whether some pair of the whole dataset has several entries.
    n_items
        Number of items.
    batches
        Entries, and in rows without them how many records of earlier ranges have a hash.
    """
    came = list(batches)
    earlier = [batch.filter(batch.column("payload").is_null()) for batch in came]
    part_of, hashes, before = (
        np.concatenate([b.column(name).to_numpy(zero_copy_only=False) for b in earlier] or [[]])
        for name in ("part", "hash", "before")
    )
    whole = (batch.filter(batch.column("payload").is_valid()) for batch in came)
    for part, entries in _entries(whole):
        n, mine = entries.lengths.size, np.flatnonzero(part_of == part)
        if n != first[part + 1] - first[part]:
            raise rows_differ()  # computed again after a loss, from data that has changed
        size = fitting_block(n, n_items, entries.item.size)
        shard = build_shard(*entries[:4], n_items, 0, n, size, has_repeats, threads=1)
        shard = replace(shard, first_record=first[part])
        known = hashes[mine].astype(np.int64).view(np.uint64)
        order = np.argsort(known)
        shard.__dict__["lengths"] = entries.lengths
        shard.__dict__["keys"] = number_equal(
            hash_records(*entries[:4]), known[order], before[mine].astype(np.int64)[order]
        )
        yield pickled_batch(shard, part=part)


def _entries(batches: Any) -> Iterator[tuple[int, Entries]]:
    for part, payload in rows_of_batches(batches, "part", "payload"):
        yield part, Entries(*pickle.loads(payload))
