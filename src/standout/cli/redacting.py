"""`--redact`: search everything that a command is about to write for labels of the data, and write nothing if one is found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from standout.errors import InputError

if TYPE_CHECKING:
    from standout.data.dataset import Dataset

Redact = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Search the output for labels of the data before it is written; refuse if one is found.",
    ),
]


def refuse_labels(outputs: dict[str, str], *datasets: Dataset | None) -> None:
    """Stop before anything is written if an output holds a label; otherwise print how many were searched for."""
    from standout.gate.formats import find_labels_in

    clean, why = find_labels_in(outputs, *(data for data in datasets if data is not None))
    if not clean:
        raise InputError(
            f"--redact: {why}; nothing was written. Does a title, a file name or a name in a policy equal a label?"
        )
    print(f"standout: {why}", file=sys.stderr)
