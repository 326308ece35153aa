"""Files that an earlier run of this user wrote and nobody else: each carries a MAC, whose key lies in the user's state folder.

A folder beside the data may come with the data, from anybody: an archive, a shared disk, a
repository. Nothing in it is believed unless the MAC is right, and the MAC covers what the file is
about, so that no file can take the place of another.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import stat
import sys
import warnings
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from standout.data.plain import from_text, to_text
from standout.data.whole_file import NO_LINK, whole_file
from standout.errors import ParameterError

LARGEST = 256 * 2**20
"""Bytes of a file that is read."""

_VERSION = 3
_MAGIC = b"standout-kept-1 "
_KEY_BYTES = 32
_NO_KEY = (
    "no key can be kept in the state folder of this user (XDG_STATE_HOME, or .local/state in the home folder): a run that is "
    "stopped starts from the beginning"
)


class Kept:
    """Files of one kind in a private folder.

    Parameters
    ----------
    folder
        Folder of the files, made when the first is written. One that another user made, that others
        may read, or that is a link is not used.
    kind
        Beginning of the names of the files.
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self._refused: set[str] = set()

    def __len__(self) -> int:
        return sum(1 for _ in self.folder.glob(f"{self.kind}-*"))

    def find(self, key: str) -> tuple[Any] | None:
        """What was kept under the key, in a tuple; None if nothing was, or if this user did not write it."""
        path = self._path(key)
        secret = self._secret() if os.path.lexists(path) else None
        if secret is None:
            return None
        with suppress(OSError, ValueError):
            head, _, body = read_own(path, LARGEST).partition(b"\n")
            if hmac.compare_digest(head, _MAGIC + self._mac(secret, key, body)):
                return (from_text(body),)
        if key not in self._refused:
            self._refused.add(key)
            _warn(
                f"a file in {self.folder.name!r} is not used: it is damaged, or this user did not write it on this system"
            )
        return None

    def keep(self, key: str, data: Any) -> bool:
        """Write plain data and arrays of numbers to a file; whether it was written. A full disk is no error."""
        body = to_text(data).encode()
        if len(body) > LARGEST - 1000:
            return False
        with suppress(OSError):
            if not os.path.lexists(self.folder):
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            secret = self._secret()
            if secret is not None:
                with whole_file(self._path(key), private=True) as draft:
                    draft.write_bytes(_MAGIC + self._mac(secret, key, body) + b"\n" + body)
                return True
        return False

    def _secret(self) -> bytes | None:
        """Key of this user, if the folder may be used."""
        problem = why_not_private(self.folder)
        if problem is not None:
            _warn(
                f"the folder {self.folder.name!r} is not used, and nothing is kept for a later run: {problem}"
            )
            return None
        key = user_key()
        if key is None:
            _warn(_NO_KEY)
        return key

    def _mac(self, secret: bytes, key: str, body: bytes) -> bytes:
        about = f"{self.kind}\n{key}\n".encode()
        return hmac.digest(secret, _MAGIC + about + body, "sha256").hex().encode()

    def _path(self, key: str) -> Path:
        return self.folder / f"{self.kind}-{key[:40]}"


def key_of(about: Any) -> str:
    """Key of what is kept: a hash of everything that it depends on, as plain data."""
    return sha256(json.dumps([_VERSION, about], sort_keys=True, default=str).encode()).hexdigest()


def why_not_private(folder: Path) -> str | None:
    """Why a folder is not one that this user made for itself alone; None if it is."""
    try:
        about = folder.lstat()
    except OSError as error:
        return error.strerror or "it cannot be read"
    if stat.S_ISLNK(about.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(about.st_mode):
        return "it is not a folder"
    if sys.platform == "win32":
        return None
    if about.st_uid != os.geteuid():
        return "it belongs to another user"
    return "other users may read or change it (chmod 700)" if about.st_mode & 0o077 else None


def work_folder(work: str | Path | None) -> Path | None:
    """The folder for finished work, made if there is none; None if there is none that this user alone can use."""
    if work is None:
        return None
    folder = Path(work)
    try:
        if not os.path.lexists(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(
            f"work={folder.name!r} cannot be written to: {error.strerror}"
        ) from None
    problem = why_not_private(folder)
    if problem is not None:
        warnings.warn(
            f"work={folder.name!r} is not used, and nothing is kept for a later run: {problem}",
            stacklevel=3,
        )
    return folder if problem is None else None


def user_key() -> bytes | None:
    """Random key of this user, made on first use and readable by this user alone; None if there is no place for it."""
    try:
        folder = _state_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if why_not_private(folder) is not None:
            return None
        path = folder / "key"
        if not os.path.lexists(path):
            _make_key(path)
        key = read_own(path, _KEY_BYTES, private=True)
    except (OSError, RuntimeError):  # there is no home folder
        return None
    return key if len(key) == _KEY_BYTES else None


def _state_folder() -> Path:
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "state") / "standout"


def _make_key(path: Path) -> None:
    """Write a new key, unless another process is faster: a link is made as a whole or not at all."""
    with suppress(FileExistsError), whole_file(path, private=True) as draft:
        draft.write_bytes(secrets.token_bytes(_KEY_BYTES))
        os.link(draft, path)


def read_own(path: Path, most: int, *, private: bool = False) -> bytes:
    """Content of a file of this user; links, devices, pipes, files of others and files that are too large are refused.

    Raises
    ------
    OSError
        If it is not such a file.
    """
    handle = os.open(path, os.O_RDONLY | NO_LINK)
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(file.fileno())
        fits = stat.S_ISREG(about.st_mode) and about.st_size <= most
        if sys.platform != "win32":
            fits = fits and about.st_uid == os.geteuid() and not (private and about.st_mode & 0o077)
        if not fits:
            raise OSError("not a file of this user")
        return file.read(most + 1)[: most + 1]


def stamp(path: Path) -> list[Any]:
    """Name, file number, size and times of a file: they change when it is replaced or written, and nobody can set all of them.

    Raises
    ------
    OSError
        If it is not a file of this user, or a link.
    """
    about = path.lstat()
    if not stat.S_ISREG(about.st_mode) or (
        sys.platform != "win32" and about.st_uid != os.geteuid()
    ):
        raise OSError("not a file of this user")
    return [path.name, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns]


def _warn(text: str) -> None:
    warnings.warn(text, stacklevel=4)
