"""Encodings of text files: detected from content; then the text is rewritten as UTF-8."""

from __future__ import annotations

import codecs
from pathlib import Path

from standout.errors import InputError, option

_CHUNK = 1 << 22
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
