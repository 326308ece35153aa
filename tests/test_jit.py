"""Compiled functions: kept between runs, never stale, brought by a wheel, and optional where nothing is writable."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path
from time import sleep

import pytest
from numba.core import caching, config
from rich.console import Console

import standout
from standout import jit
from standout.cli import first_run

RUN = """
import os
os.access = lambda folder, mode: False
import standout as so
print(so.Dataset.from_arrays([1, 2], [3, 4]).n_entries)
"""


@pytest.mark.integration
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
    monkeypatch.setattr(jit, "_source_digest", lambda file: "other sources")
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
        for kept in (jit._source_digest, jit._imported_files, jit._text):
            kept.cache_clear()
        return jit._source_digest(str(tmp_path / "standout" / "scoring" / kernel))

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
    monkeypatch.setattr(jit, "_source_digest", lambda file: "other sources")
    assert compiled_again()


def users_folder(monkeypatch, base):
    """The folder of compiled functions in the user's cache folder."""
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(base))
    return base / "standout" / "kernels"


def test_compiled_functions_are_shared_by_checkouts_and_closed_to_others(tmp_path, monkeypatch):
    kernels = users_folder(monkeypatch, tmp_path)
    assert compiled_again()
    assert kernels.stat().st_mode & 0o077 == 0
    assert [x.parent.parent for x in kernels.rglob("double-*.nbc")] == [kernels]
    assert not compiled_again()


@pytest.mark.parametrize("planted", ["open", "link"])
def test_a_folder_that_others_could_have_filled_is_not_loaded_from(tmp_path, monkeypatch, planted):
    kernels = users_folder(monkeypatch, tmp_path)
    kernels.parent.mkdir(mode=0o700)
    if planted == "open":
        kernels.mkdir()
        kernels.chmod(0o777)
    else:
        (tmp_path / "planted").mkdir(mode=0o700)
        kernels.symlink_to(tmp_path / "planted")
    assert kernels not in list(jit._roots())


def test_the_first_audit_has_a_process_that_compiles_beside_it_and_ends_with_it(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("standout.data.assemble.cores", lambda: 2)
    said = StringIO()
    log = Console(file=said, width=200)
    with first_run.CompilingBeside(log) as beside:
        assert said.getvalue().startswith("first audit on this machine: compiling")
        process = beside.process
        assert process is not None and process.poll() is None
    assert process.poll() is not None
    (folder,) = tmp_path.glob(f"{first_run.LAST}-*")
    (folder / "compiled.nbc").touch()
    with first_run.CompilingBeside(log) as beside:
        assert beside.process is None
    assert said.getvalue().count("\n") == 1


def test_the_process_beside_the_first_audit_imports_nothing_from_the_folder_it_runs_in(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr("standout.data.assemble.cores", lambda: 2)
    (tmp_path / "numpy.py").write_text("open('planted', 'w').close(); raise SystemExit")
    monkeypatch.chdir(tmp_path)
    with first_run.CompilingBeside(Console(quiet=True)) as beside:
        assert beside.process is not None
        # until it has compiled something, or has ended
        while beside.process.poll() is None and not list(tmp_path.rglob("*.nbc")):
            sleep(0.05)
        assert beside.process.poll() is None
    assert not (tmp_path / "planted").exists()


def test_the_process_beside_the_first_audit_compiles_what_an_audit_calls_last():
    first_run.compile_attacks()
    assert not jit.is_new(first_run.LAST)


def test_folders_that_were_not_used_for_longest_are_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    for k in range(jit.KEPT_VERSIONS):
        os.utime(jit._folder("a.module", f"{k}"), (k, k))
    os.utime(jit._folder("another", "0"), (0, 0))
    jit._folder("a.module", "new")
    kept = {x.name for x in tmp_path.iterdir()}
    assert kept == {"another-0", "a.module-new", *(f"a.module-{k}" for k in range(1, 8))}


def test_two_processes_that_compile_at_the_same_time_do_not_mix_their_functions(
    elsewhere, monkeypatch
):
    with monkeypatch.context() as patch:  # neither sees what the other saved
        patch.setattr(caching.IndexDataCacheFile, "_load_index", lambda self: {})
        for number in (4, 4.5):
            assert jit.njit(cache=True)(double)(number) == 2 * number
    made = jit.njit(cache=True)(double)
    assert (made(4), made(4.5)) == (8, 9.0)
    assert sum(made.stats.cache_hits.values()) == 2


def test_functions_that_different_processes_compile_have_different_names():
    """Kept functions of several processes are loaded into one: equal names would be taken for one function."""
    code = "import standout.jit; from numba.core.bytecode import FunctionIdentity as f; print(next(f._unique_ids))"
    source = str(Path(standout.__file__).parents[1])
    first = {
        int(
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": source},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for _ in range(2)
    }
    assert len(first) == 2 and min(first) > 10**6
