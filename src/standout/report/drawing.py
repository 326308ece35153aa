"""Charts as files: Vega-Lite drawn by vl-convert, without a browser and without a network."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from standout.errors import ParameterError
from standout.report.tables import ReportTable

Spec = dict[str, Any]

INK, SOFT, GRID, PAPER = "#1b1f24", "#59626d", "#dfe3e8", "#ffffff"
SERIES = ("#0072b2", "#d55e00", "#00805d", "#b0508a", "#8a6d00", "#2f86c1", "#5a5a5a", "#7a3e9d")
"""After Okabe and Ito, darkened to a contrast of 3:1 on white; a dark page swaps each for a lighter one (report.css)."""

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)
FONT = "Helvetica Neue, Helvetica, Arial, sans-serif"

WIDE, NARROW = 660, 320
"""Widths for which every chart is drawn: a page, and a phone of 360 pixels."""

FORMATS = ("svg", "png", "pdf")

SLACK = 1.2
"""Charts are laid out for letters this much larger than drawn, because the reader's font may be wider."""

LETTER = 6.6
"""Width of a letter in pixels, for layout."""

CONFIG: Spec = {
    "font": FONT,
    "background": None,
    "padding": 1,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "labelPadding": 5,
        "titlePadding": 8,
        "labelLimit": 0,
        "domain": False,
        "ticks": False,
    },
    "header": {
        "labelColor": INK,
        "titleColor": SOFT,
        "labelFontSize": 11.5,
        "labelFontWeight": "bold",
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "labelAnchor": "start",
        "labelPadding": 6,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": SOFT,
        "labelFontSize": 11.5,
        "titleFontSize": 11.5,
        "titleFontWeight": "normal",
        "orient": "top",
        "symbolSize": 60,
        "labelLimit": 0,
        "columnPadding": 18,
        "offset": 10,
    },
    "text": {"color": SOFT, "fontSize": 11.5},
    "range": {"category": list(SERIES)},
}


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification for any width, with a summary in words and the table of its data."""

    name: str
    title: str
    summary: str
    """What a reader who cannot see the chart should know."""
    build: Callable[[int], Spec]
    table: ReportTable

    def spec(self, width: int = WIDE) -> Spec:
        """Complete Vega-Lite specification, e.g. for `altair.Chart.from_dict`."""
        built = self.build(width)
        # the width includes labels; charts with panels set the size of a panel
        fit: Spec = (
            {} if "facet" in built else {"autosize": {"type": "fit-x", "contains": "padding"}}
        )
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "description": self.summary,
            "config": CONFIG,
            **fit,
            **built,
        }

    def svg(self, width: int = WIDE, background: str | None = None) -> str:
        """SVG text, with space for a font that is wider than the one measured."""
        import vl_convert

        spec = self.spec(width)
        # without the schema's address vl-convert uses its newest Vega-Lite
        del spec["$schema"]
        spec["config"] = {**_enlarged(CONFIG), "background": background}
        return _shrink_text(str(vl_convert.vegalite_to_svg(spec)))

    def to_bytes(self, form: str, width: int = WIDE) -> bytes:
        """File contents as svg, png or pdf, on white."""
        import vl_convert

        if form not in FORMATS:
            raise ParameterError(f"no picture format {form!r}. Formats: {', '.join(FORMATS)}")
        svg = self.svg(width, PAPER)
        if form == "svg":
            return svg.encode()
        return bytes(
            vl_convert.svg_to_png(svg, scale=2) if form == "png" else vl_convert.svg_to_pdf(svg)
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """For notebooks: interactive if Vega-Lite is available, else a picture."""
        return {
            "application/vnd.vegalite.v5+json": self.spec(),
            "image/svg+xml": self.svg(),
            "text/plain": f"<Chart {self.name}: {self.title}>",
        }

    def _repr_html_(self) -> str:
        """For notebooks that only show HTML."""
        return for_page(self.svg(), self.summary)

    def __repr__(self) -> str:
        return f"<Chart {self.name}: {self.title}>"


def text_width(text: str) -> float:
    """Pixels to set aside for a label."""
    return LETTER * len(text)


def _enlarged(config: Spec) -> Spec:
    """The configuration with every font size multiplied by `SLACK`."""
    return {
        k: _enlarged(v)
        if isinstance(v, dict)
        else v * SLACK
        if k.lower().endswith("fontsize")
        else v
        for k, v in config.items()
    }


def _shrink_text(svg: str) -> str:
    """Divide the font sizes by `SLACK` and leave every position unchanged."""
    return re.sub(
        r'font-size="([\d.]+)px"', lambda m: f'font-size="{float(m[1]) / SLACK:.4g}px"', svg
    )


def for_page(svg: str, label: str) -> str:
    """SVG to embed in a page: one image for a screen reader, data as tooltips."""
    from html import escape

    def titled(mark: re.Match[str]) -> str:
        said = re.search(r'aria-label="([^"]*)"', mark[2])
        title = f"<title>{said[1]}</title>" if said else ""
        return f"<{mark[1]}{mark[2]}>{title}" + (f"</{mark[1]}>" if mark[3] else "")

    # marks have their data in aria-label: move it to a title (tooltip), and give the whole picture
    # one label
    text = re.sub(
        r'<(path|text|line|rect)\b([^<>]*role="graphics-symbol"[^<>]*?)(/?)>', titled, svg
    )
    text = re.sub(r' (?:role|aria-roledescription|aria-label|aria-hidden)="[^"]*"', "", text)
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{escape(label)}" ', text, count=1)


def spec_json(chart: Chart) -> str:
    """Specification as JSON text."""
    return json.dumps(chart.spec(), ensure_ascii=False, indent=1)
