"""Comparison of published and measured numbers: where they differ, and why."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from standout.errors import ParameterError
from standout.papers.recipe import PAPERS, Claim, Recipe, RecipeInputs, Row, Rows

CLOSE = {"%": 0.05, "bits": 0.5, "people": 3.0, "similarity": 0.05}
"""Differences up to this are called close."""


@dataclass(frozen=True)
class Published:
    """One printed number and the measured row that it belongs to."""

    paper: str
    id: str
    what: str
    where: dict[str, Any]
    column: str
    value: float | str
    place: str
    page: int
    certainty: str
    relation: str = "="
    unit: str = "%"
    why: str = ""

    def fits(self, row: Row) -> bool:
        """Whether the number belongs to this row."""
        return all(row.get(k) == v for k, v in self.where.items())

    def number(self, row: Row) -> float:
        """The printed number; "prior/2" depends on the row."""
        if isinstance(self.value, str):
            name, _, part = self.value.partition("/")
            return float(row[name]) / float(part)
        return float(self.value)


@cache
def published() -> tuple[tuple[Published, ...], dict[str, dict[str, Any]]]:
    """Printed numbers, and the data of each paper."""
    plain = tomllib.loads((files("standout.papers") / "published.toml").read_text(encoding="utf-8"))
    values = tuple(Published(**v) for v in plain.pop("value"))
    return values, plain


def of_figure(recipe: Recipe) -> list[Published]:
    """Printed numbers of one figure or table."""
    return [p for p in published()[0] if (p.paper, p.id) == (recipe.paper, recipe.id)]


def joined(recipe: Recipe, rows: Rows) -> Rows:
    """Rows joined with the printed number of their bar or point; numbers in the text precede independent reproductions."""
    out = [dict(r) for r in rows]
    for p in of_figure(recipe):
        for row in out:
            # a bound or another column is not the height of this bar
            if (
                p.relation == "="
                and p.column in ("rate", "bits", "users", "f")
                and p.fits(row)
                and "published" not in row
            ):
                row["published"] = p.number(row)
    return out


@dataclass(frozen=True)
class Line:
    """One line of the summary."""

    label: str
    what: str
    published: str
    source: str
    measured: str
    interval: str
    n: str
    difference: str
    word: str


def _show(x: float | None, unit: str, relation: str = "=") -> str:
    if x is None:
        return "–"
    sign = "" if relation == "=" else f"{relation} "
    if unit == "%":
        return f"{sign}{100 * x:.1f} %"
    return (
        f"{sign}{x:.0f}"
        if unit == "people"
        else f"{sign}{x:.2f}{' bits' if unit == 'bits' else ''}"
    )


def line(setting: RecipeInputs, recipe: Recipe, p: Published, rows: Rows) -> Line:
    """Compare one printed number with its row."""
    found = [r for r in rows if p.fits(r)]
    source = f"{p.certainty}; {p.place}, p. {p.page}"
    row = found[0] if found else {}
    measured = row.get(p.column)
    if measured is None:
        note = row.get("note", "no such case in this data")
        printed = "–" if isinstance(p.value, str) else _show(float(p.value), p.unit, p.relation)
        return Line(recipe.label, p.what, printed, source, "not measured", "–", "0", "–", str(note))
    value = p.number(row)
    low, high = (
        (row.get("low"), row.get("high"))
        if p.column in ("rate", "bits", "f", "delta")
        else (None, None)
    )
    interval = (
        "–" if low is None or high is None else f"{_show(low, p.unit)} – {_show(high, p.unit)}"
    )
    gap = measured - value
    difference = (
        f"{100 * gap:+.1f} points"
        if p.unit == "%"
        else f"{gap:+.0f}"
        if p.unit == "people"
        else f"{gap:+.2f}"
    )
    word = _word(setting, p, measured, value, low, high)
    return Line(
        recipe.label,
        p.what,
        _show(value, p.unit, p.relation),
        source,
        _show(measured, p.unit),
        interval,
        f"{row['n']:,}" if row.get("n") else "all",
        difference,
        word,
    )


def _word(
    setting: RecipeInputs,
    p: Published,
    measured: float,
    value: float,
    low: float | None,
    high: float | None,
) -> str:
    """Result in words, with the reason if the two numbers differ."""
    if p.relation != "=":
        holds = measured < value if p.relation == "<" else measured > value
        return "holds" if holds else f"does not hold: {_reason(setting, p)}"
    # a printed percentage is rounded to its last digit
    half = {"%": 0.005 if p.certainty == "text" else 0.0005, "bits": 0.005}.get(p.unit, 0.0)
    if abs(measured - value) <= half or (
        low is not None and high is not None and low - half <= value <= high + half
    ):
        return "agrees"
    if abs(measured - value) <= CLOSE[p.unit]:
        return "close"
    return f"{'higher' if measured > value else 'lower'}: {_reason(setting, p)}"


def _reason(setting: RecipeInputs, p: Published) -> str:
    paper = published()[1][p.paper]
    ds = setting.dataset
    own = (ds.n_records, ds.n_items, ds.n_entries) == (
        paper["n_records"],
        paper["n_items"],
        paper["n_entries"],
    )
    if p.why:
        return p.why if own else f"{p.why}; other data as well"
    if own:
        return "same data: not explained"
    if ds.n_records != paper["n_records"]:
        return f"other data, {ds.n_records:,} records instead of {paper['n_records']:,}"
    return "other data of the same size"


HEADER = (
    "figure",
    "what",
    "published",
    "certainty",
    "measured",
    "95 % interval",
    "n",
    "difference",
    "result",
)


def cells(x: Line) -> tuple[str, ...]:
    """A comparison as a row of the first table."""
    return x.label, x.what, x.published, x.source, x.measured, x.interval, x.n, x.difference, x.word


def claim_cells(c: Claim, recipe: Recipe) -> tuple[str, ...]:
    """A claim as a row of the second table."""
    if c.n == 0:
        return recipe.label, c.text, "–", "–", "0", c.word
    interval = f"{100 * c.low:+.1f} … {100 * c.high:+.1f}"
    return recipe.label, c.text, f"{100 * c.difference:+.1f} points", interval, f"{c.n:,}", c.word


CLAIM_HEADER = ("figure", "claim", "difference", "95 % interval, paired", "n", "result")


@dataclass(frozen=True)
class Summary:
    """Contents of the summary pages."""

    paper: str
    about: list[str]
    figures: list[tuple[Recipe, Rows]]
    lines: list[Line]
    claims: list[tuple[str, ...]]

    @classmethod
    def of(cls, setting: RecipeInputs, figures: list[tuple[Recipe, Rows]]) -> Summary:
        """Compare all figures with what is printed."""
        if not figures:
            raise ParameterError("nothing was reproduced: there is nothing to compare")
        paper = figures[0][0].paper
        ds = setting.dataset
        many = (
            "every eligible record"
            if setting.targets is None
            else f"up to {setting.targets:,} targets per point"
        )
        about = [
            f"Data: {setting.source}: {ds.n_records:,} records × {ds.n_items:,} items, {ds.n_entries:,} entries.",
            f"The paper had {published()[1][paper]['data']}: {published()[1][paper]['n_records']:,} records.",
            f"{many[0].upper()}{many[1:]}, seed {setting.seed}. Intervals are 95 %: Wilson for shares, normal for means.",
        ]
        for name, there in (("values", ds.has_value), ("days", ds.has_time)):
            if not there:
                about.append(
                    f"The data has no {name}: where a figure uses them, they are unknown here."
                )
        if setting.mentions is not None:
            about.append(f"Mentions: {setting.mentions.note}.")
        lines = [
            line(setting, recipe, p, rows) for recipe, rows in figures for p in of_figure(recipe)
        ]
        claims = [claim_cells(c, recipe) for recipe, _ in figures for c in recipe.claims(setting)]
        return cls(paper, about, figures, lines, claims)

    def markdown(self) -> str:
        """The summary as Markdown; pictures are linked as files in the same folder."""
        parts = [
            f"# {PAPERS[self.paper]}, reproduced",
            "",
            *(f"{x}  " for x in self.about),
            "",
            "## Published and measured",
            "",
        ]
        parts += markdown_table(HEADER, [cells(x) for x in self.lines])
        if self.claims:
            parts += [
                "",
                "## Claims of the text, compared on the same targets",
                "",
                *markdown_table(CLAIM_HEADER, self.claims),
            ]
        parts += ["", "## Figures", ""]
        for recipe, rows in self.figures:
            parts += [f"### {recipe.label}: {recipe.title}", "", f"{recipe.parameters}.", ""]
            parts += [
                f"![{recipe.label}: {recipe.title}]({recipe.id}.png)",
                "",
                f"Data: [{recipe.id}.csv]({recipe.id}.csv)",
                "",
            ]
            notes = sorted({str(r["note"]) for r in rows if r.get("note")})
            parts += [*(f"Not measured: {x}." for x in notes), *([""] if notes else [])]
        return "\n".join(parts).rstrip() + "\n"

    def html(self) -> str:
        """The summary as HTML; pictures are linked as files in the same folder."""
        body = [
            f"<h1>{escape(PAPERS[self.paper])}, reproduced</h1>",
            *(f"<p>{escape(x)}</p>" for x in self.about),
        ]
        body += [
            "<h2>Published and measured</h2>",
            _html_table(HEADER, [cells(x) for x in self.lines]),
        ]
        if self.claims:
            body += [
                "<h2>Claims of the text, compared on the same targets</h2>",
                _html_table(CLAIM_HEADER, self.claims),
            ]
        body.append("<h2>Figures</h2>")
        for recipe, _ in self.figures:
            words = escape(f"{recipe.label}: {recipe.title}")
            body.append(
                f'<figure><img src="{recipe.id}.svg" alt="{words}"><figcaption>{words}. {escape(recipe.parameters)}. '
                f'<a href="{recipe.id}.csv">Data</a></figcaption></figure>'
            )
        return _PAGE.format(title=escape(PAPERS[self.paper]), body="\n".join(body))


def markdown_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Lines of a Markdown table."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    safe = [[x.replace("|", r"\|") for x in row] for row in rows]
    return lines + [f"| {' | '.join(row)} |" for row in safe]


def _html_table(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{escape(x)}</th>' for x in header)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(x)}</td>' for x in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}, reproduced</title>
<style>
body {{ font: 16px/1.5 "Helvetica Neue", Helvetica, Arial, sans-serif; color: #1b1f24; background: #fff }}
body {{ max-width: 76rem; margin: 2rem auto; padding: 0 1rem }}
.wide {{ overflow-x: auto }}
table {{ border-collapse: collapse; font-size: 14px }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid #dfe3e8 }}
th {{ border-bottom: 2px solid #59626d }}
figure {{ margin: 2rem 0 }}
img {{ max-width: 100%; height: auto }}
figcaption {{ color: #59626d; font-size: 14px }}
</style></head><body>
{body}
</body></html>
"""
