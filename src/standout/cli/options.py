"""Options shared by several commands, and the parsing of lists on the command line."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from standout.errors import ParameterError

DataPath = Annotated[
    str,
    typer.Argument(
        help="File, folder or glob (CSV and other text, JSON lines, Parquet, Arrow, xlsx, SQLite, DuckDB, MovieLens, "
        "Netflix Prize; text may be gz or zst), file.db::table, book.xlsx::sheet, postgresql://, s3://, gs:// or "
        "https:// address, or - for standard input."
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Targets = Annotated[str, typer.Option(help="Number of records to attack, or all.")]
Attacks = Annotated[str, typer.Option(help="Attacks, comma-separated, or all.")]
Engine = Annotated[str, typer.Option(help="Engine that runs the attacks.")]
Memory = Annotated[
    str | None,
    typer.Option(
        help="Limit for resident memory, e.g. 2GB: records stay on disk, and --engine chunked reads them in parts."
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Start from the beginning: ignore finished parts of a run that was stopped."
    ),
]
View = Annotated[
    str | None,
    typer.Option(
        help="What is known in place of the items: groups:FILE.csv (two columns, item and group), sequence. See docs/views.md."
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the findings as JSON on standard output, and nothing else there."
    ),
]


def _option(help: str, *flags: str) -> Any:
    return typer.Option(*flags, help=help, rich_help_panel="Reading the data")


_RECORD = "Column that names the person. Default: guessed."
# one option per keyword of `Dataset.read`: its type and its default
_READING: dict[str, tuple[Any, Any]] = {
    "record": (Annotated[str | None, _option(_RECORD)], None),
    "item": (Annotated[str | None, _option("Column that names the item. Default: guessed.")], None),
    "value": (
        Annotated[str | None, _option("Column with the value; '' for none. Default: guessed.")],
        None,
    ),
    "time": (
        Annotated[str | None, _option("Column with the time; '' for none. Default: guessed.")],
        None,
    ),
    "repeats": (
        Annotated[
            str, _option("Repeated (record, item) pairs: keep, last, first, max, sum or count.")
        ],
        "keep",
    ),
    "skip_bad": (Annotated[bool, _option("Drop rows that do not parse.", "--skip-bad")], False),
    "max_bad": (
        Annotated[
            float | None, _option("Largest share of rows that --skip-bad may drop. Default: 0.01.")
        ],
        None,
    ),
    "time_unit": (
        Annotated[
            str | None,
            _option("Numeric times: s, ms, us, ns, min, hour, day or week. Dates: m/d or d/m."),
        ],
        None,
    ),
    "date_format": (
        Annotated[str | None, _option("Format of dates, e.g. '%d.%m.%Y %H:%M'.")],
        None,
    ),
    "encoding": (
        Annotated[str | None, _option("Encoding of text, e.g. cp1252. Default: detected.")],
        None,
    ),
    "delimiter": (
        Annotated[str | None, _option("Field separator, e.g. ';' or tab. Default: detected.")],
        None,
    ),
    "decimal": (
        Annotated[str | None, _option("Decimal sign of values: . or , Default: detected.")],
        None,
    ),
    "header": (
        Annotated[
            bool | None,
            _option(
                "Whether the first line holds names. Default: detected.", "--header/--no-header"
            ),
        ],
        None,
    ),
    "names": (
        Annotated[
            str | None, _option("Names of the columns of a file without a header: user,item,time.")
        ],
        None,
    ),
    "wide": (Annotated[bool, _option("Rows are records, columns are items.", "--wide")], False),
    "zeros": (
        Annotated[
            str | None, _option("With --wide: keep (a zero is an entry) or drop (it is not).")
        ],
        None,
    ),
    "table": (Annotated[str | None, _option("Table of a database, or sheet of a workbook.")], None),
    "ignore": (Annotated[str | None, _option("Columns to leave out, comma-separated.")], None),
    "resolution": (
        Annotated[
            str | None,
            _option(
                "How finely times are kept: day, hour, minute or second. Default: the finest of these that the times have."
            ),
        ],
        None,
    ),
}


@dataclass(frozen=True)
class Reading:
    """Options of the command line about reading."""

    keywords: dict[str, Any]
    """Keywords for `Dataset.read`, without those at their default."""


def reads(record: str = "--record") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of reading to a command: its parameter `reading` is replaced by one option per keyword.

    Parameters
    ----------
    record
        Flag for the column of the records, for a command that uses --record for something else.
    """

    def with_options(verb: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(verb)
        def run(**given: Any) -> None:
            keywords = {name: given.pop(name) for name in _READING}
            said = {name: x for name, x in keywords.items() if x != _READING[name][1]}
            verb(**given, reading=Reading(said))

        parameters = _expanded(verb, record)
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return with_options


def _expanded(verb: Callable[..., None], record: str) -> list[inspect.Parameter]:
    """Parameters of a command, with `reading` replaced by one parameter per option."""
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(verb, eval_str=True).parameters.values():
        if parameter.name != "reading":
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        for name, (kind, default) in _READING.items():
            if name == "record":
                kind = Annotated[str | None, _option(_RECORD, record)]
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
                )
            )
    return parameters


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
            raise ParameterError(
                f"--{name} {text!r}: use numbers separated by commas, or none"
            ) from None
    return out


def time_tolerances(text: str) -> tuple[float | str | None, ...]:
    """Read tolerances of times, separated by commas: a number of days, a text like 2h, or None for `none`.

    >>> time_tolerances("14, 2h,none")
    (14, '2h', None)
    """
    from standout.data.times import days_within

    words = [part.strip().lower() for part in text.split(",")]
    withins = [
        int(word) if word.isdecimal() else None if word == "none" else word for word in words
    ]
    try:
        for within in withins:
            if within is not None:
                days_within(within)
    except ParameterError:
        raise ParameterError(
            f"--time-within {text!r}: use whole days or tolerances like 30min, 2h or 2w, separated by commas, or none"
        ) from None
    return tuple(withins)


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
