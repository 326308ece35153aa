"""The exceptions of standout.

::

    StandoutError            the base class of all of them
    ├── InputError           a file, a column or a cell is not valid
    │   ├── ColumnError      a column is missing or ambiguous
    │   └── RowError         rows that do not parse
    ├── ParameterError       an option has an invalid value
    ├── EligibilityError     no record can be a target of this adversary
    └── EngineError          the requested engine cannot run here

A message says what was wrong, the value, and what to do. It never holds a record's label or contents.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

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


def unknown_name(kind: str, name: object, known: Sequence[str]) -> ParameterError:
    """Error for a name that is not registered, with the known names and the nearest of them.

    >>> print(unknown_name("engine", "memry", ["memory", "gpu"]))
    no engine 'memry'. Engines: memory, gpu. Did you mean 'memory'?
    """
    close = difflib.get_close_matches(str(name), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ParameterError(f"no {kind} {name!r}. {kind.capitalize()}s: {', '.join(known)}.{hint}")
