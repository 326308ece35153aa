"""A frontier as a sentence, a chart, a table, a page and a notebook cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.defenses.frontier_front import (
    highest_rate,
    least_costly,
    losses,
    lowest_shown,
    spread,
)
from standout.report.drawing import INK, SERIES, SOFT, Chart, Spec, for_page
from standout.report.marks import wide
from standout.report.tables import Column, Table
from standout.report.words import between, percent, several

if TYPE_CHECKING:
    from standout.defenses.frontier import Frontier

RATES = (0.05, 0.01)
"""Rates that the sentence asks for."""

COSTS = {
    "ndcg": "of the quality of recommendations (NDCG@10)",
    "recall": "of the recall of recommendations (recall@20)",
    "rating": "of the accuracy of predicted values",
    "popularity": "of the shares of items",
    "pairs": "of the shares of people who hold the most frequent pairs of items",
    "time": "of the shares of months",
    "entries": "of the entries",
}
"""What a loss is a share of."""

SHORT = {
    "ndcg": "NDCG@10",
    "recall": "recall@20",
    "rating": "predicted values",
    "popularity": "popularity",
    "pairs": "pairs",
    "time": "months",
    "entries": "entries",
}

NOTICED = 0.05
"""Smallest loss in another measure that the sentence names."""


def sentence(found: Frontier) -> str:
    """The answer in a few sentences."""
    base = found.undefended
    hit = base["risk"]["hit"]
    defended = [c for c in found.measured if c is not base]
    n = len(defended)
    who = base["risk"]["adversary"]
    said = [
        f"An attacker who knows {who} finds {percent(hit['rate'])} of the people in the undefended data "
        f"({between(hit)}, {several(hit['n'], 'person' if hit['n'] == 1 else 'people').replace('peoples', 'people')} "
        "tested)."
    ]
    reached = [(rate, least_costly(defended, found.measure, rate, n)) for rate in RATES]
    for rate, best in reached:
        if highest_rate(base, n) <= rate:
            said.append(f"That is already below {percent(rate)}.")
        elif best is not None:
            said.append(_bought(found, rate, *best))
        elif lowest_shown(hit["n"], n) > rate:
            said.append(
                f"A rate below {percent(rate)} cannot be shown with {hit['n']:,} tested people."
            )
        else:
            least = min(defended, key=lambda c: c["risk"]["hit"]["rate"])
            low = least["risk"]["hit"]
            said.append(
                f"None of the {n} tried settings is shown to bring it below {percent(rate)}; the lowest rate is "
                f"{percent(low['rate'])} ({between(low)}), with {least['defense']}."
            )
    return " ".join(said)


def _bought(
    found: Frontier, rate: float, best: Mapping[str, Any], ties: Sequence[Mapping[str, Any]]
) -> str:
    text = (
        f"To bring the rate below {percent(rate)}, the least costly defense found is {best['defense']}, which costs "
        f"{_cost(best, found.measure)}{_also(found, best)} and leaves {percent(best['risk']['hit']['rate'])} found."
    )
    if found.popularity_loss is not None and found.popularity_loss > 0:
        text += f" Recommending the most popular items to everyone would cost {percent(min(found.popularity_loss, 1.0))}."
    if ties:
        names = " and ".join(c["defense"] for c in ties[:2])
        more = f" and {len(ties) - 2} more" if len(ties) > 2 else ""
        text += f" The cost of {names}{more} is not measurably different."
    return text


def _cost(cell: Mapping[str, Any], measure: str) -> str:
    values = losses(cell, measure) or []
    mean, half = sum(values) / len(values), spread(values)
    if abs(mean) <= half or mean <= 0:
        return f"no measurable part {COSTS[measure]}"
    return f"{percent(min(mean, 1.0))} {COSTS[measure]}"


def _also(found: Frontier, cell: Mapping[str, Any]) -> str:
    """Large losses in the other measures, so that a defense that removes a channel does not look free."""
    parts = []
    for measure in found.measures:
        values = losses(cell, measure) or [0.0]
        mean = sum(values) / len(values)
        if measure != found.measure and measure != "recall" and mean >= NOTICED:
            parts.append(f"{percent(min(mean, 1.0))} {COSTS[measure]}")
    return f" (and {', '.join(parts)})" if parts else ""


def table(found: Frontier) -> Table:
    """One row per cell, by risk."""
    rows = sorted(numbered(found), key=lambda r: (-r["rate"], r["cost"]))
    shown = [m for m in found.measures if m != found.measure]
    columns = (
        Column("defense", "defense"),
        Column("number", "on the front", "count"),
        Column("rate", "found", "share", "hit rate"),
        Column("", "95% interval", "interval", "interval"),
        Column("count", "people found", "count"),
        Column("n", "people tested", "count", "target"),
        Column("attack", "strongest attack", "text", "strongest attack"),
        Column("naive", "naive", "share"),
        Column("unaware", "best unaware", "share"),
        Column("adaptive", "adaptive", "share"),
        Column("false_match", "false match", "share", "false match"),
        Column("cost", f"loss, {SHORT[found.measure]}", "share"),
        Column("noise", "± noise", "share"),
        *(Column(f"{m}_loss", f"loss, {SHORT[m]}", "share") for m in shown),
        Column("people", "people kept", "share"),
        Column("items", "items kept", "share"),
    )
    return Table("frontier", "Risk and cost of every defense tried", columns, tuple(rows))


def chart(found: Frontier) -> Chart:
    """Risk against cost: one point per cell, the front marked and numbered."""
    rows, cost = numbered(found), SHORT[found.measure]
    points = [
        {
            **r,
            "x": _inside(r["cost"]),
            "x_low": _inside(r["cost"] - r["noise"]),
            "x_high": _inside(r["cost"] + r["noise"]),
            "kind": _kind(r),
            "tip": f"{r['defense']}: {percent(r['rate'])} found ({between(r)}), {cost} loss {100 * r['cost']:.1f}%",
        }
        # the undefended data is drawn last, above the others
        for r in sorted(rows, key=lambda r: r["strength"] == 0)
    ]
    best = sorted((r for r in rows if r["front"]), key=lambda r: r["number"])
    summary = (
        f"Share of people whom the best guess of the strongest attack finds, against the loss, {cost}. On the front: "
        + "; ".join(
            f"{r['number']} {r['defense']} ({percent(r['rate'])} found, {100 * r['cost']:.0f}% lost)"
            for r in best
        )
        + "."
    )
    if found.popularity_loss is not None:
        summary += f" Dashed line: recommending the most popular items to everyone ({100 * found.popularity_loss:.0f}% lost)."
    return Chart(
        "frontier",
        f"People found against what is lost ({cost})",
        summary,
        _spec(points, _labels(points), cost, found.popularity_loss),
        table(found),
    )


def numbered(found: Frontier) -> list[dict[str, Any]]:
    """Rows with a number for each cell on the front, by risk."""
    rows = found.rows()
    order = sorted(
        (k for k, r in enumerate(rows) if r["front"]),
        key=lambda k: (-rows[k]["rate"], rows[k]["cost"]),
    )
    return [{**r, "number": order.index(k) + 1 if k in order else None} for k, r in enumerate(rows)]


def _inside(x: float) -> float:
    return max(min(x, 1.05), -0.25)


KINDS = ("undefended", "on the front", "other settings")


def _kind(row: Mapping[str, Any]) -> str:
    return KINDS[0] if row["strength"] == 0 else KINDS[1] if row["front"] else KINDS[2]


def _labels(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Numbers of the points on the front; points that are close together share a label."""
    groups: list[list[Mapping[str, Any]]] = []
    for p in sorted((p for p in points if p["front"]), key=lambda p: p["number"]):
        near = [
            g
            for g in groups
            if abs(g[0]["x"] - p["x"]) < 0.025 and abs(g[0]["rate"] - p["rate"]) < 0.035
        ]
        if near:
            near[0].append(p)
        else:
            groups.append([p])
    return [
        {"x": g[0]["x"], "rate": g[0]["rate"], "label": _runs([p["number"] for p in g])}
        for g in groups
    ]


def _runs(numbers: Sequence[int]) -> str:
    """Write ascending numbers, with a dash for three or more in a row.

    >>> _runs([1, 2, 3, 5, 6])
    '1–3, 5, 6'
    """
    out: list[str] = []
    rest = list(numbers)
    while rest:
        n = 1
        while n < len(rest) and rest[n] == rest[0] + n:
            n += 1
        out += [f"{rest[0]}–{rest[n - 1]}"] if n > 2 else [str(x) for x in rest[:n]]
        rest = rest[n:]
    return ", ".join(out)


def _spec(
    points: list[dict[str, Any]], labels: list[dict[str, Any]], cost: str, popularity: float | None
) -> Any:
    low, high = min(0.0, *(p["x_low"] for p in points)), max(1.0, *(p["x"] for p in points))

    def build(width: int) -> Spec:
        x: Spec = {
            "type": "quantitative",
            "title": f"loss, {cost}",
            "scale": {"domain": [low, high], "nice": False},
            "axis": {"format": "%", "tickCount": 5, "grid": False},
        }
        y: Spec = {
            "type": "quantitative",
            "title": "people found (best guess)",
            "scale": {"domain": [0, 1]},
            "axis": {"format": "%", "tickCount": 5},
        }
        color: Spec = {
            "field": "kind",
            "type": "nominal",
            "sort": list(KINDS),
            "scale": {"domain": list(KINDS), "range": [INK, SERIES[1], SOFT]},
            "legend": {"title": None, "symbolOpacity": 1, "columns": 3 if wide(width) else 1},
        }
        shape = {
            **color,
            "scale": {"domain": list(KINDS), "range": ["square", "diamond", "circle"]},
        }
        at: Spec = {"x": {"field": "x", **x}, "y": {"field": "rate", **y}}
        front = [{"filter": "datum.front"}]
        layers: list[Spec] = [
            {
                "mark": {
                    "type": "line",
                    "strokeWidth": 1,
                    "opacity": 0.25,
                    "color": SOFT,
                    "aria": False,
                },
                "encoding": {
                    **at,
                    "detail": {"field": "family"},
                    "order": {"field": "strength", "type": "quantitative"},
                },
            },
            {
                "transform": front,
                "mark": {"type": "rule", "opacity": 0.7, "aria": False},
                "encoding": {
                    **at,
                    "y": {"field": "low", **y},
                    "y2": {"field": "high"},
                    "color": color,
                },
            },
            {
                "transform": front,
                "mark": {"type": "rule", "opacity": 0.7, "aria": False},
                "encoding": {
                    **at,
                    "x": {"field": "x_low", **x},
                    "x2": {"field": "x_high"},
                    "color": color,
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {**at, "color": color, "shape": shape, "description": {"field": "tip"}},
            },
            # below points at the top, where the legend is; above all others
            *(
                {
                    "data": {"values": [x for x in labels if (x["rate"] > 0.9) == top]},
                    "encoding": {**at, "text": {"field": "label"}},
                    "mark": {
                        "type": "text",
                        "align": "left",
                        "dx": 7,
                        "dy": 14 if top else -8,
                        "color": INK,
                        "fontWeight": "bold",
                        "aria": False,
                    },
                }
                for top in (False, True)
            ),
        ]
        if popularity is not None:
            layers.insert(
                0,
                {
                    "data": {"values": [{"x": popularity}]},
                    "encoding": {"x": {"field": "x", **x}},
                    "mark": {"type": "rule", "strokeDash": [4, 4], "color": SOFT, "aria": False},
                },
            )
        return {"width": width, "height": 380, "data": {"values": points}, "layer": layers}

    return build


def notebook(found: Frontier) -> str:
    """A fragment without script or style sheet, for notebooks."""
    drawn, rows = chart(found), table(found)
    head = "".join(f"<th>{escape(c.title)}</th>" for c in rows.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(x)}</td>" for x in row) + "</tr>" for row in rows.cells()
    )
    return (
        '<div style="max-width: 44rem; background: #ffffff; color: #1b1f24; padding: 0.5rem 1rem">'
        f"<p>{escape(sentence(found))}</p>{for_page(drawn.svg(), drawn.summary)}"
        f"<details><summary>{escape(rows.title)}</summary><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></details></div>"
    )


def page(found: Frontier, title: str | None = None) -> str:
    """HTML text of the page."""
    from standout.report.page import fill

    return fill(
        "frontier.html.j2",
        it=found.provenance,
        title=title,
        sentence=sentence(found),
        chart=chart(found),
        table=table(found),
        facts=how(found),
        skipped=[c for c in found.cells if "not_measured" in c],
    )


def render_frontier(found: Frontier, path: str | Path, *, title: str | None = None) -> Path:
    """Write the page, completely or not at all."""
    return write_whole(path, page(found, title))


def how(found: Frontier) -> list[tuple[str, str]]:
    """How the numbers were measured: name and text."""
    it = found.provenance
    ranking, rating = it["settings"]["ranking"], it["settings"]["rating"]
    model = ", ".join(f"{k} {v:g}" for k, v in ranking.items())
    out = [
        (
            "Risk",
            f"{it['n_targets']:,} people are attacked, drawn among {it['n_eligible']:,} with enough items, the same for "
            f"every defense. The strongest of {several(len(it['attacks']), 'attack')} ({', '.join(it['attacks'])}) is "
            f"chosen on one half of them, and its hit rate is measured on the other half ({it['n_reported']:,}). On a "
            "defended release the likelihood also runs with the published parameters of the defense (adaptive) and without "
            "them (naive, with the changed channels ignored, fitted).",
        ),
        ("Knowledge", "; ".join(who["words"] for who in it["adversaries"])),
        (
            "Utility",
            f"{percent(it['held_out'])} of each person's items are held out before the defense. A recommender "
            f"(implicit ALS: {model}) is trained on the release and has to find them. Settings were tuned on the "
            "undefended data. People and items that the release lost count as not found.",
        ),
        ("Baseline", _baseline(found)),
        (
            "Noise",
            f"Utility is measured on {len(it['seeds'])} random splits. Noise is half the 95% interval of the mean. "
            "Differences within it are not ranked.",
        ),
    ]
    out = [(name, text) for name, text in out if text]
    if rating is not None:
        terms = ", ".join(f"{k} {v:g}" for k, v in rating.items())
        out.append(
            (
                "Predicted values",
                f"Biased matrix factorization ({terms}). The loss is the share of the gain over a "
                "constant prediction that the release loses.",
            )
        )
    return out


def _baseline(found: Frontier) -> str:
    if found.popularity_loss is None:
        return ""
    return (
        f"Recommending the most popular items to everyone loses {100 * found.popularity_loss:.0f}%. A release that costs "
        "more than that is worth less to a recommender than a list of bestsellers."
    )
