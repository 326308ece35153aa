"""Checked reading of the keys of a policy: type, range, and the nearest valid key of an unknown one."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from typing import Any

from standout.errors import ParameterError


def check_keys(table: Mapping[str, Any], valid: Collection[str], where: str) -> None:
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
    for key in table:
        if key not in valid:
            near = difflib.get_close_matches(str(key), list(valid), n=1, cutoff=0.4)
            hint = f"did you mean {named(near[0], where)}? " if near else ""
            raise ParameterError(
                f"policy: unknown key {named(str(key), where)}: {hint}Valid keys: {', '.join(sorted(valid))}"
            )


def named(key: str, where: str) -> str:
    """Name of a key with its table.

    >>> named("max", "limit 2"), named("targets", "")
    ("'max' in [[limit]] 2", "'targets'")
    """
    table = (
        f" in [[limit]] {where.split()[1]}"
        if where.startswith("limit ")
        else f" in [{where}]"
        if where
        else ""
    )
    return f"{key!r}{table}"


def table_of(x: Any, key: str, where: str = "") -> Mapping[str, Any]:
    """A table of the policy."""
    if not isinstance(x, Mapping):
        raise ParameterError(f"policy: {named(key, where)} is {_shown(x)}: write a table, [{key}]")
    return x


def text(
    table: Mapping[str, Any],
    key: str,
    where: str,
    default: str,
    valid: Collection[str] | None = None,
) -> str:
    """A text, one of `valid` where that is given."""
    x = table.get(key, default)
    if not isinstance(x, str):
        raise ParameterError(f"policy: {named(key, where)} is {_shown(x)}: write a text in quotes")
    if valid is not None and x not in valid:
        near = difflib.get_close_matches(x, list(valid), n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ParameterError(
            f"policy: {named(key, where)} is {x!r}: {hint}Use {', '.join(map(repr, valid))}"
        )
    return x


def texts(
    table: Mapping[str, Any], key: str, where: str, default: tuple[str, ...]
) -> tuple[str, ...]:
    """A list of texts, none of them twice."""
    x = table.get(key, default)
    if not isinstance(x, list | tuple) or not all(isinstance(one, str) for one in x):
        raise ParameterError(
            f'policy: {named(key, where)} is {_shown(x)}: write a list of texts, ["…", "…"]'
        )
    if len(set(x)) < len(x):
        raise ParameterError(
            f"policy: {named(key, where)} names {next(one for one in x if x.count(one) > 1)!r} twice"
        )
    return tuple(x)


def reasons(table: Mapping[str, Any], key: str) -> dict[str, str]:
    """A table of names, each with a reason in words."""
    found = table_of(table.get(key, {}), key)
    for name, why in found.items():
        if not isinstance(why, str) or not why.strip():
            raise ParameterError(
                f'policy: {named(str(name), key)} is {_shown(why)}: write the reason in quotes, "…"'
            )
    return {str(name): why.strip() for name, why in found.items()}


def flag(table: Mapping[str, Any], key: str, where: str, default: bool) -> bool:
    """True or false."""
    x = table.get(key, default)
    if not isinstance(x, bool):
        raise ParameterError(f"policy: {named(key, where)} is {_shown(x)}: write true or false")
    return x


def share(
    table: Mapping[str, Any],
    key: str,
    where: str,
    default: float | None = None,
    *,
    open_ends: bool = False,
) -> float:
    """A number from 0 to 1; strictly between them with `open_ends`."""
    if key not in table and default is None:
        raise ParameterError(f"policy: {named(key, where)} is missing: write a number from 0 to 1")
    x = table.get(key, default)
    is_number = isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)
    if not is_number or not 0 <= x <= 1 or (open_ends and x in (0, 1)):
        between = "strictly between 0 and 1" if open_ends else "from 0 to 1 (9 % is 0.09)"
        raise ParameterError(
            f"policy: {named(key, where)} is {_shown(x)}: write a number {between}"
        )
    return float(x)


def whole(
    table: Mapping[str, Any], key: str, where: str, default: int | None, least: int = 1
) -> int | None:
    """A whole number of at least `least`; None only as the default."""
    if key not in table:
        return default
    x = table[key]
    if not isinstance(x, int) or isinstance(x, bool) or x < least:
        raise ParameterError(
            f"policy: {named(key, where)} is {_shown(x)}: write a whole number ≥ {least}"
        )
    return x


def _shown(x: Any) -> str:
    """A value of the policy in a message, shortened."""
    if isinstance(x, str | int | float | bool):
        said = repr(x)
        return said if len(said) <= 60 else said[:57] + "…"
    return f"a {type(x).__name__}"
