"""The sweep: kinds of knowledge that an audit tries by default; `fit_to_data`: one kind of knowledge, checked against the data.

The audit and the gate call `default_sweep`; all that takes an adversary from a user calls `fit_to_data`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from standout.adversary.adversary import Adversary
from standout.adversary.choices import parse_choice
from standout.adversary.eligible import check_channels
from standout.adversary.seen import seen_through
from standout.arrays import Array
from standout.audit.defaults import SWEEPS
from standout.data.background import background
from standout.data.catalog import Catalog
from standout.data.channels import level_names
from standout.data.times import ticks_within
from standout.data.values import grid_step
from standout.errors import ParameterError
from standout.views.view import View, check_known, see

Within = float | str | None
"""Tolerance of a channel: a number, "10%", or None if the channel is not known."""

AMOUNTS = (1, 2, 4, 8)
MANY = 16
"""Also tried if at least half of the records hold enough items."""
MIDDLE = (2, 4, 8)
"""Amounts for rows between the weakest and the strongest."""

FEWEST = 30
"""Records that must hold enough items before an amount is tried (half of the records in smaller data)."""

FULL_UP_TO = 30
"""Cells up to which the default sweep tries every combination."""

ROUGH_DAYS = 14
FINE_TIMES = {
    "hour": ("12h", "2h"),
    "minute": ("12h", "30min"),
    "second": ("12h", "30min", "1min"),
}
"""Tolerances below a day that are tried, by resolution: the day, and less; exact times are exact to the resolution."""
FEW_STEPS = 20
"""Largest number of regular steps for which a rough value means ±1 step."""
PART_OF_SCALE = 20
"""A rough value on a scale around 0 is known to within one part in 20 of the range."""
FEW_NEGATIVE = 0.05
"""Share of negative values up to which a scale is one of amounts."""
ROUGH_AMOUNT = "10%"


@dataclass(frozen=True)
class Axes:
    """Requested values per axis; None = chosen by the sweep.

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
    view
        What is known in place of the entries as they are.
    within
        Tolerances of further channels and of attributes that are known everywhere.
    """

    knows: tuple[int, ...] | None = None
    wrong: tuple[float, ...] | None = None
    wrong_kind: str | None = None
    value_within: tuple[Within, ...] | None = None
    time_within: tuple[Within, ...] | None = None
    choose: str = "uniform"
    view: View | None = None
    within: Mapping[str, float | str] | None = None


def default_sweep(
    dataset: Catalog, size: str = "default", asked: Axes | None = None
) -> list[Adversary]:
    """Adversaries to try on this data: the given options, crossed with the sweep over the others.

    Numbers of items, each with all facts right and with a quarter of them wrong (from 4 items on: a
    quarter of one or two facts is less than one fact, and one wrong fact of two would be half),
    over rows that fit the channels of the data: items only, values exact, values rough, days exact,
    days rough, both exact, both rough. In data that is read to the hour, the minute or the
    second, exact times are exact to that unit, and there are rows more: times to within 12 hours,
    which is to know the day, to within 2 hours (of hours) or 30 minutes, and to within a minute (of
    seconds). Where that gives more than
    about 30 cells, the default sweep tries all amounts for the weakest row, the strongest row and
    the row with every channel rough; the rows between them are tried with 2, 4 and 8 right facts.
    "full" tries every combination.

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
    if axes.view is not None or axes.within is not None:
        check_known(axes.view, axes.within or ())
        seen = dataset if axes.view is None else see(dataset, axes.view)
        amounts = None if axes.knows is None else tuple(k for k in axes.knows if k)
        made = (
            []
            if amounts == ()
            else default_sweep(seen, size, replace(axes, view=None, within=None, knows=amounts))
        )
        if 0 in (axes.knows or ()):
            made.insert(0, Adversary(knows=0, within=axes.within, choose=axes.choose))
        return [replace(who, view=axes.view, within=axes.within) for who in made]
    if axes.wrong is None and Adversary(knows=1, choose=axes.choose).ranking is not None:
        axes = replace(axes, wrong=(0,))
    amounts = axes.knows or _numbers_known(dataset, axes.choose)
    rows, corners = _rows(dataset, axes, size)
    related = parse_choice(axes.choose).grouping is not None  # all facts are right
    cells = [
        (row, k, w)
        for row in rows
        for k in amounts
        for w in ((0,) if related and axes.wrong is None else _numbers_wrong(k, axes.wrong))
        if not (w and axes.wrong_kind == "value" and row == (None, None))
    ]
    if size == "default" and len(cells) > FULL_UP_TO:
        chosen_here = axes.knows is None and axes.wrong is None
        cells = [
            (row, k, w)
            for row, k, w in cells
            if (row in corners or _is_tried_between(k, w, axes, amounts))
            and not (k == MANY and w and chosen_here)
        ]
    lost = sorted(set(axes.wrong or ()) - {w for _, _, w in cells})
    if lost:
        raise ParameterError(
            f"wrong={lost[0]:g} of {', '.join(map(str, amounts))} known items: use at most as many as are known, and "
            "wrong_kind='item' where neither values nor days are known"
        )
    return [_adversary(row, k, w, axes, dataset) for row, k, w in cells]


def fit_to_data(who: Adversary, dataset: Catalog) -> Adversary:
    """Drop the default exact values if the data has no values; refuse other knowledge that the data does not have."""
    dataset = seen_through(dataset, who)
    check_channels(who, dataset)
    if who.gamma is not None and not dataset.has_value:
        raise ParameterError(f"gamma={who.gamma:g}: the data has no values; leave gamma out")
    has_values = "value" in level_names(dataset)
    return who if has_values or who.value_within is None else replace(who, value_within=None)


def _adversary(
    row: tuple[Within, Within], knows: int, wrong: float, axes: Axes, dataset: Catalog
) -> Adversary:
    """One adversary. If no value or day can be wrong and `wrong_kind` is not given, wrong facts are wrong items."""
    # a wrong fact of an adversary who knows neither values nor days can only be a wrong item
    kind = "item" if row == (None, None) else axes.wrong_kind or "value"
    who = Adversary(
        knows=knows,
        wrong=wrong,
        wrong_kind=kind,
        value_within=row[0],
        time_within=row[1],
        choose=axes.choose,
    )
    try:
        return fit_to_data(who, dataset)
    except ParameterError:
        if axes.wrong_kind is not None or not wrong or kind == "item":
            raise
        return fit_to_data(replace(who, wrong_kind="item"), dataset)


def rough_value(levels: Array, counts: Array | None = None) -> Within:
    """Tolerance of a roughly known value on this scale, None if it would carry no information.

    At most 20 even steps: one step. Amounts and counts, also with a few negative ones such as
    returns: 10 % of the value. Scales around 0, where a share of the value means little: a
    twentieth of the range that holds the middle 80 % of the values.

    Parameters
    ----------
    levels
        The values of the scale, ascending.
    counts
        Entries per level; all equal by default.

    >>> rough_value(np.arange(0.5, 5.5, 0.5)), rough_value(np.array([1.0, 2.5, 90.0])), rough_value(np.array([0.0, 1.0]))
    (0.5, '10%', None)
    """
    if levels.size < 3:
        return None
    step = grid_step(levels)
    if step is not None and levels[-1] - levels[0] <= (FEW_STEPS + 0.5) * step:
        return _plain(step)
    below = np.cumsum(np.ones(levels.size) if counts is None else counts).astype(np.float64)
    few, low, high = (
        float(levels[np.searchsorted(below, p * below[-1])]) for p in (FEW_NEGATIVE, 0.1, 0.9)
    )
    return ROUGH_AMOUNT if few >= 0 or low == high else _plain((high - low) / PART_OF_SCALE)


def rough_days(span: int) -> int:
    """Two weeks, or a tenth of the span where that is shorter; at least a day.

    >>> rough_days(4000), rough_days(60), rough_days(3)
    (14, 6, 1)
    """
    return int(min(ROUGH_DAYS, max(1, span // 10)))


def _plain(x: float) -> float:
    """One significant digit, or the number itself if it has few."""
    short = x if x == round(x, 3) and x < 100 else float(f"{x:.1g}")
    return int(short) if short == int(short) else short


def _numbers_known(dataset: Catalog, choose: str) -> tuple[int, ...]:
    """Amounts of known items for which enough records are long enough."""
    held = {k: _holders(dataset, k, choose) for k in (*AMOUNTS, MANY)}
    enough = min(FEWEST, dataset.n_records / 2)
    out = [k for k in AMOUNTS if held[k] >= enough] or [AMOUNTS[0]]
    if held[MANY] >= max(dataset.n_records / 2, 1):
        out.append(MANY)
    return tuple(out)


def _holders(dataset: Catalog, k: int, choose: str) -> int:
    return Adversary(knows=k, value_within=None, choose=choose).n_eligible(dataset)


def _rows(
    dataset: Catalog, axes: Axes, size: str
) -> tuple[list[tuple[Within, Within]], set[tuple[Within, Within]]]:
    """(value tolerance, time tolerance) of each row, and the rows that bound the others."""
    values: Sequence[Within] = axes.value_within or _exact_and_rough(
        rough_value(dataset.levels, _counts(dataset)), dataset.has_value and dataset.n_levels > 1
    )
    times: Sequence[Within] = axes.time_within or _times(dataset)
    rows = [(v, t) for v in values for t in times]
    corners = {(values[0], times[0]), (values[-1], times[-1])}
    if (
        len(values) == 3
        and len(times) >= 3
        and axes.value_within is None
        and axes.time_within is None
    ):
        corners.add((values[1], times[1]))
        if size == "default":
            # rows with both channels lie between both rough and both exact
            rows = [(v, t) for v, t in rows if v is None or t is None or (v, t) in corners]
    return rows, corners


def _times(dataset: Catalog) -> tuple[Within, ...]:
    """Tolerances of times, from unknown to exact."""
    span = dataset.tick_span // dataset.ticks_per_day
    days = rough_days(span)
    rough = days if span > 2 * days else None
    if dataset.time_resolution == "day" or not dataset.tick_span:
        return _exact_and_rough(rough, dataset.has_time and dataset.tick_span > 0)
    fine = [
        within for within in FINE_TIMES[dataset.time_resolution] if _is_shorter(within, dataset)
    ]
    return (None, *(() if rough is None else (rough,)), *fine, 0)


def _is_shorter(within: str, dataset: Catalog) -> bool:
    """Whether the data spans more than twice the tolerance."""
    return dataset.tick_span > 2 * ticks_within(within, dataset.time_resolution)


def _counts(dataset: Catalog) -> Array:
    """Entries per level of the value scale."""
    return background(dataset).all_values


def _exact_and_rough(rough: Within, there: bool) -> tuple[Within, ...]:
    """From unknown to exact."""
    if not there:
        return (None,)
    return (None, 0) if rough is None else (None, rough, 0)


def _numbers_wrong(knows: int, asked: tuple[float, ...] | None) -> tuple[float, ...]:
    """Numbers of wrong facts to try with this number of items."""
    if asked is not None:
        return tuple(w for w in asked if w <= knows)
    return (0, knows // 4) if knows >= 4 else (0,)


def _is_tried_between(knows: int, wrong: float, axes: Axes, amounts: tuple[int, ...]) -> bool:
    """Whether a cell of a row between the corners is in the default sweep."""
    amount = axes.knows is not None or knows in MIDDLE or len(amounts) == 1
    return amount and (axes.wrong is not None or not wrong)
