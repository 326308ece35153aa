"""The exceptions of standout, raised in all of its folders, and how a message names an option.

::

    StandoutError            the base class of all of them
    ├── InputError           a file, a column or a cell is not valid
    │   ├── ColumnError      a column is missing or ambiguous
    │   └── RowError         rows that do not parse
    ├── ParameterError       an option has an invalid value
    ├── EligibilityError     no record can be a target of this adversary
    └── EngineError          the requested engine cannot run here

A message says what was wrong, the value, and what to do. It never holds a record's label or
contents. The same code is called from Python and from the command line, which write an option
differently: `option` gives the right way, and the commands run inside `command_line`.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

LONGEST = 2000
"""Characters of a message: names from a file may be very long."""


class StandoutError(Exception):
    """Base class of all errors that standout raises."""

    def __init__(self, message: object = "") -> None:
        text = str(message)
        super().__init__(text if len(text) <= LONGEST else f"{text[: LONGEST - 20]} … (shortened)")


class InputError(StandoutError):
    """A file, a column or a cell is not valid."""


class ColumnError(InputError):
    """A column is missing or ambiguous."""


class RowError(InputError):
    """Rows that do not parse."""


class ParameterError(StandoutError, ValueError):
    """An option has an invalid value."""


class EligibilityError(StandoutError):
    """No record can be a target of this adversary."""


class EngineError(StandoutError):
    """The requested engine cannot run here."""


_in_command = False


@contextmanager
def command_line() -> Iterator[None]:
    """Context of a command: in it, `option` writes names as the command line does."""
    global _in_command
    _in_command = True
    try:
        yield
    finally:
        _in_command = False


def option(name: str, value: str | None = "NAME") -> str:
    """How to give an option, for a message: as a keyword in Python, with two hyphens on the command line.

    Parameters
    ----------
    name
        The keyword.
    value
        What to give, as text; None for an option that is switched on, "" for none.

    >>> option("record"), option("wide", None), option("time", "")
    ("record='NAME'", 'wide=True', 'time=None')
    >>> with command_line():
    ...     option("record"), option("time_unit", "day"), option("wide", None), option("time", "")
    ('--record NAME', '--time-unit day', '--wide', "--time ''")
    """
    if _in_command:
        flag = f"--{name.replace('_', '-')}"
        return flag if value is None else f"{flag} {value or repr('')}"
    return f"{name}={True if value is None else repr(value or None)}"


def unknown_name(kind: str, name: object, known: Sequence[str]) -> ParameterError:
    """Error for a name that is not registered, with the known names and the nearest of them.

    >>> print(unknown_name("engine", "memry", ["memory", "gpu"]))
    no engine 'memry'. Engines: memory, gpu. Did you mean 'memory'?
    """
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ParameterError(f"no {kind} {name!r}. {kind.capitalize()}s: {', '.join(known)}.{hint}")
