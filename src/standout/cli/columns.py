"""`standout columns`: what the columns of a source would be used for, without an audit."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from standout.cli import options

if TYPE_CHECKING:
    from rich.console import Console

    from standout.data.reading.read import Inventory


@options.reads()
def columns(
    path: options.DataPath,
    reading: options.Reading,
    json: Annotated[bool, typer.Option("--json", help="Print the inventory as JSON.")] = False,
) -> None:
    """List the columns of a source: which are used and as what, which are ignored, which identify people directly.

    Only a sample of the rows is read, and no cell is printed.

    Example: standout columns purchases.csv
    """
    from rich.console import Console

    from standout.data.reading.options import ReadOptions
    from standout.data.reading.read import inspect_columns

    found = inspect_columns(path, ReadOptions(**reading.keywords))
    if json:
        from json import dumps

        print(dumps(asdict(found), indent=1, ensure_ascii=False))
    else:
        show(found, Console(highlight=False))


def show(found: Inventory, console: Console) -> None:
    """Print the table, then the question that the user has to answer, if there is one."""
    from rich.table import Table

    table = Table(
        "column", "used as", "why", "direct identifier", box=None, pad_edge=False, show_edge=False
    )
    for use in found.columns:
        # names come from the file: brackets in them are not markup
        cells = (use.name, use.role, use.reason, use.identifier or "")
        table.add_row(*(cell.replace("[", r"\[") for cell in cells))
    console.print(table)
    for note in found.notes:
        console.print(note, markup=False, soft_wrap=True)
    if found.question is not None:
        console.print(f"question: {found.question}", markup=False, soft_wrap=True)
