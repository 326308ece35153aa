"""`Dataset`: records × items, with a value and a day per entry where there are any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.data.build import missing_day
from standout.data.index import Shard, build_shard, fitting_block
from standout.errors import ParameterError

Array = npt.NDArray[Any]

REPEATS = ("keep", "last", "first", "max", "sum", "count")


@dataclass(frozen=True)
class Cleaning:
    """What reading did to the rows: nothing is dropped or merged without being counted here."""

    rows_read: int = 0
    rows_bad: int = 0
    rows_without_record: int = 0
    rows_without_item: int = 0
    repeated_pairs: int = 0
    """Entries beyond the first of their (record, item) pair."""
    repeats: str = "keep"
    values_missing: int = 0
    times_missing: int = 0
    value_error: float = 0.0
    """Largest difference between a value and the level it is coded as; 0 when up to 255 levels are kept exactly."""
    notes: tuple[str, ...] = ()
    """How columns were chosen and times read, in words."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records × items. Make one with `Dataset.read`, `from_arrays`, `from_frame`, `from_sparse` or `open`.

    Indices run over sorted labels. `record_item[record_ptr[r]:record_ptr[r+1]]` are the items of record `r`, sorted;
    an item that the record holds several times (`repeats="keep"`) stands several times, by day. `lengths` and
    `supports` count distinct (record, item) pairs.
    """

    record_labels: Array
    item_labels: Array
    record_ptr: Array
    record_item: Array
    record_code: Array
    """Index into `levels` per entry, `n_levels` = no value. Size 0 when there is no value channel."""
    record_day: Array
    """Days after `first_day` per entry, the type's largest = no day. Size 0 when there is no time channel."""
    levels: Array
    """The value of each code, rising."""
    first_day: int
    """Day of offset 0, counted from 1970-01-01."""
    day_span: int
    """Largest day offset."""
    lengths: Array
    supports: Array
    cleaning: Cleaning = field(default_factory=Cleaning)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        record: str | None = None,
        item: str | None = None,
        value: str | None = None,
        time: str | None = None,
        repeats: str = "keep",
        skip_bad: bool = False,
        time_unit: str | None = None,
    ) -> Dataset:
        """Read a file or folder: .csv .tsv .dat .parquet .arrow, MovieLens and Netflix Prize layouts.

        Parameters
        ----------
        path
            File, folder or glob.
        record, item, value, time
            Column names. Left out, they are guessed from common names; the guess is in `cleaning.notes`.
            An empty string for `value` or `time` says that there is none.
        repeats
            What to do with repeated (record, item) pairs: keep (all events), last, first, max, sum or count.
        skip_bad
            Drop rows that do not parse instead of refusing the file.
        time_unit
            "s", "ms", "us", "ns" or "day" for numeric times; guessed from their size when left out. "m/d" or "d/m"
            for dates in text that can be read both ways.
        """
        from standout.data.read import read

        return read(
            path,
            record=record,
            item=item,
            value=value,
            time=time,
            repeats=repeats,
            skip_bad=skip_bad,
            time_unit=time_unit,
        )

    @classmethod
    def from_arrays(
        cls, record: Any, item: Any, value: Any = None, time: Any = None, *, repeats: str = "keep"
    ) -> Dataset:
        """Make a dataset of one-dimensional arrays, one element per entry; labels of any kind, time in days."""
        from standout.data.arrays import from_arrays

        return from_arrays(record, item, value, time, repeats=repeats)

    @classmethod
    def from_frame(cls, frame: Any, *, record: str | None = None, item: str | None = None, value: str | None = None,
                   time: str | None = None, repeats: str = "keep", time_unit: str | None = None) -> Dataset:  # fmt: skip
        """Make a dataset of a pandas, polars or pyarrow frame; columns are named or guessed as in `read`."""
        from standout.data.read import from_frame

        return from_frame(frame, record=record, item=item, value=value, time=time, repeats=repeats, time_unit=time_unit)

    @classmethod
    def from_sparse(cls, matrix: Any) -> Dataset:
        """Make a dataset of a SciPy sparse matrix: rows are records, columns items, stored numbers values."""
        from standout.data.arrays import from_sparse

        return from_sparse(matrix)

    @classmethod
    def open(cls, folder: str | Path) -> Dataset:
        """Open a folder that `save` wrote; arrays are mapped into memory, not read."""
        from standout.data.store import open_folder

        return open_folder(folder)

    def save(self, folder: str | Path) -> None:
        """Write a folder that `open` maps back in an instant."""
        from standout.data.store import save_folder

        save_folder(self, folder)

    def take(self, records: Any, *, drop_empty: bool = True) -> Dataset:
        """Dataset of some of the records.

        Parameters
        ----------
        records
            Indices in any order, or one bool per record. The result has them in rising order.
        drop_empty
            Whether items that none of these records holds leave the catalog, as if they had never been read.
        """
        from standout.data.derive import take

        return take(self, records, drop_empty)

    def select(self, items: Any, *, drop_empty: bool = True) -> Dataset:
        """Dataset of some of the items.

        Parameters
        ----------
        items
            Indices in any order, or one bool per item. The result has them in rising order.
        drop_empty
            Whether records that hold none of these items are left out; otherwise record indices stay the same.
        """
        from standout.data.derive import select

        return select(self, items, drop_empty)

    def with_entries(self, keep: Any = None, *, value: Any = None, day: Any = None) -> Dataset:
        """Dataset with the same records and items, and some of the entries or entries with other values and days.

        Parameters
        ----------
        keep
            One bool per entry; all entries when left out.
        value, day
            One number per kept entry, NaN = none: values on this dataset's scale, days counted from 1970-01-01.
        """
        from standout.data.derive import with_entries

        return with_entries(self, keep, value=value, day=day)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.record_ptr.size - 1)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return int(self.item_labels.size)

    @property
    def n_entries(self) -> int:
        """Number of entries; with `repeats="keep"` every event counts."""
        return int(self.record_item.size)

    @property
    def n_pairs(self) -> int:
        """Number of distinct (record, item) pairs."""
        return int(self.lengths.sum())

    @property
    def n_levels(self) -> int:
        """Number of value levels."""
        return int(self.levels.size)

    @property
    def has_value(self) -> bool:
        """Whether entries carry values."""
        return self.record_code.size > 0

    @property
    def has_time(self) -> bool:
        """Whether entries carry days."""
        return self.record_day.size > 0

    @property
    def has_repeats(self) -> bool:
        """Whether some (record, item) pair stands more than once."""
        return self.n_pairs < self.n_entries

    @property
    def no_day(self) -> int:
        """Day offset that means "no day"."""
        return missing_day(self.record_day.dtype)

    @property
    def value_range(self) -> float:
        """Range of the value scale: DSS12's p."""
        return float(self.levels[-1] - self.levels[0]) if self.n_levels else 0.0

    @cached_property
    def popularity_rank(self) -> Array:
        """Rank of each item by support, 0 = most held; ties go to the lower index."""
        rank = np.empty(self.n_items, np.int64)
        rank[np.argsort(-self.supports, kind="stable")] = np.arange(self.n_items)
        return rank

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the content: labels, entries, levels. The order of the rows in the file does not matter."""
        digest = sha256()
        for array in (self.record_labels, self.item_labels, self.record_ptr, self.record_item, self.record_code,
                      self.record_day, self.levels, np.array([self.first_day])):  # fmt: skip
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            data = array if array.dtype.kind != "O" else np.array([str(x) for x in array])
            digest.update(np.ascontiguousarray(data).data.cast("B") if data.size else b"")
        return digest.hexdigest()

    @cached_property
    def index(self) -> Shard:
        """Posting lists of the whole dataset, made on first use."""
        return self.shards(1)[0]

    def shards(self, n: int, block_size: int | None = None) -> list[Shard]:
        """Cut the records into `n` runs of about equal length and index each."""
        if n < 1:
            raise ParameterError(f"a dataset is cut into at least one shard, not {n}")
        size = block_size or fitting_block(self.n_records, self.n_items, self.n_entries)
        edges = np.linspace(0, self.n_records, min(n, self.n_records) + 1).astype(np.int64).tolist()
        return [self._shard(lo, hi, size) for lo, hi in pairwise(edges)]

    def shards_at(self, edges: Iterable[int], block_size: int) -> list[Shard]:
        """Cut the records at the given places (0 and N included) and index each run."""
        cuts = list(edges)
        return [self._shard(lo, hi, block_size) for lo, hi in pairwise(cuts) if hi > lo]

    def _shard(self, lo: int, hi: int, block_size: int) -> Shard:
        if not 1 <= block_size <= 65_536:
            raise ParameterError(f"block_size={block_size}: a block holds 1 to 65,536 records")
        shard = build_shard(self.record_ptr, self.record_item, self.record_code, self.record_day, self.n_items, lo, hi,
                            block_size, self.has_repeats)  # fmt: skip
        # counted already: the shard need not count again
        shard.__dict__["lengths"] = np.ascontiguousarray(self.lengths[lo:hi], np.int64)
        return shard

    def __repr__(self) -> str:
        channels = "".join([", values" if self.has_value else "", ", days" if self.has_time else ""])
        return f"<Dataset {self.n_records:,} records × {self.n_items:,} items, {self.n_entries:,} entries{channels}>"
