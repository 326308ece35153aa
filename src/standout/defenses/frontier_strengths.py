"""Default strengths: the settings of each defense that a frontier tries, from weak to strong, chosen for the data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from standout.data.dataset import Dataset
from standout.data.values import grid_step
from standout.defenses.defense import Defense, defense, defense_class, defense_names
from standout.defenses.frontier_cells import Setting
from standout.defenses.parse import parse_defense
from standout.errors import ParameterError

NEEDS = {
    "value": ("round-values", "noise-values", "geometric-values", "drop-values"),
    "time": ("coarsen-time", "shift-time", "drop-time"),
}
"""Defenses that need a channel."""


def settings_of(source: Dataset, defenses: Any = "all", strengths: Any = None) -> list[Setting]:
    """Defenses at all strengths, in order; "all" are the built-in ones, those of the user, and some chains."""
    everything = isinstance(defenses, str) and defenses == "all"
    given = (
        [defenses] if isinstance(defenses, str) or hasattr(defenses, "apply") else list(defenses)
    )
    plain = [n for n in given if isinstance(n, str) and n in defense_names()]
    if strengths is not None and not plain:
        raise ParameterError("strengths: name the defenses that they belong to")
    out: list[Setting] = []
    if everything:
        out += [one for name in defense_names() for one in _of_all(name, source)]
        out += [one for _, texts in combinations(source) for one in _settings(texts)]
        given = []
    known = dict(strengths_of(plain, source, strengths))
    for one in given:
        if isinstance(one, str):
            out += _settings(known.get(one, [one]))
        elif callable(getattr(one, "apply", None)):
            out.append(Setting(str(getattr(one, "name", type(one).__name__)), 1, one))
        else:
            raise ParameterError(
                f"defenses holds a {type(one).__name__}: use a name, a text or a defense"
            )
    if not out:
        raise ParameterError(
            "no defense is left to try: the data lacks the values or times that they change"
        )
    return out


def _settings(strengths: Sequence[str | Defense]) -> list[Setting]:
    """One defense at these strengths, weak to strong."""
    made = [parse_defense(one) if isinstance(one, str) else one for one in strengths]
    return [Setting(one.name, k + 1, one) for k, one in enumerate(made)]


def _of_all(name: str, source: Dataset) -> list[Setting]:
    """One of all defenses at its default strengths; one that needs parameters is named, and stops no other."""
    try:
        return _settings(default_strengths(name, source))
    except ParameterError as error:
        return [Setting(name, 1, name, f"{error}. Give it `strengths`, so that it can be tried")]


def default_strengths(name: str, source: Dataset) -> list[str | Defense]:
    """Settings of one defense, from weak to strong; empty if the data lacks what the defense changes.

    Those of a built-in defense are texts; one without strengths, such as drop-time, is its own only
    setting. Those of a registered defense are what its `strengths` gives.
    """
    if (name in NEEDS["value"] and source.n_levels < 2) or (
        name in NEEDS["time"] and not source.has_time
    ):
        return []
    if name == "swap-attributes" and not source.has_value and not source.has_time:
        return []
    if name == "suppress-km":
        return ["suppress-km(k=5, m=1)", "suppress-km(k=5, m=2)", "suppress-km(k=20, m=2)"]
    if name in _VALUES:
        return [*with_values(name, dict.fromkeys(_VALUES[name](source)))]
    return [defense(name, **one) for one in defense_class(name).strengths(source)]


def with_values(name: str, values: Iterable[Any]) -> list[str]:
    """Settings of one defense as texts, with these values of its first parameter."""
    first = next(iter(inspect.signature(defense_class(name)).parameters), None)
    if first is None:
        raise ParameterError(f"{name} has no strength: leave it out of strengths")
    return [f"{name}({first}={_shown(x)})" for x in values]


def combinations(source: Dataset) -> list[tuple[str, list[str]]]:
    """Chains that a frontier tries in addition: all values and times removed, then items or entries removed."""
    first = [
        x
        for x, there in (("drop-values", source.n_levels > 1), ("drop-time", source.has_time))
        if there
    ]
    if not first:
        return []
    begin = " | ".join(first)
    out = [(begin, [begin])] if len(first) > 1 else []
    for name in ("keep-top-items", "drop-entries", "cap-entries"):
        out.append(
            (f"{begin} | {name}", [f"{begin} | {one}" for one in default_strengths(name, source)])
        )
    return out


def strengths_of(
    names: Sequence[str], source: Dataset, given: Any = None
) -> list[tuple[str, list[str | Defense]]]:
    """Settings of several defenses.

    Parameters
    ----------
    names
        Names of defenses.
    source
        The data to protect.
    given
        None: the defaults. A list: values of the first parameter of every named defense. A mapping
        from name to such a list.
    """
    if given is None:
        return [(name, default_strengths(name, source)) for name in names]
    if isinstance(given, Mapping):
        if strange := [name for name in given if name not in names]:
            raise ParameterError(
                f"strengths names {strange[0]!r}, which is not among the defenses: {', '.join(names)}"
            )
        return [
            (
                name,
                [*with_values(name, _list(given[name]))]
                if name in given
                else default_strengths(name, source),
            )
            for name in names
        ]
    return [(name, [*with_values(name, _list(given))]) for name in names]


def _list(values: Any) -> list[Any]:
    if isinstance(values, str) or not np.iterable(values) or not list(values):
        raise ParameterError(
            f"strengths={values!r}: use a list of values, or a mapping from a defense to such a list"
        )
    return list(values)


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _min_supports(source: Dataset) -> list[int]:
    """Supports below which about 10 %, 40 % and 70 % of the pairs lie."""
    held = np.sort(source.supports[source.supports > 0])
    share = np.cumsum(held) / held.sum()
    return [
        int(held[min(int(np.searchsorted(share, p)), held.size - 1)]) + 1 for p in (0.1, 0.4, 0.7)
    ]


def _tops(source: Dataset) -> list[int]:
    """Numbers of items that hold about half, a fifth and a twentieth of the pairs."""
    held = -np.sort(-source.supports)
    share = np.cumsum(held) / held.sum()
    return [int(np.searchsorted(share, p)) + 1 for p in (0.5, 0.2, 0.05)]


def _caps(source: Dataset) -> list[int]:
    """The median record length, a quarter of it, and 4 entries or fewer."""
    middle = max(int(np.median(source.lengths)), 2)
    return sorted({middle, max(middle // 4, 2), min(4, max(middle // 8, 1))}, reverse=True)


def _steps(source: Dataset) -> list[float]:
    """Two, four and eight steps of an even scale; else the sizes that half, 90 % and 99 % of the values do not exceed."""
    step = grid_step(np.asarray(source.levels))
    if step is not None and source.levels.size <= 64:
        return [n * step for n in (2, 4, 8) if n * step <= source.value_range] or [2 * step]
    size = np.abs(np.asarray(source.levels))
    held = np.bincount(source.record_code, minlength=source.n_levels + 1)[: source.n_levels]
    order = np.argsort(size, kind="stable")
    share = np.cumsum(held[order]) / held.sum()
    return [
        float(f"{max(size[order][np.searchsorted(share, p)], 1e-9):.1g}") for p in (0.5, 0.9, 0.99)
    ]


def _half_steps(source: Dataset) -> list[float]:
    return [x / 2 for x in _steps(source)]


def _groups(source: Dataset) -> list[int]:
    """Groups of about 4, 20 and 100 items."""
    return [max(2, math.ceil(source.n_items / size)) for size in (4, 20, 100)]


def _epsilons(source: Dataset) -> list[float]:
    """Privacy losses at which 90 %, 50 % and 10 % of the entries are truthful."""
    return [round(math.log(max(source.n_items - 1, 1) * p / (1 - p)), 2) for p in (0.9, 0.5, 0.1)]


_VALUES: dict[str, Callable[[Dataset], Sequence[Any]]] = {
    "drop-entries": lambda source: (0.3, 0.6, 0.9),
    "drop-rare-items": _min_supports,
    "keep-top-items": _tops,
    "cap-entries": _caps,
    "sample-records": lambda source: (0.5, 0.2, 0.05),
    "round-values": _steps,
    "noise-values": _half_steps,
    "geometric-values": lambda source: (0.5, 0.8, 0.95),
    "coarsen-time": lambda source: ("month", "quarter", "year"),
    "shift-time": lambda source: (14, 90, 365),
    "swap-entries": lambda source: (0.2, 0.5, 0.8),
    "swap-attributes": lambda source: (0.2, 0.5, 1.0),
    "group-items": _groups,
    "randomized-response": _epsilons,
}
