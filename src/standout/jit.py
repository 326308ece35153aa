"""`njit` of Numba with the package's own cache of compiled functions: the decorator of every compiled function of the package.

A function is compiled at its first call and kept in a folder of the user, by the digest of all
sources that it may contain: a second checkout with the same kernels compiles nothing. Loading a
compiled function runs it, so the folder must be one that this user alone can open. A wheel made by `make
compiled-wheel` brings the functions of an audit compiled (`_compiled`, filled by
`docs/scripts/compiled_wheel.py`), so that the first run in a new container starts at once. They are
used where Numba's version, the source and the processor fit; everywhere else Numba compiles.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, config
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult

SHIPPED = Path(__file__).parent / "_compiled"
COMPILE_TO = "STANDOUT_COMPILE_TO"
"""Environment variable: folder that compiled functions are written to as well, when a wheel is built."""
CPU_NAME = "x86-64-v3"
CPU_FEATURES = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")
"""What the shipped functions are compiled for: all x86-64 processors since about 2013."""

KEPT_VERSIONS = 8
"""Folders of one module that are kept, the last used ones: versions, or branches that are worked on."""

_ROOT = Path(__file__).parent.parent
_IMPORT = re.compile(r"^from (standout[.\w]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NOTE = (
    "standout: no folder for compiled functions is writable, so each run compiles them again (about a minute): "
    "set NUMBA_CACHE_DIR to a folder that you may write"
)


# Numba names what it compiles by a number that each process counts from 1. Functions that several processes compiled are
# loaded into one, where equal names would be taken for one function: the inner loops of np.sort and np.argsort were, which
# sorted the array of the caller. Each process therefore counts from a number of its own.
FunctionIdentity._unique_ids = count(int.from_bytes(os.urandom(6), "big"))


def njit(**options: Any) -> Callable[[Any], Any]:
    """Decorator: compile a function with Numba's `njit`; `cache=True` keeps it."""
    kept = options.pop("cache", False)

    def decorate(function: Any) -> Any:
        made = numba.njit(**options)(function)
        if kept and hasattr(made, "_cache"):  # not if Numba is told to compile nothing
            made._cache = KernelCache(function)
        return made

    return decorate


def is_new(module: str) -> bool:
    """Whether no compiled function of this module of the package is there yet, and a folder to keep them in is."""
    file = _ROOT / f"{module.replace('.', '/')}.py"
    folder = _folder(module, _source_digest(str(file)))
    is_shipped = _can_load() and any((SHIPPED / module).glob("*.nbc"))
    return folder is not None and not is_shipped and not any(folder.glob("*.nbc"))


class KernelCache(caching.NullCache):  # type: ignore[misc]
    """Compiled versions of one function: in the first folder that can be used, and in the wheel.

    Each version has a file of its own. Numba's cache has one list for all versions of a function,
    which two processes that compile at the same time overwrite.
    """

    def __init__(self, function: Any) -> None:
        self._function = function
        self._digest = _source_digest(function.__code__.co_filename)
        self._folder = _folder(function.__module__, self._digest)
        if self._folder is None and not _can_load():
            _say_once()

    @property
    def cache_path(self) -> Any:
        """Folder of the compiled versions; None if there is none."""
        return self._folder

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function compiled for these types; None if it must be compiled."""
        target_context.refresh()
        data = None
        if self._folder:
            key = self._key(sig, target_context.codegen().magic_tuple())
            data = self._file(self._folder, key).load(key)
        if data is None and _can_load():
            key = self._key(sig, CPU_NAME)
            data = self._file(SHIPPED / self._function.__module__, key).load(key)
        return None if data is None else CompileResult._rebuild(target_context, *data)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a function that was just compiled, unless its code holds an address of this process."""
        if data.lifted or data.library.has_dynamic_globals:
            return
        if self._folder:
            key = self._key(sig, data.codegen.magic_tuple())
            with suppress(OSError):  # the disk is full, or another process removed the folder
                self._file(self._folder, key).save(key, data._reduce())
        if to := os.environ.get(COMPILE_TO):
            folder, key = Path(to) / self._function.__module__, self._key(sig, CPU_NAME)
            folder.mkdir(parents=True, exist_ok=True)
            self._file(folder, key).save(key, data._reduce())

    def _file(self, folder: Path, key: Any) -> Any:
        code, python = self._function.__code__, f"py{sys.version_info[0]}{sys.version_info[1]}"
        version = sha256(repr(key).encode()).hexdigest()[:16]
        name = f"{self._function.__qualname__}-{code.co_firstlineno}-{version}.{python}"
        return caching.IndexDataCacheFile(str(folder), re.sub("[<>]", "", name), self._digest)

    def _key(self, sig: Any, processor: Any) -> Any:
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        return sig, processor, repr(cells)


def _folder(module: str, digest: str) -> Path | None:
    """Folder of the compiled functions of a module, made where there is none; None if none is writable."""
    for root in _roots():
        folder = root / f"{module}-{digest[:32]}"
        with suppress(OSError):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _prune(root, module)
            if os.access(folder, os.W_OK):
                os.utime(folder)  # the last used ones are kept
                return folder
    return None


def _roots() -> Iterator[Path]:
    """Folders for compiled functions, best first; that of the user only if nobody else can open it."""
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR)
    with suppress(OSError, RuntimeError):  # there is no home folder
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = given if given.is_absolute() else Path.home() / ".cache"
        kernels = base / "standout" / "kernels"
        kernels.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kernels.mkdir(mode=0o700, exist_ok=True)
        about = kernels.lstat()
        is_private = sys.platform == "win32" or (
            about.st_uid == os.geteuid() and not about.st_mode & 0o077
        )
        if stat.S_ISDIR(about.st_mode) and is_private:
            yield kernels
    yield Path(__file__).parent / "__pycache__" / "kernels"


def _prune(root: Path, module: str) -> None:
    """Remove the folders of a module's versions that were not used for longest."""
    folders = sorted(root.glob(f"{module}-*"), key=lambda x: x.stat().st_mtime, reverse=True)
    for old in folders[KEPT_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)


@lru_cache(1)
def _can_load() -> bool:
    """Whether the wheel brings compiled functions that this processor can run."""
    if not SHIPPED.is_dir() or sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    return all(has.get(name, False) for name in CPU_FEATURES)


@lru_cache(None)
def _source_digest(file: str) -> str:
    """Digest of a source file and of all that it imports from the package: a compiled function contains those that it calls."""
    wanted, waiting = set(), [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in wanted:
            wanted.add(path)
            waiting += _imported_files(path)
    # names, not places: a wheel is compiled in one folder and installed in another
    content = "\0".join(path.name + "\0" + _text(path) for path in sorted(wanted))
    return sha256(content.encode()).hexdigest()


@lru_cache(None)
def _imported_files(path: Path) -> tuple[Path, ...]:
    """Files of the package that a file imports when it is loaded."""
    names = [(module, *re.findall(r"\w+", what)) for module, what in _IMPORT.findall(_text(path))]
    modules = [
        place
        for module, *inside in names
        for place in (module, *(f"{module}.{name}" for name in inside))
    ]
    files = (_ROOT / f"{module.replace('.', '/')}.py" for module in modules)
    return tuple(file for file in files if file.is_file())


@lru_cache(None)
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@lru_cache(1)
def _say_once() -> None:
    print(_NOTE, file=sys.stderr)
