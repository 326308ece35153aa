"""Rows of a source in files on disk, one per range of records, and the saved folder that is written from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import duckdb
import numpy as np

from standout.arrays import Array
from standout.data import index
from standout.data.assemble import cores
from standout.data.build import EntryBuilder, rows_differ
from standout.data.chunked.files import ArrayWriter
from standout.data.chunked.memory import Budget, filled_ranges
from standout.data.reading.columns import Roles
from standout.data.reading.rows import RowCatalog, catalog_rows
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey
from standout.data.store import dump_array, write_meta

_IN_MEMORY = 24
"""Bytes of a row while its bucket is built: as it was written, sorted by record, and as posting lists."""


@dataclass(frozen=True, eq=False, repr=False)
class Partition:
    """Rows of a source in buckets, and what is known of all of them."""

    catalog: RowCatalog
    buckets: Buckets
    """Rows with the fields record, item, and code and tick if there are values and times."""
    block: int
    """Records per block; buckets begin at multiples of it."""


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
    catalog, batches = catalog_rows(con, source, roles, found)
    like, n = catalog.coding.builder(np.zeros(1, np.int64)), catalog.n_entries
    block = index.fitting_block(catalog.record_counts.size, catalog.item_labels.size, n)
    row = [("record", np.dtype(np.uint32)), ("item", like.item.dtype)]
    row += [("code", like.code.dtype)] if catalog.coding.has_value else []
    row += [("tick", like.tick.dtype)] if catalog.coding.has_time else []
    edges = bucket_edges(catalog.record_counts, block, _IN_MEMORY, budget.bucket)
    buckets = Buckets(folder, edges, np.dtype(row))
    with buckets.opened():
        for record, item, code, tick in batches:
            buckets.add(record, item=item, code=code, tick=tick)
            progress(int(buckets.n_rows.sum()), n)
    if int(buckets.n_rows.sum()) != n:
        raise rows_differ()
    return Partition(catalog, buckets, block)


def bucket_edges(record_counts: Array, step: int, row_bytes: int, most_bytes: int) -> Array:
    """Records at which buckets begin, and the number of records.

    Parameters
    ----------
    record_counts
        Rows of each record.
    step
        Buckets begin at multiples of this many records.
    row_bytes, most_bytes
        Bytes that a row takes while its bucket is in memory, and the limit for a bucket of several
        steps.
    """
    sizes = np.add.reduceat(record_counts, np.arange(0, record_counts.size, step)) * row_bytes
    cuts = [step * first for first, _ in filled_ranges(sizes.tolist(), most_bytes)]
    return np.array([*cuts, record_counts.size], np.int64)


class Buckets:
    """Files of rows, by range of records.

    Parameters
    ----------
    folder
        Existing folder for the files.
    edges
        Records at which buckets begin, and the number of records.
    row
        Type of a row; its field `record` holds the index of the record within the bucket.
    """

    def __init__(self, folder: Path, edges: Array, row: np.dtype[Any]) -> None:
        self.edges, self.row = edges, row
        self.paths = [folder / f"bucket-{k:05}" for k in range(edges.size - 1)]
        self.n_rows = np.zeros(len(self.paths), np.int64)
        self._files: list[IO[bytes]] = []

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keep the files open for `add`."""
        with ExitStack() as stack:
            self._files = [stack.enter_context(path.open("ab")) for path in self.paths]
            yield

    def add(self, record: Array, **columns: Array | None) -> None:
        """Append rows; `record` holds indices of all records."""
        bucket = (np.searchsorted(self.edges, record, side="right") - 1).astype(np.uint16)
        order = np.argsort(bucket, kind="stable")
        rows = np.empty(record.size, self.row)
        rows["record"] = record - self.edges[bucket]
        for name, column in columns.items():
            if column is not None:
                rows[name] = column
        counts = np.bincount(bucket, minlength=len(self.paths))
        for file, part in zip(
            self._files, np.split(rows[order], np.cumsum(counts)[:-1]), strict=True
        ):
            file.write(part.tobytes())
        self.n_rows += counts

    def taken(self) -> Iterator[tuple[int, int, dict[str, Array]]]:
        """First record, one after the last, and columns of each bucket, whose file is then removed."""
        for k, path in enumerate(self.paths):
            rows = np.fromfile(path, self.row)
            columns = {name: np.ascontiguousarray(rows[name]) for name in self.row.names or ()}
            del rows
            yield int(self.edges[k]), int(self.edges[k + 1]), columns
            path.unlink()


def write_partition(made: Partition, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Write all arrays and meta.json as `Dataset.save` would; the files of the buckets are removed one by one."""
    catalog, coding = made.catalog, made.catalog.coding
    ptr = np.zeros(catalog.record_counts.size + 1, np.int64)
    np.cumsum(catalog.record_counts, out=ptr[1:])
    supports, missing = np.zeros(coding.n_items, np.int64), np.zeros(2, np.int64)
    with ExitStack() as stack:
        files = _writers(made, folder)
        for writer in files.values():
            stack.callback(writer.close)
        for lo, hi, rows in made.buckets.taken():
            builder = coding.builder(catalog.record_counts[lo:hi])
            builder.add(
                rows["record"], rows["item"].astype(np.uint32), rows.get("code"), rows.get("tick")
            )
            rows.clear()
            lengths, held = builder.finish(cores())
            supports += held
            missing += (
                int((builder.code == coding.levels.size).sum()),
                int((builder.tick == builder.no_tick).sum()),
            )
            for name, array in _arrays(builder, lengths, int(ptr[lo]), made.block).items():
                files[name].append(array)
            progress(int(ptr[hi]), int(ptr[-1]))
        for writer in files.values():
            writer.finish()
    catalog.check_missing(*missing.tolist())
    for name, array in {
        "record_labels": catalog.record_labels,
        "item_labels": catalog.item_labels,
        "record_ptr": ptr,
        "levels": coding.levels,
        "supports": supports,
    }.items():
        dump_array(folder, name, array)
    n_pairs = int(supports.sum())
    times = {
        "first_tick": coding.first_tick,
        "tick_span": coding.tick_span,
        "time_resolution": catalog.resolution if coding.has_time else "day",
    }
    about = {
        "first_record": 0,
        "n_records": ptr.size - 1,
        "block_size": made.block,
        "has_repeats": n_pairs < int(ptr[-1]),
    }
    cleaning = replace(catalog.cleaning, repeated_pairs=catalog.n_source_rows - n_pairs)
    write_meta(folder, times, about, cleaning)


def _arrays(builder: EntryBuilder, lengths: Array, start: int, block: int) -> dict[str, Array]:
    """What the files hold of the records of a bucket, whose first entry is number `start`."""
    entries = builder.item, builder.code, builder.tick
    shard = index.build_shard(builder.ptr, *entries, builder.n_items, 0, lengths.size, block, False)
    return {
        "record_item": builder.item,
        "record_code": builder.code,
        "record_tick": builder.tick,
        "lengths": lengths,
        "index_ptr": shard.ptr.astype(np.int64) + start,
        "index_local": shard.local,
        "index_code": shard.code,
        "index_tick": shard.tick,
    }


def _writers(made: Partition, folder: Path) -> dict[str, ArrayWriter]:
    """Files with a row per entry, per record and per block."""
    catalog = made.catalog
    n, n_records = catalog.n_entries, catalog.record_counts.size
    n_code, n_tick = (
        n if there else 0 for there in (catalog.coding.has_value, catalog.coding.has_time)
    )
    n_blocks = max(1, -(-n_records // made.block))
    like = catalog.coding.builder(np.zeros(1, np.int64))
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "record_item": (like.item.dtype, (n,)),
        "record_code": (like.code.dtype, (n_code,)),
        "record_tick": (like.tick.dtype, (n_tick,)),
        "lengths": (np.int64, (n_records,)),
        "index_ptr": (
            np.int64 if n > np.iinfo(np.uint32).max else np.uint32,
            (n_blocks, catalog.coding.n_items + 1),
        ),
        "index_local": (np.uint16, (n,)),
        "index_code": (like.code.dtype, (n_code,)),
        "index_tick": (like.tick.dtype, (n_tick,)),
    }
    return {
        name: ArrayWriter(folder / f"{name}.npy", kind, *shape)
        for name, (kind, shape) in shapes.items()
    }
