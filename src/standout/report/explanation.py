"""One query explained, fact by fact: sentences, charts, a table and a page. Reads the plain data of `audit.explain`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.report.drawing import (
    INK,
    POINT,
    SERIES,
    SOFT,
    Chart,
    Spec,
    category,
    layer,
    quantity,
    series,
)
from standout.report.tables import ReportTable, make_table
from standout.report.words import TERMS, number, percent, several

if TYPE_CHECKING:
    from rich.console import Console

Plain = Mapping[str, Any]

TERMS_USED = (
    "attack",
    "bit",
    "bits left",
    "eccentricity",
    "item",
    "record",
    "support",
    "threshold",
)
"""Terms that the page explains."""


def render_explanation(explanation: Plain, path: str | Path) -> Path:
    """Write the explanation as a page, completely or not at all."""
    from standout.report.page import fill

    return write_whole(
        path,
        fill(
            "explain.html.j2",
            it=explanation,
            terms={term: TERMS[term] for term in TERMS_USED},
            sentences=sentences(explanation),
            charts=explanation_charts(explanation),
            table=fact_table(explanation),
        ),
    )


def show_explanation(explanation: Plain, console: Console | None = None) -> None:
    """Print the explanation."""
    from rich import box
    from rich.console import Console as RichConsole
    from rich.table import Table as RichTable
    from rich.text import Text

    out = console or RichConsole()
    for sentence in sentences(explanation):
        out.print(Text(sentence), soft_wrap=not out.is_terminal)
    out.print()
    grid = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    heads = (
        "item",
        "known",
        "held\nby",
        "adds to\nfirst",
        "adds to\nsecond",
        "lead\nwithout it",
        "bits left\nso far",
    )
    for k, title in enumerate(heads):
        grid.add_column(
            Text(title),
            justify="left" if k < 2 else "right",
            no_wrap=k > 0,
            min_width=8 if k == 0 else None,
        )
    for row in fact_table(explanation).rows:
        adds = [_score(row[key]) for key in ("best_adds", "second_adds")]
        lead = _score(row["eccentricity"]) + (" (another)" if row["same"] == "another" else "")
        bits = "–" if row["bits"] is None else f"{row['bits']:.1f}"
        cells = (row["item"], row["known"], percent(row["share"]), *adds, lead, bits)
        grid.add_row(*map(Text, cells))
    out.print(grid)


def name(who: Plain | None, otherwise: str) -> str:
    """A record's label, if labels were requested."""
    return otherwise if not who or who["label"] is None else f"record {who['label']}"


def entry_words(entry: Plain | None) -> str:
    """Write an entry: its value and its day, as far as they are known."""
    if entry is None:
        return "not held"
    known = [x for x in (entry["value"], entry["day"]) if x is not None]
    return ", ".join(map(number, known)) or "held"


def sentences(it: Plain) -> list[str]:
    """What happened, in words."""
    v, best, second, target = it["verdict"], it["best"], it["runner_up"], it["target"]
    tied = int(v.get("n_tied") or 1)
    said = [
        f"Knowing {it['known']}, {it['attack']['name']} ranks {several(it['n_records'], 'record')}: "
        f"{name(best, 'a record')} comes first with score {_score(best['score'])}"
    ]
    if second is not None:
        said[0] += f", {name(second, 'another')} second with {_score(second['score'])}"
    said[0] += "."
    if tied > 1:
        said.append(
            f"{several(tied, 'record')} have the best score, so naming one of them is right with probability 1/{tied:,}."
        )
    elif v.get("posterior") is not None:
        said.append(
            f"The probability that it is the right record is {percent(v['posterior'])}, "
            f"and {percent(v['absent'] or 0.0)} that the person is not in the data."
        )
    elif v["eccentricity"] is not None:
        said.append(
            f"The lead is {number(round(v['eccentricity'], 2))} standard deviations of all scores."
        )
    said.append(
        "This is enough for the attack to name the record."
        if v["matched"]
        else "This is not enough for the attack to name a record."
    )
    left = it["bits"]["left"]
    if left is not None:
        said.append(
            f"Of {it['bits']['prior']:.1f} bits of uncertainty, {number(round(left, 2))} remain about "
            f"{name(target or best, 'the record')}."
        )
    if target is not None:
        said.append(
            "The first record is the record that was asked for."
            if target["found"]
            else "The first record is not the record that was asked for; "
            f"{several(target['rank'], 'record')} match at least as well as that one."
        )
    need = [f for f in it["facts"] if f["without"] is not None and not f["without"]["same_best"]]
    if need:
        said.append(
            f"Without {' or '.join(_fact_name(f, it) for f in need[:3])} another record would come first."
        )
    return said


def _score(x: float | None) -> str:
    return "–" if x is None else f"{x:.3g}"


def _fact_name(fact: Plain, it: Plain) -> str:
    return (
        f"item {fact['item']}"
        if fact["item"] is not None
        else f"fact {it['facts'].index(fact) + 1}"
    )


def fact_table(it: Plain) -> ReportTable:
    """A row per fact, the rarest item first."""
    rows = []
    for k, f in enumerate(it["facts"], 1):
        known, without = entry_words(f), f["without"]
        row = {
            "item": f["item"] if f["item"] is not None else f"fact {k}",
            "known": "item only" if known == "held" else known,
            "share": f["share"],
            "eccentricity": without and without["eccentricity"],
            "same": without and ("same" if without["same_best"] else "another"),
            **f["after"],
        }
        for key in ("best", "second", "target"):
            part = f.get("runner_up" if key == "second" else key)
            row[f"{key}_holds"] = entry_words(part["holds"]) if part else None
            row[f"{key}_adds"] = part["contribution"] if part else None
        rows.append(row)
    shown = any(r["target_holds"] for r in rows)
    return make_table("facts", rows, without=() if shown else ("target_holds", "target_adds"))


def explanation_charts(it: Plain) -> list[Chart]:
    """Bits fact by fact, and what each fact adds to the first and the second record."""
    made = [waterfall(it), contributions(it)]
    return [c for c in made if c is not None]


def _labels(it: Plain) -> list[str]:
    return [
        f"{k}. {f['item'] if f['item'] is not None else 'fact'}"
        for k, f in enumerate(it["facts"], 1)
    ]


def _steps(it: Plain) -> list[dict[str, Any]]:
    """Bars of the waterfall: nothing known, one per fact, all facts."""

    def level(label: str, bits: float) -> dict[str, Any]:
        ends = {"fact": label, "from": 0.0, "to": bits, "text": f"{bits:.1f}"}
        return {**ends, "kind": "level", "tip": f"{label}: {bits:.2f} bits"}

    before = it["bits"]["prior"]
    rows = [level("nothing known", before)]
    for label, fact in zip(_labels(it), it["facts"], strict=True):
        after = fact["after"]["bits"]
        # a true minus sign; no sign if it rounds to zero
        change = f"{after - before:+.1f}".replace("-", "−")
        rows.append(
            {
                "fact": label,
                "from": before,
                "to": after,
                "text": "0" if change[1:] == "0.0" else change,
                "kind": "takes away" if after <= before else "adds",
                "tip": f"{label}: {before:.2f} to {after:.2f} bits",
            }
        )
        before = after
    return [*rows, level("all facts", before)]


def waterfall(it: Plain) -> Chart | None:
    """Remaining uncertainty in bits, from no knowledge to all facts."""
    if any(f["after"]["bits"] is None for f in it["facts"]):
        return None
    rows = _steps(it)
    prior, left = rows[0]["to"], rows[-1]["to"]
    title = "Remaining uncertainty in bits, fact by fact"

    def build(width: int) -> Spec:
        y = category("fact", [r["fact"] for r in rows], axis={"labelLimit": width // 3})
        x = quantity("bits", [0, prior * 1.12])
        start, end = ({"field": field, **x} for field in ("from", "end"))
        colors = {
            "domain": ["level", "takes away", "adds"],
            "range": [SOFT, SERIES[0], SERIES[1]],
        }
        color = {"field": "kind", "type": "nominal", "legend": None, "scale": colors}
        label = layer("text", {"align": "left", "dx": 6, "color": INK}, y=y, x=end, text="text")
        right = [{"calculate": "max(datum.from, datum.to)", "as": "end"}]
        bar = layer("bar", {"height": 13}, y=y, x=start, x2="to", color=color, description="tip")
        layers = [bar, {"transform": right, **label}]
        return {
            "width": width,
            "height": {"step": 24},
            "data": {"values": rows},
            "layer": layers,
        }

    summary = f"From {prior:.1f} bits down to {number(round(left, 2))}, the rarest item first."
    return Chart(title, summary, build, make_table("waterfall", rows[1:-1]))


def contributions(it: Plain) -> Chart | None:
    """What each fact adds to the score of the first and of the second record."""
    names = {"best": name(it["best"], "first"), "runner_up": name(it["runner_up"], "second")}
    rows = [
        {
            "fact": label,
            "record": record,
            "adds": part["contribution"],
            "holds": entry_words(part["holds"]),
            "tip": f"{label}: {part['contribution']:.3g} to {record} ({entry_words(part['holds'])})",
        }
        for label, fact in zip(_labels(it), it["facts"], strict=True)
        for key, record in names.items()
        if (part := fact[key]) is not None and part["contribution"] is not None
    ]
    if not rows:
        return None
    order = list(dict.fromkeys(r["fact"] for r in rows))
    records = list(dict.fromkeys(r["record"] for r in rows))

    def build(width: int) -> Spec:
        looks = {c: look for c, look in series(records).items() if c != "strokeDash"}
        key = {"field": "record", "legend": {"title": None}}
        chart = layer(
            "point",
            POINT | {"size": 70},
            y=category("fact", order, axis={"labelLimit": width // 3, "grid": True}),
            x={"field": "adds", **quantity("added to the score")},
            description="tip",
            **{channel: key | look for channel, look in looks.items()},
        )
        return {"width": width, "height": {"step": 24}, "data": {"values": rows}, **chart}

    gap = dict.fromkeys(order, 0.0)
    for r in rows:
        gap[r["fact"]] += r["adds"] if r["record"] == records[0] else -r["adds"]
    most = max(gap, key=lambda fact: gap[fact])
    share = it["facts"][order.index(most)]["share"]
    held = "" if share is None else f", an item that {percent(share)} of records hold"
    return Chart(
        "What each fact adds to the first and the second record",
        f"The fact that separates them most is {most}{held}.",
        build,
        make_table("contributions", rows),
    )
