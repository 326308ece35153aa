"""One-to-one linking: a record can be claimed once, so a strong claim of one person weakens the claims of others."""

from __future__ import annotations

import numpy as np

from standout.arrays import Array

ROUNDS = 500
TOLERANCE = 1e-7
LEAST = 1e-6
LEAST_ABSENT = 1e-3


def soft(record: Array, chance: Array, n_records: int) -> Array:
    """(queries, k): P(the candidate is the person's record) if each record belongs to one person at most.

    Sinkhorn scaling of the odds: the candidates of a query and "absent" sum to 1, and so do the
    claims on a record and "nobody". A claim that no other claim disputes keeps its probability.

    Parameters
    ----------
    record
        (queries, k): candidates, -1 = none.
    chance
        (queries, k): their probabilities one by one; the rest of a row is "absent".
    n_records
        Records of the release.

    >>> soft(np.array([[0], [1]]), np.array([[0.6], [0.9]]), 2).round(6).tolist()
    [[0.6], [0.9]]
    >>> soft(np.array([[0], [0]]), np.array([[0.9], [0.9]]), 1).round(2).tolist()
    [[0.49], [0.49]]
    """
    odds, place, row, claims = _scaled(record, chance, n_records, keep_total=False)
    return np.asarray(odds * row[:, None] / (1.0 + claims[place]))


def log_free(record: Array, chance: Array, n_records: int) -> Array:
    """(queries, k): log P(no other query has the record), in a joint assignment with as many links as one by one.

    Parameters are those of `soft`.

    >>> (-log_free(np.array([[0], [0]]), np.array([[0.5], [0.0]]), 2)).round(2).tolist()
    [[0.0], [0.69]]
    """
    odds, place, row, claims = _scaled(record, chance, n_records, keep_total=True)
    return np.asarray(-np.log1p(np.maximum(claims[place] - odds * row[:, None], 0.0)))


def _scaled(
    record: Array, chance: Array, n_records: int, keep_total: bool
) -> tuple[Array, Array, Array, Array]:
    """Odds (queries, k), places of the candidates, scale of each query, and the sum of the claims on each record."""
    there = record >= 0
    mine = np.where(there, chance, 0.0)
    absent = np.maximum(1.0 - mine.sum(axis=1), LEAST_ABSENT)
    # alone, x = odds·(1-x)², so that an undisputed claim keeps its probability
    odds = mine / absent[:, None] / np.maximum(1.0 - mine, LEAST)
    place = np.where(there, record, n_records)
    free: Array = np.ones(n_records + 1)
    claims: Array = np.zeros(n_records + 1)
    row = np.ones(record.shape[0])
    total = mine.sum()
    for _ in range(ROUNDS):
        row = 1.0 / (1.0 + (odds * free[place]).sum(axis=1))
        claims = np.bincount(
            place.reshape(-1), weights=(odds * row[:, None]).reshape(-1), minlength=n_records + 1
        )
        before, free = free, 1.0 / (1.0 + claims)
        linked = float((free * claims).sum())
        if keep_total and linked > 0:
            odds = odds * np.sqrt(min(total, 0.98 * n_records) / linked)
        if np.abs(free - before).max(initial=0.0) < TOLERANCE:
            break
    return odds, place, row, claims


def hard(record: Array, score: Array) -> Array:
    """Column of the candidate that each query gets, each record at most once, with the largest sum of scores; -1 = none left.

    Parameters
    ----------
    record
        (queries, k): candidates, -1 = none.
    score
        (queries, k): scores that can be added up over queries, such as log odds; NaN = none.

    >>> hard(np.array([[0, 1], [0, 1]]), np.array([[2.0, 1.0], [3.0, 0.0]])).tolist()
    [1, 0]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n, k = record.shape
    there = (record >= 0) & np.isfinite(score)
    if not there.any():
        return np.full(n, -1, np.int64)
    names, place = np.unique(record[there], return_inverse=True)
    query = np.broadcast_to(np.arange(n)[:, None], (n, k))[there]
    value = score[there]
    low, high = float(value.min()), float(value.max())
    # costs must not be 0; a query without a record costs more than any chain of exchanges can save
    cost = 1.0 + high - value
    nobody = 2.0 + 2.0 * (high - low)
    rows = np.concatenate([query, np.arange(n)])
    columns = np.concatenate([place, names.size + np.arange(n)])
    graph = csr_array(
        (np.concatenate([cost, np.full(n, nobody)]), (rows, columns)), shape=(n, names.size + n)
    )
    matched_rows, matched = min_weight_full_bipartite_matching(graph)
    real = matched < names.size
    chosen = np.full(n, -1, np.int64)
    chosen[matched_rows[real]] = names[matched[real]]
    same = (record == chosen[:, None]) & there & (chosen >= 0)[:, None]
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)
