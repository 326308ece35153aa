"""A linking run as tables in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.linking.links import LinkFindings, sentences, time_shift_sentence
from standout.report.page import fill
from standout.report.tables import ReportTable, make_table
from standout.report.words import percent, rate_words

if TYPE_CHECKING:
    from rich.console import Console

RULES = {"spacing": "spacing test", "posterior": "posterior at least 1 - rate"}
MEASURED_IF_ASKED = ("links-calibration-by-count", "links-defense")


def render_links(found: LinkFindings, path: str | Path = "links.html") -> Path:
    """Write the page, completely or not at all."""
    return write_whole(path, page(found))


def page(found: LinkFindings) -> str:
    """HTML text of the page."""
    return fill(
        "linking.html.j2",
        it=found,
        sentences=lines(found),
        tables=tables(found),
        facts=facts(found),
    )


def lines(found: LinkFindings) -> list[str]:
    """The answer in sentences; the one for a data-protection officer first, if the audit was shifted in time."""
    return (
        [time_shift_sentence(found), *sentences(found)]
        if found.data.get("split")
        else sentences(found)
    )


def show(found: LinkFindings, console: Console) -> None:
    """Print the sentences and the tables."""
    from rich.table import Table as RichTable

    for line in lines(found):
        console.print(line, markup=False)
    for line in found.warnings:
        console.print(f"note: {line}", markup=False)
    for table in tables(found):
        grid = RichTable(title=f"\n{table.title}", title_justify="left", box=None, pad_edge=False)
        for c in table.columns:
            grid.add_column(c.title, justify="right" if c.numeric else "left", overflow="fold")
        for row in table.cells():
            grid.add_row(*row)
        console.print(grid)
    for name, text in facts(found):
        console.print(f"{name}: {text}", markup=False)


def tables(found: LinkFindings) -> list[ReportTable]:
    """All tables of the run; those about the truth only if it was given."""
    without = () if found.truth else ("false", "")
    out = [
        make_table("links-accepted", _cuts(found), without=without),
        make_table("links-by-items", found.links["by_facts"]),
    ]
    return [*out, *_truth_tables(found.truth)] if found.truth else out


def _cuts(found: LinkFindings) -> list[dict[str, Any]]:
    """Accepted links at each false discovery rate, with the truth beside them."""
    discoveries = found.truth["discoveries"] if found.truth else ()
    wrong = {(d["rule"], d["fdr"]): d["false"] for d in discoveries}
    rows = []
    for row in found.links["accepted"]:
        rate = wrong.get((row["rule"], row["fdr"])) or dict.fromkeys(("rate", "low", "high"))
        truth = {"false": rate["rate"], "low": rate["low"], "high": rate["high"]}
        rows.append({**row, "rule": RULES[row["rule"]], **truth})
    return rows


def _truth_tables(truth: Mapping[str, Any]) -> list[ReportTable]:
    def ranges(rows: Iterable[Mapping[str, Any]], digits: int) -> list[dict[str, Any]]:
        return [
            {**row, "range": f"{row['from']:.{digits}f} to {row['to']:.{digits}f}"} for row in rows
        ]

    ranks = [
        {"attack": one["attack"], **rate} for one in truth["k_identified"] for rate in one["rates"]
    ]
    by_items = [
        {**rate, "attack": f"{rate['attack']}, {row['items']} items", "k": 1}
        for row in truth["by_facts"]
        for rate in row["rates"]
    ]
    rows = {
        "links-calibration": ranges(truth["calibration"], 1),
        "links-calibration-by-count": ranges(truth.get("calibration_by_count", ()), 2),
        "links-k": ranks,
        "links-k-by-items": by_items,
        "links-reasons": truth["reasons"],
        "links-defense": [
            {**row, **rate} for row in truth.get("defense", ()) for rate in row["rates"]
        ],
    }
    return [make_table(name, x) for name, x in rows.items() if x or name not in MEASURED_IF_ASKED]


def facts(found: LinkFindings) -> list[tuple[str, str]]:
    """What was linked, how noisy it is, and how the test was checked."""
    d, noise = found.data, found.noise
    seen = " (seen once, twice, three times, more often)" if len(noise["e"]) > 1 else ""
    out = {
        "Release": f"{d['n_records']:,} records, {d['n_items']:,} items, {d['n_entries']:,} entries",
        "Second file": f"{d['n_queries']:,} people, {d['n_facts']:,} facts, {d['median_facts']:,.0f} known items in the median",
        "Items that the release lacks": (
            f"{d['n_items_unknown']:,} items in {d['n_facts_unknown']:,} facts, left out"
        ),
        "Share of wrong items": f"{', '.join(map(percent, noise['e']))}{seen}",
    }
    if noise["value"] or noise["time"]:
        out["Right items whose value and day agree only by chance"] = percent(noise["h"])
    if noise["time"]:
        out["People whose days are unrelated to the release"] = percent(noise["unrelated"])
    if both := found.links.get("estimates"):
        gaps, model = (
            "{expected:,.0f} ({low:,.0f} to {high:,.0f})".format(**both[name])
            for name in ("gaps", "likelihood")
        )
        out["Right links by the gaps below the best records"] = (
            f"{gaps}; too low where right records do not stand out"
        )
        out["Right links by the likelihood"] = f"{model}; too high where people resemble each other"
    if found.canaries:
        out |= _canary_facts(found.canaries)
    if overlap := found.links.get("overlap"):
        out["People of the second file who are in the release"] = (
            f"{rate_words(overlap)}, estimated"
        )
    if o := found.one_to_one:
        out["One-to-one"] = (
            f"{o['expected']:,.0f} right links expected, one by one {o['expected_one_by_one']:,.0f}"
        )
    if found.truth and (t := found.truth["one_to_one"]):
        out["One-to-one in truth"] = (
            f"{percent(t['soft']['rate'])} right, one by one {percent(t['one_by_one']['rate'])}; "
            f"gain {100 * t['soft']['gain']:.1f} points ({100 * t['soft']['gain_low']:.1f} to "
            f"{100 * t['soft']['gain_high']:.1f})"
        )
    return list(out.items())


def _canary_facts(c: Mapping[str, Any]) -> dict[str, str]:
    out = {
        "Present canaries found": (
            f"{rate_words(c['found'])} of {c['n_present']:,}; "
            "copied with the fitted noise, so this is only a rough figure"
        ),
        "Absent canaries with p ≤ 5 %": (
            f"{rate_words(c['absent_below_5'])} of {c['n_absent']:,}; 5 % are expected if the test is right"
        ),
    }
    if h := c.get("history"):
        out["Posterior calibrated on the release's own history"] = (
            f"what {h['n']:,} people did before {h['day']}, linked to what was done from then on: "
            f"{rate_words(h['found'])} of the {h['n_present']:,} who are in both parts are found"
        )
    return out
