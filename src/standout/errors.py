"""Everything standout raises on purpose.

::

    StandoutError            the root: catch this one
    ├── InputError           a file, a column or a cell is not what it has to be
    │   ├── ColumnError      a column is missing, or more than one could be meant
    │   └── RowError         rows that do not parse
    ├── ParameterError       an option has a value that makes no sense
    ├── EligibilityError     no record can be a target of this adversary
    └── EngineError          the asked-for engine cannot run here

A message says what was wrong, the value, and what to do. It never holds a record's label or contents.
"""

from __future__ import annotations


class StandoutError(Exception):
    """Root of all errors that standout raises on purpose."""


class InputError(StandoutError):
    """A file, a column or a cell is not what it has to be."""


class ColumnError(InputError):
    """A column is missing, or more than one could be meant."""


class RowError(InputError):
    """Rows that do not parse."""


class ParameterError(StandoutError, ValueError):
    """An option has a value that makes no sense."""


class EligibilityError(StandoutError):
    """No record can be a target of this adversary."""


class EngineError(StandoutError):
    """The asked-for engine cannot run here."""
