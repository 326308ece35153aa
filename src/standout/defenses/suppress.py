"""Defenses that remove entries, items or records."""

from __future__ import annotations

import numpy as np

from standout.adversary.splitmix import jit
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.mechanism import Mechanism
from standout.data.purposes import PURPOSE_CAP, PURPOSE_ENTRIES, PURPOSE_RECORDS
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense


def without_items(source: Dataset, kept: Array) -> Dataset:
    """The source without the items outside `kept` (one bool per item)."""
    return source if kept.all() else source.with_entries(kept[source.record_item])


def kept_pairs(source: Dataset, release: Dataset) -> float:
    """Share of the source's (record, item) pairs whose item is in the catalog of the release."""
    there = find_labels(release.item_labels, source.item_labels) >= 0
    return float(source.supports[there].sum() / max(source.n_pairs, 1))


@register_defense("drop-entries")
class DropEntries(Defense):
    """Remove entries at random.

    Parameters
    ----------
    share
        Probability that an entry is removed, independently of all others.
    """

    per_entry = True

    def __init__(self, *, share: float) -> None:
        self.share = checks.share(self.name, share)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without the removed entries."""
        return source.with_entries(
            draws.entry_uniforms(source, seed, PURPOSE_ENTRIES) >= self.share
        )

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probabilities that an item is removed with all its events, and that an event is if another one is left."""
        if not source.has_repeats or self.share in (0, 1):
            return Mechanism(lost=self.share)
        pair = (
            np.repeat(np.arange(source.n_records), np.diff(source.record_ptr)) * source.n_items
            + source.record_item
        )
        n_events = np.unique(pair, return_counts=True)[1]
        lost = float((self.share**n_events).mean())
        return Mechanism(lost=lost, hidden=1 - (1 - self.share) / (1 - lost))


@register_defense("drop-rare-items")
class DropRareItems(Defense):
    """Remove items that few records hold.

    Parameters
    ----------
    min_support
        Items that fewer records hold are removed from all records.
    """

    streaming = False

    def __init__(self, *, min_support: int) -> None:
        self.min_support = checks.whole(self.name, min_support, "min_support", 0)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without the rare items."""
        return without_items(source, source.supports >= self.min_support)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the share of pairs on items that are kept."""
        return Mechanism(kept_pairs=kept_pairs(source, release))


@register_defense("keep-top-items")
class KeepTopItems(Defense):
    """Keep only the most held items.

    Parameters
    ----------
    k
        Number of items to keep. Among items with the same support, those whose label sorts first
        are kept.
    """

    streaming = False

    def __init__(self, *, k: int) -> None:
        self.k = checks.whole(self.name, k, "k", 1)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without all other items."""
        return without_items(source, source.popularity_rank < self.k)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the share of pairs on items that are kept."""
        return Mechanism(kept_pairs=kept_pairs(source, release))


@register_defense("cap-entries")
class CapEntries(Defense):
    """Limit the number of items per record.

    Parameters
    ----------
    most
        A record with more items keeps this many, chosen at random, each with all its events.
    """

    per_entry = True

    def __init__(self, *, most: int) -> None:
        self.most = checks.whole(self.name, most, "most", 1)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with shorter records."""
        bits = draws.entry_bits(source, seed, PURPOSE_CAP)
        return source.with_entries(
            _lowest(source.record_ptr, source.record_item, bits, source.lengths, self.most)
        )

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the limit and the lengths of the source's records."""
        return Mechanism(cap=self.most, source_lengths=np.bincount(source.lengths).astype(np.int64))

    def again(self, release: Dataset) -> CapEntries:
        """Return a lower limit: records of the release keep the same mean share of their items as those of the source did."""
        published = release.mechanism.source_lengths if release.mechanism is not None else None
        if published is None or not np.sum(published[1:]):
            return self
        length = np.maximum(np.arange(published.size), 1)
        kept = np.average(np.minimum(self.most / length, 1.0)[1:], weights=published[1:])
        limits = np.arange(1, self.most + 1)
        shares = np.array(
            [np.minimum(n / np.maximum(release.lengths, 1), 1.0).mean() for n in limits]
        )
        return CapEntries(most=int(limits[np.abs(shares - kept).argmin()]))


@register_defense("sample-records")
class SampleRecords(Defense):
    """Release only some of the records.

    Parameters
    ----------
    share
        Probability that a record is released.
    """

    def __init__(self, *, share: float) -> None:
        self.share = checks.share(self.name, share)

    def again(self, release: Dataset) -> SampleRecords:
        """Return a sample of all: records of the release are as they were, and targets are searched among all of them."""
        return SampleRecords(share=1)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data in which the other records are empty."""
        chosen = draws.record_uniforms(source, seed, PURPOSE_RECORDS) < self.share
        return source.with_entries(np.repeat(chosen, np.diff(source.record_ptr)))

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probability of being released."""
        return Mechanism(sampled=self.share)


@jit
def _lowest(ptr: Array, item: Array, bits: Array, lengths: Array, most: int) -> Array:
    """Mark the entries of the `most` items of each record whose first event has the lowest bits."""
    keep = np.ones(item.size, np.bool_)
    for r in range(ptr.size - 1):
        if lengths[r] <= most:
            continue
        lo, hi = ptr[r], ptr[r + 1]
        first = np.empty(lengths[r], np.uint64)
        n = 0
        for k in range(lo, hi):
            if k == lo or item[k] != item[k - 1]:
                first[n] = bits[k]
                n += 1
        limit = np.sort(first)[most - 1]
        kept = False
        for k in range(lo, hi):
            if k == lo or item[k] != item[k - 1]:
                kept = bits[k] <= limit
            keep[k] = kept
    return keep
