"""Files that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from standout.errors import InputError


def check_regular(path: str | Path) -> Path:
    """Refuse a pipe or a device, which may have no end; a path that does not exist is left to the caller, who opens it."""
    file = Path(path)
    if file.exists() and not file.is_file() and not file.is_dir():
        raise InputError(f"{str(path)!r} is a pipe or a device: save its content to a file first")
    return file


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Temporary file in the same folder that gets the name `path` if the block succeeds, and is removed if not."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        # mkstemp makes private files; this one gets the usual permissions
        umask = os.umask(0)
        os.umask(umask)
        draft.chmod(0o666 & ~umask)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
