"""What reading did to the rows and columns of the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MEASURED = ("record", "item", "value", "time")
"""Roles of columns that every adversary may know."""


@dataclass(frozen=True)
class ColumnUse:
    """What a column of the source is used for."""

    name: str
    role: str
    """record, item, value, time, "channel NAME" or "attribute NAME"; "ignored" if the column is not used."""
    reason: str
    """How the role was found and what the column holds, in words, without any cell."""
    identifier: str | None = None
    """Direct identifier that the column looks like, such as "e-mail address"."""

    @property
    def further(self) -> str | None:
        """Name of the further channel or of the attribute that the column is; None for every other column."""
        kind, _, name = self.role.partition(" ")
        return name if kind in ("channel", "attribute") and name else None

    @property
    def is_read(self) -> bool:
        """Whether the column is a part of the dataset."""
        return self.role in MEASURED or self.further is not None


@dataclass(frozen=True)
class Cleaning:
    """What reading did to the rows. All dropped and merged rows are counted here."""

    rows_read: int = 0
    rows_bad: int = 0
    rows_without_record: int = 0
    rows_without_item: int = 0
    repeated_pairs: int = 0
    """Entries beyond the first of their (record, item) pair."""
    repeats: str = "keep"
    values_missing: int = 0
    times_missing: int = 0
    finest_time: str = ""
    """Finest unit that the times of the source have: day, hour, minute, second or millisecond; empty without times."""
    times_midnight: int = 0
    """Times that are exactly 0:00, if they are more than times of day would give: probably dates without a time of day."""
    notes: tuple[str, ...] = ()
    """How columns were chosen and times read, in words."""
    columns: tuple[ColumnUse, ...] = ()
    """Every column of the source, used or ignored; empty if the source has no columns."""


def ignored_note(columns: Sequence[ColumnUse]) -> list[str]:
    """Sentence that lists the ignored columns, if there are any."""
    ignored = [use.name for use in columns if use.role == "ignored"]
    if not ignored:
        return []
    listed = ", ".join(ignored[:20]) + (
        f" and {len(ignored) - 20:,} more" if len(ignored) > 20 else ""
    )
    return [f"ignored columns, whose risk is not measured: {listed}"]


def identifier_notes(columns: Sequence[ColumnUse]) -> list[str]:
    """A warning per column that looks like a direct identifier."""
    return [
        f"warning: column {use.name!r} looks like a direct identifier ({use.identifier}): remove it before a release"
        for use in columns
        if use.identifier is not None
    ]
