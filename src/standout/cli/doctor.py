"""`standout doctor`: what is installed, which engines work."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Show what is installed and which engines work here.

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

    out = {"standout": __version__, "python": platform.python_version(), "cores": str(os.cpu_count())}
    needed = ("numpy", "numba", "duckdb", "pyarrow", "scipy", "pandas", "altair", "vl-convert-python", "jinja2")
    optional = {"cupy-cuda12x": "gpu", "pyspark": "spark"}
    for name in (*needed, *optional):
        try:
            out[name] = version(name)
        except PackageNotFoundError:
            out[name] = (
                f"not installed: pip install 'standout[{optional[name]}]'"
                if name in optional
                else "missing: reinstall standout"
            )
    out["browser"] = find_browser() or "not found (needed for --pdf and the browser tests): apt-get install chromium"
    for name in ("memory", "gpu"):
        out[f"engine {name}"] = _try_engine(name)
    return out


def _try_engine(name: str) -> str:
    """Attack three records with this engine and check that it finds the right one."""
    from standout.adversary.knowledge import Knowledge
    from standout.attacks.attack import attack
    from standout.data.dataset import Dataset
    from standout.engines.gpu import GpuEngine
    from standout.engines.memory import MemoryEngine
    from standout.errors import StandoutError

    dataset = Dataset.from_arrays([0, 0, 1, 1, 2, 2], [0, 1, 1, 2, 2, 3], value=[1, 2, 3, 4, 5, 1])
    try:
        engine = GpuEngine() if name == "gpu" else MemoryEngine()
        verdicts = attack("scoreboard-rh").run(dataset, Knowledge.from_arrays([0, 0], [1, 2], value=[3, 4]), engine)
    except StandoutError as error:
        return f"no: {error}"
    return "works" if verdicts.best[0] == 1 else "BROKEN: found the wrong record"
