"""An adversary's knowledge in words: its amount, its kind, and both as part of a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from standout.adversary.choices import choice_amount, choice_sentence, choice_words
from standout.data.times import time_words, within_text
from standout.data.values import channel_words as further_words
from standout.data.values import rounding_unit, value_words

Plain = Mapping[str, Any]


def wrong_words(adversary: Plain, *, kind: bool = False) -> str:
    """How much of the knowledge is wrong, as a suffix to the number of items; empty if nothing is wrong.

    A whole number counts wrong facts, a fraction is the probability that a fact is wrong.
    """
    wrong = adversary["wrong"]
    if not wrong:
        return ""
    count = f"{100 * wrong:g}%" if 0 < wrong < 1 else f"{wrong:g}"
    what = f" {wrong_noun(adversary)}{'' if wrong == 1 else 's'}" if kind else ""
    return f", {count} wrong{what}"


def wrong_noun(adversary: Plain) -> str:
    """What a wrong fact is wrong in: item, value, or day or time where no values are known.

    >>> wrong_noun({"wrong_kind": "value", "value_within": None, "gamma": None, "time_within": 14})
    'day'
    """
    if (
        adversary["wrong_kind"] == "item"
        or adversary["value_within"] is not None
        or adversary.get("gamma") is not None
    ):
        return str(adversary["wrong_kind"])
    return _time_noun(adversary)


def _time_noun(adversary: Plain) -> str:
    days = adversary.get("resolution", "day") == "day"
    return "day" if days and not isinstance(adversary["time_within"], str) else "time"


def amount_words(adversary: Plain) -> str:
    """Number of known items, and how many are wrong.

    >>> amount_words({"knows": 4, "wrong": 1}), amount_words({"knows": 2, "wrong": 0})
    ('4, 1 wrong', '2')
    """
    return f"{adversary['knows']}{wrong_words(adversary)}"


def within_words(within: float | str) -> str:
    """A tolerance behind the noun: a number, a share of the value, or rounding.

    >>> within_words(0.5), within_words("10%"), within_words("round:5")
    ('to within 0.5', 'to within 10%', 'rounded to 5')
    """
    if (unit := rounding_unit(within)) is not None:
        return f"rounded to {unit:g}"
    return "to within " + (within.replace(" ", "") if isinstance(within, str) else f"{within:g}")


def channel_words(adversary: Plain) -> dict[str, str]:
    """How exactly each known channel is known, by channel.

    >>> channel_words({"value_within": 1, "time_within": None})
    {'value': 'values ±1'}
    """
    words = {}
    if adversary.get("gamma") is not None:
        words["value"] = f"values ±{adversary['gamma']:g} of the scale"
    elif adversary["value_within"] is not None:
        words["value"] = value_words(adversary["value_within"])
    for name, within in adversary.get("within", {}).items():
        words[name] = further_words(name, within)
    if adversary["time_within"] is not None:
        words["time"] = time_words(adversary["time_within"], adversary.get("resolution", "day"))
    return words


def kind_words(adversary: Plain) -> str:
    """Knowledge without its amount.

    >>> kind_words({"value_within": 1, "time_within": None, "gamma": None, "choose": "uniform", "length_within": None})
    'values ±1'
    """
    words = list(channel_words(adversary).values())
    if chosen := choice_words(str(adversary["choose"])):
        words.append(chosen)
    if adversary.get("length_within") is not None:
        words.append(f"length ±{100 * adversary['length_within']:g}%")
    if adversary.get("view"):
        words.append(f"view {adversary['view']}")
    return ", ".join(words) or "items only"


def phrase(adversary: Plain) -> str:
    """Knowledge as part of a sentence.

    >>> a = {"knows": 8, "wrong": 2, "wrong_kind": "value", "value_within": 1, "time_within": 14, "choose": "uniform"}
    >>> phrase(a)
    '8 items, their values to within 1 and days to within 14, 2 of them wrong'
    """
    n, wrong = int(adversary["knows"]), float(adversary["wrong"])
    random = adversary.get("event") if adversary["choose"] == "event" else None
    text = f"{n} random {random[n > 1]}" if random else choice_amount(str(adversary["choose"]), n)
    if parts := _channel_words(adversary, "s" if n > 1 else ""):
        text += f", {'their' if n > 1 else 'its'} {parts}"
    if own := _within_words(adversary, given=True):
        person = f"the person's {' and '.join(own)}"
        text = f"{text}, and {person}" if n else person
    if wrong:
        other = (
            "an item the person does not have" if wrong == 1 else "items the person does not have"
        )
        what = "wrong" if adversary["wrong_kind"] == "value" else other
        text += f", {100 * wrong:g}% of them {what}" if wrong < 1 else f", {wrong:g} of them {what}"
    if not random:
        text += choice_sentence(str(adversary["choose"]))
    if adversary.get("length_within") is not None:
        text += f", and the length of the record to within {100 * adversary['length_within']:g}%"
    if adversary.get("view"):
        text += f" ({adversary.get('view_words') or 'view: ' + str(adversary['view'])})"
    return text


def _channel_words(adversary: Plain, plural: str) -> str:
    """How exactly values and times are known, as part of a sentence; empty if neither is known."""
    value, time = adversary["value_within"], adversary["time_within"]
    what = _time_noun(adversary)
    bare = adversary.get("gamma") is None and not adversary.get("within")
    if bare and value == 0 and time == 0 and what == "day":
        return f"exact value{plural} and day{plural}"
    parts = []
    if adversary.get("gamma") is not None:
        parts.append(f"value{plural} to within {100 * adversary['gamma']:g}% of the scale")
    elif value == 0:
        parts.append(f"exact value{plural}")
    elif value is not None:
        parts.append(f"value{plural} {within_words(value)}")
    parts += _within_words(adversary, given=False)
    if time is not None:
        within = f"{time:g}" if what == "day" else within_text(time)
        exact = (
            f"exact day{plural}"
            if what == "day"
            else f"time{plural} to the {adversary.get('resolution')}"
        )
        parts.append(exact if time == 0 else f"{what}{plural} to within {within}")
    return " and ".join(parts)


def _within_words(adversary: Plain, given: bool) -> list[str]:
    """How exactly further channels are known, or (`given`) attributes of the person."""
    return [
        f"{name} {within_words(within)}" if within else f"exact {name}"
        for name, within in adversary.get("within", {}).items()
        if (name in adversary.get("attributes", ())) == given
    ]
