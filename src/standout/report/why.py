"""Why people can be found in this data: what `describe` measured, and the theorem that explains the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.report.breakdowns import SPECIAL, information, sparsity
from standout.report.tables import (
    Section,
    generic,
    is_table,
    make_table,
    rate_cells,
)
from standout.report.view import Case, FindingsView
from standout.report.words import between, number, percent, several

Plain = Mapping[str, Any]

TEXT = (
    "People can be found because records are sparse: each holds few of all items, and few others hold most of these. "
    "A handful of items then fits one record only. A fact about a rare item carries more bits than one about a popular item."
)

TABLES = ("lengths", "supports", "outside_top", "length_fits", "support_fits")
"""Tables that are known."""


def data_section(content: Plain, title: str) -> Section:
    """Charts where there is one, text for the known parts, plain tables for the rest."""
    drawn = {"information": information(content), "sparsity": sparsity(content)}
    rest = {k: v for k, v in content.items() if drawn.get(k) is None and k != "theorem"}
    overview = rest.pop("overview", None)
    points = overview_points(overview) if isinstance(overview, Mapping) else []
    tables = [
        make_table(f"describe-{key}", rest.pop(key)) for key in TABLES if is_table(rest.get(key))
    ]
    others = generic("describe", title, rest)
    return Section(
        "describe",
        title,
        (TEXT, *others.text),
        [c for c in drawn.values() if c],
        [*tables, *others.tables],
        [*points, *others.points],
        others.parts,
    )


def overview_points(o: Plain) -> list[tuple[str, str]]:
    """Counts, quartiles, scale and span in words, as far as they are present."""

    def missing(part: Plain) -> str:
        return f"; {number(part['missing'])} entries have none" if part.get("missing") else ""

    def spread(five: Plain, nouns: str) -> str:
        low, high, middle = (
            number(round(five[key])) for key in ("first_quartile", "third_quartile", "median")
        )
        return (
            f"half of {nouns} {low} to {high}; median {middle}, smallest {number(five['least'])}, "
            f"largest {number(five['most'])}"
        )

    points: dict[str, str] = {}
    if "density" in o:
        points["Filled"] = f"{percent(o['density'])} of all combinations of a record and an item"
    if five := o.get("items_per_record"):
        points["Items per record"] = spread(five, "the records hold")
    if five := o.get("records_per_item"):
        points["Records per item"] = spread(five, "the items are held by")
    if "items_held_once" in o:
        points["Items held by one record only"] = number(o["items_held_once"])
    if repeated := o.get("repeated_entries"):
        points["Repeated entries"] = (
            f"{number(repeated)} beyond the first for the same record and item"
        )
    if "prior_bits" in o and "n_records" in o:
        points["Uncertainty if nothing is known"] = (
            f"{o['prior_bits']:.1f} bits: {several(o['n_records'], 'equally likely record')}"
        )
    if scale := o.get("scale"):
        points["Values"] = (
            f"{number(scale['levels'])} different ones from {number(scale['low'])} to "
            f"{number(scale['high'])}{missing(scale)}"
        )
    if span := o.get("span"):
        points["Days"] = f"{span['first']} to {span['last']}{missing(span)}"
    return list(points.items())


TITLE = "Which theorem explains this"

STATEMENT = (
    "The theorem is Theorem 2 of Narayanan and Shmatikov (2008), with the overlap of records as measured here: if no other "
    "record agrees with a person's record on more than a of its L items, then m of these items, drawn at random and known "
    "exactly, single out the record with probability at least 1 − (N − 1) · C(a, m) / C(L, m), where N is the number of records."
)
ASSUMPTIONS = (
    "Assumptions: the known items are drawn at random from the record and are correct, which holds for the rows of the table by "
    "construction; a was measured for each record. Knowledge that is rough or partly wrong is outside of the theorem, "
    "so nothing is predicted for it."
)


def theorem(seen: FindingsView) -> Section | None:
    """Prediction and measurement for every case to which the theorem applies; None if nothing was measured for it."""
    measured = seen.sections.get("describe")
    curves = (
        [c for c in (measured or {}).get("theorem") or () if c.get("found")]
        if isinstance(measured, Mapping)
        else []
    )
    if not curves:
        return None
    rows = [
        {
            "kind": case.line,
            "knows": case.knows,
            "at_least": point["at_least"],
            **rate_cells(case.hit),
            "attack": case.attack,
            "agreement": curve["agreement"][1],
        }
        for case in seen.charted
        if (curve := _curve(case, curves))
        for point in [p for p in curve["found"] if p["knows"] == case.knows][:1]
    ]
    if not rows:
        none = (
            "No theorem explains the result: no case of this audit meets the assumptions (items drawn at random and known "
            "exactly), so nothing is predicted."
        )
        return Section("theorem", TITLE, (none, STATEMENT))
    table = make_table("theorem", rows)
    return Section("theorem", TITLE, (*_conclusion(rows), STATEMENT, ASSUMPTIONS), tables=(table,))


def _curve(case: Case, curves: list[Plain]) -> Plain | None:
    """The measured overlap that fits a case: all facts correct, drawn uniformly, the same channels, known exactly."""
    a, channels = case.adversary, ("value_within", "time_within")
    special = any(a.get(name) is not None for name in SPECIAL)
    exact = all(a[channel] in (None, 0) for channel in channels)
    if a["wrong"] or a["choose"] != "uniform" or special or not exact:
        return None
    alike = (c for c in curves if all((c[x] is None) == (a[x] is None) for x in channels))
    return next(alike, None)


def _conclusion(rows: list[dict[str, Any]]) -> list[str]:
    enough = [r for r in rows if r["at_least"] > 0.5]
    best = max(rows, key=lambda r: r["at_least"])
    if enough:
        first = min(enough, key=lambda r: r["knows"])
        said = [
            f"The assumptions hold, and the theorem alone shows that {_words(first)} find at least "
            f"{percent(first['at_least'], -1)} of people who have as many; {percent(first['rate'])} were found "
            f"(95% interval {between(first)})."
        ]
    elif best["at_least"] > 0:
        said = [
            f"The assumptions hold, but the theorem predicts little: at least {percent(best['at_least'], -1)} with "
            f"{_words(best)}. The attacks find more, because the theorem treats every other record like the most similar one."
        ]
    else:
        said = [
            "The theorem does not explain the result: for the numbers of items tried it predicts 0% or more, because other "
            "records overlap too much with each record. What was measured is then the only evidence."
        ]
    wrong = [r for r in rows if r["high"] < r["at_least"]]
    if wrong:
        said.append(
            f"Warning: {_words(wrong[0])} found fewer people than the theorem proves. This points to an error in the audit; "
            "do not rely on its rates."
        )
    return said


def _words(row: dict[str, Any]) -> str:
    return f"{several(row['knows'], 'item')} ({row['kind']})"
