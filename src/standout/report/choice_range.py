"""What the best guess finds from the same knowledge by how its items were chosen."""

from __future__ import annotations

from typing import Any

from standout.adversary.choices import choice_words
from standout.report.knowledge_words import phrase
from standout.report.view import Case, FindingsView
from standout.report.words import percent

NOT_COMPARED = ("choose", "words", "label")
"""Fields of an adversary that say how the items were chosen."""

MORE = 0.01
"""Difference between the best guess and the people singled out from which both are said."""


def range_by_choice(seen: FindingsView) -> str:
    """What the best guess finds from the same knowledge by how its items were chosen; empty if that was not compared."""
    groups: dict[tuple[Any, ...], list[Case]] = {}
    for case in seen.cases:
        same = tuple(str(v) for k, v in sorted(case.adversary.items()) if k not in NOT_COMPARED)
        groups.setdefault(same, []).append(case)
    for cases in sorted(groups.values(), key=lambda group: -group[0].knows):
        ranked = sorted(cases, key=lambda c: c.hit.rate)
        low, high = ranked[0], ranked[-1]
        if low.hit.low < high.hit.low and high.hit.rate - low.hit.rate >= MORE:
            names = [_name(c) for c in (low, high)]
            low_rate, high_rate = percent(low.hit.rate), percent(high.hit.rate)
            known = phrase({**high.adversary, "choose": "uniform"})
            return (
                f" How the items are chosen matters: of {known}, the best guess finds from {low_rate} "
                f"({names[0]}) to {high_rate} ({names[1]})."
            )
    return ""


def _name(case: Case) -> str:
    """How the items of a case are chosen; random events in the words of the domain."""
    choose, event = case.entry.adversary.choose, case.adversary.get("event")
    if event and choose == "event":
        return f"random {event[1]}"
    return choice_words(choose) or "any items"
