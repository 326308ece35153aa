"""Tables of the charts' data: plain rows, and how they are written to files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from standout.report.words import between, number, percent

if TYPE_CHECKING:
    import pandas as pd

DANGEROUS = ("=", "+", "-", "@", "\t", "\n")
"""First characters that make a spreadsheet run a cell; a carriage return is read as a line feed."""


@dataclass(frozen=True)
class Column:
    """One column: its key in the rows, its heading, how its cells are written, and the term that explains it."""

    key: str
    title: str
    form: str = "text"
    """text, share, points (percentage points), interval (a rate's low and high), bits, p, count or number."""
    term: str = ""

    @property
    def numeric(self) -> bool:
        """Whether cells are right-aligned."""
        return self.form != "text"

    def text(self, row: Mapping[str, Any]) -> str:
        """Write the cell of a row."""
        if self.form == "interval":
            low, high = (row.get(f"{self.key}{end}") for end in ("low", "high"))
            return "–" if low is None or high is None else between({"low": low, "high": high})
        x = row.get(self.key)
        if x is None:
            return "–"
        if self.form == "bits":
            return f"{x:.2f}"
        if self.form == "p":
            return "<0.0001" if x < 1e-4 else f"{x:.2g}"
        if self.form == "points":
            return f"{100 * x:+.1f}" if x else "0"
        return percent(x) if self.form == "share" else number(x)

    def order(self, row: Mapping[str, Any]) -> str:
        """Key by which a browser sorts the cell."""
        x = row.get(f"{self.key}low" if self.form == "interval" else self.key)
        return "" if x is None else str(x)


@dataclass(frozen=True)
class ReportTable:
    """Rows of plain numbers under a heading. `name` is the file name of its exports."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def keys(self) -> list[str]:
        """Keys of the plain numbers, in column order."""
        keys: list[str] = []
        for c in self.columns:
            keys += [f"{c.key}low", f"{c.key}high"] if c.form == "interval" else [c.key]
        return keys

    def plain(self) -> list[dict[str, Any]]:
        """Rows with unrounded numbers."""
        return [{k: row.get(k) for k in self.keys} for row in self.rows]

    def cells(self) -> list[list[str]]:
        """Rows as a reader sees them."""
        return [[c.text(row) for c in self.columns] for row in self.rows]

    def csv_cells(self) -> list[list[Any]]:
        """Cells of the CSV file, unrounded and inert."""
        return [
            [inert("" if row[k] is None else row[k]) for k in self.keys] for row in self.plain()
        ]

    def to_csv(self) -> str:
        """CSV with unrounded numbers; no cell can run as a formula."""
        return csv_text(self.keys, ([row[k] for k in self.keys] for row in self.plain()))

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame of unrounded numbers."""
        import pandas as pd

        return pd.DataFrame(self.plain(), columns=self.keys)


def inert(cell: Any) -> Any:
    """Make text inert in a spreadsheet: put an apostrophe before text that would run as a formula.

    >>> inert("=HYPERLINK(1)"), inert("plain"), inert(-1.5)
    ("'=HYPERLINK(1)", 'plain', -1.5)
    """
    if not isinstance(cell, str):
        return cell
    # a lone carriage return would end the row for some readers
    text = cell.replace("\r\n", "\n").replace("\r", "\n")
    return f"'{text}" if text.startswith(DANGEROUS) else text


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV text, every text cell inert."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([inert(h) for h in header])
    writer.writerows([inert("" if x is None else x) for x in row] for row in rows)
    return out.getvalue()
