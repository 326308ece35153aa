"""The charts of a report: each a function from findings to a table and a Vega-Lite specification."""

from __future__ import annotations

from typing import Any

from standout.audit.findings import Findings
from standout.report.amounts import AMOUNT, KNOWN, Spot, spots, spots_like
from standout.report.breakdowns import channels, lengths, rarity
from standout.report.drawing import INK, SERIES, SOFT, Chart, Spec
from standout.report.marks import (
    GAP,
    SHARE,
    SHARE_AXIS,
    flat,
    legend,
    panels,
    rate_columns,
    series,
    wide,
)
from standout.report.risk_chart import risk
from standout.report.sentences import answer
from standout.report.tables import Column, ReportTable
from standout.report.view import Case, View, view
from standout.report.words import between, number, percent


def charts(findings: Findings) -> dict[str, Chart]:
    """All charts for which the findings have data, by name."""
    seen = view(findings)
    about = answer(seen).case
    made = [
        risk(seen),
        attackers(seen, about),
        absent(seen, about),
        bits(seen),
        lengths(seen, about),
        channels(seen),
        rarity(seen, about),
    ]
    return {c.name: c for c in made if c is not None}


def attackers(seen: View, about: Case) -> Chart:
    """Hit rate of every attack, for one kind of knowledge; the table holds all kinds."""
    all_spots = spots(seen)
    shown_spots = spots_like(all_spots, about)
    rows = [
        {
            **s.columns,
            "attack": r["attack"]["label"],
            **flat(r["hit"]),
            "wins": s.case.attack == r["attack"]["label"],
            "shown": s in shown_spots,
            "tip": f"{r['attack']['label']}, {s.case.words}: {percent(r['hit']['rate'])} ({between(r['hit'])})",
        }
        for s in all_spots
        for r in s.case.results
    ]
    table = ReportTable(
        "attacks",
        "Every attack on the same targets",
        (
            KNOWN,
            *AMOUNT,
            Column("attack", "attack", "text", "attack"),
            *rate_columns("hit rate", "hit rate"),
            Column("wins", "strongest", "text", "strongest attack"),
        ),
        tuple(rows),
    )
    shown = [r for r in rows if r["shown"]]
    titles = [s.title for s in shown_spots]
    ran = list(dict.fromkeys(r["attack"] for r in shown))
    order = sorted(ran, key=lambda a: -max(r["rate"] for r in shown if r["attack"] == a))

    def build(width: int) -> Spec:
        columns, size = panels(len(titles), width, order, 4, shared=True)
        share = {**SHARE, "axis": {**SHARE_AXIS, "tickCount": 3}, "title": None}
        y: Spec = {"field": "attack", "type": "nominal", "sort": order, "title": None}
        color: Spec = {"condition": {"test": "datum.wins", "value": SERIES[0]}, "value": SOFT}
        return {
            "data": {"values": shown},
            "columns": columns,
            "spacing": GAP,
            "facet": {"field": "panel", "type": "nominal", "title": None, "sort": titles},
            "spec": {
                "width": size,
                "height": {"step": 22},
                "layer": [
                    {
                        "mark": {"type": "rule", "strokeWidth": 1.5, "aria": False},
                        "encoding": {
                            "y": y,
                            "x": {"field": "low", **share},
                            "x2": {"field": "high"},
                            "color": color,
                        },
                    },
                    {
                        "mark": {"type": "point", "filled": True, "size": 56, "opacity": 1},
                        "encoding": {
                            "y": y,
                            "x": {"field": "rate", **share},
                            "color": color,
                            "description": {"field": "tip"},
                        },
                    },
                ],
            },
        }

    summary = "; ".join(f"{s.title}: " + ", ".join(_first_rates(shown, s)) for s in shown_spots)
    return Chart(
        "attacks",
        f"Every attack, knowing {shown_spots[0].kind}",
        f"Hit rates. {summary}.",
        build,
        table,
    )


def _first_rates(rows: list[dict[str, Any]], spot: Spot) -> list[str]:
    own = sorted((r for r in rows if r["amount"] == spot.amount), key=lambda r: -r["rate"])
    return [f"{r['attack']} {percent(r['rate'])}" for r in own[:4]]


def absent(seen: View, about: Case) -> Chart | None:
    """Correct names against false names as the threshold moves, for one kind of knowledge."""
    all_spots = spots(seen)
    shown_spots = [
        s for s in spots_like(all_spots, about) if s.case.result["calibrated"] is not None
    ]
    rows = []
    for s in all_spots:
        tuned = s.case.result["calibrated"]
        if tuned is not None:
            rows += [
                {
                    **s.columns,
                    "attack": s.case.attack,
                    "right": p["true_rate"],
                    "false": p["false_rate"],
                    "step": k,
                    "shown": s in shown_spots,
                }
                # from the strictest threshold to the loosest
                for k, p in enumerate(reversed(tuned["det"]))
            ]
    if not shown_spots:
        return None
    table = ReportTable(
        "absent",
        "Correct and false names at each threshold",
        (
            KNOWN,
            *AMOUNT,
            Column("attack", "attack", "text", "attack"),
            Column("right", "named correctly", "share", "named correctly"),
            Column("false", "false match", "share", "false match"),
        ),
        tuple(rows),
    )
    names = [s.title for s in shown_spots]
    looks = series(names)

    def build(width: int) -> Spec:
        ticks = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1] if wide(width) else [0, 0.05, 0.25, 1]
        key = legend(names, width, symbolType="stroke", symbolStrokeWidth=2)
        return {
            "width": width,
            "height": 240,
            "data": {"values": [r for r in rows if r["shown"]]},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2, "aria": False},
            "encoding": {
                "order": {"field": "step", "type": "quantitative"},
                "x": {
                    "field": "false",
                    "type": "quantitative",
                    "title": "false match: named although not in the data",
                    "scale": {"type": "sqrt", "domain": [0, 1]},
                    "axis": {"format": "%", "values": ticks},
                },
                "y": {"field": "right", "title": "named correctly", **SHARE, "axis": SHARE_AXIS},
                "color": {"field": "panel", **looks["color"], "legend": key},
                "strokeDash": {"field": "panel", **looks["strokeDash"], "legend": key},
            },
        }

    return Chart(
        "absent",
        f"Correct names against false names, knowing {shown_spots[0].kind}",
        f"A lower threshold gives more correct and more false names.{_at_false_rates(about)}",
        build,
        table,
    )


def _at_false_rates(about: Case) -> str:
    tuned = about.result["calibrated"]
    if tuned is None:
        return ""
    marks = ", ".join(
        f"{percent(t['true_rate'])} at {percent(t['false_rate'])} false matches"
        for t in tuned["true_rate_at"]
    )
    return f" With {about.words}, the share of people named correctly is {marks}."


def bits(seen: View) -> Chart | None:
    """Remaining uncertainty about the target's record, per adversary."""
    rows = []
    for s in spots(seen):
        left = s.case.result["bits"]
        if left:
            q = {f"p{100 * p['level']:.0f}": p["bits"] for p in left["quantiles"]}
            rows.append(
                {
                    **s.columns,
                    "order": list(s.order),
                    "attack": left["attack"],
                    "prior": left["prior"],
                    "mean": left["mean"],
                    **q,
                    "tip": f"{s.case.words}: {left['mean']:.1f} bits left on average, of {left['prior']:.1f}",
                }
            )
    if not rows:
        return None
    table = ReportTable(
        "bits",
        "Remaining uncertainty in bits",
        (
            KNOWN,
            *AMOUNT,
            Column("attack", "attack", "text", "attack"),
            Column("prior", "nothing known", "bits"),
            Column("mean", "left, mean", "bits", "bits left"),
            *(Column(f"p{p}", f"{p}% of people at most", "bits") for p in (5, 25, 50, 75, 95)),
        ),
        tuple(rows),
    )
    prior = rows[0]["prior"]
    order = list(dict.fromkeys(r["amount"] for r in sorted(rows, key=lambda r: r["order"])))
    kinds = list(dict.fromkeys(r["kind"] for r in rows))

    def build(width: int) -> Spec:
        y: Spec = {"field": "amount", "type": "ordinal", "sort": order, "title": None}
        columns, size = panels(len(kinds), width, order, 2, shared=True)

        def x(field: str) -> Spec:
            return {
                "field": field,
                "type": "quantitative",
                "title": None,
                "scale": {"domain": [0, prior], "nice": False},
                "axis": {"tickCount": 6},
            }

        return {
            "data": {"values": rows},
            "columns": columns,
            "spacing": GAP,
            "facet": {"field": "kind", "type": "nominal", "title": None, "sort": kinds},
            "spec": {
                "width": size,
                "height": {"step": 18},
                "layer": [
                    {
                        "mark": {"type": "rule", "strokeWidth": 1, "color": SOFT, "aria": False},
                        "encoding": {"y": y, "x": x("p5"), "x2": {"field": "p95"}},
                    },
                    {
                        "mark": {
                            "type": "bar",
                            "height": 7,
                            "color": SERIES[0],
                            "opacity": 0.55,
                            "aria": False,
                        },
                        "encoding": {"y": y, "x": x("p25"), "x2": {"field": "p75"}},
                    },
                    {
                        "mark": {"type": "tick", "thickness": 2.5, "height": 13, "color": INK},
                        "encoding": {"y": y, "x": x("p50"), "description": {"field": "tip"}},
                    },
                ],
            },
        }

    least = min(rows, key=lambda r: r["mean"])
    return Chart(
        "bits",
        "Remaining uncertainty about a person's record, in bits, by number of known items",
        f"Of {prior:.1f} bits, {number(round(least['mean'], 2))} are left on average knowing "
        f"{least['panel']}, {least['kind']}. "
        "Thin line: 5% to 95% of people; bar: middle half; tick: median.",
        build,
        table,
    )
