"""Formatting of numbers, and a one-line definition of each term: for all of the report and the tables of the terminal."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TERMS: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("terms.toml").read_text(encoding="utf-8")
)
"""One line for every term that the report uses."""


def percent(p: float, toward: int = 0) -> str:
    """Write a share, with more digits near 0; `toward` +1 rounds up, -1 down.

    >>> percent(0.734), percent(0.0123), percent(0.9975), percent(0.0), percent(0.00002)
    ('73%', '1.2%', '99.8%', '0%', '0.002%')
    >>> percent(0.00597, toward=1)
    '0.6%'
    """
    edge = min(p, 1 - p)
    if edge <= 0:
        return f"{100 * p:.0f}%"
    digits = (
        0
        if edge >= 0.1
        else 1
        if edge >= 0.001 or p > 0.5
        else min(-math.floor(math.log10(edge)) - 2, 8)
    )
    step = 10.0**digits
    # the small term keeps a number that is already whole at this precision
    scaled = 100 * p * step
    whole = (
        round(scaled)
        if toward == 0
        else math.ceil(scaled - 1e-9)
        if toward > 0
        else math.floor(scaled + 1e-9)
    )
    rounded = whole / step
    if toward == 0 and rounded >= 100:
        rounded = 100 - 1 / step
    text = f"{rounded:.{digits}f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) + "%"


def between(rate: Mapping[str, Any]) -> str:
    """Write an interval.

    >>> between({"low": 0.981, "high": 1.0})
    '98.1% to 100%'
    """
    return f"{percent(rate['low'], -1)} to {percent(rate['high'], 1)}"


def rate_words(rate: Mapping[str, Any]) -> str:
    """Write a rate with its interval.

    >>> rate_words({"rate": 0.99, "low": 0.981, "high": 1.0})
    '99% (98.1% to 100%)'
    """
    return f"{percent(rate['rate'])} ({between(rate)})"


def number(x: Any) -> str:
    """Write a number, a flag or nothing.

    >>> number(1234567), number(0.123456), number(None), number(2.0), number(True)
    ('1,234,567', '0.1235', '–', '2', 'yes')
    """
    if x is None:
        return "–"
    if isinstance(x, bool):
        return "yes" if x else "no"
    if isinstance(x, int):
        return f"{x:,}"
    if isinstance(x, float):
        if x.is_integer() and abs(x) < 1e15:
            return f"{int(x):,}"
        return f"{x:,.4g}" if abs(x) < 1e4 else f"{x:,.0f}"
    return str(x)


def several(n: int, noun: str, plural: str = "") -> str:
    """Write a count with its noun.

    >>> several(1, "attack"), several(1200, "record")
    ('1 attack', '1,200 records')
    """
    return f"{n:,} {noun if n == 1 else plural or f'{noun}s'}"


BARS = "▁▂▃▄▅▆▇█"


def sparkline(shares: Sequence[float | None]) -> str:
    """Draw shares from 0 to 1 as bars; a gap for None.

    >>> sparkline([0.0, 0.5, 1.0, None])
    '▁▅█ '
    """
    return "".join(
        " " if p is None else BARS[min(int(p * len(BARS)), len(BARS) - 1)] for p in shares
    )
