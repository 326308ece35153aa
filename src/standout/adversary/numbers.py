"""Checks of numbers and tolerances that are given as arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.data.values import is_tolerance_text
from standout.errors import ParameterError


def is_number(x: Any) -> bool:
    """Whether x is a number; True is none."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(
        x, (bool, np.bool_)
    )


def is_whole(x: Any) -> bool:
    """Whether x is a whole number; 3.0 is one, "3" and True are not."""
    return is_number(x) and bool(np.isfinite(x)) and x == int(x)


def tolerance_of(name: str, within: Any) -> float | str:
    """Tolerance of a channel as a plain number, a share or a unit of rounding."""
    if not is_tolerance_text(within) and (
        isinstance(within, str) or not is_number(within) or not 0 <= within < np.inf
    ):
        raise ParameterError(
            f'within={{{name!r}: {within!r}}}: use a number ≥ 0, a share like "10%", or "round:1" for whole units'
        )
    return within.item() if isinstance(within, np.generic) else within  # type: ignore[no-any-return]
