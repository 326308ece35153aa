"""A frontier as a sentence, a chart, a table, a page and a notebook cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.audit.measures import MEASURES
from standout.report.drawing import (
    INK,
    POINT,
    SERIES,
    SHARE_AXIS,
    SOFT,
    Chart,
    Spec,
    category,
    layer,
    quantity,
    wide,
)
from standout.report.frontier_words import SHORT, how, not_measured, sentence
from standout.report.page import chart_fragment, fill
from standout.report.tables import ReportTable, make_table
from standout.report.words import between, percent

if TYPE_CHECKING:
    from standout.defenses.frontier import Frontier


def table(found: Frontier) -> ReportTable:
    """One row per cell, by risk."""
    rows = sorted(numbered(found), key=lambda r: (-r["rate"], r["cost"]))
    losses = {"cost": found.measure} | {
        f"{m}_loss": m for m in found.measures if m != found.measure
    }
    cost, *others = [(key, f"loss, {SHORT[m]}", "share") for key, m in losses.items()]
    return make_table("frontier", rows, cost, ("noise", "± noise", "share"), *others)


def chart(found: Frontier) -> Chart:
    """Risk against cost: one point per cell, the front marked and numbered."""
    rows, cost = numbered(found), SHORT[found.measure]
    points = [
        {
            **r,
            "x": _inside(r["cost"]),
            "x_low": _inside(r["cost"] - r["noise"]),
            "x_high": _inside(r["cost"] + r["noise"]),
            "kind": _kind(r),
            "tip": f"{r['defense']}: {three_rates(r)}, {cost} loss {100 * r['cost']:.1f}%",
        }
        # the undefended data is drawn last, above the others
        for r in sorted(rows, key=lambda r: r["strength"] == 0)
    ]
    best = sorted((r for r in rows if r["front"]), key=lambda r: r["number"])
    summary = (
        f"The largest of the rates of unique, found and sure, against the loss, {cost}. On the front: "
        + "; ".join(
            f"{r['number']} {r['defense']} ({percent(r['rate'])} {r['worst']}, {100 * r['cost']:.0f}% lost)"
            for r in best
        )
        + ("." if best else "no setting.")
    )
    if found.popularity_loss is not None:
        summary += f" Dashed line: recommending the most popular items to everyone ({100 * found.popularity_loss:.0f}% lost)."
    return Chart(
        f"Risk against what is lost ({cost})",
        summary,
        _spec(points, _labels(points), cost, found.popularity_loss),
        table(found),
    )


def numbered(found: Frontier) -> list[dict[str, Any]]:
    """Rows with a number for each cell on the front, by risk."""
    rows = found.rows()
    order = sorted(
        (k for k, r in enumerate(rows) if r["front"]),
        key=lambda k: (-rows[k]["rate"], rows[k]["cost"]),
    )
    return [{**r, "number": order.index(k) + 1 if k in order else None} for k, r in enumerate(rows)]


def _inside(x: float) -> float:
    return max(min(x, 1.05), -0.25)


KINDS = ("undefended", "on the front", "no clear effect", "other settings")


def _kind(row: Mapping[str, Any]) -> str:
    if row["clear_effect"] is None:
        return KINDS[0]
    return KINDS[1] if row["front"] else KINDS[3] if row["clear_effect"] else KINDS[2]


def three_rates(row: Mapping[str, Any]) -> str:
    """The three risks of a row with their intervals, in words."""
    return ", ".join(
        f"{name} not measured"
        if row[name] is None
        else f"{percent(row[name])} {name} ({between({'low': row[f'{name}_low'], 'high': row[f'{name}_high']})})"
        for name in MEASURES
    )


def _labels(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Numbers of the points on the front; points that are close together share a label."""
    groups: list[tuple[Mapping[str, Any], list[int]]] = []
    for p in sorted((p for p in points if p["front"]), key=lambda p: p["number"]):
        for first, numbers in groups:
            if abs(first["x"] - p["x"]) < 0.025 and abs(first["rate"] - p["rate"]) < 0.035:
                numbers.append(p["number"])
                break
        else:
            groups.append((p, [p["number"]]))
    return [
        {"x": first["x"], "rate": first["rate"], "label": _runs(numbers)}
        for first, numbers in groups
    ]


def _runs(numbers: Sequence[int]) -> str:
    """Write ascending numbers, with a dash for three or more in a row.

    >>> _runs([1, 2, 3, 5, 6])
    '1–3, 5, 6'
    """
    out: list[str] = []
    rest = list(numbers)
    while rest:
        n = 1
        while n < len(rest) and rest[n] == rest[0] + n:
            n += 1
        out += [f"{rest[0]}–{rest[n - 1]}"] if n > 2 else [str(x) for x in rest[:n]]
        rest = rest[n:]
    return ", ".join(out)


def _spec(
    points: list[dict[str, Any]], labels: list[dict[str, Any]], cost: str, popularity: float | None
) -> Callable[[int], Spec]:
    low, high = min(0.0, *(p["x_low"] for p in points)), max(1.0, *(p["x"] for p in points))

    def build(width: int) -> Spec:
        across = quantity(f"loss, {cost}", [low, high], **SHARE_AXIS, grid=False)
        up = quantity("largest of unique, found, sure", **SHARE_AXIS)
        up |= {"scale": {"domain": [0, 1]}}
        x, x_low = ({"field": field, **across} for field in ("x", "x_low"))
        y, y_low = ({"field": field, **up} for field in ("rate", "low"))
        key = {"title": None, "symbolOpacity": 1, "columns": 4 if wide(width) else 1}
        color, shape = (
            {
                **category("kind", KINDS, legend=key),
                "scale": {"domain": list(KINDS), "range": looks},
            }
            for looks in (
                [INK, SERIES[1], SOFT, SOFT],
                ["square", "diamond", "cross", "circle"],
            )
        )
        front, bar = {"transform": [{"filter": "datum.front"}]}, {"opacity": 0.7}
        line, point = {"strokeWidth": 1, "opacity": 0.25, "color": SOFT}, POINT | {"size": 60}
        order = {"field": "strength", "type": "quantitative"}
        layers = [
            layer("line", line, x=x, y=y, detail="family", order=order),
            front | layer("rule", bar, x=x, y=y_low, y2="high", color=color),
            front | layer("rule", bar, x=x_low, y=y, x2="x_high", color=color),
            layer("point", point, x=x, y=y, color=color, shape=shape, description="tip"),
        ]
        # below points at the top, where the legend is; above all others
        for top in (False, True):
            look = {"align": "left", "dx": 7, "dy": 14 if top else -8, "color": INK}
            some = {"data": {"values": [at for at in labels if (at["rate"] > 0.9) == top]}}
            layers.append(
                some | layer("text", look | {"fontWeight": "bold"}, x=x, y=y, text="label")
            )
        if popularity is not None:
            dashed = layer("rule", {"strokeDash": [4, 4], "color": SOFT}, x=x)
            layers.insert(0, {"data": {"values": [{"x": popularity}]}} | dashed)
        return {"width": width, "height": 380, "data": {"values": points}, "layer": layers}

    return build


def notebook(found: Frontier) -> str:
    """A fragment without script or style sheet, for notebooks."""
    return chart_fragment([sentence(found)], chart(found))


def page(found: Frontier, title: str | None = None) -> str:
    """HTML text of the page."""
    return fill(
        "frontier.html.j2",
        it=found.provenance,
        title=title,
        sentence=sentence(found),
        chart=chart(found),
        table=table(found),
        facts=how(found),
        skipped=not_measured(found),
    )


def render_frontier(found: Frontier, path: str | Path, *, title: str | None = None) -> Path:
    """Write the page, completely or not at all."""
    return write_whole(path, page(found, title))
