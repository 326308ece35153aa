"""`Dataset`: records × items, with an optional value and time per entry."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from standout.arrays import Array
from standout.data.build import missing_tick
from standout.data.catalog import Catalog
from standout.data.cleaning import Cleaning
from standout.data.index import Rows, Shard, build_shard, fitting_block
from standout.data.keys import LazyKeys, digest
from standout.data.mechanism import Origin
from standout.data.row_copies import gather_rows
from standout.data.scale import Attribute, Channel
from standout.data.sources import DatasetSources
from standout.data.tasks import Result, Task
from standout.data.threads import run_on_threads
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.data.channels import JointCodes

R = TypeVar("R", bound=Result)

REPEATS = ("keep", "last", "first", "max", "sum", "count")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset(DatasetSources, Catalog):
    """Records × items. Make one with `Dataset.read`, `from_arrays`, `from_frame`, `from_sparse` or `open`.

    Indices run over sorted labels. `record_item[record_ptr[r]:record_ptr[r+1]]` are the items of
    record `r`, sorted; an item that the record holds several times (`repeats="keep"`) occurs
    several times, by time. `lengths` and `supports` count distinct (record, item) pairs.
    """

    record_labels: Array
    item_labels: Array
    record_ptr: Array
    record_item: Array
    record_code: Array
    """Index into `levels` per entry, `n_levels` = no value. Size 0 when there is no value channel."""
    record_tick: Array
    """Ticks after `first_tick` per entry, the type's largest = no time. Size 0 when there is no time channel."""
    levels: Array
    """The value of each code, ascending."""
    first_tick: int
    """Tick of offset 0, counted from 1970-01-01 in UTC. A tick is one step of `time_resolution`."""
    tick_span: int
    """Largest tick offset."""
    lengths: Array
    supports: Array
    cleaning: Cleaning = field(default_factory=Cleaning)
    origin: Origin | None = None
    """Where a release comes from, if a defense made it."""
    time_resolution: str = "day"
    """What a tick is: "day", "hour", "minute" or "second"."""
    further: JointCodes | None = None
    """Codes of the level channels beside the value, if the data has any."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    """Columns of the records, by name: they are no entries."""

    def save(self, folder: str | Path) -> None:
        """Write a folder that `open` maps back into memory, with a checksum of every file."""
        from standout.data.store import save_folder

        save_folder(self, folder)

    def take(self, records: Any, *, drop_empty: bool = True) -> Dataset:
        """Dataset of some of the records.

        Parameters
        ----------
        records
            Indices in any order, or one bool per record. The result has them in ascending order.
        drop_empty
            Whether items that none of these records holds are removed from the catalog.
        """
        from standout.data.derive import take

        return take(self, records, drop_empty)

    def select(self, items: Any, *, drop_empty: bool = True) -> Dataset:
        """Dataset of some of the items.

        Parameters
        ----------
        items
            Indices in any order, or one bool per item. The result has them in ascending order.
        drop_empty
            Whether records that hold none of these items are left out; otherwise record indices
            stay the same.
        """
        from standout.data.derive import select

        return select(self, items, drop_empty)

    def with_entries(self, keep: Any = None, **changes: Any) -> Dataset:
        """Dataset with the same records, and some of the entries or entries with other items, values and days.

        Parameters
        ----------
        keep
            One bool per entry, or how often it is kept, as a whole number; all entries once by
            default.
        changes
            Per kept entry: `value` (on the scale, NaN = none), `day` (whole ticks, in days since
            1970-01-01, NaN = none), `item` (an index). For all: `levels` (another scale),
            `item_labels` (other items), `drop` (channels to remove: "value", "time").
        """
        from standout.data.derive import with_entries

        return with_entries(self, keep, **changes)

    def to_arrow(self) -> Any:
        """Arrow table with one row per entry: record, item, and what the data has of value, channels, attributes and time."""
        from standout.data.export import to_arrow

        return to_arrow(self)

    def to_frame(self) -> Any:
        """Pandas frame with the rows and columns of `to_arrow`."""
        return self.to_arrow().to_pandas(date_as_object=False)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.record_ptr.size - 1)

    @property
    def n_entries(self) -> int:
        """Number of entries; with `repeats="keep"` every event counts."""
        return int(self.record_item.size)

    @property
    def has_value(self) -> bool:
        """Whether entries carry values."""
        return self.record_code.size > 0

    @property
    def has_time(self) -> bool:
        """Whether entries carry times."""
        return self.record_tick.size > 0

    @property
    def no_tick(self) -> int:
        """Tick offset that means "no time"."""
        return missing_tick(self.record_tick.dtype)

    @cached_property
    def length_counts(self) -> Array:
        """int64 (longest + 1): number of records with 0, 1, … distinct items."""
        return np.bincount(self.lengths, minlength=1).astype(np.int64)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The level channels beside the value."""
        given = () if self.further is None else self.further.channels
        return tuple(channel for channel in given if channel.name != "value")

    @cached_property
    def lazy_keys(self) -> LazyKeys:
        """`record_keys`, computed when they are needed."""
        code = self.record_code if self.further is None else self.further.code
        own = tuple(attribute.code for attribute in self.attributes.values())
        return LazyKeys(self.record_ptr, self.record_item, code, self.record_tick, own)

    @property
    def record_keys(self) -> Array:
        """A number per record that depends on its contents, not on its label; the seed of its random draws."""
        return self.lazy_keys.values

    @property
    def _entries(self) -> tuple[Array, Array, Array, Array]:
        return self.record_ptr, self.record_item, self.record_code, self.record_tick

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content: labels, entries, levels. The order of the rows in the file does not matter."""
        resolution = np.frombuffer(self.time_resolution.encode(), np.uint8)
        more = () if self.time_resolution == "day" else (resolution,)
        # two empty arrays: part of the digest since values could have bounds
        scale = self.levels, np.array([self.first_tick]), np.empty(0), np.empty(0)
        if self.further is not None:
            more = (*more, np.frombuffer(self.further.fingerprint.encode(), np.uint8))
        for name, own in self.attributes.items():
            scales = own.channel.levels, own.channel.label_array, own.code
            more = (*more, np.frombuffer(name.encode(), np.uint8), *scales)
        return digest(self.record_labels, self.item_labels, *self._entries, *scale, *more)

    @cached_property
    def index(self) -> Shard:
        """Posting lists of the whole dataset, made on first use."""
        return self.shards(1)[0]

    @property
    def all_shards(self) -> list[Shard]:
        """Shards that together hold every record once."""
        return [self.index]

    def loaded(self) -> Dataset:
        """Return the dataset itself."""
        return self

    def map(self, task: Task[R]) -> R:
        """Run the task on all records, on all cores."""
        return run_on_threads(task, self.all_shards, os.cpu_count() or 1)

    def rows(self, records: Any) -> Rows:
        """Entries and keys of some records, given by distinct ascending indices."""
        chosen = np.asarray(records, np.int64)
        ptr, (item, code, tick) = gather_rows(self.record_ptr, chosen, *self._entries[1:])
        lengths = self.lengths[chosen].astype(np.int64)
        return Rows(chosen, ptr, item, code, tick, lengths, self.record_keys[chosen])

    def lengths_of(self, records: Array) -> Array:
        """int64: distinct items of each record; 0 for record -1."""
        return np.where(records >= 0, self.lengths[records], 0).astype(np.int64)

    def shards(self, n: int, block_size: int | None = None) -> list[Shard]:
        """Cut the records into `n` ranges of about equal length and index each."""
        if n < 1:
            raise ParameterError(f"n={n}: use at least one shard")
        size = block_size or fitting_block(self.n_records, self.n_items, self.n_entries)
        edges = np.linspace(0, self.n_records, min(n, self.n_records) + 1).astype(np.int64).tolist()
        return self.shards_at(edges, size)

    def shards_at(self, edges: Iterable[int], block_size: int) -> list[Shard]:
        """Cut the records at the given indices (0 and N included) and index each range."""
        return [self._shard(lo, hi, block_size) for lo, hi in pairwise(edges) if hi > lo]

    def _shard(self, lo: int, hi: int, block_size: int) -> Shard:
        if not 1 <= block_size <= 65_536:
            raise ParameterError(f"block_size={block_size}: a block holds 1 to 65,536 records")
        shard = build_shard(*self._entries, self.n_items, lo, hi, block_size, self.has_repeats)
        shard.__dict__["lengths"] = np.ascontiguousarray(self.lengths[lo:hi], np.int64)
        return shard.with_keys(self.lazy_keys)

    def __repr__(self) -> str:
        return f"<Dataset {self.shape_text}>"
