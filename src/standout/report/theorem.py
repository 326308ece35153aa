"""Which theorem explains the result: its prediction for this data, compared with the measurement."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.report.amounts import Spot, spots
from standout.report.section import Section
from standout.report.tables import Column, ReportTable
from standout.report.view import View
from standout.report.words import between, percent

Plain = Mapping[str, Any]

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


def theorem(seen: View) -> Section | None:
    """Prediction and measurement for every case to which the theorem applies; None if nothing was measured for it."""
    measured = seen.sections.get("describe")
    curves = (
        [c for c in (measured or {}).get("theorem") or () if c.get("found")]
        if isinstance(measured, Mapping)
        else []
    )
    if not curves:
        return None
    rows = []
    for spot in spots(seen):
        curve = _curve(spot, curves)
        point = curve and next((p for p in curve["found"] if p["knows"] == spot.case.knows), None)
        if curve and point:
            hit = spot.case.hit
            rows.append(
                {
                    "kind": spot.kind,
                    "knows": spot.case.knows,
                    "at_least": point["at_least"],
                    "rate": hit["rate"],
                    "low": hit["low"],
                    "high": hit["high"],
                    "attack": spot.case.attack,
                    "agreement": curve["agreement"][1],
                }
            )
    if not rows:
        none = (
            "No theorem explains the result: no case of this audit meets the assumptions (items drawn at random and known "
            "exactly), so nothing is predicted."
        )
        return Section("theorem", TITLE, (none, STATEMENT))
    table = ReportTable(
        "theorem",
        "Predicted by the theorem and measured",
        (
            Column("kind", "known of the person", "text", "kind of knowledge"),
            Column("knows", "items known", "count"),
            Column("at_least", "found by the theorem, at least", "share", "theorem"),
            Column("rate", "found in this audit", "share", "hit rate"),
            Column("", "95% interval", "interval", "interval"),
            Column("attack", "attack", "text", "attack"),
            Column(
                "agreement",
                "median share of a record's items on which another record agrees",
                "share",
            ),
        ),
        tuple(rows),
    )
    return Section("theorem", TITLE, (*_conclusion(rows), STATEMENT, ASSUMPTIONS), tables=(table,))


def _curve(spot: Spot, curves: list[Plain]) -> Plain | None:
    """The measured overlap that fits a case: all facts correct, drawn uniformly, the same channels, known exactly."""
    a = spot.case.adversary
    within = [a["value_within"], a["time_within"]]
    special = any(a.get(name) is not None for name in ("gamma", "length_within", "view", "within"))
    if a["wrong"] or a["choose"] != "uniform" or special or any(x not in (None, 0) for x in within):
        return None
    known = [x is not None for x in within]
    return next(
        (
            c
            for c in curves
            if [c["value_within"] is not None, c["time_within"] is not None] == known
        ),
        None,
    )


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
    return f"{row['knows']} item{'' if row['knows'] == 1 else 's'} ({row['kind']})"
