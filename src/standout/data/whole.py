"""Everything that a source holds: the columns that reading left out, and a hash of all bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from standout.data.catalog import Catalog
from standout.data.cleaning import ColumnUse
from standout.errors import InputError

_KEY = "_whole"


@dataclass(frozen=True)
class Whole:
    """All columns of a source, and a hash of all that it holds."""

    columns: tuple[ColumnUse, ...]
    """Role "harmless" for an ignored column that adds nothing to the others, with the reason."""
    sha256: str | None
    """Hash of all bytes of the files, or of all cells of a table on a server; None if there is none."""
    covers: str
    """What the hash covers, or why there is none."""


How = Whole | Callable[[], Whole]
"""What is known of a source, or how to find it out: reading every column costs time that only a check needs."""


def remember(data: Catalog, how: How) -> None:
    """Let a dataset know its source. Datasets derived from it do not know it."""
    data.__dict__[_KEY] = how


def carry(old: Catalog, new: Catalog) -> None:
    """Let a dataset with the same content know the source of another one."""
    if _KEY in old.__dict__:
        new.__dict__[_KEY] = old.__dict__[_KEY]


def whole_of(data: Catalog) -> Whole:
    """Examine the source of a dataset: every column is read.

    Raises
    ------
    InputError
        If the source changed after it was read.
    """
    how = data.__dict__.get(_KEY)
    if how is not None:
        return how if isinstance(how, Whole) else how()
    uses = data.cleaning.columns
    if data.origin is not None:  # made in memory by a defense, which leaves out all other columns
        uses = tuple(use for use in uses if use.is_read)
    return Whole(uses, None, "the data is not a file: the hash covers what was measured")


def unexamined(uses: tuple[ColumnUse, ...], why: str) -> Whole:
    """What is known of a source that cannot be read again."""
    return Whole(uses, None, f"{why}: the hash covers what was measured")


def changed(name: str) -> InputError:
    """Error for a source that is not what it was when it was read."""
    return InputError(f"{name} changed after it was read: read it again when nothing writes to it")
