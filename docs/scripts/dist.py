"""Reproducible sdist and wheel: the same commit gives the same bytes.

    python docs/scripts/dist.py [FOLDER]

writes them to FOLDER (default: dist) and prints their SHA-256. `make dist` calls it. Only files
that git tracks go in; times are that of the commit, names are sorted, owners and permissions are
fixed.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BACKEND = "import sys, setuptools.build_meta as b; out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)"


def tracked(root: Path) -> list[str]:
    """Files that git tracks, sorted."""
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True, text=True
    )
    return sorted(name for name in done.stdout.split("\0") if name and (root / name).is_file())


def commit_time(root: Path) -> int:
    """Time of the last commit, in seconds since 1970."""
    done = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=root, capture_output=True, check=True, text=True
    )
    return int(done.stdout)


def build(root: Path, names: list[str], out: Path, when: int) -> list[Path]:
    """Build sdist and wheel of these files; the bytes depend on nothing but their content, `when` and setuptools."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        tree, raw = Path(folder, "tree"), Path(folder, "raw")
        for name in names:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, tree / name)
        raw.mkdir()
        environment = {**os.environ, "SOURCE_DATE_EPOCH": str(when), "PYTHONHASHSEED": "0"}
        subprocess.run(
            [sys.executable, "-c", BACKEND, str(raw)],
            cwd=tree,
            check=True,
            capture_output=True,
            env=environment,
        )
        made = []
        for path in sorted(raw.iterdir()):
            content = _tar(path, when) if path.suffix == ".gz" else _zip(path, when)
            (out / path.name).write_bytes(content)
            made.append(out / path.name)
    return made


def _tar(path: Path, when: int) -> bytes:
    out = io.BytesIO()
    with (
        tarfile.open(path) as old,
        tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda m: m.name):
            plain = tarfile.TarInfo(member.name)
            plain.type, plain.size, plain.mtime = member.type, member.size, when
            plain.mode = 0o755 if member.isdir() else 0o644
            new.addfile(plain, old.extractfile(member) if member.isfile() else None)
    return gzip.compress(out.getvalue(), mtime=when)


def _zip(path: Path, when: int) -> bytes:
    out = io.BytesIO()
    date = datetime.fromtimestamp(max(when, 315532800), UTC).timetuple()[:6]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        # RECORD comes last, as installers expect
        for name in sorted(old.namelist(), key=lambda n: (n.endswith("/RECORD"), n)):
            entry = zipfile.ZipInfo(name, date)
            entry.external_attr, entry.compress_type = 0o100644 << 16, zipfile.ZIP_DEFLATED
            new.writestr(entry, old.read(name))
    return out.getvalue()


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    for path in build(ROOT, tracked(ROOT), out, commit_time(ROOT)):
        print(f"{sha256(path.read_bytes()).hexdigest()}  {path}")


if __name__ == "__main__":
    main()
