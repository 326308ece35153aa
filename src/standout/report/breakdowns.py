"""Charts that split the hit rate by record length, by rarity and by channel, and charts of what `describe` measured."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from standout.data.times import days_within
from standout.data.values import percent as share_of_value
from standout.report.drawing import (
    SERIES,
    Chart,
    Spec,
    category,
    dots,
    facets,
    layer,
    lines,
    panels,
    quantity,
)
from standout.report.knowledge_words import channel_words
from standout.report.tables import (
    make_table,
    rate_cells,
)
from standout.report.view import Case, FindingsView
from standout.report.words import number, percent, rate_words

Plain = Mapping[str, Any]


BREAKDOWNS = {
    "lengths": (
        ("by_length", "shortest", "longest"),
        "People found, by number of items in their record",
        "records of {} items",
    ),
    "rarity": (
        ("by_rarity", "rarest_from", "rarest_to"),
        "People found, by how many others hold the rarest item known of them",
        "rarest item held by {}",
    ),
}
"""Keys of the rows and of their bounds, title of the chart, words for a group."""


def breakdown(name: str, seen: FindingsView, about: Case) -> Chart | None:
    """Hit rate by record length ("lengths") or by how many records hold the rarest known item ("rarity")."""
    (key, from_key, to_key), title, words = BREAKDOWNS[name]
    alike = seen.like(about)
    rows = []
    for c in seen.charted:
        for r in c.result[key]:
            low, high = r[from_key], r[to_key]
            group = number(low) if low == high else f"{low:,} to {high:,}"
            rows.append(
                {
                    **c.columns,
                    "from": low,
                    "group": group,
                    **rate_cells(r),
                    "shown": c in alike,
                    "about": c is about,
                    "tip": f"{c.words}, {_group_words(words, group)}: {rate_words(r)}",
                }
            )
    shown = [r for r in rows if r["shown"]]
    if not shown:
        return None
    titles = [c.panel for c in alike]
    groups = [r["group"] for r in shown]

    def build(width: int) -> Spec:
        columns, size = panels(len(titles), width, groups, 3, shared=False)
        y = {"field": "group", "type": "ordinal", "sort": {"field": "from"}, "title": None}
        layers = dots(y, {"color": SERIES[0]})
        spec = facets(shown, "panel", titles, layers, columns, width=size, height={"step": 22})
        return spec | {"align": "none", "resolve": {"scale": {"y": "independent"}}}

    said = ", ".join(
        f"{_group_words(words, r['group'])} {percent(r['rate'])}" for r in shown if r["about"]
    )
    return Chart(
        f"{title}, knowing {about.line}",
        f"Knowing {about.words}: {said}.",
        build,
        make_table(name, rows),
    )


def _group_words(words: str, group: str) -> str:
    """Words for a group of records.

    >>> _group_words("records of {} items", "1"), _group_words("records of {} items", "2 to 9")
    ('records of 1 item', 'records of 2 to 9 items')
    """
    return words.removesuffix("s" if group == "1" else "").format(group)


def channels(seen: FindingsView) -> Chart | None:
    """Hit rate with each channel known exactly, roughly or not at all, for the same number of items."""
    chosen = [
        c
        for c in seen.charted
        if c.adversary["choose"] == "uniform"
        and all(c.adversary.get(name) is None for name in SPECIAL)
    ]
    rows = [
        {
            **c.columns,
            **{
                name: channel_words(c.adversary).get(name, none) for name, none in NOT_KNOWN.items()
            },
            **rate_cells(c.hit),
            "text": percent(c.hit.rate),
            "tip": f"{c.words}: {rate_words(c.hit)}",
        }
        for c in chosen
    ]
    orders = {name: _most_exact_first(name, chosen, rows) for name in NOT_KNOWN}
    if max(map(len, orders.values())) < 2:
        return None
    titles = [
        c.panel for c in sorted({c.amount: c for c in chosen}.values(), key=lambda c: c.order)
    ]

    def build(width: int) -> Spec:
        columns, size = panels(len(titles), width, orders["value"], 3, shared=True)
        labels = {"labelAngle": 0, "orient": "bottom", "labelExpr": "split(datum.label, ' ')"}
        x, y = category("time", orders["time"], axis=labels), category("value", orders["value"])
        blues = {"domain": [0, 1], "range": ["#e9f1f7", SERIES[0]]}
        fill = {"field": "rate", "type": "quantitative", "legend": None, "scale": blues}
        dark = {"test": "datum.rate > 0.85", "value": "#fffffe"}
        ink = {"condition": dark, "value": "#1b1f25"}
        look = {"cornerRadius": 2, "stroke": "#ffffff", "strokeWidth": 2}
        layers = [
            layer("rect", look, x=x, y=y, color=fill, description="tip"),
            layer("text", {}, x=x, y=y, text="text", color=ink),
        ]
        return facets(rows, "panel", titles, layers, columns, width=size, height={"step": 30})

    ends = [
        f"{percent(r['rate'])} with {r['panel']}, {r['value']}, {r['time']}"
        for r in (end(rows, key=lambda r: r["rate"]) for end in (max, min))
    ]
    return Chart(
        "What values and days add to the items",
        f"Highest: {ends[0]}; lowest: {ends[1]}.",
        build,
        make_table("channels", rows),
    )


SPECIAL = ("gamma", "length_within", "view", "within")
"""Kinds of knowledge that charts of values and times leave out."""
NOT_KNOWN = {"value": "no values", "time": "no days"}
"""Channels of the chart, and the words where one is not known."""


def _most_exact_first(name: str, cases: list[Case], rows: list[dict[str, Any]]) -> list[str]:
    """Words for what is known of a channel: exact first, then ascending tolerance, unknown last."""

    def tolerance(pair: tuple[Case, dict[str, Any]]) -> float:
        within = pair[0].adversary[f"{name}_within"]
        if within is None:
            return math.inf
        if not isinstance(within, str):
            return float(within)
        return float(days_within(within)) if name == "time" else 100 * (share_of_value(within) or 0)

    by_tolerance = sorted(zip(cases, rows, strict=True), key=tolerance)
    return list(dict.fromkeys(row[name] for _, row in by_tolerance))


CHANNELS = {"none": "item alone", "value": "with its value", "time": "with its day"}


def sparsity(measured: Plain) -> Chart | None:
    """Share of records whose nearest neighbor is at least this similar, a line per similarity measure."""
    curves = measured.get("sparsity") or ()
    rows = [
        {
            "compared": c["similarity"],
            **{key: p[key] for key in ("epsilon", "delta", "low", "high")},
        }
        for c in curves
        for p in c["curve"]
    ]
    if not rows:
        return None
    x = quantity("similarity of the nearest neighbor, at least", grid=False)
    y = quantity("records", format="%", tickCount=5) | {"scale": {"domain": [0, 1]}}
    summary = "; ".join(
        f"compared by {c['similarity']}, half of the records have no neighbor more similar than {c['quartiles'][1]:.2f}"
        for c in curves
    )
    return Chart(
        "How many records have a near neighbor",
        summary[:1].upper() + summary[1:] + ".",
        lambda width: lines(
            rows, "compared", width, {}, x={"field": "epsilon", **x}, y={"field": "delta", **y}
        ),
        make_table("sparsity", rows),
    )


def information(measured: Plain) -> Chart | None:
    """Bits of information in one known entry, by popularity rank of its item."""
    rows = [
        {"rank": r["rank"], "support": r["support"], "channel": words, "bits": r[key]}
        for r in measured.get("information") or ()
        for key, words in CHANNELS.items()
        if r.get(key) is not None
    ]
    if not rows:
        return None
    last = max(r["rank"] for r in rows)
    x = quantity("popularity rank of the item (log scale)", grid=False, format=",d", tickCount=4)
    x |= {"field": "rank", "scale": {"type": "log", "domain": [1, last]}}
    ends = [r for r in rows if r["channel"] == rows[0]["channel"] and r["rank"] in (1, last)]
    said = ""
    if ends:
        said = f"The most popular item alone gives {ends[0]['bits']:.1f} bits, the least popular {ends[-1]['bits']:.1f}."
    if ends and (total := measured.get("overview", {}).get("n_records")):
        said += f" It is held by {percent(ends[0]['support'] / total)} of records."
    return Chart(
        "What one known entry gives away, by popularity of the item",
        said,
        lambda width: lines(
            rows, "channel", width, {}, x=x, y={"field": "bits", **quantity("bits")}
        ),
        make_table("information", rows),
    )
