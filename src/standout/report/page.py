"""`render`: findings as one self-contained HTML file that loads nothing from a network; and fragments for notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import Findings, write_whole
from standout.errors import InputError, ParameterError, StandoutError
from standout.report.drawing import FORMATS, NARROW, WIDE, Chart, for_page
from standout.report.sentences import PRIOR, judge_level, next_steps, write_statements
from standout.report.view import view
from standout.report.words import TERMS

if TYPE_CHECKING:
    from standout.theory.describe import Description

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
    from standout.report.sections import sections

    try:
        seen = view(findings)
        name = title if title is not None else seen.provenance.get("title")
        return fill(
            "report.html.j2",
            view=seen,
            level=judge_level(seen)[0],
            answer=write_statements(seen, prior),
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
            **{"terms": TERMS, **content},
        )
    )


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
    from markupsafe import Markup
    from markupsafe import escape as escape_once

    safe = str(escape_once(text))
    # longest first, so that "strongest attack" is not taken for "attack"; placeholders prevent
    # links within links
    spots: list[str] = []
    for term in sorted(TERMS, key=len, reverse=True):
        found = re.search(rf"\b{re.escape(term)}(?:e?s)?\b", safe, flags=re.IGNORECASE)
        if found and term not in PLAIN:
            link = f'<a class="term" href="#{anchor(term)}" title="{escape_once(TERMS[term])}">{found[0]}</a>'
            spots.append(link)
            safe = f"{safe[: found.start()]}\x00{len(spots) - 1}\x00{safe[found.end() :]}"
    return Markup(re.sub(r"\x00(\d+)\x00", lambda m: spots[int(m[1])], safe))


def anchor(term: str) -> str:
    """HTML anchor of a term in the glossary.

    >>> anchor("hit rate")
    'term-hit-rate'
    """
    return "term-" + "-".join(term.lower().split())


STYLE = "max-width: {}rem; background: #ffffff; color: #1b1f24; padding: 0.5rem 1rem"


def fragment(*parts: str, width: int = 44) -> str:
    """HTML without script or style sheet, on white, for Jupyter and marimo."""
    return f'<div style="{STYLE.format(width)}">{"".join(parts)}</div>'


def paragraphs(sentences: Iterable[str]) -> str:
    """Sentences as HTML."""
    return "".join(f"<p>{escape(s)}</p>" for s in sentences)


def chart_fragment(sentences: Iterable[str], chart: Chart) -> str:
    """Sentences, a chart, and its table to unfold."""
    title = f"<summary>{escape(chart.table.title)}</summary>"
    behind = f"<details>{title}{chart.table.to_html()}</details>"
    return fragment(paragraphs(sentences), for_page(chart.svg(), chart.summary), behind)


def _titled(chart: Chart) -> str:
    drawn = for_page(chart.svg(), chart.summary)
    return f"<p><b>{escape(chart.title)}</b></p>{drawn}<p>{escape(chart.summary)}</p>"


def findings_html(findings: Findings) -> str:
    """Findings in a notebook cell: the three sentences, the risk chart and its numbers."""
    from standout.report.charts import risk

    seen = view(findings)
    return chart_fragment(write_statements(seen), risk(seen))


def description_html(found: Description) -> str:
    """A description of data in a notebook cell: the overview in words, then the two charts."""
    from standout.report.breakdowns import information, sparsity
    from standout.report.why import overview_points

    plain = found.to_dict()
    o = plain["overview"]
    size = f"{o['n_records']:,} records × {o['n_items']:,} items, {o['n_entries']:,} entries"
    rows = "".join(
        f"<tr><td>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in overview_points(o)
    )
    charts = (information(plain), sparsity(plain))
    return fragment(
        f"<p><b>{size}</b></p><table>{rows}</table>", *(_titled(c) for c in charts if c)
    )


def explanation_html(explanation: Mapping[str, Any]) -> str:
    """One query explained in a notebook cell: what happened in words, the charts and the table of facts."""
    from standout.report.explanation import explanation_charts, fact_table, sentences

    charts = map(_titled, explanation_charts(explanation))
    return fragment(paragraphs(sentences(explanation)), *charts, fact_table(explanation).to_html())


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
                write_whole(target, json.dumps(chart.spec(), ensure_ascii=False, indent=1))
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
