"""Make a `Dataset` from files, folders, databases, standard input and frames."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import duckdb

from standout.data.assemble import complete
from standout.data.catalog import Catalog
from standout.data.cleaning import ColumnUse
from standout.data.dataset import Dataset
from standout.data.reading.columns import Roles, check_ignored, choose_columns, inventory
from standout.data.reading.examine import Versions, examine_frame, how_to_examine, versions_of
from standout.data.reading.file_content import is_zip_file, unzipped
from standout.data.reading.formats import FoundSource, find_source
from standout.data.reading.further_rows import build_with_further
from standout.data.reading.options import ReadOptions
from standout.data.reading.profile import Profile, is_constant_per, number_rule, profile_columns
from standout.data.reading.proposed import proposed
from standout.data.reading.remote import remote_of
from standout.data.reading.rows import catalog_rows
from standout.data.reading.servers import copy_objects, download, find_objects
from standout.data.reading.source import FrameTable, Source, SourceTable
from standout.data.reading.survey import Survey, survey
from standout.data.reading.tables import open_table
from standout.data.reading.time_rules import time_rule
from standout.data.reading.wide import load_wide
from standout.data.reading.workspace import MEMORY, column_kinds, workspace
from standout.data.repeats import check_repeats
from standout.data.scratch import private_file, scratch_folder
from standout.data.times import finer_than
from standout.data.whole import remember
from standout.errors import ColumnError, InputError, ParameterError

PathLike = str | Path | Sequence[str | Path]
T = TypeVar("T")
Build = Callable[[duckdb.DuckDBPyConnection, Source, Roles, Survey], T]
"""Makes something of the view `rows`."""


@dataclass(frozen=True)
class Inventory:
    """Columns of a source and what reading would use them for."""

    source: str
    columns: tuple[ColumnUse, ...]
    notes: tuple[str, ...]
    question: str | None
    """Question that must be answered before the source can be read; None if there is none."""


def read(path: PathLike, options: ReadOptions) -> Dataset:
    """Read a file, folder, glob, table or standard input; see `Dataset.read`."""
    check_repeats(options.repeats, True)
    with found_source(path, options.table) as found:
        ds = (
            _opened(found.paths[0], options)
            if found.kind == "saved"
            else read_found(found, options, build)
        )
        remember(ds, how_to_examine(found, options, ds.cleaning.columns))
        return ds


def build(con: duckdb.DuckDBPyConnection, source: Source, roles: Roles, found: Survey) -> Dataset:
    """Make the dataset in memory: every row is placed as it arrives, and only the result is kept."""
    _check_memory(found.n_rows, roles)
    if roles.further:
        return build_with_further(con, source, roles, found)
    catalog, batches = catalog_rows(con, source, roles, found)
    coding = catalog.coding
    builder = coding.builder(catalog.record_counts)
    # one thread converts a batch while the other places the previous one
    with ThreadPoolExecutor(1) as pool:
        placing: Future[None] | None = None
        for batch in batches:
            if placing is not None:
                placing.result()
            placing = pool.submit(builder.add, *batch)
        if placing is not None:
            placing.result()
    catalog.check_missing(
        int((builder.code == coding.levels.size).sum()),
        int((builder.tick == builder.no_tick).sum()),
    )
    return complete(
        builder,
        catalog.record_labels,
        catalog.item_labels,
        coding.levels,
        coding.first_tick,
        coding.tick_span,
        catalog.cleaning,
        catalog.n_source_rows,
        catalog.resolution,
    )


def _check_memory(n_rows: int, roles: Roles) -> None:
    """Refuse rows that cannot fit: a small Parquet file can hold billions of equal ones."""
    needed = n_rows * (4 + 2 * (roles.value is not None) + 4 * (roles.time is not None))
    if roles.further:  # rows stay in memory with all their columns
        needed += n_rows * 8 * (5 + 2 * len(roles.further))
    available = _physical_memory()
    if needed > available:
        raise InputError(
            f"{n_rows:,} rows need about {needed / 1e9:,.0f} GB of memory, and this machine has {available / 1e9:,.0f} GB: "
            "use --engine chunked (ChunkedDataset.read), read a part of them, or use a larger machine"
        )


def _physical_memory() -> float:
    """Bytes of memory of this machine; infinity where the system does not say."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return float("inf")


def read_found(
    found: FoundSource, options: ReadOptions, build: Build[T], memory: str = MEMORY
) -> T:
    """Read a source that is not a saved dataset; `build` makes the result, DuckDB may use `memory`."""
    before = versions(found)
    with workspace(found.name, memory) as (con, folder):
        made = _read_table(con, open_table(con, folder, found, options), options, build)
    if versions(found) != before:
        raise InputError(
            f"{found.name} changed while it was read: read it again when nothing writes to it"
        )
    return made


def versions(found: FoundSource) -> Versions:
    """Versions of the files of a source."""
    try:
        return versions_of(found.paths)
    except OSError as error:
        raise InputError(f"cannot read {found.name}: {error.strerror}") from None


def from_frame(frame: Any, options: ReadOptions) -> Dataset:
    """Make a dataset of a pandas, polars or pyarrow frame; see `Dataset.from_frame`."""
    check_repeats(options.repeats, True)
    table = FrameTable(frame)
    with workspace(table.name) as (con, _):
        ds = _read_table(con, table, options, build)
    remember(ds, examine_frame(table, ds.cleaning.columns))
    return ds


def inspect_columns(path: PathLike, options: ReadOptions) -> Inventory:
    """Find out what the columns of a source would be used for, from a sample of its rows."""
    with found_source(path, options.table) as found:
        if found.kind == "saved":
            ds = _opened(found.paths[0], options)
            return Inventory(found.name, ds.cleaning.columns, ds.cleaning.notes, None)
        with workspace(found.name) as (con, folder):
            table = open_table(con, folder, found, options)
            profiles = _profiles(con, table)
            try:
                if options.wide:
                    roles = load_wide(con, table, options)[1]
                else:
                    roles = _roles(con, table, profiles, options)
            except ColumnError as error:
                open_ = inventory(table.names, {}, set(), profiles, {}, unused="undecided")
                return Inventory(table.name, open_, (), str(error))
            question = (
                None if options.wide or not profiles else _question(con, table, roles, options)
            )
            notes = (
                *roles.notes,
                *([] if options.wide else _proposed(con, table, profiles, roles)),
            )
            return Inventory(table.name, roles.columns, notes, question)


def _proposed(
    con: duckdb.DuckDBPyConnection,
    table: SourceTable,
    profiles: dict[str, Profile],
    roles: Roles,
) -> tuple[str, ...]:
    """Note that proposes ignored columns as channels and attributes."""
    place = {name: k for k, name in enumerate(table.names)}

    def follows(name: str, by: str) -> bool:
        return is_constant_per(con, place[name], place[by])

    return proposed(profiles, roles, follows)


def _question(
    con: duckdb.DuckDBPyConnection, table: SourceTable, roles: Roles, options: ReadOptions
) -> str | None:
    """Ambiguity in the cells of the sample: a unit of time, an order of dates, a decimal sign."""
    columns = ", ".join(
        f"c{table.names.index(name)} AS {role}" for role, name in roles.chosen().items()
    )
    con.execute(f"CREATE VIEW source AS SELECT {columns} FROM sample_")
    kinds = column_kinds(con, "source")
    try:
        if roles.time is not None:
            time_rule(con, roles.time, kinds["time"], options.time_unit, options.date_format)
        if roles.value is not None and kinds["value"] == "VARCHAR":
            number_rule(con, roles.value, options.decimal)
    except InputError as error:
        return str(error)
    return None


@contextmanager
def found_source(path: PathLike, table: str | None) -> Iterator[FoundSource]:
    """What the path holds; standard input, a pipe and remote files are copied to a temporary folder."""
    remote = remote_of(path)
    if remote is not None and remote.kind == "postgresql":
        yield FoundSource("postgresql", (), remote.name, table, remote)
        return
    archive = Path(str(path)) if remote is None and _is(path, is_zip_file) else None
    if remote is None and archive is None and path != "-" and not _is(path, Path.is_fifo):
        yield find_source(path, table)
        return
    with scratch_folder() as made:
        files = made / "files"
        files.mkdir()
        if archive is not None:
            name, kept = archive.name, archive
        elif remote is None:
            name = "standard input" if path == "-" else "the pipe"
            kept = _copied(path, files / "stdin", name)
        elif remote.kind == "web":
            name, kept = remote.name, download(remote, files)
        else:
            name, objects = remote.name, find_objects(remote)
            if objects.is_parquet and table is not None:
                raise ParameterError(f"{name} is not a database: leave out table (--table)")
            if objects.is_parquet:
                yield FoundSource("objects", (), name, objects=objects)
                return
            kept = copy_objects(objects, files)
        if _is(kept, is_zip_file):
            (made / "unzipped").mkdir()
            kept = unzipped(kept, made / "unzipped")
        found = find_source(kept, table)
        yield replace(found, name=name, archive=archive, is_copy=archive is None)


def _copied(path: PathLike, to: Path, name: str) -> Path:
    """Copy of standard input or of a pipe, which can be read only once."""
    try:
        with (
            private_file(to) as file,
            sys.stdin.buffer if path == "-" else Path(str(path)).open("rb") as stream,
        ):
            shutil.copyfileobj(stream, file)
    except OSError as error:
        raise InputError(f"cannot copy {name} to a temporary file: {error.strerror}") from None
    if to.stat().st_size == 0:
        raise InputError(f"{name} is empty")
    return to


def _is(path: PathLike, kind: Callable[[Path], bool]) -> bool:
    """Whether the path is a file of this kind; False where no file can have this name."""
    try:
        return isinstance(path, (str, Path)) and kind(Path(path))
    except (OSError, ValueError):
        return False


def _opened(folder: Path, options: ReadOptions) -> Dataset:
    """A saved dataset, whose columns and handling of repeats are fixed."""
    ds = Dataset.open(folder)
    check_saved(folder.name, ds, options)
    return ds


def check_saved(name: str, ds: Catalog, options: ReadOptions) -> None:
    """Refuse a finer resolution, or another handling of repeats, than a dataset was saved with, and options of other sources."""
    if options.named():
        raise ParameterError(
            f"{name} is a saved dataset, whose columns are set: leave out {', '.join(options.named())}"
        )
    if options.resolution is not None and finer_than(options.resolution, ds.time_resolution):
        raise ParameterError(
            f"resolution={options.resolution!r}, but {name} was saved with resolution={ds.time_resolution!r}: read "
            "the original data"
        )
    if options.repeats not in ("keep", ds.cleaning.repeats):
        raise ParameterError(
            f"repeats={options.repeats!r}, but {name} was saved with repeats={ds.cleaning.repeats!r}: "
            "read the original data"
        )


def _read_table(
    con: duckdb.DuckDBPyConnection, table: SourceTable, options: ReadOptions, build: Build[T]
) -> T:
    source: Source
    if options.wide:
        source, roles = load_wide(con, table, options)
    else:
        roles = choose_roles(con, table, options)
        source = table.load(con, roles.chosen())
    check_repeats(options.repeats, roles.value is not None)
    return build(con, source, roles, survey(con, source, roles, options))


def choose_roles(con: duckdb.DuckDBPyConnection, table: SourceTable, options: ReadOptions) -> Roles:
    """Columns of the table by role, as named or guessed from a sample of its rows."""
    return _roles(con, table, _profiles(con, table), options)


def _profiles(con: duckdb.DuckDBPyConnection, table: SourceTable) -> dict[str, Profile]:
    if not table.profiled:
        return {}
    table.sample(con)
    return profile_columns(con, table.names)


def _roles(
    con: duckdb.DuckDBPyConnection,
    table: SourceTable,
    profiles: dict[str, Profile],
    options: ReadOptions,
) -> Roles:
    """Choose the columns of a table with one row per entry."""
    left_out = check_ignored(options.ignore, table.names)
    place = {name: k for k, name in enumerate(table.names)}
    return choose_columns(
        table.names,
        **options.roles,
        profiles=profiles or None,
        constant_per=lambda column, by: is_constant_per(con, place[column], place[by]),
        ignore=left_out,
        further=options.further,
    )
