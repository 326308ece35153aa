"""A release as an analyst uses it: a matrix of people and items, with the rows and columns of the source found by label."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.labels import find_labels
from standout.data.mechanism import ItemMap
from standout.defenses.utility_split import pair_means
from standout.kernels.levels import Table


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
    row = np.repeat(row_in_release, np.diff(release.record_ptr))
    known = row >= 0
    row, column = row[known], release.record_item[known].astype(np.int64)
    # a release keeps the entries of a record together, sorted by item: after a stable sort so does
    # the matrix
    by_row = np.argsort(row, kind="stable")
    row, column = row[by_row], column[by_row]
    first = np.concatenate([[True], (row[1:] != row[:-1]) | (column[1:] != column[:-1])])[
        : row.size
    ]
    pointer = np.concatenate([[0], np.cumsum(np.bincount(row[first], minlength=kept.size))])
    pairs = sparse.csr_matrix(
        (
            np.ones(int(first.sum()), np.float32),
            column[first].astype(np.int32),
            pointer.astype(np.int32),
        ),
        shape=(kept.size, release.n_items),
    )
    value = np.full(pairs.nnz, np.nan)
    if release.has_value:
        value = pair_means(np.cumsum(first) - 1, _values(train, release)[known][by_row])
    column_of = columns_of(train, release)
    sharing = np.bincount(column_of[column_of >= 0], minlength=release.n_items)
    popular = np.bincount(
        column_of[column_of >= 0], train.supports[column_of >= 0], minlength=release.n_items
    )
    inside = np.where(column_of >= 0, column_of, 0)
    return Matrix(
        pairs,
        value,
        row_of,
        column_of,
        members=np.where(column_of >= 0, np.append(sharing, 1)[inside], 1),
        weight=np.where(
            column_of >= 0, train.supports / np.maximum(np.append(popular, 1)[inside], 1), 0.0
        ),
    )


def columns_of(train: Dataset, release: Dataset) -> Array:
    """Item index in the release of every item of the training data, by its name there; -1 where it has none."""
    names: ItemMap | None = release.mechanism.items if release.mechanism is not None else None
    if names is None:
        return find_labels(release.item_labels, train.item_labels)
    listed = find_labels(train.item_labels, names.source)
    out = np.full(train.n_items, -1, np.int64)
    out[listed[listed >= 0]] = find_labels(release.item_labels, names.release)[listed >= 0]
    return out


def _values(train: Dataset, release: Dataset) -> Array:
    """Value of each entry of the release, in the units of the source; NaN = none.

    Where the defense publishes how it changed the values, a released value stands for the mean of
    the source's values that may have become it, weighted by how often the training data holds them.
    """
    levels = release.levels
    change: Table | None = release.mechanism.value if release.mechanism is not None else None
    if change is not None and train.has_value:
        held = np.bincount(train.record_code, minlength=train.n_levels + 1)[: train.n_levels]
        known = _place(train.levels, change.source)
        prior = np.where(known >= 0, np.append(held, 0)[known], 0).astype(np.float64)
        mass = np.asarray(change.chance.T @ prior)
        mean = np.asarray(change.chance.T @ (prior * change.source)) / np.where(mass > 0, mass, 1.0)
        at = _place(change.release, release.levels)
        decoded = np.where(mass > 0, mean, change.release)
        levels = np.where(at >= 0, np.append(decoded, np.nan)[at], release.levels)
    return np.append(levels, np.nan)[release.record_code.astype(np.int64)]


def _place(levels: Array, wanted: Array) -> Array:
    """Index of each wanted level, -1 where there is none."""
    if not levels.size:
        return np.full(wanted.size, -1, np.int64)
    at = np.minimum(np.searchsorted(levels, wanted), levels.size - 1)
    return np.where(levels[at] == wanted, at, -1)
