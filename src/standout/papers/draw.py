"""Charts of published figures: rows and a description of the chart (figures.toml) become a Vega-Lite specification.

A row with a `published` value is marked with a black diamond. Bars and legends are in the order of
the rows.
"""

from __future__ import annotations

from typing import Any

from standout.papers.recipe import Row, Rows
from standout.report.drawing import (
    INK,
    POINT,
    SERIES,
    SOFT,
    Spec,
    category,
    layer,
    legend,
    quantity,
    series,
)

HEIGHT = 250

DIAMOND: Spec = {"shape": "diamond", "color": "black", "stroke": "white", "size": 90, **POINT}
"""Mark of a published number."""


def draw(rows: Rows, chart: Row) -> Spec:
    """Specification of a chart of rows.

    Parameters
    ----------
    rows
        One per bar, point or cell; a column that could not be measured is None.
    chart
        `kind`, and the columns and titles that this kind shows; `only`: values of columns that are
        shown; `x_text`: how the values of `x` are written; `split`: a chart for each value of this
        column, one below the other.
    """
    only, x = chart.get("only", {}), chart["x"]
    shown = [r for r in rows if all(r[column] in values for column, values in only.items())]
    if "x_text" in chart:
        shown = [{**r, x: chart["x_text"].format(r[x])} for r in shown]
    kind = KINDS[chart["kind"]]
    if "split" not in chart:
        return kind(shown, chart)
    values = _in_order(shown, chart["split"])
    parts = ([r for r in shown if r.get(chart["split"], values[0]) == v] for v in values)
    return {
        "vconcat": [
            kind(part, {**chart, "y_title": f"{v}, {chart['y_title']}"})
            for part, v in zip(parts, values, strict=True)
        ]
    }


def titled(chart: Spec, title: str, subtitle: list[str]) -> Spec:
    """A specification with title and a subtitle that says what was measured."""
    return {**chart, "padding": 12, "title": {"text": title, "subtitle": subtitle}}


def empty(words: str) -> Spec:
    """A placeholder with the reason why there is no chart."""
    size = {"width": 480, "height": 80, "data": {"values": [{"words": words}]}}
    return size | layer("text", {"fontSize": 13, "color": SOFT}, text="words")


def _in_order(rows: Rows, column: str) -> list[Any]:
    return list(dict.fromkeys(r[column] for r in rows if column in r))


def _measured(rows: Rows, column: str) -> Spec:
    """Data with a number in this column."""
    there = [r for r in rows if r.get(column) is not None]
    return {"values": [{k: v for k, v in r.items() if v is not None} for r in there]}


def _across(rows: Rows, chart: Row, **axis: Any) -> Spec:
    """Categories on the horizontal axis, in the order of the rows."""
    x = chart["x"]
    labels = category(x, _in_order(rows, x), axis={"labelAngle": 0, **axis})
    return labels | {"title": chart["x_title"]}


def _up(chart: Row) -> Spec:
    top = chart.get("top")
    form = "%" if chart.get("percent", True) else ",~f"
    domain = None if top is None else [0, top]
    return {
        "field": chart.get("y", "rate"),
        **quantity(chart["y_title"], domain, format=form, tickCount=6),
    }


def _number(field: str) -> Spec:
    return {"field": field, "type": "quantitative"}


def _looks(rows: Rows, chart: Row, width: int) -> tuple[Spec, Spec]:
    """Color and shape of each series."""
    names = _in_order(rows, chart["series"])
    key = legend(names, width, title=chart.get("series_title"), symbolOpacity=1)
    looks = series(names)
    color, shape = (
        {"field": chart["series"], "title": chart.get("series_title"), **looks[c], "legend": key}
        for c in ("color", "shape")
    )
    return color, shape


def _published(**place: Spec) -> Spec:
    there = {"transform": [{"filter": "isValid(datum.published)"}]}
    return there | layer("point", DIAMOND, **place, y=_number("published"))


def bars(rows: Rows, chart: Row) -> Spec:
    """Grouped bars with their intervals; `rule` names a column whose value is drawn as a horizontal line."""
    xs, names = _in_order(rows, chart["x"]), _in_order(rows, chart["series"])
    facet, rule = chart.get("facet"), chart.get("rule")
    width = max(140 if facet else 300, 26 * len(xs) * len(names) + 30 * len(xs))
    groups = {"domain": names, "paddingInner": 0.12}
    place = {"x": _across(rows, chart), "xOffset": category(chart["series"], names, scale=groups)}
    # panels share a legend
    color, _ = _looks(rows, chart, width * (len(_in_order(rows, facet)) if facet else 1))
    whiskers = {"color": INK, "strokeWidth": 1}
    layers = [
        layer("bar", {}, **place, y=_up(chart), color=color),
        layer("rule", whiskers, **place, y=_number("low"), y2="high"),
        _published(**place),
    ]
    level = next((r[rule] for r in rows if rule and r.get(rule)), None)
    if level:
        one: Spec = {"data": {"values": [{}]}}
        at = {"datum": level}
        text = chart["rule_text"].format(level)
        words = {"align": "left", "dx": 4, "dy": -6, "color": SOFT, "fontSize": 11.5, "text": text}
        layers += [
            one | layer("rule", {"strokeDash": [5, 4], "color": SOFT}, y=at),
            one | layer("text", words, x={"value": 0}, y=at),
        ]
    plot = {"width": width, "height": HEIGHT, "layer": layers}
    data = {"data": _measured(rows, chart.get("y", "rate"))}
    if not facet:
        return data | plot
    column = category(facet, _in_order(rows, facet))
    shared = {"scale": {"y": "shared"}}
    return {**data, "facet": {"column": column}, "spec": plot, "resolve": shared}


def stacked(rows: Rows, chart: Row) -> Spec:
    """Bars of shares that add up to 1, the first series at the bottom."""
    names = _in_order(rows, chart["series"])
    ordered = [{**r, "layer": names.index(r[chart["series"]])} for r in rows]
    up = _up(chart | {"top": 1}) | {"stack": "zero"}
    look = {"stroke": "white", "strokeWidth": 0.8}
    order = {**_number("layer"), "sort": "ascending"}
    color, _ = _looks(rows, chart, 420)
    bar = layer("bar", look, x=_across(rows, chart), y=up, color=color, order=order)
    return {"width": 420, "height": HEIGHT, "data": _measured(ordered, "rate"), **bar}


def lines(rows: Rows, chart: Row) -> Spec:
    """Lines with markers and a pale band for the interval; shapes repeat what colors say."""
    x, scale = chart["x"], chart.get("x_scale", "linear")
    if scale == "ordinal":
        across = _across(rows, chart)
    else:
        ticks = {"values": [10**k for k in range(6)]} if scale == "log" else {"tickCount": 8}
        form = "%" if chart.get("x_percent") else ",~f"
        across = {"field": x, **quantity(chart["x_title"], format=form, **ticks)}
        across["scale"] = {"type": scale, "nice": False, "zero": False}
        if scale == "log":
            del across["scale"]["zero"]
    there = [r for r in rows if scale != "log" or r[x] > 0]
    up = _up(chart)
    color, shape = _looks(rows, chart, 480)
    layers = [layer("line", {"strokeWidth": 1.8}, x=across, y=up, color=color)]
    if chart.get("band", True) and any("low" in r for r in there):
        band = layer("area", {"opacity": 0.12}, x=across, y=_number("low"), y2="high", color=color)
        layers.insert(0, band)
    if chart.get("points", True):
        dots = POINT | {"size": 55}
        layers.append(layer("point", dots, x=across, y=up, color=color, shape=shape))
    layers.append(_published(x=across))
    data = _measured(there, chart.get("y", "rate"))
    return {"width": 480, "height": HEIGHT, "data": data, "layer": layers}


def counts(rows: Rows, chart: Row) -> Spec:
    """A count for each whole number, as a filled step; `mark_at` draws a vertical line."""
    across = quantity(chart["x_title"], format=",~f", tickCount=10) | {"scale": {"nice": False}}
    edge = {"color": SERIES[0], "strokeWidth": 1}
    look = {"line": edge, "color": SERIES[0], "opacity": 0.35, "interpolate": "step-after"}
    x = {"field": chart["x"], **across}
    layers = [layer("area", look, x=x, y=_up(chart | {"percent": False}))]
    if "mark_at" in chart:
        dashed = {"color": SOFT, "strokeDash": [4, 4]}
        layers.append(layer("rule", dashed, x={"datum": chart["mark_at"]}))
    return {"width": 480, "height": HEIGHT, "data": _measured(rows, chart["y"]), "layer": layers}


def grid(rows: Rows, chart: Row) -> Spec:
    """A heat map: one labeled cell per point; empty if nothing could be measured."""
    y, value = chart["y"], chart["value"]
    down = sorted(_in_order(rows, y), reverse=True)
    place = {
        "x": _across(rows, chart, format=".1f"),
        "y": category(y, down, axis={"format": ".1f"}) | {"title": chart["y_title"]},
    }
    there = [r | {"words": f"{r[value]:.2f}"} for r in rows if r.get(value) is not None]
    gaps = [r | {"words": "nobody"} for r in rows if r.get(value) is None]
    key = {"title": chart["value_title"], "format": ".1f", "gradientLength": 220}
    scale = {"scheme": "viridis", "domain": [0, 1]}
    color = {**_number(value), "scale": scale, "legend": key}
    bright = {"test": f"datum.{value} > 0.55", "value": "black"}
    ink = {"condition": bright, "value": "white"}
    data, missing = {"data": _measured(there, "words")}, {"data": _measured(gaps, "words")}
    layers = [
        data | layer("rect", {"stroke": "white"}, **place, color=color),
        data | layer("text", {"fontSize": 12.5}, **place, text="words", color=ink),
        missing | layer("text", {"fontSize": 11, "color": SOFT}, **place, text="words"),
    ]
    return {"width": 420, "height": 220, "layer": layers}


KINDS = {"bars": bars, "stacked": stacked, "lines": lines, "counts": counts, "grid": grid}
