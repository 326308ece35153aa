"""What an adversary knows, in words for tables and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from standout.data.times import time_words
from standout.data.values import channel_words, percent, value_words
from standout.views.view import view_of

if TYPE_CHECKING:
    from standout.adversary.adversary import Adversary


def describe(who: Adversary, resolution: str = "day") -> str:
    """The knowledge in words, for times of this resolution.

    >>> from standout.adversary.adversary import Adversary
    >>> describe(Adversary(knows=8, wrong=2, value_within=1, time_within=14))
    '8 items, 2 with wrong values, values ±1, days ±14'
    >>> describe(Adversary(knows=4, wrong=0.25, wrong_kind="item", value_within="10%"))
    '4 items, each fact a wrong item with probability 25 %, values ±10 %'
    >>> describe(Adversary(knows=4, wrong=1, value_within=None, time_within=14))
    '4 items, 1 with wrong days, days ±14'
    """
    words = [who.choice.amount(who.knows)]
    if who.wrong_varies:
        what = "wrong" if who.wrong_kind == "value" else "a wrong item"
        words.append(f"each fact {what} with probability {100 * who.wrong:g} %")
    elif who.wrong:
        words.append(f"{who.wrong} {_what_is_wrong(who, resolution)}")
    share = percent(who.value_within)
    if who.gamma is not None:
        words.append(f"values ±{who.gamma:g} of the scale")
    elif share is not None:
        words.append(f"values ±{100 * share:g} %")
    elif who.value_within is not None:
        words.append(value_words(who.value_within))
    for name, within in (who.within or {}).items():
        words.append(channel_words(name, within))
    if who.time_within is not None:
        words.append(time_words(who.time_within, resolution))
    by_amount = who.ranking is not None or who.choice.grouping is not None
    if not by_amount and (chosen := who.choice.words):
        words.append(chosen)
    if who.length_within is not None:
        words.append(f"length ±{100 * who.length_within:g} %")
    if view := view_of(who.view):
        words.append(view.words)
    return ", ".join(words)


def _what_is_wrong(who: Adversary, resolution: str) -> str:
    """What a whole number of wrong facts is: items, values, or times where no values are known."""
    if who.wrong_kind == "item":
        return "of them wrong items"
    if who.gamma is not None or who.value_within is not None or who.time_within is None:
        return "with wrong values"
    return f"with wrong {time_words(who.time_within, resolution).split()[0]}"
