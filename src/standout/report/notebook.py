"""Findings in a notebook cell: the three sentences, the risk chart and its numbers."""

from __future__ import annotations

from html import escape

from standout.audit.findings import Findings
from standout.report.drawing import for_page
from standout.report.risk_chart import risk
from standout.report.sentences import answer
from standout.report.view import view


def html(findings: Findings) -> str:
    """A fragment without script or style sheet, on white, for Jupyter and marimo."""
    seen = view(findings)
    chart = risk(seen)
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in answer(seen).sentences)
    head = "".join(f"<th>{escape(c.title)}</th>" for c in chart.table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in chart.table.cells()
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    behind = f"<details><summary>{escape(chart.table.title)}</summary>{table}</details>"
    return (
        '<div style="max-width: 44rem; background: #ffffff; color: #1b1f24; padding: 0.5rem 1rem">'
        f"{said}{for_page(chart.svg(), chart.summary)}{behind}</div>"
    )
