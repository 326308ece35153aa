"""`Grouping`: a relation among the known items of a person: of one receipt, of one week, one after the other.

Every entry has a *place*: the number of its group, or its time. Items are related if their places
lie in one window of `width` places. A group is a window of width 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from standout.adversary.splitmix import below
from standout.arrays import Array
from standout.data.cache import once
from standout.data.catalog import Catalog
from standout.data.channels import JointDataset
from standout.data.dataset import Dataset
from standout.data.index import Rows, Shard
from standout.data.row_copies import rows_of
from standout.data.times import days_within, ticks_within, within_text
from standout.errors import ParameterError
from standout.jit import njit

jit = njit(nogil=True, cache=True)

NO_PLACE = -1
_ENDLESS = 2**40
"""A width that holds all places."""


@dataclass(frozen=True)
class Grouping:
    """A relation among the known items of a person."""

    per_group: ClassVar[bool] = False
    """Whether one of the groups is drawn; else one of the events."""
    in_order: ClassVar[bool] = False
    """Whether the known events follow each other."""

    @property
    def words(self) -> str:
        """The relation, behind "n items"."""
        raise NotImplementedError

    def lacking(self, dataset: Catalog) -> str:
        """What the data lacks for this relation, as an error message; nothing if it has all."""
        return (
            ""
            if dataset.has_time
            else f"known items {self.words} need times, and the data has none: name a time column, or use another choice"
        )

    def width(self, dataset: Catalog) -> int:
        """Places that a window spans."""
        return 1

    def places(self, dataset: Catalog, rows: Rows) -> Array:
        """int64 per entry of fetched rows: its place, `NO_PLACE` where it has none."""
        return ticks_of(rows, dataset.no_tick)

    def size(self, dataset: Catalog) -> GroupSize:
        """Number of items that can be known of a record, as a condition counts it."""
        return GroupSize(dataset.n_items, self.width(dataset), 1, 0, dataset.no_tick)


@dataclass(frozen=True)
class Together(Grouping):
    """Items of one group, such as a receipt: the groups are the levels of a further channel, or days."""

    column: str
    per_group: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """The relation, behind "n items"."""
        return f"of one {self.column}"

    def lacking(self, dataset: Catalog) -> str:
        """What the data lacks."""
        there = [channel.name for channel in _whole(dataset).channels]
        if self.column in there:
            return ""
        if self.column == "day":
            return super().lacking(dataset)
        return (
            f"choose='together:{self.column}': no channel {self.column!r} in the data, which has {', '.join(there) or 'none'}; "
            f"name the column when the data is read (channels=, --channel {self.column})"
        )

    def _is_day(self, dataset: Catalog) -> bool:
        return self.column not in [channel.name for channel in _whole(dataset).channels]

    def places(self, dataset: Catalog, rows: Rows) -> Array:
        """Group of each entry."""
        if self._is_day(dataset):
            return ticks_of(rows, dataset.no_tick, dataset.ticks_per_day, int(dataset.first_tick))
        groups, data = self._groups(dataset)
        return np.asarray(groups[rows_of(data.record_ptr, rows.record)[1]])

    def size(self, dataset: Catalog) -> GroupSize:
        """Most items of one group."""
        if self._is_day(dataset):
            days = dataset.ticks_per_day, int(dataset.first_tick)
            return GroupSize(dataset.n_items, 1, *days, dataset.no_tick)
        groups, data = self._groups(dataset)
        most = once(
            data,
            "group_sizes",
            self.column,
            lambda: most_items(data.record_ptr, data.record_item, groups, 1, data.n_items),
        )
        return GroupSize(dataset.n_items, 1, 1, 0, 0, most)

    def _groups(self, dataset: Catalog) -> tuple[Array, Dataset]:
        """Group of every entry, and the dataset in memory that has these entries."""
        data = dataset.loaded()
        if data is None or not isinstance(data, Dataset):
            raise ParameterError(
                f"choose='together:{self.column}': further channels are read in memory alone; use the engine memory or gpu"
            )
        return once(data, "group_of_entry", self.column, lambda: self._read(data)), data

    def _read(self, data: Dataset) -> Array:
        further = _whole(data).further  # type: ignore[attr-defined]
        at = further.named(self.column)
        level = further.level(at)[further.code].astype(np.int64)
        level[level == further.channels[at].n_levels] = NO_PLACE
        if not isinstance(data, JointDataset) or level.size == data.n_entries:
            return np.asarray(level)
        # attributes of the person stand behind the entries of each record: they are in no group
        out = np.full(data.n_entries, NO_PLACE, np.int64)
        out[data.record_item < data.n_plain_items] = level
        return out


@dataclass(frozen=True)
class InWindow(Grouping):
    """Items within a span of time that begins with one of the events."""

    span: str

    @property
    def words(self) -> str:
        """The relation, behind "n items"."""
        days = days_within(self.span)
        whole = {1: "day", 7: "week (7 days)"}.get(int(days)) if days.denominator == 1 else None
        return f"of one {whole}" if whole else f"of one span of {within_text(self.span)}"

    def width(self, dataset: Catalog) -> int:
        """The span in ticks."""
        return ticks_within(self.span, dataset.time_resolution)


@dataclass(frozen=True)
class Consecutive(Grouping):
    """Items of events that follow each other; events at the same time are in random order."""

    in_order: ClassVar[bool] = True
    words = "of consecutive events"

    def width(self, dataset: Catalog) -> int:
        """All times: the first event is followed by all others."""
        return _ENDLESS


@dataclass(frozen=True, eq=False, repr=False)
class GroupSize:
    """Most distinct items of a record whose places lie in one window."""

    n_items: int
    width: int
    per_place: int
    """Ticks of one place."""
    first_tick: int
    no_tick: int
    most: Array | None = None
    """int64 (records): the numbers themselves, where they were read from a column."""

    def of(self, part: Shard | Rows) -> Array:
        """int64: the number for each record of a shard or of fetched rows."""
        if self.most is not None:
            if isinstance(part, Rows):
                return np.asarray(self.most[part.record])
            return self.most[part.first_record : part.first_record + part.n_records]
        rows = part if isinstance(part, Rows) else part.rows(np.arange(part.n_records))
        places = ticks_of(rows, self.no_tick, self.per_place, self.first_tick)
        return np.asarray(most_items(rows.ptr, rows.item, places, self.width, self.n_items))


def ticks_of(rows: Rows, no_tick: int, per_place: int = 1, first_tick: int = 0) -> Array:
    """int64: places of entries by their time, `NO_PLACE` where they have none; the place of the first tick or its day is 0."""
    tick = rows.tick.astype(np.int64)
    place = (tick + first_tick) // per_place - first_tick // per_place
    return np.where(tick == no_tick, NO_PLACE, place)


def _whole(dataset: Catalog) -> Catalog:
    """The dataset with its own channels, where the codes are joint codes."""
    if isinstance(dataset, JointDataset) and dataset.whole is not None:
        return dataset.whole
    return dataset


@jit
def most_items(ptr: Array, item: Array, place: Array, width: int, n_items: int) -> Array:
    """Largest number of distinct items of each record in a window of places."""
    out = np.zeros(ptr.size - 1, np.int64)
    count = np.zeros(n_items, np.int64)
    for r in range(out.size):
        lo = ptr[r]
        order = np.argsort(place[lo : ptr[r + 1]])
        n, back = np.int64(0), np.int64(0)
        for s in range(order.size):
            at = lo + order[s]
            if place[at] < 0:
                back = np.int64(s + 1)
                continue
            while place[at] - place[lo + order[back]] >= width:
                i = item[lo + order[back]]
                count[i] -= 1
                n -= count[i] == 0
                back += 1
            n += count[item[at]] == 0
            count[item[at]] += 1
            out[r] = max(out[r], n)
        while back < order.size:
            count[item[lo + order[back]]] = 0
            back += 1
    return out


@jit
def shuffle_ties(state: Array, order: Array, place: Array, lo: int) -> None:
    """Put entries at the same place, which are neighbors in `order`, into random order."""
    first = np.int64(0)
    for s in range(order.size):
        if place[lo + order[s]] != place[lo + order[first]]:
            first = np.int64(s)
        j = first + below(state, s - first + 1)
        order[s], order[j] = order[j], order[s]
