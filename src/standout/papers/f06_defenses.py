"""Defenses of owner and users (F06, sections 5 and 6): drop items, hide mentions, add misdirecting ones."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.papers.mentions import Mentions

ADDED = (0, 1, 2, 3, 5, 10, 20)
"""Misdirecting mentions per mentioner in Fig. 9."""

THRESHOLDS = (1, 8, 64, 512, 2048, 8192)
POPULAR = "most popular first"


def without_items(dataset: Dataset, dropped: Array) -> Dataset:
    """The release without the entries of some items; records and catalog stay the same, and so do indices and `heavy`."""
    return dataset.with_entries(~dropped[dataset.record_item])


def hide_rarest(mentions: Mentions, dataset: Dataset, share: float) -> Mentions:
    """Drop the rarest of each mentioner's rated mentions: the largest whole number within the share."""
    rated = mentions.rated(dataset)
    support = np.append(dataset.supports, 0)[mentions.item]
    order = np.lexsort((mentions.item, support, ~rated, mentions.who))
    turn = np.empty(order.size, np.int64)
    counts = mentions.counts
    turn[order] = np.arange(order.size) - (np.cumsum(counts) - counts)[mentions.who[order]]
    n_rated = np.bincount(mentions.who[rated], minlength=mentions.n)
    hidden = np.floor(share * n_rated + 1e-9).astype(np.int64)
    return mentions.only(~(rated & (turn < hidden[mentions.who])))


def misdirect(mentions: Mentions, dataset: Dataset, line: Array, n: int) -> Mentions:
    """Each mentioner adds the first `n` items of the list that are neither held nor mentioned."""
    who, item = [], []
    for person in range(mentions.n if n else 0):
        record = mentions.target[person]
        taken = np.concatenate(
            [
                dataset.record_item[dataset.record_ptr[record] : dataset.record_ptr[record + 1]],
                mentions.item[mentions.who == person],
            ]
        )
        # at most as many items of the list are skipped as the mentioner holds or mentions
        head = line[: n + np.unique(taken).size]
        free = head[~np.isin(head, taken)][:n]
        who.append(np.full(free.size, person))
        item.append(free)
    return mentions.plus(np.concatenate(who), np.concatenate(item), dataset) if who else mentions


def misdirecting_lists(dataset: Dataset) -> dict[str, Array]:
    """Items in the order in which they are added: from a popularity up, or all from the most popular down."""
    rising = np.argsort(dataset.supports, kind="stable")
    held = dataset.supports[rising]
    out = {
        f"{t:,} or more": rising[held >= t] for t in THRESHOLDS if (held >= t).sum() >= ADDED[-1]
    }
    return {**out, POPULAR: np.argsort(dataset.popularity_rank, kind="stable")}
