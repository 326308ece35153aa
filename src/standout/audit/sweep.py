"""The sweep: kinds of knowledge that an audit tries when it is not told which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from standout.adversary.adversary import Adversary
from standout.audit.defaults import SWEEPS
from standout.data.dataset import Dataset
from standout.errors import ParameterError

Array = npt.NDArray[Any]
Within = float | str | None
"""Tolerance of a channel: a number, "10%", or None where the channel is not known."""

AMOUNTS = (1, 2, 4, 8)
MANY = 16
"""Tried as well where at least half of the records hold enough items."""
MIDDLE = (2, 4, 8)
"""Amounts for rows between the weakest and the strongest."""

FEWEST = 30
"""Records that must hold enough items before an amount is tried (half of the records in smaller data)."""

ABOUT = 30
"""Cells up to which the default sweep is the full one."""

ROUGH_DAYS = 14
GRID_LEVELS = 64
"""Evenly spaced scales up to this many levels are grids; their values are known roughly to within grid steps."""
PART_OF_SCALE = 20
"""A rough value on a grid or on a scale with negative values is known to within one part in 20 of the range."""
ROUGH_AMOUNT = "10%"


@dataclass(frozen=True)
class Axes:
    """What was asked for; None = as the sweep chooses.

    Parameters
    ----------
    knows
        Numbers of known items.
    wrong
        Numbers of wrong facts, or shares between 0 and 1.
    wrong_kind
        "value" or "item".
    value_within, time_within
        Tolerances; None in the list = the channel is not known.
    choose
        Rule by which the known items are chosen.
    """

    knows: tuple[int, ...] | None = None
    wrong: tuple[float, ...] | None = None
    wrong_kind: str | None = None
    value_within: tuple[Within, ...] | None = None
    time_within: tuple[Within, ...] | None = None
    choose: str = "uniform"


def default_sweep(dataset: Dataset, size: str = "default", asked: Axes | None = None) -> list[Adversary]:
    """Adversaries to try on this data: every option that was given, crossed with the sweep of those that were not.

    Numbers of items, each with all facts right and with a quarter of them wrong (from 4 items on: a quarter of one or two
    facts is less than one fact, and one wrong fact of two would be half), over rows that fit the channels of the data:
    items only, values exact, values rough, days exact, days rough, both exact, both rough. Where that gives more
    than about 30 cells, the default sweep tries all amounts for the weakest row, the strongest row and the row with
    every channel rough; the rows between them are tried with 2, 4 and 8 right facts. "full" tries every combination.

    Parameters
    ----------
    dataset
        The data that knowledge is drawn from.
    size
        "default" or "full".
    asked
        Options that were given.
    """
    if size not in SWEEPS:
        raise ParameterError(f"sweep={size!r}: use {' or '.join(map(repr, SWEEPS))}")
    axes = asked or Axes()
    if not dataset.has_value and any(v is not None for v in axes.value_within or ()):
        raise ParameterError(_no_channel("value_within", axes.value_within, "values", "value"))
    if not dataset.has_time and any(t is not None for t in axes.time_within or ()):
        raise ParameterError(_no_channel("time_within", axes.time_within, "times", "time"))
    amounts = axes.knows or _amounts(dataset, axes.choose)
    rows, corners = _rows(dataset, axes, size)
    cells = [
        (row, k, w)
        for row in rows
        for k in amounts
        for w in _wrongs(k, axes.wrong)
        if not (w and axes.wrong_kind == "value" and row == (None, None))
    ]
    if size == "default" and len(cells) > ABOUT:
        cells = [c for c in cells if c[0] in corners or _kept(c[1], c[2], axes, amounts)]
        cells = [c for c in cells if not (c[1] == MANY and c[2] and axes.knows is None and axes.wrong is None)]
    lost = sorted(set(axes.wrong or ()) - {w for _, _, w in cells})
    if lost:
        raise ParameterError(
            f"wrong={lost[0]:g} of {', '.join(map(str, amounts))} known items: use at most as many as are known, and "
            "wrong_kind='item' where neither values nor days are known"
        )
    return [
        check_channels(
            Adversary(knows=k, wrong=w, wrong_kind=_kind(row, axes), value_within=row[0], time_within=row[1],  # type: ignore[arg-type]
                      choose=axes.choose), dataset)
        for row, k, w in cells
    ]  # fmt: skip


def check_channels(who: Adversary, dataset: Dataset) -> Adversary:
    """Refuse knowledge of values or days that the data does not have.

    `value_within=0` is the default of an adversary: without values in the data it means "no values" and is replaced by None.
    """
    asked = who.gamma is not None or who.value_within not in (None, 0)
    if asked and not dataset.has_value:
        name = "gamma" if who.gamma is not None else "value_within"
        raise ParameterError(_no_channel(name, getattr(who, name), "values", "value"))
    if who.time_within is not None and not dataset.has_time:
        raise ParameterError(_no_channel("time_within", who.time_within, "times", "time"))
    fitting = who if dataset.has_value or who.value_within is None else replace(who, value_within=None)
    blind = fitting.value_within is None and fitting.gamma is None and fitting.time_within is None
    if blind and fitting.wrong and fitting.wrong_kind == "value":
        raise ParameterError(
            f"wrong={who.wrong:g} with wrong_kind='value', but neither values nor days are known, so no fact could be "
            "wrong: use wrong_kind='item'"
        )
    return fitting


def _no_channel(name: str, given: Any, what: str, column: str) -> str:
    shown = ", ".join(map(str, given)) if isinstance(given, tuple) else given
    return f"{name}={shown}, but the data has no {what}: leave {name} out, or name the {column} column"


def rough_value(levels: Array) -> Within:
    """What "roughly" means for this scale, None where a rough value would say nothing.

    Few even steps: one step, or a twentieth of the scale in whole steps. Amounts and counts: 10 % of the value. Scales
    with negative values, where a share of the value means little near 0: a twentieth of the range.

    >>> rough_value(np.arange(0.5, 5.5, 0.5)), rough_value(np.array([1.0, 2.5, 40.0])), rough_value(np.array([0.0, 1.0]))
    (0.5, '10%', None)
    """
    if levels.size < 3:
        return None
    steps = np.diff(levels)
    span = float(levels[-1] - levels[0])
    if levels.size <= GRID_LEVELS and np.allclose(steps, steps[0]):
        return _plain(float(steps[0]) * max(1, round((levels.size - 1) / PART_OF_SCALE)))
    if levels[0] >= 0:
        return ROUGH_AMOUNT
    return _plain(span / PART_OF_SCALE)


def rough_days(day_span: int) -> int:
    """Two weeks, or a tenth of the span where that is shorter; at least a day.

    >>> rough_days(4000), rough_days(60), rough_days(3)
    (14, 6, 1)
    """
    return int(min(ROUGH_DAYS, max(1, day_span // 10)))


def _plain(x: float) -> float:
    """One significant digit, or the number itself where it has few."""
    if x == round(x, 3):
        return int(x) if x == int(x) else x
    return float(f"{x:.1g}")


def _amounts(dataset: Dataset, choose: str) -> tuple[int, ...]:
    """Numbers of items that enough records hold."""
    held = {k: _holders(dataset, k, choose) for k in (*AMOUNTS, MANY)}
    enough = min(FEWEST, dataset.n_records / 2)
    out = [k for k in AMOUNTS if held[k] >= enough] or [AMOUNTS[0]]
    if held[MANY] >= max(dataset.n_records / 2, 1):
        out.append(MANY)
    return tuple(out)


def _holders(dataset: Dataset, k: int, choose: str) -> int:
    return int(Adversary(knows=k, value_within=None, choose=choose).eligible(dataset).size)


def _rows(dataset: Dataset, axes: Axes, size: str) -> tuple[list[tuple[Within, Within]], set[tuple[Within, Within]]]:
    """(value tolerance, time tolerance) of each row, and the rows that bracket the others."""
    values: Sequence[Within] = axes.value_within or _exact_and_rough(
        rough_value(dataset.levels), dataset.has_value and dataset.n_levels > 1
    )
    days = rough_days(dataset.day_span)
    times: Sequence[Within] = axes.time_within or _exact_and_rough(
        days if dataset.day_span > 2 * days else None, dataset.has_time and dataset.day_span > 0
    )
    rows = [(v, t) for v in values for t in times]
    corners = {(values[0], times[0]), (values[-1], times[-1])}
    if len(values) == 3 and len(times) == 3 and axes.value_within is None and axes.time_within is None:
        corners.add((values[1], times[1]))
        if size == "default":
            # one channel exact and the other rough lies between both exact and both rough
            rows = [(v, t) for v, t in rows if v is None or t is None or (v == 0) == (t == 0)]
    return rows, corners


def _exact_and_rough(rough: Within, there: bool) -> tuple[Within, ...]:
    """From unknown to exact."""
    if not there:
        return (None,)
    return (None, 0) if rough is None else (None, rough, 0)


def _wrongs(knows: int, asked: tuple[float, ...] | None) -> tuple[float, ...]:
    """Numbers of wrong facts to try with this number of items."""
    if asked is not None:
        return tuple(w for w in asked if w <= knows)
    return (0, knows // 4) if knows >= 4 else (0,)


def _kept(knows: int, wrong: float, axes: Axes, amounts: tuple[int, ...]) -> bool:
    """Whether a cell of a row between the corners is in the default sweep."""
    amount = axes.knows is not None or knows in MIDDLE or len(amounts) == 1
    return amount and (axes.wrong is not None or not wrong)


def _kind(row: tuple[Within, Within], axes: Axes) -> str:
    """A wrong fact of an adversary who knows neither values nor days can only be a wrong item."""
    if row == (None, None):
        return "item"
    return axes.wrong_kind or "value"
