"""`standout defend` without --apply: try many defenses and show risk against utility."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.cli import options
from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from standout.defenses.frontier import Frontier

FOLDER = Path("standout-defend")
"""Default output folder."""

FILES = ("frontier.json", "frontier.html")
CELLS = "cells"
"""Folder of finished cells, in the output folder."""


def show_frontier(
    path: str,
    reading: options.Reading,
    *,
    defenses: str = "all",
    strengths: str | None = None,
    targets: str = "1000",
    seed: int = 0,
    measure: str = "ndcg",
    out: Path | None = None,
    overwrite: bool = False,
    fresh: bool = False,
    json: bool = False,
) -> None:
    """Measure the frontier, write frontier.json and frontier.html, print the table and the sentence."""
    from rich.console import Console

    from standout.cli.waiting import read_quietly, waiting
    from standout.cli.workfolder import journaled
    from standout.defenses.frontier import frontier
    from standout.defenses.utility import MEASURES
    from standout.defenses.utility_ranking import library
    from standout.report.frontier import render_frontier

    wanted, values = defense_list(defenses), strength_values(strengths)
    if measure not in MEASURES:
        raise ParameterError(f"--measure {measure!r}: use one of {', '.join(MEASURES)}")
    library()
    n_targets = options.target_count(targets)
    folder = out or FOLDER
    _check_folder(folder, overwrite)
    with journaled(folder, fresh=fresh):
        source = read_quietly(path, json, **reading.keywords)
        log = Console(stderr=True, quiet=json, highlight=False)
        with waiting(json) as progress:
            found = frontier(
                source,
                wanted,
                values,
                targets=n_targets,
                seed=seed,
                measure=measure,
                work=folder / CELLS,
                fresh=fresh,
                progress=progress,
                log=lambda text: log.print(text, markup=False),
            )
        render_frontier(found, folder / FILES[1])
        found.save(folder / FILES[0])
    if json:
        print(found.to_json(), end="")
        return
    console = Console(highlight=False)
    show(found, console)
    console.print(f"report: {folder / FILES[1]}", markup=False, soft_wrap=True)


def show(found: Frontier, console: Console) -> None:
    """Print the table and the sentence."""
    from rich.text import Text

    others: list[str] = [
        m
        for m in ("rating", "popularity", "time", "entries")
        if m in found.measures and m != found.measure
    ]
    table, unlimited = _table(found, others), console.options.update(width=10_000)
    while others and console.measure(table, options=unlimited).maximum > console.width:
        others.pop()  # the report has all of them
        table = _table(found, others)
    # a line longer than the terminal is better than a name that is cut
    width, console.width = (
        console.width,
        max(console.width, console.measure(table, options=unlimited).maximum),
    )
    console.print(table)
    console.width = width
    for cell in found.cells:
        if "not_measured" in cell:
            console.print(
                Text(f"not measured: {cell['defense']}: {cell['not_measured']}", style="dim")
            )
    console.print(Text(found.sentence), soft_wrap=not console.is_terminal)


def _table(found: Frontier, others: list[str]) -> Table:
    """The settings with their risk, their cost and the other losses that are named."""
    from rich.table import Table

    from standout.report.frontier import SHORT
    from standout.report.words import between, percent

    table = Table(
        title="Risk and cost of every defense tried", title_justify="left", box=None, pad_edge=False
    )
    for title in (
        "",
        "defense",
        "found",
        "95% interval",
        f"loss, {SHORT[found.measure]}",
        *(SHORT[m] for m in others),
    ):
        table.add_column(
            title, justify="left" if title in ("", "defense") else "right", no_wrap=True
        )
    for row in sorted(found.rows(), key=lambda r: (-r["rate"], r["cost"])):
        table.add_row(
            "*" if row["front"] else "",
            row["defense"],
            percent(row["rate"]),
            between(row),
            f"{100 * row['cost']:.1f}% ± {100 * row['noise']:.1f}",
            *(
                "–" if row[f"{m}_loss"] is None else f"{100 * row[f'{m}_loss']:.0f}%"
                for m in others
            ),
        )
    table.caption = "* on the front: no other setting is measurably better"
    table.caption_justify = "left"
    return table


def defense_list(text: str) -> Any:
    """Read a comma-separated list of defenses; commas within parentheses belong to a defense.

    >>> defense_list("all"), defense_list("drop-time, suppress-km(k=5, m=2) | drop-time")
    ('all', ['drop-time', 'suppress-km(k=5, m=2) | drop-time'])
    """
    from standout.defenses.parse import parse_defense

    if text.strip() == "all":
        return "all"
    parts = [x.strip() for x in re.split(r",(?![^(\[]*[)\]])", text) if x.strip()]
    if not parts:
        raise ParameterError("--defenses is empty: name defenses, or all")
    from standout.defenses.defense import defense_names

    for part in parts:
        # a bare name stands for the defense at its default strengths
        if part not in defense_names():
            parse_defense(part)
    return parts


def strength_values(text: str | None) -> Any:
    """Read `0.2,0.5` (for every named defense) or `drop-entries=0.2,0.5; cap-entries=10`.

    >>> strength_values("0.2,0.5"), strength_values("drop-entries=0.2; coarsen-time=month,year"), strength_values(None)
    ([0.2, 0.5], {'drop-entries': [0.2], 'coarsen-time': ['month', 'year']}, None)
    """
    if text is None:
        return None
    if "=" not in text:
        return _values(text)
    out = {}
    for part in text.split(";"):
        name, equals, values = part.partition("=")
        if not equals or not name.strip() or name.strip() in out:
            raise ParameterError(
                f"--strengths {text!r}: use DEFENSE=VALUE,VALUE; DEFENSE=VALUE, each defense once"
            )
        out[name.strip()] = _values(values)
    return out


def _values(text: str) -> list[Any]:
    from standout.defenses.parse import number_or_word

    words = [x.strip() for x in text.split(",")]
    if not all(words):
        raise ParameterError(f"--strengths {text!r}: use values separated by commas")
    return [number_or_word(x) for x in words]


def _check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that cannot or should not be written, before any data is read."""
    from standout.cli.session import check_writable

    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"--out {str(folder)!r} is a file; name a folder")
    # frontier.json is written last: without it a run was killed while it wrote, and goes on
    if not overwrite and (folder / FILES[0]).exists():
        raise ParameterError(
            f"--out {str(folder)!r} holds another frontier: name another folder, or use --overwrite"
        )
    check_writable(folder)
