"""Results in a notebook cell: a description of the data, and one query explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from standout.report.drawing import Chart, for_page
from standout.report.tables import ReportTable

if TYPE_CHECKING:
    from standout.theory.describe import Description

STYLE = "max-width: 44rem; background: #ffffff; color: #1b1f24; padding: 0.5rem 1rem"


def description_html(found: Description) -> str:
    """The overview in words, then the two charts."""
    from standout.report import why
    from standout.report.described import overview_points

    plain = found.to_dict()
    o = plain["overview"]
    said = f"<p><b>{o['n_records']:,} records × {o['n_items']:,} items, {o['n_entries']:,} entries</b></p>"
    rows = "".join(
        f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in overview_points(o)
    )
    return _box(f"{said}<table>{rows}</table>", (why.information(plain), why.sparsity(plain)))


def explanation_html(explanation: Mapping[str, Any]) -> str:
    """What happened in words, the charts and the table of facts."""
    from standout.report.explanation import fact_table, sentences
    from standout.report.waterfall import explanation_charts

    said = "".join(f"<p>{escape(s)}</p>" for s in sentences(explanation))
    return _box(said, explanation_charts(explanation), fact_table(explanation))


def _box(head: str, charts: Iterable[Chart | None], table: ReportTable | None = None) -> str:
    """A fragment without script or style sheet, on white, for Jupyter and marimo."""
    drawn = "".join(
        f"<p><b>{escape(c.title)}</b></p>{for_page(c.svg(), c.summary)}<p>{escape(c.summary)}</p>"
        for c in charts
        if c
    )
    return f'<div style="{STYLE}">{head}{drawn}{_table(table) if table else ""}</div>'


def _table(table: ReportTable) -> str:
    head = "".join(f"<th>{escape(c.title)}</th>" for c in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in table.cells()
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
