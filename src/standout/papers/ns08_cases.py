"""The adversaries of NS08, section 5: which cases each figure compares, in the order of its bars.

"m of m'" is m' known items, m' - m of them wrong.
"""

from __future__ import annotations

from standout.adversary.adversary import Adversary
from standout.papers.recipe import Row

Case = tuple[Row, Adversary]
"""Columns that name the case, and its adversary."""

SIZES = ((2, 0), (4, 1), (8, 2))
"""Known items and how many of them are wrong: 2 of 2, 3 of 4, 6 of 8."""

UNIFORM = {
    "uniform": "all items",
    "outside-top:100": "outside the top 100",
    "outside-top:500": "outside the top 500",
}
DAYS = (3, 14)


def known(knows: int, wrong: int) -> str:
    """Name of a size: items known right, of items known."""
    return f"{knows - wrong} of {knows}"


def dated() -> list[Case]:
    """Figs. 4–6: exact values, days ±3 or ±14."""
    return [
        (
            {"known": known(k, w), "days": f"±{d} days"},
            Adversary(k, w, value_within=0, time_within=d),
        )
        for k, w in SIZES
        for d in DAYS
    ]


def undated() -> list[Case]:
    """Figs. 8 and 11: exact values, no days, items outside the top 100 or 500."""
    return [
        ({"known": known(k, w), "items": UNIFORM[c]}, Adversary(k, w, value_within=0, choose=c))
        for k, w in SIZES
        for c in ("outside-top:100", "outside-top:500")
    ]


def by_popularity() -> list[Case]:
    """Fig. 9: values ±1, days ±14, from all items and outside the top."""
    return [
        (
            {"known": known(k, w), "items": name},
            Adversary(k, w, value_within=1, time_within=14, choose=c),
        )
        for k, w in SIZES
        for c, name in UNIFORM.items()
    ]


def by_error() -> list[Case]:
    """Fig. 10: values ±1, days ±14; wrong facts are wrong values or, in the figure, wrong items."""
    kinds = {"value": "wrong values and days", "item": "wrong items"}
    return [
        ({"known": known(k, w), "wrong": name}, Adversary(k, w, kind, 1, 14))
        for k, w in (*SIZES, (8, 4))
        for kind, name in kinds.items()
    ]


def by_length() -> list[Case]:
    """Fig. 12: values ±1, days ±14, number of items of the target known to ±50 % or not."""
    return [
        (
            {"known": known(k, w), "length": name},
            Adversary(k, w, value_within=1, time_within=14, length_within=x),
        )
        for k, w in SIZES
        for x, name in ((None, "length unknown"), (0.5, "length known ±50 %"))
    ]
