"""`reproduce`: run the recipes of a paper and write pictures, tables and summary, all of them or nothing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from standout.data.scratch import scratch_folder
from standout.errors import InputError, ParameterError
from standout.papers import draw
from standout.papers.recipe import SHORT, Recipe, RecipeInputs, Rows, recipes
from standout.papers.summary import Summary, joined

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
    (folder / f"{recipe.id}.png").write_bytes(draw.picture(spec, "png"))
    (folder / f"{recipe.id}.svg").write_bytes(draw.picture(spec, "svg"))
    (folder / f"{recipe.id}.csv").write_text(table_text(joined(recipe, rows)), encoding="utf-8")


def specification(setting: RecipeInputs, recipe: Recipe, rows: Rows) -> dict[str, Any]:
    """Vega-Lite specification of a figure, with a title that says what was measured on what."""
    shown = joined(recipe, rows)
    measures = ("rate", "bits", "users", "delta", "records", "f")
    there = any(r.get(m) is not None for r in rows for m in measures)
    chart = (
        recipe.draw(shown)
        if there
        else draw.empty("Not measurable on this data; the CSV says why.")
    )
    ns = [r["n"] for r in rows if r.get("n")]
    size = (
        ""
        if not ns
        else f", n = {max(ns):,}"
        if min(ns) == max(ns)
        else f", n = {min(ns):,} – {max(ns):,}"
    )
    plain = str(chart.to_dict())
    marks = (
        "; diamonds: published"
        if "'field': 'published'" in plain and "'published': " in plain
        else ""
    )
    subtitle = [
        f"{recipe.label} of {SHORT[recipe.paper]}: {recipe.parameters}",
        f"measured on {setting.source}{size}{marks}",
    ]
    return draw.titled(chart, recipe.title, subtitle)


def table_text(rows: Rows) -> str:
    """Rows as CSV; an empty cell for what was not measured."""
    columns = list(dict.fromkeys(k for r in rows for k in r))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
