"""Data whose hit rate is known exactly."""

from __future__ import annotations

import numpy as np

import standout as so

CROWD = 50
"""Equal records per crowd: each of them is found with probability 1/50."""


def with_rate(rate: float, n: int = 4000, items: int = 3) -> so.Dataset:
    """Records of `items` items that an attacker who knows them all finds at this rate, ties counted in part.

    A part of the records hold items of their own; the others stand in crowds of 50 equal records.
    With u records of their own the rate is u/n + (1 - u/n)/50.
    """
    n_crowds = round((1 - (rate - 1 / CROWD) / (1 - 1 / CROWD)) * n / CROWD)
    n_own = n - n_crowds * CROWD
    owner = np.concatenate([np.arange(n_own), n_own + np.repeat(np.arange(n_crowds), CROWD)])
    record = np.repeat(np.arange(n), items)
    item = (owner[:, None] * items + np.arange(items)).reshape(-1)
    return so.Dataset.from_arrays(record, item)


def rate_of(dataset: so.Dataset) -> float:
    """The exact rate, counted by hand: the mean of 1/(records with the same items)."""
    rows = dataset.record_item.reshape(dataset.n_records, -1)
    _, which, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return float((1 / counts[which.reshape(-1)]).mean())
