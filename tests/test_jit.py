"""Compiled functions: kept between runs, never stale, brought by a wheel, and optional where nothing is writable."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

import standout
from standout import jit

RUN = """
from numba.core import caching
def refused(self):
    raise OSError(30, "Read-only file system")
caching._CacheLocator.ensure_cache_path = refused
import standout as so
print(so.Dataset.from_arrays([1, 2], [3, 4]).n_entries)
"""


def test_it_runs_where_no_folder_is_writable_and_says_once_that_it_compiles_every_time():
    source = Path(standout.__file__).parents[1]
    hidden = {**os.environ, "HOME": "/proc/x", "XDG_CACHE_HOME": "/proc/x", "NUMBA_CACHE_DIR": "/proc/x"}
    done = subprocess.run(
        [sys.executable, "-c", RUN], env={**hidden, "PYTHONPATH": str(source)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-500:]
    assert done.stdout.strip() == "2"
    assert done.stderr.count("no folder for compiled functions is writable") == 1


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Caches in folders of their own; nothing is shipped."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "first"))
    monkeypatch.setattr(jit, "SHIPPED", tmp_path / "shipped")
    monkeypatch.setattr(jit, "_can_load", lambda: (tmp_path / "shipped").is_dir())
    return tmp_path


def double(x):
    return 2 * x


def compiled_again() -> bool:
    """Whether a new process, so to say, compiles `double`."""
    made = jit.njit(cache=True)(double)
    assert made(4) == 8
    return sum(made.stats.cache_misses.values()) > 0


def test_a_function_is_compiled_once(elsewhere):
    assert compiled_again()
    assert not compiled_again()


def test_a_change_of_any_source_that_a_function_may_contain_compiles_it_again(elsewhere, monkeypatch):
    assert compiled_again()
    monkeypatch.setattr(jit, "_sources", lambda: "other sources")
    assert compiled_again(), "the machine code of an older version would run"
    assert not compiled_again()


def test_the_digest_of_the_sources_covers_what_compiled_functions_import():
    root = Path(standout.__file__).parent
    texts = {path: path.read_text() for path in root.rglob("*.py")}
    kernels = [path for path, text in texts.items() if "from standout.jit import njit" in text]
    assert len(kernels) > 20
    assert jit._sources.__wrapped__() == jit._sources()


def test_functions_that_a_wheel_brings_are_not_compiled(elsewhere, monkeypatch):
    shipped = elsewhere / "shipped"
    monkeypatch.setenv(jit.COMPILE_TO, str(shipped))
    assert compiled_again()
    monkeypatch.delenv(jit.COMPILE_TO)
    monkeypatch.setattr(config, "CACHE_DIR", str(elsewhere / "second"))
    assert not compiled_again()


def test_shipped_functions_of_other_sources_are_not_used(elsewhere, monkeypatch):
    monkeypatch.setenv(jit.COMPILE_TO, str(elsewhere / "shipped"))
    assert compiled_again()
    monkeypatch.delenv(jit.COMPILE_TO)
    monkeypatch.setattr(config, "CACHE_DIR", str(elsewhere / "second"))
    monkeypatch.setattr(jit, "_sources", lambda: "other sources")
    assert compiled_again()
