"""Numbers of items per record: of a shard, of fetched rows, and as a histogram over all records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.grouping import GroupSize
from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.index import Rows, Shard
from standout.data.tasks import Range, Sums, Task
from standout.jit import njit

jit = njit(nogil=True, cache=True)


@dataclass(frozen=True, eq=False, repr=False)
class EntryTest:
    """Test for entries that can give a wrong fact: every known channel has a value outside its tolerance."""

    levels: Array
    """bool (levels): whether some other level lies outside the tolerance; empty if values are not known."""
    reach: int
    """Tolerance in ticks, -1 if ticks are not known."""
    tick_span: int
    no_tick: int

    def passing(self, part: Shard | Rows) -> Array:
        """Mark the entries that pass."""
        out = np.empty(part.local.size if isinstance(part, Shard) else part.item.size, np.bool_)
        _mark_passing(
            part.code, part.tick, self.no_tick, self.levels, self.reach, self.tick_span, out
        )
        return out


@dataclass(frozen=True, eq=False, repr=False)
class ItemCount:
    """Number of distinct items of a record: all, the marked ones, or those with an entry that passes a test."""

    marked: Array | None = None
    """bool (items): the items that count; all when None."""
    only: EntryTest | None = None
    """Test that some entry must pass for its item to count."""

    def of(self, part: Shard | Rows) -> Array:
        """int64: the number for each record of a shard or of fetched rows."""
        if self.only is None and self.marked is None:
            return part.lengths
        if isinstance(part, Rows):
            return self._of_rows(part)
        if self.only is None:
            assert self.marked is not None
            return part.count(self.marked)
        marked = np.ones(part.n_items, np.bool_) if self.marked is None else self.marked
        out = np.zeros(part.n_records, np.int64)
        _count_postings(part.block_size, part.ptr, part.local, marked, self.only.passing(part), out)
        return out

    def _of_rows(self, rows: Rows) -> Array:
        marked = (
            np.ones(int(rows.item.max(initial=0)) + 1, np.bool_)
            if self.marked is None
            else self.marked
        )
        passing = (
            np.ones(rows.item.size, np.bool_) if self.only is None else self.only.passing(rows)
        )
        return np.asarray(_count_rows(rows.ptr, rows.item, marked, passing))


@dataclass(frozen=True, eq=False, repr=False)
class CountRecords(Task[Sums]):
    """How many records hold 0, 1, … items that count."""

    count: ItemCount | GroupSize
    longest: int
    """Most items of a record."""

    def empty(self) -> Sums:
        """Zeros."""
        return Sums(np.zeros(self.longest + 1, np.int64))

    def run(self, shard: Shard, into: Sums | None = None, queries: Range | None = None) -> Sums:
        """Numbers of the shard's records."""
        found = Sums(np.bincount(self.count.of(shard), minlength=self.longest + 1))
        return found if into is None else into.merge(found)


def records_by_count(data: Catalog, marked: Array | None) -> Array:
    """int64 (longest + 1): number of records that hold 0, 1, … of the marked items; cached on the dataset."""
    if marked is None:
        return data.length_counts
    task = CountRecords(ItemCount(marked), data.longest)
    return once(
        data, "records_by_count", np.packbits(marked).tobytes(), lambda: data.map(task).total
    )


@dataclass(frozen=True, eq=False, repr=False)
class CountEntries(Task[Sums]):
    """Number of entries of each item; every event of a repeated pair counts."""

    n_items: int

    def empty(self) -> Sums:
        """Zeros."""
        return Sums(np.zeros(self.n_items, np.int64))

    def run(self, shard: Shard, into: Sums | None = None, queries: Range | None = None) -> Sums:
        """Numbers of the shard's entries."""
        found = Sums(np.diff(shard.ptr.astype(np.int64), axis=1).sum(axis=0))
        return found if into is None else into.merge(found)


def entries_by_item(data: Catalog) -> Array:
    """int64 (items): number of entries of each item; cached on the dataset."""
    if not data.has_repeats:
        return data.supports
    return once(data, "entries_by_item", None, lambda: data.map(CountEntries(data.n_items)).total)


@jit
def _count_rows(ptr: Array, item: Array, marked: Array, passing: Array) -> Array:
    """Distinct marked items of each record with an entry that passes."""
    out = np.zeros(ptr.size - 1, np.int64)
    for r in range(out.size):
        last = np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            if i != last and marked[i] and passing[k]:
                out[r] += 1
                last = i
    return out


@jit
def _count_postings(
    block_size: int, ptr: Array, local: Array, marked: Array, passing: Array, out: Array
) -> None:
    """Count, per record, the marked items with an entry that passes."""
    for b in range(ptr.shape[0]):
        for i in range(marked.size):
            last = np.int64(-1)
            if marked[i]:
                for p in range(np.int64(ptr[b, i]), np.int64(ptr[b, i + 1])):
                    k = np.int64(local[p])
                    if k != last and passing[p]:
                        out[b * block_size + k] += 1
                        last = k


@jit
def _mark_passing(
    code: Array, tick: Array, no_tick: int, levels_fine: Array, reach: int, span: int, fine: Array
) -> None:
    """Mark entries with a known value or time for which, in each known channel, some value lies outside the tolerance."""
    for k in range(fine.size):
        says, room = False, True
        if levels_fine.size > 0 and code[k] < levels_fine.size:
            says = True
            room = bool(levels_fine[code[k]])
        if reach >= 0 and tick[k] != no_tick:
            says = True
            room = room and bool(max(np.int64(tick[k]), span - np.int64(tick[k])) > reach)
        fine[k] = says and room
