"""Options of the command line: a command is a function, its options are its parameters, their help is its docstring.

An option that several commands have is described once: in `SHARED`, or in a group (`Reading`,
`KnowledgeOptions`). A new option of reading or of what is known is a field of its group.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar, get_origin

import typer

from standout.cli.option_values import (
    shares_or_counts,
    time_tolerances,
    value_tolerances,
    whole_numbers,
)
from standout.errors import ParameterError

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary
    from standout.audit.sweep import Axes
    from standout.data.catalog import Catalog

Command = Callable[..., None]
T = TypeVar("T")

SHARED = {
    "path": "File, folder or glob (CSV and other text, JSON lines, Parquet, Arrow, xlsx, SQLite, DuckDB, MovieLens, "
    "Netflix Prize; text may be gz or zst), file.db::table, book.xlsx::sheet, postgresql://, s3://, gs:// or "
    "https:// address, or - for standard input.",
    "seed": "Random seed.",
    "targets": "Number of records to attack, or all.",
    "attacks": "Attacks, comma-separated, or all.",
    "engine": "Engine that runs the attacks.",
    "memory": "Limit for resident memory, e.g. 2GB: records stay on disk, and --engine chunked reads them in parts.",
    "master": "With --engine spark: where Spark runs, e.g. local[4], spark://host:7077, yarn. Default: all cores.",
    "fresh": "Start from the beginning: ignore finished parts of a run that was stopped.",
    "json": "Print the findings as JSON on standard output, and nothing else there.",
    "out": "Folder for findings.json and report.html. Default: standout-out, or the next free standout-out-2, …",
    "overwrite": "Replace the findings that the output folder holds.",
    "redact": "Search the output for labels of the data before it is written; refuse if one is found.",
    "defense": "Defense that made the release. Default: as in FILE.manifest.json, else unknown.",
    "labels": "With --out: add the labels of the records.",
}
FLAGS = {"out": ("--out", "-o"), "channels": ("--channel",)}
"""Flags of options that are not called like their parameter."""

_DESCRIBED = re.compile(r"^(\w+)\n((?: +.*\n?)+)", re.MULTILINE)


@dataclass(frozen=True)
class Reading:
    """Options about reading the data: the keywords of `Dataset.read`.

    Parameters
    ----------
    record
        Column that names the person. Default: guessed.
    item
        Column that names the item. Default: guessed.
    value
        Column with the value; '' for none. Default: guessed.
    time
        Column with the time; '' for none. Default: guessed.
    repeats
        Repeated (record, item) pairs: keep, last, first, max, sum or count.
    skip_bad
        Drop rows that do not parse.
    max_bad
        Largest share of rows that --skip-bad may drop. Default: 0.01.
    time_unit
        Numeric times: s, ms, us, ns, min, hour, day or week. Dates: m/d or d/m.
    date_format
        Format of dates, e.g. '%d.%m.%Y %H:%M'.
    encoding
        Encoding of text, e.g. cp1252. Default: detected.
    delimiter
        Field separator, e.g. ';' or tab. Default: detected.
    decimal
        Decimal sign of values: . or , Default: detected.
    header
        Whether the first line holds names. Default: detected.
    names
        Names of the columns of a file without a header: user,item,time.
    wide
        Rows are records, columns are items.
    zeros
        With --wide: keep (a zero is an entry) or drop (it is not).
    table
        Table of a database, or sheet of a workbook.
    ignore
        Columns to leave out, comma-separated.
    resolution
        How finely times are kept: day, hour, minute or second. Default: the finest of these that
        the times have.
    channels
        Further columns of the entries: price=UnitPrice,quantity, known with --within.
    attributes
        Columns that belong to the person, the same in all rows of a record: age,zip=postcode.
    lat
        Column with the latitude in degrees, for --view grid:500m. Without an item column, the item
        is the place.
    lon
        Column with the longitude in degrees.
    """

    panel: ClassVar[str] = "Reading the data"

    record: str | None = None
    item: str | None = None
    value: str | None = None
    time: str | None = None
    repeats: str = "keep"
    skip_bad: bool = False
    max_bad: float | None = None
    time_unit: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    names: str | None = None
    wide: bool = False
    zeros: str | None = None
    table: str | None = None
    ignore: str | None = None
    resolution: str | None = None
    channels: str | None = None
    attributes: str | None = None
    lat: str | None = None
    lon: str | None = None

    @property
    def keywords(self) -> dict[str, Any]:
        """Keywords for `Dataset.read`, without those at their default."""
        given = {one.name: (getattr(self, one.name), one.default) for one in fields(self)}
        return {name: value for name, (value, default) in given.items() if value != default}


@dataclass(frozen=True)
class KnowledgeOptions:
    """Options about what is known of a person: lists for an audit, one value each elsewhere.

    Parameters
    ----------
    knows
        Number of known items.
    wrong
        How many of them are wrong.
    wrong_kind
        What a wrong fact is: value or item.
    value_within
        Largest error of known values, as a number, a share (10%) or round:UNIT; or none.
    time_within
        Largest error of known times: days, or 30min, 2h, 2w; or none.
    within
        Tolerance of further channels and of attributes that are known: price=10%,quantity=0,age=2,
        total=round:5 (rounded to multiples of 5).
    choose
        How known items are chosen: uniform, event, popular, favorite, recent, rarest,
        outside-top:K, rare:SHARE@T; items of one receipt (together:COLUMN, with --channel COLUMN),
        day (together:day) or week (window:7d), or one after the other (consecutive).
    view
        What is known in place of the items (groups:FILE.csv, grid:500m, sequence, baskets:RECEIPT)
        or can be known with them (hour-of-day, weekday, counts, totals). See docs/views.md.
    """

    panel: ClassVar[str | None] = None

    knows: str | None = None
    wrong: str | None = None
    wrong_kind: str | None = None
    value_within: str | None = None
    time_within: str | None = None
    within: str | None = None
    choose: str = "uniform"
    view: str | None = None

    def axes(self) -> Axes:
        """The options as axes of a sweep; invalid values are refused before the data is read."""
        from standout.adversary.adversary import Adversary
        from standout.audit.sweep import Axes
        from standout.views.view import view_of

        asked = Axes(
            knows=self._list("knows", whole_numbers),
            wrong=self._list("wrong", shares_or_counts),
            wrong_kind=self.wrong_kind,
            value_within=self._list("value_within", value_tolerances),
            time_within=self._list("time_within", time_tolerances),
            choose=self.choose,
            view=view_of(self.view),
            within=self.channels,
        )
        most = max(asked.knows or (16,))
        for k in asked.knows or (most,):
            Adversary(
                knows=k,
                wrong_kind=self.wrong_kind or "value",
                choose=self.choose,
                within=asked.within,
            )
        for w in asked.wrong or ():
            Adversary(knows=max(most, 1), wrong=w)
        for v in asked.value_within or ():
            Adversary(value_within=v)
        for t in asked.time_within or ():
            Adversary(time_within=t)
        return asked

    @property
    def channels(self) -> dict[str, float | str] | None:
        """Tolerances of further channels by name."""
        if self.within is None:
            return None
        pairs = [part.strip().partition("=") for part in self.within.split(",")]
        if not all(name and equals and within for name, equals, within in pairs):
            raise ParameterError(
                f"--within {self.within!r}: use NAME=TOLERANCE, separated by commas: price=10%,quantity=0"
            )
        for name, _, text in pairs:
            if name in ("value", "time"):
                raise ParameterError(f"--within {name}={text}: use --{name}-within {text}")
        read = {name: value_tolerances(text, "within")[0] for name, _, text in pairs}
        return {name: within for name, within in read.items() if within is not None}

    def _list(self, name: str, read: Callable[[str, str], list[T]]) -> tuple[T, ...] | None:
        text = getattr(self, name)
        return None if text is None else tuple(read(text, name.replace("_", "-")))

    def adversary(self, data: Catalog | None = None) -> Adversary:
        """The options as one adversary, without lists.

        Parameters
        ----------
        data
            Values are known exactly and times to within 14 days, where the data has them and the
            options say nothing. A tolerance of a channel that the data lacks is refused.
        """
        from standout.adversary.adversary import Adversary

        asked = self.axes()
        for name in ("knows", "wrong", "value_within", "time_within"):
            if len(getattr(asked, name) or ()) > 1:
                option = f"--{name.replace('_', '-')}"
                raise ParameterError(f"{option} {getattr(self, name)!r}: give one value")
        within: dict[str, Any] = {}
        for channel, default in (("value", 0.0), ("time", 14)):
            name = f"{channel}_within"
            given = getattr(asked, name)
            there = data is None or getattr(data, f"has_{channel}")
            if given is not None and given[0] is not None and not there:
                raise ParameterError(
                    f"--{channel}-within {getattr(self, name)}: the data has no {channel} column; leave the option out"
                )
            if given is not None:
                within[name] = given[0]
            else:
                within[name] = default if data is not None and there else None
        return Adversary(
            knows=(asked.knows or (8,))[0],
            wrong=(asked.wrong or (0,))[0],
            wrong_kind=self.wrong_kind or "value",
            choose=self.choose,
            view=self.view,
            within=self.channels,
            **within,
        )


def command(**flags: str) -> Callable[[Command], Command]:
    """Make a command of a function.

    A positional-only parameter is an argument, any other one an option. A parameter whose type is a
    group stands for one option per field of it; its default gives their defaults. The help of an
    option is in the function's docstring, else in that of its group, else in `SHARED`.

    Parameters
    ----------
    flags
        Flags of options that are not called like their parameter.
    """

    def decorate(function: Command) -> Command:
        options: list[inspect.Parameter] = []
        groups: dict[str, tuple[type[Reading | KnowledgeOptions], list[str]]] = {}
        arguments: list[str] = []
        own = _descriptions(function)
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            kind = parameter.annotation
            if not (isinstance(kind, type) and issubclass(kind, Reading | KnowledgeOptions)):
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    arguments.append(parameter.name)
                options.append(_option(parameter, SHARED | own, flags))
                continue
            default = parameter.default if parameter.default is not parameter.empty else kind()
            helps = _descriptions(kind) | own
            hints = inspect.signature(kind, eval_str=True).parameters
            groups[parameter.name] = kind, list(hints)
            for name, hint in hints.items():
                field = hint.replace(default=getattr(default, name))
                options.append(_option(field, helps, flags, kind.panel))

        @functools.wraps(function)
        def run(**given: Any) -> None:
            for name, (group, members) in groups.items():
                given[name] = group(**{one: given.pop(one) for one in members if one in given})
            positional = [given.pop(name) for name in arguments if name in given]
            function(*positional, **given)

        run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in options}
        run.__doc__ = (inspect.getdoc(function) or "").partition("Parameters\n")[0]
        return run

    return decorate


def _option(
    parameter: inspect.Parameter,
    helps: dict[str, str],
    flags: dict[str, str],
    panel: str | None = None,
) -> inspect.Parameter:
    """A parameter as typer reads it."""
    name, kind = parameter.name, parameter.annotation
    if get_origin(kind) is not Annotated:
        if parameter.kind is parameter.POSITIONAL_ONLY:
            kind = Annotated[kind, typer.Argument(help=helps.get(name))]
        else:
            words = (flags[name],) if name in flags else FLAGS.get(name, ())
            if parameter.default is False and not words:
                words = (f"--{name.replace('_', '-')}",)  # no --no-NAME
            kind = Annotated[
                kind, typer.Option(*words, help=helps.get(name), rich_help_panel=panel)
            ]
    return parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind)


def _descriptions(thing: Any) -> dict[str, str]:
    """The section Parameters of a docstring."""
    section = (inspect.getdoc(thing) or "").partition("Parameters\n----------\n")[2]
    return {name: " ".join(text.split()) for name, text in _DESCRIBED.findall(section)}
