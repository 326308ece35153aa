"""Defenses that exchange entries, or values and times, between records."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_records, entry_values
from standout.data.mechanism import Mechanism
from standout.data.purposes import (
    PURPOSE_ATTRIBUTES,
    PURPOSE_ATTRIBUTES_ORDER,
    PURPOSE_PAIRING,
    PURPOSE_SWAP,
)
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense
from standout.defenses.merge import collisions, merged
from standout.errors import ParameterError


@register_defense("swap-entries")
class SwapEntries(Defense):
    """Exchange entries between records: item, value and time move together.

    All entries are paired at random, and each pair is exchanged with the given probability. A pair
    within one record is never exchanged. The number of entries of each item stays, except where an
    entry comes to a record that holds its item already: of the two, the later one stays (data with
    repeats keeps both). The number of entries lost in this way is published.

    Parameters
    ----------
    share
        Probability that an entry is exchanged.
    """

    streaming = False
    per_entry = True

    def __init__(self, *, share: float) -> None:
        self.share = checks.share(self.name, share)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with exchanged entries."""
        bits = draws.entry_bits(source, seed, PURPOSE_PAIRING)
        order = np.argsort(bits, kind="stable")
        half = order.size // 2
        one, other = order[: 2 * half : 2], order[1 : 2 * half : 2]
        decision = draws.uniforms(draws.entry_bits(source, seed, PURPOSE_SWAP)[one])
        record = entry_records(source)
        chosen = (decision < self.share) & (record[one] != record[other])
        if not chosen.any():
            return source
        comes_from = np.arange(source.n_entries)
        comes_from[one[chosen]], comes_from[other[chosen]] = other[chosen], one[chosen]
        return merged(
            source.with_entries(
                item=source.record_item[comes_from], **attributes(source, comes_from)
            ),
            source,
        )

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probability of an exchange, no pair within one record is exchanged; and the entries lost to collisions."""
        n = np.diff(source.record_ptr).astype(np.float64)
        pairs = source.n_entries * (source.n_entries - 1.0)
        moved = self.share * float(1 - (n * (n - 1)).sum() / max(pairs, 1.0))
        return Mechanism(moved=moved, **collisions(source, release))


@register_defense("swap-attributes")
class SwapAttributes(Defense):
    """Exchange values and times among the entries of an item; value and time of an entry stay together.

    Of each item, the chosen entries are permuted at random, so that a chosen entry may keep its own
    value and time. Items stay where they are, so that no entry is lost.

    Parameters
    ----------
    share
        Probability that an entry is chosen.
    """

    streaming = False

    def __init__(self, *, share: float) -> None:
        self.share = checks.share(self.name, share)

    def change(self, source: Dataset, seed: int) -> Dataset:
        """Return the data with exchanged values and times."""
        if not source.has_value and not source.has_time:
            raise ParameterError(
                f"{self.name} exchanges values and times, and the data has neither: leave it out"
            )
        bits = draws.entry_bits(source, seed, PURPOSE_ATTRIBUTES)
        chosen = np.flatnonzero(draws.uniforms(bits) < self.share)
        if not chosen.size:
            return source
        item = source.record_item[chosen]
        to = chosen[np.lexsort((bits[chosen], item))]
        giver = draws.entry_bits(source, seed, PURPOSE_ATTRIBUTES_ORDER)[chosen]
        comes_from = np.arange(source.n_entries)
        comes_from[to] = chosen[np.lexsort((giver, item))]
        return source.with_entries(**attributes(source, comes_from))

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probability of being chosen."""
        return Mechanism(attributes=self.share)


def attributes(source: Dataset, comes_from: Array) -> dict[str, Array]:
    """Values and days for `with_entries`, each taken from the entry with that index."""
    columns = {"value": entry_values(source), "day": entry_days(source)}
    return {name: column[comes_from] for name, column in columns.items() if column is not None}
