"""Held-out entries: what a recommender that is trained on a release has to find."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from standout.adversary.choosing import starts
from standout.adversary.splitmix import mix, start
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.purposes import PURPOSE_HELD_OUT, PURPOSE_TESTED
from standout.errors import EligibilityError, ParameterError
from standout.jit import njit

jit = njit(nogil=True, cache=True)

SHARE = 0.2
"""Share of each person's items that is held out."""


@dataclass(frozen=True, eq=False, repr=False)
class Split:
    """Training data and held-out (person, item) pairs. A person's pair is either in the training data or held out."""

    train: Dataset
    """The source without the held-out pairs; same records and items. Defenses are applied to it."""
    record: Array
    """Record index of each held-out pair, ascending."""
    item: Array
    """Item index of each held-out pair."""
    value: Array
    """Value of each held-out pair, the mean over its entries; NaN = none."""

    @property
    def people(self) -> Array:
        """Records with at least one held-out pair."""
        return np.unique(self.record)


def hold_out(source: Dataset, seed: int = 0, share: float = SHARE) -> Split:
    """Hold out a share of each person's items, chosen by a hash of (seed, contents of the record, item).

    A person with L items keeps L - ⌊share·L + 1/2⌋ of them for training. All entries of a repeated
    item go the same way.

    Parameters
    ----------
    source
        The data before any defense.
    seed
        Random seed.
    share
        Share of each person's items that is held out, above 0 and below 1/2.
    """
    if not 0 < share < 0.5:
        raise ParameterError(f"share={share}: hold out a share above 0 and below 0.5")
    held = mark_held_out(
        source.record_ptr,
        source.record_item,
        source.record_keys,
        source.lengths,
        np.uint64(seed % 2**64),
        share,
    )
    if not held.any():
        raise EligibilityError(
            f"no person holds enough items to hold out {share:.0%} of them, so utility cannot be measured; "
            f"the longest record holds {int(source.lengths.max(initial=0))}"
        )
    of = np.repeat(np.arange(source.n_records), np.diff(source.record_ptr))[held]
    item = source.record_item[held].astype(np.int64)
    first = np.concatenate([[True], (of[1:] != of[:-1]) | (item[1:] != item[:-1])])
    pair = np.cumsum(first) - 1
    value = np.full(int(first.sum()), np.nan)
    if source.has_value:
        value = pair_means(
            pair, np.append(source.levels, np.nan)[source.record_code[held].astype(np.int64)]
        )
    return Split(source.with_entries(~held), of[first], item[first], value)


def pair_means(pair: Array, value: Array) -> Array:
    """Mean of the values of each pair, NaN if it has none; `pair` numbers the pairs from 0 on, ascending."""
    known = ~np.isnan(value)
    n = int(pair[-1]) + 1 if pair.size else 0
    count = np.bincount(pair[known], minlength=n)
    total = np.bincount(pair[known], value[known], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def exact_mean(values: Array) -> float:
    """Mean that does not depend on the order of the values."""
    return math.fsum(values.tolist()) / values.size


def people_to_test(split: Split, most: int, seed: int = 0) -> Array:
    """Records to test recommendations on: those with held-out pairs, at most `most` of them, chosen by hash."""
    people = split.people
    if people.size <= most:
        return people
    key = starts(np.uint64(seed % 2**64), PURPOSE_TESTED, split.train.record_keys[people])
    return np.sort(people[np.argsort(key, kind="stable")[:most]])


@jit
def mark_held_out(
    ptr: Array, item: Array, keys: Array, lengths: Array, seed: int, share: float
) -> Array:
    """Per entry: whether its pair is held out. The pairs of a record with the smallest hashes are."""
    out = np.zeros(item.size, np.bool_)
    for r in range(ptr.size - 1):
        wanted = np.int64(np.floor(share * lengths[r] + 0.5))
        if wanted == 0:
            continue
        begin = start(seed, PURPOSE_HELD_OUT, np.uint64(keys[r]))
        hashes = np.empty(lengths[r], np.uint64)
        n, last = 0, np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            if i != last:
                hashes[n] = mix(begin ^ (np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)))
                n, last = n + 1, i
        limit = np.sort(hashes)[wanted - 1]
        n, last = -1, np.int64(-1)
        for k in range(ptr[r], ptr[r + 1]):
            i = np.int64(item[k])
            if i != last:
                n, last = n + 1, i
            out[k] = hashes[n] <= limit
    return out
