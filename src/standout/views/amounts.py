"""`counts` and `totals`: how often, and how much in all, a person has each item, as a further channel.

`view.py` loads the module by the name of the view. The views of receipts (`baskets.py`) and of ranks
(`ranks.py`) count with the same functions.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from standout.arrays import Array
from standout.data.adding import with_channels
from standout.data.dataset import Dataset
from standout.data.scale import Channel
from standout.data.values import codes_of, levels_of
from standout.errors import ParameterError
from standout.views.view import View, register_view

_DIGITS = 12
"""Significant digits of a total: 0.1 + 0.2 is 0.3."""


@register_view("counts")
class CountsView(View):
    """Add the channel `count`: number of entries of the item in the record, the same on each of them.

    "About five times" is `within={"count": 1}`. A query has an item at most once, so that its count
    is known at most once.
    """

    adds = ("count",)

    @property
    def words(self) -> str:
        """What is added."""
        return "how often each item occurs"

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the further channel."""
        pair = pair_numbers(dataset)
        count = np.bincount(pair)[pair].astype(np.float64)
        return with_channels(dataset, [line_channel("count", count)])


@register_view("totals")
class TotalsView(View):
    """Add the channel `total`: sum of the values of the item's entries in the record, the same on each of them.

    Entries without a value count as 0. Where no entry of the item has one, there is no total.

    Parameters
    ----------
    channel
        The channel to sum up.
    """

    adds = ("total",)

    def __init__(self, channel: str = "value") -> None:
        self.channel = channel

    @property
    def text(self) -> str:
        """The view with its channel."""
        return self.name if self.channel == "value" else f"{self.name}:{self.channel}"

    @property
    def words(self) -> str:
        """What is added."""
        return f"total {self.channel} of each item"

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the further channel."""
        number, pair = numbers_of(dataset, self.channel, self.text), pair_numbers(dataset)
        return with_channels(dataset, [line_channel("total", group_sums(number, pair)[pair])])


def group_sums(number: Array, group: Array) -> Array:
    """Sum of the numbers of each group, NaN = none where no entry has one; an entry without a number counts as 0."""
    known = ~np.isnan(number)
    total = np.bincount(group, weights=np.where(known, number, 0.0))
    some = np.bincount(group, weights=known) > 0
    return np.where(some, rounded(total), np.nan)


def numbers_of(dataset: Dataset, name: str, text: str) -> Array:
    """Number of each entry in the value or in a channel of amounts, NaN = none; `text` is the view that needs it."""
    if name == "value" and dataset.has_value:
        return np.append(dataset.levels, np.nan)[dataset.record_code]
    names = [channel.name for channel in dataset.channels]
    if name not in names or dataset.further is None:
        there = ", ".join([*(["value"] if dataset.has_value else []), *names]) or "none"
        option = "--value COLUMN" if name == "value" else f"--channel {name}=COLUMN"
        raise ParameterError(
            f"view {text!r}: no channel {name!r} in the data, which has {there}; name another one in the view, or the column "
            f"when the data is read ({option})"
        )
    at = dataset.further.named(name)
    channel = dataset.further.channels[at]
    if channel.kind != "line":
        raise ParameterError(
            f"view {text!r}: {name} has {'labels' if channel.labels is not None else 'a circle of levels'}, "
            "which have no sum; name a channel of amounts"
        )
    return np.append(channel.levels, np.nan)[dataset.further.columns()[at]]


def pair_numbers(dataset: Dataset) -> Array:
    """int64 (entries): number of the (record, item) pair of each entry, from 0."""
    item = dataset.record_item
    if not item.size:
        return np.empty(0, np.int64)
    new = np.append(True, item[1:] != item[:-1])
    new[dataset.record_ptr[:-1][dataset.record_ptr[:-1] < item.size]] = True
    return np.asarray(np.cumsum(new) - 1)


def rounded(x: Array) -> Array:
    """The numbers to `_DIGITS` significant digits.

    >>> rounded(np.array([0.1 + 0.2, 0.0])).tolist()
    [0.3, 0.0]
    """
    as_text = partial(np.format_float_scientific, precision=_DIGITS - 1, unique=False)
    distinct, place = np.unique(x, return_inverse=True)
    short = np.array([float(as_text(one)) for one in distinct], np.float64)
    return np.asarray(short[place.reshape(-1)])


def line_channel(name: str, number: Array) -> tuple[Channel, Array]:
    """A channel of these numbers, NaN = none, and the level of each."""
    levels = levels_of(np.unique(number[~np.isnan(number)]))
    return Channel(name, levels), codes_of(number, levels).astype(np.int64)
