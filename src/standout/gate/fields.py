"""Checked reading of the tables of a policy: type, range, and the nearest valid key of an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from standout.errors import ParameterError

TEXT = "a text in quotes"
REASON = 'the reason in quotes, "…"'
TEXTS = 'a list of texts, ["…", "…"]'
FLAG = "true or false"
COUNT = "a whole number ≥ 1"
SHARE = "a number from 0 to 1"
OPEN_SHARE = "a number strictly between 0 and 1"

Kind = str | tuple[str, ...]
"""What a key takes: one of the kinds above, as the message for a wrong value says it, or the words that are valid."""


def named(key: str, where: str) -> str:
    """Name of a key with its table.

    >>> named("max", "limit 2"), named("targets", "")
    ("'max' in [[limit]] 2", "'targets'")
    """
    number = where.removeprefix("limit ")
    table = f" in [{where}]" if where == number else f" in [[limit]] {number}"
    return f"{key!r}{table if where else ''}"


def check_keys(table: Mapping[str, Any], valid: Iterable[str], where: str) -> None:
    """Refuse unknown keys: a misspelled limit that is ignored would let anything pass.

    Parameters
    ----------
    table
        A table of the policy.
    valid
        The keys it may hold.
    where
        Name of the table, "" for the policy itself.
    """
    if unknown := [str(key) for key in table if key not in valid]:
        hint = _nearest(unknown[0], valid, where)
        raise ParameterError(
            f"policy: unknown key {named(unknown[0], where)}: {hint}Valid keys: {', '.join(sorted(valid))}"
        )


def table_of(x: Any, key: str) -> Mapping[str, Any]:
    """A table of the policy."""
    if not isinstance(x, Mapping):
        raise ParameterError(f"policy: {named(key, '')} is {_shown(x)}: write a table, [{key}]")
    return x


def read_table(
    table: Mapping[str, Any], kinds: Mapping[str, Kind], where: str = ""
) -> dict[str, Any]:
    """The keys that a table has, each checked: lists as tuples, shares as floats, reasons without blanks around them.

    Parameters
    ----------
    table
        A table of the policy.
    kinds
        Kind per key. The key "max" is required.
    where
        Name of the table, "" for the policy itself.
    """
    if "max" in kinds and "max" not in table:
        raise ParameterError(f"policy: {named('max', where)} is missing: write {SHARE}")
    return {key: _checked(table[key], key, kinds[key], where) for key in kinds if key in table}


def _checked(x: Any, key: str, kind: Kind, where: str) -> Any:
    words = kind if isinstance(kind, tuple) else ()
    if not _fits(x, TEXT if words else kind):
        of_share = " (9 % is 0.09)" if kind == SHARE else ""
        advice = f"write {TEXT if words else kind}{of_share}"
        raise ParameterError(f"policy: {named(key, where)} is {_shown(x)}: {advice}")
    if words and x not in words:
        advice = f"{_nearest(x, words)}Use {', '.join(map(repr, words))}"
        raise ParameterError(f"policy: {named(key, where)} is {x!r}: {advice}")
    if kind == TEXTS:
        if twice := [one for one in x if x.count(one) > 1]:
            raise ParameterError(f"policy: {named(key, where)} names {twice[0]!r} twice")
        return tuple(x)
    if kind == REASON:
        return x.strip()
    return float(x) if kind in (SHARE, OPEN_SHARE) else x


def _fits(x: Any, kind: Kind) -> bool:
    """Whether a value is of a kind."""
    is_number = isinstance(x, int | float) and not isinstance(x, bool)
    if kind == SHARE:
        return is_number and 0 <= x <= 1  # False for NaN
    if kind == OPEN_SHARE:
        return is_number and 0 < x < 1
    if kind == COUNT:
        return is_number and isinstance(x, int) and x >= 1
    if kind == FLAG:
        return isinstance(x, bool)
    if kind == TEXTS:
        return isinstance(x, list | tuple) and all(isinstance(one, str) for one in x)
    return isinstance(x, str) and (kind == TEXT or bool(x.strip()))


def _nearest(word: str, valid: Iterable[str], where: str = "") -> str:
    near = difflib.get_close_matches(word, list(valid), n=1, cutoff=0.4)
    return f"did you mean {named(near[0], where)}? " if near else ""


def _shown(x: Any) -> str:
    """A value of the policy in a message, shortened."""
    if isinstance(x, str | int | float | bool):
        said = repr(x)
        return said if len(said) <= 60 else said[:57] + "…"
    return f"a {type(x).__name__}"
