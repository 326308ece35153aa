"""`render`: findings as one self-contained HTML file that asks nobody for anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from standout.audit.findings import Findings, write_whole
from standout.report.drawing import NARROW, WIDE, Chart, for_page
from standout.report.words import TERMS

PLAIN = ("item", "record", "at most", "interval")
"""Terms that are too common in plain sentences to be linked there."""


def render(findings: Findings, path: str | Path = "report.html") -> Path:
    """Write the report, whole or not at all.

    Parameters
    ----------
    findings
        What an audit found.
    path
        File to write.

    Returns
    -------
    Path
        The file.
    """
    return write_whole(path, page(findings))


def page(findings: Findings) -> str:
    """Text of the report."""
    from standout.report.sections import sections
    from standout.report.sentences import answer
    from standout.report.view import view

    seen = view(findings)
    return fill("report.html.j2", view=seen, answer=answer(seen), sections=sections(findings))


def fill(template: str, **content: Any) -> str:
    """Fill a template with the things that every page needs: style, script, terms, drawing."""
    assets = Path(__file__).with_name("assets")
    return str(
        _environment().get_template(template).render(
            style=assets.joinpath("report.css").read_text(encoding="utf-8"),
            script=assets.joinpath("report.js").read_text(encoding="utf-8"),
            terms=TERMS,
            **content,
        )
    )  # fmt: skip


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from standout.report import words

    # autoescape: whatever a label holds, it stays text
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters.update(
        percent=words.percent,
        number=words.number,
        between=words.between,
        drawn=drawn,
        anchor=anchor,
        explained=explained,
    )
    return made


def drawn(chart: Chart) -> Any:
    """A chart for the page and for a phone; style shows one of them."""
    from markupsafe import Markup

    both = [
        f'<div class="{name}">{for_page(chart.svg(width), chart.summary)}</div>'
        for name, width in (("wide", WIDE), ("narrow", NARROW))
    ]
    return Markup("\n".join(both))


def explained(text: str) -> Any:
    """Link the first mention of each term to its line in the glossary."""
    from markupsafe import Markup, escape

    safe = str(escape(text))
    # longest first, so that "strongest attack" is not taken for "attack"; spots keep a link out of another
    spots: list[str] = []
    for term in sorted(TERMS, key=len, reverse=True):
        found = re.search(rf"\b{re.escape(term)}(?:e?s)?\b", safe, flags=re.IGNORECASE)
        if found and term not in PLAIN:
            link = f'<a class="term" href="#{anchor(term)}" title="{escape(TERMS[term])}">{found[0]}</a>'
            spots.append(link)
            safe = f"{safe[: found.start()]}\x00{len(spots) - 1}\x00{safe[found.end() :]}"
    return Markup(re.sub(r"\x00(\d+)\x00", lambda m: spots[int(m[1])], safe))


def anchor(term: str) -> str:
    """Name of a term's place in the glossary.

    >>> anchor("hit rate")
    'term-hit-rate'
    """
    return "term-" + "-".join(term.lower().split())


def export(charts: Iterable[Chart], folder: str | Path, forms: Iterable[str]) -> list[Path]:
    """Write the table of every chart (csv, parquet) and its picture (svg, png, pdf) into a folder."""
    from standout.report.drawing import FORMATS

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    wanted = list(forms)
    written = []
    for chart in charts:
        for form in wanted:
            target = place / f"{chart.name}.{form}"
            if form == "csv":
                write_whole(target, chart.table.to_csv())
            elif form == "parquet":
                chart.table.to_frame().to_parquet(target, index=False)
            elif form == "json":
                from standout.report.drawing import spec_json

                write_whole(target, spec_json(chart))
            elif form in FORMATS:
                target.write_bytes(chart.to_bytes(form))
            else:
                from standout.errors import ParameterError

                raise ParameterError(f"no export format {form!r}. Formats: csv, parquet, json, {', '.join(FORMATS)}")
            written.append(target)
    return written
