"""The plain text of a file: unpacked, with a limit on how much larger than the file it may be, and decoded."""

from __future__ import annotations

import codecs
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Literal

import pyarrow as pa

from standout.data.reading.remote import local_name
from standout.data.scratch import private_file
from standout.errors import InputError, option

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

    def chunks(self, stream: IO[bytes] | Any, size: int = _CHUNK) -> Iterator[bytes]:
        """Pieces of an unpacked stream, counted."""
        while data := bytes(stream.read(size)):
            self.add(len(data))
            yield data

    def add(self, size: int) -> None:
        """Count bytes; raise `InputError` if they are too many."""
        self._seen += size
        if self._seen > self._most:
            raise InputError(
                f"{self._name} unpacks to more than {MOST_TIMES} times its size, which no table of people does: it may "
                "be made to fill the disk. If it is right, unpack it yourself and read the result"
            )


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
            to.writelines(UnpackLimit(path).chunks(stream))
    except pa.ArrowException:
        raise damaged(path, compression) from None
    except OSError as error:
        if error.errno is not None:  # the disk, not the archive
            raise InputError(f"cannot unpack {path.name}: {error.strerror}") from None
        raise damaged(path, compression) from None
    return plain


def is_zip_file(path: Path) -> bool:
    """Whether the path is a zip archive and not a workbook, which is one, too."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04" and not is_workbook(path)


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
                    file.writelines(limit.chunks(stream))
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


_ENOUGH = 1 << 16
"""Bytes of lines with special characters that are examined."""
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN = ("cp1252", "latin-1")
_FOREIGN = (
    "cp932",
    "euc_jp",
    "gb18030",
    "big5",
    "cp949",
    "cp1251",
    "koi8_r",
    "cp1253",
    "cp1255",
    "cp1256",
    "cp874",
    "cp1252",
)
_WEST = "äöüß àâæçéèêëîïôœùûüÿ áéíóúñü ãõáâàçéêíóôúü åäöé æøåéö àèéìíòóùú ïçàáéèíóòúü ðþæöáéíóúý"
_EAST = "ąćęłńóśźż áčďéěíňóřšťúůýž áäčďéíĺľňóôŕšťúýž áéíóöőúüű čćđšž ăâîşţ čšž"
_LATIN = {
    "cp1252": _WEST,
    "cp1250": _EAST,
    "cp1254": "çğıi̇öşüâîû",
    "cp1257": "ąčęėįšųūž āčēģīķļņšūž õäöüšž",
    "iso8859_2": _EAST,
    "cp850": _WEST,
    "mac_roman": _WEST,
}
"""Code pages and the special letters of languages written in them, one word per language."""
_SIGNS = "„“”‘’«»–—…€£§°·¿¡ªº´`¨©®™×÷\u00a0\u0307"
_ONE_LANGUAGE = 0.9
"""Share of the letters that has to belong to one language."""
_TELLING = 24
"""Bytes above 127 from which on a statistical guess is better than the most common encoding."""


def encoding_of(head: bytes) -> str:
    """Encoding of a text with this beginning; "utf-8" also for pure ASCII."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if head[1:200:2].count(0) > len(head[1:200:2]) * 0.6:
        return "utf-16-le"
    if head[:200:2].count(0) > len(head[:200:2]) * 0.6:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _guessed(head)
    return "utf-8"


def encoding_of_file(path: Path) -> str:
    """Encoding of a file that is not UTF-8, by its lines with special characters, wherever they are."""
    seen = b""
    with path.open("rb") as file:
        for line in file:
            if not line.isascii():
                seen += line
                if len(seen) > _ENOUGH:
                    break
    return _guessed(seen)


def as_utf8(path: Path, to: Path, encoding: str, name: str) -> Path:
    """Copy of the text in UTF-8; refuses bytes that are not in the encoding."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        with path.open("rb") as source, to.open("wb") as target:
            while chunk := source.read(_CHUNK):
                target.write(decoder.decode(chunk).encode("utf-8"))
            target.write(decoder.decode(b"", final=True).encode("utf-8"))
    except UnicodeError:
        raise InputError(
            f"{name} is not in the encoding {encoding}: name the right one with {option('encoding')}"
        ) from None
    return to


def decoded(head: bytes, encoding: str) -> str:
    """Text of the head, which may end inside a character."""
    return codecs.getincrementaldecoder("utf-8-sig" if encoding == "utf-8" else encoding)(
        "replace"
    ).decode(head)


def _guessed(text: bytes) -> str:
    """Encoding of bytes that are not UTF-8."""
    special = bytes(b for b in text if b > 127)
    if len(special) >= _TELLING:
        latin = _latin(special)
        if latin is not None:
            return latin
        from charset_normalizer import from_bytes

        lines = b"".join(line for line in text.splitlines(keepends=True) if not line.isascii())
        best = from_bytes(lines, cp_isolation=list(_FOREIGN)).best()
        if best is not None:
            return str(best.encoding)
    # too few bytes to decide: Windows in Western Europe is the most common origin
    for name in _WESTERN:
        try:
            codecs.getincrementaldecoder(name)().decode(text)
            return name
        except UnicodeDecodeError:
            continue
    return "latin-1"


def _latin(special: bytes) -> str | None:
    """Latin code page in which nearly all letters belong to the alphabet of one language; None if there is none."""
    best, name = _ONE_LANGUAGE, None
    for encoding, alphabets in _LATIN.items():
        letters = [
            c for c in special.decode(encoding, "replace").lower() if c.isalpha() or c not in _SIGNS
        ]
        for alphabet in alphabets.split():
            share = sum(c in alphabet for c in letters) / max(len(letters), 1)
            if share > best:  # the first of equals: the more common encoding
                best, name = share, encoding
    return name
