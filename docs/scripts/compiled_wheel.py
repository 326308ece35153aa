"""A wheel that brings the functions of an audit compiled, so that the first run in a new container does not compile them.

    python docs/scripts/compiled_wheel.py [FOLDER]

writes it to FOLDER (default: dist). `make compiled-wheel` calls it. The wheel is for Linux on
x86-64, for the Python and the Numba that run this script; with another Numba the installed package
compiles as usual. Functions are compiled in small audits of every shape of data (with and without
values, times and repeats; times to the day and to the minute).
"""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
import zipfile
from hashlib import sha256
from pathlib import Path

from dist import ROOT, build, commit_time, tracked

from standout.jit import COMPILE_TO, CPU_FEATURES, CPU_NAME

AUDITS = """
import tempfile, warnings
from pathlib import Path
import numpy as np
import standout as so

warnings.simplefilter("ignore")
rng = np.random.default_rng(1)
n = 9000
record, item = rng.integers(0, 400, n), (150 * rng.random(n) ** 3).astype(int)
value, day = rng.integers(1, 6, n).astype(float), 12000.0 + rng.integers(0, 900, n)
minute = day + rng.integers(0, 1440, n) / 1440
keep = {"repeats": "keep"}
for columns, options in (
    ((value, day), {"repeats": "last"}), ((value, day), keep), ((None, day), keep), ((value, None), {"repeats": "last"}),
    ((None, None), {"repeats": "last"}), ((value, minute), {**keep, "resolution": "minute"}),
):
    data = so.Dataset.from_arrays(record, item, *columns, **options)
    so.Audit(data, targets=40).run(progress=False)
    with tempfile.TemporaryDirectory() as folder:
        data.to_frame().to_csv(Path(folder) / "data.csv", index=False)
        so.Dataset.read(Path(folder) / "data.csv")
"""


def compile_into(folder: Path, source: Path) -> None:
    """Compile the functions of the package below `source` into a folder."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            COMPILE_TO: str(folder),
            "NUMBA_CACHE_DIR": cache,
            "NUMBA_CPU_NAME": CPU_NAME,
            "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in CPU_FEATURES),
            "PYTHONPATH": str(source),
        }
        subprocess.run([sys.executable, "-c", AUDITS], env=environment, check=True)


def with_functions(wheel: Path, folder: Path, out: Path) -> Path:
    """Write the wheel with the compiled functions in it, under the name of its platform."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{python}-{python}-linux_x86_64"
    made = out / wheel.name.replace("py3-none-any", tag)
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(wheel) as old:
        files |= {name: old.read(name) for name in old.namelist()}
    files |= {
        f"standout/_compiled/{p.relative_to(folder).as_posix()}": p.read_bytes()
        for p in folder.rglob("*.nb[ic]")
    }
    record = next(name for name in files if name.endswith("/RECORD"))
    about = record.replace("RECORD", "WHEEL")
    lines = files[about].decode().replace("Tag: py3-none-any", f"Tag: {tag}")
    files[about] = lines.replace("Root-Is-Purelib: true", "Root-Is-Purelib: false").encode()
    del files[record]
    listed = "".join(
        f"{name},sha256={_digest(content)},{len(content)}\n"
        for name, content in sorted(files.items())
    )
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for name, content in sorted(files.items()):
            new.writestr(name, content)
        new.writestr(record, listed + f"{record},,\n")
    return made


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        pure = next(
            path
            for path in build(ROOT, tracked(ROOT), Path(work), commit_time(ROOT))
            if path.suffix == ".whl"
        )
        unpacked, compiled = Path(work, "unpacked"), Path(work, "compiled")
        with zipfile.ZipFile(pure) as archive:
            archive.extractall(unpacked)
        compile_into(compiled, unpacked)
        made = with_functions(pure, compiled, out)
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
