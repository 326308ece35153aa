"""How charts name knowledge: its kind (a line or a group of panels) and its amount (a position on the axis)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from standout.report.knowledge_words import kind_words, wrong_words
from standout.report.tables import Column
from standout.report.view import Case, View

KNOWN = Column("kind", "known of the person", "text", "kind of knowledge")
AMOUNT = (
    Column("knows", "items known", "count", "item"),
    Column("wrong", "of them wrong", "count"),
)
"""Columns of a chart's table that name the knowledge."""


@dataclass(frozen=True)
class Spot:
    """One case and where the charts put it."""

    case: Case
    kind: str
    """Knowledge without its amount."""
    amount: str
    """Known items and how many of them are wrong: "4, 1 wrong"."""
    title: str
    """The same as a heading: "4 items, 1 wrong"."""
    order: tuple[float, ...]
    """Sort key of the amount."""
    group: str
    """Group of points that a line connects: all facts correct, or some of them wrong."""

    @property
    def columns(self) -> dict[str, Any]:
        """What a row of a chart's table says about its case."""
        return {
            "kind": self.kind,
            "amount": self.amount,
            "panel": self.title,
            "knows": self.case.knows,
            "wrong": self.case.adversary["wrong"],
        }


def spots(seen: View) -> list[Spot]:
    """All cases, the most exact kind first and each kind by ascending amount."""
    order = {kind: k for k, kind in enumerate(seen.kinds)}
    cases = sorted(seen.cases, key=lambda c: order[c.kind])
    kinds = [kind_words(c.adversary) for c in cases]
    extras = [wrong_words(c.adversary) for c in cases]
    if _repeated(cases, kinds, extras):
        extras = [wrong_words(c.adversary, kind=True) for c in cases]
    if _repeated(cases, kinds, extras):
        kinds = [c.kind for c in cases]
    # if a number of items occurs with and without errors, the cases with errors get a separate part
    # of the axis
    apart = bool(_repeated(cases, kinds, [""] * len(cases)))
    made = []
    for case, kind, extra in zip(cases, kinds, extras, strict=True):
        wrong = float(case.adversary["wrong"])
        place = (float(wrong > 0), case.knows, wrong) if apart else (case.knows, wrong)
        items = f"{case.knows} item{'s' if case.knows > 1 else ''}"
        made.append(
            Spot(
                case,
                kind,
                f"{case.knows}{extra}",
                f"{items}{extra}",
                place,
                "some wrong" if wrong and apart else "",
            )
        )
    rank = {kind: k for k, kind in enumerate(dict.fromkeys(kinds))}
    return sorted(made, key=lambda s: (rank[s.kind], s.order))


def _repeated(cases: list[Case], kinds: list[str], extras: list[str]) -> bool:
    seen = Counter((k, c.knows, x) for c, k, x in zip(cases, kinds, extras, strict=True))
    return max(seen.values()) > 1


def kinds_of(all_spots: list[Spot]) -> list[str]:
    """Kinds, the most exact first."""
    return list(dict.fromkeys(s.kind for s in all_spots))


def amounts_of(chosen: list[Spot]) -> list[Spot]:
    """One spot per amount, in the order of the axis."""
    return sorted({s.amount: s for s in chosen}.values(), key=lambda s: s.order)


def spots_like(all_spots: list[Spot], about: Case) -> list[Spot]:
    """Cases of the same kind as `about`, by amount; if some have errors and some do not, only those like `about`."""
    own = next(s for s in all_spots if s.case is about or s.case.adversary == about.adversary)
    return sorted(
        (s for s in all_spots if s.kind == own.kind and s.group == own.group), key=lambda s: s.order
    )
