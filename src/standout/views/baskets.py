"""`baskets`: a receipt of a person as one entry, with its total, its size and its time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from standout.arrays import Array
from standout.data.channels import JointCodes
from standout.data.dataset import Dataset
from standout.data.labels import text_labels
from standout.errors import ParameterError
from standout.views.amounts import group_sums, line_channel, numbers_of
from standout.views.view import View, noted, register_view

DAY = "day"
BASKET = "basket"
"""Label of the only item where baskets are not told apart."""


@register_view("baskets")
class BasketsView(View):
    """Show each basket in place of its lines: the entries of a person that share a receipt, as one entry.

    The number of a receipt is not known to an attacker, and is not shown. All baskets are the same
    item, or the item is what tells them apart: a shop, the day. Channels are `size` (number of
    different items) and `total` (sum of amounts, as in `totals`). The time is the earliest of the
    basket. Values and other channels of the lines are left out, and so are lines without a receipt.

    Parameters
    ----------
    receipt
        Name of the channel of receipts; or with what tells baskets apart, a channel or "day",
        several joined by "+": "receipt@shop", "receipt@shop+day".
    total
        Channel to sum up, or several to multiply before: "price*quantity". Default: the value, if
        the data has values; else there is no total.
    """

    def __init__(self, receipt: str = "receipt", *, total: str | None = None) -> None:
        name, at, by = receipt.partition("@")
        self.receipt = name.strip()
        self.by = tuple(part.strip() for part in by.split("+")) if at else ()
        self.total = None if total is None else tuple(part.strip() for part in total.split("*"))
        named = (self.receipt, *self.by, *(self.total or ()))
        if not all(one.isidentifier() for one in named) or len({*named[: 1 + len(self.by)]}) <= len(
            self.by
        ):
            raise ParameterError(
                f"view {self.text!r}: use baskets:RECEIPT, baskets:RECEIPT@SHOP, baskets:RECEIPT@day or "
                "baskets:RECEIPT@SHOP+day, with names of channels, and ?total=PRICE*QUANTITY behind it"
            )

    @property
    def text(self) -> str:
        """The view with its channels."""
        by = f"@{'+'.join(self.by)}" if self.by else ""
        total = "" if self.total is None else f"?total={'*'.join(self.total)}"
        return f"{self.name}:{self.receipt}{by}{total}"

    @property
    def words(self) -> str:
        """What is known in place of items."""
        by = f", each known by {' and '.join(self.by)}" if self.by else ""
        return f"whole baskets by {self.receipt}{by}"

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with baskets as entries."""
        told_apart = self._levels(dataset)
        has_all = np.logical_and.reduce([level >= 0 for level in told_apart])
        record = np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr))
        line = np.flatnonzero(has_all)
        basket = _numbered([record[line], *(level[line] for level in told_apart)])
        tick = dataset.record_tick if dataset.has_time else np.zeros(dataset.n_entries, np.int64)
        first = line[_earliest(basket, tick[line])]
        if self._by_day(dataset):
            first = first[dataset.record_tick[first] != dataset.no_tick]
        labels, item = self._items(dataset, told_apart[1:], first)
        amount, size = self._total(dataset), np.full(dataset.n_entries, np.nan)
        size[line] = _n_items(basket, dataset.record_item[line])
        added = [line_channel("size", size)]
        if amount is not None:
            amount[line] = group_sums(amount[line], basket)[basket]
            amount[~has_all] = np.nan
            added.append(line_channel("total", amount))
        channels, codes = zip(*added, strict=True)
        # rows stay sorted by record, item and time: what is dropped comes behind them
        bare = dataset.with_entries(drop=_level_names(dataset))
        bare = replace(bare, further=JointCodes.of(channels, codes))
        keep = np.zeros(dataset.n_entries, np.bool_)
        keep[first] = True
        item_of = np.empty(dataset.n_entries, np.int64)
        item_of[first] = item
        shown = bare.with_entries(keep, item=item_of[keep], item_labels=labels)
        gone = int((~has_all).sum())
        what = "1 entry" if gone == 1 else f"{gone:,} entries"
        lacks = f"{what} without {' or '.join((self.receipt, *self._channels(dataset)))} left out"
        return noted(shown, f"{self.text}: {lacks}" if gone else "")

    def _by_day(self, dataset: Dataset) -> bool:
        """Whether the days of the baskets tell them apart; a channel of that name comes first."""
        return len(self._channels(dataset)) < len(self.by)

    def _channels(self, dataset: Dataset) -> tuple[str, ...]:
        """The channels that tell baskets apart."""
        names = [channel.name for channel in dataset.channels]
        return tuple(name for name in self.by if name != DAY or name in names)

    def _levels(self, dataset: Dataset) -> list[Array]:
        """Level of each entry in the channel of receipts, and in those that tell baskets apart; -1 = none."""
        names = [channel.name for channel in dataset.channels]
        out = []
        for name in (self.receipt, *self._channels(dataset)):
            if name not in names or dataset.further is None:
                raise ParameterError(
                    f"view {self.text!r}: no channel {name!r} in the data, which has {', '.join(names) or 'none'}; name the "
                    f"column when the data is read (channels=, --channel {name}=COLUMN)"
                )
            at = dataset.further.named(name)
            level = dataset.further.columns()[at].astype(np.int64)
            out.append(np.where(level < dataset.further.channels[at].n_levels, level, -1))
        if self._by_day(dataset) and not dataset.has_time:
            raise ParameterError(
                f"view {self.text!r} needs times: name a time column (--time COLUMN), or leave @day out"
            )
        return out

    def _items(
        self, dataset: Dataset, levels: Sequence[Array], first: Array
    ) -> tuple[Array, Array]:
        """Labels of the items, and the item of each basket."""
        assert dataset.further is not None
        names, columns = self._channels(dataset), []
        for name, level in zip(names, levels, strict=True):
            channel = dataset.further.channels[dataset.further.named(name)]
            columns.append([str(x) for x in channel.label_or_level[level[first]].tolist()])
        if self._by_day(dataset):
            tick = dataset.record_tick[first].astype(np.int64) + dataset.first_tick
            days = (tick // dataset.ticks_per_day).astype("datetime64[D]")
            columns.append(days.astype(str).tolist())
        if not columns:
            return text_labels([BASKET]), np.zeros(first.size, np.int64)
        texts = [" · ".join(parts) for parts in zip(*columns, strict=True)]
        distinct = sorted({*texts})
        number = {text: k for k, text in enumerate(distinct)}
        return text_labels(distinct), np.array([number[text] for text in texts], np.int64)

    def _total(self, dataset: Dataset) -> Array | None:
        """Amount of each line, NaN = none; None where there are no amounts."""
        if self.total is None and not dataset.has_value:
            return None
        factors = self.total or ("value",)
        return np.asarray(
            np.prod([numbers_of(dataset, name, self.text) for name in factors], axis=0)
        )


def _level_names(dataset: Dataset) -> list[str]:
    own = ["value"] if dataset.has_value else []
    return [*own, *(channel.name for channel in dataset.channels)]


def _numbered(columns: Sequence[Array]) -> Array:
    """Number of each row's combination of whole numbers ≥ 0.

    >>> _numbered([np.array([0, 0, 2]), np.array([7, 5, 7])]).tolist()
    [1, 0, 2]
    """
    out = np.zeros(columns[0].size, np.int64)
    for column in columns:
        distinct, place = np.unique(column, return_inverse=True)
        out = np.unique(out * max(distinct.size, 1) + place.reshape(-1), return_inverse=True)[1]
        out = out.reshape(-1)
    return out


def _earliest(group: Array, tick: Array) -> Array:
    """Place of the earliest entry of each group; entries without a time come last."""
    order = np.lexsort((tick, group))
    return np.asarray(order[np.append(True, np.diff(group[order]) > 0)[: order.size]])


def _n_items(group: Array, item: Array) -> Array:
    """Per entry: number of different items in its group."""
    pair = _numbered([group, item])
    first = np.unique(pair, return_index=True)[1]
    return np.asarray(np.bincount(group[first])[group], np.float64)
