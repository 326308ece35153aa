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

WIDE, NARROW = 660, 320
"""Widths for which every chart is drawn: a page, and a phone of 360 pixels."""

FORMATS = ("svg", "png", "pdf")

SLACK = 1.2
"""Charts are laid out for letters this much larger than those drawn: a reader's font may be wider than the one measured here."""

LETTER = 6.6
"""Width of a letter in pixels, as far as layout goes."""

CONFIG: Spec = {
    "font": FONT,
    "background": None,
    "padding": 1,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT, "titleColor": SOFT, "labelFontSize": 11.5, "titleFontSize": 11.5, "titleFontWeight": "normal",
        "gridColor": GRID, "domainColor": SOFT, "tickColor": SOFT, "labelPadding": 5, "titlePadding": 8, "labelLimit": 0,
        "domain": False, "ticks": False,
    },
    "header": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 11.5, "labelFontWeight": "bold", "titleFontSize": 11.5,
               "titleFontWeight": "normal", "labelAnchor": "start", "labelPadding": 6},
    "legend": {"labelColor": INK, "titleColor": SOFT, "labelFontSize": 11.5, "titleFontSize": 11.5, "titleFontWeight": "normal",
               "orient": "top", "symbolSize": 60, "labelLimit": 0, "columnPadding": 18, "offset": 10},
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
        built = self.build(width)
        # labels count to the width; panels are sized by the chart itself
        fit: Spec = {} if "facet" in built else {"autosize": {"type": "fit-x", "contains": "padding"}}
        return {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
            "description": self.summary,
            "config": CONFIG,
            **fit,
            **built,
        }

    def svg(self, width: int = WIDE, background: str | None = None) -> str:
        """SVG text, with room for a font that is wider than the one measured."""
        import vl_convert

        spec = self.spec(width)
        # without the schema's address vl-convert takes the newest Vega-Lite it holds
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
        return bytes(vl_convert.svg_to_png(svg, scale=2) if form == "png" else vl_convert.svg_to_pdf(svg))

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


def text_width(text: str) -> float:
    """Pixels to set aside for a label."""
    return LETTER * len(text)


def _enlarged(config: Spec) -> Spec:
    """The same configuration with every font size larger by the slack."""
    return {
        k: _enlarged(v) if isinstance(v, dict) else v * SLACK if k.lower().endswith("fontsize") else v
        for k, v in config.items()
    }


def _shrink_text(svg: str) -> str:
    """Take the slack out of the font sizes and leave every position as it was laid out."""
    return re.sub(r'font-size="([\d.]+)px"', lambda m: f'font-size="{float(m[1]) / SLACK:.4g}px"', svg)


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
