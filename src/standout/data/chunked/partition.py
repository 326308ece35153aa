"""Read a source as a saved folder: its rows are cut into files on disk, one per range of records, and written from them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

from standout.arrays import Array
from standout.data import index
from standout.data.assemble import cores
from standout.data.build import EntryBuilder, rows_differ
from standout.data.chunked.files import ArrayWriter
from standout.data.chunked.memory import Budget, bytes_of, filled_ranges
from standout.data.kept import Kept, key_of, stamp, why_not_private, work_folder
from standout.data.reading.columns import Roles
from standout.data.reading.formats import FoundSource
from standout.data.reading.options import ReadOptions
from standout.data.reading.read import PathLike, check_saved, found_source, read_found, versions
from standout.data.reading.rows import Batch, RowCatalog, catalog_rows
from standout.data.reading.source import Source
from standout.data.reading.survey import Survey
from standout.data.repeats import check_repeats
from standout.data.scratch import remove_any, scratch_folder
from standout.data.store import dump_array, is_saved, write_meta
from standout.errors import InputError, ParameterError
from standout.versions import version_of

if TYPE_CHECKING:
    from standout.data.chunked.dataset import ChunkedDataset, Progress

_PREFIX = "data-"
_IN_MEMORY = 24
"""Bytes of a row while its bucket is built: as it was written, sorted by record, and as posting lists."""


class Partition:
    """Rows of a source in files, by range of records, and what is known of all of them.

    Parameters
    ----------
    folder
        Existing folder for the files.
    catalog
        What is known of all rows.
    most_bytes
        Limit for the rows of a file in memory, unless it holds a single block of records.
    """

    def __init__(self, folder: Path, catalog: RowCatalog, most_bytes: int) -> None:
        coding, counts = catalog.coding, catalog.record_counts
        self.catalog, self.like = catalog, coding.builder(np.zeros(1, np.int64))
        self.block = index.fitting_block(counts.size, coding.n_items, catalog.n_entries)
        """Records per block; ranges begin at multiples of it."""
        fields = [("record", np.dtype(np.uint32)), ("item", self.like.item.dtype)]
        fields += [("code", self.like.code.dtype)] if coding.has_value else []
        fields += [("tick", self.like.tick.dtype)] if coding.has_time else []
        self.row = np.dtype(fields)
        """Type of a row; its field `record` holds the index of the record within the range."""
        sizes = np.add.reduceat(counts, np.arange(0, counts.size, self.block)) * _IN_MEMORY
        cuts = [self.block * first for first, _ in filled_ranges(sizes.tolist(), most_bytes)]
        self.edges = np.array([*cuts, counts.size], np.int64)
        """Records at which ranges begin, and the number of records."""
        self.paths = [folder / f"bucket-{k:05}" for k in range(len(cuts))]

    def fill(self, batches: Iterator[Batch], progress: Callable[[int, int], None]) -> None:
        """Write all rows."""
        n_written, n = 0, self.catalog.n_entries
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("ab")) for path in self.paths]
            for record, item, code, tick in batches:
                bucket = (np.searchsorted(self.edges, record, side="right") - 1).astype(np.uint16)
                rows = np.empty(record.size, self.row)
                columns = {"item": item, "code": code, "tick": tick}
                for name, column in {**columns, "record": record - self.edges[bucket]}.items():
                    if column is not None:
                        rows[name] = column
                rows = rows[np.argsort(bucket, kind="stable")]
                ends = np.cumsum(np.bincount(bucket, minlength=len(files)))
                for file, part in zip(files, np.split(rows, ends[:-1]), strict=True):
                    file.write(part.tobytes())
                n_written += record.size
                progress(n_written, n)
        if n_written != n:
            raise rows_differ()

    def taken(self) -> Iterator[tuple[int, int, dict[str, Array]]]:
        """First record, one after the last, and columns of each range, whose file is then removed."""
        for k, path in enumerate(self.paths):
            rows = np.fromfile(path, self.row)
            columns = {name: np.ascontiguousarray(rows[name]) for name in self.row.names or ()}
            del rows
            yield int(self.edges[k]), int(self.edges[k + 1]), columns
            path.unlink()


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
    made = Partition(folder, catalog, budget.bucket)
    made.fill(batches, progress)
    return made


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
        for lo, hi, rows in made.taken():
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
    like = made.like
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


def read_chunked(
    made: type[ChunkedDataset],
    path: PathLike,
    options: ReadOptions,
    memory: str | float,
    work: str | Path | None,
    threads: int | None,
    progress: Progress | None,
) -> ChunkedDataset:
    """See `ChunkedDataset.read`."""
    budget = Budget(bytes_of(memory))
    check_repeats(options.repeats, True)
    if any(options.further.values()):
        raise ParameterError(
            "channels, attributes and coordinates (--channel, --attributes, --lat, --lon) are read in memory alone: use "
            "Dataset.read (leave out --engine chunked and --memory); for data that does not fit, use a larger machine or a "
            "part of the rows"
        )
    with found_source(path, options.table) as found:
        if found.kind == "saved":
            ds = made(found.paths[0], memory, work, threads, progress=progress)
            check_saved(found.name, ds, options)
            return ds
        place = work_folder(work)
        if place is not None:
            folder = _reused_or_built(found, options, place, budget, progress)
            return made(folder, memory, place, threads, progress=progress)
        with ExitStack() as stack:
            folder = stack.enter_context(scratch_folder()) / "data"
            _build(found, options, folder, budget, progress)
            ds = made(folder, memory, None, threads, progress=progress)
            # the folder is removed with the dataset, at the latest at the end of the process
            weakref.finalize(ds, stack.pop_all().close)
            return ds


def _reused_or_built(
    found: FoundSource, options: ReadOptions, work: Path, budget: Budget, progress: Progress | None
) -> Path:
    """Folder with the partition of a source, in the work folder; built if there is none of this version of the source."""
    about = [
        found.kind,
        found.name,
        [str(path.resolve()) for path in found.paths],
        versions(found),
        found.table,
        options,
        version_of("standout"),
    ]
    key = key_of(about)
    folder, seals = work / f"{_PREFIX}{key[:32]}", Kept(work, "seal")
    # the version of a database or an object store is not known
    if not (found.paths and is_saved(folder) and _is_sealed(seals, key, folder)):
        try:
            for old in work.glob(f"{_PREFIX}*"):
                remove_any(old)
        except OSError as error:
            raise ParameterError(
                f"work={work.name!r} cannot be written to: {error.strerror}"
            ) from None
        _build(
            found,
            options,
            folder,
            budget,
            progress,
            lambda made: seals.keep(key, _stamps(made)),
        )
    return folder


def _is_sealed(seals: Kept, key: str, folder: Path) -> bool:
    try:
        return why_not_private(folder) is None and seals.find(key) == (_stamps(folder),)
    except OSError:  # a link, or a file of another user
        return False


def _stamps(folder: Path) -> list[Any]:
    """Files of a partition as they are now: only these are used by a later run."""
    return [stamp(path) for path in sorted(folder.iterdir())]


def _build(
    found: FoundSource,
    options: ReadOptions,
    folder: Path,
    budget: Budget,
    progress: Progress | None,
    seal: Callable[[Path], object] | None = None,
) -> None:
    """Write the source as a saved folder, completely or not at all; `seal` is called when all files are there."""

    def tell(what: str) -> Callable[[int, int], None]:
        return lambda done, total: None if progress is None else progress(what, done, total)

    try:
        with scratch_folder(folder.parent, f".{folder.name[:5]}-") as scratch:
            (scratch / "buckets").mkdir()
            (scratch / "files").mkdir(mode=0o700)
            cut = partial(
                partition,
                folder=scratch / "buckets",
                budget=budget,
                progress=tell("sorting rows by record"),
            )
            made: Partition = read_found(found, options, cut, f"{budget.database // 10**6}MB")
            write_partition(made, scratch / "files", tell("writing shards"))
            if seal is not None:
                seal(scratch / "files")
            (scratch / "files").rename(folder)
    except OSError as error:
        raise InputError(
            f"{found.name} cannot be written in parts: {error.strerror}. Is the disk full?"
        ) from None
