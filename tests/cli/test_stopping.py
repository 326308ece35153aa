"""Ctrl-C, SIGTERM and SIGKILL, sent to real processes: one line, the right exit code, and no raw data left on disk."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from standout.data import scratch
from standout.data.scratch import scratch_folder, sweep

HUNG = 600
"""Seconds after which a process counts as hung; no test is faster or slower because of it."""
MAIN = "from standout.cli.start import main; main()"
QUERY = """
import sys
from standout.data.dataset import Dataset
from standout.data.reading.workspace import workspace
def read(path, **options):
    with workspace("x") as (con, folder):
        (folder / "labels").write_text("ALICE")
        print("ready", flush=True)
        {work}
Dataset.read = read
sys.argv = ["standout", "audit", "x.csv", "--out", "out"]
from standout.cli.app import main
main()
"""
WORK = {
    "duckdb": 'con.execute("SELECT count(*) FROM range(1000000000000) a WHERE a.range % 7 = 9")',
    "compiled": '__import__("hashlib").pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)',
    "threads": (
        "pool = __import__('concurrent.futures').futures.ThreadPoolExecutor(1); "
        "pool.submit(__import__('hashlib').pbkdf2_hmac, 'sha256', b'', b'', 2_000_000_000).result()"
    ),
}

STUBBORN = """exec('''
while True:
    try:
        print("in", flush=True)
        __import__("time").sleep(60)
    except KeyboardInterrupt:
        pass
''')"""
"""Does not stop at a signal."""


@contextmanager
def started(tmp_path, code, *arguments):
    """A process whose temporary files are below `tmp_path / "t"`."""
    (tmp_path / "t").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "TMPDIR": str(tmp_path / "t")},
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(condition, seconds=60):
    for _ in range(seconds * 20):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@contextmanager
def reading(tmp_path):
    """An audit that has copied names of people to a temporary file and waits for more."""
    with started(tmp_path, MAIN, "audit", "-", "--out", str(tmp_path / "out")) as process:
        process.stdin.write(b"user,item\n" + b"ALICE,tea\n" * 100_000)
        process.stdin.flush()
        until(lambda: any(p.stat().st_size > 100_000 for p in (tmp_path / "t").rglob("stdin")))
        yield process


def left(tmp_path):
    return sorted(p.name for p in tmp_path.iterdir() if p.name != "t"), list(
        (tmp_path / "t").iterdir()
    )


@pytest.mark.parametrize(
    "signum", [signal.SIGINT, signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.slow)]
)
def test_a_stopped_command_prints_one_line_and_leaves_no_labels_behind(tmp_path, signum):
    with reading(tmp_path) as process:
        process.send_signal(signum)
        _, said = process.communicate(timeout=HUNG)
        assert said.decode() == "standout: stopped; nothing was written\n"
        assert process.returncode == 128 + signum
    assert left(tmp_path) == ([], [])


@pytest.mark.parametrize(
    "work", ["duckdb", "compiled", pytest.param("threads", marks=pytest.mark.slow)]
)
def test_work_in_compiled_code_is_stopped_too(tmp_path, work):
    with started(tmp_path, QUERY.format(work=WORK[work])) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=HUNG)
        assert said.decode() in ("standout: stopped\n", "standout: stopped; nothing was written\n")
        assert process.returncode == 143
    assert left(tmp_path) == ([], [])


def test_a_second_signal_does_not_wait(tmp_path):
    patient = (
        "import standout.cli.stopping as s\ns.GRACE = 10**6\n"  # only a second signal can end it
    )
    with started(tmp_path, patient + QUERY.format(work=STUBBORN)) as process:
        assert [process.stdout.readline() for _ in range(2)] == [b"ready\n", b"in\n"]
        for _ in range(HUNG * 5):
            process.send_signal(signal.SIGINT)  # one that comes before the last was handled is lost
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
                break
        assert process.returncode == 130, process.stderr.read()
    assert left(tmp_path) == ([], [])


def test_ctrl_c_before_the_command_begins_prints_one_line(tmp_path):
    code = (
        "import sys, signal, os\nclass Finder:\n    def find_spec(self, name, *rest):\n"
        "        if name == 'standout.cli.audit': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n" + MAIN
    )
    with started(tmp_path, code) as process:
        _, said = process.communicate(timeout=HUNG)
        assert (said.decode(), process.returncode) == ("standout: stopped\n", 130)


def test_what_a_killed_process_left_is_removed_by_the_next_and_a_living_one_is_left_alone(
    tmp_path, monkeypatch
):
    with reading(tmp_path) as killed:
        (dead,) = (tmp_path / "t").iterdir()
        killed.kill()
        killed.wait(30)
        assert dead.exists(), "nothing was left, so that there is nothing to test"
        with reading_beside(tmp_path, dead) as alive:
            assert not dead.exists()
            assert alive.exists()
            sweep(tmp_path / "t")
            assert alive.exists()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "t"))
    with scratch_folder() as folder:
        assert folder.exists()
    assert list((tmp_path / "t").iterdir()) == []


@contextmanager
def reading_beside(tmp_path, dead):
    """A second audit in the same folder; gives its temporary folder."""
    with started(tmp_path, MAIN, "audit", "-", "--out", str(tmp_path / "out")) as process:
        process.stdin.write(b"user,item\n" + b"BOB,tea\n" * 100_000)
        process.stdin.flush()
        until(
            lambda: any(
                p.stat().st_size > 100_000 and dead not in p.parents
                for p in (tmp_path / "t").rglob("stdin")
            )
        )
        (mine,) = (p for p in (tmp_path / "t").iterdir() if p != dead)
        yield mine


def test_nobody_else_can_read_temporary_files(tmp_path):
    with reading(tmp_path):
        (folder,) = (tmp_path / "t").iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = [p for p in folder.rglob("*") if p.is_file()]
        assert files
        assert {stat.S_IMODE(p.stat().st_mode) for p in files} == {0o600}
        assert "ALICE" not in " ".join(str(p) for p in folder.rglob("*"))


@pytest.mark.parametrize("name", ["standout-out", "standout-abcdefgh", "standout-"])
@pytest.mark.parametrize("content", ["findings.json", None])
def test_a_folder_of_the_user_with_such_a_name_is_never_swept(tmp_path, name, content):
    mine = tmp_path / name
    mine.mkdir()
    if content:
        (mine / content).write_text("precious")
    os.utime(mine, (0, 0))
    sweep(tmp_path)
    assert mine.exists()


def test_a_link_with_such_a_name_is_not_followed(tmp_path):
    target = tmp_path / "precious"
    target.mkdir()
    (target / scratch.LOCK).write_text("")
    (tmp_path / "standout-link").symlink_to(target)
    sweep(tmp_path)
    assert (target / scratch.LOCK).exists()


def test_what_version_0_1_left_is_swept_after_a_day(tmp_path):
    old, new = tmp_path / "standout-old", tmp_path / "standout-new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "work.duckdb").write_text("labels")
    os.utime(old, (0, 0))
    sweep(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["standout-new"]


def test_an_unwritable_temporary_folder_is_one_clear_line(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import tempfile; tempfile.tempdir = '/proc/nowhere'\n" + MAIN,
            "audit",
            "-",
        ],
        input=b"user,item\n1,2\n",
        capture_output=True,
        cwd=tmp_path,
        timeout=HUNG,
        check=False,
    )
    assert done.returncode == 2
    (line,) = done.stderr.decode().splitlines()[-1:]
    assert line.startswith("standout: no folder for temporary files can be made")
    assert "Traceback" not in done.stderr.decode()
    assert Path(tmp_path / "standout-out").exists() is False
