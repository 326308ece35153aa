"""Item-major form in blocks of records: the posting lists that scoring kernels read.

A block holds `block_size` consecutive records. Inside a block the entries are sorted by item, then
by record, so that one known item of one query is one contiguous run, and the block's accumulator
stays in cache. A record is stored as its offset in the block, in 16 bits.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.build import missing_tick
from standout.data.cache import once
from standout.data.index_kernels import _count_marked, _count_rows, _fill_block, _fill_rows
from standout.data.keys import LazyKeys
from standout.data.row_copies import in_parts, rows_of
from standout.errors import ParameterError

DEFAULT_BLOCK = 32_768
LARGEST_BLOCK = 65_536
MOST_COUNTS = 4
"""Number of sets of marked items whose counts a shard caches."""


@dataclass(frozen=True, eq=False, repr=False)
class Shard:
    """Posting lists of the consecutive records `first_record … first_record + n_records - 1`.

    A shard is self-contained: it can be pickled and scored on another machine. A range of its
    blocks is again a shard.
    """

    first_record: int
    n_records: int
    block_size: int
    ptr: Array
    """(blocks, items + 1): start of each item's run in `local`, `code` and `tick`."""
    local: Array
    code: Array
    tick: Array
    has_repeats: bool
    parent: Shard | None = None
    """The shard whose blocks these are, if this one shares its arrays; it caches what is computed per record."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return int(self.ptr.shape[0])

    @property
    def n_items(self) -> int:
        """Number of items, including those that no record of the shard holds."""
        return int(self.ptr.shape[1] - 1)

    def __repr__(self) -> str:
        return f"<Shard of {self.n_records:,} records in {self.n_blocks:,} blocks>"

    @cached_property
    def all_dated(self) -> bool:
        """Whether every entry has a time."""
        if self.parent is not None:
            return self.parent.all_dated
        return bool(self.tick.size == 0 or self.tick.max() < missing_tick(self.tick.dtype))

    @property
    def last_tick(self) -> int:
        """Largest tick of an entry; 0 if no entry has one."""
        return int(np.max(self.tick, initial=0, where=self.tick != self.no_tick))

    @property
    def no_tick(self) -> int:
        """Tick that means "no time"."""
        return missing_tick(self.tick.dtype)

    @cached_property
    def keys(self) -> Array:
        """uint64: number per record that its random draws start from; it depends on the record's contents."""
        if self.parent is not None:
            return self.of_parent(self.parent.keys)
        of_all: LazyKeys = self.__dict__["_keys_of_all"]
        return of_all.values[self.first_record : self.first_record + self.n_records]

    def with_keys(self, of_all: LazyKeys) -> Shard:
        """Let the shard compute its keys from those of all records of its dataset, when they are needed."""
        self.__dict__["_keys_of_all"] = of_all
        return self

    @cached_property
    def lengths(self) -> Array:
        """int64: distinct items of each record."""
        if self.parent is not None:
            return self.of_parent(self.parent.lengths)
        return self.count(np.ones(self.n_items, np.bool_))

    def count(self, marked: Array) -> Array:
        """int64: distinct marked items (bool per item) of each record; the last few results are cached."""
        if self.parent is not None:
            return self.of_parent(self.parent.count(marked))

        def compute() -> Array:
            out = np.zeros(self.n_records, np.int64)
            _count_marked(self.block_size, self.ptr, self.local, marked, out)
            return out

        return once(self, "counts", np.packbits(marked).tobytes(), compute, MOST_COUNTS)

    @property
    def nbytes(self) -> int:
        """Bytes that the posting lists take."""
        return int(self.ptr.nbytes + self.local.nbytes + self.code.nbytes + self.tick.nbytes)

    def of_parent(self, per_record: Array) -> Array:
        """Part of an array over the parent's records that belongs to this shard's records."""
        assert self.parent is not None
        at = self.first_record - self.parent.first_record
        return per_record[at : at + self.n_records]

    def slice(self, first_block: int, stop_block: int) -> Shard:
        """Blocks `first_block … stop_block-1` as a shard that shares the arrays of this one."""
        if not 0 <= first_block < stop_block <= self.n_blocks:
            raise ParameterError(
                f"blocks {first_block} to {stop_block}: the shard has blocks 0 to {self.n_blocks}"
            )
        if stop_block - first_block == self.n_blocks:
            return self
        lo = first_block * self.block_size
        hi = min(stop_block * self.block_size, self.n_records)
        whole = self if self.parent is None else self.parent
        return replace(
            self,
            first_record=self.first_record + lo,
            n_records=hi - lo,
            ptr=self.ptr[first_block:stop_block],
            parent=whole,
        )

    def slices(self, most: int) -> list[Shard]:
        """At most `most` slices of about the same number of blocks, in order."""
        edges = (
            np.linspace(0, self.n_blocks, max(min(most, self.n_blocks), 1) + 1).astype(int).tolist()
        )
        return [self.slice(lo, hi) for lo, hi in pairwise(edges)]

    def with_blocks(self, block_size: int) -> Shard:
        """Shard of the same records in blocks of another size."""
        if not 1 <= block_size <= LARGEST_BLOCK:
            raise ParameterError(
                f"block_size={block_size}: a block holds 1 to {LARGEST_BLOCK:,} records"
            )
        rows = self.rows(np.arange(self.n_records))
        made = build_shard(
            rows.ptr,
            rows.item,
            rows.code,
            rows.tick,
            self.n_items,
            0,
            self.n_records,
            block_size,
            self.has_repeats,
        )
        made = replace(made, first_record=self.first_record)
        made.__dict__["lengths"] = self.lengths
        made.__dict__.update(
            {
                name: self.__dict__[name]
                for name in ("keys", "_keys_of_all")
                if name in self.__dict__
            }
        )
        return made

    def rows(self, records: Array) -> Rows:
        """Entries of some records of the shard, given as ascending offsets from its first record."""
        held = np.zeros(self.n_records, np.bool_)
        held[records] = True
        ptr = np.zeros(records.size + 1, np.int64)
        place = np.cumsum(held) - 1
        n = self.local.size if self.parent is None else int(self.ptr[-1, -1] - self.ptr[0, 0])
        in_parts(
            lambda b: _count_rows(b, self.block_size, self.ptr, self.local, held, place, ptr),
            range(self.n_blocks),
            n,
        )
        np.cumsum(ptr, out=ptr)
        item = np.empty(int(ptr[-1]), np.int32)
        code = np.empty(item.size if self.code.size else 0, self.code.dtype)
        tick = np.empty(item.size if self.tick.size else 0, self.tick.dtype)
        at = ptr[:-1].copy()
        in_parts(
            lambda b: _fill_rows(
                b,
                self.block_size,
                self.ptr,
                self.local,
                self.code,
                self.tick,
                held,
                place,
                at,
                item,
                code,
                tick,
            ),
            range(self.n_blocks),
            n,
        )
        return Rows(
            self.first_record + records,
            ptr,
            item,
            code,
            tick,
            self.lengths[records],
            self.keys[records],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Fields without caches; a slice takes only its own entries along."""
        lo, hi = (int(self.ptr[0, 0]), int(self.ptr[-1, -1])) if self.n_blocks else (0, 0)
        cut = {"local": self.local[lo:hi], "code": self.code[lo:hi], "tick": self.tick[lo:hi]}
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            **own,
            **cut,
            "ptr": self.ptr - self.ptr.dtype.type(lo),
            "parent": None,
            "lengths": self.lengths,
            "keys": self.keys,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Entries of some records, record by record and sorted by item."""

    record: Array
    """int64: record indices, ascending."""
    ptr: Array
    """int64 (records + 1): start of each record's entries."""
    item: Array
    code: Array
    """Value codes; empty if the release has no values."""
    tick: Array
    """Ticks; empty if the release has no times."""
    lengths: Array
    """int64 (records): distinct items."""
    keys: Array
    """uint64 (records): number per record that its random draws start from."""

    def places(self, records: Array) -> Array:
        """Position of each record among these rows; -1 for record -1. All other records must be here."""
        at = np.searchsorted(self.record, records)
        return np.where(np.asarray(records) >= 0, at, -1)

    def __repr__(self) -> str:
        return f"<Rows of {self.record.size:,} records>"

    def shard(self, n_items: int, has_repeats: bool) -> Shard:
        """These records as a shard of their own: the record at `places` p has index p there."""
        n = self.record.size
        made = build_shard(
            self.ptr,
            self.item,
            self.code,
            self.tick,
            n_items,
            0,
            n,
            min(max(n, 1), LARGEST_BLOCK),
            has_repeats,
            threads=1,
        )
        made.__dict__.update(lengths=self.lengths, keys=self.keys)
        return made

    def merge(self, other: Rows) -> Rows:
        """Rows of both sets of records; the sets must not overlap."""
        if not (self.record.size and other.record.size):
            return self if self.record.size else other
        record = np.concatenate([self.record, other.record])
        order = np.argsort(record)
        ptr = np.concatenate([self.ptr, self.ptr[-1] + other.ptr[1:]])
        starts, at = rows_of(ptr, order)
        both = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("item", "code", "tick")
        )
        item, code, tick = (entries[at] if entries.size else entries for entries in both)
        return Rows(
            record[order],
            starts,
            item,
            code,
            tick,
            np.concatenate([self.lengths, other.lengths])[order],
            np.concatenate([self.keys, other.keys])[order],
        )


def build_shard(
    record_ptr: Array,
    record_item: Array,
    record_code: Array,
    record_tick: Array,
    n_items: int,
    first: int,
    stop: int,
    block_size: int,
    has_repeats: bool,
    threads: int | None = None,
) -> Shard:
    """Index the records `first … stop-1`, on all cores unless `threads` says otherwise."""
    n_blocks = max(1, -(-(stop - first) // block_size))
    origin = int(record_ptr[first])
    n = int(record_ptr[stop]) - origin
    ptr = np.zeros((n_blocks, n_items + 1), np.int64 if n > np.iinfo(np.uint32).max else np.uint32)
    local = np.empty(n, np.uint16)
    code = np.empty(n if record_code.size else 0, record_code.dtype)
    tick = np.empty(n if record_tick.size else 0, record_tick.dtype)

    def fill(b: int) -> None:
        lo = first + b * block_size
        hi = min(stop, lo + block_size)
        ptr[b, 0] = int(record_ptr[lo]) - origin
        _fill_block(
            lo, hi, record_ptr, record_item, record_code, record_tick, ptr[b], local, code, tick
        )

    in_parts(fill, range(n_blocks), n, threads)
    return Shard(first, stop - first, block_size, ptr, local, code, tick, has_repeats)


def fitting_block(n_records: int, n_items: int, n_entries: int) -> int:
    """Block size that stays in cache; larger if the table of starts would be larger than the entries."""
    size = DEFAULT_BLOCK
    while size < LARGEST_BLOCK and (n_records / size) * n_items * 4 > 2 * n_entries:
        size *= 2
    return size
