"""`render`: findings as one self-contained HTML file that loads nothing from a network."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from standout.audit.findings import Findings, write_whole
from standout.errors import InputError, ParameterError, StandoutError
from standout.report.drawing import FORMATS, NARROW, WIDE, Chart, for_page
from standout.report.linkability import PRIOR
from standout.report.words import TERMS

MORE_TERMS: dict[str, str] = {
    "named correctly": "The target is in the data, the best record is far enough ahead to be named, and it is the target's.",
    "phi": "Smallest lead at which Scoreboard and Scoreboard-RH name a record, in standard deviations of all scores.",
    "theorem": "A proved statement of a paper. It applies to this data only if its assumptions hold here.",
    "sparse": "Hardly any record has another one that resembles it. The numbers say how similar and for how many records.",
    "bit": "Unit of uncertainty: one bit is the uncertainty between two equally likely records, ten bits that of 1,024.",
}
"""Terms of the page in addition to those of `words.TERMS`."""

PLAIN = ("item", "record", "at most", "interval", "bit", "phi", "found", "sure", "unique")
"""Terms that are too common in plain sentences to be linked there."""


def render(
    findings: Findings,
    path: str | Path = "report.html",
    *,
    title: str | None = None,
    prior: float = PRIOR,
) -> Path:
    """Write the report, completely or not at all.

    Parameters
    ----------
    findings
        What an audit found.
    path
        File to write.
    title
        Name of the dataset, for the title and the header. Default: the title recorded in the
        findings, if any.
    prior
        Assumed share of people in the data among those whom an attacker looks up, for the statement
        about linkability.

    Returns
    -------
    Path
        The file.
    """
    return write_whole(path, page(findings, title=title, prior=prior))


def page(findings: Findings, *, title: str | None = None, prior: float = PRIOR) -> str:
    """HTML text of the report."""
    from standout.report.next_steps import next_steps
    from standout.report.sections import sections
    from standout.report.sentences import answer
    from standout.report.view import view

    try:
        seen = view(findings)
        name = title if title is not None else seen.provenance.get("title")
        return fill(
            "report.html.j2",
            view=seen,
            answer=answer(seen, prior),
            steps=next_steps(seen),
            sections=sections(findings),
            name=str(name or "").strip(),
        )
    except StandoutError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        # the schema leaves the content of some parts open: sections of other verbs, the cleaning
        raise InputError(
            "the findings cannot be shown, because a part of them is damaged; make them again"
        ) from error


def fill(template: str, **content: Any) -> str:
    """Fill a template; style, script and terms are added for every page."""
    assets = Path(__file__).with_name("assets")
    return str(
        _environment()
        .get_template(template)
        .render(
            style=assets.joinpath("report.css").read_text(encoding="utf-8"),
            script=assets.joinpath("report.js").read_text(encoding="utf-8"),
            **{"terms": glossary(), **content},
        )
    )


def glossary() -> dict[str, str]:
    """Every term that a page may use, with its explanation."""
    return {**MORE_TERMS, **TERMS}


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    from standout.report import words

    # autoescape: markup in a label is shown as text
    made = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
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
    """A chart for the page and for a phone; the style sheet shows one of them."""
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
    # longest first, so that "strongest attack" is not taken for "attack"; placeholders prevent
    # links within links
    spots: list[str] = []
    terms = glossary()
    for term in sorted(terms, key=len, reverse=True):
        found = re.search(rf"\b{re.escape(term)}(?:e?s)?\b", safe, flags=re.IGNORECASE)
        if found and term not in PLAIN:
            link = f'<a class="term" href="#{anchor(term)}" title="{escape(terms[term])}">{found[0]}</a>'
            spots.append(link)
            safe = f"{safe[: found.start()]}\x00{len(spots) - 1}\x00{safe[found.end() :]}"
    return Markup(re.sub(r"\x00(\d+)\x00", lambda m: spots[int(m[1])], safe))


def anchor(term: str) -> str:
    """HTML anchor of a term in the glossary.

    >>> anchor("hit rate")
    'term-hit-rate'
    """
    return "term-" + "-".join(term.lower().split())


def export(charts: Iterable[Chart], folder: str | Path, forms: Iterable[str]) -> list[Path]:
    """Write the table of every chart (csv, parquet) and its picture (svg, png, pdf) into a folder."""
    place = Path(folder)
    wanted = check_forms(forms)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {str(folder)!r}: {error.strerror}") from None
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
            else:
                target.write_bytes(chart.to_bytes(form))
            written.append(target)
    return written


def check_forms(forms: Iterable[str]) -> list[str]:
    """Export formats as a list; refuse unknown ones before anything is written."""
    known = ("csv", "parquet", "json", *FORMATS)
    wanted = list(dict.fromkeys(forms))
    for form in wanted:
        if form not in known:
            raise ParameterError(f"no export format {form!r}. Formats: {', '.join(known)}")
    if not wanted:
        raise ParameterError(f"name at least one export format. Formats: {', '.join(known)}")
    return wanted
