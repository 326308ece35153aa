"""`standout twin`: write a synthetic release with the marginals of a real one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from standout.cli import options

NAMES = ("netflix-prize",)


def twin(
    name: Annotated[
        str, typer.Argument(help="Dataset to imitate: netflix-prize.")
    ] = "netflix-prize",
    out: Annotated[Path, typer.Option(help="Parquet file to write.")] = Path("twin.parquet"),
    records: Annotated[
        int, typer.Option(help="Number of records; 480,189 is full size.")
    ] = 480_189,
    seed: options.Seed = 0,
) -> None:
    """Write a synthetic release with the marginals of the Netflix Prize data, as Parquet.

    Example: standout twin netflix-prize --records 20000 --out twin.parquet
    """
    from rich.console import Console

    from standout.data.synthetic import write_twin
    from standout.errors import ParameterError

    if name not in NAMES:
        raise ParameterError(f"no twin {name!r}. Twins: {', '.join(NAMES)}")
    if records < 2:
        raise ParameterError(f"--records {records}: at least 2 records are needed")
    with Console(stderr=True).status("writing …"):
        write_twin(out, n_records=records, seed=seed)
    typer.echo(str(out))
