"""`standout reproduce`: the figures and tables of the papers on any data; `standout twin`: synthetic data for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from standout.cli.option_values import target_count
from standout.cli.options import command
from standout.cli.outputs import check_file, plain_table, print_result
from standout.cli.reading import error_console
from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from standout.data.dataset import Dataset

NAMES = ("netflix-prize",)


@command()
def reproduce(
    paper: str,
    /,
    data: str | None = None,
    mentions: str | None = None,
    simulate_mentions: bool = False,
    targets: str = "1000",
    out: Path = Path("standout-out/reproduction"),
    seed: int = 0,
    records: int = 20_000,
    only: str | None = None,
    engine: str = "memory",
    fresh: bool = False,
) -> None:
    """Reproduce every figure and table of a paper and compare published with measured numbers.

    A run that was stopped goes on where it was.

    Example: standout reproduce f06 --data ratings.csv --mentions tags.csv --out f06-out

    Parameters
    ----------
    paper
        ns08, f06 or dss12.
    data
        File or folder, as for audit. Default: a synthetic twin of the Netflix Prize data.
    mentions
        f06: file of public mentions by people in the data, e.g. tags.csv.
    simulate_mentions
        f06: generate mentions from the data.
    targets
        Targets per point, or all.
    out
        Folder for pictures, tables and summary.
    records
        Records of the twin, if there is no --data.
    only
        Only these figures, e.g. fig04,fig08.
    """
    from standout.cli.workfolder import journaled, print_reused
    from standout.papers.mentions import read_mentions
    from standout.papers.mentions import simulate_mentions as simulated
    from standout.papers.recipe import RecipeInputs, recipes
    from standout.papers.summary import check_folder
    from standout.papers.summary import reproduce as run

    check_folder(out)
    recipes(paper, only)
    _check_mentions(paper, data, mentions, simulate_mentions)
    count = target_count(targets)
    number = None if isinstance(count, str) else count
    log = error_console()
    with log.status("reading …"):
        dataset, source = _data(data, records, seed)
        known = None
        if paper == "f06":
            known = read_mentions(mentions, dataset) if mentions else simulated(dataset, seed=seed)
    log.print(
        f"{source}: {dataset.n_records:,} records × {dataset.n_items:,} items, {dataset.n_entries:,} entries",
        markup=False,
    )
    if known is not None:
        log.print(f"mentions: {known.note}", markup=False)
    with journaled(out, fresh=fresh) as journal, log.status("reproducing …") as status:
        summary = run(
            paper,
            RecipeInputs(dataset, number, seed, known, engine, source),
            out,
            only,
            lambda what, done, total: status.update(f"{what} ({done + 1} of {total}) …"),
        )
    print_reused(journal, log)
    print_result(summary.lines, False, _show)
    typer.echo(f"summary: {out / 'summary.html'}")


def _check_mentions(paper: str, data: str | None, mentions: str | None, simulate: bool) -> None:
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

    if path is None:
        _check_records(records)
        return twin_dataset(
            n_records=records, seed=seed
        ), f"a synthetic twin of the Netflix Prize data, {records:,} records"
    # the file's name without its folder, which may name people
    return Dataset.read(path, resolution="day"), Path(path).name  # the papers use days


def _check_records(records: int) -> None:
    if records < 2:
        raise ParameterError(f"--records {records}: at least 2 records are needed")


def _show(lines: list[dict[str, str]], console: Console) -> None:
    titles = ("figure", "what", "published", "measured", "difference", "result")
    table = plain_table(*titles, left=6)
    for line in lines:
        table.add_row(*(line[title] for title in titles))
    console.print(table)


@command()
def twin(
    name: str = NAMES[0],
    /,
    out: Path = Path("twin.parquet"),
    records: int = 480_189,
    seed: int = 0,
) -> None:
    """Write a synthetic release with the marginals of the Netflix Prize data, as Parquet.

    Example: standout twin netflix-prize --records 20000 --out twin.parquet

    Parameters
    ----------
    name
        Dataset to imitate: netflix-prize.
    out
        Parquet file to write.
    records
        Number of records; 480,189 is full size.
    """
    from standout.data.synthetic import write_twin

    if name not in NAMES:
        raise ParameterError(f"no twin {name!r}. Twins: {', '.join(NAMES)}")
    _check_records(records)
    check_file(out)
    with error_console().status("writing …"):
        write_twin(out, n_records=records, seed=seed)
    typer.echo(str(out))
