"""Defenses written as text: "drop-entries(share=0.5) | coarsen-time(to=month)"."""

from __future__ import annotations

import re
from functools import reduce
from operator import or_
from typing import Any

from standout.defenses.defense import Defense, defense
from standout.errors import ParameterError

_STAGE = re.compile(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.DOTALL)
_OPEN, _CLOSE = "([", ")]"
_WORDS = {"true": True, "false": False, "none": None}


def parse_defense(text: str) -> Defense:
    """Make the defense, or chain of defenses, that a text describes.

    Values are numbers, words, texts in quotes, or lists of these in brackets.

    >>> parse_defense("drop-entries(share=0.5) | coarsen-time(to=month)")
    <defense drop-entries(share=0.5) | coarsen-time(to=month)>
    >>> parse_defense("round-values(levels=[1, 3, 5])").parameters["levels"]
    [1.0, 3.0, 5.0]
    """
    if not isinstance(text, str) or not text.strip():
        raise ParameterError('no defense is given: write, for example, "drop-entries(share=0.5)"')
    return reduce(or_, (_stage(part, text) for part in _split(text, "|", text)))


def _stage(part: str, text: str) -> Defense:
    found = _STAGE.fullmatch(part)
    if found is None:
        raise _wrong(text, f"{part.strip()!r} is not NAME(PARAMETER=VALUE, …)")
    name, inside = found.groups()
    parameters: dict[str, Any] = {}
    for word in _split(inside, ",", text) if inside and inside.strip() else []:
        given = _PARAMETER.fullmatch(word)
        if given is None:
            raise _wrong(text, f"{word.strip()!r} is not PARAMETER=VALUE")
        if given[1] in parameters:
            raise _wrong(text, f"{given[1]} is given twice")
        parameters[given[1]] = _value(given[2].strip(), text)
    return defense(name, **parameters)


def _value(word: str, text: str) -> Any:
    if word[:1] == "[" and word[-1:] == "]":
        inside = word[1:-1]
        return (
            [_value(part.strip(), text) for part in _split(inside, ",", text)]
            if inside.strip()
            else []
        )
    if word[:1] in ("'", '"'):
        if len(word) < 2 or word[-1] != word[0]:
            raise _wrong(text, f"the quotes of {word} do not match")
        return word[1:-1]
    if not word or any(c in word for c in "()[]='\""):
        raise _wrong(text, f"{word!r} is not a value: use a number, a word, or a list like [1, 2]")
    if word.lower() in _WORDS:
        return _WORDS[word.lower()]
    return number_or_word(word)


def number_or_word(word: str) -> Any:
    """The word as a number, if it is one.

    >>> number_or_word("3"), number_or_word("0.5"), number_or_word("month")
    (3, 0.5, 'month')
    """
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _split(text: str, sign: str, whole: str) -> list[str]:
    """Parts between the signs that are outside of brackets and quotes."""
    parts, depth, quote = [""], "", ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in _OPEN:
            depth += c
        elif c in _CLOSE:
            if not depth or _OPEN.index(depth[-1]) != _CLOSE.index(c):
                raise _wrong(whole, f"{c!r} closes nothing")
            depth = depth[:-1]
        elif c == sign and not depth:
            parts.append("")
            continue
        parts[-1] += c
    if depth or quote:
        raise _wrong(whole, f"{(quote or depth[-1])!r} is not closed")
    return parts


def _wrong(text: str, why: str) -> ParameterError:
    return ParameterError(
        f'defense {text!r}: {why}. Example: "drop-entries(share=0.5) | coarsen-time(to=month)"'
    )
