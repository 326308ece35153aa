"""What candidate records hold of the known items, entry by entry; noise is fitted to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from standout.arrays import Array
from standout.attacks.tables import Known
from standout.data.catalog import Catalog
from standout.data.index import Rows
from standout.jit import njit


@njit(nogil=True, cache=True)
def _events(
    ptr: Array,
    row_item: Array,
    place: Array,
    query_ptr: Array,
    item: Array,
    row: Array,
    fact: Array,
    cell: Array,
    at: Array,
    share: Array,
) -> tuple[int, int]:
    """List cells and their events; with empty outputs, only count them."""
    n, n_cells = 0, 0
    for q in range(place.shape[0]):
        for c in range(place.shape[1]):
            r = place[q, c]
            if r < 0:
                continue
            lo, hi = ptr[r], ptr[r + 1]
            for f in range(query_ptr[q], query_ptr[q + 1]):
                k = lo + np.searchsorted(row_item[lo:hi], item[f])
                first = k
                while k < hi and row_item[k] == item[f]:
                    k += 1
                if k > first:
                    if row.size > 0:
                        row[n_cells], fact[n_cells] = q * place.shape[1] + c, f
                        for e in range(first, k):
                            cell[n + e - first], at[n + e - first], share[n + e - first] = (
                                n_cells,
                                e,
                                1.0 / (k - first),
                            )
                    n_cells += 1
                    n += k - first
    return n_cells, n


class Events(NamedTuple):
    """What candidates hold of the known items. A cell is one fact of one candidate; it has an event per entry."""

    row: Array
    """int64 (cells): place of the candidate in the flattened table of candidates."""
    fact: Array
    """int64 (cells)."""
    cell: Array
    """int64 (events)."""
    at: Array
    """int64 (events): place of the entry in `rows`."""
    share: Array
    """float64 (events): 1/(events of the cell)."""
    record: Array
    """int64 (cells): place of the candidate in `rows`."""
    rows: Rows
    """Rows of all candidates."""


def events_of(dataset: Catalog, known: Known, candidate: Array) -> Events:
    """Look up the known items in the records of the candidates (queries, k); -1 = none."""
    rows = dataset.rows(np.unique(candidate[candidate >= 0]))
    place = rows.places(candidate)
    arguments = (rows.ptr, rows.item, place, known.query_ptr, known.item)
    none = np.empty(0, np.int64)
    n_cells, n = _events(*arguments, none, none, none, none, np.empty(0))
    row, fact = np.empty(n_cells, np.int64), np.empty(n_cells, np.int64)
    cell, at, share = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    _events(*arguments, row, fact, cell, at, share)
    return Events(row, fact, cell, at, share, place.reshape(-1)[row], rows)
