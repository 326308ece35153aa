"""Charts: parts of Vega-Lite specifications, drawn by vl-convert without a browser and without a network."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
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

_TITLE: Spec = {"titleColor": SOFT, "titleFontSize": 11.5, "titleFontWeight": "normal"}

CONFIG: Spec = {
    "font": FONT,
    "background": None,
    "padding": 1,
    "view": {"stroke": None},
    "axis": {
        **_TITLE,
        "labelColor": SOFT,
        "labelFontSize": 11.5,
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
        **_TITLE,
        "labelColor": INK,
        "labelFontSize": 11.5,
        "labelFontWeight": "bold",
        "labelAnchor": "start",
        "labelPadding": 6,
    },
    "legend": {
        **_TITLE,
        "labelColor": INK,
        "labelFontSize": 11.5,
        "orient": "top",
        "symbolSize": 60,
        "labelLimit": 0,
        "columnPadding": 18,
        "offset": 10,
    },
    "text": {"color": SOFT, "fontSize": 11.5},
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 15,
        "subtitleColor": SOFT,
        "subtitleFontSize": 11.5,
        "offset": 14,
        "subtitlePadding": 5,
    },
    "range": {"category": list(SERIES)},
}


@dataclass(frozen=True)
class Chart:
    """A Vega-Lite specification for any width, with a summary in words and the table of its data."""

    title: str
    summary: str
    """What a reader who cannot see the chart should know."""
    build: Callable[[int], Spec]
    table: ReportTable

    @property
    def name(self) -> str:
        """Name of its files, which is that of its table."""
        return self.table.name

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

    def svg(self, width: int = WIDE) -> str:
        """SVG text, with space for a font that is wider than the one measured."""
        return spec_svg(self.spec(width))

    def to_bytes(self, form: str) -> bytes:
        """File contents as svg, png or pdf, on white."""
        if form not in FORMATS:
            raise ParameterError(f"no picture format {form!r}. Formats: {', '.join(FORMATS)}")
        return picture(self.spec(), form)

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


def spec_svg(spec: Spec, background: str | None = None) -> str:
    """A specification as SVG text, with space for a font that is wider than the one measured."""
    import vl_convert

    config = {**_enlarged(CONFIG), "background": background}
    # without the schema's address vl-convert uses its newest Vega-Lite
    plain = {k: v for k, v in spec.items() if k != "$schema"} | {"config": config}
    return _shrink_text(str(vl_convert.vegalite_to_svg(plain)))


def picture(spec: Spec, form: str, scale: float = 2) -> bytes:
    """A specification drawn as svg, png or pdf, on white."""
    import vl_convert

    svg = spec_svg(spec, PAPER)
    if form == "svg":
        return svg.encode()
    return bytes(
        vl_convert.svg_to_png(svg, scale=scale) if form == "png" else vl_convert.svg_to_pdf(svg)
    )


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


# Parts of specifications

SHARE: Spec = {"type": "quantitative", "scale": {"domain": [0, 1]}}
SHARE_AXIS: Spec = {"format": "%", "tickCount": 5}

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])

GAP = 24
"""Pixels between panels."""

POINT: Spec = {"filled": True, "opacity": 1}


def layer(mark: str, look: Spec, **shows: Any) -> Spec:
    """A mark with its look, and what each channel shows; a text is the name of a field.

    Marks without a tooltip (`description`) are hidden from screen readers.
    """
    encoding = {k: {"field": v} if isinstance(v, str) else v for k, v in shows.items()}
    hidden: Spec = {} if "description" in shows else {"aria": False}
    return {"mark": {"type": mark, **look, **hidden}, "encoding": encoding}


def category(field: str, order: Sequence[Any], **more: Any) -> Spec:
    """A nominal channel without title, with its values in this order."""
    return {"field": field, "type": "nominal", "sort": list(order), "title": None, **more}


def quantity(title: str | None, domain: Sequence[float] | None = None, **axis: Any) -> Spec:
    """A channel of numbers; the field is still missing."""
    scale = {} if domain is None else {"scale": {"domain": list(domain), "nice": False}}
    return {"type": "quantitative", "title": title, **scale, "axis": axis}


def dots(y: Spec, look: Spec, **shows: Any) -> list[Spec]:
    """Layers of a share with its interval: fields rate, low, high and tip."""
    share = {**SHARE, "axis": {**SHARE_AXIS, "tickCount": 3}, "title": None}
    low, rate = ({"field": field, **share} for field in ("low", "rate"))
    point = POINT | {"size": 56} | look
    return [
        layer("rule", {"strokeWidth": 1.5} | look, y=y, x=low, x2="high", **shows),
        layer("point", point, y=y, x=rate, description="tip", **shows),
    ]


def lines(
    rows: Sequence[Mapping[str, Any]], field: str, width: int, look: Spec, **shows: Any
) -> Spec:
    """A chart with a line for each value of a field, in the order of the rows."""
    names = list(dict.fromkeys(r[field] for r in rows))
    looks, key = series(names), legend(names, width, symbolType="stroke", symbolStrokeWidth=2)
    styles = {c: {"field": field, **looks[c], "legend": key} for c in ("color", "strokeDash")}
    chart = layer("line", {"strokeWidth": 2, **look}, **shows, **styles)
    return {"width": width, "height": 220, "data": {"values": rows}, **chart}


def facets(
    rows: Sequence[Mapping[str, Any]],
    field: str,
    titles: Sequence[str],
    layers: Sequence[Spec],
    columns: int = 1,
    **size: Any,
) -> Spec:
    """A chart with a panel for each value of a field."""
    return {
        "data": {"values": rows},
        "columns": columns,
        "spacing": GAP,
        "facet": category(field, titles),
        "spec": {**size, "layer": layers},
    }


def wide(width: int) -> bool:
    """Whether a chart is drawn for a page rather than for a phone."""
    return width > NARROW + 60


def series(names: Sequence[Any]) -> dict[str, Spec]:
    """Color, shape and dash of each series. Where the colors begin again, each goes with the next shape."""
    looks = {}
    for channel, palette in {"color": SERIES, "shape": SHAPES, "strokeDash": DASHES}.items():
        step = int(channel != "color")
        values = [
            palette[(k + step * (k // len(SERIES))) % len(palette)] for k in range(len(names))
        ]
        scale = {"domain": list(names), "range": values}
        looks[channel] = {"scale": scale, "sort": list(names), "type": "nominal"}
    return looks


def legend(names: Sequence[Any], width: int, **more: Any) -> Spec:
    """A legend with as many columns as fit the width."""
    room = LETTER * max(len(str(name)) for name in names) + 36
    return {"title": None, "columns": max(1, min(len(names), int(width // room))), **more}


def panels(
    n: int, width: int, labels: Sequence[str], most: int, *, shared: bool
) -> tuple[int, float]:
    """Columns of panels and the width of one, so that all of them and their labels fit the width.

    `shared`: only the first column has labels on its left.
    """
    room = LETTER * max(map(len, labels), default=0) + 28

    def size(columns: int) -> float:
        return (width - GAP * (columns - 1) - room * (1 if shared else columns)) / columns

    columns = next((k for k in range(min(n, most), 1, -1) if wide(width) and size(k) >= 90), 1)
    # rows of equal length: four panels in two columns, not three and one
    columns = -(-n // -(-n // columns))
    return columns, max(size(columns), 60)
