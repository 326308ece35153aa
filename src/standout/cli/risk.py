"""`standout risk`: chance of each person of being found, over what an attacker may happen to know."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from standout.audit.risk import Risk


@options.reads()
def risk(
    path: options.DataPath,
    reading: options.Reading,
    knows: Annotated[int, typer.Option(help="Items that are known.")] = 4,
    wrong: Annotated[int, typer.Option(help="How many of them are wrong.")] = 0,
    value_within: Annotated[
        str, typer.Option(help="Largest error of known values, or none.")
    ] = "none",
    time_within: Annotated[
        str, typer.Option(help="Largest error of known times: days, or 30min, 2h, 2w; or none.")
    ] = "none",
    view: options.View = None,
    attack: Annotated[str, typer.Option(help="Attack that guesses.")] = "likelihood",
    draws: Annotated[int, typer.Option(help="Draws of known items per person.")] = 8,
    targets: Annotated[str, typer.Option(help="Number of people, or all.")] = "all",
    seed: options.Seed = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="CSV file with one row per person; record numbers only."),
    ] = None,
    labels: Annotated[
        bool, typer.Option("--labels", help="With --out: add the labels of the records.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Show how the risk is spread over people: chance of each to be unique, found, or surely found.

    Printed are aggregates. --out writes one row per person who holds enough items.

    Example: standout risk ratings.csv --knows 4 --time-within 14 --out risk.csv
    """
    from standout.adversary.adversary import Adversary
    from standout.audit.risk import risk as measure
    from standout.cli.outputs import check_people_file, write_people
    from standout.cli.waiting import read_quietly, waiting

    value = options.numbers(value_within, "value-within")[0]
    time = options.time_tolerances(time_within)[0]
    who = Adversary(knows=knows, wrong=wrong, value_within=value, time_within=time, view=view)
    check_people_file(out, path, labels=labels)
    dataset = read_quietly(path, json, **reading.keywords)
    with waiting(json) as progress:
        found = measure(
            dataset,
            who,
            attack,
            targets=options.target_count(targets),
            draws=draws,
            seed=seed,
            progress=progress,
        )
    if json:
        from json import dumps

        print(dumps(found.to_dict(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        _show(found)
    write_people(found, out, labels=labels, quiet=json)


def _show(found: Risk) -> None:
    """Print the aggregates."""
    from rich.console import Console
    from rich.table import Table

    seen = found.to_dict()
    console = Console(highlight=False)
    console.print(
        f"{found.words}: {seen['n_people']:,} people, {found.draws} draw{'s' if found.draws > 1 else ''} each. "
        f"{found.n_records - found.n_eligible:,} of {found.n_records:,} people hold too few items and were not attacked."
    )
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("chance of a person")
    for name in ("mean", "median", "95 % of people below", "at least 1/2", "always", "never"):
        table.add_column(name, justify="right")
    for name in ("unique", "found", "sure"):
        one = seen[name]
        if one is None:
            table.add_row(name, *["not measured"] * 6)
            continue
        at = {row["level"]: row["chance"] for row in one["quantiles"]}
        numbers = (one["mean"], at[0.5], at[0.95], one["at_risk"], one["always"], one["never"])
        table.add_row(name, *(f"{100 * x:.1f} %" for x in numbers))
    console.print(table)
