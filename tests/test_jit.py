"""Compiled functions: kept between runs, never stale, brought by a wheel, and optional where nothing is writable."""

from __future__ import annotations

import os
import shutil
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
    hidden = {
        **os.environ,
        "HOME": "/proc/x",
        "XDG_CACHE_HOME": "/proc/x",
        "NUMBA_CACHE_DIR": "/proc/x",
    }
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**hidden, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
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


def test_a_change_of_any_source_that_a_function_may_contain_compiles_it_again(
    elsewhere, monkeypatch
):
    assert compiled_again()
    monkeypatch.setattr(jit, "_sources", lambda file: "other sources")
    assert compiled_again(), "the machine code of an older version would run"
    assert not compiled_again()


@pytest.mark.parametrize(
    ("kernel", "changed", "same"),
    [
        ("cpu.py", "scoring/cpu.py", False),
        ("cpu.py", "scoring/fill.py", False),
        ("cpu.py", "scoring/plan.py", False),
        ("exact.py", "formulas/likelihood.py", False),
        ("cpu.py", "report/page.py", True),
        ("cpu.py", "cli/audit.py", True),
    ],
)
def test_the_digest_changes_with_every_source_that_a_kernel_may_contain_and_with_no_other(
    tmp_path, monkeypatch, kernel, changed, same
):
    root = Path(standout.__file__).parent
    shutil.copytree(root, tmp_path / "standout", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(jit, "_ROOT", tmp_path)

    def digest() -> str:
        for kept in (jit._sources, jit._imported, jit._text):
            kept.cache_clear()
        return jit._sources(str(tmp_path / "standout" / "scoring" / kernel))

    before = digest()
    with (tmp_path / "standout" / changed).open("a") as file:
        file.write("# changed\n")
    assert (digest() == before) is same


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
    monkeypatch.setattr(jit, "_sources", lambda file: "other sources")
    assert compiled_again()
