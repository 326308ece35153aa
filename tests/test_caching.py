"""The program starts where no folder is writable: it compiles again, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import standout
from standout import caching

RUN = """
import os
from numba.core import caching
def refused(self):
    raise OSError(30, "Read-only file system")
caching._CacheLocator.ensure_cache_path = refused

access = os.access
os.access = lambda path, *rest: "standout" not in str(path) and access(path, *rest)
import standout as so
print(so.Dataset.from_arrays([1, 2], [3, 4]).n_entries)
"""


def test_it_runs_where_neither_home_nor_the_package_folder_is_writable():
    source = Path(standout.__file__).parents[1]
    hidden = {**os.environ, "HOME": "/proc/x", "XDG_CACHE_HOME": "/proc/x", "NUMBA_CACHE_DIR": "/proc/x"}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env={**hidden, "PYTHONPATH": str(source)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == "2"
    assert done.stderr.count("no folder for compiled functions is writable") == 1


def test_a_folder_is_tried_and_left_as_it_was(tmp_path):
    assert caching._can_write(tmp_path / "a" / "b")
    assert not list(tmp_path.iterdir())
    assert not caching._can_write(Path("/proc/x/y"))
