"""Where compiled functions are kept between runs; without a writable folder the program works, and compiles every time."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_NOTE = (
    "standout: no folder for compiled functions is writable, so each run compiles them again (about a minute): "
    "set NUMBA_CACHE_DIR to a folder that you may write"
)


def allow_no_cache() -> None:
    """Let Numba work without a cache where it would refuse to start, and say so once on stderr."""
    wanted = os.environ.get("NUMBA_CACHE_DIR")
    if sys.platform == "win32" or (wanted and _can_write(Path(wanted))):
        return
    # one folder to try before the dozens of the package
    if _can_write(_user_folder()) or all(_can_write(folder / "__pycache__") for folder in _package_folders()):
        return
    from numba.core.dispatcher import Dispatcher

    def without_cache(self: object) -> None:
        """Compile in every process: there is no place to keep the result."""

    Dispatcher.enable_caching = without_cache  # type: ignore[method-assign]
    print(_NOTE, file=sys.stderr)


def _package_folders() -> Iterator[Path]:
    root = Path(__file__).parent
    yield root
    yield from (Path(path) for path, _, files in os.walk(root) if any(name.endswith(".py") for name in files))


def _user_folder() -> Path:
    """Numba's folder for this user."""
    home = os.path.expanduser("~")  # noqa: PTH111 (Path.home raises where there is no home)
    if sys.platform == "darwin":
        return Path(home, "Library", "Caches", "numba")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path(home, ".cache"), "numba")


def _can_write(folder: Path) -> bool:
    """Whether the folder can be made, where it does not exist, and written; nothing is left behind."""
    try:
        there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
        if not os.access(there, os.W_OK | os.X_OK):
            return False
        if os.geteuid() == 0:  # the administrator has every permission, and a folder may still refuse
            trial = there / f".standout-{os.getpid()}"
            os.close(os.open(trial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            trial.unlink()
    except OSError:
        return False
    return True
