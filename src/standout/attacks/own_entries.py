"""Which entries of a record are the person's own, in a release with entries that came from others."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from standout.adversary.choosing import starts
from standout.arrays import Array
from standout.attacks.adaptive_sizes import strange_items
from standout.data.dataset import Dataset
from standout.data.purposes import PURPOSE_COUNTED, PURPOSE_OWN

MOST_RECORDS, MOST_ITEMS = 5_000, 100
"""Records that co-occurrence is counted in, and items of a record that each of its items is compared with."""

NEAR = 30
"""Days within which another entry of the record counts as near."""

LEAST_LIFT = 0.02


def own_entries(release: Dataset, records: Array, seed: int) -> Array:
    """Whether each entry is kept: those of the given records that are drawn as not the person's own are not.

    An entry of item i is not the person's own with probability s_i beforehand (`strange_items`).
    Own items go together, so the odds are multiplied by λ, how much more often than by chance the
    item occurs beside the record's other items, and how many of the record's entries are near its
    day. What came from others dilutes both: exchanged entries have λ = 1.
    """
    keep = np.ones(release.n_entries, np.bool_)
    strange = strange_items(release)
    together = _Together(release, seed, strange)
    tick = release.record_tick.astype(np.int64) if release.has_time else np.empty(0, np.int64)
    every = np.sort(tick[tick != release.no_tick])
    for r in records.tolist():
        row = slice(int(release.record_ptr[r]), int(release.record_ptr[r + 1]))
        item = release.record_item[row].astype(np.int64)
        distinct, place = np.unique(item, return_inverse=True)
        lift = together.lift(r, distinct)[place.reshape(-1)]
        if release.has_time and item.size > 1:
            known = tick[row] != release.no_tick
            reach = NEAR * release.ticks_per_day
            lift = lift * np.where(
                known, _near(tick[row], known, every, reach, float(strange[item].mean())), 1.0
            )
        odds = (1 - strange[item]) * lift
        base = starts(seed, PURPOSE_OWN, release.record_keys[r] + item.astype(np.uint64))
        keep[row] = base.astype(np.float64) / 2.0**64 < odds / (odds + strange[item])
    return keep


class _Together:
    """How often items occur together, in a sample of the records."""

    def __init__(self, release: Dataset, seed: int, strange: Array) -> None:
        order = np.argsort(starts(seed, PURPOSE_COUNTED, release.record_keys), kind="stable")
        rows = np.sort(order[:MOST_RECORDS])
        held = sparse.csr_array(
            (
                np.ones(release.n_entries),
                release.record_item.astype(np.int64),
                release.record_ptr.astype(np.int64),
            ),
            shape=(release.n_records, release.n_items),
        )
        held.sum_duplicates()
        held.data[:] = 1.0
        held = held[rows]
        length = np.asarray(held.sum(axis=1)).reshape(-1)
        self.support = np.asarray(held.sum(axis=0)).reshape(-1)
        # long records hold more pairs
        self.pairs = float((length**2).sum() / max(length.sum(), 1.0) ** 2)
        self.held, self.strange = sparse.csc_array(held), strange
        self.counted = np.zeros(release.n_records, np.bool_)
        self.counted[rows] = True

    def lift(self, record: int, item: Array) -> Array:
        """λ of each item of the record: its occurrences beside the record's other items, over those expected by chance."""
        some = item if item.size <= MOST_ITEMS else item[:: -(-item.size // MOST_ITEMS)]
        own = float(self.counted[record])
        count = np.asarray((self.held[:, item].T @ self.held[:, some]).todense()) - own
        expected = (
            (self.support[item] - own)[:, None] * (self.support[some] - own)[None, :] * self.pairs
        )
        other = item[:, None] != some[None, :]
        stays = (1 - self.strange[item])[:, None] * (1 - self.strange[some])[None, :] ** 2
        more = ((count - expected) * other).sum(axis=1) / (
            (expected * stays * other).sum(axis=1) + 0.5
        )
        return np.asarray(np.maximum(1 + more, LEAST_LIFT))


def _near(tick: Array, known: Array, every: Array, reach: int, strange: float) -> Array:
    """λ of each entry of a record by its time: other entries of the record near it, over those expected by chance."""
    mine = np.sort(tick[known])

    def within(among: Array) -> Array:
        return np.searchsorted(among, tick + reach, side="right") - np.searchsorted(
            among, tick - reach
        )

    expected = (mine.size - 1) * within(every) / max(every.size, 1)
    lift = 1 + (within(mine) - 1 - expected) / (expected * (1 - strange) + 0.5)
    return np.asarray(np.maximum(lift, LEAST_LIFT))
