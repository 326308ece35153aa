"""Checks of the parameters of defenses, and of the data that a defense needs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from standout.data.dataset import Dataset
from standout.errors import ParameterError


def share(defense: str, value: Any, name: str = "share") -> float:
    """Return a number from 0 to 1."""
    number = _number(defense, value, name, "a number from 0 to 1")
    if not 0 <= number <= 1:
        raise ParameterError(f"{defense}: {name}={value!r}: use a number from 0 to 1")
    return number


def at_least(defense: str, value: Any, name: str, least: float, *, finite: bool = True) -> float:
    """Return a number that is not too small."""
    number = _number(defense, value, name, f"a number of at least {least:g}")
    if not number >= least or (finite and not np.isfinite(number)):
        raise ParameterError(f"{defense}: {name}={value!r}: use a number of at least {least:g}")
    return number


def whole(defense: str, value: Any, name: str, least: int, most: int | None = None) -> int:
    """Return a whole number within bounds."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    number = _number(defense, value, name, f"a whole number {bounds}")
    if not number.is_integer() or number < least or (most is not None and number > most):
        raise ParameterError(f"{defense}: {name}={value!r}: use a whole number {bounds}")
    return int(value) if isinstance(value, Integral) else int(number)


def one_of(defense: str, value: Any, name: str, choices: tuple[str, ...]) -> str:
    """Return one of a few words."""
    if value not in choices:
        raise ParameterError(
            f"{defense}: {name}={value!r}: use {', '.join(choices[:-1])} or {choices[-1]}"
        )
    return str(value)


def needs_values(defense: str, dataset: Dataset) -> None:
    """Refuse data without values."""
    if dataset.n_levels == 0:
        raise ParameterError(
            f"{defense} changes values, and the data has none: leave it out, or name a value column"
        )


def needs_times(defense: str, dataset: Dataset) -> None:
    """Refuse data without times."""
    if not dataset.has_time and dataset.n_entries:
        raise ParameterError(
            f"{defense} changes times, and the data has none: leave it out, or name a time column"
        )


def _number(defense: str, value: Any, name: str, wanted: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real) or np.isnan(float(value)):
        raise ParameterError(f"{defense}: {name}={value!r}: use {wanted}")
    return float(value)
