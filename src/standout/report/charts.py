"""The charts of a report: each a function from findings to a table and a Vega-Lite specification."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from standout.audit.findings import Findings
from standout.report.drawing import INK, NARROW, SERIES, SHAPES, SOFT, Chart, Spec
from standout.report.sentences import answer
from standout.report.tables import Column, Table
from standout.report.view import Case, View, view
from standout.report.words import between, number, percent

SHARE_AXIS: Spec = {"format": "%", "tickCount": 5}


def charts(findings: Findings) -> dict[str, Chart]:
    """All charts that the findings allow, by name."""
    seen = view(findings)
    about = answer(seen).case
    made = [risk(seen), attackers(seen, about), absent(seen, about), bits(seen), lengths(seen, about), channels(seen),
            rarity(seen, about)]  # fmt: skip
    return {c.name: c for c in made if c is not None}


def _flat(rate: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    return {f"{prefix}{k}": rate[k] for k in ("rate", "low", "high", "count", "n")}


def _rate_columns(title: str, term: str) -> tuple[Column, ...]:
    return (
        Column("rate", title, "share", term),
        Column("", "95% interval", "interval", "interval"),
        Column("count", "hits", "count"),
        Column("n", "people", "count", "target"),
    )


def _wide(width: int) -> bool:
    return width > NARROW + 60


def _series(names: Sequence[str]) -> dict[str, Spec]:
    """Color and shape that tell series apart, both, so that neither alone has to."""
    n = len(names)
    colors = [SERIES[k % len(SERIES)] for k in range(n)]
    shapes = [SHAPES[k % len(SHAPES)] for k in range(n)]
    return {
        "color": {"scale": {"domain": list(names), "range": colors}, "sort": list(names), "type": "nominal"},
        "shape": {"scale": {"domain": list(names), "range": shapes}, "sort": list(names), "type": "nominal"},
    }


def risk(seen: View) -> Chart:
    """Hit rate against number of known items, a line per kind of knowledge."""
    rows = []
    for kind in seen.kinds:
        for case in seen.of_kind(kind):
            rows.append({"kind": kind, "knows": case.knows, "wrong": case.adversary["wrong"], "attack": case.attack,
                         **_flat(case.hit), "random": case.random,
                         "tip": f"{case.words}: {percent(case.hit['rate'])} ({between(case.hit)})"})  # fmt: skip
    table = Table("risk", "Risk by number of known items", (
        Column("kind", "known of the person", "text", "kind of knowledge"), Column("knows", "items known", "count", "item"),
        Column("wrong", "of them wrong", "count"), Column("attack", "strongest attack", "text", "strongest attack"),
        *_rate_columns("hit rate", "hit rate"), Column("random", "random guess", "share", "random guess"),
    ), tuple(rows))  # fmt: skip
    looks = _series(seen.kinds)

    def build(width: int) -> Spec:
        legend: Spec = {
            "title": None,
            "symbolOpacity": 1,
            "columns": 3 if _wide(width) else 1 if max(map(len, seen.kinds)) > 18 else 2,
        }
        x: Spec = {"field": "knows", "type": "ordinal", "title": "items known", "axis": {"labelAngle": 0, "grid": False},
                   "scale": {"paddingInner": 0.45, "paddingOuter": 0.15}}  # fmt: skip
        offset: Spec = {"field": "kind", "type": "nominal", "sort": seen.kinds, "scale": {"paddingInner": 0.1}}
        color = {"field": "kind", **looks["color"], "legend": legend}
        shared: Spec = {"x": x, "xOffset": offset, "color": color}
        share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": SHARE_AXIS}
        return {
            "width": width, "height": 260, "data": {"values": rows},
            "layer": [
                {"mark": {"type": "line", "strokeWidth": 1.2, "opacity": 0.45, "aria": False},
                 "encoding": {**shared, "y": {"field": "rate", "title": "people found", **share}}},
                {"mark": {"type": "rule", "strokeWidth": 1.5, "aria": False},
                 "encoding": {**shared, "y": {"field": "low", "title": "people found", **share}, "y2": {"field": "high"}}},
                {"mark": {"type": "point", "filled": True, "size": 52, "opacity": 1},
                 "encoding": {**shared, "y": {"field": "rate", "title": "people found", **share},
                              "shape": {"field": "kind", **looks["shape"], "legend": legend},
                              "description": {"field": "tip"}}},
            ],
        }  # fmt: skip

    top = max(rows, key=lambda r: r["rate"])
    low = min(rows, key=lambda r: r["rate"])
    summary = (
        f"Share of people found by the strongest attack: from {percent(low['rate'])} ({low['knows']} items, {low['kind']}) "
        f"to {percent(top['rate'])} ({top['knows']} items, {top['kind']}). All numbers are in the table."
    )
    return Chart("risk", "People found, by number of known items", summary, build, table)


def attackers(seen: View, about: Case) -> Chart:
    """Hit rate of every attack, for one kind of knowledge; the table holds all kinds."""
    rows = [
        {"kind": c.kind, "knows": c.knows, "attack": r["attack"]["label"], **_flat(r["hit"]),
         "wins": c.attack == r["attack"]["label"], "amount": f"{c.knows} item{'s' if c.knows > 1 else ''}",
         "tip": f"{r['attack']['label']}, {c.words}: {percent(r['hit']['rate'])} ({between(r['hit'])})"}
        for c in seen.cases for r in c.results
    ]  # fmt: skip
    table = Table("attacks", "Every attack on the same targets", (
        Column("kind", "known of the person", "text", "kind of knowledge"), Column("knows", "items known", "count"),
        Column("attack", "attack", "text", "attack"), *_rate_columns("hit rate", "hit rate"),
        Column("wins", "strongest", "text", "strongest attack"),
    ), tuple(rows))  # fmt: skip
    shown = [r for r in rows if r["kind"] == about.kind]
    amounts = sorted({r["knows"] for r in shown})
    order = sorted(seen.attacks, key=lambda a: -max(r["rate"] for r in shown if r["attack"] == a))

    def build(width: int) -> Spec:
        panels = len(amounts) if _wide(width) else 1
        label = 110
        share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {**SHARE_AXIS, "tickCount": 3}}
        y: Spec = {"field": "attack", "type": "nominal", "sort": order, "title": None}
        color: Spec = {"condition": {"test": "datum.wins", "value": SERIES[0]}, "value": SOFT}
        return {
            "data": {"values": shown},
            "facet": {"field": "amount", "type": "nominal", "title": None, "sort": [f"{n} "
            "item{'s' if n > 1 else ''}" for n in amounts]},
            "columns": panels, "spacing": 24,
            "spec": {"width": (width - label - 24 * (panels - 1) - 12) / panels, "height": {"step": 22}, "layer": [
                {"mark": {"type": "rule", "strokeWidth": 1.5, "aria": False},
                 "encoding": {"y": y, "x": {"field": "low", "title": None, **share}, "x2": {"field": "high"}, "color": color}},
                {"mark": {"type": "point", "filled": True, "size": 56, "opacity": 1},
                 "encoding": {"y": y, "x": {"field": "rate", "title": None, **share}, "color": color,
                              "description": {"field": "tip"}}},
            ]},
        }  # fmt: skip

    summary = "; ".join(
        f"{n} items: "
        + ", ".join(
            f"{r['attack']} {percent(r['rate'])}"
            for r in sorted((r for r in shown if r["knows"] == n), key=lambda r: -r["rate"])[:4]
        )
        for n in amounts
    )
    return Chart("attacks", f"Every attack, knowing {about.kind}", f"Hit rates. {summary}.", build, table)


def absent(seen: View, about: Case) -> Chart | None:
    """Right names against false names as the threshold moves, for one kind of knowledge."""
    rows = []
    for case in seen.cases:
        tuned = case.result["calibrated"]
        if tuned is not None:
            rows += [{"kind": case.kind, "knows": case.knows, "series": f"{case.knows} item{'s' if case.knows > 1 else ''}",
                      "attack": case.attack, "right": p["true_rate"], "false": p["false_rate"], "step": k}
                     # from the strictest threshold to the loosest
                     for k, p in enumerate(reversed(tuned["det"]))]  # fmt: skip
    shown = [r for r in rows if r["kind"] == about.kind]
    if not shown:
        return None
    table = Table("absent", "Right and false names at each threshold", (
        Column("kind", "known of the person", "text", "kind of knowledge"), Column("knows", "items known", "count"),
        Column("attack", "attack", "text", "attack"), Column("right", "named rightly", "share"),
        Column("false", "false match", "share", "false match"),
    ), tuple(rows))  # fmt: skip
    names = list(dict.fromkeys(r["series"] for r in sorted(shown, key=lambda r: r["knows"])))
    looks = _series(names)
    dashes = [[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]]

    def build(width: int) -> Spec:
        ticks = [0, 0.01, 0.05, 0.1, 0.25, 0.5, 1]
        legend = {"title": None, "symbolType": "stroke", "symbolStrokeWidth": 2}
        return {
            "width": width, "height": 240, "data": {"values": shown},
            "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 2, "aria": False},
            "encoding": {
                "order": {"field": "step", "type": "quantitative"},
                "x": {"field": "false", "type": "quantitative", "title": "false match: named although not in the data",
                      "scale": {"type": "sqrt", "domain": [0, 1]}, "axis": {"format": "%", "values": ticks}},
                "y": {"field": "right", "type": "quantitative", "title": "named rightly", "axis": SHARE_AXIS,
                      "scale": {"domain": [0, 1]}},
                "color": {"field": "series", **looks["color"], "legend": legend},
                "strokeDash": {"field": "series", "type": "nominal", "sort": names, "legend": legend,
                               "scale": {"domain": names, "range": [dashes[k % 4] for k in range(len(names))]}},
            },
        }  # fmt: skip

    tuned = about.result["calibrated"]
    at = ""
    if tuned is not None:
        marks = ", ".join(
            f"{percent(t['true_rate'])} at {percent(t['false_rate'])} false matches" for t in tuned["true_rate_at"]
        )
        at = f" With {about.words}: named rightly {marks}."
    return Chart("absent", f"Right names against false names, knowing {about.kind}",
                 f"As the attacker lowers her threshold, more right and more false names.{at}", build, table)  # fmt: skip


def bits(seen: View) -> Chart | None:
    """Bits left about the target's record, per adversary."""
    rows = []
    for kind in seen.kinds:
        for case in seen.of_kind(kind):
            left = case.result["bits"]
            if left:
                q = {f"p{100 * p['level']:.0f}": p["bits"] for p in left["quantiles"]}
                rows.append({"kind": case.kind, "knows": case.knows, "attack": case.attack,
                             "prior": left["prior"], "mean": left["mean"], **q,
                             "tip": f"{case.words}: {left['mean']:.1f} bits left on average, of "
                             f"{left['prior']:.1f}"})  # fmt: skip
    if not rows:
        return None
    table = Table("bits", "Bits left", (
        Column("kind", "known of the person", "text", "kind of knowledge"), Column("knows", "items known", "count"),
        Column("attack", "attack", "text", "attack"), Column("prior", "before", "bits"),
        Column("mean", "left, mean", "bits", "bits left"),
        *(Column(f"p{p}", f"{p}% of people at most", "bits") for p in (5, 25, 50, 75, 95)),
    ), tuple(rows))  # fmt: skip
    prior = rows[0]["prior"]

    def build(width: int) -> Spec:
        y: Spec = {"field": "knows", "type": "ordinal", "title": None}
        panels = 2 if _wide(width) else 1

        def x(field: str) -> Spec:
            return {"field": field, "type": "quantitative", "title": None, "scale": {"domain": [0, prior], "nice": False},
                    "axis": {"tickCount": 6}}  # fmt: skip

        return {
            "data": {"values": rows},
            "facet": {"field": "kind", "type": "nominal", "title": None, "sort": list(dict.fromkeys(r["kind"] for r in rows))},
            "columns": panels, "spacing": 24,
            "spec": {"width": (width - 24 * (panels - 1)) / panels - 24, "height": {"step": 18}, "layer": [
                {"mark": {"type": "rule", "strokeWidth": 1, "color": SOFT, "aria": False},
                 "encoding": {"y": y, "x": x("p5"), "x2": {"field": "p95"}}},
                {"mark": {"type": "bar", "height": 7, "color": SERIES[0], "opacity": 0.55, "aria": False},
                 "encoding": {"y": y, "x": x("p25"), "x2": {"field": "p75"}}},
                {"mark": {"type": "tick", "thickness": 2.5, "height": 13, "color": INK},
                 "encoding": {"y": y, "x": x("p50"), "description": {"field": "tip"}}},
            ]},
        }  # fmt: skip

    least = min(rows, key=lambda r: r["mean"])
    return Chart("bits", "Bits left about a person's record, by number of known items",
                 f"Of {prior:.1f} bits, {number(round(least['mean'], 2))} are left on average knowing "
                 f"{least['knows']} items, {least['kind']}. "
                 "Thin line: 5% to 95% of people; bar: middle half; tick: median.", build, table)  # fmt: skip


def lengths(seen: View, about: Case) -> Chart | None:
    """Hit rate by record length."""
    heads = ("lengths", "Hit rate by record length", "items in the record", "record length")
    title = f"People found, by number of items in their record, knowing {about.kind}"
    return _grouped(seen, about, ("by_length", "shortest", "longest"), heads, title, "records of {} items")


def rarity(seen: View, about: Case) -> Chart | None:
    """Hit rate by how many records hold the rarest known item."""
    heads = ("rarity", "Hit rate by rarity of the known items", "records that hold the rarest known item", "support")
    title = f"People found, by how many others hold the rarest item known of them, knowing {about.kind}"
    return _grouped(seen, about, ("by_rarity", "rarest_from", "rarest_to"), heads, title, "rarest item held by {}")


def _grouped(seen: View, about: Case, keys: tuple[str, str, str], heads: tuple[str, str, str, str], title: str,
             words: str) -> Chart | None:  # fmt: skip
    """Hit rate by a size of the query: `keys` name its rows and bounds, `heads` the table, its title, column and term."""
    rows = []
    for case in seen.cases:
        for r in case.result.get(keys[0], ()):
            low, high = r[keys[1]], r[keys[2]]
            group = number(low) if low == high else f"{low:,} to {high:,}"
            rows.append({"kind": case.kind, "knows": case.knows, "series": f"{case.knows} items", "from": low,
                         "group": group, **_flat(r),
                         "tip": f"{case.words}, {words.format(group)}: {percent(r['rate'])} ({between(r)})"})  # fmt: skip
    shown = [r for r in rows if r["kind"] == about.kind]
    if not shown:
        return None
    table = Table(heads[0], heads[1], (
        Column("kind", "known of the person", "text", "kind of knowledge"), Column("knows", "items known", "count"),
        Column("group", heads[2], "text", heads[3]), *_rate_columns("hit rate", "hit rate"),
    ), tuple(rows))  # fmt: skip
    amounts = sorted({r["knows"] for r in shown})

    def build(width: int) -> Spec:
        panels = len(amounts) if _wide(width) else 1
        share = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": {**SHARE_AXIS, "tickCount": 3}}
        y: Spec = {"field": "group", "type": "ordinal", "sort": {"field": "from"}, "title": None}
        return {
            "data": {"values": shown},
            "facet": {"field": "series", "type": "nominal", "title": None, "sort": [f"{n} items" for n in amounts]},
            "columns": panels, "spacing": 24, "align": "none", "resolve": {"scale": {"y": "independent"}},
            "spec": {"width": (width - 24 * (panels - 1)) / panels - 74, "height": {"step": 22}, "layer": [
                {"mark": {"type": "rule", "strokeWidth": 1.5, "color": SERIES[0], "aria": False},
                 "encoding": {"y": y, "x": {"field": "low", "title": None, **share}, "x2": {"field": "high"}}},
                {"mark": {"type": "point", "filled": True, "size": 56, "opacity": 1, "color": SERIES[0]},
                 "encoding": {"y": y, "x": {"field": "rate", "title": None, **share}, "description": {"field": "tip"}}},
            ]},
        }  # fmt: skip

    said = ", ".join(f"{words.format(r['group'])} {percent(r['rate'])}" for r in shown if r["knows"] == about.knows)
    return Chart(heads[0], title, f"Knowing {about.words}: {said}.", build, table)


def channels(seen: View) -> Chart | None:
    """Hit rate with each channel known exactly, roughly or not at all, for the same number of items."""
    rows = []
    for case in seen.cases:
        a = case.adversary
        if a["choose"] == "uniform" and a.get("gamma") is None and a.get("length_within") is None:
            rows.append({"knows": case.knows, "wrong": a["wrong"], "amount": f"{case.knows} item{'s' if case.knows > 1 else ''}",
                         "value": _channel("values", a["value_within"]), "time": _channel("days", a["time_within"]),
                         **_flat(case.hit),
                         "text": percent(case.hit["rate"]), "tip": f"{case.words}: {percent(case.hit['rate'])} "
                         f"({between(case.hit)})"})  # fmt: skip
    kinds = {(r["value"], r["time"]) for r in rows}
    if len(kinds) < 2:
        return None
    table = Table("channels", "What values and days add", (
        Column("knows", "items known", "count"), Column("wrong", "of them wrong", "count"), Column("value", "values"),
        Column("time", "days"),
        *_rate_columns("hit rate", "hit rate"),
    ), tuple(rows))  # fmt: skip
    times = sorted({r["time"] for r in rows}, key=_vague)
    values = sorted({r["value"] for r in rows}, key=_vague)
    amounts = list(dict.fromkeys(r["amount"] for r in sorted(rows, key=lambda r: r["knows"])))

    def build(width: int) -> Spec:
        panels = len(amounts) if _wide(width) else 1
        base: Spec = {"x": {"field": "time", "type": "nominal", "sort": times, "title": None,
                            "axis": {"labelAngle": 0, "orient": "bottom"}},
                      "y": {"field": "value", "type": "nominal", "sort": values, "title": None}}  # fmt: skip
        fill: Spec = {"field": "rate", "type": "quantitative", "legend": None,
                      "scale": {"domain": [0, 1], "range": ["#e9f1f7", "#0072b2"]}}  # fmt: skip
        ink: Spec = {"condition": {"test": "datum.rate > 0.85", "value": "#fffffe"}, "value": "#1b1f25"}
        return {
            "data": {"values": rows},
            "facet": {"field": "amount", "type": "nominal", "title": None, "sort": amounts}, "columns": panels, "spacing": 20,
            "spec": {"width": (width - 78 - 20 * (panels - 1)) / panels, "height": {"step": 34}, "layer": [
                {"mark": {"type": "rect", "cornerRadius": 2, "stroke": "#ffffff", "strokeWidth": 2},
                 "encoding": {**base, "color": fill, "description": {"field": "tip"}}},
                {"mark": {"type": "text", "aria": False, "fontSize": 12},
                 "encoding": {**base, "text": {"field": "text"}, "color": ink}},
            ]},
        }  # fmt: skip

    best, worst = max(rows, key=lambda r: r["rate"]), min(rows, key=lambda r: r["rate"])
    return Chart("channels", "What values and days add to the items",
                 f"Highest: {percent(best['rate'])} with {best['knows']} items, {best['value']}, {best['time']}; "
                 f"lowest: {percent(worst['rate'])} with {worst['knows']} items, {worst['value']}, "
                 f"{worst['time']}.", build, table)  # fmt: skip


def _channel(name: str, within: float | None) -> str:
    return f"no {name}" if within is None else f"{name} exact" if within == 0 else f"{name} ±{within:g}"


def _vague(label: str) -> tuple[int, float]:
    """Exact first, then rising tolerance, unknown last."""
    if label.startswith("no "):
        return 2, 0.0
    return (0, 0.0) if label.endswith("exact") else (1, float(label.rsplit("±", 1)[1]))
