"""`standout frontier`: try many defenses and show risk against utility. `app.py` calls it by name.

The measuring is in `defenses/frontier.py`, the page in `report/frontier.py`; here are the options
and the table in the terminal.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.cli.option_values import target_count
from standout.cli.options import Reading, command
from standout.cli.outputs import check_folder
from standout.cli.reading import error_console, progress_on, read_data
from standout.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import Console

    from standout.defenses.frontier import Frontier

FILES = ("frontier.json", "frontier.html")
CELLS = "cells"
"""Folder of finished cells, in the output folder."""

MARKS = (
    "* on the front: no other setting is measurably better, judged by the largest of unique, found, sure",
    "= no clear effect: the risk is not clearly below that of the undefended data",
)


@command()
def frontier(
    path: str,
    /,
    reading: Reading,
    defenses: str = "all",
    strengths: str | None = None,
    targets: str = "1000",
    measure: str = "ndcg",
    out: Path = Path("standout-frontier"),
    seed: int = 0,
    overwrite: bool = False,
    fresh: bool = False,
    json: bool = False,
) -> None:
    """Compare defenses by risk and utility.

    Every defense is tried at several strengths. The result is a table, a chart and the least costly
    defense that brings the share of people found below 5%. A run that was stopped goes on where it
    was.

    Example: standout frontier ratings.csv --defenses drop-entries,coarsen-time,drop-time --out
    frontier

    Parameters
    ----------
    defenses
        Defenses to compare, comma-separated: names, or texts as for `standout defend --apply`.
    strengths
        Settings to compare: '0.2,0.5' for every named defense, or 'drop-entries=0.2,0.5;
        cap-entries=10'.
    measure
        Loss that counts as the cost: ndcg, recall, rating, popularity, pairs, time or entries.
    out
        Folder for frontier.json and frontier.html.
    overwrite
        Replace the frontier that the folder holds.
    """
    from rich.console import Console

    from standout.cli.workfolder import journaled
    from standout.defenses.frontier import frontier as compare
    from standout.defenses.utility import MEASURES
    from standout.defenses.utility_models import library
    from standout.report.frontier import render_frontier

    wanted, values = defense_list(defenses), strength_values(strengths)
    if measure not in MEASURES:
        raise ParameterError(f"--measure {measure!r}: use one of {', '.join(MEASURES)}")
    library()
    n_targets, log = target_count(targets), error_console(json)
    # frontier.json is written last: without it a run was killed while it wrote, and goes on
    check_folder(out, () if overwrite else FILES[:1], "another frontier")
    with journaled(out, fresh=fresh):
        source = read_data(path, reading.keywords, log)
        with progress_on(log) as progress:
            found = compare(
                source,
                wanted,
                values,
                targets=n_targets,
                seed=seed,
                measure=measure,
                work=out / CELLS,
                fresh=fresh,
                progress=progress,
                log=lambda text: log.print(text, markup=False),
            )
        render_frontier(found, out / FILES[1])
        found.save(out / FILES[0])
    if json:
        print(found.to_json(), end="")
        return
    console = Console(highlight=False)
    show(found, console)
    console.print(f"report: {out / FILES[1]}", markup=False, soft_wrap=True)


def show(found: Frontier, console: Console) -> None:
    """Print the table and the sentence. A name that does not fit beside its numbers gets its own line."""
    from rich.text import Text

    from standout.report.frontier import not_measured

    others: list[str] = [
        m
        for m in ("rating", "popularity", "time", "entries")
        if m in found.measures and m != found.measure
    ]
    rows = _table(found, others)
    while others and _width(rows) > console.width:
        others.pop()  # the report has all of them
        rows = _table(found, others)
    console.print(Text("Risk and cost of every defense tried, 95% intervals", style="italic"))
    for line in _lines(rows, console.width):
        # a line longer than the terminal is better than a name that is cut
        console.print(Text(line), soft_wrap=True)
    for line in MARKS:
        console.print(Text(line, style="dim"))
    for name, why in not_measured(found):
        text = f"not measured: {name}: {why}"
        console.print(Text(text, style="dim"), soft_wrap=not console.is_terminal)
    console.print(Text(found.sentence), soft_wrap=not console.is_terminal)


def _table(found: Frontier, others: list[str]) -> list[list[str]]:
    """The table as text: titles, then one row per setting; mark and name first."""
    from standout.audit.measures import MEASURES as RISKS
    from standout.report.frontier import SHORT
    from standout.report.words import between, percent

    out = [["", "defense", *RISKS, f"loss, {SHORT[found.measure]}", *(SHORT[m] for m in others)]]
    for row in sorted(found.rows(), key=lambda r: (-r["rate"], r["cost"])):
        risks = [
            "–"
            if row[name] is None
            else f"{percent(row[name])} "
            + between({"low": row[f"{name}_low"], "high": row[f"{name}_high"]}).replace(" to ", "–")
            for name in RISKS
        ]
        losses = [row[f"{m}_loss"] for m in others]
        out.append(
            [
                "*" if row["front"] else "=" if row["clear_effect"] is False else " ",
                row["defense"],
                *risks,
                f"{100 * row['cost']:.1f}% ± {100 * row['noise']:.1f}",
                *("–" if x is None else f"{100 * x:.0f}%" for x in losses),
            ]
        )
    return out


def _widths(rows: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _width(rows: list[list[str]]) -> int:
    """Width of the table with every setting on one line."""
    return sum(_widths(rows)) + 2 * (len(rows[0]) - 1)


def _lines(rows: list[list[str]], width: int) -> list[str]:
    """Rows as lines: one each if all fit, else the numbers below the name."""
    marks, names, *wide = _widths(rows)
    one_line, out = _width(rows) <= width, []
    for mark, name, *cells in rows:
        numbers = "  ".join(x.rjust(n) for x, n in zip(cells, wide, strict=True))
        start = f"{mark:<{marks}}  "
        out += [f"{start}{name:<{names}}  {numbers}"] if one_line else [start + name, numbers]
    return out


def defense_list(text: str) -> Any:
    """Read a comma-separated list of defenses; commas within parentheses belong to a defense.

    >>> defense_list("all"), defense_list("drop-time, suppress-km(k=5, m=2) | drop-time")
    ('all', ['drop-time', 'suppress-km(k=5, m=2) | drop-time'])
    """
    from standout.defenses.defense import defense_names
    from standout.defenses.parse import parse_defense

    if text.strip() == "all":
        return "all"
    parts = [x.strip() for x in re.split(r",(?![^(\[]*[)\]])", text) if x.strip()]
    if not parts:
        raise ParameterError("--defenses is empty: name defenses, or all")
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
