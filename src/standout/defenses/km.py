"""k^m-anonymity by suppression of items (Terrovitis, Mamoulis, Kalnis 2008), the classical reference for set-valued data."""

from __future__ import annotations

import numpy as np

from standout.adversary.splitmix import jit
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_records
from standout.data.mechanism import Mechanism
from standout.defenses import checks
from standout.defenses.defense import Defense, register_defense
from standout.defenses.suppress import kept_pairs, without_items


@register_defense("suppress-km")
class SuppressKM(Defense):
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

    streaming = False

    def __init__(self, *, k: int, m: int = 2) -> None:
        self.k = checks.whole(self.name, k, "k", 1)
        self.m = checks.whole(self.name, m, "m", 1, 3)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data without the suppressed items."""
        return without_items(source, anonymous_items(source, self.k, self.m))

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the share of pairs on items that are kept."""
        return Mechanism(kept_pairs=kept_pairs(source, release))


def anonymous_items(dataset: Dataset, k: int, m: int) -> Array:
    """One bool per item: whether it is kept."""
    if m == 1 or k == 1:
        return dataset.supports >= k
    record = entry_records(dataset)
    first = np.concatenate(
        [[True], (np.diff(dataset.record_item.astype(np.int64)) != 0) | (np.diff(record) != 0)]
    )
    record, item = record[first], dataset.record_item[first].astype(np.int64)
    order = np.argsort(item, kind="stable")
    ptr = np.concatenate([[0], np.cumsum(dataset.supports)])
    tried = np.argsort(dataset.popularity_rank)[: int((dataset.supports >= k).sum())]
    kept = np.zeros(dataset.n_items, np.bool_)
    kept[
        tried[
            _keep_greedily(
                tried, ptr, record[order], dataset.n_records, int(dataset.lengths.max()), k, m
            )
        ]
    ] = True
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
