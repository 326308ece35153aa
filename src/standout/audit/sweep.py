"""The sweep of an audit that was given no adversary: how many items, how exact, how many wrong."""

from __future__ import annotations

from standout.adversary.adversary import Adversary
from standout.data.dataset import Dataset

ITEMS = ((2, 0), (4, 1), (8, 2))
"""Items known and how many of them are wrong: 2 of 2, 3 of 4, 6 of 8."""


def default_sweep(dataset: Dataset) -> list[Adversary]:
    """Adversaries that an owner should fear, for the channels that the data has."""
    values: tuple[float | None, ...] = (0, 1) if dataset.has_value else (None,)
    times: tuple[float | None, ...] = (3, 14, None) if dataset.has_time else (None,)
    out = []
    for knows, wrong in ITEMS:
        for value in values:
            for time in times:
                # without any channel a wrong fact can only be a wrong item
                kind = "item" if value is None and time is None else "value"
                out.append(Adversary(knows=knows, wrong=wrong, wrong_kind=kind, value_within=value, time_within=time))
    return out
