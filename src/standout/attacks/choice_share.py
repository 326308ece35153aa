"""q_i under a choice with weights: probability that a fact about a person outside the release is about item i."""

from __future__ import annotations

import numpy as np

from standout.adversary.choice import PickRule
from standout.adversary.counts import entries_by_item
from standout.arrays import Array
from standout.attacks.tables import Known


def chosen_share(known: Known, chosen: PickRule) -> Array:
    """q_i = n_i·ω_i / Σ_j n_j·ω_j per fact, n_i = pairs of item i, or its entries if weights count by events.

    The entries of a query's excluded record are not counted. An item held only by it counts as half
    an entry.
    """
    data, gone = known.dataset, known.gone
    assert chosen.weight is not None and chosen.marked is not None
    weight = np.where(chosen.marked, chosen.weight, 0).astype(np.float64)
    held = (entries_by_item(data) if chosen.by_events else data.supports).astype(np.float64)
    row = np.repeat(np.arange(gone.record.size), np.diff(gone.ptr))
    item = gone.item.astype(np.int64)
    if not chosen.by_events and item.size:
        # rows are sorted by item
        first = np.append(True, (np.diff(row) > 0) | (np.diff(item) > 0))
        row, item = row[first], item[first]
    lost = np.bincount(row, weights=weight[item], minlength=gone.record.size)
    total = (float(held @ weight) - np.append(lost, 0.0)[known.gone_at])[known.query]
    entries, place = row * data.n_items + item, known.gone_at[known.query]
    wanted = np.where(place >= 0, place * data.n_items + known.item, -1)
    mine = np.searchsorted(entries, wanted, "right") - np.searchsorted(entries, wanted)
    n = np.maximum(held[known.item] - mine, 0.5) * np.maximum(weight[known.item], 1.0)
    return np.asarray(n / np.maximum(total, n))
