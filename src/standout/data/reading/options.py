"""Options of reading: the keywords of `Dataset.read`, checked in one place."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from standout.data.positions import LAT, LON, is_position
from standout.data.scale import check_name
from standout.data.times import check_resolution, check_time_unit
from standout.errors import ParameterError

MOST_BAD = 0.01
"""Share of rows that `skip_bad` may drop unless `max_bad` allows more."""

_DELIMITERS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";", "pipe": "|"}


class Guess(Enum):
    """Type of `GUESS`, the default of column options."""

    GUESS = "guess"

    def __repr__(self) -> str:
        return "GUESS"


GUESS = Guess.GUESS
"""Default of `record`, `item`, `value` and `time`: guess the column. None means that there is no such column."""

Column = str | Guess | None

Columns = Mapping[str, str] | Sequence[str] | str | None
"""Columns by name of the channel or attribute; names alone, in a list or separated by commas; or text: "price=UnitPrice,age"."""


@dataclass(frozen=True)
class ReadOptions:
    """How to read a source. See `Dataset.read` for what each option means."""

    record: Column = GUESS
    item: Column = GUESS
    value: Column = GUESS
    time: Column = GUESS
    repeats: str = "keep"
    skip_bad: bool = False
    max_bad: float | None = None
    time_unit: str | None = None
    date_format: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None
    names: Sequence[str] | str | None = None
    wide: bool = False
    zeros: str | None = None
    ignore: Sequence[str] | str | None = None
    table: str | None = None
    resolution: str | None = None
    channels: Columns = None
    attributes: Columns = None
    lat: str | None = None
    lon: str | None = None

    def __post_init__(self) -> None:
        for name in (
            "time_unit",
            "date_format",
            "encoding",
            "delimiter",
            "decimal",
            "zeros",
            "table",
            "resolution",
            LAT,
            LON,
        ):
            _check_text(name, getattr(self, name))
        check_time_unit(self.time_unit)
        if self.resolution is not None:
            check_resolution(self.resolution)
        self._check_bad()
        self._check_text_options()
        for name in ("channels", "attributes"):
            object.__setattr__(self, name, _by_name(name, getattr(self, name)))
        self._check_position()
        for role in ("record", "item", "value", "time"):
            free = (role == "record" and self.wide) or (role == "item" and self.has_position)
            _check_column(role, getattr(self, role), needed=role in ("record", "item") and not free)
        if both := self.further["channel"].keys() & self.further["attribute"].keys():
            raise ParameterError(
                f"{min(both)!r} is named as a channel (channels, --channel) and as an attribute (attributes, --attributes): "
                "name it once"
            )
        if self.wide:
            self._check_wide()
        elif self.zeros is not None:
            raise ParameterError("zeros is for wide matrices: give wide=True (--wide) with it")
        for name in ("names", "ignore"):
            object.__setattr__(self, name, _listed(name, getattr(self, name)))
        if self.names is not None and self.header:
            raise ParameterError(
                "names are for a file without a header: leave out header=True (--header)"
            )

    @property
    def roles(self) -> dict[str, Column]:
        """Role → column as given; an empty text means no column, like None."""
        given = {"record": self.record, "item": self.item, "value": self.value, "time": self.time}
        return {role: None if column == "" else column for role, column in given.items()}

    @property
    def further(self) -> dict[str, dict[str, str]]:
        """Columns of the channels beside the value (`channel`) and of the attributes (`attribute`), by name."""
        given = {"channel": self.channels, "attribute": self.attributes}
        further = {
            kind: dict(columns) if isinstance(columns, Mapping) else {}
            for kind, columns in given.items()
        }
        place = {LAT: self.lat, LON: self.lon}
        further["channel"] |= {name: column for name, column in place.items() if column}
        return further

    @property
    def has_position(self) -> bool:
        """Whether entries have a latitude and a longitude, and so need no item."""
        return is_position(self.further["channel"])

    @property
    def most_bad(self) -> float:
        """Largest share of rows that may be dropped because they do not parse."""
        return MOST_BAD if self.max_bad is None else self.max_bad

    def named(self) -> list[str]:
        """Options that differ from their defaults, as text, without those that apply to every source."""
        free = ("repeats", "skip_bad", "max_bad", "resolution")
        fields = {
            name: getattr(self, name) for name in self.__dataclass_fields__ if name not in free
        }
        return [
            f"{name}={x!r}"
            for name, x in fields.items()
            if x is not None and x is not GUESS and x is not False
        ]

    def _check_position(self) -> None:
        """Refuse one of latitude and longitude without the other, and either of them named twice."""
        given = {LAT: self.lat, LON: self.lon}
        if len({bool(column) for column in given.values()}) > 1:
            have, lack = (LAT, LON) if self.lat else (LON, LAT)
            raise ParameterError(
                f"{have}={given[have]!r} without {lack}: name both columns, lat= and lon= (--lat, --lon)"
            )
        channels = self.channels if isinstance(self.channels, Mapping) else {}
        if twice := [name for name, column in given.items() if column and name in channels]:
            raise ParameterError(
                f"{twice[0]} is given twice, as {twice[0]}= and in channels (--{twice[0]}, --channel): give it once"
            )

    def _check_bad(self) -> None:
        if self.max_bad is None:
            return
        if (
            isinstance(self.max_bad, bool)
            or not isinstance(self.max_bad, (int, float))
            or not 0 <= self.max_bad <= 1
        ):
            raise ParameterError(
                f"max_bad={self.max_bad!r}: give a share of the rows between 0 and 1"
            )
        if not self.skip_bad:
            raise ParameterError(
                "max_bad has no effect without skip_bad=True (--skip-bad): give both"
            )

    def _check_text_options(self) -> None:
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ParameterError(
                    f"encoding={self.encoding!r} is not known: use utf-8, cp1252, utf-16, …"
                ) from None
        if self.delimiter is not None:
            delimiter = _DELIMITERS.get(self.delimiter, self.delimiter)
            if not 1 <= len(delimiter) <= 4 or any(c in delimiter for c in '\r\n"'):
                raise ParameterError(
                    f"delimiter={self.delimiter!r}: use 1 to 4 characters, or tab, space, pipe"
                )
            object.__setattr__(self, "delimiter", delimiter)
        if self.decimal not in (None, ".", ","):
            raise ParameterError(f"decimal={self.decimal!r}: use '.' or ','")
        if self.date_format is not None and "%" not in self.date_format:
            raise ParameterError(
                f"date_format={self.date_format!r}: use a format such as %d.%m.%Y or %m/%d/%y %H:%M"
            )
        if self.date_format is not None and self.time_unit is not None:
            raise ParameterError("date_format and time_unit exclude each other: give one of them")

    def _check_wide(self) -> None:
        for name in ("channels", "attributes"):
            if self.further[name.removesuffix("s")]:
                raise ParameterError(
                    f"{name} have no place in a wide matrix, whose columns are the items: leave them out"
                )
        for role in ("item", "value", "time"):
            if getattr(self, role) is not GUESS:
                raise ParameterError(
                    f"{role} has no place in a wide matrix, whose columns are the items: leave it out"
                )
        if self.zeros not in (None, "keep", "drop"):
            raise ParameterError(
                f"zeros={self.zeros!r}: use keep (a zero is an entry) or drop (it is not)"
            )
        if (
            self.time_unit is not None
            or self.date_format is not None
            or self.resolution not in (None, "day")
        ):
            raise ParameterError(
                "a wide matrix has no times: leave out time_unit, date_format and resolution"
            )


def _check_column(role: str, column: Any, *, needed: bool) -> None:
    if column is not GUESS and column is not None and not isinstance(column, str):
        raise ParameterError(f"{role}={column!r}: give the name of a column as text")
    if needed and (column is None or column == ""):
        places = ", or --lat and --lon (lat=, lon=) for places" if role == "item" else ""
        raise ParameterError(
            f"{role}={column!r}: every entry belongs to a record and an item; name the column, or leave {role} out{places}"
        )


def _check_text(name: str, text: Any) -> None:
    if text is not None and not isinstance(text, str):
        raise ParameterError(f"{name}={text!r}: give text")


def _listed(name: str, given: Any) -> tuple[str, ...] | None:
    """Names in a list, or separated by commas."""
    if given is None:
        return None
    parts = given.split(",") if isinstance(given, str) else given
    try:
        names = tuple(part.strip() for part in parts)
    except (TypeError, AttributeError):
        raise ParameterError(
            f"{name}: give names of columns, in a list or separated by commas"
        ) from None
    if not names or any(not part for part in names):
        raise ParameterError(f"{name}: one of the names is empty")
    twice = sorted({part for part in names if names.count(part) > 1})
    if twice:
        raise ParameterError(f"{name}: {', '.join(twice)} occurs more than once")
    return names


def _by_name(option: str, given: Any) -> dict[str, str] | None:
    """Column of each channel or attribute by name."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        pairs = [(check_name(name), column) for name, column in given.items()]
    else:
        parts = [part.partition("=") for part in _listed(option, given) or ()]
        pairs = [(name.strip(), column.strip() if sign else name) for name, sign, column in parts]
        for name, _ in pairs:
            if not name.isidentifier():
                raise ParameterError(
                    f"{option}: {name!r} is not a name of letters, digits and _; give the column a name: "
                    f"{{'price': {name!r}}} (--{option.removesuffix('s') if option == 'channels' else option} price={name!r})"
                )
            check_name(name)
    if any(not isinstance(column, str) or not column for _, column in pairs):
        raise ParameterError(f"{option}: give the name of a column for each name")
    if twice := sorted({name for name, _ in pairs if [n for n, _ in pairs].count(name) > 1}):
        raise ParameterError(f"{option}: {', '.join(twice)} occurs more than once")
    return dict(pairs)
