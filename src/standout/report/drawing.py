"""Charts as files: Vega-Lite drawn by vl-convert, without a browser and without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from standout.errors import ParameterError
from standout.report.tables import Table

Spec = dict[str, Any]

INK, SOFT, GRID, PAPER = "#1b1f24", "#59626d", "#dfe3e8", "#ffffff"
SERIES = ("#0072b2", "#d55e00", "#00805d", "#b0508a", "#8a6d00", "#2f86c1", "#5a5a5a", "#7a3e9d")
"""After Okabe and Ito, darkened to a contrast of 3:1 on white; a dark page swaps each for a lighter one (report.css)."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
FONT = "Helvetica Neue, Helvetica, Arial, sans-serif"

WIDE, NARROW = 640, 300
"""Widths for which every chart is drawn: a page, and a phone of 360 pixels."""

FORMATS = ("svg", "png", "pdf")

CONFIG: Spec = {
    "font": FONT,
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT, "titleColor": SOFT, "labelFontSize": 11.5, "titleFontSize": 11.5, "titleFontWeight": "normal",
        "gridColor": GRID, "domainColor": SOFT, "tickColor": SOFT, "labelPadding": 5, "titlePadding": 8, "labelLimit": 240,
        "domain": False, "ticks": False,
    },
    "header": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 11.5, "labelFontWeight": "bold", "titleFontSize": 11.5,
               "titleFontWeight": "normal", "labelAnchor": "start", "labelPadding": 6},
    "legend": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 11.5, "titleFontSize": 11.5, "titleFontWeight": "normal",
               "orient": "top", "symbolSize": 60, "labelLimit": 260, "columnPadding": 16, "offset": 10},
    "text": {"color": SOFT, "fontSize": 11.5},
    "range": {"category": list(SERIES)},
}  # fmt: skip


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification that knows its width, with a sentence that says what it shows and the table behind it."""

    name: str
    title: str
    summary: str
    """What a reader who cannot see the chart should know."""
    build: Callable[[int], Spec]
    table: Table

    def spec(self, width: int = WIDE) -> Spec:
        """Vega-Lite specification, whole, for any program that speaks it (`altair.Chart.from_dict`)."""
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "description": self.summary,
            "config": CONFIG,
            **self.build(width),
        }

    def svg(self, width: int = WIDE) -> str:
        """Drawn as SVG."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self._bare(width)))

    def to_bytes(self, form: str, width: int = WIDE) -> bytes:
        """Drawn as svg, png or pdf, on white."""
        import vl_convert

        if form not in FORMATS:
            raise ParameterError(f"no picture format {form!r}. Formats: {', '.join(FORMATS)}")
        spec = self._bare(width)
        spec["config"] = {**CONFIG, "background": PAPER}
        if form == "svg":
            return str(vl_convert.vegalite_to_svg(spec)).encode()
        if form == "png":
            return bytes(vl_convert.vegalite_to_png(spec, scale=2))
        return bytes(vl_convert.vegalite_to_pdf(spec))

    def _bare(self, width: int) -> Spec:
        """Without the schema's address: vl-convert then takes the newest Vega-Lite it holds."""
        spec = self.spec(width)
        del spec["$schema"]
        return spec

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For notebooks: interactive where Vega-Lite is at hand, a picture elsewhere."""
        return {
            "application/vnd.vegalite.v5+json": self.spec(),
            "image/svg+xml": self.svg(),
            "text/plain": f"<Chart {self.name}: {self.title}>",
        }

    def _repr_html_(self) -> str:
        """For notebooks that take HTML only."""
        return for_page(self.svg(), self.summary)

    def __repr__(self) -> str:
        return f"<Chart {self.name}: {self.title}>"


def for_page(svg: str, label: str) -> str:
    """Make an SVG part of a page: one picture for a screen reader, its data as tooltips."""
    from html import escape

    def titled(mark: re.Match[str]) -> str:
        said = re.search(r'aria-label="([^"]*)"', mark[2])
        title = f"<title>{said[1]}</title>" if said else ""
        return f"<{mark[1]}{mark[2]}>{title}" + (f"</{mark[1]}>" if mark[3] else "")

    # marks carry their data in aria-label: a title shows it to the mouse, and a single label speaks for the whole picture
    text = re.sub(r'<(path|text|line|rect)\b([^<>]*role="graphics-symbol"[^<>]*?)(/?)>', titled, svg)
    text = re.sub(r' (?:role|aria-roledescription|aria-label|aria-hidden)="[^"]*"', "", text)
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{escape(label)}" ', text, count=1)


def spec_json(chart: Chart) -> str:
    """Specification as JSON text."""
    return json.dumps(chart.spec(), ensure_ascii=False, indent=1)
