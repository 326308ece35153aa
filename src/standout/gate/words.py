"""Numbers in the sentences of a verdict."""

from __future__ import annotations

import math


def percent(x: float, toward: int = 0) -> str:
    """Write a share with three digits; `toward` +1 rounds up, -1 down, so that a bound is never shown too narrow.

    >>> percent(0.09), percent(0.0899996, 1), percent(0.12345, -1), percent(1.0), percent(0.0)
    ('9%', '9%', '12.3%', '100%', '0%')
    """
    if x <= 0:
        return "0%"
    step = 10.0 ** (math.floor(math.log10(100 * x)) - 2)
    units = 100 * x / step
    whole = (
        round(units)
        if toward == 0
        else math.ceil(units - 1e-9)
        if toward > 0
        else math.floor(units + 1e-9)
    )
    return f"{whole * step:.12g}%"
