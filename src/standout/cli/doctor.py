"""`standout doctor`: what is installed, which engines and readers work."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what is installed, which engines and readers work here, and how to get the others.

    Example: standout doctor
    """
    report = examine()
    if json:
        from json import dumps

        typer.echo(dumps(report, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("part", "state", box=None, pad_edge=False)
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
    needed = (
        "numpy",
        "numba",
        "duckdb",
        "pyarrow",
        "scipy",
        "pandas",
        "vl-convert-python",
        "jinja2",
    )
    optional = {
        "cupy-cuda12x": "gpu",
        "implicit": "utility",
        "pyspark": "spark",
        "adbc-driver-postgresql": "postgresql",
        "cryptography": "sign",
    }
    for name in (*needed, *optional):
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = (
                f"not installed: pip install 'standout[{optional[name]}]'"
                if name in optional
                else "missing: reinstall standout"
            )
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
