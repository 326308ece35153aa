"""Where a `Dataset` comes from: files and databases, arrays, frames, sparse matrices, saved folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.data.reading.options import GUESS, Column, Columns, ReadOptions

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


class DatasetSources:
    """The ways to make a `Dataset`."""

    @classmethod
    def read(
        cls,
        path: str | Path | Sequence[str | Path],
        *,
        record: Column = GUESS,
        item: Column = GUESS,
        value: Column = GUESS,
        time: Column = GUESS,
        repeats: str = "keep",
        skip_bad: bool = False,
        max_bad: float | None = None,
        time_unit: str | None = None,
        date_format: str | None = None,
        encoding: str | None = None,
        delimiter: str | None = None,
        decimal: str | None = None,
        header: bool | None = None,
        names: Sequence[str] | str | None = None,
        wide: bool = False,
        zeros: str | None = None,
        ignore: Sequence[str] | str | None = None,
        table: str | None = None,
        resolution: str | None = None,
        channels: Columns = None,
        attributes: Columns = None,
        lat: str | None = None,
        lon: str | None = None,
    ) -> Dataset:
        """Read a file, a folder, a glob, a table of a database, an object store, a web address or standard input.

        Formats are recognized by content: CSV and other delimited text, JSON lines, Parquet, Arrow,
        xlsx, SQLite, DuckDB, gz and zst of text, the MovieLens and Netflix Prize layouts, and
        folders that `save` wrote.

        Parameters
        ----------
        path
            File, folder, glob, list of files with the same columns, `file.db::table`,
            `book.xlsx::sheet`, "-", or an address: `postgresql://user@host/db`, `s3://bucket/path`,
            `gs://…`, `https://…`.
        record, item, value, time
            Column names. Default: guessed, see `cleaning.columns`. None (or "") for a missing
            `value` or `time`.
        repeats
            What to do with repeated (record, item) pairs: keep (all events), last, first, max, sum
            or count.
        skip_bad
            Drop rows that do not parse instead of refusing the file.
        max_bad
            Largest share of rows that `skip_bad` may drop. Default: 0.01.
        time_unit
            "s", "ms", "us", "ns", "min", "hour", "day" or "week" for numeric times; found by their
            size if that is unambiguous. "m/d" or "d/m" for ambiguous dates in text.
        date_format
            Format of dates in text, such as "%d.%m.%Y %H:%M".
        encoding, delimiter
            Encoding and field separator of text files. Default: detected.
        decimal
            "." or ",": decimal sign of values in text. Default: detected.
        header, names
            Whether text files begin with the names of the columns (default: detected), and the
            names if not.
        wide
            Rows are records and columns are items. Empty cells are not entries.
        zeros
            In a wide matrix: "keep" (a zero is an entry) or "drop" (it is not).
        ignore
            Columns to leave out.
        table
            Table of a database, or sheet of a workbook.
        resolution
            "day", "hour", "minute" or "second": how finely times are kept. Default: the finest of
            these that the times have; fractions of a second are dropped, with a note. A saved
            dataset keeps the one it was saved with.
        channels
            Further columns of the entries by name: `{"price": "UnitPrice"}`, or the columns alone:
            `["price", "quantity"]`. A column is read as numbers if all its cells are numbers, else
            as labels.
        attributes
            Columns that belong to the person, likewise: the same in every row of a record, or
            empty.
        lat, lon
            Columns with latitude and longitude in degrees: channels of these names, for the view
            `grid:500m`. Without a column for the item, the item is the place: the exact coordinates.
        """
        from standout.data.reading.read import read

        return read(
            path,
            ReadOptions(
                record,
                item,
                value,
                time,
                repeats,
                skip_bad,
                max_bad,
                time_unit,
                date_format,
                encoding,
                delimiter,
                decimal,
                header,
                names,
                wide,
                zeros,
                ignore,
                table,
                resolution,
                channels,
                attributes,
                lat,
                lon,
            ),
        )

    @classmethod
    def from_arrays(
        cls,
        record: Any,
        item: Any = None,
        value: Any = None,
        time: Any = None,
        *,
        channels: Mapping[str, Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
        lat: Any = None,
        lon: Any = None,
        repeats: str = "keep",
        resolution: str | None = None,
    ) -> Dataset:
        """Make a dataset of one-dimensional arrays, one element per entry; labels of any kind, time in days or dates.

        `channels` has further columns by name: numbers (price, quantity) or labels (shop).
        `attributes` has those that belong to the person (age, postcode): the same in every row of a
        record. `lat` and `lon` are degrees; without items, the item is the place.
        """
        from standout.data.arrays import from_arrays

        return from_arrays(
            record,
            item,
            value,
            time,
            channels=channels,
            attributes=attributes,
            lat=lat,
            lon=lon,
            repeats=repeats,
            resolution=resolution,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        record: Column = GUESS,
        item: Column = GUESS,
        value: Column = GUESS,
        time: Column = GUESS,
        repeats: str = "keep",
        time_unit: str | None = None,
        date_format: str | None = None,
        wide: bool = False,
        zeros: str | None = None,
        ignore: Sequence[str] | str | None = None,
        resolution: str | None = None,
        channels: Columns = None,
        attributes: Columns = None,
        lat: str | None = None,
        lon: str | None = None,
    ) -> Dataset:
        """Make a dataset of a pandas, polars or pyarrow frame, or a DuckDB relation; the options mean the same as in `read`.

        A column that is left out is guessed; None says that there is no such channel.
        """
        from standout.data.reading.read import from_frame

        return from_frame(
            frame,
            ReadOptions(
                record,
                item,
                value,
                time,
                repeats,
                time_unit=time_unit,
                date_format=date_format,
                wide=wide,
                zeros=zeros,
                ignore=ignore,
                resolution=resolution,
                channels=channels,
                attributes=attributes,
                lat=lat,
                lon=lon,
            ),
        )

    @classmethod
    def from_sparse(cls, matrix: Any) -> Dataset:
        """Make a dataset of a SciPy sparse matrix: rows are records, columns items, stored numbers values."""
        from standout.data.arrays import from_sparse

        return from_sparse(matrix)

    @classmethod
    def open(cls, folder: str | Path, *, verify: bool = True) -> Dataset:
        """Map a folder that `save` wrote; damage is refused. `verify=False` skips the checksums (0.5 s for 10^8 entries)."""
        from standout.data.store import open_folder

        return open_folder(folder, verify=verify)
