"""The charts of a report: each a function from findings to a table and a Vega-Lite specification."""

from __future__ import annotations

from typing import Any

from standout.audit.findings import Findings, named_rate
from standout.report.breakdowns import breakdown, channels
from standout.report.drawing import (
    INK,
    POINT,
    SERIES,
    SHARE,
    SHARE_AXIS,
    SOFT,
    Chart,
    Spec,
    category,
    dots,
    facets,
    layer,
    legend,
    lines,
    panels,
    quantity,
    series,
    wide,
)
from standout.report.sentences import judge_level
from standout.report.tables import (
    make_table,
    rate_cells,
)
from standout.report.view import Case, FindingsView, amount_labels, view
from standout.report.words import number, percent, rate_words

PANELS = {
    "unique": "Unique: no other record fits",
    "sure": "Sure: the right record, at least 95% likely",
    "found": "Found: the best guess is right",
}
"""Panels of the risk chart, from what is certain to what is guessed."""

BESIDE = 70
"""Pixels that the axis of a panel takes beside its plot."""


def charts(findings: Findings) -> dict[str, Chart]:
    """All charts for which the findings have data, by name."""
    seen = view(findings)
    about = judge_level(seen)[1]
    made = [
        risk(seen),
        attackers(seen, about),
        absent(seen, about),
        bits(seen),
        breakdown("lengths", seen, about),
        channels(seen),
        breakdown("rarity", seen, about),
    ]
    return {c.name: c for c in made if c is not None}


def risk(seen: FindingsView) -> Chart:
    """The three measures of risk against the number of known items, a line per kind of knowledge."""
    rows = [
        {
            **c.columns,
            "group": c.group,
            **named_rate("unique", c.measure("unique")),
            **named_rate("sure", c.measure("sure")),
            "attack": c.attack,
            **rate_cells(c.hit),
            "rate_all": c.hit_all.rate,
            "random": c.random,
        }
        for c in seen.charted
    ]
    points = [
        {
            **c.columns,
            "group": c.group,
            "measure": title,
            **rate_cells(rate),
            "tip": f"{c.words}: {name} {rate_words(rate)}",
        }
        for name, title in PANELS.items()
        for c in seen.charted
        if (rate := c.measure(name)) is not None
    ]
    ranges = [_range(name, points) for name in PANELS]
    return Chart(
        "People unique, sure and found, by number of known items",
        f"Share of people with enough items.{''.join(ranges)} All numbers are in the table.",
        lambda width: _risk_spec(points, seen, width),
        make_table("risk", rows),
    )


def _range(name: str, points: list[dict[str, Any]]) -> str:
    """Lowest and highest rate of a measure, as a sentence; empty if it was not measured."""
    own = [p for p in points if p["measure"] == PANELS[name]]
    if not own:
        return ""
    ends = [
        f"{percent(p['rate'])} ({p['panel']}, {p['kind']})"
        for p in (end(own, key=lambda p: p["rate"]) for end in (min, max))
    ]
    return f" {name.capitalize()}: from {' to '.join(ends)}."


def _risk_spec(points: list[dict[str, Any]], seen: FindingsView, width: int) -> Spec:
    kinds, axis = list(dict.fromkeys(c.line for c in seen.charted)), amount_labels(seen.cases)
    looks, key = series(kinds), legend(kinds, width, symbolOpacity=1)
    # "4, 1 wrong" on two lines, so that nine labels fit
    labels: Spec = {"labelAngle": 0, "grid": False, "labelExpr": "split(datum.label, ', ')"}
    if not wide(width) and len(axis) > 5:
        labels |= {"labelAngle": -90, "labelExpr": "datum.label"}
        labels |= {"labelAlign": "right", "labelBaseline": "middle"}
    x = category("amount", axis, axis={**labels, "labelOverlap": False})
    x |= {"title": "items known", "scale": {"type": "point", "padding": 0.4}}
    color = {"field": "kind", **looks["color"], "legend": key}
    shape = {"field": "kind", **looks["shape"], "legend": key}
    low, rate = (
        {"field": field, "title": "share of people", **SHARE, "axis": SHARE_AXIS}
        for field in ("low", "rate")
    )
    pale = {"strokeWidth": 1.2, "opacity": 0.45}
    layers = [
        layer("line", pale, x=x, color=color, y=rate, detail="group"),
        layer("rule", {"strokeWidth": 1.5, "opacity": 0.7}, x=x, color=color, y=low, y2="high"),
        layer(
            "point", POINT | {"size": 52}, x=x, color=color, y=rate, shape=shape, description="tip"
        ),
    ]
    titles = list(dict.fromkeys(p["measure"] for p in points))
    spec = facets(points, "measure", titles, layers, width=width - BESIDE, height=150)
    # on two lines on a phone
    spec["facet"]["header"] = {} if wide(width) else {"labelExpr": "split(datum.label, ': ')"}
    return spec


def attackers(seen: FindingsView, about: Case) -> Chart:
    """Hit rate of every attack, for one kind of knowledge; the table holds all kinds."""
    alike = seen.like(about)
    rows = [
        {
            **c.columns,
            "attack": r.attack.label,
            **rate_cells(r.hit),
            "wins": c.attack == r.attack.label,
            "shown": c in alike,
            "tip": f"{r.attack.label}, {c.words}: {rate_words(r.hit)}",
        }
        for c in seen.charted
        for r in c.results
    ]
    shown = [r for r in rows if r["shown"]]
    best_first = sorted(shown, key=lambda r: -r["rate"])
    highest = {
        r["attack"]: max(x["rate"] for x in shown if x["attack"] == r["attack"]) for r in shown
    }
    order = sorted(highest, key=lambda attack: -highest[attack])
    titles = [c.panel for c in alike]

    def build(width: int) -> Spec:
        columns, size = panels(len(titles), width, order, 4, shared=True)
        winner = {"condition": {"test": "datum.wins", "value": SERIES[0]}, "value": SOFT}
        layers = dots(category("attack", order), {}, color=winner)
        return facets(shown, "panel", titles, layers, columns, width=size, height={"step": 22})

    firsts = [
        f"{title}: "
        + ", ".join(
            [f"{r['attack']} {percent(r['rate'])}" for r in best_first if r["panel"] == title][:4]
        )
        for title in titles
    ]
    return Chart(
        f"Every attack, knowing {about.line}",
        f"Hit rates. {'; '.join(firsts)}.",
        build,
        make_table("attacks", rows),
    )


def absent(seen: FindingsView, about: Case) -> Chart | None:
    """Correct names against false names as the threshold moves, for one kind of knowledge."""
    alike = [c for c in seen.like(about) if c.calibrated is not None]
    if not alike:
        return None
    rows = [
        {
            **c.columns,
            "attack": c.attack,
            "right": p.true_rate,
            "false": p.false_rate,
            "step": k,
            "shown": c in alike,
        }
        for c in seen.charted
        # from the strictest threshold to the loosest
        for k, p in enumerate(reversed(c.calibrated.det if c.calibrated else ()))
    ]

    def build(width: int) -> Spec:
        ticks = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1] if wide(width) else [0, 0.05, 0.25, 1]
        x = quantity("false match: named although not in the data", format="%", values=ticks)
        y = {"field": "right", "title": "named correctly", **SHARE, "axis": SHARE_AXIS}
        spec = lines(
            [r for r in rows if r["shown"]],
            "panel",
            width,
            {"interpolate": "step-after"},
            order={"field": "step", "type": "quantitative"},
            x={"field": "false", **x, "scale": {"type": "sqrt", "domain": [0, 1]}},
            y=y,
        )
        return spec | {"height": 240}

    return Chart(
        f"Correct names against false names, knowing {alike[0].line}",
        f"A lower threshold gives more correct and more false names.{_at_false_rates(about)}",
        build,
        make_table("absent", rows),
    )


def _at_false_rates(about: Case) -> str:
    if about.calibrated is None:
        return ""
    marks = ", ".join(
        f"{percent(t.true_rate)} at {percent(t.false_rate)} false matches"
        for t in about.calibrated.true_rate_at
    )
    return f" With {about.words}, the share of people named correctly is {marks}."


def bits(seen: FindingsView) -> Chart | None:
    """Remaining uncertainty about the target's record, per adversary."""
    rows = [
        {
            **c.columns,
            "attack": left.attack,
            "prior": left.prior,
            "mean": left.mean,
            **{f"p{100 * p.level:.0f}": p.bits for p in left.quantiles},
            "tip": f"{c.words}: {left.mean:.1f} bits left on average, of {left.prior:.1f}",
        }
        for c in seen.charted
        if (left := c.uncertainty)
    ]
    if not rows:
        return None
    prior, order = rows[0]["prior"], amount_labels([c for c in seen.cases if c.uncertainty])
    kinds = list(dict.fromkeys(r["kind"] for r in rows))

    def build(width: int) -> Spec:
        columns, size = panels(len(kinds), width, order, 2, shared=True)
        y = category("amount", order)
        p5, p25, p50 = (
            {"field": field, **quantity(None, [0, prior], tickCount=6)}
            for field in ("p5", "p25", "p50")
        )
        bar = {"height": 7, "color": SERIES[0], "opacity": 0.55}
        tick = {"thickness": 2.5, "height": 13, "color": INK}
        layers = [
            layer("rule", {"strokeWidth": 1, "color": SOFT}, y=y, x=p5, x2="p95"),
            layer("bar", bar, y=y, x=p25, x2="p75"),
            layer("tick", tick, y=y, x=p50, description="tip"),
        ]
        return facets(rows, "kind", kinds, layers, columns, width=size, height={"step": 18})

    least = min(rows, key=lambda r: r["mean"])
    return Chart(
        "Remaining uncertainty about a person's record, in bits, by number of known items",
        f"Of {prior:.1f} bits, {number(round(least['mean'], 2))} are left on average knowing "
        f"{least['panel']}, {least['kind']}. "
        "Thin line: 5% to 95% of people; bar: middle half; tick: median.",
        build,
        make_table("bits", rows),
    )
