"""How often people mention each item: people mention other things than they rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from standout.adversary.knowledge import Facts
from standout.arrays import Array
from standout.attacks.tables import Known
from standout.data.dataset import Dataset

STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
"""Pseudo-mentions per item of the release that are tried."""


@dataclass(frozen=True, eq=False, repr=False)
class MentionPopularity:
    """Popularity of mentioning an item, smoothed with its popularity in the release."""

    count: Array
    """int64 (items of the release): people of the second file who mention it."""
    strength: float
    """Pseudo-mentions, distributed like the release's own (record, item) pairs."""

    @classmethod
    def of(cls, dataset: Dataset, facts: Facts) -> MentionPopularity:
        """Count mentions, and choose the strength that predicts each person's mentions best from those of all others."""
        here = facts.item >= 0
        count = np.bincount(facts.item[here], minlength=dataset.n_items)
        known = Known.of(dataset, facts, np.full(facts.n_queries, -1, np.int64))
        tried = [cls(count, s * dataset.n_items) for s in STRENGTHS]
        level = [float(np.log(m.share(known, own=True)).sum()) for m in tried]
        return tried[int(np.argmax(level))]

    def share(self, known: Known, own: bool) -> Array:
        """q: probability that a mention is of this item, per fact.

        Parameters
        ----------
        known
            The facts.
        own
            Whether the facts are part of the count: a person's own mentions do not make an item
            popular.
        """
        pairs = np.maximum(known.dataset.n_pairs - known.gone_lengths, 1)[known.query]
        release = np.maximum(known.support, 0.5) / pairs
        mine = np.diff(known.query_ptr)[known.query] if own else 0
        total = self.count.sum() - mine + self.strength
        return np.asarray(
            (np.maximum(self.count[known.item] - own, 0) + self.strength * release) / total
        )
