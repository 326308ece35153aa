"""`Section`: a part of the report, and the conversion of plain data to one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from standout.report.drawing import Chart
from standout.report.tables import Column, ReportTable
from standout.report.words import number

MOST_ROWS = 200


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, charts with their tables, and further tables."""

    id: str
    title: str
    text: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    points: tuple[tuple[str, str], ...] = ()
    """Pairs of a term and its text."""
    parts: tuple[Section, ...] = field(default=())


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
    (('Mean', '2.5'),)
    """
    if not isinstance(content, Mapping):
        content = {"result": content}
    points: list[tuple[str, str]] = []
    tables: list[ReportTable] = []
    parts: list[Section] = []
    text: list[str] = []
    for key, x in content.items():
        if isinstance(x, Mapping) and not any(
            isinstance(v, Mapping | list | tuple) for v in x.values()
        ):
            points.append(
                (heading(key), written({heading(k).lower(): v for k, v in x.items()}) or "–")
            )
        elif isinstance(x, Mapping):
            parts.append(generic(f"{name}-{key}", heading(key), x))
        elif isinstance(x, list | tuple) and x and all(isinstance(r, Mapping) for r in x):
            tables.append(plain_table(f"{name}-{key}", heading(key), list(x)))
        elif isinstance(x, list | tuple):
            points.append((heading(key), written(x[:MOST_ROWS]) or "–"))
        elif key in ("words", "summary", "text", "note") and isinstance(x, str):
            text.append(x)
        else:
            points.append((heading(key), number(x)))
    return Section(name, title, tuple(text), (), tuple(tables), tuple(points), tuple(parts))


def plain_table(name: str, title: str, rows: list[Mapping[str, Any]]) -> ReportTable:
    """A table with all columns of the rows; nested cells are written as text."""
    flat = []
    for row in rows[:MOST_ROWS]:
        one: dict[str, Any] = {}
        for k, v in row.items():
            if isinstance(v, Mapping):
                one |= {
                    f"{k}_{inner}": x if not isinstance(x, Mapping | list | tuple) else written(x)
                    for inner, x in v.items()
                }
            else:
                one[k] = written(v) if isinstance(v, list | tuple) else v
        flat.append(one)
    keys = list(dict.fromkeys(k for row in flat for k in row))
    numeric = {
        k
        for k in keys
        if all(row.get(k) is None or isinstance(row.get(k), int | float) for row in flat)
    }
    columns = tuple(
        Column(k, heading(k).lower(), "number" if k in numeric else "text") for k in keys
    )
    shown = title if len(rows) <= MOST_ROWS else f"{title} (first {MOST_ROWS} of {len(rows):,})"
    return ReportTable(name, shown, columns, tuple(flat))
