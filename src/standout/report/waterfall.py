"""Charts of one query explained: bits left fact by fact, and what each fact adds. They read the data of `audit.explain`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.report.drawing import INK, SERIES, SHAPES, SOFT, Chart, Spec
from standout.report.tables import Column, ReportTable
from standout.report.words import number, percent

Plain = Mapping[str, Any]


def name(who: Plain | None, otherwise: str) -> str:
    """A record's label, if labels were requested."""
    return otherwise if not who or who["label"] is None else f"record {who['label']}"


def entry_words(entry: Plain | None) -> str:
    """Write an entry: its value and its day, as far as they are known."""
    if entry is None:
        return "not held"
    parts = [number(entry["value"])] if entry["value"] is not None else []
    return ", ".join([*parts, *([entry["day"]] if entry["day"] is not None else [])]) or "held"


def explanation_charts(it: Plain) -> list[Chart]:
    """Bits fact by fact, and what each fact adds to the first and the second record."""
    made = [waterfall(it), contributions(it)]
    return [c for c in made if c is not None]


def _signed(x: float) -> str:
    """Write a change with a true minus sign; no sign if it rounds to zero."""
    text = f"{x:+.1f}".replace("-", "−")
    return "0" if text[1:] == "0.0" else text


def _steps(it: Plain) -> list[dict[str, Any]]:
    """Bars of the waterfall: nothing known, one per fact, all facts."""
    before = it["bits"]["prior"]
    rows = [_level("nothing known", before)]
    for k, f in enumerate(it["facts"]):
        after, label = (
            f["after"]["bits"],
            f"{k + 1}. {f['item'] if f['item'] is not None else 'fact'}",
        )
        kind = "takes away" if after <= before else "adds"
        rows.append(
            {
                "fact": label,
                "from": before,
                "to": after,
                "text": _signed(after - before),
                "kind": kind,
                "tip": f"{label}: {before:.2f} to {after:.2f} bits",
            }
        )
        before = after
    return [*rows, _level("all facts", before)]


def _level(fact: str, bits: float) -> dict[str, Any]:
    return {
        "fact": fact,
        "from": 0.0,
        "to": bits,
        "text": f"{bits:.1f}",
        "kind": "level",
        "tip": f"{fact}: {bits:.2f} bits",
    }


def waterfall(it: Plain) -> Chart | None:
    """Remaining uncertainty in bits, from no knowledge to all facts."""
    if any(f["after"]["bits"] is None for f in it["facts"]):
        return None
    rows = _steps(it)
    prior, before = rows[0]["to"], rows[-1]["to"]
    order = [r["fact"] for r in rows]

    def build(width: int) -> Spec:
        y: Spec = {
            "field": "fact",
            "type": "nominal",
            "sort": order,
            "title": None,
            "axis": {"labelLimit": width // 3},
        }
        x: Spec = {
            "field": "from",
            "type": "quantitative",
            "title": "bits",
            "scale": {"domain": [0, prior * 1.12], "nice": False},
        }
        color: Spec = {
            "field": "kind",
            "type": "nominal",
            "legend": None,
            "scale": {
                "domain": ["level", "takes away", "adds"],
                "range": [SOFT, SERIES[0], SERIES[1]],
            },
        }
        return {
            "width": width,
            "height": {"step": 24},
            "data": {"values": rows},
            "layer": [
                {
                    "mark": {"type": "bar", "height": 13},
                    "encoding": {
                        "y": y,
                        "x": x,
                        "x2": {"field": "to"},
                        "color": color,
                        "description": {"field": "tip"},
                    },
                },
                {
                    "transform": [{"calculate": "max(datum.from, datum.to)", "as": "end"}],
                    "mark": {"type": "text", "align": "left", "dx": 6, "aria": False, "color": INK},
                    "encoding": {"y": y, "x": {**x, "field": "end"}, "text": {"field": "text"}},
                },
            ],
        }

    table = ReportTable(
        "waterfall",
        "Remaining uncertainty in bits, fact by fact",
        (Column("fact", "fact"), Column("from", "before", "bits"), Column("to", "after", "bits")),
        tuple(rows[1:-1]),
    )
    return Chart(
        "waterfall",
        "Remaining uncertainty in bits, fact by fact",
        f"From {prior:.1f} bits down to {number(round(before, 2))}, the rarest item first.",
        build,
        table,
    )


def contributions(it: Plain) -> Chart | None:
    """What each fact adds to the score of the first and of the second record."""
    series = {"first": name(it["best"], "first"), "second": name(it["runner_up"], "second")}
    rows = []
    for k, f in enumerate(it["facts"]):
        label = f"{k + 1}. {f['item'] if f['item'] is not None else 'fact'}"
        for key, part in (("first", f["best"]), ("second", f["runner_up"])):
            if part is not None and part["contribution"] is not None:
                rows.append(
                    {
                        "fact": label,
                        "record": series[key],
                        "adds": part["contribution"],
                        "holds": entry_words(part["holds"]),
                        "tip": f"{label}: {part['contribution']:.3g} to {series[key]} "
                        f"({entry_words(part['holds'])})",
                    }
                )
    if not rows:
        return None
    order = list(dict.fromkeys(r["fact"] for r in rows))
    names = list(dict.fromkeys(r["record"] for r in rows))

    def build(width: int) -> Spec:
        y: Spec = {
            "field": "fact",
            "type": "nominal",
            "sort": order,
            "title": None,
            "axis": {"labelLimit": width // 3, "grid": True},
        }
        return {
            "width": width,
            "height": {"step": 24},
            "data": {"values": rows},
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {
                "y": y,
                "x": {"field": "adds", "type": "quantitative", "title": "added to the score"},
                "color": {
                    "field": "record",
                    "type": "nominal",
                    "sort": names,
                    "legend": {"title": None},
                    "scale": {"domain": names, "range": list(SERIES[: len(names)])},
                },
                "shape": {
                    "field": "record",
                    "type": "nominal",
                    "sort": names,
                    "legend": {"title": None},
                    "scale": {"domain": names, "range": list(SHAPES[: len(names)])},
                },
                "description": {"field": "tip"},
            },
        }

    table = ReportTable(
        "contributions",
        "What each fact adds",
        (
            Column("fact", "fact"),
            Column("record", "record"),
            Column("holds", "holds"),
            Column("adds", "adds", "number"),
        ),
        tuple(rows),
    )
    gap = {r["fact"]: 0.0 for r in rows}
    for r in rows:
        gap[r["fact"]] += r["adds"] if r["record"] == names[0] else -r["adds"]
    most = max(gap, key=lambda k: gap[k])
    share = (
        ""
        if it["facts"][order.index(most)]["share"] is None
        else f", an item that {percent(it['facts'][order.index(most)]['share'])} of records hold"
    )
    return Chart(
        "contributions",
        "What each fact adds to the first and the second record",
        f"The fact that separates them most is {most}{share}.",
        build,
        table,
    )
