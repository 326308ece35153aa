"""`reproduce`: pictures and tables of a paper's figures, and published beside measured numbers: where they differ, and why."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from standout.data.scratch import scratch_folder
from standout.errors import InputError, ParameterError
from standout.papers.draw import draw, empty, titled
from standout.papers.recipe import (
    PAPERS,
    SHORT,
    Claim,
    Published,
    Recipe,
    RecipeInputs,
    Rows,
    of_figure,
    published_data,
    recipes,
    with_published,
)
from standout.report.drawing import Spec, picture

CLOSE = {"%": 0.05, "bits": 0.5, "people": 3.0, "similarity": 0.05}
"""Differences up to this are called close."""


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
"""Columns of the comparison."""


def _show(x: float, unit: str, relation: str = "=") -> str:
    sign = "" if relation == "=" else f"{relation} "
    written = {"%": f"{100 * x:.1f} %", "people": f"{x:.0f}", "bits": f"{x:.2f} bits"}
    return sign + written.get(unit, f"{x:.2f}")


def compare(setting: RecipeInputs, recipe: Recipe, p: Published, rows: Rows) -> dict[str, str]:
    """Compare one printed number with its row: a line of the summary."""
    row = next((r for r in rows if p.fits(r)), {})
    line = {
        "figure": recipe.label,
        "what": p.what,
        "published": "–",
        "certainty": f"{p.certainty}; {p.place}, p. {p.page}",
        "measured": "not measured",
        "95 % interval": "–",
        "n": "0",
        "difference": "–",
    }
    measured = row.get(p.column)
    if measured is None:
        if not isinstance(p.value, str):
            line["published"] = _show(p.value, p.unit, p.relation)
        return {**line, "result": str(row.get("note", "no such case in this data"))}
    value, gap = p.number(row), measured - p.number(row)
    line["published"] = _show(value, p.unit, p.relation)
    line["measured"] = _show(measured, p.unit)
    with_interval = p.column in ("rate", "bits", "f", "delta")
    low, high = (row.get(end) if with_interval else None for end in ("low", "high"))
    interval = None if low is None or high is None else (low, high)
    if interval:
        line["95 % interval"] = " – ".join(_show(end, p.unit) for end in interval)
    line["n"] = f"{row['n']:,}" if row.get("n") else "all"
    differences = {"%": f"{100 * gap:+.1f} points", "people": f"{gap:+.0f}"}
    line["difference"] = differences.get(p.unit, f"{gap:+.2f}")
    return {**line, "result": _result(setting, p, measured, value, interval)}


def _result(
    setting: RecipeInputs,
    p: Published,
    measured: float,
    value: float,
    interval: tuple[float, float] | None,
) -> str:
    """Result in words, with the reason if the two numbers differ."""
    if p.relation != "=":
        holds = measured < value if p.relation == "<" else measured > value
        return "holds" if holds else f"does not hold: {_reason(setting, p)}"
    # a printed percentage is rounded to its last digit
    half = {"%": 0.005 if p.certainty == "text" else 0.0005, "bits": 0.005}.get(p.unit, 0.0)
    low, high = interval or (measured, measured)
    if abs(measured - value) <= half or low - half <= value <= high + half:
        return "agrees"
    if abs(measured - value) <= CLOSE[p.unit]:
        return "close"
    return f"{'higher' if measured > value else 'lower'}: {_reason(setting, p)}"


def _reason(setting: RecipeInputs, p: Published) -> str:
    paper = published_data(p.paper)
    ds = setting.dataset
    own = all(getattr(ds, size) == paper[size] for size in ("n_records", "n_items", "n_entries"))
    if p.why:
        return p.why if own else f"{p.why}; other data as well"
    if own:
        return "same data: not explained"
    if ds.n_records != paper["n_records"]:
        return f"other data, {ds.n_records:,} records instead of {paper['n_records']:,}"
    return "other data of the same size"


def claim_line(c: Claim, recipe: Recipe) -> dict[str, str]:
    """A claim as a line of the second table."""
    line = {"figure": recipe.label, "claim": c.text}
    difference = interval = "–"
    if c.n:
        difference = f"{100 * c.difference:+.1f} points"
        interval = f"{100 * c.low:+.1f} … {100 * c.high:+.1f}"
    line |= {"difference": difference, "95 % interval, paired": interval}
    return {**line, "n": f"{c.n:,}", "result": c.word}


@dataclass(frozen=True)
class Summary:
    """Contents of the summary pages."""

    paper: str
    about: list[str]
    figures: list[tuple[Recipe, Rows]]
    lines: list[dict[str, str]]
    claims: list[dict[str, str]]

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
            "The paper had {data}: {n_records:,} records.".format(**published_data(paper)),
            f"{many[0].upper()}{many[1:]}, seed {setting.seed}. Intervals are 95 %: Wilson for shares, normal for means.",
        ]
        for name, there in (("values", ds.has_value), ("days", ds.has_time)):
            if not there:
                about.append(
                    f"The data has no {name}: where a figure uses them, they are unknown here."
                )
        if setting.mentions is not None:
            about.append(f"Mentions: {setting.mentions.note}.")
        lines = [compare(setting, r, p, rows) for r, rows in figures for p in of_figure(r)]
        claims = [claim_line(c, recipe) for recipe, _ in figures for c in recipe.claims(setting)]
        return cls(paper, about, figures, lines, claims)

    @property
    def tables(self) -> dict[str, list[dict[str, str]]]:
        """The tables by their headings."""
        tables = {
            "Published and measured": self.lines,
            "Claims of the text, compared on the same targets": self.claims,
        }
        return {title: rows for title, rows in tables.items() if rows or rows is self.lines}

    def markdown(self) -> str:
        """The summary as Markdown; pictures are linked as files in the same folder."""
        parts = [f"# {PAPERS[self.paper]}, reproduced", "", *(f"{x}  " for x in self.about), ""]
        for title, lines in self.tables.items():
            parts += [f"## {title}", "", *markdown_table(lines), ""]
        parts += ["## Figures", ""]
        for recipe, rows in self.figures:
            name = f"{recipe.label}: {recipe.title}"
            parts += [
                f"### {name}",
                "",
                f"{recipe.parameters}.",
                "",
                f"![{name}]({recipe.id}.png)",
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
        for title, lines in self.tables.items():
            body += [f"<h2>{title}</h2>", _html_table(lines)]
        body.append("<h2>Figures</h2>")
        for recipe, _ in self.figures:
            words = escape(f"{recipe.label}: {recipe.title}")
            body.append(
                f'<figure><img src="{recipe.id}.svg" alt="{words}"><figcaption>{words}. {escape(recipe.parameters)}. '
                f'<a href="{recipe.id}.csv">Data</a></figcaption></figure>'
            )
        return _PAGE.format(title=escape(PAPERS[self.paper]), body="\n".join(body))


def markdown_table(rows: list[dict[str, str]]) -> list[str]:
    """Lines of a Markdown table of comparisons or of claims."""
    head = tuple(rows[0]) if rows else HEADER
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    safe = [[x.replace("|", r"\|") for x in row.values()] for row in rows]
    return lines + [f"| {' | '.join(row)} |" for row in safe]


def _html_table(rows: list[dict[str, str]]) -> str:
    head = "".join(f'<th scope="col">{escape(x)}</th>' for x in (rows[0] if rows else HEADER))
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(x)}</td>' for x in row.values())}</tr>" for row in rows
    )
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


MARK = "run.json"
"""A folder with this file was written by `reproduce` and may be replaced."""


def reproduce(
    paper: str,
    setting: RecipeInputs,
    out: str | Path,
    only: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Summary:
    """Reproduce every figure and table of a paper on a release.

    Parameters
    ----------
    paper
        "ns08", "f06" or "dss12".
    setting
        The release, mentions, number of targets, seed.
    out
        Folder for PNG, SVG and CSV of each figure, summary.md and summary.html. It is written at
        the end; one that an earlier reproduction wrote is replaced, any other that is not empty is
        refused.
    only
        Comma-separated ids of figures.
    progress
        Called with (what, done, total).
    """
    folder = Path(out)
    chosen = recipes(paper, only)
    check_folder(folder)
    figures: list[tuple[Recipe, Rows]] = []
    for k, recipe in enumerate(chosen):
        if progress:
            progress(f"{recipe.label}", k, len(chosen) + 1)
        figures.append((recipe, recipe.run(setting)))
    if progress:
        progress("summary and pictures", len(chosen), len(chosen) + 1)
    summary = Summary.of(setting, figures)
    _write(folder, setting, summary)
    return summary


def check_folder(folder: Path) -> None:
    """Refuse a folder with other contents, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--out {str(folder)!r} is a file; name a folder")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise ParameterError(
            f"--out {str(folder)!r} is not empty and holds no earlier reproduction; name a new folder"
        )


def _write(folder: Path, setting: RecipeInputs, summary: Summary) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(folder.parent, f".{folder.name[:100]}.") as made:
            draft = made / "files"
            draft.mkdir(mode=0o755)
            for recipe, rows in summary.figures:
                write_figure(draft, setting, recipe, rows)
            (draft / "summary.md").write_text(summary.markdown(), encoding="utf-8")
            (draft / "summary.html").write_text(summary.html(), encoding="utf-8")
            (draft / MARK).write_text(
                json.dumps(_run(setting, summary), indent=1) + "\n", encoding="utf-8"
            )
            if folder.exists():
                folder.replace(made / "old")
            draft.replace(folder)
    except OSError as error:
        raise InputError(f"cannot write to {str(folder)!r}: {error.strerror}") from None


def _run(setting: RecipeInputs, summary: Summary) -> dict[str, Any]:
    from standout import __version__

    return {
        "standout": __version__,
        "paper": summary.paper,
        "source": setting.source,
        "n_records": setting.dataset.n_records,
        "targets": setting.targets,
        "seed": setting.seed,
        "figures": [r.id for r, _ in summary.figures],
    }


def write_figure(folder: Path, setting: RecipeInputs, recipe: Recipe, rows: Rows) -> None:
    """Write PNG, SVG and CSV of one figure."""
    spec = specification(setting, recipe, rows)
    for form in ("png", "svg"):
        (folder / f"{recipe.id}.{form}").write_bytes(picture(spec, form))
    (folder / f"{recipe.id}.csv").write_text(
        table_text(with_published(recipe, rows)), encoding="utf-8"
    )


def specification(setting: RecipeInputs, recipe: Recipe, rows: Rows) -> Spec:
    """Vega-Lite specification of a figure, with a title that says what was measured on what."""
    measures = ("rate", "bits", "users", "delta", "records", "f")
    if any(r.get(m) is not None for r in rows for m in measures):
        chart = draw(with_published(recipe, rows), recipe.chart)
    else:
        chart = empty("Not measurable on this data; the CSV says why.")
    ns = sorted(r["n"] for r in rows if r.get("n"))
    size = f", n = {' – '.join(f'{n:,}' for n in dict.fromkeys((ns[0], ns[-1])))}" if ns else ""
    plain = str(chart)
    marked = "'field': 'published'" in plain and "'published': " in plain
    subtitle = [
        f"{recipe.label} of {SHORT[recipe.paper]}: {recipe.parameters}",
        f"measured on {setting.source}{size}{'; diamonds: published' if marked else ''}",
    ]
    return titled(chart, recipe.title, subtitle)


def table_text(rows: Rows) -> str:
    """Rows as CSV; an empty cell for what was not measured."""
    columns = list(dict.fromkeys(k for r in rows for k in r))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
