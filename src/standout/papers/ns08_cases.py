"""The adversaries of NS08, section 5, in the order of the bars of each figure, and their attacks on sampled targets.

A case is an adversary with the columns that name its bar. `ns08.py` makes the rows of each figure of
them.

"m of m'" is m' known items, m' - m of them wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.sampling import sample_targets
from standout.arrays import Array
from standout.attacks.attack import attack
from standout.data.dataset import Dataset
from standout.errors import EligibilityError
from standout.experiment.outcomes import Outcomes, attack_people
from standout.papers.recipe import RecipeInputs, Row, Rows

Case = tuple[Row, Adversary]
"""Columns that name the case, and its adversary."""

SIZES = ((2, 0), (4, 1), (8, 2))
"""Known items and how many of them are wrong: 2 of 2, 3 of 4, 6 of 8."""

OUTSIDE = {"outside the top 100": "outside-top:100", "outside the top 500": "outside-top:500"}
DAYS = (3, 14)
ROUGH = {"value_within": 1, "time_within": 14}
BEST, STANDS_OUT = "best guess, no threshold", "only if eccentricity ≥ 1.5"
CRITERIA = (BEST, STANDS_OUT)


def size_name(knows: int, wrong: int) -> str:
    """Name of a size: items known right, of items known."""
    return f"{knows - wrong} of {knows}"


def _cases(
    column: str, variants: dict[str, dict[str, Any]], sizes: Sequence[tuple[int, int]] = SIZES
) -> list[Case]:
    """Every size with every variant; `variants`: parameters of the adversary by the name in the column."""
    return [
        ({"known": size_name(k, w), column: name}, Adversary(k, w, **parameters))
        for k, w in sizes
        for name, parameters in variants.items()
    ]


def dated() -> list[Case]:
    """Figs. 4–6: exact values, days ±3 or ±14."""
    return _cases("days", {f"±{d} days": {"value_within": 0, "time_within": d} for d in DAYS})


def undated() -> list[Case]:
    """Figs. 8 and 11: exact values, no days, items outside the top 100 or 500."""
    return _cases("items", {name: {"value_within": 0, "choose": c} for name, c in OUTSIDE.items()})


def by_popularity() -> list[Case]:
    """Fig. 9: values ±1, days ±14, from all items and outside the top."""
    choices = {"all items": "uniform", **OUTSIDE}
    return _cases("items", {name: {"choose": c, **ROUGH} for name, c in choices.items()})


def by_error() -> list[Case]:
    """Fig. 10: values ±1, days ±14; wrong facts are wrong values or, in the figure, wrong items."""
    kinds = {"wrong values and days": "value", "wrong items": "item"}
    variants = {name: {"wrong_kind": kind, **ROUGH} for name, kind in kinds.items()}
    return _cases("wrong", variants, (*SIZES, (8, 4)))


def by_length() -> list[Case]:
    """Fig. 12: values ±1, days ±14, number of items of the target known to ±50 % or not."""
    return _cases(
        "length",
        {"length unknown": ROUGH, "length known ±50 %": {"length_within": 0.5, **ROUGH}},
    )


def hit(outcomes: Outcomes, criterion: str) -> Array:
    """Credit of each answer without a threshold, or with it."""
    credit = outcomes.credit
    return credit if criterion == BEST else np.where(outcomes.matched, credit, 0.0)


def without_missing_channels(who: Adversary, dataset: Dataset) -> Adversary:
    """The adversary without the channels that the data lacks; without any channel a wrong fact is a wrong item."""
    value = who.value_within if dataset.has_value else None
    time = who.time_within if dataset.has_time else None
    kind = "item" if value is None and time is None else who.wrong_kind
    return replace(who, value_within=value, time_within=time, wrong_kind=kind)


def trial(setting: RecipeInputs, who: Adversary, *, absent: bool = False) -> Outcomes:
    """Attack targets of the data with Scoreboard-RH and φ = 1.5; with `absent`, once more with each target removed."""
    data = setting.dataset
    asked = without_missing_channels(who, data)

    def work() -> tuple[Array, ...]:
        target = sample_targets(data, asked.eligible(data), setting.targets, setting.seed)
        # sampling raises an error with the reason for an empty list of targets
        aux = asked.sample(data, target.astype(np.int64), setting.seed)
        board = attack("scoreboard-rh")
        return attack_people(
            board, data, aux, target, setting.engine, absent=absent, lineup=True
        ).arrays

    return Outcomes.from_arrays(setting.once(("trial", asked, absent), work))


def measured(cases: list[Case], rows: Callable[[Adversary], Iterable[Row]]) -> Rows:
    """Rows of each case; if no record can be a target, one row with a note instead of a number."""
    out: Rows = []
    for columns, who in cases:
        try:
            out += [{**columns, **row} for row in rows(who)]
        except EligibilityError as error:
            out.append({**columns, "n": 0, "rate": None, "bits": None, "note": str(error)})
    return out
