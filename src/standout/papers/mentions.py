"""Public mentions (F06): read from a second file, or simulated from the release."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from standout.adversary.choosing import starts
from standout.adversary.knowledge import Knowledge
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.purposes import PURPOSE_MENTIONS
from standout.errors import EligibilityError, InputError

BINS = ((1, 1), (2, 3), (4, 7), (8, 15), (16, 31), (32, 63), (64, 127))
"""Exponential bins of the number of mentions; the last one is open."""

BIN_NAMES = ("1", "2–3", "4–7", "8–15", "16–31", "32–63", "≥ 64")
PAPER_USERS = (25, 21, 23, 22, 18, 13, 11)
"""Table 1: the 133 mentioners by bin."""

SHARE_RATED = 0.82


@dataclass(frozen=True, eq=False, repr=False)
class Mentions:
    """Who mentions what. One element per (mentioner, item); a mentioner mentions an item once."""

    target: Array
    """Record behind each mentioner."""
    who: Array
    """Mentioner of each mention, ascending."""
    label: Array
    """Item label of each mention."""
    item: Array
    """Item index of each mention, -1 = the release does not hold it."""
    note: str
    """Their source, in words, with counts."""

    @property
    def n(self) -> int:
        """Number of mentioners."""
        return int(self.target.size)

    @property
    def counts(self) -> Array:
        """Mentions per mentioner."""
        return np.bincount(self.who, minlength=self.n)

    def bins(self) -> Array:
        """Bin of each mentioner, by number of mentions."""
        return np.minimum(np.log2(np.maximum(self.counts, 1)).astype(np.int64), len(BINS) - 1)

    def groups(self) -> list[tuple[str, Array]]:
        """Name of each bin, and which mentioners are in it."""
        return [(name, self.bins() == b) for b, name in enumerate(BIN_NAMES)]

    def rated(self, dataset: Dataset) -> Array:
        """Whether the mentioner's own record holds the mentioned item."""
        return place(dataset, self.target[self.who], self.item) >= 0

    def values(self, dataset: Dataset) -> Array:
        """The mentioner's own value of each mentioned item, NaN where there is none."""
        at = place(dataset, self.target[self.who], self.item)
        if not dataset.has_value:
            return np.full(at.size, np.nan)
        code = dataset.record_code[np.maximum(at, 0)].astype(np.int64)
        return np.where(at >= 0, np.append(dataset.levels, np.nan)[code], np.nan)

    def only(self, keep: Array) -> Mentions:
        """Some of the mentions, chosen by a mask or by their positions, by the same mentioners."""
        return replace(self, who=self.who[keep], label=self.label[keep], item=self.item[keep])

    def plus(self, who: Array, item: Array, dataset: Dataset) -> Mentions:
        """More mentions, of items of the release."""
        whos = np.concatenate([self.who, who])
        label = np.concatenate([self.label, dataset.item_labels[item]])
        more = replace(self, who=whos, label=label, item=np.concatenate([self.item, item]))
        return more.only(np.argsort(whos, kind="stable"))

    def knowledge(self, dataset: Dataset, with_values: bool = False) -> tuple[Knowledge, Array]:
        """The knowledge of an attacker, and the mentioner of each query; mentioners without mentions have no query."""
        values = self.values(dataset) if with_values else None
        return Knowledge.from_arrays(self.who, self.label, values), np.unique(self.who)


def place(dataset: Dataset, record: Array, item: Array) -> Array:
    """Position of the first entry of each (record, item) pair, -1 if there is none."""
    out = np.full(record.size, -1, np.int64)
    for k in range(record.size):
        lo, hi = int(dataset.record_ptr[record[k]]), int(dataset.record_ptr[record[k] + 1])
        at = lo + int(np.searchsorted(dataset.record_item[lo:hi], item[k]))
        if item[k] >= 0 and at < hi and dataset.record_item[at] == item[k]:
            out[k] = at
    return out


def read_mentions(path: str, dataset: Dataset) -> Mentions:
    """Read a file of mentions by people of the release; columns are guessed as those of a release.

    Repeated mentions count once. Mentioners who are not in the release are left out and counted in
    `note`.
    """
    found = Dataset.read(path, value="", time="")
    target = find_labels(dataset.record_labels, found.record_labels)
    there = target >= 0
    if not there.any():
        raise InputError(
            "none of the mentioners is in the data; are the record labels the same as in the release?"
        )
    pair_who = np.repeat(np.arange(found.n_records), np.diff(found.record_ptr))
    pairs = np.unique(np.column_stack([pair_who, found.record_item]), axis=0)
    pairs = pairs[there[pairs[:, 0]]]
    turn = np.cumsum(there) - 1
    label = found.item_labels[pairs[:, 1]]
    item = find_labels(dataset.item_labels, found.item_labels)[pairs[:, 1]]
    out = _counted(Mentions(target[there], turn[pairs[:, 0]], label, item, ""), dataset)
    lost = int((~there).sum())
    left_out = f"; {lost:,} mentioners are not in the data and left out" if lost else ""
    return replace(out, note=f"{out.note}{left_out}")


def _counted(mentions: Mentions, dataset: Dataset) -> Mentions:
    """The same mentions with their counts added to the note."""
    rated = 100 * float(mentions.rated(dataset).mean())
    counts = f"{mentions.n:,} people mention {mentions.who.size:,} items, {rated:.0f} % of them in their own record"
    return replace(mentions, note=f"{mentions.note}{counts}")


def simulate_mentions(dataset: Dataset, n: int | None = None, seed: int = 0) -> Mentions:
    """Simulate mentioners: counts by the paper's bins, 82 % of mentions from the mentioner's own record.

    Own items are mentioned uniformly, others by popularity. This agrees with the public tags of
    MovieLens: tagged rated items are about as popular as all items of the tagger, tagged unrated
    ones as a random entry of the release.

    Parameters
    ----------
    dataset
        The release.
    n
        Number of mentioners. Default: 133, as in the paper.
    seed
        Random seed, any whole number.
    """
    wanted = sum(PAPER_USERS) if n is None else n
    keys = starts(seed, PURPOSE_MENTIONS, dataset.record_keys)
    targets = np.argsort(keys, kind="stable")[: min(wanted, dataset.n_records)]
    if not targets.size:
        raise EligibilityError("no record to simulate mentions for")
    shares = np.cumsum(PAPER_USERS) / sum(PAPER_USERS)
    popularity = np.cumsum(dataset.supports) / dataset.supports.sum()
    items: list[Array] = []
    for k, record in enumerate(targets.tolist()):
        low, high = BINS[int(np.searchsorted(shares, (k + 0.5) / wanted))]
        rng = np.random.default_rng([seed % 2**63, PURPOSE_MENTIONS, record])
        held = dataset.record_item[dataset.record_ptr[record] : dataset.record_ptr[record + 1]]
        own = np.unique(held)
        count = int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))
        items.append(_mentioned(own, min(count, max(own.size, 1)), popularity, rng))
    who, item = np.repeat(np.arange(len(items)), [x.size for x in items]), np.concatenate(items)
    label = dataset.item_labels[item]
    return _counted(Mentions(targets, who, label, item, "simulated: "), dataset)


def _mentioned(own: Array, count: int, popularity: Array, rng: np.random.Generator) -> Array:
    """`count` distinct items, each from the record itself with the paper's share as probability."""
    n_own = min(int(rng.binomial(count, SHARE_RATED)), own.size)
    said = set(rng.choice(own, n_own, replace=False).tolist())
    mine = set(own.tolist())
    for _ in range(50 * (count - n_own)):
        if len(said) == count:
            break
        other = int(np.searchsorted(popularity, rng.random(), side="right"))
        if other not in mine:
            said.add(other)
    return np.array(sorted(said), np.int64)
