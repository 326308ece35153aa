"""A linking run as tables in the terminal and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from standout.audit.findings import write_whole
from standout.linking.links import LinkFindings, sentences, time_shift_sentence
from standout.report.page import fill
from standout.report.tables import Column, ReportTable
from standout.report.words import between, percent

if TYPE_CHECKING:
    from rich.console import Console

RULES = {"spacing": "spacing test", "posterior": "posterior at least 1 - rate"}
BINS = (
    Column("items", "known items"),
    Column("people", "people", "count"),
    Column("expected", "expected right links", "number"),
    Column("accepted_5", "accepted at 5 % wrong", "count"),
    Column("accepted_1", "accepted at 1 % wrong", "count"),
    Column("refused", "test does not apply", "count"),
)
CUTS = (
    Column("rule", "rule"),
    Column("fdr", "asked false discovery rate", "share"),
    Column("accepted", "accepted links", "count"),
    Column("expected_false", "expected share wrong, by posterior", "share"),
    Column("false", "share wrong in truth", "share"),
    Column("", "95 % interval", "interval"),
)
CALIBRATION = (
    Column("range", "posterior"),
    Column("n", "links", "count"),
    Column("mean", "mean posterior", "share"),
    Column("rate", "right in truth", "share"),
    Column("", "95 % interval", "interval"),
)
K_IDENTIFIED = (
    Column("attack", "attack"),
    Column("k", "k", "count"),
    Column("rate", "right record among the first k", "share"),
    Column("", "95 % interval", "interval"),
    Column("n", "people", "count"),
)


DEFENSE = (
    Column("items_dropped", "rarest items dropped", "share"),
    Column("entries_dropped", "entries dropped", "share"),
    Column("k", "k", "count"),
    Column("rate", "right record among the first k", "share"),
    Column("", "95 % interval", "interval"),
)


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
    out = [
        _cuts(found),
        ReportTable(
            "links-by-items", "By number of known items", BINS, tuple(found.links["by_facts"])
        ),
    ]
    if found.truth:
        rows = [
            {**row, "range": f"{row['from']:.1f} to {row['to']:.1f}"}
            for row in found.truth["calibration"]
        ]
        out.append(
            ReportTable("links-calibration", "Posterior and truth", CALIBRATION, tuple(rows))
        )
        even = [
            {**row, "range": f"{row['from']:.2f} to {row['to']:.2f}"}
            for row in found.truth.get("calibration_by_count", ())
        ]
        if even:
            title = "Posterior and truth, in groups of equal numbers of people"
            out.append(ReportTable("links-calibration-by-count", title, CALIBRATION, tuple(even)))
        ranks = [
            {"attack": one["attack"], **rate}
            for one in found.truth["k_identified"]
            for rate in one["rates"]
        ]
        out.append(
            ReportTable(
                "links-k",
                "Right record among the first k, for people in the release",
                K_IDENTIFIED,
                tuple(ranks),
            )
        )
        split = [
            {
                "attack": f"{rate['attack']}, {row['items']} items",
                "k": 1,
                **{k: rate[k] for k in ("rate", "low", "high", "n")},
            }
            for row in found.truth["by_facts"]
            for rate in row["rates"]
        ]
        out.append(
            ReportTable(
                "links-k-by-items",
                "Right record first, by number of known items",
                K_IDENTIFIED,
                tuple(split),
            )
        )
        why = (
            Column("reason", "Set Intersection"),
            Column("rate", "share", "share"),
            Column("", "95 % interval", "interval"),
        )
        out.append(
            ReportTable(
                "links-reasons", "Why Set Intersection fails", why, tuple(found.truth["reasons"])
            )
        )
        drops = [{**row, **rate} for row in found.truth.get("defense", ()) for rate in row["rates"]]
        if drops:
            out.append(
                ReportTable(
                    "links-defense",
                    "Scoring after the owner drops the rarest items",
                    DEFENSE,
                    tuple(drops),
                )
            )
    return out


def _cuts(found: LinkFindings) -> ReportTable:
    """Accepted links at each false discovery rate, with the truth beside them."""
    told = (
        {(d["rule"], d["fdr"]): d["false"] for d in found.truth["discoveries"]}
        if found.truth
        else {}
    )
    rows = []
    for row in found.links["accepted"]:
        wrong: Mapping[str, Any] | None = told.get((row["rule"], row["fdr"]))
        rows.append(
            {
                **row,
                "rule": RULES[row["rule"]],
                "false": wrong["rate"] if wrong else None,
                "low": wrong["low"] if wrong else None,
                "high": wrong["high"] if wrong else None,
            }
        )
    columns = CUTS if found.truth else CUTS[:4]
    return ReportTable(
        "links-accepted", "Accepted links at each false discovery rate", columns, tuple(rows)
    )


def facts(found: LinkFindings) -> list[tuple[str, str]]:
    """What was linked, how noisy it is, and how the test was checked."""
    d, noise = found.data, found.noise
    out = [
        (
            "Release",
            f"{d['n_records']:,} records, {d['n_items']:,} items, {d['n_entries']:,} entries",
        ),
        (
            "Second file",
            f"{d['n_queries']:,} people, {d['n_facts']:,} facts, {d['median_facts']:,.0f} known items in the median",
        ),
        (
            "Items that the release lacks",
            f"{d['n_items_unknown']:,} items in {d['n_facts_unknown']:,} facts, left out",
        ),
        (
            "Share of wrong items",
            ", ".join(percent(x) for x in noise["e"])
            + (" (seen once, twice, three times, more often)" if len(noise["e"]) > 1 else ""),
        ),
    ]
    if noise["value"] or noise["time"]:
        out.append(("Right items whose value and day agree only by chance", percent(noise["h"])))
    if noise["time"]:
        out.append(("People whose days are unrelated to the release", percent(noise["unrelated"])))
    both = found.links.get("estimates")
    if both:
        gaps, model = (
            "{expected:,.0f} ({low:,.0f} to {high:,.0f})".format(**both[name])
            for name in ("gaps", "likelihood")
        )
        out.append(
            (
                "Right links by the gaps below the best records",
                f"{gaps}; too low where right records do not stand out",
            )
        )
        out.append(
            ("Right links by the likelihood", f"{model}; too high where people resemble each other")
        )
    if found.canaries:
        c = found.canaries
        out += [
            (
                "Present canaries found",
                f"{percent(c['found']['rate'])} ({between(c['found'])}) of {c['n_present']:,}; "
                "copied with the fitted noise, so this is only a rough figure",
            ),
            (
                "Absent canaries with p ≤ 5 %",
                f"{percent(c['absent_below_5']['rate'])} ({between(c['absent_below_5'])}) of "
                f"{c['n_absent']:,}; 5 % are expected if the test is right",
            ),
        ]
        h = c.get("history")
        if h:
            out.append(
                (
                    "Posterior calibrated on the release's own history",
                    f"what {h['n']:,} people did before {h['day']}, linked to "
                    f"what was done from then on: {percent(h['found']['rate'])} "
                    f"({between(h['found'])}) of the {h['n_present']:,} "
                    "who are in both parts are found",
                )
            )
    if found.links.get("overlap"):
        o = found.links["overlap"]
        out.append(
            (
                "People of the second file who are in the release",
                f"{percent(o['rate'])} ({between(o)}), estimated",
            )
        )
    if found.one_to_one:
        o = found.one_to_one
        out.append(
            (
                "One-to-one",
                f"{o['expected']:,.0f} right links expected, one by one {o['expected_one_by_one']:,.0f}",
            )
        )
    if found.truth and found.truth["one_to_one"]:
        t = found.truth["one_to_one"]
        out.append(
            (
                "One-to-one in truth",
                f"{percent(t['soft']['rate'])} right, one by one {percent(t['one_by_one']['rate'])}; "
                f"gain {100 * t['soft']['gain']:.1f} points ({100 * t['soft']['gain_low']:.1f} to "
                f"{100 * t['soft']['gain_high']:.1f})",
            )
        )
    return out
