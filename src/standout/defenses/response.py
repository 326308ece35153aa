"""Randomized response on the items of entries."""

from __future__ import annotations

import numpy as np

from standout.data.dataset import Dataset
from standout.data.mechanism import Mechanism
from standout.data.purposes import PURPOSE_RESPONSE, PURPOSE_RESPONSE_ENTRY, PURPOSE_RESPONSE_ITEM
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense
from standout.defenses.merge import collisions, merged
from standout.defenses.swap import attributes


@register_defense("randomized-response")
class RandomizedResponse(Defense):
    """Report the item of each entry truthfully with probability e^ε / (e^ε + K - 1), else one of the K - 1 other items.

    K is the number of items in the catalog. All other items are equally likely. A replaced entry
    gets the value and time of a random entry of its new item. ε covers the item of a single entry:
    the result is at most e^ε times as likely for one item as for another. It does not cover the
    number of entries, the values and times, or a person with several entries as a whole, for whom
    the ε of all entries add up.

    Parameters
    ----------
    epsilon
        Privacy loss per entry; infinity changes nothing.
    """

    streaming = False
    per_entry = True

    def __init__(self, *, epsilon: float) -> None:
        self.epsilon = checks.at_least(self.name, epsilon, "epsilon", 0, finite=False)

    def replaced(self, n_items: int) -> float:
        """Return the probability that an entry gets another item.

        >>> RandomizedResponse(epsilon=0.0).replaced(4)
        0.75
        """
        others = (n_items - 1) * float(np.exp(-self.epsilon))
        return others / (1 + others)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with replaced items."""
        lie = draws.entry_uniforms(source, seed, PURPOSE_RESPONSE) < self.replaced(source.n_items)
        if not lie.any():
            return source
        old = source.record_item[lie].astype(np.int64)
        other = draws.entry_uniforms(source, seed, PURPOSE_RESPONSE_ITEM)[lie]
        new = np.minimum((other * (source.n_items - 1)).astype(np.int64), source.n_items - 2)
        new += new >= old
        item = source.record_item.astype(np.int64)
        item[lie] = new
        bits = draws.entry_bits(source, seed, PURPOSE_RESPONSE_ENTRY)
        # the order of an item's entries must not depend on the order of the records
        by_item = np.lexsort((bits, source.record_item))
        count = np.bincount(source.record_item, minlength=source.n_items)
        start = np.cumsum(count) - count
        comes_from = np.arange(source.n_entries)
        # an item that nobody holds has no values and times to give: the entry keeps its own
        giver = start[new] + (draws.uniforms(bits[lie]) * count[new]).astype(np.int64)
        comes_from[lie] = np.where(
            count[new] > 0, by_item[np.minimum(giver, by_item.size - 1)], comes_from[lie]
        )
        return merged(source.with_entries(item=item, **attributes(source, comes_from)), source)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probability of a replaced item, and the entries lost to collisions."""
        return Mechanism(replaced=self.replaced(source.n_items), **collisions(source, release))
