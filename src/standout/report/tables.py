"""Tables and sections of a report: plain rows, how they are written, and the conversion of plain data to them."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.report.words import between, number, percent

if TYPE_CHECKING:
    import pandas as pd

    from standout.report.drawing import Chart

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


def rate_cells(rate: Mapping[str, Any]) -> dict[str, Any]:
    """The numbers of a rate, for a row."""
    return {k: rate[k] for k in ("rate", "low", "high", "count", "n")}


@dataclass(frozen=True)
class ReportTable:
    """Rows of plain numbers under a heading. `name` is the file name of its exports."""

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]

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
        return [_inert_row(row.values()) for row in self.plain()]

    def to_csv(self) -> str:
        """CSV with unrounded numbers; no cell can run as a formula."""
        return csv_text(self.keys, (row.values() for row in self.plain()))

    def to_html(self) -> str:
        """An HTML table without style, for notebooks."""
        return html_table([c.title for c in self.columns], self.cells())

    def to_frame(self) -> pd.DataFrame:
        """A pandas frame of unrounded numbers."""
        import pandas as pd

        return pd.DataFrame(self.plain(), columns=self.keys)


def make_table(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    *more: Sequence[str],
    without: Collection[str] = (),
) -> ReportTable:
    """A table with the title and columns of tables.toml; `more` are those of its group "more", `without` are left out."""
    tables = _read_specs()
    groups = {**tables["groups"], "more": more}
    lists = [[c] if isinstance(c, list) else groups[c] for c in tables[name]["columns"]]
    columns = [Column(*fields) for group in lists for fields in group if fields[0] not in without]
    return ReportTable(name, tables[name]["title"], columns, rows)


@cache
def _read_specs() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


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


def _inert_row(row: Iterable[Any]) -> list[Any]:
    return [inert("" if x is None else x) for x in row]


def csv_text(header: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """CSV text, every text cell inert."""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_inert_row, [header, *rows]))
    return out.getvalue()


def html_table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """An HTML table of text cells, without style."""

    def line(cells: Iterable[str], tag: str) -> str:
        return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(header, 'th')}</thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, charts with their tables, and further tables."""

    id: str
    title: str
    text: Sequence[str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[ReportTable] = ()
    points: Sequence[tuple[str, str]] = ()
    """Pairs of a term and its text."""
    parts: Sequence[Section] = ()


MOST_ROWS = 200


def written(x: Any) -> str:
    """Write any plain value: a number, a list, a mapping."""
    if isinstance(x, Mapping):
        return ", ".join(f"{k} {written(v)}" for k, v in x.items())
    return "; ".join(map(written, x)) if isinstance(x, list | tuple) else number(x)


def heading(name: str) -> str:
    """Make a heading of a key.

    >>> heading("n_attacks"), heading("data_sha256")
    ('Attacks', 'Data sha256')
    """
    return name.removeprefix("n_").replace("_", " ").replace("-", " ").capitalize()


def generic(name: str, title: str, content: Any) -> Section:
    """Section from plain data of any shape: headings, pairs and tables.

    >>> generic("x", "X", {"mean": 2.5, "rows": [{"k": 1, "p": 0.1}]}).points
    [('Mean', '2.5')]
    """
    if not isinstance(content, Mapping):
        content = {"result": content}
    points: list[tuple[str, str]] = []
    tables: list[ReportTable] = []
    parts: list[Section] = []
    text: list[str] = []
    for key, x in content.items():
        name_of_part = f"{name}-{key}"
        if isinstance(x, Mapping) and any(
            isinstance(v, Mapping | list | tuple) for v in x.values()
        ):
            parts.append(generic(name_of_part, heading(key), x))
        elif isinstance(x, Mapping):
            points.append(
                (heading(key), written({heading(k).lower(): v for k, v in x.items()}) or "–")
            )
        elif is_table(x):
            tables.append(plain_table(name_of_part, heading(key), x))
        elif isinstance(x, list | tuple):
            points.append((heading(key), written(x[:MOST_ROWS]) or "–"))
        elif key in ("words", "summary", "text", "note") and isinstance(x, str):
            text.append(x)
        else:
            points.append((heading(key), number(x)))
    return Section(name, title, text, tables=tables, points=points, parts=parts)


def is_table(x: Any) -> bool:
    """Whether plain data is a list of rows."""
    return isinstance(x, list | tuple) and bool(x) and all(isinstance(row, Mapping) for row in x)


def plain_table(name: str, title: str, rows: Sequence[Mapping[str, Any]]) -> ReportTable:
    """A table with all columns of the rows; nested cells are written as text."""
    flat = []
    for row in rows[:MOST_ROWS]:
        one: dict[str, Any] = {}
        for k, v in row.items():
            one |= (
                {f"{k}_{inner}": x for inner, x in v.items()} if isinstance(v, Mapping) else {k: v}
            )
        flat.append(
            {k: written(v) if isinstance(v, Mapping | list | tuple) else v for k, v in one.items()}
        )
    keys = dict.fromkeys(k for row in flat for k in row)
    columns = [
        Column(
            k,
            heading(k).lower(),
            "number" if all(isinstance(row.get(k), int | float | None) for row in flat) else "text",
        )
        for k in keys
    ]
    shown = title if len(rows) <= MOST_ROWS else f"{title} (first {MOST_ROWS} of {len(rows):,})"
    return ReportTable(name, shown, columns, flat)
