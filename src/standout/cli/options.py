"""Options that several verbs share, and how lists on the command line are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from standout.errors import ParameterError

DataPath = Annotated[
    str,
    typer.Argument(help="File, folder or glob: .csv .tsv .dat .parquet .arrow, gz or zst, MovieLens, Netflix Prize."),
]
Record = Annotated[str | None, typer.Option(help="Column that names the person. Guessed when left out.")]
Item = Annotated[str | None, typer.Option(help="Column that names the item. Guessed when left out.")]
Value = Annotated[str | None, typer.Option(help="Column with the value; '' for none. Guessed when left out.")]
Time = Annotated[str | None, typer.Option(help="Column with the time; '' for none. Guessed when left out.")]
TimeUnit = Annotated[str | None, typer.Option(help="Unit of numeric times: s, ms, us, ns or day.")]
Repeats = Annotated[str, typer.Option(help="Repeated (record, item) pairs: keep, last, first, max, sum or count.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Drop rows that do not parse instead of refusing the file.")]
Out = Annotated[Path, typer.Option(help="Folder for findings.json and report.html.")]
Seed = Annotated[int, typer.Option(help="Seed of all draws.")]
Targets = Annotated[str, typer.Option(help="Number of records to attack, or all.")]
Attacks = Annotated[str, typer.Option(help="Attacks, comma-separated, or all.")]
Engine = Annotated[str, typer.Option(help="Engine that runs the attacks.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print the findings as JSON on standard output, and nothing else there.")
]


def numbers(text: str, name: str) -> list[float | None]:
    """Read a comma-separated list of numbers, `none` for an unknown channel.

    >>> numbers("0,1,none", "value-within")
    [0.0, 1.0, None]
    """
    out: list[float | None] = []
    for part in text.split(","):
        word = part.strip().lower()
        try:
            out.append(None if word == "none" else float(word))
        except ValueError:
            raise ParameterError(f"--{name} {text!r}: use numbers separated by commas, or none") from None
    return out


def whole_numbers(text: str, name: str) -> list[int]:
    """Read a comma-separated list of whole numbers.

    >>> whole_numbers("2,4", "knows")
    [2, 4]
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(f"--{name} {text!r}: use whole numbers separated by commas") from None


def target_count(text: str) -> int | str:
    """Read the number of targets, or `all`."""
    return "all" if text == "all" else whole_numbers(text, "targets")[0]
