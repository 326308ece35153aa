"""Views that rank the items of each record and keep the first ones: what `favorite`, `recent` and `rarest` know."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from standout.arrays import Array
from standout.data.adding import with_channels
from standout.data.catalog import Catalog
from standout.data.channels import JointDataset
from standout.data.dataset import Dataset
from standout.data.scale import Channel
from standout.errors import ParameterError
from standout.views.amounts import pair_numbers
from standout.views.view import View, noted

RANK = "rank"
"""Name of the channel."""


@dataclass(frozen=True, eq=False, repr=False)
class RankChannel(Channel):
    """The channel that a ranking view adds: 1, 2, … up to the number of items that may be known."""


class RankView(View):
    """Keep the first items of each record in some order, with their rank as a further channel.

    Items that the order does not tell apart share a rank, and the next rank is that of the next
    item: 1, 2, 2, 4. Items are kept up to rank `most`; ties at the last rank are all kept, so that a
    record may keep more than `most` items. A subclass defines `position`.

    Parameters
    ----------
    most
        Largest rank.
    """

    words: ClassVar[str] = ""

    def __init__(self, most: int) -> None:
        self.most = most

    @abstractmethod
    def position(self, dataset: Dataset, pair: Array) -> Array:
        """Number of each entry, ascending from the first item of the record to the last; the least of an item's entries counts.

        Parameters
        ----------
        dataset
            The data.
        pair
            Number of each entry's (record, item) pair.
        """

    def kept(self, position: Array, best: Array) -> Array:
        """Mark the entries of an item that may be known, from their own position and the best one of the item; all by default."""
        return np.ones(position.size, np.bool_)

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with the first items of each record, and their rank."""
        if RANK in [channel.name for channel in dataset.channels] or RANK in dataset.attributes:
            raise ParameterError(
                f"{self.words}: the data has a channel {RANK!r} already: give its column another name when the data is read"
            )
        pair = pair_numbers(dataset)
        position = np.asarray(self.position(dataset, pair), np.float64)
        best = np.full(int(pair.max(initial=-1)) + 1, np.inf)
        np.minimum.at(best, pair, position)
        record = np.zeros(best.size, np.int64)
        record[pair] = np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr))
        rank = competition_ranks(record, best)[pair]
        some = np.isfinite(position)
        keep = some & (rank <= self.most) & self.kept(position, best[pair])
        shown = dataset.with_entries(keep)
        channel = RankChannel(RANK, np.arange(1.0, self.most + 1))
        lost = int((~some).sum())
        what = "1 entry without a time is" if lost == 1 else f"{lost:,} entries without a time are"
        return noted(
            with_channels(shown, [(channel, rank[keep] - 1)]),
            f"{self.text}: {what} left out" if lost else "",
        )


def competition_ranks(record: Array, position: Array) -> Array:
    """int64: 1 + number of pairs of the same record with a smaller position.

    >>> competition_ranks(np.array([0, 0, 0, 0, 1]), np.array([5.0, 1.0, 5.0, 9.0, 7.0])).tolist()
    [2, 1, 2, 4, 1]
    """
    order = np.lexsort((position, record))
    own, at = record[order], position[order]
    place = np.arange(order.size)
    new_record = np.append(True, own[1:] != own[:-1])[: order.size]
    new = new_record | np.append(True, at[1:] != at[:-1])[: order.size]
    first = np.maximum.accumulate(np.where(new_record, place, 0))
    tied = np.maximum.accumulate(np.where(new, place, 0))
    out = np.empty(order.size, np.int64)
    out[order] = tied - first + 1
    return out


def is_ranked(dataset: Catalog) -> bool:
    """Whether a ranking view made this dataset."""
    channels = dataset.channels_read if isinstance(dataset, JointDataset) else dataset.channels
    return any(isinstance(channel, RankChannel) for channel in channels)


class FrequentView(RankView):
    """The most frequent items of each record, by their number of entries."""

    name, words = "most-frequent", "most frequent items"

    def position(self, dataset: Dataset, pair: Array) -> Array:
        """Return the negative number of entries of each entry's item."""
        return np.asarray(-np.bincount(pair)[pair].astype(np.float64))


class LatestView(RankView):
    """The last items of each record: the latest entry of each item, or several at the same time."""

    name, words = "latest", "last items"

    @staticmethod
    def lacking(dataset: Catalog) -> str:
        """Return that times are missing, as an error message."""
        needed = "choose='recent' needs times: name a time column, or use another choice"
        return "" if dataset.has_time else needed

    def position(self, dataset: Dataset, pair: Array) -> Array:
        """Return the negative time of each entry; infinite without one."""
        if lacking := self.lacking(dataset):
            raise ParameterError(lacking)
        tick = dataset.record_tick
        return np.where(tick == dataset.no_tick, np.inf, -tick.astype(np.float64))

    def kept(self, position: Array, best: Array) -> Array:
        """Mark the latest entries of each item."""
        return np.asarray(position == best)


class RarestView(RankView):
    """The items of each record that the fewest records hold."""

    name, words = "rarest", "rarest items"

    def position(self, dataset: Dataset, pair: Array) -> Array:
        """Return the number of records that hold each entry's item."""
        return dataset.supports[dataset.record_item].astype(np.float64)
