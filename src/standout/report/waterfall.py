"""One query explained, fact by fact: sentences, charts and a page. Reads the plain data of `audit.explain`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.report.drawing import INK, SERIES, SHAPES, SOFT, Chart, Spec
from standout.report.tables import Column, Table
from standout.report.words import number, percent, several

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
    from standout.report.page import fill, glossary

    return write_whole(
        path,
        fill(
            "explain.html.j2",
            it=explanation,
            terms={k: v for k, v in glossary().items() if k in TERMS_USED},
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
        grid.add_row(
            *(
                Text(cell)
                for cell in (row["item"], row["known"], percent(row["share"]), *adds, lead, bits)
            )
        )
    out.print(grid)


def name(who: Plain | None, otherwise: str) -> str:
    """A record's label, if labels were requested."""
    return otherwise if not who or who["label"] is None else f"record {who['label']}"


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
    if it.get("value_error"):
        said.append(f"Values are shown rounded, by at most {number(it['value_error'])}.")
    return said


def _score(x: float | None) -> str:
    return "–" if x is None else f"{x:.3g}"


def _fact_name(fact: Plain, it: Plain) -> str:
    return (
        f"item {fact['item']}"
        if fact["item"] is not None
        else f"fact {it['facts'].index(fact) + 1}"
    )


def _entry(entry: Plain | None) -> str:
    """Write an entry: its value and its day, as far as they are known."""
    if entry is None:
        return "not held"
    parts = [number(entry["value"])] if entry["value"] is not None else []
    return ", ".join([*parts, *([entry["day"]] if entry["day"] is not None else [])]) or "held"


def _known(fact: Plain) -> str:
    text = _entry(fact)
    return "item only" if text == "held" else text


def fact_table(it: Plain) -> Table:
    """A row per fact, the rarest item first."""
    rows = []
    for k, f in enumerate(it["facts"]):
        best, second, target, without = f["best"], f["runner_up"], f.get("target"), f["without"]
        rows.append(
            {
                "item": f["item"] if f["item"] is not None else f"fact {k + 1}",
                "known": _known(f),
                "share": f["share"],
                "best_holds": _entry(best["holds"]),
                "best_adds": best["contribution"],
                "second_holds": _entry(second["holds"]) if second else None,
                "second_adds": second["contribution"] if second else None,
                "target_holds": _entry(target["holds"]) if target else None,
                "target_adds": target["contribution"] if target else None,
                "eccentricity": without["eccentricity"] if without else None,
                "same": None if without is None else "same" if without["same_best"] else "another",
                "bits": f["after"]["bits"],
                "rank": f["after"]["rank"],
            }
        )
    asked = (
        [
            Column("target_holds", "asked-for record holds"),
            Column("target_adds", "adds to it", "number"),
        ]
        if any(r["target_holds"] for r in rows)
        else []
    )
    return Table(
        "facts",
        "Fact by fact, the rarest item first",
        (
            Column("item", "item"),
            Column("known", "known"),
            Column("share", "records that hold it", "share"),
            Column("best_holds", "first record holds"),
            Column("best_adds", "adds to it", "number"),
            Column("second_holds", "second holds"),
            Column("second_adds", "adds to it", "number"),
            *asked,
            Column("eccentricity", "lead without this fact", "number", "eccentricity"),
            Column("same", "first record without it"),
            Column("bits", "bits left with the facts so far", "bits", "bits left"),
            Column("rank", "records that fit as well so far", "count"),
        ),
        tuple(rows),
    )


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

    table = Table(
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
                        "holds": _entry(part["holds"]),
                        "tip": f"{label}: {part['contribution']:.3g} to {series[key]} "
                        f"({_entry(part['holds'])})",
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

    table = Table(
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
