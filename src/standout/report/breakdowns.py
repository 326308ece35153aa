"""Charts that split the hit rate: by record length, by rarity of what is known, by what is known of values and days."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.data.times import time_words
from standout.data.values import value_words
from standout.report.amounts import amounts_of, spots, spots_like
from standout.report.drawing import SERIES, Chart, Spec
from standout.report.marks import GAP, SHARE, SHARE_AXIS, flat, panels, rate_columns
from standout.report.tables import Column, ReportTable
from standout.report.view import Case, View
from standout.report.words import between, number, percent


def lengths(seen: View, about: Case) -> Chart | None:
    """Hit rate by record length."""
    heads = ("lengths", "Hit rate by record length", "items in the record", "record length")
    title = "People found, by number of items in their record, knowing {}"
    return _grouped(
        seen, about, ("by_length", "shortest", "longest"), heads, title, "records of {} items"
    )


def rarity(seen: View, about: Case) -> Chart | None:
    """Hit rate by how many records hold the rarest known item."""
    heads = (
        "rarity",
        "Hit rate by rarity of the known items",
        "records that hold the rarest known item",
        "support",
    )
    title = "People found, by how many others hold the rarest item known of them, knowing {}"
    return _grouped(
        seen,
        about,
        ("by_rarity", "rarest_from", "rarest_to"),
        heads,
        title,
        "rarest item held by {}",
    )


def _grouped(
    seen: View,
    about: Case,
    keys: tuple[str, str, str],
    heads: tuple[str, str, str, str],
    title: str,
    words: str,
) -> Chart | None:
    """Hit rate by a size of the query.

    `keys` name the rows and their bounds; `heads` the table, its title, its column and the term
    that explains it.
    """
    all_spots = spots(seen)
    shown_spots = spots_like(all_spots, about)
    rows = []
    for s in all_spots:
        for r in s.case.result.get(keys[0], ()):
            low, high = r[keys[1]], r[keys[2]]
            group = number(low) if low == high else f"{low:,} to {high:,}"
            rows.append(
                {
                    **s.columns,
                    "from": low,
                    "group": group,
                    **flat(r),
                    "shown": s in shown_spots,
                    "about": s.case is about,
                    "tip": f"{s.case.words}, {words.format(group)}: {percent(r['rate'])} ({between(r)})",
                }
            )
    shown = [r for r in rows if r["shown"]]
    if not shown:
        return None
    table = ReportTable(
        heads[0],
        heads[1],
        (
            Column("kind", "known of the person", "text", "kind of knowledge"),
            Column("knows", "items known", "count"),
            Column("wrong", "of them wrong", "count"),
            Column("group", heads[2], "text", heads[3]),
            *rate_columns("hit rate", "hit rate"),
        ),
        tuple(rows),
    )
    titles = [s.title for s in shown_spots]

    def build(width: int) -> Spec:
        columns, size = panels(len(titles), width, [r["group"] for r in shown], 3, shared=False)
        share = {**SHARE, "axis": {**SHARE_AXIS, "tickCount": 3}, "title": None}
        y: Spec = {"field": "group", "type": "ordinal", "sort": {"field": "from"}, "title": None}
        return {
            "data": {"values": shown},
            "columns": columns,
            "spacing": GAP,
            "align": "none",
            "facet": {"field": "panel", "type": "nominal", "title": None, "sort": titles},
            "resolve": {"scale": {"y": "independent"}},
            "spec": {
                "width": size,
                "height": {"step": 22},
                "layer": [
                    {
                        "mark": {
                            "type": "rule",
                            "strokeWidth": 1.5,
                            "color": SERIES[0],
                            "aria": False,
                        },
                        "encoding": {
                            "y": y,
                            "x": {"field": "low", **share},
                            "x2": {"field": "high"},
                        },
                    },
                    {
                        "mark": {
                            "type": "point",
                            "filled": True,
                            "size": 56,
                            "opacity": 1,
                            "color": SERIES[0],
                        },
                        "encoding": {
                            "y": y,
                            "x": {"field": "rate", **share},
                            "description": {"field": "tip"},
                        },
                    },
                ],
            },
        }

    said = ", ".join(
        f"{words.format(r['group'])} {percent(r['rate'])}" for r in shown if r["about"]
    )
    summary = f"Knowing {about.words}: {said}."
    return Chart(heads[0], title.format(shown_spots[0].kind), summary, build, table)


def channels(seen: View) -> Chart | None:
    """Hit rate with each channel known exactly, roughly or not at all, for the same number of items."""
    rows = []
    chosen = []
    for s in spots(seen):
        a = s.case.adversary
        special = any(
            a.get(name) is not None for name in ("gamma", "length_within", "view", "within")
        )
        if a["choose"] == "uniform" and not special:
            chosen.append(s)
            rows.append(
                {
                    **s.columns,
                    "value": _value(a),
                    "time": _time(a),
                    **flat(s.case.hit),
                    "text": percent(s.case.hit["rate"]),
                    "tip": f"{s.case.words}: {percent(s.case.hit['rate'])} ({between(s.case.hit)})",
                }
            )
    if len({(r["value"], r["time"]) for r in rows}) < 2:
        return None
    table = ReportTable(
        "channels",
        "What values and days add",
        (
            Column("knows", "items known", "count"),
            Column("wrong", "of them wrong", "count"),
            Column("value", "values"),
            Column("time", "days"),
            *rate_columns("hit rate", "hit rate"),
        ),
        tuple(rows),
    )
    best, worst = max(rows, key=lambda r: r["rate"]), min(rows, key=lambda r: r["rate"])
    return Chart(
        "channels",
        "What values and days add to the items",
        f"Highest: {percent(best['rate'])} with {best['panel']}, {best['value']}, {best['time']}; "
        f"lowest: {percent(worst['rate'])} with {worst['panel']}, {worst['value']}, {worst['time']}.",
        _channel_spec(rows, [s.title for s in amounts_of(chosen)]),
        table,
    )


def _channel_spec(rows: list[dict[str, Any]], titles: list[str]) -> Any:
    times = sorted({r["time"] for r in rows}, key=_vague)
    values = sorted({r["value"] for r in rows}, key=_vague)

    def build(width: int) -> Spec:
        columns, size = panels(len(titles), width, values, 3, shared=True)
        base: Spec = {
            "x": {
                "field": "time",
                "type": "nominal",
                "sort": times,
                "title": None,
                "axis": {
                    "labelAngle": 0,
                    "orient": "bottom",
                    "labelExpr": "split(datum.label, ' ')",
                },
            },
            "y": {"field": "value", "type": "nominal", "sort": values, "title": None},
        }
        fill: Spec = {
            "field": "rate",
            "type": "quantitative",
            "legend": None,
            "scale": {"domain": [0, 1], "range": ["#e9f1f7", "#0072b2"]},
        }
        ink: Spec = {
            "condition": {"test": "datum.rate > 0.85", "value": "#fffffe"},
            "value": "#1b1f25",
        }
        return {
            "data": {"values": rows},
            "columns": columns,
            "spacing": GAP,
            "facet": {"field": "panel", "type": "nominal", "title": None, "sort": titles},
            "spec": {
                "width": size,
                "height": {"step": 30},
                "layer": [
                    {
                        "mark": {
                            "type": "rect",
                            "cornerRadius": 2,
                            "stroke": "#ffffff",
                            "strokeWidth": 2,
                        },
                        "encoding": {**base, "color": fill, "description": {"field": "tip"}},
                    },
                    {
                        "mark": {"type": "text", "aria": False},
                        "encoding": {**base, "text": {"field": "text"}, "color": ink},
                    },
                ],
            },
        }

    return build


def _value(adversary: Mapping[str, Any]) -> str:
    within = adversary["value_within"]
    return "no values" if within is None else value_words(within)


def _time(adversary: Mapping[str, Any]) -> str:
    within = adversary["time_within"]
    return "no days" if within is None else time_words(within, adversary.get("resolution", "day"))


def _vague(label: str) -> tuple[int, float]:
    """Exact first, then ascending tolerance, unknown last."""
    if label.startswith("no "):
        return 2, 0.0
    if "±" not in label:
        return 0, 0.0
    number, _, unit = label.rsplit("±", 1)[1].partition(" ")
    digits = "".join(c for c in number if c.isdigit() or c == ".")
    return 1, float(digits or 0) * {"min": 1 / 1440, "h": 1 / 24, "week": 7, "weeks": 7}.get(
        unit, 1
    )
