"""A frontier as sentences, a chart, a table, a page and a notebook cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.domain import joined_with_and
from standout.audit.findings import write_whole
from standout.audit.measures import MEASURES
from standout.defenses.frontier_cells import FrontierCell, LeftOut
from standout.defenses.frontier_front import (
    highest_rate,
    least_costly,
    losses,
    lowest_shown,
    risk_of,
    spread,
)
from standout.report.drawing import (
    INK,
    POINT,
    SERIES,
    SHARE_AXIS,
    SOFT,
    Chart,
    Spec,
    category,
    layer,
    quantity,
    wide,
)
from standout.report.page import chart_fragment, fill
from standout.report.tables import ReportTable, make_table
from standout.report.words import TERMS, between, percent, several

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


WORST = {
    "unique": "people who are unique",
    "found": "people whom the best guess finds",
    "sure": "people of whom the attacker is sure",
}
"""Whom a rate is a share of; also the axis of the chart."""

JUDGED = (
    "A setting is judged by the largest of the rates of unique, found and sure that were measured, which is nearly always "
    "found: the best guess."
)

NO_EFFECT = "the risk is not clearly below that of the undefended data"


def sentence(found: Frontier) -> str:
    """The answer in a few sentences."""
    base = found.undefended
    effective, n = found.effective, len(found.measured) - 1
    hit = risk_of(base)
    said = [_three(base)]
    for rate in RATES:
        best = least_costly(effective, found.measure, rate, n)
        if highest_rate(base, n) <= rate:
            said.append(f"That is already below {percent(rate)}.")
        elif best is not None:
            said.append(_bought(found, rate, *best))
        elif lowest_shown(hit.n, n) > rate:
            said.append(
                f"A rate below {percent(rate)} cannot be shown with {hit.n:,} tested people."
            )
            break  # nor can a lower one
        elif effective:
            least = min(effective, key=lambda c: risk_of(c).rate)
            low = risk_of(least)
            said.append(
                f"None of the {n} tried settings is shown to bring it below {percent(rate)}; the lowest rate is "
                f"{percent(low.rate)} ({between(low)}), with {least.defense}."
            )
    if n and not effective:
        tried = "The tried setting has no" if n == 1 else f"None of the {n} tried settings has a"
        said.append(f"{tried} clear effect: {NO_EFFECT}.")
    if lost := found.provenance.get("data", {}).get("not_measured"):
        said.append(f"Not measured: {joined_with_and(lost)}.")
    return " ".join(said)


def _three(base: FrontierCell) -> str:
    """The three risks of the undefended data, and by which of them settings are judged."""
    risk, n = base.risk, risk_of(base).n
    words = {
        "unique": "{} are unique",
        "sure": "she is sure of {}",
        "found": "her best guess finds {}",
    }
    parts = [
        text.format(f"{percent(risk[name].rate)} ({between(risk[name])})")
        for name, text in words.items()
        if risk[name] is not None
    ]
    listed = ", and ".join(part for part in (", ".join(parts[:-1]), parts[-1]) if part)
    return (
        f"An attacker knows {risk.adversary}. Of {n:,} {'person' if n == 1 else 'people'} tested in the undefended "
        f"data, {listed}. Settings are judged by the largest of these rates, here {WORST[risk.worst]}."
    )


def _bought(found: Frontier, rate: float, best: FrontierCell, ties: Sequence[FrontierCell]) -> str:
    text = (
        f"To bring the rate below {percent(rate)}, the least costly defense found is {best.defense}, which costs "
        f"{_cost(best, found.measure)}{_also(found, best)} and leaves {percent(risk_of(best).rate)} {best.risk.worst}."
    )
    if found.popularity_loss is not None and found.popularity_loss > 0:
        text += f" Recommending the most popular items to everyone would cost {percent(min(found.popularity_loss, 1.0))}."
    if ties:
        names = " and ".join(c.defense for c in ties[:2])
        more = f" and {len(ties) - 2} more" if len(ties) > 2 else ""
        text += f" The cost of {names}{more} is not measurably different."
    return text


def _cost(cell: FrontierCell, measure: str) -> str:
    values = losses(cell, measure) or []
    mean, half = sum(values) / len(values), spread(values)
    if abs(mean) <= half or mean <= 0:
        return f"no measurable part {COSTS[measure]}"
    return f"{percent(min(mean, 1.0))} {COSTS[measure]}"


def _also(found: Frontier, cell: FrontierCell) -> str:
    """Large losses in the other measures, so that a defense that removes a channel does not look free."""
    parts = []
    for measure in found.measures:
        values = losses(cell, measure) or [0.0]
        mean = sum(values) / len(values)
        if measure != found.measure and measure != "recall" and mean >= NOTICED:
            parts.append(f"{percent(min(mean, 1.0))} {COSTS[measure]}")
    return f" (and {', '.join(parts)})" if parts else ""


def how(found: Frontier) -> list[tuple[str, str]]:
    """How the numbers were measured: name and text."""
    it = found.provenance
    ranking, rating = it["settings"]["ranking"], it["settings"]["rating"]
    model = ", ".join(f"{k} {v:g}" for k, v in ranking.items())
    points = {
        "Risk": f"{it['n_targets']:,} people are attacked, drawn among {it['n_eligible']:,} with enough items, the same for "
        f"every defense. The strongest of {several(len(it['attacks']), 'attack')} ({', '.join(it['attacks'])}) is "
        f"chosen on one half of them, and all rates are measured on the other half ({it['n_reported']:,}). On a "
        "defended release the likelihood also runs with the published parameters of the defense (adaptive) and without "
        "them (naive, with the changed channels ignored, fitted).",
        "Unique, found, sure": " ".join([*(f"{name}: {TERMS[name]}" for name in MEASURES), JUDGED]),
        "Clear effect": "A setting has a clear effect if its risk is below that of the undefended data by a paired test on the "
        "same people, at 5% for all settings together. Only such settings can be on the front: no other setting is "
        "measurably better.",
        "Knowledge": "; ".join(who["words"] for who in it["adversaries"]),
        "Utility": f"{percent(it['held_out'])} of each person's items are held out before the defense. A recommender "
        f"(implicit ALS: {model}) is trained on the release and has to find them. Settings were tuned on the "
        "undefended data. People and items that the release lost count as not found.",
        "Baseline": _baseline(found),
        "Noise": f"Utility is measured on {len(it['seeds'])} random splits. Noise is half the 95% interval of the mean. "
        "Differences within it are not ranked.",
    }
    if rating is not None:
        terms = ", ".join(f"{k} {v:g}" for k, v in rating.items())
        points["Predicted values"] = (
            f"Biased matrix factorization ({terms}). The loss is the share of the gain over a "
            "constant prediction that the release loses."
        )
    return [(name, text) for name, text in points.items() if text]


def not_measured(found: Frontier) -> list[tuple[str, str]]:
    """What was not measured, and why: settings without any number, and risks with the settings that lack them."""
    where: dict[tuple[str, str], list[str]] = {}
    for cell in found.measured:
        for name, why in cell.risk.not_measured.items():
            where.setdefault((name, why), []).append(cell.defense)
    whole = [(c.defense, c.not_measured) for c in found.cells if isinstance(c, LeftOut)]
    return whole + [(name, f"{why} ({'; '.join(cells)})") for (name, why), cells in where.items()]


def _baseline(found: Frontier) -> str:
    if found.popularity_loss is None:
        return ""
    return (
        f"Recommending the most popular items to everyone loses {100 * found.popularity_loss:.0f}%. A release that costs "
        "more than that is worth less to a recommender than a list of bestsellers."
    )


def table(found: Frontier) -> ReportTable:
    """One row per cell, by risk."""
    rows = sorted(numbered(found), key=lambda r: (-r["rate"], r["cost"]))
    lost = {"cost": found.measure} | {f"{m}_loss": m for m in found.measures if m != found.measure}
    cost, *others = [(key, f"loss, {SHORT[m]}", "share") for key, m in lost.items()]
    return make_table("frontier", rows, cost, ("noise", "± noise", "share"), *others)


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
            "tip": f"{r['defense']}: {three_rates(r)}, {cost} loss {100 * r['cost']:.1f}%",
        }
        # the undefended data is drawn last, above the others
        for r in sorted(rows, key=lambda r: r["strength"] == 0)
    ]
    best = sorted((r for r in rows if r["front"]), key=lambda r: r["number"])
    summary = (
        f"The largest of the rates of unique, found and sure, against the loss, {cost}. On the front: "
        + "; ".join(
            f"{r['number']} {r['defense']} ({percent(r['rate'])} {r['worst']}, {100 * r['cost']:.0f}% lost)"
            for r in best
        )
        + ("." if best else "no setting.")
    )
    if found.popularity_loss is not None:
        summary += f" Dashed line: recommending the most popular items to everyone ({100 * found.popularity_loss:.0f}% lost)."
    return Chart(
        f"Risk against what is lost ({cost})",
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


KINDS = ("undefended", "on the front", "no clear effect", "other settings")


def _kind(row: Mapping[str, Any]) -> str:
    if row["clear_effect"] is None:
        return KINDS[0]
    return KINDS[1] if row["front"] else KINDS[3] if row["clear_effect"] else KINDS[2]


def three_rates(row: Mapping[str, Any]) -> str:
    """The three risks of a row with their intervals, in words."""
    return ", ".join(
        f"{name} not measured"
        if row[name] is None
        else f"{percent(row[name])} {name} ({between({'low': row[f'{name}_low'], 'high': row[f'{name}_high']})})"
        for name in MEASURES
    )


def _labels(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Numbers of the points on the front; points that are close together share a label."""
    groups: list[tuple[Mapping[str, Any], list[int]]] = []
    for p in sorted((p for p in points if p["front"]), key=lambda p: p["number"]):
        for first, numbers in groups:
            if abs(first["x"] - p["x"]) < 0.025 and abs(first["rate"] - p["rate"]) < 0.035:
                numbers.append(p["number"])
                break
        else:
            groups.append((p, [p["number"]]))
    return [
        {"x": first["x"], "rate": first["rate"], "label": _runs(numbers)}
        for first, numbers in groups
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
) -> Callable[[int], Spec]:
    low, high = min(0.0, *(p["x_low"] for p in points)), max(1.0, *(p["x"] for p in points))

    def build(width: int) -> Spec:
        across = quantity(f"loss, {cost}", [low, high], **SHARE_AXIS, grid=False)
        up = quantity("largest of unique, found, sure", **SHARE_AXIS)
        up |= {"scale": {"domain": [0, 1]}}
        x, x_low = ({"field": field, **across} for field in ("x", "x_low"))
        y, y_low = ({"field": field, **up} for field in ("rate", "low"))
        key = {"title": None, "symbolOpacity": 1, "columns": 4 if wide(width) else 1}
        color, shape = (
            {
                **category("kind", KINDS, legend=key),
                "scale": {"domain": list(KINDS), "range": looks},
            }
            for looks in (
                [INK, SERIES[1], SOFT, SOFT],
                ["square", "diamond", "cross", "circle"],
            )
        )
        front, bar = {"transform": [{"filter": "datum.front"}]}, {"opacity": 0.7}
        line, point = {"strokeWidth": 1, "opacity": 0.25, "color": SOFT}, POINT | {"size": 60}
        order = {"field": "strength", "type": "quantitative"}
        layers = [
            layer("line", line, x=x, y=y, detail="family", order=order),
            front | layer("rule", bar, x=x, y=y_low, y2="high", color=color),
            front | layer("rule", bar, x=x_low, y=y, x2="x_high", color=color),
            layer("point", point, x=x, y=y, color=color, shape=shape, description="tip"),
        ]
        # below points at the top, where the legend is; above all others
        for top in (False, True):
            look = {"align": "left", "dx": 7, "dy": 14 if top else -8, "color": INK}
            some = {"data": {"values": [at for at in labels if (at["rate"] > 0.9) == top]}}
            layers.append(
                some | layer("text", look | {"fontWeight": "bold"}, x=x, y=y, text="label")
            )
        if popularity is not None:
            dashed = layer("rule", {"strokeDash": [4, 4], "color": SOFT}, x=x)
            layers.insert(0, {"data": {"values": [{"x": popularity}]}} | dashed)
        return {"width": width, "height": 380, "data": {"values": points}, "layer": layers}

    return build


def notebook(found: Frontier) -> str:
    """A fragment without script or style sheet, for notebooks."""
    return chart_fragment([sentence(found)], chart(found))


def page(found: Frontier, title: str | None = None) -> str:
    """HTML text of the page."""
    return fill(
        "frontier.html.j2",
        it=found.provenance,
        title=title,
        sentence=sentence(found),
        chart=chart(found),
        table=table(found),
        facts=how(found),
        skipped=not_measured(found),
    )


def render_frontier(found: Frontier, path: str | Path, *, title: str | None = None) -> Path:
    """Write the page, completely or not at all."""
    return write_whole(path, page(found, title))
