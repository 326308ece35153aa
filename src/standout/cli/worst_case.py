"""`standout worst-case`: risk over all combinations of a person's facts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from standout.audit.worst_case import WorstCase


@options.reads()
def worst_case(
    path: options.DataPath,
    reading: options.Reading,
    knows: Annotated[int, typer.Option(help="Facts that are known.")] = 2,
    known: Annotated[
        str,
        typer.Option(
            help="Kind of facts: items, set, sequence, times, counts, shares, proportions or favorites."
        ),
    ] = "items",
    to: Annotated[
        str | None,
        typer.Option(help="For times: year, month, week, day, hour, minute or second."),
    ] = None,
    within: Annotated[
        float, typer.Option(help="For counts, shares and proportions: tolerance, 0.5 = 50 %.")
    ] = 0.0,
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
    """Show the risk of each person over every combination of k facts: the worst one, and the mean.

    The risk of a combination is 1/(number of records that match it). Printed are aggregates.

    Example: standout worst-case visits.csv --knows 2 --known times --to hour
    """
    from standout.audit.worst_case import worst_case as measure
    from standout.cli.outputs import check_people_file, write_people
    from standout.cli.waiting import read_quietly

    check_people_file(out, path, labels=labels)
    dataset = read_quietly(path, json, **reading.keywords)
    found = measure(
        dataset,
        knows,
        known,
        resolution=to,
        within=within,
        targets=options.target_count(targets),
        seed=seed,
    )
    if json:
        from json import dumps

        print(dumps(found.to_dict(), indent=1, allow_nan=False, ensure_ascii=False))
    else:
        _show(found)
    write_people(found, out, labels=labels, quiet=json)


def _show(found: WorstCase) -> None:
    """Print the aggregates."""
    from rich.console import Console
    from rich.table import Table

    seen = found.to_dict()
    console = Console(highlight=False)
    console.print(
        f"Known: {found.words}. {seen['n_people']:,} people, {seen['combinations']:,.0f} combinations of facts."
    )
    table = Table(box=None, pad_edge=False, show_edge=False)
    table.add_column("risk of a person")
    for name in ("mean", "median", "at least 1/2", "always 1"):
        table.add_column(name, justify="right")
    words = {
        "worst": "worst combination",
        "expected": "random combination",
        "unique": "share of combinations that are unique",
    }
    for name, what in words.items():
        one = seen[name]
        at = {row["level"]: row["chance"] for row in one["quantiles"]}
        numbers = (one["mean"], at[0.5], one["at_risk"], one["always"])
        table.add_row(what, *(f"{100 * x:.1f} %" for x in numbers))
    console.print(table)
