"""Read a source again, as a whole: what a check has to know about the columns and bytes that were not measured."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from standout.data.cleaning import ColumnUse
from standout.data.reading.archives import unzipped
from standout.data.reading.examine import examined, hash_of_cells, hash_of_files
from standout.data.reading.formats import FoundSource, find_source
from standout.data.reading.frames import FrameTable
from standout.data.reading.options import ReadOptions
from standout.data.reading.tables import open_table
from standout.data.reading.workspace import workspace
from standout.data.scratch import scratch_folder
from standout.data.whole import How, Whole, changed, unexamined
from standout.errors import InputError

Uses = tuple[ColumnUse, ...]
Versions = list[tuple[int, ...]]


def how_to_examine(
    path: object, found: FoundSource, options: ReadOptions, uses: Uses, *, zipped: bool, lasts: bool
) -> How:
    """How to examine a source that was just read; at once if it is a copy that is removed after reading.

    Parameters
    ----------
    path
        What was read.
    found
        What it holds.
    options
        How it was read.
    uses
        Its columns.
    zipped
        Whether the path is a zip archive, which was unpacked for reading.
    lasts
        Whether the source can be read again.
    """
    if zipped:
        archive = Path(str(path)).absolute()
        return partial(_examine_zip, archive, _versions([archive]), found.table, options, uses)
    here = replace(found, paths=tuple(p.absolute() for p in found.paths))
    if lasts:
        return partial(_examine, here, _versions(_files(here)), options, uses)
    return _examine(here, None, options, uses)


def examine_frame(table: FrameTable, uses: Uses) -> Whole:
    """What is known of a frame: its columns."""
    try:
        if all(use.role != "ignored" for use in uses):
            return unexamined(uses, "the data is a frame")
        with workspace(table.name) as (con, _):
            uses = examined(con, table, uses)
    except InputError:  # objects that are no cells stay "not measured"
        pass
    return unexamined(uses, "the data is a frame")


def _examine_zip(
    archive: Path, before: Versions, table: str | None, options: ReadOptions, uses: Uses
) -> Whole:
    try:
        if _versions([archive]) != before:
            raise changed(archive.name)
        whole = hash_of_files([archive])
    except OSError:
        return unexamined(uses, "the file cannot be read any more")
    with scratch_folder() as made:
        (made / "unzipped").mkdir()
        found = find_source(unzipped(archive, made / "unzipped"), table)
        return replace(_examine(found, None, options, uses), sha256=whole)


def _examine(
    found: FoundSource, before: Versions | None, options: ReadOptions, uses: Uses
) -> Whole:
    """All columns and the hash of a source; `before` is its version when it was read."""
    try:
        files = _files(found)
        if before is not None and _versions(files) != before:
            raise changed(found.name)
        sha = hash_of_files(files) if files else None
    except OSError:
        return unexamined(uses, "the file cannot be read any more")
    covers = f"all bytes of {'the file' if len(files) == 1 else f'{len(files):,} files'}"
    if found.kind == "saved":
        return Whole(uses, sha, covers)
    ignored = any(use.role == "ignored" for use in uses)
    if sha is None or ignored:
        with workspace(found.name) as (con, folder):
            table = open_table(con, folder, found, options)
            uses = examined(con, table, uses)
            if sha is None:
                sha, covers = hash_of_cells(con, table), "all cells of the table"
    if files and before is not None and _versions(files) != before:
        raise changed(found.name)
    return Whole(uses, sha, covers)


def _files(found: FoundSource) -> list[Path]:
    """Files that hold the source, in a fixed order; none for a table on a server."""
    return [
        file
        for path in found.paths
        for file in (sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path])
    ]


def _versions(files: list[Path]) -> Versions:
    """What changes when a file is written or replaced."""
    stats = [path.stat() for path in files]
    return [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in stats]
