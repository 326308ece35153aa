"""Formatting of numbers, and a one-line definition of each term."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

TERMS: dict[str, str] = {
    "singling out": "Telling one person's record apart from all others: the person is unique, or the attacker is sure.",
    "unique": "The person's record is the only one that could have produced what is known, within the stated errors.",
    "found": "The best guess of the strongest attack is right. It depends on how the known items were chosen.",
    "sure": "The attacker names the right record, and the calibrated probability that it is right is at least 95%.",
    "linkability": "Connecting a record to the same person in another source, such as public reviews.",
    "inference": "Learning something about a person that was not known before, from the record that was found.",
    "target": "A person whose record is attacked in the test, drawn among those with enough items.",
    "record": "All entries of one person in the data.",
    "item": "What entries are about: a movie, a product, a place.",
    "attack": "A rule that ranks all records by how well they fit what is known, and decides whether to name one.",
    "strongest attack": "The attack with most hits on one half of the targets; its rate is measured on the other half.",
    "hit rate": "Share of targets whose own record came first; of n records that tie for it, each counts 1/n.",
    "of all people": "The same hits as a share of all records; records with too few items count as not found.",
    "interval": "95% Wilson interval: the range of true rates that fit the number of people tested.",
    "at most": "One-sided 95% Clopper–Pearson bound: the rate is no higher, with 95% confidence.",
    "false match": "The target was removed from the data, and the attack still named a record.",
    "precision": "Share of the names an attacker gives that are right, when a stated share of those looked up is in the data.",
    "random guess": "Hit rate of picking any record: one divided by the number of records.",
    "popularity guess": "Hit rate of always naming the record with most items, whatever is known.",
    "threshold": "How far ahead the best record must be before the attack names it.",
    "bits left": "How uncertain the attacker still is about the record: 0 means certain, each bit doubles the candidates.",
    "eccentricity": "Lead of the best score over the second best, in standard deviations of all scores.",
    "k-identified": "The target is among the k records that fit best; ties count against the attacker.",
    "kind of knowledge": "How exactly values and days are known, and how the known items were chosen.",
    "calibration half": "Half of the targets, on which thresholds and the strongest attack are chosen.",
    "equal error": "The threshold at which missed and false matches are equally frequent.",
    "McNemar test": "Whether two attacks on the same targets differ by more than chance; ties count in part.",
    "record length": "Number of different items in a record.",
    "support": "Number of records that hold an item: the fewer, the more information it carries.",
}
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


def several(n: int, noun: str) -> str:
    """Write a count with its noun.

    >>> several(1, "attack"), several(1200, "record")
    ('1 attack', '1,200 records')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


BARS = "▁▂▃▄▅▆▇█"


def sparkline(shares: Sequence[float | None]) -> str:
    """Draw shares from 0 to 1 as bars; a gap for None.

    >>> sparkline([0.0, 0.5, 1.0, None])
    '▁▅█ '
    """
    return "".join(
        " " if p is None else BARS[min(int(p * len(BARS)), len(BARS) - 1)] for p in shares
    )
