"""Checks of the parameters of defenses, and of the data that a defense needs."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from standout.data.dataset import Dataset
from standout.errors import ParameterError


def number(
    defense: str,
    value: Any,
    name: str,
    least: float,
    most: float = np.inf,
    *,
    integral: bool = False,
    finite: bool = True,
) -> float:
    """Return a number within bounds."""
    is_number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    x = float(value) if is_number else np.nan
    fits = least <= x <= most and (np.isfinite(x) or not finite)
    if not fits or (integral and not x.is_integer()):
        bounds = f"of at least {least:g}" if most == np.inf else f"from {least:g} to {most:g}"
        kind = "whole number" if integral else "number"
        raise ParameterError(f"{defense}: {name}={value!r}: use a {kind} {bounds}")
    return x


def share(defense: str, value: Any, name: str = "share") -> float:
    """Return a number from 0 to 1."""
    return number(defense, value, name, 0, 1)


def whole(defense: str, value: Any, name: str, least: int, most: float = np.inf) -> int:
    """Return a whole number within bounds."""
    number(defense, value, name, least, most, integral=True)
    return int(value)


def one_of(defense: str, value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return one of a few words."""
    if value not in choices:
        raise ParameterError(
            f"{defense}: {name}={value!r}: use {', '.join(choices[:-1])} or {choices[-1]}"
        )
    return str(value)


def check_channel(defense: str, channel: str, dataset: Dataset) -> None:
    """Refuse data without the channel that a defense changes."""
    held = {"value": dataset.n_levels > 0, "time": dataset.has_time or not dataset.n_entries}
    if not held[channel]:
        raise ParameterError(
            f"{defense} changes {channel}s, and the data has none: leave it out, or name a {channel} column"
        )
