"""The files of a saved dataset: read in ranges, checked once, cut into shards."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from standout.arrays import Array
from standout.data.build import count_pairs
from standout.data.chunked.files import ArrayFile, Buffers, digest_labels
from standout.data.chunked.memory import Budget, check_fits, filled_ranges
from standout.data.dataset import Dataset
from standout.data.index import Rows, Shard
from standout.data.intact import are_unchanged, is_index_of, is_sound
from standout.data.keys import LazyKeys, hash_records, number_equal
from standout.data.store import DAMAGES, cleaning_of, load_array, read_meta
from standout.errors import InputError

_CHUNK = 1 << 24
"""Bytes of a range where the budget does not matter."""


class SavedFiles:
    """Arrays of a folder that `Dataset.save` wrote, opened but not read."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.meta = folder, read_meta(folder)
        try:
            self._open()
        except DAMAGES:
            raise self.damaged() from None

    def _open(self) -> None:
        for name in ("record_ptr", "record_item", "record_code", "record_tick", "lengths"):
            setattr(self, name, ArrayFile(self.folder / f"{name}.npy"))
        self.index = {
            name: ArrayFile(self.folder / f"index_{name}.npy")
            for name in ("ptr", "local", "code", "tick")
        }
        self.item_labels = np.array(load_array(self.folder, "item_labels"))
        self.supports, self.levels = (
            np.array(load_array(self.folder, name)) for name in ("supports", "levels")
        )
        self.n_records, self.n_entries = self.record_ptr.size - 1, self.record_item.size
        self.block_size, self.has_repeats = (
            int(self.meta["index"]["block_size"]),
            bool(self.meta["index"]["has_repeats"]),
        )
        self.cleaning = cleaning_of(self.meta)
        edges = np.minimum(
            np.arange(0, self.n_records + self.block_size, self.block_size), self.n_records
        )
        self.block_edges = np.unique(edges)
        """Records at which blocks begin, and the number of records."""
        at = np.column_stack([self.block_edges, self.block_edges + 1])
        self.entry_edges = self.record_ptr.read_rows(at)
        """Entries at which blocks begin, and the number of entries."""
        fits = [
            (np.diff(self.entry_edges) >= 0).all(),
            (int(self.entry_edges[0]), int(self.entry_edges[-1])) == (0, self.n_entries),
            self.index["ptr"].shape == (self.block_edges.size - 1, self.supports.size + 1),
            self.lengths.size == self.n_records,
            {
                self.index["local"].size,
                *(x.size for x in (self.record_code, self.record_tick) if x.size),
            }
            == {self.n_entries},
            all(
                self.index[name].size == file.size
                for name, file in (("code", self.record_code), ("tick", self.record_tick))
            ),
        ]
        if not all(fits):
            raise ValueError("the index does not fit the records")

    record_ptr: ArrayFile
    record_item: ArrayFile
    record_code: ArrayFile
    record_tick: ArrayFile
    lengths: ArrayFile

    def damaged(self) -> InputError:
        """Error for files that are not what was saved."""
        return InputError(
            f"{self.folder.name} is a saved dataset, but damaged: save it again from the original data"
        )

    @property
    def versions(self) -> list[list[int | str]]:
        """Name, file number, size and times of the last changes of every file."""
        found = [(path, path.stat()) for path in sorted(self.folder.iterdir())]
        return [[path.name, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns] for path, s in found]

    @cached_property
    def identity(self) -> str:
        """Digest of the checksums of all files: two folders with the same content have the same."""
        return sha256(json.dumps(self.meta["checksums"], sort_keys=True).encode()).hexdigest()

    @cached_property
    def length_counts(self) -> Array:
        """int64 (longest + 1): number of records with 0, 1, … distinct items."""
        counts = np.zeros(1, np.int64)
        for lo, hi in self.lengths.ranges(_CHUNK):
            part = np.bincount(self.lengths.read(lo, hi), minlength=counts.size)
            part[: counts.size] += counts
            counts = part
        return counts.astype(np.int64)

    def plan(self, budget: Budget) -> list[tuple[int, int]]:
        """Ranges of blocks, each within the budget of a shard."""
        per_entry = sum(
            self.index[name].row_bytes
            for name in ("local", "code", "tick")
            if self.index[name].size
        )
        size = (
            np.diff(self.entry_edges) * per_entry
            + np.diff(self.block_edges) * 8
            + self.index["ptr"].row_bytes
        )
        check_fits(
            budget,
            int(size.max()),
            self.n_records,
            int(self.item_labels.nbytes + 32 * self.supports.size),
        )
        return filled_ranges(size.tolist(), budget.shard)

    def rows(self, records: Array, keys: Array) -> Rows:
        """Entries of some records, given by distinct ascending indices; `keys` are those of all records."""
        bounds = self.record_ptr.read_rows(np.column_stack([records, records + 2])).reshape(-1, 2)
        ptr = np.concatenate([[0], np.cumsum(bounds[:, 1] - bounds[:, 0])]).astype(np.int64)
        item, code, tick = (
            file.read_rows(bounds) if file.size else file.whole()
            for file in (self.record_item, self.record_code, self.record_tick)
        )
        lengths = self.lengths.read_rows(np.column_stack([records, records + 1]))
        return Rows(records, ptr, item, code, tick, lengths, keys[records])

    def examine(
        self, budget: Budget, *, verify: bool, progress: Callable[[int, int], None]
    ) -> Array:
        """Check every number that compiled code uses as an index, and return the key of each record.

        Raises
        ------
        InputError
            If a file is damaged.
        """
        hashes, supports = (
            np.empty(self.n_records, np.uint64),
            np.zeros(self.supports.size, np.int64),
        )
        try:
            whole = are_unchanged(self.folder, self.meta, verify=verify)
            for first, stop in self.plan(budget) if whole else []:
                whole = whole and self._is_sound(first, stop, hashes, supports)
                progress(int(self.entry_edges[stop]), self.n_entries)
        except DAMAGES:
            whole = False
        if not (whole and np.array_equal(supports, self.supports)):
            raise self.damaged()
        return number_equal(hashes)

    def _is_sound(self, first: int, stop: int, hashes: Array, supports: Array) -> bool:
        """Whether some blocks hold only numbers in range; their hashes and counts are added to those of all."""
        lo, hi = (int(self.block_edges[k]) for k in (first, stop))
        start, end = (int(self.entry_edges[k]) for k in (first, stop))
        ptr = self.record_ptr.read(lo, hi + 1) - start
        item = self.record_item.read(start, end)
        code, tick = (
            f.read(start, end) if f.size else f.whole()
            for f in (self.record_code, self.record_tick)
        )
        lengths = self.lengths.read(lo, hi)
        if (
            ptr[0]
            or ptr[-1] != item.size
            or (np.diff(ptr) < 0).any()
            or (item.size and int(item.max()) >= supports.size)
        ):
            return False
        counted, held = np.zeros(lengths.size, np.int64), np.zeros(supports.size, np.int64)
        count_pairs(ptr, item, counted, held)
        piece = Dataset(
            np.arange(lengths.size),
            self.item_labels,
            ptr,
            item,
            code,
            tick,
            self.levels,
            self.meta["first_tick"],
            self.meta["tick_span"],
            lengths,
            held,
            time_resolution=self.meta["time_resolution"],
        )
        supports += held
        hashes[lo:hi] = hash_records(ptr, item, code, tick)
        index = replace(self.shard(first, stop), first_record=0, has_repeats=piece.has_repeats)
        return (
            bool(np.array_equal(counted, lengths)) and is_sound(piece) and is_index_of(index, piece)
        )

    def shard(self, first: int, stop: int, buffers: Buffers | None = None) -> Shard:
        """Posting lists of some blocks; they share the memory of `buffers`, if given."""
        start, end = (int(self.entry_edges[k]) for k in (first, stop))
        lo, hi = (int(self.block_edges[k]) for k in (first, stop))

        def take(name: str, file: ArrayFile, low: int, high: int) -> Array:
            low, high = (low, high) if file.size else (0, 0)
            return file.read(
                low,
                high,
                None if buffers is None else buffers.take(name, (high - low) * file.row_bytes),
            )

        ptr = take("ptr", self.index["ptr"], first, stop)
        if ptr.size and (int(ptr[0, 0]), int(ptr[-1, -1])) != (start, end):
            raise self.damaged()
        ptr -= ptr.dtype.type(start)
        local, code, tick = (
            take(name, self.index[name], start, end) for name in ("local", "code", "tick")
        )
        shard = Shard(lo, hi - lo, self.block_size, ptr, local, code, tick, self.has_repeats)
        shard.__dict__["lengths"] = take("lengths", self.lengths, lo, hi)
        return shard

    def fingerprint(self) -> str:
        """SHA-256 of the content, the same as `Dataset.fingerprint`."""
        made = sha256()
        digest_labels(made, self.folder, "record_labels")
        digest_labels(made, self.folder, "item_labels")
        resolution = self.meta["time_resolution"]
        more = () if resolution == "day" else (np.frombuffer(resolution.encode(), np.uint8),)
        parts = (
            self.record_ptr,
            self.record_item,
            self.record_code,
            self.record_tick,
            self.levels,
            np.array([self.meta["first_tick"]]),
            np.empty(0),
            np.empty(0),
            *more,
        )
        for part in parts:
            made.update(f"{part.dtype.str}{part.shape}".encode())
            if isinstance(part, ArrayFile):
                for lo, hi in part.ranges(_CHUNK):
                    made.update(part.read(lo, hi).data.cast("B"))
            else:
                made.update(np.ascontiguousarray(part).data.cast("B") if part.size else b"")
        return made.hexdigest()


@dataclass(frozen=True, eq=False)
class StoredShard:
    """A shard that is read from disk when it is needed."""

    files: SavedFiles
    first_block: int
    stop_block: int
    keys: LazyKeys

    def __repr__(self) -> str:
        return f"<StoredShard of {self.n_records:,} records>"

    @property
    def first_record(self) -> int:
        """Index of the first record."""
        return int(self.files.block_edges[self.first_block])

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.files.block_edges[self.stop_block]) - self.first_record

    @property
    def identity(self) -> str:
        """Digest of the content: two shards with the same records have the same."""
        return f"{self.files.identity}:{self.first_block}:{self.stop_block}"

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return int(
            self.files.entry_edges[self.stop_block] - self.files.entry_edges[self.first_block]
        )

    def load(self, buffers: Buffers | None = None) -> Shard:
        """Read the posting lists; they share the memory of `buffers`, if given."""
        return self.files.shard(self.first_block, self.stop_block, buffers).with_keys(self.keys)
