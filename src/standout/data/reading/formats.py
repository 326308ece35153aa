"""What lies at a path, told by its content: the name of a file may say anything."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from standout.data.store import is_saved
from standout.errors import InputError

Kind = Literal["saved", "parquet", "arrow", "arrow-stream", "netflix", "text"]
Compression = Literal["gzip", "zstd"] | None

HEAD = 1 << 16
"""Bytes of a text file that are looked at."""

_NETFLIX_HEAD = re.compile(rb"\s*\d+:\s*\n\d+,\d,\d{4}-\d\d-\d\d\s*(\n|$)")
_NETFLIX_NAME = re.compile(r"(mv_\d+|combined_data_\d+)\.txt(\.gz|\.zst)?")
_MOVIELENS_NAME = re.compile(r"(ratings\.(csv|dat)|u\.data)(\.gz|\.zst)?")
_PARQUET_NAMES = ("*.parquet", "*.parq", "*.pq")


@dataclass(frozen=True)
class Found:
    """A source and how to read it."""

    kind: Kind
    paths: tuple[Path, ...]
    """One file, or the files of a folder in order; for a saved dataset its folder."""
    name: str
    """What messages call it."""


def find_source(path: str | Path) -> Found:
    """Say what lies at the path; raise when it is nothing that can be read."""
    where = Path(path)
    name = where.name or str(where)
    try:
        if where.is_dir():
            return _in_folder(where, name)
        if where.is_file():
            return Found(_file_kind(where), (where,), name)
        matches = sorted(Path(where.anchor).glob(str(where.relative_to(where.anchor))))
        return _in_glob(matches, where, name)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or type(error).__name__}") from None


def compression_of(path: Path) -> Compression:
    """How the file is compressed, by its first bytes."""
    with path.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"\x1f\x8b":
        return "gzip"
    return "zstd" if magic == b"\x28\xb5\x2f\xfd" else None


def head_of(path: Path) -> bytes:
    """First bytes of the text, unpacked."""
    compression = compression_of(path)
    if compression is None:
        with path.open("rb") as file:
            return file.read(HEAD)
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            return bytes(stream.read(HEAD))
    except (OSError, pa.ArrowException):
        raise damaged(path, compression) from None


def damaged(path: Path, compression: str) -> InputError:
    """Error for a compressed file that ends too early or is not what its first bytes say."""
    return InputError(f"{path.name}: the {compression} data is truncated or damaged: copy or download the file again")


def is_tar(head: bytes) -> bool:
    """Whether a file that begins like this, unpacked, is a tar archive."""
    return head[257:262] == b"ustar"


def _file_kind(path: Path) -> Kind:
    with path.open("rb") as file:
        magic = file.read(8)
    if not magic:
        raise InputError(f"{path.name} is empty")
    if magic[:4] == b"PAR1":
        return "parquet"
    if magic[:6] == b"ARROW1":
        return "arrow"
    if magic[:4] == b"\xff\xff\xff\xff":
        return "arrow-stream"
    if path.suffix in (".parquet", ".parq", ".pq"):
        raise InputError(f"{path.name} is not a Parquet file, although it is called one")
    if path.suffix in (".arrow", ".feather", ".ipc"):
        raise InputError(f"{path.name} is not an Arrow IPC file, although it is called one")
    if magic[:4] == b"PK\x03\x04":
        raise InputError(f"{path.name} is a zip archive or a spreadsheet: unpack it, or save it as CSV")
    head = head_of(path)
    if _NETFLIX_HEAD.match(head) or is_tar(head):
        return "netflix"
    if not head.strip(b"\xef\xbb\xbf\xff\xfe\x00 \t\r\n"):
        raise InputError(f"{path.name} is empty")
    return "text"


def _in_folder(folder: Path, name: str) -> Found:
    """The dataset in a folder: saved by us, Parquet, Netflix Prize or MovieLens."""
    if is_saved(folder):
        return Found("saved", (folder,), name)
    parquet = sorted(p for ending in _PARQUET_NAMES for p in folder.rglob(ending) if _is_data(p, folder))
    if parquet:
        return Found("parquet", tuple(parquet), name)
    netflix = sorted(p for p in folder.iterdir() if _NETFLIX_NAME.fullmatch(p.name))
    if netflix:
        return Found("netflix", tuple(netflix), name)
    movielens = sorted(p for p in folder.iterdir() if _MOVIELENS_NAME.fullmatch(p.name))
    if len(movielens) == 1:
        return Found(_file_kind(movielens[0]), (movielens[0],), f"{name}/{movielens[0].name}")
    raise InputError(
        f"folder {name} holds no data that can be read: no Parquet files, no saved dataset, no Netflix Prize or "
        "MovieLens ratings. Name one file"
    )


def _in_glob(matches: list[Path], where: Path, name: str) -> Found:
    if not matches:
        raise InputError(f"no such file or folder: {where}")
    if len(matches) == 1:
        return find_source(matches[0])
    kinds = {_file_kind(p) for p in matches if p.is_file()}
    if kinds == {"parquet"} or kinds == {"netflix"}:
        return Found(kinds.pop(), tuple(p for p in matches if p.is_file()), name)
    raise InputError(f"{name} matches {len(matches)} files that are not all Parquet: name one file")


def _is_data(path: Path, folder: Path) -> bool:
    """Whether a file below the folder is data: Spark and others keep notes in names with _ or . in front."""
    return path.is_file() and not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
