"""Data on other machines: which reader a URL needs, and what messages and findings may say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from standout.errors import InputError

RemoteKind = Literal["postgresql", "objects", "web"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_READERS: dict[str, RemoteKind] = {
    "postgresql": "postgresql",
    "postgres": "postgresql",
    "s3": "objects",
    "s3a": "objects",
    "gs": "objects",
    "gcs": "objects",
    "http": "web",
    "https": "web",
}
_WITH_SECRETS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://\S*")


@dataclass(frozen=True, repr=False)
class Remote:
    """A URL, which may hold credentials: its `repr` and `name` do not."""

    kind: RemoteKind
    url: str
    name: str
    """Name for messages: without user, password, host and parameters."""

    def __repr__(self) -> str:
        return f"Remote({self.kind!r}, {self.name!r})"


def remote_of(path: Any) -> Remote | None:
    """The URL that the path is, or None for a path on this machine.

    >>> remote_of("postgresql://ann:secret@host:5432/shop?sslpassword=x")
    Remote('postgresql', 'shop')
    >>> remote_of("ratings.csv") is None
    True
    """
    scheme = _SCHEME.match(path) if isinstance(path, str) else None
    if scheme is None:
        return None
    kind = _READERS.get(scheme[1].lower())
    if kind is None:
        raise InputError(
            f"there is no reader for {scheme[1][:20]}:// addresses: use postgresql://, s3://, gs://, https:// or the path "
            "of a file"
        )
    return Remote(kind, path, public_name(path))


def public_name(url: str) -> str:
    """What may be said of a URL: the last part of its path.

    >>> public_name("https://me:pw@host/folder/ratings.parquet?signature=x#y")
    'ratings.parquet'
    >>> public_name("s3://key:secret@bucket/ratings/")
    'ratings'
    """
    parts = _split(url)
    if parts is None:
        return "the address"
    scheme, host, path = parts
    last = unquote(path).rstrip("/").rpartition("/")[2]
    # the host of an object store is a bucket; that of a database is nobody's business
    return last or (host if _READERS.get(scheme) == "objects" else "the address")


def without_secrets(text: str) -> str:
    """The text with each URL replaced by its public form.

    >>> without_secrets("--out=s3://key:secret@bucket/x")
    '--out=s3://…/x'
    """
    return _WITH_SECRETS.sub(
        lambda found: f"{found[0].partition('://')[0]}://…/{public_name(found[0])}", text
    )


def missing_reader(what: str, package: str) -> InputError:
    """Error for a reader that is not installed."""
    return InputError(
        f"reading {what} needs {package}, which is not installed: pip install {package}"
    )


def _split(url: str) -> tuple[str, str, str] | None:
    """Scheme, host without user and port, and path; None where the URL is malformed."""
    try:
        parts = urlsplit(url)
        return parts.scheme.lower(), (parts.hostname or ""), parts.path
    except ValueError:
        return None


def local_name(key: str, number: int, taken: set[str]) -> str:
    """Name for a local copy of a remote file: the end of its key, which cannot leave the folder.

    >>> local_name("a/../x.csv", 3, {"x.csv"})
    '3-x.csv'
    """
    name = Path(key.replace("\0", "")).name
    if name in ("", ".", ".."):
        name = "file"
    name = name.encode()[-150:].decode("utf-8", "ignore")
    name = f"{number}-{name}" if name in taken else name
    taken.add(name)
    return name
