"""Places where a program is run and may write nearly nothing: it works, or says in one line what it needs."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

import pytest

SMALL = ("--targets", "10", "--knows", "2", "--attacks", "scoreboard-rh")


def test_a_copy_without_package_metadata_ends_with_findings(ratings, tmp_path, monkeypatch, run):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("standout.versions.version", missing)
    code, _, said = run("audit", ratings, *SMALL, "--out", tmp_path / "out")
    assert code == 0, said
    assert '"unknown"' in (tmp_path / "out" / "findings.json").read_text()


@pytest.mark.parametrize("name", ["x" * 300, "ü" * 200])
def test_a_name_too_long_for_the_disk_is_one_line_before_the_audit(ratings, tmp_path, run, name):
    code, _, said = run("audit", ratings, *SMALL, "--out", tmp_path / name)
    assert code == 2
    assert "File name too long" in said.splitlines()[-1]
    assert "Traceback" not in said
    assert [p.name for p in tmp_path.iterdir()] == ["ratings.csv"]


def test_a_name_that_just_fits_is_written(ratings, tmp_path, run):
    code, _, said = run("audit", ratings, *SMALL, "--out", tmp_path / ("y" * 250))
    assert code == 0, said
    assert sorted(p.name for p in (tmp_path / ("y" * 250)).iterdir()) == [
        "findings.json",
        "report.html",
    ]


def test_a_folder_that_nobody_may_write_is_one_line(ratings, run):
    code, _, said = run("audit", ratings, *SMALL, "--out", "/proc/standout-out")
    assert code == 2
    assert "cannot be written to" in said.splitlines()[-1]


def columns_with(ratings, folder, **environment):
    return subprocess.run(
        [
            sys.executable,
            "-c",
            "from standout.cli.start import main; main()",
            "columns",
            str(ratings),
        ],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def test_home_does_not_have_to_be_writable(ratings, tmp_path):
    done = columns_with(ratings, tmp_path, HOME="/proc/nowhere", XDG_CACHE_HOME="/proc/nowhere")
    assert done.returncode == 0, done.stderr
    assert "userId" in done.stdout


def test_raw_data_does_not_go_elsewhere_if_tmpdir_cannot_be_written_to(ratings, tmp_path):
    done = columns_with(ratings, tmp_path, TMPDIR="/proc/nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert (
        line.startswith("standout: no folder for temporary files can be made") and "TMPDIR" in line
    )


@pytest.mark.parametrize(
    "size", [4_000, 20_000]
)  # DuckDB cannot make its database, or cannot fill it
def test_a_full_disk_for_temporary_files_is_one_clear_line(tmp_path, size):
    path = tmp_path / "x.csv"
    path.write_text("user,item\n" + "\n".join(f"Ann{k},{k % 7}" for k in range(5000)))
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "from standout.cli.start import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "describe", str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
        check=False,
    )
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    assert (
        line.startswith("standout: x.csv cannot be read: the disk for temporary files is full")
        and "Ann" not in line
    )


def test_the_disk_is_full_while_the_report_is_written(ratings, tmp_path):
    code = (
        "import resource\n"
        "import standout.report.page as page\n"
        "render = page.render\n"
        "def late(*args):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "    return render(*args)\n"
        "page.render = late\n"
        "from standout.cli.app import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "audit", str(ratings), *SMALL, "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=600,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("standout: cannot write")
    # finished parts are kept, so that the next try continues from them
    assert sorted(p.name for p in tmp_path.iterdir()) == [".standout-work.out", "ratings.csv"]
