"""`standout bound`: what the theorems require and guarantee, and which assumptions hold on this data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from standout.theory.bounds import Bounds


@options.reads()
def bound(
    path: options.DataPath,
    reading: options.Reading,
    epsilon: Annotated[
        float, typer.Option(help="Probability with which a guarantee of a theorem may fail.")
    ] = 0.05,
    delta: Annotated[
        float, typer.Option(help="How much the answer may differ from the target, from 0 to 1.")
    ] = 0.2,
    k: Annotated[
        int, typer.Option("--k", help="Number of candidates in the lineup of Theorem 3.")
    ] = 10,
    gamma: Annotated[
        float, typer.Option(help="Noise of known values as a share of the scale (DSS12).")
    ] = 0.1,
    knows: Annotated[int, typer.Option(help="Items known, for DSS12's Theorem 3.")] = 10,
    value_within: Annotated[
        str, typer.Option(help="Values at most this far apart agree; none ignores values.")
    ] = "1",
    time_within: Annotated[
        str,
        typer.Option(
            help="Times at most this far apart agree: days, or 30min, 2h, 2w; none ignores times."
        ),
    ] = "14",
    population: Annotated[
        float | None,
        typer.Option(
            help="Size of the population that the release is a sample of. Default: 10 × records."
        ),
    ] = None,
    targets: Annotated[int, typer.Option(help="Records attacked per measurement.")] = 300,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Show what the theorems require and guarantee, what was measured, and which assumptions hold on this data.

    Example: standout bound ratings.csv --epsilon 0.05 --delta 0.5
    """
    from standout.cli.waiting import read_quietly, waiting
    from standout.theory.bounds import bounds

    within_value = options.numbers(value_within, "value-within")[0]
    within_time = options.time_tolerances(time_within)[0]
    dataset = read_quietly(path, json, **reading.keywords)
    with waiting(json) as progress:
        found = bounds(
            dataset,
            epsilon=epsilon,
            delta=delta,
            k=k,
            gamma=gamma,
            knows=knows,
            value_within=within_value,
            time_within=within_time,
            population=population,
            targets=targets,
            seed=seed,
            progress=progress,
        )
    if json:
        from json import dumps

        print(dumps(found.to_dict(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        from rich.console import Console

        show(found, Console(highlight=False))


def show(found: Bounds, console: Console) -> None:
    """Print the table, then each theorem's assumptions and caveat, then the conclusions."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_edge=False)
    for name in ("theorem", "promises", "requires", "measured", "assumptions"):
        table.add_column(name, overflow="fold")
    for row in found.rows:
        table.add_row(
            row.theorem,
            row.says,
            row.asks,
            row.measured,
            "hold" if row.holds else "do not all hold",
        )
    console.print(table)
    printed: set[str] = set()
    for row in found.rows:
        console.print(f"\n{row.theorem}", markup=False)
        for a in row.assumptions:
            mark = {True: "holds", False: "fails", None: "given"}[a.holds]
            console.print(f"  {mark}: {a.text} ({a.measured})", markup=False)
        if row.caveat and row.caveat not in printed:
            console.print(f"  caveat: {row.caveat}", markup=False)
            printed.add(row.caveat)
    console.print(Text(f"\n{found.summary()}"), soft_wrap=not console.is_terminal)
