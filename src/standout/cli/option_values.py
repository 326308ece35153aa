"""Texts of options as numbers, tolerances and names; an invalid one is refused before any data is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from standout.errors import ParameterError

T = TypeVar("T")


def _parts(text: str, name: str, read: Callable[[str], T], wanted: str) -> list[T]:
    """Read a comma-separated list."""
    try:
        return [read(part.strip().lower()) for part in text.split(",")]
    except (ValueError, ParameterError):
        raise ParameterError(f"--{name} {text!r}: use {wanted}") from None


def whole_numbers(text: str, name: str = "knows") -> list[int]:
    """Read a comma-separated list of whole numbers.

    >>> whole_numbers("2,4")
    [2, 4]
    """
    return _parts(text, name, int, "whole numbers separated by commas")


def numbers(text: str, name: str) -> list[float | None]:
    """Read a comma-separated list of numbers, `none` for an unknown channel.

    >>> numbers("0,1,none", "value-within")
    [0.0, 1.0, None]
    """

    def read(word: str) -> float | None:
        return None if word == "none" else float(word)

    return _parts(text, name, read, "numbers separated by commas, or none")


def shares_or_counts(text: str, name: str) -> list[float]:
    """Read shares below 1, with or without a percent sign, or whole numbers, separated by commas.

    >>> shares_or_counts("0,2,25%", "wrong")
    [0, 2, 0.25]
    """

    def read(word: str) -> float:
        is_share = word.endswith("%")
        number = float(word[:-1]) / 100 if is_share else float(word)
        # 100% is no single fact: with it, nothing that is known is right
        if number < 0 or (number >= 1 and (is_share or not number.is_integer())):
            raise ValueError(number)
        return int(number) if number.is_integer() else number

    return _parts(
        text, name, read, "whole numbers, or shares below 100% like 25%, separated by commas"
    )


def value_tolerances(text: str, name: str = "value-within") -> list[float | str | None]:
    """Read tolerances of values, separated by commas: numbers, shares, units of rounding, or None for `none`.

    >>> value_tolerances("0,10%,round:5,none")
    [0, '10%', 'round:5', None]
    """
    from standout.data.values import is_tolerance_text

    def read(word: str) -> float | str | None:
        if word == "none" or is_tolerance_text(word):
            return None if word == "none" else word
        number = float(word)
        return int(number) if number.is_integer() else number

    return _parts(
        text, name, read, "numbers, shares like 10% or round:1 separated by commas, or none"
    )


def time_tolerances(text: str, name: str = "time-within") -> list[float | str | None]:
    """Read tolerances of times, separated by commas: a number of days, a text like 2h, or None for `none`.

    >>> time_tolerances("14, 2h,none")
    [14, '2h', None]
    """
    from standout.data.times import days_within

    def read(word: str) -> float | str | None:
        within = int(word) if word.isdecimal() else None if word == "none" else word
        if within is not None:
            days_within(within)
        return within

    wanted = "whole days or tolerances like 30min, 2h or 2w, separated by commas, or none"
    return _parts(text, name, read, wanted)


def target_count(text: str) -> int | str:
    """Read the number of targets, or `all`."""
    if text == "all":
        return text
    if not text.strip().isdecimal() or int(text) < 1:
        raise ParameterError(f"--targets {text!r}: use a whole number ≥ 1, or all")
    return int(text)


def attack_options(attacks: str, targets: str, engine: str) -> tuple[list[str], int | str]:
    """Names of the attacks, and number of targets; invalid values are refused before any data is read."""
    from standout.attacks.attack import attack
    from standout.engines.engine import engine as engine_of

    names = [name.strip() for name in attacks.split(",")]
    for name in names:
        if names != ["all"]:
            attack(name)
    count = target_count(targets)
    engine_of(engine)
    return names, count
