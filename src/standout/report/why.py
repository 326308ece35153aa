"""Charts of what `describe` measured: why people can be found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.report.drawing import Chart, Spec
from standout.report.marks import legend, series
from standout.report.tables import Column, ReportTable
from standout.report.words import percent

CHANNELS = {"none": "item alone", "value": "with its value", "time": "with its day"}

Plain = Mapping[str, Any]


def sparsity(described: Plain) -> Chart | None:
    """Share of records whose nearest neighbor is at least this similar, a line per similarity measure."""
    curves = described.get("sparsity") or ()
    rows = [
        {
            "compared": c["similarity"],
            "epsilon": p["epsilon"],
            "delta": p["delta"],
            "low": p["low"],
            "high": p["high"],
        }
        for c in curves
        for p in c["curve"]
    ]
    if not rows:
        return None
    names = list(dict.fromkeys(r["compared"] for r in rows))
    table = ReportTable(
        "sparsity",
        "Records with a near neighbor",
        (
            Column("compared", "compared by"),
            Column("epsilon", "similarity", "number"),
            Column("delta", "records with such a neighbor", "share"),
            Column("", "95% interval", "interval", "interval"),
        ),
        tuple(rows),
    )
    x: Spec = {
        "field": "epsilon",
        "type": "quantitative",
        "title": "similarity of the nearest neighbor, at least",
        "axis": {"grid": False},
    }
    y: Spec = {
        "field": "delta",
        "type": "quantitative",
        "title": "records",
        "axis": {"format": "%", "tickCount": 5},
        "scale": {"domain": [0, 1]},
    }
    summary = "; ".join(
        f"compared by {c['similarity']}, half of the records have no neighbor more similar than {c['quartiles'][1]:.2f}"
        for c in curves
    )
    return Chart(
        "sparsity",
        "How many records have a near neighbor",
        summary[:1].upper() + summary[1:] + ".",
        _lines(rows, "compared", names, x, y),
        table,
    )


def information(described: Plain) -> Chart | None:
    """Bits of information in one known entry, by popularity rank of its item."""
    source = described.get("information") or ()
    rows = [
        {"rank": r["rank"], "support": r["support"], "channel": words, "bits": r[key]}
        for r in source
        for key, words in CHANNELS.items()
        if r.get(key) is not None
    ]
    if not rows:
        return None
    names = [w for w in CHANNELS.values() if any(r["channel"] == w for r in rows)]
    table = ReportTable(
        "information",
        "Bits that one known entry gives away",
        (
            Column("rank", "popularity rank", "count"),
            Column("support", "records that hold it", "count"),
            Column("channel", "known"),
            Column("bits", "bits", "number"),
        ),
        tuple(rows),
    )
    last = max(r["rank"] for r in rows)
    x: Spec = {
        "field": "rank",
        "type": "quantitative",
        "title": "popularity rank of the item (log scale)",
        "scale": {"type": "log", "domain": [1, last]},
        "axis": {"grid": False, "format": ",d", "tickCount": 4},
    }
    y: Spec = {"field": "bits", "type": "quantitative", "title": "bits"}
    ends = [r for r in rows if r["channel"] == names[0] and r["rank"] in (1, last)]
    total = described.get("overview", {}).get("n_records")
    share = (
        f" It is held by {percent(ends[0]['support'] / total)} of records."
        if ends and total
        else ""
    )
    said = (
        f"The most popular item alone gives {ends[0]['bits']:.1f} bits, the least popular {ends[-1]['bits']:.1f}.{share}"
        if ends
        else ""
    )
    return Chart(
        "information",
        "What one known entry gives away, by popularity of the item",
        said,
        _lines(rows, "channel", names, x, y),
        table,
    )


def _lines(rows: list[dict[str, Any]], field: str, names: list[str], x: Spec, y: Spec) -> Any:
    looks = series(names)

    def build(width: int) -> Spec:
        key = legend(names, width, symbolType="stroke", symbolStrokeWidth=2)
        return {
            "width": width,
            "height": 220,
            "data": {"values": rows},
            "mark": {"type": "line", "strokeWidth": 2, "aria": False},
            "encoding": {
                "x": x,
                "y": y,
                "color": {"field": field, **looks["color"], "legend": key},
                "strokeDash": {"field": field, **looks["strokeDash"], "legend": key},
            },
        }

    return build
