"""Defenses that exchange entries, or values and times, between records, or replace items (randomized response)."""

from __future__ import annotations

from typing import Any

import numpy as np

from standout.adversary.choosing import uniforms
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_days, entry_records, entry_values
from standout.data.mechanism import Mechanism
from standout.data.purposes import (
    PURPOSE_ATTRIBUTES,
    PURPOSE_ATTRIBUTES_ORDER,
    PURPOSE_PAIRING,
    PURPOSE_RESPONSE,
    PURPOSE_RESPONSE_ENTRY,
    PURPOSE_RESPONSE_ITEM,
    PURPOSE_SWAP,
)
from standout.defenses import checks, draws
from standout.defenses.defense import Defense, register_defense
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
        decision = uniforms(draws.entry_bits(source, seed, PURPOSE_SWAP)[one])
        record = entry_records(source)
        chosen = (decision < self.share) & (record[one] != record[other])
        if not chosen.any():
            return source
        comes_from = np.arange(source.n_entries)
        comes_from[one[chosen]], comes_from[other[chosen]] = other[chosen], one[chosen]
        return moved_entries(source, source.record_item[comes_from], comes_from)

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
        chosen = np.flatnonzero(uniforms(bits) < self.share)
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
        self.epsilon = checks.number(self.name, epsilon, "epsilon", 0, finite=False)

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
        giver = start[new] + (uniforms(bits[lie]) * count[new]).astype(np.int64)
        comes_from[lie] = np.where(
            count[new] > 0, by_item[np.minimum(giver, by_item.size - 1)], comes_from[lie]
        )
        return moved_entries(source, item, comes_from)

    def mechanism(self, source: Dataset, release: Dataset) -> Mechanism:
        """Return the probability of a replaced item, and the entries lost to collisions."""
        return Mechanism(replaced=self.replaced(source.n_items), **collisions(source, release))


def moved_entries(source: Dataset, item: Array, comes_from: Array) -> Dataset:
    """The source with these items and the values and times of the entries `comes_from`; entries that meet are merged."""
    return merged(source.with_entries(item=item, **attributes(source, comes_from)), source)


def attributes(source: Dataset, comes_from: Array) -> dict[str, Array]:
    """Values, days and further channels for `with_entries`, each taken from the entry with that index."""
    columns = {"value": entry_values(source), "day": entry_days(source)}
    moved = {name: column[comes_from] for name, column in columns.items() if column is not None}
    return moved if source.further is None else moved | {"further": comes_from}


def merged(changed: Dataset, source: Dataset) -> Dataset:
    """The changed data with one entry per (record, item) pair, if the source has no repeats either.

    Of several entries the latest stays, of equally late ones the one with the largest value; a
    missing time or value comes last. Data with repeats keeps each entry as an event.
    """
    if source.has_repeats or not changed.has_repeats:
        return changed
    n = changed.n_entries
    # missing values and times have the highest code: the lowest rank
    code = changed.record_code.astype(np.int64) if changed.has_value else np.zeros(n, np.int64)
    tick = changed.record_tick.astype(np.int64) if changed.has_time else np.zeros(n, np.int64)
    code[code == changed.n_levels] = -1
    tick[tick == changed.no_tick] = -1
    record, item = entry_records(changed), changed.record_item.astype(np.int64)
    order = np.lexsort((code, tick, item, record))
    last = np.append((np.diff(record[order]) != 0) | (np.diff(item[order]) != 0), True)
    keep = np.zeros(n, np.bool_)
    keep[order[last]] = True
    return changed.with_entries(keep)


def collisions(before: Dataset, after: Dataset) -> dict[str, Any]:
    """Fields of a mechanism: entries that `merged` left out, as a share of all entries and as a number."""
    n = before.n_entries - after.n_entries
    return {"collided": n / max(before.n_entries, 1), "n_collided": n}
