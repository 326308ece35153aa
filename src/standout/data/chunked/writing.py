"""Write a partition as the folder that `Dataset.save` would write, bucket by bucket."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data import index
from standout.data.assemble import cores
from standout.data.build import EntryBuilder, rows_differ
from standout.data.chunked.files import ArrayWriter
from standout.data.chunked.partition import Partition
from standout.data.store import dump_array, write_meta


def write_partition(made: Partition, folder: Path, progress: Callable[[int, int], None]) -> None:
    """Write all arrays and meta.json; the files of the buckets are removed one by one."""
    ptr = np.zeros(made.record_counts.size + 1, np.int64)
    np.cumsum(made.record_counts, out=ptr[1:])
    n, n_items = int(ptr[-1]), made.item_labels.size
    block = index.fitting_block(made.record_counts.size, n_items, n)
    like = _builder(made, np.zeros(1, np.int64))
    supports = np.zeros(n_items, np.int64)
    with ExitStack() as stack:
        files = _Files(stack, folder, like, ptr.size - 1, n, n_items, block, made)
        missing = np.zeros(2, np.int64)
        for k in range(len(made.buckets)):
            lo, hi = (int(made.buckets.edges[k + j]) for j in (0, 1))
            builder, rows = _builder(made, made.record_counts[lo:hi]), made.buckets.read(k)
            builder.add(
                rows["record"], rows["item"].astype(np.uint32), rows.get("code"), rows.get("tick")
            )
            del rows
            lengths, held = builder.finish(cores())
            supports += held
            missing += (
                int((builder.code == made.levels.size).sum()),
                int((builder.tick == builder.no_tick).sum()),
            )
            files.append(builder, lengths, int(ptr[lo]))
            made.buckets.drop(k)
            progress(int(ptr[hi]), n)
        files.finish()
    if missing.tolist() != [made.cleaning.values_missing, made.cleaning.times_missing]:
        raise rows_differ()
    for name, array in {
        "record_labels": made.record_labels,
        "item_labels": made.item_labels,
        "record_ptr": ptr,
        "levels": made.levels,
        "supports": supports,
    }.items():
        dump_array(folder, name, array)
    n_pairs = int(supports.sum())
    times = {
        "first_tick": made.first_tick,
        "tick_span": made.tick_span,
        "time_resolution": made.resolution if made.has_time else "day",
    }
    about = {
        "first_record": 0,
        "n_records": ptr.size - 1,
        "block_size": block,
        "has_repeats": n_pairs < n,
    }
    write_meta(
        folder, times, about, replace(made.cleaning, repeated_pairs=made.n_source_rows - n_pairs)
    )


def _builder(made: Partition, record_counts: Array) -> EntryBuilder:
    return EntryBuilder(
        record_counts,
        made.item_labels.size,
        has_value=made.has_value,
        has_time=made.has_time,
        n_levels=made.levels.size,
        tick_span=made.tick_span,
    )


class _Files:
    """The files with a row per entry, per record and per block, while they are written."""

    def __init__(
        self,
        stack: ExitStack,
        folder: Path,
        like: EntryBuilder,
        n_records: int,
        n: int,
        n_items: int,
        block: int,
        made: Partition,
    ) -> None:
        n_code, n_tick = n if made.has_value else 0, n if made.has_time else 0
        n_blocks = max(1, -(-n_records // block))
        self._block, self._n_items = block, n_items
        self._starts = np.dtype(np.int64 if n > np.iinfo(np.uint32).max else np.uint32)
        shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
            "record_item": (like.item.dtype, (n,)),
            "record_code": (like.code.dtype, (n_code,)),
            "record_tick": (like.tick.dtype, (n_tick,)),
            "lengths": (np.int64, (n_records,)),
            "index_ptr": (self._starts, (n_blocks, n_items + 1)),
            "index_local": (np.uint16, (n,)),
            "index_code": (like.code.dtype, (n_code,)),
            "index_tick": (like.tick.dtype, (n_tick,)),
        }
        self._to = {
            name: ArrayWriter(folder / f"{name}.npy", kind, *shape)
            for name, (kind, shape) in shapes.items()
        }
        for writer in self._to.values():
            stack.callback(writer.close)

    def append(self, builder: EntryBuilder, lengths: Array, start: int) -> None:
        """Write the records of a bucket, whose first entry is number `start`."""
        shard = index.build_shard(
            builder.ptr,
            builder.item,
            builder.code,
            builder.tick,
            self._n_items,
            0,
            lengths.size,
            self._block,
            False,
        )
        parts = {
            "record_item": builder.item,
            "record_code": builder.code,
            "record_tick": builder.tick,
            "lengths": lengths,
            "index_ptr": shard.ptr.astype(self._starts) + self._starts.type(start),
            "index_local": shard.local,
            "index_code": shard.code,
            "index_tick": shard.tick,
        }
        for name, array in parts.items():
            self._to[name].append(array)

    def finish(self) -> None:
        """Wait until all files are on disk."""
        for writer in self._to.values():
            writer.finish()
