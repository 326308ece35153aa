"""Read a source as a `ChunkedDataset`: partition it once, and use the partition again if the source has not changed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.data.chunked.memory import Budget, bytes_of
from standout.data.chunked.partition import Partition, partition, write_partition
from standout.data.kept import Kept, key_of, stamp, why_not_private, work_folder
from standout.data.reading.formats import FoundSource
from standout.data.reading.options import ReadOptions
from standout.data.reading.read import PathLike, check_saved, found_source, read_found, versions
from standout.data.repeats import check_repeats
from standout.data.scratch import remove_any, scratch_folder
from standout.data.store import is_saved
from standout.errors import InputError, ParameterError
from standout.versions import version_of

if TYPE_CHECKING:
    from standout.data.chunked.dataset import ChunkedDataset, Progress

_PREFIX = "data-"


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
        _build(found, options, folder, budget, progress, lambda made: _seal(seals, key, made))
    return folder


def _seal(seals: Kept, key: str, folder: Path) -> None:
    """Note the files of a partition: only these files, as they are now, are used by a later run."""
    seals.keep(key, _stamps(folder))


def _is_sealed(seals: Kept, key: str, folder: Path) -> bool:
    try:
        return why_not_private(folder) is None and seals.find(key) == (_stamps(folder),)
    except OSError:  # a link, or a file of another user
        return False


def _stamps(folder: Path) -> list[Any]:
    return [stamp(path) for path in sorted(folder.iterdir())]


def _build(
    found: FoundSource,
    options: ReadOptions,
    folder: Path,
    budget: Budget,
    progress: Progress | None,
    seal: Callable[[Path], None] | None = None,
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
