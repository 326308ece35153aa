"""Default strengths: the settings of each defense that a frontier tries, from weak to strong, chosen for the data."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.values import grid_step
from standout.defenses.defense import Defense, defense, defense_class, defense_names
from standout.defenses.frontier_cells import Setting
from standout.defenses.parse import parse_defense
from standout.defenses.utility_release import level_counts
from standout.errors import ParameterError


def settings_of(source: Dataset, defenses: Any = "all", strengths: Any = None) -> list[Setting]:
    """Defenses at all strengths, in order.

    Parameters
    ----------
    source
        The data to protect.
    defenses
        Names, texts and objects with `apply`; "all" are the built-in ones, those of the user, and
        some chains.
    strengths
        Values of the first parameter of every named defense, or a mapping from a name to such
        values; None: the defaults.
    """
    everything = isinstance(defenses, str) and defenses == "all"
    if isinstance(defenses, str) or hasattr(defenses, "apply"):
        given: list[Any] = [] if everything else [defenses]
    else:
        given = list(defenses)
    names = [one for one in given if isinstance(one, str) and one in defense_names()]
    values = _values_by_name(names, strengths)
    out = _all_settings(source) if everything else []
    for one in given:
        if isinstance(one, str):
            known: Sequence[str | Defense] = [one]
            if one in values:
                known = _with_values(one, values[one])
            elif one in names:
                known = default_strengths(one, source)
            out += _settings(known)
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


def _all_settings(source: Dataset) -> list[Setting]:
    """All defenses at their default strengths, and chains; one that needs parameters is named, and stops no other."""
    out: list[Setting] = []
    for name in defense_names():
        try:
            out += _settings(default_strengths(name, source))
        except ParameterError as error:
            problem = f"{error}. Give it `strengths`, so that it can be tried"
            out.append(Setting(name, 1, name, problem))
    for texts in combinations(source):
        out += _settings(texts)
    return out


def _settings(strengths: Sequence[str | Defense]) -> list[Setting]:
    """One defense at these strengths, weak to strong."""
    made = [parse_defense(one) if isinstance(one, str) else one for one in strengths]
    return [Setting(one.name, k + 1, one) for k, one in enumerate(made)]


def _values_by_name(names: list[str], strengths: Any) -> dict[str, list[Any]]:
    """Values of the first parameter of each defense that has some in `strengths`."""
    if strengths is None:
        return {}
    if not names:
        raise ParameterError("strengths: name the defenses that they belong to")
    if not isinstance(strengths, Mapping):
        strengths = dict.fromkeys(names, strengths)
    out: dict[str, list[Any]] = {}
    for name, values in strengths.items():
        if name not in names:
            raise ParameterError(
                f"strengths names {name!r}, which is not among the defenses: {', '.join(names)}"
            )
        if isinstance(values, str) or not np.iterable(values) or not list(values):
            raise ParameterError(
                f"strengths={values!r}: use a list of values, or a mapping from a defense to such a list"
            )
        out[name] = list(values)
    return out


def _with_values(name: str, values: Iterable[Any]) -> list[str]:
    """Settings of one defense as texts, with these values of its first parameter."""
    first = next(iter(inspect.signature(defense_class(name)).parameters), None)
    if first is None:
        raise ParameterError(f"{name} has no strength: leave it out of strengths")
    shown = [f"{x:.6g}" if isinstance(x, float) else str(x) for x in values]
    return [f"{name}({first}={x})" for x in shown]


def default_strengths(name: str, source: Dataset) -> Sequence[str | Defense]:
    """Settings of one defense, from weak to strong; empty if the data lacks what the defense changes.

    Those of a built-in defense are texts; one without strengths, such as drop-time, is its own only
    setting. Those of a registered defense are what its `strengths` gives.
    """
    channel = defense_class(name).changed_channel
    has_values = source.n_levels > 1
    if (channel == "value" and not has_values) or (channel == "time" and not source.has_time):
        return []
    if name == "swap-attributes" and not source.has_value and not source.has_time:
        return []
    if name == "suppress-km":
        return ["suppress-km(k=5, m=1)", "suppress-km(k=5, m=2)", "suppress-km(k=20, m=2)"]
    if name in _VALUES:
        values = _VALUES[name]
        return _with_values(name, dict.fromkeys(values(source) if callable(values) else values))
    return [defense(name, **one) for one in defense_class(name).strengths(source)]


def combinations(source: Dataset) -> list[list[str]]:
    """Chains that a frontier tries in addition: all values and times removed, then items or entries removed."""
    there = {"drop-values": source.n_levels > 1, "drop-time": source.has_time}
    first = [name for name, is_there in there.items() if is_there]
    if not first:
        return []
    begin = " | ".join(first)
    out = [[begin]] if len(first) > 1 else []
    for name in ("keep-top-items", "drop-entries", "cap-entries"):
        out.append([f"{begin} | {one}" for one in default_strengths(name, source)])
    return out


def _places(held: Array, shares: tuple[float, ...]) -> Array:
    """Number of leading elements that hold less than each share of the sum."""
    return np.searchsorted(np.cumsum(held) / held.sum(), shares)


def _min_supports(source: Dataset) -> list[int]:
    """Supports below which about 10 %, 40 % and 70 % of the pairs lie."""
    held = np.sort(source.supports[source.supports > 0])
    return [int(held[min(place, held.size - 1)]) + 1 for place in _places(held, (0.1, 0.4, 0.7))]


def _tops(source: Dataset) -> list[int]:
    """Numbers of items that hold about half, a fifth and a twentieth of the pairs."""
    return [int(place) + 1 for place in _places(-np.sort(-source.supports), (0.5, 0.2, 0.05))]


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
    order = np.argsort(size, kind="stable")
    places = _places(level_counts(source)[order], (0.5, 0.9, 0.99))
    return [float(f"{max(x, 1e-9):.1g}") for x in size[order][places]]


def _half_steps(source: Dataset) -> list[float]:
    return [x / 2 for x in _steps(source)]


def _groups(source: Dataset) -> list[int]:
    """Groups of about 4, 20 and 100 items."""
    return [max(2, math.ceil(source.n_items / size)) for size in (4, 20, 100)]


def _epsilons(source: Dataset) -> list[float]:
    """Privacy losses at which 90 %, 50 % and 10 % of the entries are truthful."""
    return [round(math.log(max(source.n_items - 1, 1) * p / (1 - p)), 2) for p in (0.9, 0.5, 0.1)]


_VALUES: dict[str, Sequence[Any] | Callable[[Dataset], Sequence[Any]]] = {
    "drop-entries": (0.3, 0.6, 0.9),
    "drop-rare-items": _min_supports,
    "keep-top-items": _tops,
    "cap-entries": _caps,
    "sample-records": (0.5, 0.2, 0.05),
    "round-values": _steps,
    "noise-values": _half_steps,
    "geometric-values": (0.5, 0.8, 0.95),
    "coarsen-time": ("month", "quarter", "year"),
    "shift-time": (14, 90, 365),
    "swap-entries": (0.2, 0.5, 0.8),
    "swap-attributes": (0.2, 0.5, 1.0),
    "group-items": _groups,
    "randomized-response": _epsilons,
}
