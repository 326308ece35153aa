"""`sequence`: each entry known with the one that follows it, as in "first the bakery, then the pharmacy"."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import text_labels
from standout.data.mechanism import Mechanism, TimeMap
from standout.errors import ParameterError
from standout.views.view import View, noted, register_view


@register_view("sequence")
class SequenceView(View):
    """Show pairs "A → B" in place of items: an entry and the next one of its record in time.

    A pair has the value and the time of its first entry. The last entry of a record has no pair.
    Entries at the same time follow each other in the order of the item labels. Entries without a
    time are left out.
    """

    @property
    def words(self) -> str:
        """What is known of an item."""
        return "items known with the one that follows"

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the dataset with pairs of successive items as items."""
        if not dataset.has_time:
            raise ParameterError(
                "view 'sequence' needs times: name a time column, or leave the view out"
            )
        first, second = successive(dataset)
        n = dataset.n_items
        item = dataset.record_item.astype(np.int64)
        pair, place = np.unique(item[first] * n + item[second], return_inverse=True)
        names = dataset.item_labels.astype(str)
        texts = [f"{names[a]} → {names[b]}" for a, b in zip(pair // n, pair % n, strict=True)]
        distinct = sorted(set(texts))
        number = {text: k for k, text in enumerate(distinct)}
        to = np.array([number[text] for text in texts], np.int64)
        follower = np.full(dataset.n_entries, -1, np.int64)
        follower[first] = to[place.reshape(-1)]
        kept = follower >= 0
        shown = dataset.with_entries(kept, item=follower[kept], item_labels=text_labels(distinct))
        timeless = int((dataset.record_tick == dataset.no_tick).sum())
        what = (
            "1 entry without a time is"
            if timeless == 1
            else f"{timeless:,} entries without a time are"
        )
        return noted(shown, f"{self.text}: {what} left out" if timeless else "")

    def push(self, mechanism: Mechanism) -> Mechanism | None:
        """Return the parameters if the order of entries is that of the source: only whole people or values changed."""
        times = mechanism.time is None or mechanism.time == TimeMap(mechanism.time.shift)
        left = replace(
            mechanism, sampled=1.0, time=None, dropped=frozenset(), value=None, source_lengths=None
        )
        return replace(mechanism, source_lengths=None) if times and left.is_neutral else None


def successive(dataset: Dataset) -> tuple[Array, Array]:
    """Places of two successive entries of a record, pair by pair; entries without a time are left out."""
    record = np.repeat(np.arange(dataset.n_records), np.diff(dataset.record_ptr))
    timed = np.flatnonzero(dataset.record_tick != dataset.no_tick)
    order = timed[np.lexsort((timed, dataset.record_tick[timed], record[timed]))]
    follows = record[order[1:]] == record[order[:-1]]
    return order[:-1][follows], order[1:][follows]
