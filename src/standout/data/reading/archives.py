"""Compressed files: unpacked copies, with a limit on how much larger than the file they may be."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa

from standout.data.reading.remote import local_name
from standout.data.scratch import private_file
from standout.errors import InputError

Compression = Literal["gzip", "zstd"] | None

HEAD = 1 << 16
"""Bytes of a text file that are examined."""
MOST_TIMES = 200
"""Largest ratio of the unpacked size to the size of the file. Text of ratings reaches 5 to 30."""
ALWAYS_ALLOWED = 100_000_000
"""Bytes that may be unpacked whatever the ratio."""
MOST_MEMBERS = 50_000
"""Files in a zip archive; the Netflix Prize has 17,770."""

_CHUNK = 1 << 22


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
    return InputError(
        f"{path.name}: the {compression} data is truncated or damaged: copy or download the file again"
    )


class UnpackLimit:
    """Counts what is unpacked from a file, and refuses more than it can reasonably hold."""

    def __init__(self, path: Path) -> None:
        self._name = path.name
        self._most = max(ALWAYS_ALLOWED, MOST_TIMES * path.stat().st_size)
        self._seen = 0

    def add(self, size: int) -> None:
        """Count bytes; raise `InputError` if they are too many."""
        self._seen += size
        if self._seen > self._most:
            raise InputError(
                f"{self._name} unpacks to more than {MOST_TIMES} times its size, which no table of people does: it may "
                "be made to fill the disk. If it is right, unpack it yourself and read the result"
            )


class LimitedStream:
    """A stream of unpacked bytes with a limit."""

    def __init__(self, stream: Any, limit: UnpackLimit) -> None:
        self._stream, self._limit = stream, limit

    def read(self, size: int = -1) -> bytes:
        """Read bytes, and count them."""
        data = bytes(self._stream.read(size))
        self._limit.add(len(data))
        return data


def unpacked(path: Path, folder: Path, number: int = 0) -> Path:
    """The file itself, or its unpacked copy: DuckDB would read a damaged archive as a shorter file."""
    compression = compression_of(path)
    if compression is None:
        return path
    plain = folder / f"plain-{number}.txt"
    try:
        with (
            pa.input_stream(str(path), compression=compression) as stream,
            private_file(plain) as to,
        ):
            _copy(LimitedStream(stream, UnpackLimit(path)), to)
    except pa.ArrowException:
        raise damaged(path, compression) from None
    except OSError as error:
        if error.errno is not None:  # the disk, not the archive
            raise InputError(f"cannot unpack {path.name}: {error.strerror}") from None
        raise damaged(path, compression) from None
    return plain


def is_zip(path: Path) -> bool:
    """Whether the file is a zip archive and not a workbook, which is one, too."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return False
    return not is_workbook(path)


def is_workbook(path: Path) -> bool:
    """Whether a zip archive is an xlsx workbook."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def check_workbook(path: Path) -> None:
    """Refuse a workbook that unpacks to far more than its size."""
    limit = UnpackLimit(path)
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            limit.add(member.file_size)


def unzipped(path: Path, folder: Path) -> Path:
    """Unpack a zip archive into the folder; give the only file in it, or the folder."""
    limit, taken = UnpackLimit(path), set[str]()
    try:
        with zipfile.ZipFile(path) as archive:
            members = _data_members(archive.infolist())
            if {"content.xml", "word/document.xml", "xl/workbook.bin"} & set(archive.namelist()):
                raise InputError(
                    f"{path.name} is a document or a spreadsheet other than .xlsx: save it as .xlsx or CSV"
                )
            if not members:
                raise InputError(f"{path.name} is a zip archive without files")
            if len(members) > MOST_MEMBERS:
                raise InputError(
                    f"{path.name} is a zip archive of {len(members):,} files: unpack it and name one"
                )
            for number, member in enumerate(members):
                if member.flag_bits & 1:
                    raise InputError(
                        f"{path.name} is an encrypted zip archive: unpack it with its password first"
                    )
                to = folder / local_name(member.filename, number, taken)
                with archive.open(member) as stream, private_file(to) as file:
                    _copy(LimitedStream(stream, limit), file)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        ValueError,
        RuntimeError,
    ):
        raise damaged(path, "zip") from None
    except OSError as error:
        raise InputError(
            f"cannot unpack {path.name}: {error.strerror or type(error).__name__}"
        ) from None
    return folder if len(members) > 1 else to


def _data_members(members: Iterable[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Files of an archive, without what macOS and others add."""
    return [
        m
        for m in members
        if not m.is_dir()
        and not m.filename.startswith("__MACOSX/")
        and not Path(m.filename).name.startswith(".")
    ]


def _copy(stream: LimitedStream, to: IO[bytes]) -> None:
    while chunk := stream.read(_CHUNK):
        to.write(chunk)
