"""`standout match-items`: propose which items of two files are the same, by title and year."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def match_items(
    release: Annotated[
        str, typer.Argument(help="Delimited file with the release's items and their titles.")
    ],
    second: Annotated[str, typer.Argument(help="The same of the second file.")],
    out: Annotated[Path, typer.Option(help="CSV file for the proposals.")] = Path("map.csv"),
    item: Annotated[
        str | None, typer.Option(help="Column of the release's item. Default: guessed.")
    ] = None,
    title: Annotated[
        str | None, typer.Option(help="Column of the release's title. Default: guessed.")
    ] = None,
    year: Annotated[
        str | None, typer.Option(help="Column of the release's year. Default: guessed.")
    ] = None,
    second_item: Annotated[
        str | None, typer.Option(help="Column of the second file's item.")
    ] = None,
    second_title: Annotated[
        str | None, typer.Option(help="Column of the second file's title.")
    ] = None,
    second_year: Annotated[
        str | None, typer.Option(help="Column of the second file's year.")
    ] = None,
    least: Annotated[float, typer.Option(help="Lowest similarity of titles, 0 to 100.")] = 80.0,
) -> None:
    """Propose a map of items for `standout link --items`. Write yes into its column confirm where a match is right.

    Example: standout match-items movies.csv forum.csv --out map.csv
    """
    from rich.console import Console

    from standout.audit.findings import write_whole
    from standout.cli.outputs import refuse_inputs
    from standout.errors import ParameterError
    from standout.linking.items import COLUMNS, propose, read_items
    from standout.report.tables import csv_text

    if not 0 <= least <= 100:
        raise ParameterError(f"--least {least:g}: use a number from 0 to 100")
    refuse_inputs([out], [release, second])
    log = Console(stderr=True, highlight=False)
    with log.status("matching items …"):
        mine, other = (
            read_items(release, item, title, year),
            read_items(second, second_item, second_title, second_year),
        )
        rows = propose(mine, other, least)
    write_whole(out, csv_text(COLUMNS, ([row[c] for c in COLUMNS] for row in rows)))
    same = sum(row["score"] == 100 for row in rows)
    typer.echo(
        f"{len(rows):,} of {len(other):,} items have a proposed match, {same:,} of them with the same title. "
        f"Nothing is confirmed: write yes into the column confirm of {out} where a match is right."
    )
