"""`Catalog`: what is known of a dataset without reading its records, and how to reach the records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.cleaning import Cleaning
from standout.data.mechanism import Mechanism, Origin
from standout.data.scale import Attribute, Channel, ValueScale
from standout.data.times import TICKS_PER_DAY, finer_than

if TYPE_CHECKING:
    from standout.data.index import Rows
    from standout.data.tasks import Result, Task

    R = TypeVar("R", bound=Result)
from standout.errors import ParameterError


class Catalog(ValueScale, ABC):
    """Items, scales, totals and counts of a dataset: O(items), wherever the records lie.

    `Dataset` has its records in memory. Other subclasses have them on disk or on a cluster.
    Attacks, adversaries and audits read the attributes below, fetch single records with `rows`, and
    run everything else as tasks with `map`.
    """

    item_labels: Array
    supports: Array
    """int64 (items): records that hold the item."""
    first_tick: int
    """Tick of offset 0, counted from 1970-01-01 in UTC. A tick is one step of `time_resolution`."""
    tick_span: int
    """Largest tick offset."""
    time_resolution: str
    """What a tick is: "day", "hour", "minute" or "second"."""
    cleaning: Cleaning
    origin: Origin | None
    """Where a release comes from, if a defense made it."""

    @property
    @abstractmethod
    def n_records(self) -> int:
        """Number of records."""

    @property
    @abstractmethod
    def n_entries(self) -> int:
        """Number of entries; with `repeats="keep"` every event counts."""

    @property
    @abstractmethod
    def has_value(self) -> bool:
        """Whether entries carry values."""

    @property
    @abstractmethod
    def has_time(self) -> bool:
        """Whether entries carry times."""

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The level channels of the entries beside the value."""
        return ()

    attributes: Mapping[str, Attribute] = MappingProxyType({})
    """Columns of the records, by name: they are no entries."""

    @property
    @abstractmethod
    def no_tick(self) -> int:
        """Tick offset that means "no time"."""

    @property
    @abstractmethod
    def length_counts(self) -> Array:
        """int64 (longest + 1): number of records with 0, 1, … distinct items."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of the content: labels, entries, levels. The order of the rows in the file does not matter."""

    @property
    @abstractmethod
    def all_shards(self) -> Any:
        """Shards that together hold every record once, in the form that the dataset's engine takes."""

    @property
    def home_engine(self) -> Any:
        """Engine that must run tasks on this dataset; None if any engine can, because the records are in memory."""
        return None

    def loaded(self) -> Any:
        """Return the dataset with its records in memory; None if they do not fit or cannot be fetched."""
        return None

    @abstractmethod
    def map(self, task: Task[R]) -> R:
        """Run the task on all records and merge the results, without a choice of engine."""

    @abstractmethod
    def rows(self, records: Any) -> Rows:
        """Entries and keys of some records, given by distinct ascending indices."""

    def lengths_of(self, records: Array) -> Array:
        """int64: distinct items of each record; 0 for record -1."""
        rows = self.rows(np.unique(records[records >= 0]))
        return np.append(rows.lengths, 0)[rows.places(records)]

    @property
    def shape_text(self) -> str:
        """Numbers of records, items and entries, and the channels, in words."""
        values, times = (
            ", values" if self.has_value else "",
            f", {self.time_resolution}s" if self.has_time else "",
        )
        further = "".join(f", {channel.name}" for channel in self.channels)
        named = ", ".join(self.attributes)
        attributes = f"; attributes of the records: {named}" if named else ""
        return (
            f"{self.n_records:,} records × {self.n_items:,} items, {self.n_entries:,} entries"
            f"{values}{further}{times}{attributes}"
        )

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.item_labels.size)

    @property
    def n_pairs(self) -> int:
        """Number of distinct (record, item) pairs."""
        return int(self.supports.sum())

    @property
    def has_repeats(self) -> bool:
        """Whether some (record, item) pair has several entries."""
        return self.n_pairs < self.n_entries

    @property
    def longest(self) -> int:
        """Largest number of distinct items of a record."""
        return int(self.length_counts.size - 1)

    @property
    def not_measured(self) -> list[str]:
        """Knowledge that the source of this data allows, and that these entries no longer hold."""
        cut = self.has_time and finer_than(self.cleaning.finest_time, self.time_resolution)
        return [f"times to the {self.cleaning.finest_time}"] if cut else []

    @property
    def ticks_per_day(self) -> int:
        """Number of ticks in a day."""
        return TICKS_PER_DAY[self.time_resolution]

    @cached_property
    def popularity_rank(self) -> Array:
        """Rank of each item by support, 0 = most held; ties go to the lower index."""
        rank = np.empty(self.n_items, np.int64)
        rank[np.argsort(-self.supports, kind="stable")] = np.arange(self.n_items)
        return rank

    @property
    def source(self) -> Any:
        """The data that a defense made this release from; None if no defense did."""
        return self.origin.source if self.origin else None

    @property
    def defense(self) -> Any:
        """The defense that made this release; None if no defense did."""
        return self.origin.defense if self.origin else None

    @property
    def mechanism(self) -> Mechanism | None:
        """How the defense changed the data, as far as its published parameters say; None if no defense did."""
        return self.origin.mechanism if self.origin else None


def check_dataset(data: Any, name: str = "dataset") -> None:
    """Refuse what is not a dataset; `name` is the argument."""
    if not isinstance(data, Catalog):
        raise ParameterError(
            f"{name} is a {type(data).__name__}: use a Dataset (Dataset.read, from_arrays)"
        )
