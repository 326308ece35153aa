"""Defenses that remove entries, items or records; among them k^m-anonymity (Terrovitis, Mamoulis, Kalnis 2008)."""

from __future__ import annotations

import numpy as np

from standout.adversary.splitmix import jit
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_records
from standout.data.labels import find_labels
from standout.data.mechanism import Mechanism
from standout.data.purposes import PURPOSE_CAP, PURPOSE_ENTRIES, PURPOSE_RECORDS
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense


class ItemSuppression(Defense):
    """A defense that removes items from all records."""

    streaming = False

    def kept_items(self, source: Dataset) -> Array:
        """Return one bool per item: whether it is kept."""
        raise NotImplementedError

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without the removed items."""
        kept = self.kept_items(source)
        return source if kept.all() else source.with_entries(kept[source.record_item])

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the share of the source's (record, item) pairs whose item is in the catalog of the release."""
        there = find_labels(release.item_labels, source.item_labels) >= 0
        return Mechanism(kept_pairs=float(source.supports[there].sum() / max(source.n_pairs, 1)))


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
        pair = entry_records(source) * source.n_items + source.record_item
        n_events = np.unique(pair, return_counts=True)[1]
        lost = float((self.share**n_events).mean())
        return Mechanism(lost=lost, hidden=1 - (1 - self.share) / (1 - lost))


@register_defense("drop-rare-items")
class DropRareItems(ItemSuppression):
    """Remove items that few records hold.

    Parameters
    ----------
    min_support
        Items that fewer records hold are removed from all records.
    """

    def __init__(self, *, min_support: int) -> None:
        self.min_support = checks.whole(self.name, min_support, "min_support", 0)

    def kept_items(self, source: Dataset) -> Array:
        """Return the items that enough records hold."""
        return source.supports >= self.min_support


@register_defense("keep-top-items")
class KeepTopItems(ItemSuppression):
    """Keep only the most held items.

    Parameters
    ----------
    k
        Number of items to keep. Among items with the same support, those whose label sorts first
        are kept.
    """

    def __init__(self, *, k: int) -> None:
        self.k = checks.whole(self.name, k, "k", 1)

    def kept_items(self, source: Dataset) -> Array:
        """Return the most held items."""
        return source.popularity_rank < self.k


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
        return source.with_entries(chosen[entry_records(source)])

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


@register_defense("suppress-km")
class SuppressKM(ItemSuppression):
    """Remove items until every set of at most m items that a record holds is held by at least k records.

    Items are tried in the order of their support, the most held first. An item is kept if no set of
    at most m items, it and kept ones, is held by 1 to k - 1 records; otherwise it is removed from
    all records. No removed item could be added again without such a set; another choice of items
    may keep more entries.

    Parameters
    ----------
    k
        Smallest number of records that hold a set; 1 changes nothing.
    m
        Largest number of items that an attacker is assumed to know: 1, 2 or 3.
    """

    def __init__(self, *, k: int, m: int = 2) -> None:
        self.k = checks.whole(self.name, k, "k", 1)
        self.m = checks.whole(self.name, m, "m", 1, 3)

    def kept_items(self, source: Dataset) -> Array:
        """Return the items that are in no set of too few records."""
        return anonymous_items(source, self.k, self.m)


def anonymous_items(dataset: Dataset, k: int, m: int) -> Array:
    """One bool per item: whether it is kept."""
    if m == 1 or k == 1:
        return dataset.supports >= k
    record = entry_records(dataset)
    item = dataset.record_item.astype(np.int64)
    first = np.append(True, (np.diff(item) != 0) | (np.diff(record) != 0))
    record, item = record[first], item[first]
    order = np.argsort(item, kind="stable")
    ptr = np.append(0, np.cumsum(dataset.supports))
    tried = np.argsort(dataset.popularity_rank)[: int((dataset.supports >= k).sum())]
    kept = np.zeros(dataset.n_items, np.bool_)
    longest = int(dataset.lengths.max())
    chosen = _keep_greedily(tried, ptr, record[order], dataset.n_records, longest, k, m)
    kept[tried[chosen]] = True
    return kept


@jit
def _keep_greedily(
    tried: Array, ptr: Array, holders: Array, n_records: int, longest: int, k: int, m: int
) -> Array:
    """Mark the items that are kept, in the order in which they are tried."""
    keep = np.zeros(tried.size, np.bool_)
    n_kept = 0
    # kept items of each record, as a chain of places: `head[r]` is the last one added
    head = np.full(n_records, -1, np.int64)
    room = 1024
    place, before = np.empty(room, np.int64), np.empty(room, np.int64)
    used = 0
    pairs = np.zeros(tried.size, np.int64)
    side = 64
    triples = np.zeros((side if m > 2 else 1, side if m > 2 else 1), np.int32)
    row = np.empty(longest, np.int64)
    for t in range(tried.size):
        i = tried[t]
        fine = True
        if m > 2 and n_kept > side:
            side = 2 * side
            triples = np.zeros((side, side), np.int32)
        # count, check, and set back to zero
        for turn in range(3):
            for p in range(ptr[i], ptr[i + 1]):
                n = 0
                at = head[holders[p]]
                while at >= 0:
                    row[n] = place[at]
                    at = before[at]
                    n += 1
                for a in range(n):
                    x = row[a]
                    if turn == 0:
                        pairs[x] += 1
                    elif turn == 1:
                        fine = fine and pairs[x] >= k
                    else:
                        pairs[x] = 0
                    if m > 2:
                        for b in range(a + 1, n):
                            if turn == 0:
                                triples[row[b], x] += 1
                            elif turn == 1:
                                fine = fine and triples[row[b], x] >= k
                            else:
                                triples[row[b], x] = 0
                if turn == 1 and not fine:
                    break
        if not fine:
            continue
        keep[t] = True
        if used + ptr[i + 1] - ptr[i] > room:
            room = 2 * room + ptr[i + 1] - ptr[i]
            new_place, new_before = np.empty(room, np.int64), np.empty(room, np.int64)
            new_place[:used], new_before[:used] = place[:used], before[:used]
            place, before = new_place, new_before
        for p in range(ptr[i], ptr[i + 1]):
            r = holders[p]
            place[used], before[used] = n_kept, head[r]
            head[r] = used
            used += 1
        n_kept += 1
    return keep
