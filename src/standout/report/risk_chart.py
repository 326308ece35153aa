"""The chart of the three measures of risk: people unique, sure and found, by number of known items."""

from __future__ import annotations

from typing import Any

from standout.report.amounts import AMOUNT, KNOWN, amounts_of, kinds_of, spots
from standout.report.drawing import Chart, Spec
from standout.report.marks import (
    GAP,
    SHARE,
    SHARE_AXIS,
    flat,
    legend,
    rate_columns,
    series,
    wide,
)
from standout.report.tables import Column, ReportTable
from standout.report.view import Case, View
from standout.report.words import between, percent

PANELS = {
    "unique": "Unique: no other record fits",
    "sure": "Sure: the right record, at least 95% likely",
    "found": "Found: the best guess is right",
}
"""Panels of the risk chart, from what is certain to what is guessed."""

BESIDE = 70
"""Pixels that the axis of a panel takes beside its plot."""


def risk(seen: View) -> Chart:
    """The three measures of risk against the number of known items, a line per kind of knowledge."""
    all_spots = spots(seen)
    rows = [
        {
            **s.columns,
            "group": s.group,
            **_low_high("unique", s.case),
            **_low_high("sure", s.case),
            "attack": s.case.attack,
            **flat(s.case.hit),
            "rate_all": s.case.hit_all["rate"],
            "random": s.case.random,
        }
        for s in all_spots
    ]
    points = [
        {
            **s.columns,
            "group": s.group,
            "measure": title,
            **flat(rate),
            "tip": f"{s.case.words}: {name} {percent(rate['rate'])} ({between(rate)})",
        }
        for name, title in PANELS.items()
        for s in all_spots
        if (rate := s.case.measure(name)) is not None
    ]
    table = ReportTable(
        "risk",
        "Risk by number of known items",
        (
            KNOWN,
            *AMOUNT,
            Column("unique", "unique", "share", "unique"),
            Column("unique_", "95% interval", "interval", "interval"),
            Column("sure", "sure", "share", "sure"),
            Column("sure_", "95% interval", "interval", "interval"),
            Column("attack", "strongest attack", "text", "strongest attack"),
            *rate_columns("found", "found"),
            Column("rate_all", "found, of all people", "share", "of all people"),
            Column("random", "random guess", "share", "random guess"),
        ),
        tuple(rows),
    )
    said = [
        _range(name, points)
        for name, title in PANELS.items()
        if any(p["measure"] == title for p in points)
    ]
    summary = f"Share of people with enough items. {' '.join(said)} All numbers are in the table."
    kinds, axis = kinds_of(all_spots), [s.amount for s in amounts_of(all_spots)]
    title = "People unique, sure and found, by number of known items"
    return Chart("risk", title, summary, _risk_spec(points, kinds, axis), table)


def _low_high(name: str, case: Case) -> dict[str, Any]:
    rate = case.measure(name) or dict.fromkeys(("rate", "low", "high"))
    return {name: rate["rate"], f"{name}_low": rate["low"], f"{name}_high": rate["high"]}


def _range(name: str, points: list[dict[str, Any]]) -> str:
    """Lowest and highest rate of a measure, as a sentence."""
    own = [p for p in points if p["measure"] == PANELS[name]]
    low, top = min(own, key=lambda r: r["rate"]), max(own, key=lambda r: r["rate"])
    return (
        f"{name.capitalize()}: from {percent(low['rate'])} ({low['panel']}, {low['kind']}) to {percent(top['rate'])} "
        f"({top['panel']}, {top['kind']})."
    )


def _risk_spec(rows: list[dict[str, Any]], kinds: list[str], axis: list[str]) -> Any:
    looks = series(kinds)

    def build(width: int) -> Spec:
        key = legend(kinds, width, symbolOpacity=1)
        # "4, 1 wrong" on two lines, so that nine labels fit
        x: Spec = {
            "field": "amount",
            "type": "ordinal",
            "sort": axis,
            "title": "items known",
            "axis": {
                "labelAngle": 0,
                "grid": False,
                "labelExpr": "split(datum.label, ', ')",
                "labelOverlap": False,
            },
            "scale": {"type": "point", "padding": 0.4},
        }
        if not wide(width) and len(axis) > 5:
            x["axis"] |= {
                "labelAngle": -90,
                "labelExpr": "datum.label",
                "labelAlign": "right",
                "labelBaseline": "middle",
            }
        shared: Spec = {"x": x, "color": {"field": "kind", **looks["color"], "legend": key}}
        y = {"title": "share of people", **SHARE, "axis": SHARE_AXIS}
        # on two lines on a phone
        header: Spec = {} if wide(width) else {"labelExpr": "split(datum.label, ': ')"}
        titles = [
            title for title in PANELS.values() if any(row["measure"] == title for row in rows)
        ]
        return {
            "data": {"values": rows},
            "columns": 1,
            "spacing": GAP,
            "facet": {
                "field": "measure",
                "type": "nominal",
                "title": None,
                "sort": titles,
                "header": header,
            },
            "spec": {
                "width": width - BESIDE,
                "height": 150,
                "layer": [
                    {
                        "mark": {
                            "type": "line",
                            "strokeWidth": 1.2,
                            "opacity": 0.45,
                            "aria": False,
                        },
                        "encoding": {
                            **shared,
                            "y": {"field": "rate", **y},
                            "detail": {"field": "group"},
                        },
                    },
                    {
                        "mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.7, "aria": False},
                        "encoding": {**shared, "y": {"field": "low", **y}, "y2": {"field": "high"}},
                    },
                    {
                        "mark": {"type": "point", "filled": True, "size": 52, "opacity": 1},
                        "encoding": {
                            **shared,
                            "y": {"field": "rate", **y},
                            "shape": {"field": "kind", **looks["shape"], "legend": key},
                            "description": {"field": "tip"},
                        },
                    },
                ],
            },
        }

    return build
