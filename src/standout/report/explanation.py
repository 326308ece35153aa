"""One query explained, fact by fact: sentences, a table and a page. Reads the plain data of `audit.explain`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.report.tables import Column, ReportTable
from standout.report.waterfall import entry_words, explanation_charts, name
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


def _known(fact: Plain) -> str:
    text = entry_words(fact)
    return "item only" if text == "held" else text


def fact_table(it: Plain) -> ReportTable:
    """A row per fact, the rarest item first."""
    rows = []
    for k, f in enumerate(it["facts"]):
        best, second, target, without = f["best"], f["runner_up"], f.get("target"), f["without"]
        rows.append(
            {
                "item": f["item"] if f["item"] is not None else f"fact {k + 1}",
                "known": _known(f),
                "share": f["share"],
                "best_holds": entry_words(best["holds"]),
                "best_adds": best["contribution"],
                "second_holds": entry_words(second["holds"]) if second else None,
                "second_adds": second["contribution"] if second else None,
                "target_holds": entry_words(target["holds"]) if target else None,
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
    return ReportTable(
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
