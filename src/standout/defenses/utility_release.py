"""What is tested, and what is trained on: held-out entries of the source, and a release as a matrix of people and items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from standout.adversary.choosing import starts
from standout.adversary.splitmix import jit, mix, start
from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_records, entry_values
from standout.data.labels import find_labels
from standout.data.mechanism import ItemMap
from standout.data.purposes import PURPOSE_HELD_OUT, PURPOSE_TESTED
from standout.errors import EligibilityError, ParameterError
from standout.kernels.levels import Table

SHARE = 0.2
"""Share of each person's items that is held out."""


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
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


def hold_out(source: Dataset, seed: int = 0, share: float = SHARE) -> HeldOut:
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
    record, item = entry_records(source)[held], source.record_item[held].astype(np.int64)
    first = _starts_of_pairs(record, item)
    value = entry_values(source)
    means = pair_means(first, None if value is None else value[held])
    return HeldOut(source.with_entries(~held), record[first], item[first], means)


def _starts_of_pairs(record: Array, item: Array) -> Array:
    """Whether each entry is the first of its (record, item) pair; the entries of a pair lie together."""
    return np.append(True, (np.diff(record) != 0) | (np.diff(item) != 0))[: record.size]


def pair_means(first: Array, value: Array | None) -> Array:
    """Mean of the values of each pair, NaN if it has none; `first` marks the first entry of each pair."""
    n = int(first.sum())
    if value is None:
        return np.full(n, np.nan)
    known = ~np.isnan(value)
    pair = (np.cumsum(first) - 1)[known]
    count = np.bincount(pair, minlength=n)
    total = np.bincount(pair, value[known], minlength=n)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def exact_mean(values: Array) -> float:
    """Mean that does not depend on the order of the values."""
    return math.fsum(values.tolist()) / values.size


def people_to_test(split: HeldOut, most: int, seed: int = 0) -> Array:
    """Records to test recommendations on: those with held-out pairs, at most `most` of them, chosen by hash."""
    people = split.people
    if people.size <= most:
        return people
    key = starts(seed, PURPOSE_TESTED, split.train.record_keys[people])
    return np.sort(people[np.argsort(key, kind="stable")[:most]])


@dataclass(frozen=True, eq=False, repr=False)
class Matrix:
    """Distinct (person, item) pairs of a release. Rows are people with at least one entry, ordered by contents.

    The order of the rows depends on what the training data holds of each person, not on labels, so
    that a renamed or reordered release gives the same matrix and the same model.
    """

    pairs: sparse.csr_matrix
    """float32 ones, (people of the release, items of the release)."""
    value: Array
    """Mean value of each stored pair in the units of the source, in the order of `pairs.indices`; NaN = none."""
    row_of: Array
    """Row of each record of the training data, -1 = the release holds nothing of that person."""
    column_of: Array
    """Column of each item of the training data, -1 = the release does not hold it."""
    members: Array
    """Number of items of the training data that share the column of each item; 1 where items are not grouped."""
    weight: Array
    """Share of the item among the training pairs of all items that share its column; 1 where items are not grouped."""

    @cached_property
    def held(self) -> Array:
        """Per item of the training data: whether some person of the release holds it (or its group)."""
        there = np.append(np.diff(self.pairs.tocsc().indptr) > 0, False)
        return np.asarray(there[self.column_of])

    @property
    def rows(self) -> Array:
        """Row of each stored pair."""
        return np.repeat(np.arange(self.pairs.shape[0]), np.diff(self.pairs.indptr))

    @property
    def grouped(self) -> bool:
        """Whether several items of the training data share a column."""
        return bool((self.members > 1).any())


def matrix_of(train: Dataset, release: Dataset) -> Matrix:
    """Matrix of a release that a defense made of the training data."""
    place = find_labels(release.record_labels, train.record_labels)
    order = np.argsort(train.record_keys, kind="stable")
    kept = order[(place[order] >= 0) & (np.append(release.lengths, 0)[place[order]] > 0)]
    row_of = np.full(train.n_records, -1, np.int64)
    row_of[kept] = np.arange(kept.size)
    row_in_release = np.full(release.n_records, -1, np.int64)
    row_in_release[place[kept]] = np.arange(kept.size)
    row = row_in_release[entry_records(release)]
    known = row >= 0
    row, column = row[known], release.record_item[known].astype(np.int64)
    # a release keeps the entries of a record together, sorted by item: after a stable sort so does
    # the matrix
    by_row = np.argsort(row, kind="stable")
    row, column = row[by_row], column[by_row]
    first = _starts_of_pairs(row, column)
    n_pairs = np.bincount(row[first], minlength=kept.size)
    content = (
        np.ones(int(first.sum()), np.float32),
        column[first].astype(np.int32),
        np.append(0, np.cumsum(n_pairs)).astype(np.int32),
    )
    pairs = sparse.csr_matrix(content, shape=(kept.size, release.n_items))
    value = pair_means(first, _values(train, release)[known][by_row] if release.has_value else None)
    column_of = columns_of(train, release)
    there = column_of >= 0
    inside = column_of[there]
    members, weight = np.ones(train.n_items, np.int64), np.zeros(train.n_items)
    members[there] = np.bincount(inside)[inside]
    popular = np.bincount(inside, train.supports[there])[inside]
    weight[there] = train.supports[there] / np.maximum(popular, 1)
    return Matrix(pairs, value, row_of, column_of, members, weight)


def columns_of(train: Dataset, release: Dataset) -> Array:
    """Item index in the release of every item of the training data, by its name there; -1 where it has none."""
    names: ItemMap | None = release.mechanism.items if release.mechanism is not None else None
    if names is None:
        return find_labels(release.item_labels, train.item_labels)
    at = find_labels(train.item_labels, names.source)
    out = np.full(train.n_items, -1, np.int64)
    out[at[at >= 0]] = find_labels(release.item_labels, names.release)[at >= 0]
    return out


def _values(train: Dataset, release: Dataset) -> Array:
    """Value of each entry of the release, in the units of the source; NaN = none.

    Where the defense publishes how it changed the values, a released value stands for the mean of
    the source's values that may have become it, weighted by how often the training data holds them.
    """
    levels = release.levels
    change: Table | None = release.mechanism.value if release.mechanism is not None else None
    if change is not None and train.has_value:
        known = _place(train.levels, change.source)
        prior = np.where(known >= 0, np.append(level_counts(train), 0)[known], 0).astype(np.float64)
        mass = np.asarray(change.chance.T @ prior)
        mean = np.asarray(change.chance.T @ (prior * change.source)) / np.where(mass > 0, mass, 1.0)
        at = _place(change.release, release.levels)
        decoded = np.where(mass > 0, mean, change.release)
        levels = np.where(at >= 0, np.append(decoded, np.nan)[at], release.levels)
    return np.append(levels, np.nan)[release.record_code.astype(np.int64)]


def level_counts(dataset: Dataset) -> Array:
    """Number of entries with each level of the values."""
    return np.bincount(dataset.record_code, minlength=dataset.n_levels + 1)[: dataset.n_levels]


def _place(levels: Array, wanted: Array) -> Array:
    """Index of each wanted level, -1 where there is none."""
    if not levels.size:
        return np.full(wanted.size, -1, np.int64)
    at = np.minimum(np.searchsorted(levels, wanted), levels.size - 1)
    return np.where(levels[at] == wanted, at, -1)


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
