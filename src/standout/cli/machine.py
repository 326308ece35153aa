"""`standout doctor`: what works on this machine; `standout bench`: how fast."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from standout.cli.options import command
from standout.cli.outputs import check_file, plain_table
from standout.cli.reading import error_console
from standout.errors import ParameterError

SIZES = (0.01, 0.1, 1.0)

NEEDED = "numpy numba duckdb pyarrow scipy pandas vl-convert-python jinja2"
OPTIONAL = {
    "cupy-cuda12x": "gpu",
    "implicit": "utility",
    "pyspark": "spark",
    "adbc-driver-postgresql": "postgresql",
    "cryptography": "sign",
}
"""Packages for optional parts, and the extra that installs each."""

_RATIOS = {
    "ours_over_theirs": "× C",
    "theirs_over_ours": "× ours",
    "times_rh": "× scoreboard-rh",
    "full_over_this": "× faster than full",
}
_COLUMNS = {"what", "ms_per_target", "ns_per_posting_core", "peak_mib", *_RATIOS}


@command()
def bench(
    size: float = 0.1,
    targets: int = 500,
    out: Path | None = None,
    peers: bool = True,
    reading: bool = True,
    starting: bool = True,
    audit: bool = True,
    growth: Path | None = None,
) -> None:
    """Time reading, indexing and scoring on this machine. Synthetic data are made once and cached.

    Example: standout bench --size 0.1 --out bench.jsonl

    Parameters
    ----------
    size
        Share of the Netflix Prize's records: 0.01, 0.1 or 1.
    targets
        Targets that our engine and the C loop attack.
    out
        File for one JSON line per measurement.
    peers
        Also time sparse_dot_topn, SciPy and DuckDB SQL.
    reading
        Also time reading and indexing against DuckDB.
    starting
        Also time the first use, with compilation, and later starts.
    audit
        Also time a default audit, against the C loop.
    growth
        Measure growth, and draw it into this .png or .svg file.
    """
    import json

    from standout.audit.findings import write_whole
    from standout.bench import measure
    from standout.bench.case import BenchCase, twin_file
    from standout.bench.growth import chart, exponents, time_per_part
    from standout.bench.growth import measure as measure_growth
    from standout.data.writing import write_file
    from standout.report.drawing import picture

    if not 0 < size <= 1:
        raise ParameterError(
            f"--size {size}: use a share above 0 and at most 1, such as {', '.join(map(str, SIZES))}"
        )
    if targets < 1:
        raise ParameterError(f"--targets {targets}: at least one")
    if growth is not None and growth.suffix not in (".png", ".svg"):
        raise ParameterError(f"--growth {str(growth)!r}: name a .png or .svg file")
    check_file(out)
    check_file(growth, option="--growth", in_folder=True)
    busy = error_console().status
    lines: list[dict[str, Any]] = [{**measure.machine(), "size": size}]
    with busy("making the data, once …"):
        twin_file(size)
    with busy("reading …"):
        case = BenchCase.make(size, targets)
        lines.append(measure.index_size(case))
    if starting:
        with busy("starting …"):
            lines += measure.start_times()
    with busy("scoring …"):
        lines += measure.kernels(case)
    if audit:
        with busy("a whole audit …"):
            lines.append(measure.default_audit(case))
    if peers:
        with busy("the others …"):
            lines += measure.compare_peers(case, min(40, targets))
    if reading:
        with busy("reading, ours and DuckDB's …"):
            lines += measure.read_times(size, case.threads)
    if growth is not None:
        with busy("growth …"):
            points = list(measure_growth(size))
        lines += [
            *points,
            {"what": "exponents", **exponents(points)},
            {"what": "linear model", **time_per_part(points)},
        ]
        drawn = picture(chart(points), growth.suffix[1:])
        write_file(growth, lambda draft: draft.write_bytes(drawn))
    _show_times(lines)
    if out is not None:
        write_whole(out, "".join(json.dumps(line) + "\n" for line in lines))


def _show_times(lines: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    first = lines[0]
    title = f"{first['cpu']}, {first['cores']} cores (load {first['load']:.1f} at the start); size {first['size']:g}"
    table = Table(
        "",
        "ms per target",
        "core ns per posting",
        "ratio of core time",
        "same answers",
        "peak MiB",
        title=title,
    )
    for line in lines[1:]:
        if line["what"] == "growth":
            continue
        ratio = next((f"{line[k]:.2f} {w}" for k, w in _RATIOS.items() if k in line), "")
        same = {True: "yes", False: "NO"}.get(line.get("same"), "")  # type: ignore[arg-type]
        rest = line.get("skipped") or ", ".join(
            f"{k} {v:.3g}" for k, v in line.items() if k not in _COLUMNS and isinstance(v, float)
        )
        table.add_row(
            line["what"],
            _number(line, "ms_per_target"),
            _number(line, "ns_per_posting_core"),
            ratio or rest,
            same,
            _number(line, "peak_mib", 0),
        )
    # a file or a pipe has no width: do not wrap lines there
    wide = None if Console().is_terminal else 150
    Console(highlight=False, markup=False, width=wide).print(table)


def _number(line: dict[str, Any], key: str, digits: int = 3) -> str:
    return f"{line[key]:,.{digits}f}" if key in line else ""


@command()
def doctor(json: bool = False) -> None:
    """Show what is installed, which engines and readers work here, and how to get the others.

    Example: standout doctor

    Parameters
    ----------
    json
        Print JSON.
    """
    report = examine()
    if json:
        from json import dumps

        typer.echo(dumps(report, indent=1))
        return
    from rich.console import Console

    table = plain_table("part", "state", left=2)
    for part, state in report.items():
        table.add_row(part, state)
    # not markup: brackets are part of the command to type
    Console(highlight=False, markup=False).print(table)


def examine() -> dict[str, str]:
    """State of each part in words."""
    import os
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from standout import __version__
    from standout.report.pdf import find_browser

    out = {
        "standout": __version__,
        "python": platform.python_version(),
        "cores": str(os.cpu_count()),
    }
    for name in (*NEEDED.split(), *OPTIONAL):
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = "missing: reinstall standout"
            if name in OPTIONAL:
                out[name] = f"not installed: pip install 'standout[{OPTIONAL[name]}]'"
    out["browser"] = (
        find_browser()
        or "not found (needed for --pdf and the browser tests): apt-get install chromium"
    )
    out["java"] = _java()
    for name in ("memory", "chunked", "gpu"):
        out[f"engine {name}"] = _try_engine(name)
    out["engine spark"] = _spark(out["pyspark"], out["java"])
    return out | readers()


def _java() -> str:
    """Version of Java, as it reports it."""
    import os
    import shutil
    import subprocess

    home = os.environ.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java")
    install = "apt-get install default-jre-headless"
    if java is None:
        return f"not found (needed for --engine spark): {install}"
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=30, check=True
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return f"does not start: {install}"
    return said.splitlines()[0] if said else "works"


def _spark(pyspark: str, java: str) -> str:
    """Whether Spark has what it needs; a session is not started, because that takes seconds."""
    import re

    found = re.search(r'version "(\d+)', java)
    if "not installed" in pyspark:
        return f"no: {pyspark}"
    if found is None or int(found[1]) < 17:
        return f"no: it needs Java 17 or 21, and java is: {java}"
    return "ready: pyspark and Java are here"


def readers() -> dict[str, str]:
    """Which sources can be read here, and how to get the others."""
    import duckdb

    out = {
        "reader files": "works: delimited text, JSON lines, Parquet, Arrow, xlsx, SQLite, DuckDB, gz, zst, zip"
    }
    out["reader postgresql://"] = _works_with(
        "adbc_driver_postgresql", "pip install 'standout[postgresql]'"
    )
    out["reader https://"] = "works"
    for scheme, system in (("s3", "S3FileSystem"), ("gs", "GcsFileSystem")):
        out[f"reader {scheme}://"] = _works_with(
            f"pyarrow.fs:{system}",
            "this build of pyarrow lacks it: pip install --force-reinstall pyarrow",
        )
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT extension_name FROM duckdb_extensions() WHERE installed"
        ).fetchall()
    for name, kind in (("delta", "Delta tables"), ("iceberg", "Iceberg tables")):
        install = f"python -c \"import duckdb; duckdb.sql('INSTALL {name}')\""
        out[f"reader {kind}"] = "works" if (name,) in rows else f"not installed: {install}"
    return out


def _works_with(module: str, how: str) -> str:
    """Whether a module, or a name of it after a colon, can be imported."""
    from importlib import import_module

    where, _, name = module.partition(":")
    try:
        found = import_module(where)
    except ImportError:
        return f"not installed: {how}"
    return "works" if not name or hasattr(found, name) else f"no: {how}"


def _try_engine(name: str) -> str:
    """Attack three records with this engine and check that it finds the right one."""
    from standout.adversary.knowledge import Knowledge
    from standout.attacks.attack import attack
    from standout.data.dataset import Dataset
    from standout.engines.chunked import ChunkedEngine
    from standout.engines.gpu import GpuEngine
    from standout.engines.memory import MemoryEngine
    from standout.errors import StandoutError

    dataset = Dataset.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 3], value=[1, 2, 3, 4, 5, 1])
    try:
        engine = {"memory": MemoryEngine, "chunked": ChunkedEngine, "gpu": GpuEngine}[name]()
        verdicts = attack("scoreboard-rh").run(
            dataset, Knowledge.from_arrays([0, 0], [1, 2], value=[3, 4]), engine
        )
    except StandoutError as error:
        return f"no: {error}"
    return "works" if verdicts.best[0] == 1 else "BROKEN: found the wrong record"
