"""What a release keeps of the counts: popularity of items, items held together, entries over time, entries, items, people."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from standout.arrays import Array
from standout.data.dataset import Dataset
from standout.data.export import entry_days
from standout.defenses.utility_release import Matrix

TOP_PAIRS = 100
"""Most frequent pairs of items that are compared."""

MOST_ITEMS = 2_000
"""The frequent pairs are sought among this many most popular items; a rarer item is in no frequent pair of large data."""


def popularity_error(source: Matrix, release: Matrix) -> float:
    """Half the sum of |share in the source - share in the release| over the items: 0 = same, 1 = nothing in common.

    The share of an item is its share of all pairs. The pairs of a group are divided evenly among
    its members, because the release does not tell more.
    """
    before, after = _item_counts(source), _item_counts(release)
    if after.sum() == 0:
        return 1.0
    # what the release holds under names that are no item of the source (nothing, for defenses of
    # this package)
    strange = max(float(release.pairs.nnz - after.sum()), 0.0)
    shares = after / (after.sum() + strange)
    return float(
        (np.abs(before / before.sum() - shares).sum() + strange / (after.sum() + strange)) / 2
    )


def _item_counts(matrix: Matrix) -> Array:
    """Pairs of each item of the training data."""
    counts = np.append(np.bincount(matrix.pairs.indices, minlength=matrix.pairs.shape[1]), 0)
    return np.where(matrix.column_of >= 0, counts[matrix.column_of] / matrix.members, 0.0)


Pairs = tuple[Array, Array, Array]
"""Items of pairs, and the share of people who hold both."""


def pairs_error(top: Pairs, release: Matrix) -> float:
    """Σ |share in the source - share in the release| / Σ share in the source, over the most frequent pairs of items.

    The share of a pair is the share of people who hold both. Two items in one group are never seen
    together; pairs of groups are divided evenly among the pairs of members. 0 = same, 1 = the pairs
    are gone.

    Parameters
    ----------
    top
        The most frequent pairs of the source, from `top_pairs`.
    release
        The release.
    """
    first, second, before = top
    if not before.size:
        return 0.0
    a, b = release.column_of[first], release.column_of[second]
    there = (a >= 0) & (b >= 0) & (a != b)
    columns = release.pairs.tocsc()
    held = np.zeros(first.size)
    for k in np.flatnonzero(there):
        mine, other = (
            columns.indices[columns.indptr[c] : columns.indptr[c + 1]] for c in (a[k], b[k])
        )
        held[k] = np.intersect1d(mine, other, assume_unique=True).size
    held /= release.members[first] * release.members[second]
    after = held / max(release.pairs.shape[0], 1)
    return float(np.abs(before - after).sum() / before.sum())


def top_pairs(source: Matrix) -> Pairs:
    """Items of the most frequent pairs, and the share of people who hold both. Ties go to the items of lower index."""
    counts = np.bincount(source.pairs.indices, minlength=source.pairs.shape[1])
    popular = np.sort(np.argsort(-counts, kind="stable")[:MOST_ITEMS])
    part = sparse.csr_matrix(source.pairs[:, popular], dtype=np.float32)
    together = sparse.triu(part.T @ part, k=1).tocoo()
    order = np.lexsort((together.col, together.row, -together.data))[:TOP_PAIRS]
    share = together.data[order].astype(np.float64) / max(source.pairs.shape[0], 1)
    return popular[together.row[order]], popular[together.col[order]], share


def kept(source: Matrix, release: Matrix) -> dict[str, float]:
    """Shares of the source that are still in the release: entries (distinct pairs), items, people; and the false entries.

    An entry is kept if the same person still holds the item (or its group). A false entry is one of
    the release that the person does not hold in the source.
    """
    rows = np.flatnonzero(source.row_of >= 0)
    row = np.full(source.pairs.shape[0] + 1, -1, np.int64)
    row[source.row_of[rows]] = release.row_of[rows]
    coo = source.pairs.tocoo()
    item_of = np.empty(source.pairs.shape[1] + 1, np.int64)
    item_of[source.column_of] = release.column_of
    r, c = row[coo.row], item_of[coo.col]
    there = (r >= 0) & (c >= 0)
    width = release.pairs.shape[1]
    own = np.sort(release.rows * width + release.pairs.indices)
    code = r[there] * width + c[there]
    at = np.minimum(np.searchsorted(own, code), max(own.size - 1, 0))
    hit = own[at] == code if own.size else np.zeros(code.size, np.bool_)
    held = source.held
    return {
        "entries": float(hit.sum() / max(source.pairs.nnz, 1)),
        "items": float((held & release.held).sum() / max(int(held.sum()), 1)),
        "people": float((release.row_of[rows] >= 0).mean()),
        "false_entries": float(1 - np.unique(code[hit]).size / own.size) if own.size else 0.0,
    }


def time_error(train: Dataset, release: Dataset) -> float | None:
    """Half the sum of |share in the source - share in the release| over calendar months; None if the source has no times.

    The share of a month is its share of all entries. Entries whose time the release does not tell
    are in no month: a release without times has error 1.
    """
    before = month_shares(train)
    if before is None:
        return None
    after = month_shares(release)
    if after is None:
        return 1.0
    months = set(before) | set(after)
    gone = abs(sum(before.values()) - sum(after.values()))
    return (sum(abs(before.get(m, 0.0) - after.get(m, 0.0)) for m in months) + gone) / 2


def month_shares(dataset: Dataset) -> dict[int, float] | None:
    """Share of all entries in each calendar month (months after January 1970); None if no entry has a time."""
    day = entry_days(dataset)
    if day is None or np.isnan(day).all():
        return None
    days = np.floor(day[~np.isnan(day)]).astype(np.int64).astype("datetime64[D]")
    month, n = np.unique(days.astype("datetime64[M]").astype(np.int64), return_counts=True)
    return dict(zip(month.tolist(), (n / dataset.n_entries).tolist(), strict=True))
