"""`standout reproduce`: the figures and tables of the three papers on any data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from standout.data.dataset import Dataset


def reproduce(
    paper: Annotated[str, typer.Argument(help="ns08, f06 or dss12.")],
    data: Annotated[
        str | None,
        typer.Option(
            help="File or folder, as for audit. Default: a synthetic twin of the Netflix Prize data."
        ),
    ] = None,
    mentions: Annotated[
        str | None,
        typer.Option(help="f06: file of public mentions by people in the data, e.g. tags.csv."),
    ] = None,
    simulate_mentions: Annotated[
        bool, typer.Option("--simulate-mentions", help="f06: generate mentions from the data.")
    ] = False,
    targets: Annotated[str, typer.Option(help="Targets per point, or all.")] = "1000",
    out: Annotated[Path, typer.Option(help="Folder for pictures, tables and summary.")] = Path(
        "standout-out/reproduction"
    ),
    seed: options.Seed = 0,
    records: Annotated[
        int, typer.Option(help="Records of the twin, if there is no --data.")
    ] = 20_000,
    only: Annotated[str | None, typer.Option(help="Only these figures, e.g. fig04,fig08.")] = None,
    engine: options.Engine = "memory",
    fresh: options.Fresh = False,
) -> None:
    """Reproduce every figure and table of a paper and compare published with measured numbers.

    A run that was stopped goes on where it was.

    Example: standout reproduce f06 --data ratings.csv --mentions tags.csv --out f06-out
    """
    from rich.console import Console

    from standout.cli.options import target_count
    from standout.cli.workfolder import journaled, say_reused
    from standout.papers.mentions import read_mentions
    from standout.papers.mentions import simulate_mentions as simulated
    from standout.papers.recipe import RecipeInputs, recipes
    from standout.papers.summary import check_folder, reproduce

    check_folder(out)
    recipes(paper, only)
    _check_mentions(paper, data, mentions, simulate_mentions)
    count = target_count(targets)
    number = None if isinstance(count, str) else count
    log = Console(stderr=True, highlight=False)
    with log.status("reading …"):
        dataset, source = _data(data, records, seed)
        said = None
        if paper == "f06":
            said = read_mentions(mentions, dataset) if mentions else simulated(dataset, seed=seed)
    log.print(
        f"{source}: {dataset.n_records:,} records × {dataset.n_items:,} items, {dataset.n_entries:,} entries",
        markup=False,
    )
    if said is not None:
        log.print(f"mentions: {said.note}", markup=False)
    with journaled(out, fresh=fresh) as journal, log.status("reproducing …") as status:
        summary = reproduce(
            paper,
            RecipeInputs(dataset, number, seed, said, engine, source),
            out,
            only,
            lambda what, done, total: status.update(f"{what} ({done + 1} of {total}) …"),
        )
    say_reused(journal, log)
    _show(summary.lines)
    typer.echo(f"summary: {out / 'summary.html'}")


def _check_mentions(paper: str, data: str | None, mentions: str | None, simulate: bool) -> None:
    from standout.errors import ParameterError

    if paper != "f06" and (mentions or simulate):
        raise ParameterError(f"--mentions and --simulate-mentions belong to f06, not to {paper}")
    if paper == "f06" and mentions and simulate:
        raise ParameterError("give --mentions or --simulate-mentions, not both")
    if paper == "f06" and mentions and data is None:
        raise ParameterError("--mentions needs --data: the mentions must be by people in that data")
    if paper == "f06" and data is not None and not (mentions or simulate):
        raise ParameterError(
            "f06 needs mentions: --mentions FILE (e.g. tags.csv), or --simulate-mentions to generate them from the data"
        )


def _data(path: str | None, records: int, seed: int) -> tuple[Dataset, str]:
    from standout.data.dataset import Dataset
    from standout.data.synthetic import twin_dataset
    from standout.errors import ParameterError

    if path is None:
        if records < 2:
            raise ParameterError(f"--records {records}: at least 2 records are needed")
        return twin_dataset(
            n_records=records, seed=seed
        ), f"a synthetic twin of the Netflix Prize data, {records:,} records"
    # the file's name without its folder, which may name people
    return Dataset.read(path, resolution="day"), Path(path).name  # the papers use days


def _show(lines: list[dict[str, str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    columns = ("figure", "what", "published", "measured", "difference", "result")
    table = Table(*columns, box=None, pad_edge=False)
    for line in lines:
        table.add_row(*(line[column] for column in columns))
    Console(highlight=False).print(table)
