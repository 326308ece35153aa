"""`njit` of Numba with the package's own cache of compiled functions. All compiled functions of the package are made here.

A function is compiled at its first call and kept in Numba's cache. A wheel made by `make
compiled-wheel` brings the functions of an audit compiled (`_compiled`, filled by
`docs/scripts/compiled_wheel.py`), so that the first run in a new container starts at once. They are
used where Numba's version, the source and the processor fit; everywhere else Numba compiles.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.core.compiler import CompileResult

SHIPPED = Path(__file__).parent / "_compiled"
COMPILE_TO = "STANDOUT_COMPILE_TO"
"""Environment variable: folder that compiled functions are written to as well, when a wheel is built."""
CPU_NAME = "x86-64-v3"
CPU_FEATURES = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")
"""What the shipped functions are compiled for: all x86-64 processors since about 2013."""

_ROOT = Path(__file__).parent.parent
_IMPORT = re.compile(r"^from (standout[.\w]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NOTE = (
    "standout: no folder for compiled functions is writable, so each run compiles them again (about a minute): "
    "set NUMBA_CACHE_DIR to a folder that you may write"
)


def njit(**options: Any) -> Callable[[Any], Any]:
    """Decorator: compile a function with Numba's `njit`; `cache=True` keeps it."""
    kept = options.pop("cache", False)

    def decorate(function: Any) -> Any:
        made = numba.njit(**options)(function)
        if kept and hasattr(made, "_cache"):  # not if Numba is told to compile nothing
            made._cache = KernelCache(function)
        return made

    return decorate


class KernelCache(caching.NullCache):  # type: ignore[misc]
    """Numba's cache of one function where a folder is writable, and the functions that the wheel brings."""

    def __init__(self, function: Any) -> None:
        self._function = function
        try:
            self._own = caching.FunctionCache(function)
            # Numba compares with the function's own file only, and would run old code of a function
            # that it calls
            self._own._cache_file._source_stamp = _sources(function.__code__.co_filename)
        except RuntimeError:  # no folder is writable
            self._own = None
            if not _can_load():
                _say_once()

    @property
    def cache_path(self) -> Any:
        """Folder of Numba's cache; None if there is none."""
        return self._own.cache_path if self._own else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The function compiled for these types; None if it must be compiled."""
        found = self._own.load_overload(sig, target_context) if self._own else None
        if found is None and _can_load():
            data = self._file(SHIPPED).load(self._key(sig))
            found = None if data is None else CompileResult._rebuild(target_context, *data)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a function that was just compiled."""
        if self._own:
            self._own.save_overload(sig, data)
        if folder := os.environ.get(COMPILE_TO):
            (Path(folder) / self._function.__module__).mkdir(parents=True, exist_ok=True)
            self._file(Path(folder)).save(self._key(sig), data._reduce())

    def _file(self, folder: Path) -> Any:
        place = folder / self._function.__module__
        code = self._function.__code__
        name = f"{self._function.__qualname__}-{code.co_firstlineno}.py{sys.version_info[0]}{sys.version_info[1]}"
        return caching.IndexDataCacheFile(
            str(place), name.replace("<", "").replace(">", ""), _sources(code.co_filename)
        )

    def _key(self, sig: Any) -> Any:
        cells = [cell.cell_contents for cell in self._function.__closure__ or ()]
        return sig, CPU_NAME, repr(cells)


@lru_cache(1)
def _can_load() -> bool:
    """Whether the wheel brings compiled functions that this processor can run."""
    if not SHIPPED.is_dir() or sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    from llvmlite import binding

    has = binding.get_host_cpu_features()
    return all(has.get(name, False) for name in CPU_FEATURES)


@lru_cache(None)
def _sources(file: str) -> str:
    """Digest of a source file and of all that it imports from the package: a compiled function contains those that it calls."""
    wanted, waiting = set(), [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in wanted:
            wanted.add(path)
            waiting += _imported(path)
    # names, not places: a wheel is compiled in one folder and installed in another
    return sha256(
        "\0".join(path.name + "\0" + _text(path) for path in sorted(wanted)).encode()
    ).hexdigest()


@lru_cache(None)
def _imported(path: Path) -> tuple[Path, ...]:
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
