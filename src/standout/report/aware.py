"""What it is worth to an attacker to know the defense: naive, best unaware and adaptive, side by side."""

from __future__ import annotations

from typing import Any

from standout.experiment.attackers import FITTED
from standout.report.section import Section
from standout.report.tables import Column, ReportTable
from standout.report.view import View
from standout.report.words import between, percent

HEAD = ["known of the person", "naive", "best unaware", "adaptive"]
TEXT = (
    "The release was made by a defense. The naive attacker treats it as unchanged data. The best unaware attacker is the "
    "strongest of the naive one, of one who leaves out the values or times that the defense changed (and finds items with "
    "secret names by their popularity), and of one who estimates the errors from the data. "
    "The adaptive attacker knows the published parameters of the defense."
)

VIEWED = (
    "Where the published parameters of the defense cannot be stated after the view, nobody can use them: the numbers in the "
    "column of the adaptive attacker are those of the attacker who estimates the errors from the data."
)


def rows(seen: View) -> list[dict[str, Any]]:
    """One row per kind of knowledge; empty if no defense made the release."""
    out = []
    for case in seen.cases:
        found = case.entry.get("awareness")
        if found:
            row: dict[str, Any] = {"words": case.words, "by": found["unaware"]["attack"]}
            row["fitted"] = found["adaptive"]["attack"].endswith(f"({FITTED})")
            for kind in ("naive", "unaware", "adaptive"):
                hit = found[kind]["hit"]
                row |= {kind: hit["rate"], f"{kind}_low": hit["low"], f"{kind}_high": hit["high"]}
            out.append(row)
    return out


def cells(seen: View) -> list[list[str]]:
    """The rows as text: each rate with its 95 % interval."""
    return [
        [
            row["words"],
            *(
                f"{percent(row[k])} ({between({'low': row[f'{k}_low'], 'high': row[f'{k}_high']})})"
                for k in ("naive", "unaware", "adaptive")
            ),
        ]
        for row in rows(seen)
    ]


def section(seen: View) -> Section | None:
    """Section of the report; None if no defense made the release."""
    found = rows(seen)
    if not found:
        return None
    table = ReportTable(
        "awareness",
        "Hit rates of attackers who know the defense and who do not",
        (
            Column("words", "known of the person", "text", "kind of knowledge"),
            Column("naive", "naive", "share", "hit rate"),
            Column("naive_", "95% interval", "interval", "interval"),
            Column("unaware", "best unaware", "share", "hit rate"),
            Column("unaware_", "95% interval", "interval", "interval"),
            Column("by", "best unaware attack", "text", "attack"),
            Column("adaptive", "adaptive", "share", "hit rate"),
            Column("adaptive_", "95% interval", "interval", "interval"),
        ),
        tuple(found),
    )
    text = (TEXT, VIEWED) if any(row["fitted"] for row in found) else (TEXT,)
    return Section("awareness", "If the attacker knows the defense", text, (), (table,))
