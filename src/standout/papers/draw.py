"""Charts from rows: grouped bars, stacked bars, lines, areas and labeled grids, in colors that all readers can distinguish.

A row with a `published` value is marked with a black diamond. Bars and legends are in the order of
the rows.
"""

from __future__ import annotations

from typing import Any

from standout.papers.recipe import Row, Rows

COLORS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#d55e00",
    "#56b4e9",
    "#5a5a5a",
    "#f0e442",
    "#000000",
)
"""After Okabe and Ito."""

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
    "stroke",
)
INK, SOFT, GRID = "#1b1f24", "#59626d", "#e3e6ea"

CONFIG: dict[str, Any] = {
    "font": "Helvetica Neue, Helvetica, Arial, sans-serif",
    "background": "#ffffff",
    "padding": 12,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": GRID,
        "domainColor": SOFT,
        "tickColor": SOFT,
        "titlePadding": 8,
        "labelLimit": 260,
    },
    "header": {
        "labelColor": INK,
        "labelFontSize": 12,
        "labelFontWeight": "bold",
        "titleFontSize": 12,
        "labelPadding": 6,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "orient": "top",
        "labelLimit": 320,
        "titleLimit": 480,
        "symbolSize": 80,
        "offset": 8,
        "symbolOpacity": 1,
    },
    "title": {
        "anchor": "start",
        "fontSize": 15,
        "color": INK,
        "subtitleFontSize": 11.5,
        "subtitleColor": SOFT,
        "offset": 14,
        "subtitlePadding": 5,
    },
}

HEIGHT = 250


def _in_order(rows: Rows, column: str) -> list[Any]:
    return list(dict.fromkeys(r[column] for r in rows if column in r))


def _axis(title: str, percent: bool) -> Any:
    import altair as alt

    return alt.Axis(title=title, format="%" if percent else ",~f", tickCount=6)


def _color(rows: Rows, series: str, title: str | None) -> Any:
    import altair as alt

    names = _in_order(rows, series)
    scale = alt.Scale(domain=names, range=list(COLORS[: len(names)]))
    return alt.Color(f"{series}:N", scale=scale, title=title, sort=names, legend=_legend(names))


def _legend(names: list[Any]) -> Any:
    """One row if the names are short."""
    import altair as alt

    lengths = [len(str(x)) + 4 for x in names]
    return alt.Legend(columns=len(names) if sum(lengths) <= 64 else 2 if max(lengths) > 30 else 3)


def _plain(rows: Rows) -> Any:
    import altair as alt

    return alt.Data(values=[{k: v for k, v in r.items() if v is not None} for r in rows])


def bars(
    rows: Rows,
    *,
    x: str,
    x_title: str,
    series: str,
    series_title: str | None,
    y: str = "rate",
    y_title: str,
    percent: bool = True,
    facet: str | None = None,
    top: float | None = None,
    rule: Row | None = None,
) -> Any:
    """Grouped bars with their intervals; `rule` = {"y": …, "text": …} draws a horizontal line."""
    import altair as alt

    xs, names = _in_order(rows, x), _in_order(rows, series)
    there = [r for r in rows if r.get(y) is not None]
    scale = alt.Scale(domain=[0, top]) if top is not None else alt.Scale(zero=True)
    place = {
        "x": alt.X(f"{x}:N", sort=xs, title=x_title, axis=alt.Axis(labelAngle=0)),
        "xOffset": alt.XOffset(
            f"{series}:N", sort=names, scale=alt.Scale(domain=names, paddingInner=0.12)
        ),
    }
    base = alt.Chart().encode(**place)
    layers = [
        base.mark_bar().encode(
            y=alt.Y(f"{y}:Q", axis=_axis(y_title, percent), scale=scale),
            color=_color(rows, series, series_title),
        ),
        base.mark_rule(color=INK, strokeWidth=1).encode(y="low:Q", y2="high:Q"),
        base.transform_filter("isValid(datum.published)")
        .mark_point(
            shape="diamond",
            filled=True,
            color="black",
            stroke="white",
            strokeWidth=1,
            size=90,
            opacity=1,
        )
        .encode(y="published:Q"),
    ]
    if rule:
        one = _plain([{}])
        level = (
            alt.Chart(one).mark_rule(strokeDash=[5, 4], color=SOFT).encode(y=alt.YDatum(rule["y"]))
        )
        words = (
            alt.Chart(one)
            .mark_text(align="left", dx=4, dy=-6, color=SOFT, fontSize=11.5, text=rule["text"])
            .encode(x=alt.value(0), y=alt.YDatum(rule["y"]))
        )
        layers += [level, words]
    width = max(140 if facet else 300, 26 * len(xs) * len(names) + 30 * len(xs))
    chart = alt.layer(*layers).properties(width=width, height=HEIGHT)
    if facet is None:
        return chart.properties(data=_plain(there))
    header = alt.Column(f"{facet}:N", title=None, sort=_in_order(rows, facet))
    return chart.facet(column=header, data=_plain(there)).resolve_scale(y="shared")


def stacked(
    rows: Rows, *, x: str, x_title: str, series: str, series_title: str, y_title: str
) -> Any:
    """Bars of shares that add up to 1, the first series at the bottom."""
    import altair as alt

    names = _in_order(rows, series)
    ordered = [{**r, "layer": names.index(r[series])} for r in rows if r.get("rate") is not None]
    return (
        alt.Chart(_plain(ordered))
        .mark_bar(stroke="white", strokeWidth=0.8)
        .encode(
            x=alt.X(f"{x}:N", sort=_in_order(rows, x), title=x_title, axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "rate:Q", axis=_axis(y_title, True), stack="zero", scale=alt.Scale(domain=[0, 1])
            ),
            color=_color(rows, series, series_title),
            order=alt.Order("layer:Q", sort="ascending"),
        )
        .properties(width=420, height=HEIGHT)
    )


def lines(
    rows: Rows,
    *,
    x: str,
    x_title: str,
    series: str,
    series_title: str | None,
    y: str = "rate",
    y_title: str,
    percent: bool = True,
    x_percent: bool = False,
    log_x: bool = False,
    top: float | None = None,
    points: bool = True,
    ordinal: bool = False,
    band: bool = True,
) -> Any:
    """Lines with markers and a pale band for the interval; shapes repeat what colors say."""
    import altair as alt

    there = [r for r in rows if r.get(y) is not None and (not log_x or r[x] > 0)]
    scale = alt.Scale(domain=[0, top]) if top is not None else alt.Scale(zero=True)
    if ordinal:
        across: Any = alt.X(
            f"{x}:O", sort=_in_order(rows, x), title=x_title, axis=alt.Axis(labelAngle=0)
        )
    else:
        form = "%" if x_percent else ",~f"
        scales: Row = {"zero": False, "nice": False}
        ticks: Row = {"tickCount": 8}
        if log_x:
            scales, ticks = (
                {"type": "log", "nice": False},
                {"values": [1, 10, 100, 1_000, 10_000, 100_000]},
            )
        across = alt.X(
            f"{x}:Q", title=x_title, scale=alt.Scale(**scales), axis=alt.Axis(format=form, **ticks)
        )
    base = alt.Chart().encode(x=across)
    height = alt.Y(f"{y}:Q", axis=_axis(y_title, percent), scale=scale)
    names = _in_order(rows, series)
    layers = []
    if band and any("low" in r for r in there):
        layers.append(
            base.mark_area(opacity=0.12).encode(
                y="low:Q", y2="high:Q", color=_color(rows, series, series_title)
            )
        )
    layers.append(
        base.mark_line(strokeWidth=1.8).encode(y=height, color=_color(rows, series, series_title))
    )
    if points:
        shape = alt.Shape(
            f"{series}:N",
            legend=_legend(names),
            sort=names,
            title=series_title,
            scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])),
        )
        layers.append(
            base.mark_point(filled=True, size=55, opacity=1).encode(
                y=height, color=_color(rows, series, series_title), shape=shape
            )
        )
    layers.append(
        base.transform_filter("isValid(datum.published)")
        .mark_point(shape="diamond", filled=True, color="black", stroke="white", size=90, opacity=1)
        .encode(y="published:Q")
    )
    return alt.layer(*layers).properties(width=480, height=HEIGHT, data=_plain(there))


def counts(
    rows: Rows, *, x: str, x_title: str, y: str, y_title: str, mark_at: float | None = None
) -> Any:
    """A count for each whole number, as a filled step."""
    import altair as alt

    base = alt.Chart().mark_area(
        line={"color": COLORS[0], "strokeWidth": 1},
        color=COLORS[0],
        opacity=0.35,
        interpolate="step-after",
    )
    chart = base.encode(
        x=alt.X(
            f"{x}:Q",
            title=x_title,
            scale=alt.Scale(nice=False),
            axis=alt.Axis(format=",~f", tickCount=10),
        ),
        y=alt.Y(f"{y}:Q", axis=_axis(y_title, False)),
    )
    layers = [chart]
    if mark_at is not None:
        layers.append(
            alt.Chart().mark_rule(color=SOFT, strokeDash=[4, 4]).encode(x=alt.XDatum(mark_at))
        )
    return alt.layer(*layers).properties(width=480, height=HEIGHT, data=_plain(rows))


def grid(
    rows: Rows, *, x: str, x_title: str, y: str, y_title: str, value: str, value_title: str
) -> Any:
    """A heat map: one labeled cell per point; empty if nothing could be measured."""
    import altair as alt

    xs, ys = _in_order(rows, x), sorted(_in_order(rows, y), reverse=True)
    there = [{**r, "words": f"{r[value]:.2f}"} for r in rows if r.get(value) is not None]
    gaps = [{x: r[x], y: r[y], "words": "nobody"} for r in rows if r.get(value) is None]
    place = {
        "x": alt.X(f"{x}:O", sort=xs, title=x_title, axis=alt.Axis(labelAngle=0, format=".1f")),
        "y": alt.Y(f"{y}:O", sort=ys, title=y_title, axis=alt.Axis(format=".1f")),
    }
    cells = (
        alt.Chart(_plain(there))
        .mark_rect(stroke="white")
        .encode(
            color=alt.Color(
                f"{value}:Q",
                title=value_title,
                scale=alt.Scale(scheme="viridis", domain=[0, 1]),
                legend=alt.Legend(format=".1f", gradientLength=220),
            ),
            **place,
        )
    )
    ink = alt.condition(f"datum.{value} > 0.55", alt.value("black"), alt.value("white"))
    words = (
        alt.Chart(_plain(there)).mark_text(fontSize=12.5).encode(text="words:N", color=ink, **place)
    )
    layers = [cells, words]
    if gaps:
        layers.append(
            alt.Chart(_plain(gaps))
            .mark_text(fontSize=11, color=SOFT)
            .encode(text="words:N", **place)
        )
    return alt.layer(*layers).properties(width=420, height=220)


def empty(words: str) -> Any:
    """A placeholder with the reason why there is no chart."""
    import altair as alt

    return (
        alt.Chart(_plain([{"words": words}]))
        .mark_text(fontSize=13, color=SOFT)
        .encode(text="words:N")
        .properties(width=480, height=80)
    )


def titled(chart: Any, title: str, subtitle: list[str]) -> dict[str, Any]:
    """Specification with title, a subtitle that says what was measured, and the common style."""
    import altair as alt

    spec: dict[str, Any] = chart.properties(
        title=alt.TitleParams(title, subtitle=subtitle)
    ).to_dict()
    # without the schema's address vl-convert uses its newest Vega-Lite
    spec.pop("$schema", None)
    spec["config"] = CONFIG
    return spec


def picture(spec: dict[str, Any], form: str, scale: float = 2.0) -> bytes:
    """Drawn as svg or png."""
    import vl_convert

    if form == "svg":
        return str(vl_convert.vegalite_to_svg(spec)).encode()
    return bytes(vl_convert.vegalite_to_png(spec, scale=scale))
