"""Sweeps as data: TOML files with the adversaries that an audit tries."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from standout.adversary.adversary import Adversary
from standout.data.whole_file import check_regular
from standout.errors import InputError, ParameterError

UNKNOWN = "none"
"""Tolerance of a channel that is not known, in a file."""
KEYS = tuple(field.name for field in fields(Adversary))
MOST_BYTES = 2**20
"""A larger file is no sweep."""

Entry = Mapping[str, Any]
"""Keywords of one adversary, as they are in the file."""


def load_sweep(path: str | Path) -> list[Adversary]:
    """Read a sweep of one's own: a TOML file with one table `[[adversary]]` per kind of knowledge.

    Its keys are the parameters of `Adversary`; `knows` may be a list of numbers. A channel that is
    not named is not known, values included.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of Adversary
        For `Audit(dataset, adversaries=…)`, in the order of the file, each once.
    """
    name = f"sweep {str(path)!r}"
    content = read_toml(path, name)[1]
    check_keys(content, ("adversary",), name)
    made: list[Adversary] = []
    for number, entry in enumerate(entries_of(content, name), 1):
        made += adversaries_of(entry, f"{name}: adversary {number}")
    return [who for k, who in enumerate(made) if who not in made[:k]]


def read_toml(path: str | Path, name: str, kind: str = "sweep") -> tuple[str, dict[str, Any]]:
    """Text and content of a TOML file; `name` says in errors what the file is."""
    try:
        with check_regular(path).open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise InputError(f"{name} is larger than {MOST_BYTES:,} bytes: is it a {kind}?")
        text = content.decode("utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{name} is not TOML: {str(error)[:200]}") from None
    except RecursionError:
        raise InputError(f"{name} is nested too deeply") from None


def check_keys(table: Mapping[str, Any], valid: Iterable[str], name: str) -> None:
    """Refuse unknown keys: knowledge that is misspelled and ignored would make data look safe."""
    if unknown := [key for key in table if key not in valid]:
        close = difflib.get_close_matches(unknown[0], list(valid), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ParameterError(
            f"{name}: unknown key {unknown[0]!r}: {hint}Valid keys: {', '.join(sorted(valid))}"
        )


def entries_of(content: Mapping[str, Any], name: str) -> list[Entry]:
    """The tables `[[adversary]]` of a file, with valid keys and plain values."""
    given = content.get("adversary", [])
    if not isinstance(given, list) or not all(isinstance(entry, dict) for entry in given):
        raise ParameterError(
            f"{name}: 'adversary' is no list of tables: write [[adversary]] with two brackets, once per kind of knowledge"
        )
    if not given:
        raise ParameterError(f"{name} holds no [[adversary]]: state at least one")
    for number, entry in enumerate(given, 1):
        where = f"{name}: adversary {number}"
        check_keys(entry, KEYS, where)
        if "knows" not in entry:
            raise ParameterError(f"{where}: 'knows' is missing: give the number of known items")
        for key, x in entry.items():
            _check_kind(key, x, where)
    return given


def _check_kind(key: str, x: Any, where: str) -> None:
    """Refuse dates, flags and lists where a number or a text belongs."""
    if key == "knows" and isinstance(x, list) and x:
        parts, wanted = x, "a whole number, or a list of them"
    elif key == "within" and isinstance(x, dict):
        parts, wanted = list(x.values()), "a table of tolerances by channel"
    else:
        parts = [x]
        wanted = "a table of tolerances by channel" if key == "within" else "a number or a text"
        if key == "within":
            raise ParameterError(f"{where}: 'within' is {x!r}: use {wanted}")
    if any(isinstance(part, bool) or not isinstance(part, int | float | str) for part in parts):
        raise ParameterError(f"{where}: {key!r} is {x!r}: use {wanted}")


def adversaries_of(entry: Entry, where: str) -> list[Adversary]:
    """The adversaries of one table: one per number of known items.

    Parameters
    ----------
    entry
        Keywords, as they are in the file.
    where
        What errors begin with.
    """
    given: dict[str, Any] = {
        key: None if x == UNKNOWN else x for key, x in entry.items() if key != "knows"
    }
    within = {key: None if x == UNKNOWN else x for key, x in entry.get("within", {}).items()}
    if within:
        given["within"] = within
    elif given.get("gamma") is None:
        # a channel that is not named is not known; `within` says so by itself
        given.setdefault("value_within", None)
    tells = (
        *within.values(),
        *(given.get(key) for key in ("value_within", "time_within", "gamma")),
    )
    if all(x is None for x in tells):
        # no value and no day can be wrong
        given.setdefault("wrong_kind", "item")
    numbers = entry["knows"] if isinstance(entry["knows"], list) else [entry["knows"]]
    try:
        return [Adversary(knows=knows, **given) for knows in numbers]
    except ParameterError as error:
        raise ParameterError(f"{where}: {error}") from None
