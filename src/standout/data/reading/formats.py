"""The format of a path, recognized by content: file names are not reliable."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.data.reading.file_content import head_of, is_workbook, unpacked
from standout.data.store import is_saved
from standout.errors import InputError, ParameterError, StandoutError

if TYPE_CHECKING:
    from standout.data.reading.remote import Remote
    from standout.data.reading.servers import Objects

Recognizer = Callable[[bytes], bool]
FrameReader = Callable[[Path], Any]

READERS: dict[str, tuple[Recognizer, FrameReader]] = {}
"""Formats that authors registered: how a file is recognized, and how it becomes a frame."""

_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow-stream"}
_PARQUET_ENDINGS = (".parquet", ".parq", ".pq")
_CALLED = {
    "a Parquet": _PARQUET_ENDINGS,
    "an Arrow IPC": (".arrow", ".feather", ".ipc"),
}
_NETFLIX_HEAD = re.compile(rb"\s*\d+:\s*\n\d+,\d,\d{4}-\d\d-\d\d\s*(\n|$)")
_NETFLIX_NAME = re.compile(r"(mv_\d+|combined_data_\d+)\.txt(\.gz|\.zst)?")
_MOVIELENS_NAME = re.compile(r"(ratings\.(csv|dat)|u\.data)(\.gz|\.zst)?")
_JSON_HEAD = re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*(\"|\})")
_TEXT_NAME = re.compile(
    r".*\.(csv|tsv|tab|psv|dat|data|jsonl|ndjson|json|xlsx|arrow|feather)(\.gz|\.zst)?",
    re.IGNORECASE,
)
_MANY = ("text", "parquet", "netflix", "json")
"""Kinds of which several files can make one table."""


@dataclass(frozen=True)
class FoundSource:
    """A source and how to read it."""

    kind: str
    """Name of the format."""
    paths: tuple[Path, ...]
    """One file, or the files of a folder in order; for a saved dataset its folder."""
    name: str
    """Name for messages."""
    table: str | None = None
    """Table of a database, or sheet of a workbook, if one was named."""
    remote: Remote | None = None
    """Address, for a database on a server."""
    objects: Objects | None = None
    """Parquet files of an object store."""
    archive: Path | None = None
    """Zip archive that the files were unpacked from."""
    is_copy: bool = False
    """Whether the files are a copy of something that may be gone: standard input, a pipe, a file of a server."""


def register_reader(name: str, recognizes: Recognizer) -> Callable[[FrameReader], FrameReader]:
    """Decorator that registers a function from a path to a frame as the reader of a format.

    Parameters
    ----------
    name
        Name of the format. Registered formats are tried before those of the package.
    recognizes
        Whether a file is of this format, by its first 64 KiB; compressed files are unpacked before.

    Examples
    --------
    >>> @register_reader("visits", lambda head: head.startswith(b"VISITS"))
    ... def read_visits(path: Path) -> Any:
    ...     "Frame of pandas, polars or pyarrow with a row per entry."
    >>> del READERS["visits"]
    """

    def add(function: FrameReader) -> FrameReader:
        READERS[name] = recognizes, function
        return function

    return add


def read_frame(found: FoundSource, folder: Path) -> Any:
    """What the registered reader of the format makes of the file, unpacked into the folder if it is compressed."""
    try:
        return READERS[found.kind][1](unpacked(found.paths[0], folder))
    except StandoutError:
        raise
    except Exception as error:  # its message may quote cells
        raise InputError(
            f"{found.name}: the reader of {found.kind!r} files fails with a {type(error).__name__}"
        ) from None


def find_source(path: str | Path | Sequence[str | Path], table: str | None = None) -> FoundSource:
    """Find out what the path holds; raise an error if it cannot be read."""
    if (
        table is None
        and isinstance(path, (str, Path))
        and "::" in Path(path).name
        and not _exists(Path(path))
    ):
        path, _, table = str(path).rpartition("::")
    found = _find(path)
    if table is not None and found.kind not in ("sqlite", "duckdb", "xlsx"):
        raise InputError(
            f"{found.name} is neither a database nor a workbook: leave out the table {table[:100]!r}"
        )
    return replace(found, table=table)


def _find(path: str | Path | Sequence[str | Path]) -> FoundSource:
    if isinstance(path, (list, tuple)):
        return _in_list(path)
    if not isinstance(path, (str, Path)):
        raise ParameterError(
            f"path is of type {type(path).__name__}: give a path, or a list of paths"
        )
    if not str(path):
        raise ParameterError("the path is empty: name a file or a folder")
    return _at(Path(path))


def _at(where: Path) -> FoundSource:
    name = where.name or str(where)
    try:
        if where.is_dir():
            return _in_folder(where, name)
        if where.is_file():
            return FoundSource(_file_kind(where), (where,), name)
        if where.exists():
            raise InputError(
                f"{name} is a device or socket: name a file or a folder, or use - for standard input"
            )
        if where.is_symlink():
            raise InputError(f"no such file or folder: {where} links to nothing")
        matches = sorted(Path(where.anchor).glob(str(where.relative_to(where.anchor))))
        return _in_glob(matches, where, name)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or type(error).__name__}") from None
    except (ValueError, NotImplementedError):
        raise InputError(f"the path {name[:80]!r} is neither a file name nor a pattern") from None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # no file can have this name
        return False


def is_tar(head: bytes) -> bool:
    """Whether a file that begins like this, unpacked, is a tar archive."""
    return head[257:262] == b"ustar"


def _file_kind(path: Path) -> str:
    with path.open("rb") as file:
        magic = file.read(8)
    if not magic:
        raise InputError(f"{path.name} is empty")
    head = head_of(path) if READERS else b""
    for name, (recognizes, _) in READERS.items():
        if recognizes(head):
            return name
    for beginning, kind in _MAGIC.items():
        if magic.startswith(beginning):
            return kind
    for called, endings in _CALLED.items():
        if path.suffix in endings:
            raise InputError(f"{path.name} is not {called} file, although it is called one")
    if magic[:4] == b"PK\x03\x04":
        if is_workbook(path):
            return "xlsx"
        raise InputError(
            f"{path.name} is a zip archive: name it alone, or unpack it; or a spreadsheet: save it as .xlsx or CSV"
        )
    if magic == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise InputError(
            f"{path.name} is a spreadsheet in the old .xls format: save it as .xlsx or CSV"
        )
    head = head_of(path)
    if head.startswith(b"SQLite format 3\0"):
        return "sqlite"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if _JSON_HEAD.match(head):
        return "json"
    if _NETFLIX_HEAD.match(head) or is_tar(head):
        return "netflix"
    if not head.strip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"):
        raise InputError(f"{path.name} is empty")
    return "text"


def _in_folder(folder: Path, name: str) -> FoundSource:
    """The dataset in a folder: saved by us, Parquet, Netflix Prize or MovieLens."""
    if is_saved(folder):
        return FoundSource("saved", (folder,), name)
    # their Parquet files hold deleted rows, too
    if (folder / "_delta_log").is_dir():
        return FoundSource("delta", (folder,), name)
    if any((folder / "metadata").glob("*.metadata.json")):
        return FoundSource("iceberg", (folder,), name)
    data = sorted(p for p in folder.rglob("*") if _is_data(p, folder))
    if parquet := [p for p in data if p.suffix in _PARQUET_ENDINGS]:
        return FoundSource("parquet", tuple(parquet), name)
    inside = sorted(folder.iterdir())
    if netflix := [p for p in inside if _NETFLIX_NAME.fullmatch(p.name)]:
        return FoundSource("netflix", tuple(netflix), name)
    movielens = [p for p in inside if _MOVIELENS_NAME.fullmatch(p.name)]
    if len(movielens) == 1:
        return _together(movielens, name)
    if files := [p for p in data if _TEXT_NAME.fullmatch(p.name)]:
        return _together(files, name)
    raise InputError(
        f"folder {name} holds no data that can be read: no Parquet, CSV or JSON files, no saved dataset, no Netflix "
        "Prize or MovieLens ratings. Name one file"
    )


def _in_glob(matches: list[Path], where: Path, name: str) -> FoundSource:
    if not matches:
        raise InputError(f"no such file or folder: {where}")
    if len(matches) == 1:
        return _at(matches[0])
    return _together([p for p in matches if p.is_file()], name)


def _in_list(paths: Sequence[str | Path]) -> FoundSource:
    """Files that were named one by one."""
    if not paths or not all(isinstance(p, (str, Path)) for p in paths):
        raise ParameterError("path: the list is empty or holds something that is not a path")
    if len(paths) == 1:
        return find_source(paths[0])
    missing = [str(p) for p in paths if not Path(p).is_file()]
    if missing:
        raise InputError(f"no such file: {missing[0]}")
    try:
        return _together(
            [Path(p) for p in paths], f"{Path(paths[0]).name} and {len(paths) - 1:,} more"
        )
    except OSError as error:
        raise InputError(
            f"cannot read the files: {error.strerror or type(error).__name__}"
        ) from None


def _together(files: list[Path], name: str) -> FoundSource:
    """Several files of one kind; their reader checks whether they are one table."""
    if len(files) == 1:
        return FoundSource(
            _file_kind(files[0]),
            (files[0],),
            f"{name}/{files[0].name}" if name != files[0].name else name,
        )
    kinds = {path: _file_kind(path) for path in files}
    if len(set(kinds.values())) > 1 or next(iter(kinds.values())) not in _MANY:
        listed = ", ".join(f"{p.name} ({kind})" for p, kind in list(kinds.items())[:20])
        raise InputError(
            f"{name} holds {len(files):,} files that are not one table: {listed}. Name one file"
        )
    return FoundSource(kinds[files[0]], tuple(files), name)


def _is_data(path: Path, folder: Path) -> bool:
    """Whether a file below the folder is data: Spark and others prefix metadata files with _ or a dot."""
    return path.is_file() and not any(
        part.startswith(("_", ".")) for part in path.relative_to(folder).parts
    )
